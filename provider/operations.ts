import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { plainMessage } from "../client/plain";
import { ifInAccount, isYoung, noteStored } from "./account";
import { noteManaged } from "./creates/createOnce";
import { pause } from "./creates/lists";
import { hasUnknown, type Lifecycle, type Problem, type Properties, pick } from "./lifecycle";
import { refuseOtherService } from "./origin";
import { noteService } from "./plan";

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
function isWhole(lifecycle: Lifecycle, state: Properties): boolean {
  return lifecycle.properties.every((name) => state[name] !== undefined);
}

/** Whether an update would change nothing: neither at the service nor in what state has of it. */
export function isUnchanged(lifecycle: Lifecycle, state: Properties, inputs: Properties): boolean {
  return (
    !hasUnknown(inputs) &&
    isWhole(lifecycle, state) &&
    lifecycle.differences(state, inputs).length === 0
  );
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
 * @param known The stored state; undefined in an import.
 */
export function read(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  known?: Properties,
): Promise<Properties | undefined> {
  return ifInAccount(lifecycle, client, id, known, () => lifecycle.read(client, id, known));
}

/**
 * Updates an object in place. Gives its new state, in which a drifted property that was not sent
 * keeps its old value, so that a refresh finds the drift.
 *
 * @throws Error when the object is gone, or when a change needs a replacement. A 404 about an object
 * that this one refers to is thrown unchanged.
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
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServiceError && error.status === 404)) throw error;
      const isNew = isYoung(lifecycle, client, id, stored);
      if (!(await read(lifecycle, client, id, stored))) break;
      // The 404 is about another object, or the read has found a young one before the update does.
      if (!isNew || tries > 3) throw error;
      await pause(tries * 1000);
    }
  }
  throw new Error(
    `the ${lifecycle.title} ${id} is gone from the service. ` +
      "Run `pulumi refresh`, then `pulumi up` to create it again",
  );
}

/** Notes an object in state, which must belong to the service. */
export function noteInState(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  state: Properties,
): void {
  refuseOtherService(client, `the ${lifecycle.title} ${id}`, state.uri);
  noteManaged(id);
  // An import and a program's `get` have no state.
  if (state.uri === undefined) return;
  noteService(client, true);
  noteStored(lifecycle, client, id, state);
}

/** Deletes an object. Succeeds when the object is gone. */
export async function remove(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  state: Properties,
): Promise<void> {
  const deletion = () => lifecycle.delete(client, id).then(() => true);
  await ifInAccount(lifecycle, client, id, state, deletion);
}

/**
 * The texts of the problems of the inputs, for the engine. A misspelt property is reported once, not
 * as missing, too.
 */
export function textsOf(
  problems: readonly Problem[],
  isSecret: (property: string) => boolean,
): string[] {
  const meant = new Set(problems.map((problem) => problem.meant));
  return problems
    .filter(({ path }) => !path || !meant.has(path))
    .map(({ path, reason, quoting }) => {
      const text = quoting && !isSecret(quoting.property) ? quoting.reason : reason;
      return plainMessage(path ? `${path}: ${text}` : text);
    });
}

/** The error of a create whose object is in the state, but not complete. */
export function incomplete(lifecycle: Lifecycle, id: string, problem: string): string {
  return plainMessage(
    `the ${lifecycle.title} ${id} was created and is in the state, but ${problem}. ` +
      "The next `pulumi up` completes it",
  );
}
