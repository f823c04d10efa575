import * as pulumi from "@pulumi/pulumi";
import { sharedObject } from "../provider/adopt";
import { mocks } from "./mocks";

/**
 * Fails the program in an output. What an output throws fails every program of this process: two
 * inline programs of the Automation API each have a store of their own, where an error is counted.
 */
export function failLater(message: string): void {
  const { asyncLocalStorage: stores } = globalThis as {
    asyncLocalStorage?: { getStore(): unknown };
  };
  if (!stores?.getStore()) throw new pulumi.RunError(message);
  void pulumi.log.error(message);
}

/** By stack: the resource of each object, by type, connection, and id or import option. */
const ownersIn = new WeakMap<object, Map<string, { id: object; name: string; imports: boolean }>>();

/** Fails the program when two resources of a stack have one object, or are to have it. */
export function refuseSharedObject(
  { id }: pulumi.CustomResource,
  name: string,
  kind: string,
  imported: string | undefined,
): void {
  const stack = pulumi.runtime.getStackResource();
  if (!stack) return;
  const owners = ownersIn.get(stack) ?? new Map();
  ownersIn.set(stack, owners);
  const own = (object: string, imports: boolean) => {
    const other = owners.get(`${kind} ${object}`);
    // Mocks may give each resource the same id.
    const isShared = other && other.id !== id && (imports || other.imports || !mocks());
    if (!other) owners.set(`${kind} ${object}`, { id, name, imports });
    else if (isShared) failLater(sharedObject(other.name, name, object));
  };
  if (imported) own(imported, true);
  id.apply((known) => own(known, imported !== undefined));
}
