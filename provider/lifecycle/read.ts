import { type Attempted, isNotFound, type ServiceError } from "../../client/errors";
import { driftOf, storedState } from "../kinds/kind";
import type { ManagedObject } from "../run/run";
import type { Properties } from "../values/properties";
import { markReached, registerObject, verifyAccount } from "./account";
import { begin, type Call } from "./call";
import { idToImport, refuseImport, sharedSince } from "./import";

/** An object that the service has. */
export interface FoundObject {
  id: string;
  state: Properties;
  /** The properties that differ from the stored state; none where there is none. */
  drifted: string[];
}

/**
 * Reads an object for a refresh, an import or a program's `get`; undefined when that of a refresh is gone.
 *
 * @param name The id or, where no state is stored, what the kind's import takes.
 * @param from The stored state. That of an import or a `get` has no `uri`, which every stored state has.
 * @param inputs The inputs, for the settings that state has. Default: those of the state.
 * @throws LookupError when an import names no object. It lists what there is.
 */
export async function read(
  call: Call,
  name: string,
  from: Properties,
  inputs = from,
): Promise<FoundObject | undefined> {
  const { kind } = call;
  const stored = "uri" in from ? from : undefined;
  const account = begin(call, from);
  // Imports share a list for 30 s, but none from before this run's last write, which may have moved the name.
  const since = Math.max(sharedSince(), account.client.lastWriteAt);
  const id = stored ? name : await idToImport(kind, account, name, since);
  const object = account.object(kind, id);
  const found = await readObject(object, stored);
  if (!found) {
    if (!stored) await refuseImport(object);
    return undefined;
  }
  const drifted = stored ? driftOf(kind, stored, found) : [];
  return { id, state: storedState(kind, account.tag, found, inputs), drifted };
}

/**
 * The state of an object; undefined when it is gone.
 *
 * @param stored The stored state; undefined in an import.
 * @throws Error that tells a failure of the service in full once.
 */
export async function readObject(
  object: ManagedObject,
  stored?: Properties,
): Promise<Properties | undefined> {
  const { kind, account, id, title } = object;
  registerObject(object, stored);
  const reading = async () =>
    kind.toState(await account.list(kind).get(account.client, id), stored);
  return ifInAccount(object, stored, reading).catch((error: Partial<ServiceError>) => {
    const cause = error.status ?? error.code;
    const isAboutObject = cause === undefined || [400, 404, "EBADANSWER"].includes(cause);
    if (isAboutObject || account.run.isFirst(`reads fail: ${cause}`)) throw error;
    throw new Error(`the ${title} can't be read either: see the first error`);
  });
}

/**
 * The result of the work, or undefined when the object is gone. A wrong base URL and a proxy can
 * cause a 404 too, so a 404 means that the object is gone only if its list can be read.
 */
export async function ifExists<T>(
  { kind, account }: Pick<ManagedObject, "kind" | "account">,
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { message } = error;
    await kind.endpoints
      .pages(account.client)
      .next()
      .catch((cause: Error) => {
        throw new Error(
          `${message}. The list of ${kind.title} objects can't be read either, so this does not mean that the object is gone: ` +
            `check the base URL and its path (${cause.message})`,
        );
      });
    return undefined;
  }
}

/** For how long a service may not find a new object. */
const youngMs = 120_000;
/** The seconds before each try on a young object: together a minute. */
const triesAfter = [0, 1, 2, 4, 8, 15, 15, 15];

/** Whether a service may find an object late (contract C39): it is younger than two minutes by the service's clock. */
export function isYoung({ account }: ManagedObject, state: Properties | undefined): boolean {
  const ageMs = Date.now() + account.client.clockSkewMs - Date.parse(String(state?.createdAt));
  return Math.abs(ageMs) < youngMs;
}

/**
 * The result of work on an object in state, or undefined when the object is gone. A young object is
 * tried again (contract C39).
 *
 * @param state The stored state. Without one, as in an import, any 404 means that there is none.
 * @throws Error when it is not known whether the object is gone.
 */
export async function ifInAccount<T>(
  object: ManagedObject,
  state: Properties | undefined,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { account, title } = object;
  for (const seconds of triesAfter) {
    if (seconds > 0)
      await account.wait(seconds, `for the ${title}, which the service may find late`);
    let mayBeDone = false;
    const tried = work().catch((error: Partial<Attempted>) => {
      mayBeDone = error.ambiguous === true;
      throw error;
    });
    const found = await ifExists(object, tried);
    if (found !== undefined) {
      markReached(object, state);
      return found;
    }
    // To a delete whose first answer was lost, 404 is a success.
    if (mayBeDone || !state) return undefined;
    await verifyAccount(account);
    if (!isYoung(object, state)) return undefined;
  }
  throw new Error(
    `the service does not find the ${title}, which is new: it was asked ` +
      `${triesAfter.length} times. A service may find a new object late, so the object stays in ` +
      "the state. If it was deleted, run the command again two minutes after its creation",
  );
}
