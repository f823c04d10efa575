import { ConnectionError, ServiceError } from "../client/errors";
import type { ServiceObject } from "../client/fields";
import { cancelSignal } from "./engine";
import { setHostports } from "./hostports";
import { contentOf, isLike, type Kind } from "./kind";
import { refuseWrite } from "./marks";
import { type Listed, type Look, type Mark, pause } from "./objects";
import type { Properties } from "./properties";
import type { Account } from "./run";

/** The result of a create. */
export interface Created {
  id: string;
  state: Properties;
  /** Why a part of the service's answer can't be used. */
  problem?: string;
}

/** What a create knows of its object. */
interface Creation {
  wire: ServiceObject;
  problem?: string;
  /** What the user should check. */
  warning?: string;
}

/** When a create looks for its object, in seconds after it lost the answer. */
const looksAt = [0, 1, 3, 7, 15];
/** The seconds between later looks, while the service may still be at work. */
const laterGap = 8;
/** For how many seconds from the start of a run no object is taken: the engine shows what is in state. */
const takesAfter = 5;
/** How old the list may be in which a create looks for an object to take. */
const wholeListAgeMs = 30_000;

/**
 * Creates one object for one resource (contract C33, C35, C36).
 *
 * The answer to a POST is lost when the service may have created the object although the POST failed: a
 * timeout, a reset, 408, any 5xx. Such a POST is never sent again. The create looks for its object in the
 * list, and keeps it when all of this holds:
 *
 * - The object is new: it was not in the page that was read before the POST (the mark).
 * - It equals the inputs, and two looks in a row show no other such object.
 * - No resource of this run has it, and no other create of this run can have made it.
 *
 * Otherwise the create fails, and its error names what it saw.
 *
 * @throws Error when it is not known what a POST has created. Other errors are thrown unchanged.
 */
export function create(kind: Kind, account: Account, inputs: Properties): Promise<Created> {
  const content = `${account.client.baseUrl.href} ${contentOf(kind, inputs)}`;
  // One after the other: so the object of a sibling is known, and is not taken for a lost one.
  return account.run.inTurn(`create ${content}`, async () => {
    await refuseWrite(account);
    const { warning, ...creation } =
      (await equalToTake(kind, account, inputs)) ?? (await send(kind, account, inputs, content));
    account.run.say("warning", warning, "resource");
    return createdOf(kind, inputs, creation);
  });
}

function createdOf(kind: Kind, inputs: Properties, { wire, ...rest }: Creation): Created {
  try {
    return { id: wire.id, state: kind.toState(wire, inputs), ...rest };
  } catch (error) {
    // The object exists, so state must have it: with what was sent.
    const state = kind.toState({ ...wire, ...kind.toBody(inputs) }, inputs);
    return { id: wire.id, state, problem: (error as Error).message, ...rest };
  }
}

/** Sends the POST. An answer with an id is enough: the rest of the object can be read later. */
async function send(
  kind: Kind,
  account: Account,
  inputs: Properties,
  content: string,
): Promise<Creation> {
  const objects = account.objects(kind);
  // Without a mark the create goes on. Then the object of a lost answer can't be known.
  await objects.readMark().catch(() => {});
  const body = kind.toBody(inputs);
  const isSame = (wire: ServiceObject) => isLike(kind, wire, inputs);
  let mark: Mark | undefined;
  const onSend = () => {
    mark = objects.mark;
  };
  const post = () => kind.endpoints.create(account.client, body, onSend);
  try {
    const creation = await setHostports(kind, account, { body, isSame }, post)
      .then((wire): Creation => ({ wire }))
      .catch(partlyAnswered);
    refuseOwned(kind, account, creation.wire);
    return creation;
  } catch (error) {
    if (!isLost(error)) throw error;
    return find(kind, account, inputs, { error, mark, content });
  }
}

function partlyAnswered(error: unknown): Creation {
  const usable = error instanceof ConnectionError ? error.usable : undefined;
  if (!usable?.id) throw error;
  const wire = { uri: "", created_at: "", ...usable } as unknown as ServiceObject;
  return { wire, problem: (error as ConnectionError).message };
}

/** Notes the id that a create was answered with, or refuses it. */
function refuseOwned(kind: Kind, account: Account, { id }: ServiceObject): void {
  if (account.own.has(id)) {
    throw new Error(
      `the service answered the create of this ${kind.title} with ${id}, which belongs ` +
        "to another resource: find out with `pulumi stack --show-ids` which resource has it",
    );
  }
  account.own.add(id);
  account.objects(kind).noteCreated(id);
}

/** A POST whose answer is lost. */
interface Lost {
  error: Error;
  /** Undefined when the list could not be read before. */
  mark: Mark | undefined;
  content: string;
}

