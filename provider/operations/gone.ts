import { type Attempted, ServiceError } from "../../client/errors";
import type { Properties } from "../kinds/properties";
import { isUnusableItem, pause } from "../run/objects";
import type { Account, ManagedObject, Stored } from "../run/run";
import { waysToSet } from "../run/settings";

/**
 * Whether an object is gone (contract C7, C39). State keeps a tag of the base URL and the API key that an
 * object was made or last read with. When these have changed, a 404 may mean that the object is gone, or that
 * the present ones belong to another account. So it counts only when another object with the same tag is found
 * with the present ones, in this run.
 */

function storedWith({ memory }: Account, tag: unknown): Stored {
  const stored = memory.stored.get(tag) ?? { isReached: false, inFlight: new Set() };
  memory.stored.set(tag, stored);
  return stored;
}

/** Notes an object of the run. An import and a program's `get` have no state. */
export function noteObject(object: ManagedObject, state: Properties = {}): void {
  const { known, account } = object;
  known.isOwn = true;
  if (state.uri === undefined) return;
  account.memory.isKnown = true;
  account.memory.states.set(known, { object, state });
  // It may show whose the base URL and key are.
  storedWith(account, state.accountTag);
}

/** An object in state with a tag, as far as this run knows: one that was not found is none. */
const oneWith = ({ memory }: Account, tag: unknown) =>
  [...memory.states.values()].find(({ state }) => state.accountTag === tag)?.object;

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
    if (!(error instanceof ServiceError && error.status === 404)) throw error;
    const { message } = error;
    await kind.endpoints
      .pages(account.client)
      .next()
      .catch((cause: Error) => {
        // An unusable item still shows that the list can be read.
        if (isUnusableItem(cause)) return;
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

/**
 * Whether a service may find an object late (contract C39): this run has created it, or it is younger
 * than two minutes by the service's clock.
 */
export function isYoung(
  { kind, account, id }: ManagedObject,
  state: Properties | undefined,
): boolean {
  const ageMs = Date.now() + account.client.clockSkewMs - Date.parse(String(state?.createdAt));
  return Math.abs(ageMs) < youngMs || account.objects(kind).hasCreated(id);
}

/**
 * The result of work on an object in state, or undefined when the object is gone. A young object is
 * tried again (contract C39).
 *
 * @param state The stored state. Without one, as in an import, any 404 means that there is none.
 * @throws Error when it is not known whether the object is gone. The first one says what to do, the others
 * name its object.
 */
export async function ifInAccount<T>(
  object: ManagedObject,
  state: Properties | undefined,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (const seconds of triesAfter) {
    if (seconds > 0) await pause(seconds * object.account.waitUnitMs);
    let mayBeDone = false;
    const tried = work().catch((error: Partial<Attempted>) => {
      mayBeDone = error.ambiguous === true;
      throw error;
    });
    const found = await ifReached(object, state, tried);
    // To a delete whose first answer was lost, 404 is a success.
    if (found !== undefined || mayBeDone || !isYoung(object, state)) return found;
  }
  throw new Error(
    `the service does not find the ${object.title}, which is new: it was asked ` +
      `${triesAfter.length} times. A service may find a new object late, so the object stays in ` +
      "the state. If it was deleted, run the command again two minutes after its creation",
  );
}

async function ifReached<T>(
  object: ManagedObject,
  state: Properties | undefined,
  work: Promise<T>,
): Promise<T | undefined> {
  const { account } = object;
  const isSame = !state || state.accountTag === account.tag;
  const stored = isSame ? undefined : storedWith(account, state.accountTag);
  const answered = ifExists(object, work).then((there) => {
    if (stored) stored.isReached ||= there !== undefined;
    return there;
  });
  stored?.inFlight.add(answered);
  const found = await answered.finally(() => stored?.inFlight.delete(answered));
  if (found !== undefined) return found;
  account.memory.states.delete(object.known);
  if (!stored || account.settings.sameAccount) return undefined;
  if (await isReached(account, state?.accountTag, stored)) return undefined;
  throw new Error(doubt(account, `the ${object.title}`, stored));
}

/**
 * Judges in a diff an object with another tag, if it has a change or this run writes already. Does
 * nothing with `offlinePlan`: the write itself shows it then.
 *
 * @throws Error as {@link ifInAccount}.
 */
export async function judgeAccount(
  object: ManagedObject,
  state: Properties,
  isChanged: boolean,
): Promise<void> {
  const { kind, account, id } = object;
  const { accountTag } = state;
  if (account.settings.offlinePlan || !(isChanged || account.memory.isWritten)) return;
  if (accountTag !== account.tag && !storedWith(account, accountTag).isReached) {
    const read = () => account.objects(kind).get(account.client.account, id);
    await ifInAccount(object, state, read);
  }
}

/**
 * Refuses a create, its plan, or a delete, while an object that this run has seen in state may belong to another
 * account. A create would send a key there; a delete would remove what that object replaced.
 *
 * @param own The state of the object that is written: the write itself shows whose it is.
 * @throws Error as {@link ifInAccount}, or that of the request that looks for an object with the same tag.
 */
export async function refuseWrite(account: Account, own?: Properties): Promise<void> {
  account.memory.isWritten = true;
  if (account.settings.sameAccount) return;
  for (const [tag, stored] of account.memory.stored) {
    if (tag === account.tag || (own && tag === own.accountTag)) continue;
    const one = oneWith(account, tag);
    const what = stored.explained ?? (one && `the ${one.title}`);
    if (!what || (await isReached(account, tag, stored))) continue;
    throw new Error(`no write is sent: ${doubt(account, what, stored)}`);
  }
}

/** Whether the present settings reach an object with the same tag. */
async function isReached(account: Account, tag: unknown, stored: Stored): Promise<boolean> {
  while (!stored.isReached && stored.inFlight.size > 0) {
    await Promise.allSettled(stored.inFlight);
  }
  if (stored.isReached) return true;
  const one = oneWith(account, tag);
  if (one) {
    const read = () => account.objects(one.kind).get(account.client.account, one.id);
    stored.request ??= read().then(
      () => {
        stored.isReached = true;
      },
      (error) => {
        if (error instanceof ServiceError && error.status === 404) return;
        // Only a 404 says that this one is not reached: after another failure, try again.
        stored.request = undefined;
        throw error;
      },
    );
  }
  await stored.request;
  return stored.isReached;
}

function doubt({ connection, client }: Account, what: string, stored: Stored): string {
  if (stored.explained) {
    const either = what === stored.explained ? "" : " either";
    return `${what} was not found${either}: see the first message about ${stored.explained}`;
  }
  stored.explained = what;
  const [base, key] = [waysToSet(connection, "baseUrl"), waysToSet(connection, "apiKey")];
  const { variable } = waysToSet(connection, "sameAccount");
  return (
    `${what} was not found at ${client.baseUrl.href}, and the state was stored with another base URL or API key. ` +
    "So either it was deleted, or the present ones belong to another account or service. Nothing was done to it. If " +
    `one is wrong, correct it in ${base.configKey} or ${base.variable}, or in ${key.configKey} or ${key.variable}. If ` +
    "both are right, run `pulumi refresh`, which reads the other resources, too; if that says the same, run the " +
    `command once with ${variable}=1 in the environment`
  );
}
