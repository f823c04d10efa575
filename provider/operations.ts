import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { plainMessage } from "../client/plain";
import { ifInAccount, isYoung, noteStored, refuseWrite } from "./account";
import { noteManaged } from "./creates/createOnce";
import { pause } from "./creates/lists";
import {
  hasUnknown,
  isObject,
  type Lifecycle,
  type Problem,
  type Properties,
  perAccount,
  pick,
} from "./lifecycle";
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

/** By what keeps the reads of an account from an answer: the object whose error tells it. */
const failuresOf = perAccount(() => new Map<unknown, string>());

/**
 * Reads an object; undefined when it is gone.
 *
 * @param known The stored state; undefined in an import.
 * @throws Error that tells a failure of the service once: later ones name the object of the first.
 */
export async function read(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  known?: Properties,
): Promise<Properties | undefined> {
  const failures = failuresOf(client);
  try {
    const reading = () => lifecycle.read(client, id, known);
    const found = await ifInAccount(lifecycle, client, id, known, reading);
    failures.clear();
    return found;
  } catch (error) {
    const { status, code } = error as Partial<ServiceError>;
    const cause = status ?? code;
    const [what, first] = [`the ${lifecycle.title} ${id}`, failures.get(cause)];
    // These may have to do with the object itself.
    if (cause === undefined || [400, 404, "EBADANSWER"].includes(cause)) throw error;
    if (!first) failures.set(cause, what);
    if (!first || first === what) throw error;
    throw new Error(`${what} can't be read either: see the error of ${first}`);
  }
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
  await refuseWrite(client, stored);
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

/**
 * The texts in the properties that the program has marked as secrets, for {@link Client.operation}. The
 * client knows a private key from the request.
 *
 * @param names The marked properties.
 */
export function secretTexts(
  { secrets = [] }: Lifecycle,
  names: Iterable<string>,
  ...from: Properties[]
): string[] {
  const marked = [...names].filter((name) => !secrets.includes(name));
  return from.flatMap((properties) => textsIn(Object.values(pick(properties, marked))));
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
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
  await refuseWrite(client, state);
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
