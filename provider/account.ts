import type { Client } from "../client/client";
import { type Attempted, ConnectionError, ServiceError } from "../client/errors";
import { waysToSet } from "../client/settings";
import { contextOf } from "./connection";
import { listOf, pause } from "./creates/lists";
import type { Kind } from "./kind";
import { refuseOtherServices } from "./origin";
import { readPaged } from "./pages";
import { perAccount } from "./perAccount";
import type { Properties } from "./properties";

/** What state stores of the account. */
export interface AccountState {
  /**
   * 16 hex characters, equal for all objects that were made or last read with the same API key; unset
   * in the state of an earlier version.
   */
  accountTag: string | null;
}

/** What this process knows of the objects that were stored with one other key. */
interface StoredWith {
  /** Whether one of them was found with the present key: so its account has made them all. */
  isWitnessed: boolean;
  /** Operations whose answer may be the witness. */
  inFlight: Set<Promise<unknown>>;
  /** Reads one of them, by title and id. */
  known: Map<string, () => Promise<unknown>>;
  /** The one read that looks for a witness. */
  asked?: Promise<unknown> | undefined;
  /** The object of the message that says what to do. */
  explained?: string;
}

/** Whether this run writes, or its plan does. */
const writingOf = perAccount(() => ({ hasBegun: false }));

/** By the tag in state. State without a tag, of an earlier version, is taken for that of one key. */
const storedOf = perAccount(() => new Map<unknown, StoredWith>());

function storedWith(client: Client, tag: unknown): StoredWith {
  const all = storedOf(client);
  const known = { isWitnessed: false, inFlight: new Set(), known: new Map() };
  const stored: StoredWith = all.get(tag) ?? (known as StoredWith);
  all.set(tag, stored);
  return stored;
}

/** What state stores of the account of an object that this client has made or found. */
export function accountState({ keyTag }: Client): AccountState {
  return { accountTag: keyTag };
}

/** Notes an object in state: it may show whose the key is. */
export function noteStored(
  kind: Kind,
  client: Client,
  id: string,
  { accountTag }: Properties,
): void {
  const read = () => readPaged(kind.endpoints, client.account, id);
  storedWith(client, accountTag).known.set(`${kind.title} ${id}`, read);
}

/**
 * The result of the work, or undefined when the object is gone. A wrong base URL and a proxy can
 * cause a 404 too, so a 404 means that the object is gone only if its list can be read.
 */
export async function ifExists<T>(
  { title, endpoints }: Kind,
  client: Client,
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError && error.status === 404)) throw error;
    const { message } = error;
    await endpoints
      .pages(client)
      .next()
      .catch((cause: Error) => {
        // An unusable item still shows that the list can be read.
        if (cause instanceof ConnectionError && cause.field?.includes("[")) return;
        throw new Error(
          `${message}. The ${title}s can't be listed either, so this does not mean that the object is gone: ` +
            `check the base URL and its path (${cause.message})`,
        );
      });
    return undefined;
  }
}

/** For how long a service may not find a new object. */
const youngMs = 120_000;
/** The seconds before each try on a young object: together a minute. */
const asksAgainAfter = [0, 1, 2, 4, 8, 15, 15, 15];

/**
 * Whether a service may find an object late (contract C39): this run has created it, or it is younger
 * than two minutes by the service's clock.
 */
export function isYoung(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties | undefined,
): boolean {
  const ageMs = Date.now() + client.clockSkewMs - Date.parse(String(state?.createdAt));
  return Math.abs(ageMs) < youngMs || listOf(client, kind).hasMade(id);
}

/**
 * The result of work on an object in state, or undefined when the object is gone.
 *
 * A key of another account gets 404 for every object. So after a change of the key, a 404 alone
 * proves nothing: it needs a witness, an object that was stored with the same key as this one, and
 * that the present key has found by its id. What this process has created, looked up or imported is
 * no witness. A young object is asked for again (contract C39).
 *
 * @param state The stored state. Without one, as in an import, any 404 means that there is none.
 * @throws Error when there is no witness. The first one says what to do, the others name its object.
 */
export async function ifInAccount<T>(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties | undefined,
  work: () => Promise<T>,
): Promise<T | undefined> {
  // Shorter when the deadline is short.
  const secondMs = Math.min(1000, client.deadlineMs / 120);
  for (const seconds of asksAgainAfter) {
    if (seconds > 0) await pause(seconds * secondMs);
    let mayBeDone = false;
    const tried = work().catch((error: Partial<Attempted>) => {
      mayBeDone = error.ambiguous === true;
      throw error;
    });
    const found = await ifWitnessed(kind, client, id, state, tried);
    // To a delete whose first answer was lost, 404 is a success.
    if (found !== undefined || mayBeDone || !isYoung(kind, client, id, state)) return found;
  }
  throw new Error(
    `the service does not find the ${kind.title} ${id}, which is new: it was asked ` +
      `${asksAgainAfter.length} times. A service may find a new object late, so the object stays in ` +
      "the state. If it was deleted, run the command again two minutes after its creation",
  );
}

