import type { Client } from "../client/client";
import { warnIfAllGone } from "./gone";
import {
  hasUnknown,
  ifExists,
  type Lifecycle,
  type Problem,
  type Properties,
  pick,
} from "./lifecycle";

/**
 * The rules that hold whatever protocol calls a lifecycle: which values mean the same, what an
 * update leaves in state, and what a read and a failure tell.
 */

/** Keeps the old value where the new one means the same, so that plans show no change. */
export function keepEqual(lifecycle: Lifecycle, olds: Properties, news: Properties): Properties {
  return Object.fromEntries(
    Object.entries(news).map(([property, value]) => {
      const isKept = isEqual(lifecycle, property, olds[property], value);
      return [property, isKept ? olds[property] : value];
    }),
  );
}

/** Whether two values of an input mean the same. An unknown value equals nothing. */
export function isEqual(lifecycle: Lifecycle, property: string, a: unknown, b: unknown): boolean {
  return a !== undefined && !hasUnknown(b) && lifecycle.same(property, a, b);
}

/** Whether a state holds every property: an earlier version may have stored fewer. */
export function isWhole(lifecycle: Lifecycle, state: Properties): boolean {
  return lifecycle.properties.every((name) => state[name] !== undefined);
}

/** The properties that differ from state. A property that state does not have can't drift. */
export function driftOf(lifecycle: Lifecycle, stored: Properties, found: Properties): string[] {
  const [had, has] = [lifecycle.inputsOf(stored), lifecycle.inputsOf(found)];
  return lifecycle.properties.filter(
    (name) => stored[name] !== undefined && !lifecycle.same(name, had[name], has[name]),
  );
}

/**
 * Reads an object; undefined when it is gone.
 *
 * @param maxAgeMs How old the answer may be. Default: a few seconds.
 */
export function read(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  known?: Properties,
  maxAgeMs?: number,
): Promise<Properties | undefined> {
  const reading = lifecycle.read(client, id, known, maxAgeMs);
  return warnIfAllGone(client, ifExists(lifecycle, client, reading));
}

/**
 * Updates an object in place. Gives its new state, in which a drifted property that was not sent
 * keeps its old value, so that a refresh finds the drift.
 *
 * @throws Error when the object is gone, or when a change needs a replacement.
 */
export async function update(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  stored: Properties,
  inputs: Properties,
): Promise<Properties> {
  const work = async () => {
    const isKnown = isWhole(lifecycle, stored);
    const state = isKnown ? stored : await lifecycle.read(client, id, stored);
    const [other] = isKnown ? [] : lifecycle.replaces(state, inputs);
    if (other) {
      throw new Error(
        `${other} can't be updated in place, and its old value is not in the state, which ` +
          "another version of pulumi-tlsedge wrote. Run `pulumi refresh`, then `pulumi up`",
      );
    }
    const sent = lifecycle.differences(state, inputs).map(({ property }) => property);
    const found = await lifecycle.update(client, id, state, inputs);
    const drifted = driftOf(lifecycle, state, found).filter((name) => !sent.includes(name));
    return { ...found, ...pick(state, drifted) };
  };
  const found = await ifExists(lifecycle, client, work());
  if (found) return found;
  throw new Error(
    `the ${lifecycle.title} ${id} is gone from the service. ` +
      "Run `pulumi refresh`, then `pulumi up` to create it again",
  );
}

/** Deletes an object. Succeeds when the object is gone. */
export async function remove(lifecycle: Lifecycle, client: Client, id: string): Promise<void> {
  const deletion = lifecycle.delete(client, id).then(() => true);
  await warnIfAllGone(client, ifExists(lifecycle, client, deletion));
}

/** The text of a problem of the inputs, for the engine. */
export function textOf({ path, reason }: Problem): string {
  return path ? `${path}: ${reason}` : reason;
}

/** The error of a create whose object is in the state, but not complete. */
export function incomplete(lifecycle: Lifecycle, id: string, problem: string): string {
  return (
    `the ${lifecycle.title} ${id} was created and is in the state, but ${problem}. ` +
    "The next `pulumi up` completes it"
  );
}
