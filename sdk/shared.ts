import * as pulumi from "@pulumi/pulumi";
import { plainMessage } from "../client/plain";
import { sharedObject } from "../provider/lifecycle/adopt";
import type { Configuration } from "../provider/run/connection";
import { DeclaredHostports } from "../provider/run/declaredHostports";
import { defaultConnection } from "../provider/values/setting";
import type { InputOf } from "./kind";
import { failLater, mocks } from "./workarounds";

/** What only one resource of a program may have, by connection. */
class Declared {
  /** The settings of each connection. */
  readonly configurations = new Map<string, Configuration>();
  readonly hostports = new Map<string, DeclaredHostports>();
  /** By kind and connection, and by id or import option. */
  readonly owners = new Map<string, Owner & { id: object }>();
}

/** By stack: one process may declare several. */
const declaredIn = new WeakMap<object, Declared>();

/** What the resources of the running stack declare; undefined where there is no stack. */
export function declared(): Declared | undefined {
  const stack = pulumi.runtime.getStackResource();
  if (!stack) return undefined;
  const known = declaredIn.get(stack) ?? new Declared();
  declaredIn.set(stack, known);
  return known;
}

/** Fails the plan when two edges have the same hostport. */
export function refuseSharedHostports(
  name: string,
  args: { hostports?: InputOf<string[] | undefined>; connection?: string },
  opts: pulumi.CustomResourceOptions,
): void {
  const all = declared()?.hostports;
  const isIgnored = opts.ignoreChanges?.some((path) => /^(\*$|hostports)/.test(path));
  if (!all || isIgnored) return;
  const { hostports, connection = defaultConnection } = args;
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

/** A resource of the program. */
export interface Owner {
  /** Its kind and connection. */
  kind: string;
  name: string;
  /** Its option `import`. */
  imported: string | undefined;
}

/**
 * Fails the program when two of its resources have one object, or are to import it. The provider compares the
 * objects, too, but in the first call of its process it does not know the resource.
 */
export function refuseSharedObject({ id }: pulumi.CustomResource, owner: Owner): void {
  const owners = declared()?.owners;
  if (!owners) return;
  const note = (object: string) => {
    const key = `${owner.kind} ${object}`;
    const other = owners.get(key) ?? { ...owner, id };
    owners.set(key, other);
    // Mocks may give each resource the same id.
    const isShared = other.id !== id && (owner.imported || other.imported || !mocks());
    if (isShared) failLater(sharedObject(other.name, owner.name, object));
  };
  if (owner.imported) note(owner.imported);
  id.apply(note);
}