async function ifWitnessed<T>(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties | undefined,
  work: Promise<T>,
): Promise<T | undefined> {
  const existing = ifExists(kind, client, work);
  if (!state || state.accountTag === client.keyTag) return existing;
  const stored = storedWith(client, state.accountTag);
  const answered = existing.then((object) => {
    stored.isWitnessed ||= object !== undefined;
    return object;
  });
  stored.inFlight.add(answered);
  const found = await answered.finally(() => stored.inFlight.delete(answered));
  if (found !== undefined) return found;
  stored.known.delete(`${kind.title} ${id}`);
  if (contextOf(client).settings?.sameAccount || (await hasWitness(stored))) return undefined;
  throw new Error(doubt(client, `the ${kind.title} ${id}`, stored, state.accountTag));
}

/**
 * Judges in a diff an object that was stored with another key, if it has a change or this run writes
 * already. Does nothing with `offlinePlan`: {@link refuseWrite} follows before a write.
 *
 * @throws Error as {@link ifInAccount} and {@link refuseWrite}.
 */
export async function judgeAccount(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties,
  isChanged: boolean,
): Promise<void> {
  const tag = state.accountTag;
  if (contextOf(client).settings?.offlinePlan) return;
  if (!isChanged && !writingOf(client).hasBegun) return;
  if (tag !== undefined && tag !== client.keyTag && !storedWith(client, tag).isWitnessed) {
    const reading = () => readPaged(kind.endpoints, client.account, id);
    await ifInAccount(kind, client, id, state, reading);
  }
  if (isChanged) await refuseWrite(client, state);
}

/**
 * Refuses a write, or its plan, while an object that this run has seen in state may belong to another
 * service or account. A create would send a key there; a delete would remove what that object replaced.
 *
 * @param own The state of the object that is written: the write itself shows whose it is.
 * @throws Error as {@link ifInAccount}, or that of the request that looks for a witness.
 */
export async function refuseWrite(client: Client, own?: Properties): Promise<void> {
  writingOf(client).hasBegun = true;
  refuseOtherServices(client);
  if (contextOf(client).settings?.sameAccount) return;
  for (const [tag, stored] of storedOf(client)) {
    if (tag === undefined || tag === client.keyTag || (own && tag === own.accountTag)) continue;
    const [first] = stored.known.keys();
    const what = stored.explained ?? (first && `the ${first}`);
    if (!what || (await hasWitness(stored))) continue;
    throw new Error(`no write is sent: ${doubt(client, what, stored, tag)}`);
  }
}

async function hasWitness(stored: StoredWith): Promise<boolean> {
  while (!stored.isWitnessed && stored.inFlight.size > 0) {
    await Promise.allSettled(stored.inFlight);
  }
  if (stored.isWitnessed) return true;
  const [readOne] = stored.known.values();
  stored.asked ??= readOne?.().then(
    () => {
      stored.isWitnessed = true;
    },
    (error) => {
      if (error instanceof ServiceError && error.status === 404) return;
      // Only a 404 says that this one is no witness: after another failure, ask again.
      stored.asked = undefined;
      throw error;
    },
  );
  await stored.asked;
  return stored.isWitnessed;
}

function doubt(client: Client, what: string, stored: StoredWith, tag: unknown): string {
  if (stored.explained) {
    const either = what === stored.explained ? "" : " either";
    return `${what} was not found${either}: see the first message about ${stored.explained}`;
  }
  stored.explained = what;
  const { connection } = contextOf(client);
  const { configKey, variable } = waysToSet(connection, "apiKey");
  const sameAccount = waysToSet(connection, "sameAccount").variable;
  const whose = tag
    ? "and the state was stored with another API key"
    : "and the state does not say with which API key it was made";
  return (
    `${what} was not found, ${whose}. So either it was deleted, or the present key belongs to ` +
    "another account. Nothing was done to it. If the key is wrong, correct it in " +
    `${configKey} or ${variable}. If it is a new key of the same account, run \`pulumi refresh\`, ` +
    "which reads the other resources, too; if nothing of the stack exists any more, run the command " +
    `once with ${sameAccount}=1 in the environment`
  );
}
