import { ConnectionError, ServiceError } from "../../client/errors";
import type { ServiceObject } from "../../client/fields";
import { contentOf, isLike, type Kind } from "../kinds/kind";
import type { Properties } from "../kinds/properties";
import { cancelSignal } from "../run/engine";
import { type Baseline, type ListItem, pause } from "../run/objects";
import type { Account } from "../run/run";
import { refuseWrite } from "./gone";
import { setHostports } from "./hostports";
import { claimCreated } from "./owners";

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

/**
 * Creates one object for one resource (contract C33, C35, C36).
 *
 * The answer to a POST is lost when the service may have created the object although the POST failed: a
 * timeout, a reset, 408, any 5xx. Such a POST is never sent again. The create looks for its object in the
 * list, and keeps it when all of this holds:
 *
 * - The object is new: it was not in the page that was read before the POST (the baseline).
 * - It equals the inputs, and two looks in a row show no other such object.
 * - No resource of this run has it, and no other create of this run can have made it.
 *
 * Otherwise the create fails, and its error names what it saw.
 *
 * @throws Error when it is not known what a POST has created. Other errors are thrown unchanged.
 */
export function create(kind: Kind, account: Account, inputs: Properties): Promise<Created> {
  const content = contentIn(kind, account, inputs);
  // One after the other: so the object of a sibling is known, and is not taken for a lost one.
  return account.run.inTurn(`create ${content}`, async () => {
    await refuseWrite(account);
    const { warning, ...creation } = await send(kind, account, inputs, content);
    account.run.log("warning", warning, "resource");
    return createdOf(kind, inputs, creation);
  });
}

function createdOf(kind: Kind, inputs: Properties, { wire, ...rest }: Creation): Created {
  try {
    return { id: wire.id, state: kind.toState(wire, inputs), ...rest };
  } catch (error) {
    // The object exists, so state must have it. The next update completes the rest.
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
  // Without a baseline the create goes on. Then the object of a lost answer can't be known.
  await objects.readBaseline().catch(() => {});
  const body = kind.toBody(inputs);
  let baseline: Baseline | undefined;
  const onSend = () => {
    baseline = objects.baseline;
  };
  const post = () => kind.endpoints.create(account.client, body, onSend);
  try {
    const creation = await setHostports(kind, account, { body }, post)
      .then((wire): Creation => ({ wire }))
      .catch(partlyAnswered);
    claimCreated(account.object(kind, creation.wire.id));
    return creation;
  } catch (error) {
    if (!isLost(error)) throw error;
    return find(kind, account, inputs, { error, baseline, content });
  }
}

function partlyAnswered(error: unknown): Creation {
  if (!(error instanceof ConnectionError && error.objectId)) throw error;
  return { wire: { id: error.objectId, uri: "", created_at: "" }, problem: error.message };
}

/** A POST whose answer is lost. */
interface Lost {
  error: Error;
  /** Undefined when the list could not be read before. */
  baseline: Baseline | undefined;
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
  let seen: ListItem[] = [];
  let seenAlone: string | undefined;
  let failure: Error | undefined;
  for (const seconds of pausesOf(account, lost.error, () => seenAlone !== undefined)) {
    try {
      await pause(seconds * account.waitUnitMs);
      const found = await lookFor(kind, account, lost);
      failure = undefined;
      seen = found.candidates;
      const own = found.onlyNew && isLike(kind, found.onlyNew, inputs) ? found.onlyNew : undefined;
      if (own && own.id === seenAlone && !mayBeAnothers) {
        run.lost.delete(lost.content);
        claimCreated(account.object(kind, own.id));
        return { wire: own, warning: warningOf(own.id) };
      }
      seenAlone = own?.id;
    } catch (error) {
      failure = error as Error;
      seenAlone = undefined;
      if (cancelSignal.aborted) break;
    }
  }
  const why = failure ? `, and the list can't be read (${failure.message})` : "";
  const known = failure && seen.length === 0 ? "" : `${whatTheListShows(seen, lost.baseline)}. `;
  throw new Error(`${doubt}${why}. ${known}${again}`);
}

/** The seconds before each look. After the last one comes one more where it may confirm the object. */
function* pausesOf(account: Account, error: Error, mayBeAlone: () => boolean): Generator<number> {
  for (const [index, at] of looksAt.entries()) yield at - (looksAt[index - 1] ?? 0);
  while (isSlow(error) && account.client.leftMs > 0) yield laterGap;
  if (mayBeAlone()) yield looksAt[1] as number;
}

/** The objects that a lost POST may have created, and the one that it has surely created. */
async function lookFor(kind: Kind, account: Account, { baseline, content }: Lost) {
  const old = baseline?.ids ?? new Set();
  const { items, isWhole } = await account.objects(kind).list(performance.now(), old);
  const isCandidate = (item: ListItem) =>
    !old.has(item.id) &&
    !account.object(kind, item.id).known.isOwn &&
    contentIn(kind, account, item) === content;
  // Newest first: what stands before all old objects is new. What stands between them may be new,
  // too, because a service may not keep the order.
  const first = items.findIndex(({ id }) => old.has(id));
  const last = items.findLastIndex(({ id }) => old.has(id));
  const wasWhole = isWhole && baseline?.isWhole === true;
  const candidates = (wasWhole || last < 0 ? items : items.slice(0, last)).filter(isCandidate);
  const [only, ...others] = candidates;
  const isNew = only !== undefined && (wasWhole || items.indexOf(only) < first);
  return { candidates, onlyNew: isNew && others.length === 0 ? only : undefined };
}

/** The content of inputs or of an object, with the service that has it. */
const contentIn = (kind: Kind, { client }: Account, inputsOrWire: object) =>
  `${client.baseUrl.href} ${contentOf(kind, inputsOrWire)}`;

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
  "Run `pulumi preview`: it warns of each equal object that no resource has. To keep one instead of creating " +
  "another, set the resource option `import` to its id";

function whatTheListShows(seen: ListItem[], baseline: Baseline | undefined): string {
  const ids = seen.map(({ id }) => id).join(", ");
  if (ids) return `It may be one of these objects with the same content, or none of them: ${ids}`;
  return baseline
    ? "So far the list shows no new object with this content"
    : "The list does not show what was there before";
}

const warningOf = (id: string) =>
  `the answer to this create was lost. ${id} is new and has the content of this resource, so this ` +
  "resource keeps it. If another run or another provider creates equal objects in this account at the same time, " +
  `check with \`pulumi stack --show-ids\` that no other resource and no other stack has ${id}`;
