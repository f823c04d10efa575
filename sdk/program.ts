import * as pulumi from "@pulumi/pulumi";
import type { Configuration } from "../provider/run/connection";
import type { DeclaredHostports } from "../provider/run/declaredHostports";
import { Run } from "../provider/run/run";
import { ownStore } from "./workarounds";

/** A resource of a program. */
export interface Owner {
  /** Its kind and connection. */
  kind: string;
  name: string;
  /** Its option `import`. */
  imported: string | undefined;
}

/** What this package knows of one program. */
export class Program {
  /** The accounts that its lookups read. */
  readonly run = new Run((key) => pulumi.runtime.getConfig(key));
  /** The settings of each connection, where they are right. */
  readonly configurations = new Map<string, Configuration>();
  /** What its edges declare, by connection. */
  readonly hostports = new Map<string, DeclaredHostports>();
  /** Which resource has or imports an object, by kind and connection, and by id or import option. */
  readonly owners = new Map<string, Owner & { id: object }>();
  /** When the engine was last done with a resource of this package: a lookup reads what is there since. */
  changedAt = Number.NEGATIVE_INFINITY;
}

const programs = new WeakMap<object, Program>();

/** The running program: that of the stack or, in a component's program, of Pulumi's store. Without both, a new one. */
export function program(): Program {
  const key = pulumi.runtime.getStackResource() ?? ownStore();
  const known = (key && programs.get(key)) ?? new Program();
  if (key) programs.set(key, known);
  return known;
}
