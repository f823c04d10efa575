import * as pulumi from "@pulumi/pulumi";
import { plainMessage } from "../client/plain";
import { defaultConnection } from "../client/settings";
import { DeclaredHostports } from "../provider/declaredHostports";
import { failLater } from "./imports";
import type { InputOf } from "./kind";

/** The declared hostports of each connection, by stack: one process may declare several stacks. */
const declaredIn = new WeakMap<object, Map<string, DeclaredHostports>>();

/** Fails the plan when two edges have the same hostport. */
export function refuseSharedHostports(
  name: string,
  args: { hostports?: InputOf<string[] | undefined>; connection?: string },
  opts: pulumi.CustomResourceOptions,
): void {
  const stack = pulumi.runtime.getStackResource();
  const isIgnored = opts.ignoreChanges?.some((path) => /^(\*$|hostports)/.test(path));
  if (!stack || isIgnored) return;
  const all = declaredIn.get(stack) ?? new Map<string, DeclaredHostports>();
  declaredIn.set(stack, all);
  const { hostports, connection = defaultConnection } = args;
  const declared = all.get(connection) ?? new DeclaredHostports();
  all.set(connection, declared);
  const check = (known: unknown, isSecret: boolean) => {
    const problem = declared.declare(Symbol(name), name, known, isSecret);
    if (problem) failLater(plainMessage(problem));
  };
  const isKnown = Array.isArray(hostports) && hostports.every((h) => typeof h === "string");
  const output = pulumi.output(hostports);
  if (isKnown) check(hostports, false);
  else output.apply(async (known) => check(known, await pulumi.isSecret(output)));
}
