import { ServiceError } from "../client/errors";
import { plainMessage } from "../client/plain";
import { whyKept } from "./adopt";
import { declareHostports, noteDeleted, planHostports, setHostports } from "./hostports";
import { type Checked, differences, driftOf, type Kind, type Problem } from "./kind";
import { ifInAccount, isYoung, noteStored, refuseWrite } from "./marks";
import { pause } from "./objects";
import { isObject, type Properties, pick } from "./properties";
import type { Account, Run } from "./run";

/** The operations of a resource: the same for every kind and every protocol. */

/** Checks what the schema can't express. `olds` are the inputs of the last deployment, if any. */
export function check(
  run: Run,
  kind: Kind,
  news: Properties,
  olds: Properties | undefined,
): Checked {
  const checked = kind.check(news, olds, new Date());
  declareHostports(run, kind, checked.inputs);
  run.hasProgram = true;
  return checked;
}

/**
 * Reads an object; undefined when it is gone.
 *
 * @param known The stored state; undefined in an import.
 * @throws Error that tells a failure of the service once: later ones name the object of the first.
 */
export async function read(
  kind: Kind,
  account: Account,
  id: string,
  known?: Properties,
): Promise<Properties | undefined> {
  const { failures } = account.memory;
  noteInState(kind, account, id, known);
  try {
    const reading = async () =>
      kind.toState(await account.objects(kind).get(account.client, id), known);
    const found = await ifInAccount(kind, account, id, known, reading);
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

/**
 * Updates an object in place. Gives its new state, in which a drifted property that was not sent
 * keeps its old value, so that a refresh finds the drift.
 *
 * @throws Error when the object is gone, or when a change needs a replacement. A 404 about an object
 * that this one refers to is thrown unchanged.
 */
export async function update(
  kind: Kind,
  account: Account,
  id: string,
  state: Properties,
  inputs: Properties,
): Promise<Properties> {
  const { client } = account;
  const work = async () => {
    const [other] = kind.replaces(state, inputs);
    if (other) throw new Error(`${other} of the ${kind.title} ${id} can't be updated in place`);
    const changes = differences(kind, state, inputs);
    const body = kind.toBody(Object.fromEntries(changes.map((one) => [one.property, one.sent])));
    const patch = () => kind.endpoints.update(client, id, body);
    const wire = await (changes.length > 0
      ? setHostports(kind, account, { id, body }, patch)
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
      const isNew = isYoung(kind, account, id, state);
      if (!(await read(kind, account, id, state))) break;
      // The 404 is about another object, or the read has found a young one before the update does.
      if (!isNew || tries > 3) throw error;
      await pause(tries * account.secondMs);
    }
  }
  throw new Error(
    `the ${kind.title} ${id} is gone from the service. ` +
      "Run `pulumi refresh`, then `pulumi up` to create it again",
  );
}

/**
 * The texts in the properties that the program has marked as secrets, for {@link Account.operation}. The
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

/** Notes an object of the run. An import and a program's `get` have no state. */
function noteInState(kind: Kind, account: Account, id: string, state: Properties = {}): void {
  account.known(kind, id).isOwn = true;
  if (state.uri === undefined) return;
  account.memory.isKnown = true;
  noteStored(kind, account, id, state);
}

/** Notes what a plan needs to know of a resource that it keeps. */
export function noteDiff(
  kind: Kind,
  account: Account,
  id: string,
  state: Properties,
  inputs: Properties,
): void {
  noteInState(kind, account, id, state);
  planHostports(kind, account, id, state, inputs);
}

/**
 * Deletes an object. Succeeds when the object is gone. Keeps what a resource has adopted (contract C44), and
 * what another one has, too (C81), with a warning.
 *
 * @param other The name of another resource of the program that has the object.
 */
export async function remove(
  kind: Kind,
  account: Account,
  id: string,
  state: Properties,
  other?: string,
): Promise<void> {
  const { run } = account;
  noteInState(kind, account, id, state);
  const why = whyKept(kind, account, id, state, other);
  if (why !== undefined) {
    run.say("warning", `the ${kind.title} ${id} stays on the service, because ${why}`, "resource");
    return;
  }
  await refuseWrite(account, state);
  const deletion = async () => {
    await kind.endpoints.delete(account.client, id);
    return true;
  };
  await ifInAccount(kind, account, id, state, deletion);
  const object = account.known(kind, id);
  account.memory.states.delete(object);
  object.isDeleted = true;
  noteDeleted(kind, account, id, state);
}

/** The texts of the problems of the inputs, for the engine. */
export function textsOf(
  problems: readonly Problem[],
  isSecret: (property: string) => boolean,
): string[] {
  return problems.map(({ path, reason, value }) => {
    const [property = ""] = path.split(/[.[]/, 1);
    const text = value === undefined || isSecret(property) ? reason : `${value} ${reason}`;
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