/** Finds the object of a lost POST. */
async function find(
  kind: Kind,
  account: Account,
  inputs: Properties,
  lost: Lost,
): Promise<Creation> {
  const { run } = account;
  const doubt = `${lost.error.message}. The service may have created this ${kind.title} nevertheless`;
  const mayBeAnothers = run.lost.has(lost.content);
  run.lost.add(lost.content);
  let seen: Listed[] = [];
  let alone: string | undefined;
  let failure: Error | undefined;
  for (const seconds of pausesOf(account, lost.error, () => alone !== undefined)) {
    try {
      await pause(seconds * account.secondMs);
      const found = await lookFor(kind, account, lost);
      failure = undefined;
      seen = found.candidates;
      const own = found.certain && isLike(kind, found.certain, inputs) ? found.certain : undefined;
      if (own && own.id === alone && !mayBeAnothers) {
        run.lost.delete(lost.content);
        account.own.add(own.id);
        account.objects(kind).noteCreated(own.id);
        return { wire: own, warning: warningOf(own.id) };
      }
      alone = own?.id;
    } catch (error) {
      failure = error as Error;
      alone = undefined;
      if (cancelSignal.aborted) break;
    }
  }
  const why = failure ? `, and the list can't be read (${failure.message})` : "";
  const known = failure && seen.length === 0 ? "" : `${knownOf(seen, lost.mark)}. `;
  throw new Error(`${doubt}${why}. ${known}${again}`);
}

/** The seconds before each look. After the last one comes one more where it may confirm the object. */
function* pausesOf(account: Account, error: Error, mayBeAlone: () => boolean): Generator<number> {
  for (const [index, at] of looksAt.entries()) yield at - (looksAt[index - 1] ?? 0);
  while (isSlow(error) && account.client.leftMs > 0) yield laterGap;
  if (mayBeAlone()) yield looksAt[1] as number;
}

/** The objects that a lost POST may have created, and the one that it has surely created. */
async function lookFor(kind: Kind, account: Account, { mark, content }: Lost) {
  const objects = account.objects(kind);
  const isMarked = ({ id }: Listed) => mark?.ids.has(id) === true;
  const isEnough = ({ wires }: Look) => mark?.isWhole !== true && wires.some(isMarked);
  const { wires, isWhole } = await objects.look(account.secondMs, isEnough);
  const { href } = account.client.baseUrl;
  const isCandidate = (wire: Listed) =>
    !isMarked(wire) && !account.own.has(wire.id) && `${href} ${contentOf(kind, wire)}` === content;
  if (isWhole && mark?.isWhole) {
    const candidates = wires.filter(isCandidate);
    return { candidates, certain: candidates.length === 1 ? candidates[0] : undefined };
  }
  // Newest first: what stands before all marked objects is new. What stands between them may be new,
  // too, because a service may not keep the order.
  const last = wires.findLastIndex(isMarked);
  const candidates = (last < 0 ? wires : wires.slice(0, last)).filter(isCandidate);
  const newer = wires.slice(0, Math.max(0, wires.findIndex(isMarked)));
  const [only] = candidates;
  const isCertain = candidates.length === 1 && only !== undefined && newer.includes(only);
  return { candidates, certain: isCertain ? only : undefined };
}

/** Whether the service may have created the object although the POST failed. */
function isLost(error: unknown): error is Error {
  const isOfRequest = error instanceof ServiceError || error instanceof ConnectionError;
  return isOfRequest && error.method === "POST" && error.ambiguous;
}

/** Whether the service may still be at work on the request. */
function isSlow(error: Error): boolean {
  if (error instanceof ServiceError) return [408, 504, 524].includes(error.status);
  return error instanceof ConnectionError && error.code === "ETIMEDOUT";
}

const again =
  "Run `pulumi preview`: it warns of each equal object that no resource has. To take one instead of creating " +
  "another, set TLSEDGE_TAKE_EQUAL=1 for one `pulumi up`";

function knownOf(seen: Listed[], mark: Mark | undefined): string {
  const ids = seen.map(({ id }) => id).join(", ");
  if (ids) return `It may be one of these objects with the same content, or none of them: ${ids}`;
  return mark
    ? "So far the list shows no new object with this content"
    : "The list does not show what was there before";
}

const warningOf = (id: string) =>
  `the answer to this create was lost. ${id} is new and has the content of this resource, so this ` +
  "resource keeps it. If another run or another provider creates equal objects in this account at the same time, " +
  `check with \`pulumi stack --show-ids\` that no other resource and no other stack has ${id}`;

/** With the setting `takeEqual`: the only equal object that no resource of this run has (contract C84). */
async function equalToTake(
  kind: Kind,
  account: Account,
  inputs: Properties,
): Promise<Creation | undefined> {
  if (!account.settings.takeEqual) return undefined;
  const content = contentOf(kind, inputs);
  const waitedMs = performance.now() - account.run.since;
  await pause(Math.max(0, takesAfter * account.secondMs - waitedMs));
  const equal = (await account.objects(kind).all(wholeListAgeMs)).filter(
    (wire) =>
      !account.own.has(wire.id) && contentOf(kind, wire) === content && isLike(kind, wire, inputs),
  );
  const [wire] = equal;
  if (!wire || equal.length > 1) return undefined;
  const object = account.object(kind, wire.id);
  account.own.add(wire.id);
  account.keep(kind, wire.id);
  account.run.taken.add(object);
  account.run.owners.set(object, "");
  const warning =
    `this resource takes the ${kind.title} ${wire.id}, which equals it and which no resource of this run ` +
    "has. If another stack has it, remove this resource from the state with `pulumi state delete`";
  return { wire, warning };
}
