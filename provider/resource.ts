import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import type { ServiceObject } from "../client/fields";
import { plainMessage } from "../client/plain";
import { ifInAccount, isYoung, noteStored, refuseWrite } from "./account";
import { createOnce, noteManaged } from "./creates/createOnce";
import { pause } from "./creates/lists";
import { declareHostports, noteDeleted, planHostports, setHostports } from "./hostports";
import { type Checked, differences, driftOf, isLike, type Kind, type Problem } from "./kind";
import { refuseOtherService } from "./origin";
import { readPaged } from "./pages";
import { perAccount } from "./perAccount";
import { noteService } from "./plan";
import { isObject, type Properties, pick } from "./properties";

/** The operations of a resource: the same for every kind and every protocol. */

/** The result of a create. */
export interface Created {
  id: string;
  state: Properties;
  /** Why a part of the service's answer can't be used. */
  problem?: string;
  /** What the user should check. */
  warning?: string;
}

/** Checks what the schema can't express. `olds` are the inputs of the last deployment, if any. */
export function check(kind: Kind, news: Properties, olds: Properties | undefined): Checked {
  const checked = kind.check(news, olds, new Date());
  if (kind.exclusive) declareHostports(checked.inputs[kind.exclusive] ?? []);
  return checked;
}

/** Creates an object, once. An answer with an id is enough: `problem` says what it lacks. */
export async function create(
  kind: Kind,
  client: Client,
  inputs: Properties,
  urn?: string,
): Promise<Created> {
  const body = kind.toBody(inputs);
  const isSame = (wire: ServiceObject) => isLike(kind, wire, inputs);
  const post = (onSend: () => void) =>
    write(kind, client, { body, isSame }, () => kind.endpoints.create(client, body, onSend));
  const { wire, ...rest } = await createOnce(kind, client, inputs, urn, post);
  try {
    return { id: wire.id, state: kind.toState(wire, inputs), ...rest };
  } catch (error) {
    // The object exists, so state must have it: with what was sent.
    const state = kind.toState({ ...wire, ...body }, inputs);
    return { id: wire.id, state, problem: (error as Error).message, ...rest };
  }
}

/** Writes an object. What only one object can have may still be another's (contract C38). */
function write<T>(
  kind: Kind,
  client: Client,
  { body, ...edge }: { id?: string; body: object; isSame?(wire: ServiceObject): boolean },
  send: () => Promise<T>,
): Promise<T> {
  const hostports = kind.exclusive && (body as { hostports?: string[] })[kind.exclusive];
  return setHostports(client, { ...edge, hostports, endpoints: kind.endpoints }, send);
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
  kind: Kind,
  client: Client,
  id: string,
  known?: Properties,
): Promise<Properties | undefined> {
  const failures = failuresOf(client);
  try {
    const reading = () => readState(kind, client, id, known);
    const found = await ifInAccount(kind, client, id, known, reading);
    failures.clear();
    return found;
  } catch (error) {
    const { status, code } = error as Partial<ServiceError>;
    const cause = status ?? code;
    const [what, first] = [`the ${kind.title} ${id}`, failures.get(cause)];
    // These may have to do with the object itself.
    if (cause === undefined || [400, 404, "EBADANSWER"].includes(cause)) throw error;
    if (!first) failures.set(cause, what);
    if (!first || first === what) throw error;
    throw new Error(`${what} can't be read either: see the error of ${first}`);
  }
}

/** Reads the state of an object, perhaps from a page of the list. */
export async function readState(
  kind: Kind,
  client: Client,
  id: string,
  known?: Properties,
): Promise<Properties> {
  return kind.toState(await readPaged(kind.endpoints, client, id), known);
}

/** What a plan needs to know of a resource that it keeps: the hostports that an edge gives up. */
export function notePlanned(kind: Kind, id: string, state: Properties, inputs: Properties): void {
  const { exclusive } = kind;
  if (exclusive) planHostports(id, state[exclusive] ?? [], inputs[exclusive] ?? []);
}

/**
 * Updates an object in place. Gives its new state, in which a drifted property that was not sent
 * keeps its old value, so that a refresh finds the drift.
 *
 * @throws Error when the object is gone, or when a change needs a replacement. A 404 about an object
 * that this one refers to is thrown unchanged.
 */
export async function update(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties,
  inputs: Properties,
): Promise<Properties> {
  await refuseWrite(client, state);
  const work = async () => {
    const [other] = kind.replaces(state, inputs);
    if (other) throw new Error(`${other} of the ${kind.title} ${id} can't be updated in place`);
    const changes = differences(kind, state, inputs);
    const body = kind.toBody(Object.fromEntries(changes.map((one) => [one.property, one.sent])));
    const patch = () => kind.endpoints.update(client, id, body);
    const wire = await (changes.length > 0
      ? write(kind, client, { id, body }, patch)
      : kind.endpoints.get(client, id));
    const found = kind.toState(wire, inputs);
    const drifted = driftOf(kind, state, found).filter(
      (name) => !changes.some(({ property }) => property === name),
    );
    return { ...found, ...pick(state, drifted) };
  };
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServiceError && error.status === 404)) throw error;
      const isNew = isYoung(kind, client, id, state);
      if (!(await read(kind, client, id, state))) break;
      // The 404 is about another object, or the read has found a young one before the update does.
      if (!isNew || tries > 3) throw error;
      await pause(tries * 1000);
    }
  }
  throw new Error(
    `the ${kind.title} ${id} is gone from the service. ` +
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
  { secrets = [] }: Kind,
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
export function noteInState(kind: Kind, client: Client, id: string, state: Properties): void {
  refuseOtherService(client, `the ${kind.title} ${id}`, state.uri);
  noteManaged(id);
  // An import and a program's `get` have no state.
  if (state.uri === undefined) return;
  noteService(client, true);
  noteStored(kind, client, id, state);
}

/** Deletes an object. Succeeds when the object is gone. */
export async function remove(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties,
): Promise<void> {
  await refuseWrite(client, state);
  const deletion = async () => {
    await kind.endpoints.delete(client, id);
    noteDeleted(id);
    return true;
  };
  await ifInAccount(kind, client, id, state, deletion);
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
export function incomplete(kind: Kind, id: string, problem: string): string {
  return plainMessage(
    `the ${kind.title} ${id} was created and is in the state, but ${problem}. ` +
      "The next `pulumi up` completes it",
  );
}
