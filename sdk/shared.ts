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
  const problem = (known: unknown, isSecret = false) => {
    const shared = edges.declare(Symbol(name), name, known, isSecret);
    return shared && plainMessage(shared);
  };
  if (Array.isArray(hostports) && hostports.every((one) => typeof one === "string")) {
    const shared = problem(hostports);
    if (shared) throw new pulumi.RunError(shared);
    return;
  }
  const output = pulumi.output(hostports);
  output.apply(async (known) => {
    const shared = problem(known, await pulumi.isSecret(output));
    if (shared) failLater(shared);
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
  const other = owners.get(key) ?? { ...owner, id };
  owners.set(key, other);
  // Mocks may give each resource the same id.
  const isShared = other.id !== id && (owner.imported || other.imported || !mocks());
  if (isShared) failLater(textOfShared(other.name, owner.name, object));
}
