import * as pulumi from "@pulumi/pulumi";
import { plainMessage } from "../client/plain";
import { textOfShared } from "../provider/lifecycle/claim";
import { DeclaredHostports } from "../provider/run/declaredHostports";
import { defaultConnection } from "../provider/values/setting";
import type { InputOf } from "./kind";
import { type Owner, type Program, program } from "./program";
import { failLater, mocks } from "./workarounds";

/** Fails the plan when two edges have the same hostport. */
export function refuseSharedHostports(
  name: string,
  args: { hostports?: InputOf<string[] | undefined>; connection?: string },
  opts: pulumi.CustomResourceOptions,
): void {
  // Such an edge keeps the hostports that it has, whatever the program says.
  if (opts.ignoreChanges?.some((path) => /^(\*$|hostports)/.test(path))) return;
  const { hostports, connection = defaultConnection } = args;
  const { hostports: all } = program();
  const edges = all.get(connection) ?? new DeclaredHostports();
  all.set(connection, edges);
  const problemWith = (known: unknown, isSecret = false) => {
    // Two edges may have one name.
    const problem = edges.declare(Symbol(name), name, known, isSecret);
    return problem && plainMessage(problem);
  };
  if (Array.isArray(hostports) && hostports.every((one) => typeof one === "string")) {
    const problem = problemWith(hostports);
    if (problem) throw new pulumi.RunError(problem);
    return;
  }
  const output = pulumi.output(hostports);
  output.apply(async (known) => {
    const problem = problemWith(known, await pulumi.isSecret(output));
    if (problem) failLater(problem);
  });
}

/**
 * Fails the program when two of its resources have one object, or are to import it. The provider compares the
 * objects, too, but in the first call of its process it does not know the resource.
 */
export function refuseSharedObject(
  { owners }: Program,
  { id }: pulumi.CustomResource,
  owner: Owner,
  object: string,
): void {
  const key = `${owner.kind} ${object}`;
  const first = owners.get(key) ?? { ...owner, id };
  owners.set(key, first);
  // Mocks may give each resource the same id.
  const isShared = first.id !== id && (owner.imported || first.imported || !mocks());
  if (isShared) failLater(textOfShared(first.name, owner.name, object));
}
