import { isNotFound, type ServiceError } from "../../client/errors";
import { plainMessage } from "../../client/plain";
import {
  differences,
  driftOf,
  hiddenArguments,
  type Kind,
  openArgument,
  type Problem,
  storedSettings,
} from "../kinds/kind";
import type { Account, ManagedObject, Run } from "../run/run";
import { isObject, nameInUrn, type Properties, pick } from "../values/properties";
import { noteObject, proveAccount } from "./account";
import { ifInAccount, isYoung } from "./gone";
import { writeUntilFree } from "./hostports";

// The operations of a resource: the same for every kind and every protocol.

/**
 * Reads an object; undefined when it is gone.
 *
 * @param stored The stored state; undefined in an import.
 * @throws Error that tells a failure of the service in full once.
 */
export async function read(
  object: ManagedObject,
  stored?: Properties,
): Promise<Properties | undefined> {
  const { kind, account, id, title } = object;
  noteObject(object, stored);
  const reading = async () =>
    kind.toState(await account.list(kind).get(account.client, id), stored);
  return ifInAccount(object, stored, reading).catch((error: Partial<ServiceError>) => {
    const cause = error.status ?? error.code;
    // These may have to do with the object itself.
    const isItsOwn = cause === undefined || [400, 404, "EBADANSWER"].includes(cause);
    if (isItsOwn || account.run.once(`reads fail: ${cause}`)) throw error;
    throw new Error(`the ${title} can't be read either: see the first error`);
  });
}

/**
 * Updates an object in place. Gives its new state, in which a drifted property that was not sent
 * keeps its old value, so that a refresh finds the drift.
 *
 * @throws Error when the object is gone, or when a change needs a replacement. A 404 about an object
 * that this one refers to is thrown unchanged.
 */
export async function update(
  object: ManagedObject,
  state: Properties,
  inputs: Properties,
): Promise<Properties> {
  const { kind, account, id, title } = object;
  const { client } = account;
  const work = async () => {
    const [other] = kind.replaces(state, inputs);
    if (other) throw new Error(`${other} of the ${title} can't be updated in place`);
    const changes = differences(kind, state, inputs);
    const body = kind.toBody(Object.fromEntries(changes.map((one) => [one.property, one.sent])));
    const patch = () => kind.endpoints.update(client, id, body);
    const wire = await (changes.length > 0
      ? writeUntilFree(kind, account, { id, body }, patch)
      : kind.endpoints.get(client, id));
    const found = kind.toState(wire, inputs);
    const drifted = driftOf(kind, state, found).filter(
      (name) => !changes.some(({ property }) => property === name),
    );
    return { ...found, ...pick(state, drifted) };
  };
  await proveAccount(account);
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const isNew = isYoung(object, state);
      if (!(await read(object, state))) break;
      // The 404 is about another object, or the read has found a young one before the update does.
      if (!isNew || tries > 3) throw error;
      await account.wait(tries, `for the ${title}, which the service may find late`);
    }
  }
  throw new Error(
    `the ${title} is gone from the service. ` +
      "Run `pulumi refresh`, then `pulumi up` to create it again",
  );
}

/**
 * Notes the texts in the properties that the program has marked as secrets: no error of the run shows one.
 *
 * @param names The marked properties.
 */
export function noteSecrets(
  run: Run,
  kind: Kind,
  names: Iterable<string>,
  ...from: Properties[]
): void {
  const hidden = hiddenArguments(kind, names);
  const texts = from.flatMap((properties) => textsIn(Object.values(pick(properties, hidden))));
  for (const text of texts) run.secrets.add(text);
}

/** What a plan warns of in the inputs: a secret that leaves the program. */
export function warningsOfInputs(
  { title, secrets = [] }: Kind,
  olds: Properties = {},
  inputs: Properties,
): string[] {
  const lost = secrets.filter((name) => olds[name] !== undefined && inputs[name] === undefined);
  return lost.map(
    (name) =>
      `${name} of this ${title} is no more in the program, so the state loses its last copy. Without it, the object ` +
      "can't be created again",
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** What state has of an object besides what a protocol adds. */
export const storedState = (
  kind: Kind,
  { tag }: Account,
  state: Properties,
  inputs: Properties,
): Properties => ({ ...state, ...storedSettings(kind, inputs), accountTag: tag });

/**
 * Deletes an object. Succeeds when the object is gone. Keeps what another resource of this run has or adopts, with a
 * warning.
 *
 * @param isAdopted Whether the state says that its resource has adopted it (contract C44).
 * @param urn The resource; empty where the protocol does not tell it.
 */
export async function remove(
  object: ManagedObject,
  state: Properties,
  isAdopted: boolean,
  urn: string,
): Promise<void> {
  const { kind, account, id, title } = object;
  noteObject(object, state);
  const why = whyKept(object, isAdopted, urn);
  if (why !== undefined) {
    account.run.log("warning", `the ${title} stays on the service, because ${why}`, "resource");
    return;
  }
  await proveAccount(account);
  const deletion = async () => {
    await kind.endpoints.delete(account.client, id);
    return true;
  };
  await ifInAccount(object, state, deletion);
}

/**
 * Why a delete keeps an object; undefined when it deletes it. The process that deletes what was replaced may not know
 * of the resource that has adopted the object again: so the state says that it is adopted.
 */
function whyKept(
  { account, id, key }: ManagedObject,
  isAdopted: boolean,
  urn: string,
): string | undefined {
  const { adoptions, ownership } = account.run;
  if (adoptions.has(key)) return "a resource of this update adopts it";
  if (isAdopted) {
    return (
      "its resource has the option `import` in the state. To delete or replace it, first remove the option and run " +
      "`pulumi up`. If the stack has the resource no more, first adopt the object again: set the resource option " +
      `\`import\` to ${id}`
    );
  }
  const owner = ownership.ownerOf(key);
  const isAnothers = owner && urn && owner !== urn;
  return isAnothers ? `the resource "${nameInUrn(owner)}" has it, too` : undefined;
}

/**
 * The texts of the problems of the inputs, for the engine.
 *
 * @param files What the program has instead of a property: see `filesKey`.
 */
export function textsOf(
  problems: readonly Problem[],
  isSecret: (property: string) => boolean,
  files: unknown = {},
): string[] {
  const fileOf = files as Record<string, string>;
  const named = (text: string) => text.replace(/\w+Pem\b/g, (name) => fileOf[name] ?? name);
  return problems.map(({ path, reason, value }) => {
    const [property = ""] = path.split(/[.[]/, 1);
    const isHidden = property !== openArgument && isSecret(property);
    const text = value === undefined || isHidden ? reason : `${value} ${reason}`;
    return plainMessage(named(path ? `${path}: ${text}` : text));
  });
}

/** The error of a create whose object is in the state, but not complete. */
export function incomplete(kind: Kind, id: string, problem: string): string {
  return plainMessage(
    `the ${kind.title} ${id} was created and is in the state, but ${problem}. ` +
      "The next `pulumi up` completes it",
  );
}
