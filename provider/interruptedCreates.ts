import { inform } from "./messages";
import type { OtherCreate, PendingCreate } from "./pendingCreates";

/** A search has found what it can't decide about. Another search would not help. */
export class UndecidedError extends Error {}

/** The ids of objects that creates of this run have taken up. */
const takenUp = new Set<string>();

/**
 * Whether a create of this run has taken up the object. In a forced replacement that may be the old
 * object, which the engine then asks to delete.
 */
export function isTakenUp(id: string): boolean {
  return takenUp.has(id);
}

/** Called when a run begins: a process that the engine has attached to serves several. */
export function forgetTakenUp(): void {
  takenUp.clear();
}

/** A create that is about to begin, and how to look for what others have created. */
interface Beginning<Wire> {
  /** The kind of object, for messages: "TLS edge". */
  title: string;
  /** The URN of the resource; undefined when it is not known. */
  urn: string | undefined;
  note: PendingCreate;
  /** The objects with this content that were created since then and belong to no other create. */
  search(since: number, unstored: string[]): Promise<{ found: Wire[]; claimants: number }>;
  /** Keeps other creates from taking the object. */
  take(wire: Wire): void;
}

/** What a create has to do about interrupted ones. */
interface Settled<Wire> {
  /** The object that the resource has already. */
  taken?: Wire;
  /** Called after the create: a warning about objects that belong to other resources. */
  warning?: () => Promise<string | undefined>;
}

/**
 * Settles the creates of processes that have died and may have created this object (contract C33,
 * C84). With a URN, the create takes the object that an interrupted create of the same URN has
 * made, and leaves those of other URNs to the creates of these. Otherwise it fails once, and names
 * the candidates.
 *
 * @throws Error when it can't decide; the message says what to check.
 */
export async function settleInterrupted<Wire extends { id: string }>(
  create: Beginning<Wire>,
): Promise<Settled<Wire>> {
  const all = await create.note.others();
  const left = all.filter(({ since, turn }) => since !== undefined && turn === "died");
  const { urn } = create;
  if (urn === undefined) {
    await refuse(create, left);
    return {};
  }
  const isAnonymous = ({ urns }: OtherCreate) => Object.keys(urns).length === 0;
  await refuse(create, left.filter(isAnonymous));
  const own = left.filter(({ urns }) => urn in urns);
  const taken = own.length > 0 ? await takeUp(create, urn, own) : undefined;
  if (taken) return { taken };
  const others = left.filter((one) => !isAnonymous(one) && !own.includes(one));
  return others.length > 0 ? { warning: () => warningOfOthers(create, others) } : {};
}

/** Takes the object that an interrupted create of this URN has made; undefined if it made none. */
async function takeUp<Wire extends { id: string }>(
  create: Beginning<Wire>,
  urn: string,
  own: OtherCreate[],
): Promise<Wire | undefined> {
  const forget = () => own.forEach((one) => void one.forget(urn));
  const answered = own.flatMap(({ urns }) => urns[urn] ?? []);
  const { found, claimants } = await searchOrForget(create, own, answered, forget);
  const isUnknown = own.some(({ urns }) => urns[urn] === null);
  const unanswered = isUnknown ? found.filter(({ id }) => !answered.includes(id)) : [];
  const answer = found.find(({ id }) => answered.includes(id));
  const wire = answer ?? unanswered.at(-1);
  if (!answer && unanswered.length > claimants) {
    forget();
    throw ambiguity(create, found);
  }
  if (wire) {
    create.take(wire);
    takenUp.add(wire.id);
    create.note.sent(urn, oldestOf(own));
    create.note.settle(wire.id, urn);
    inform(`this resource uses ${wire.id}, which an interrupted update has created for it`);
  }
  forget();
  return wire;
}

/** Fails once when one of these creates may have made this object. */
async function refuse<Wire extends { id: string }>(
  create: Beginning<Wire>,
  left: OtherCreate[],
): Promise<void> {
  if (left.length === 0) return;
  const forget = () => left.forEach((one) => void one.forget());
  const unstored = left.flatMap((one) => one.unstored);
  const { found } = await searchOrForget(create, left, unstored, forget);
  forget();
  if (found.length > 0) throw ambiguity(create, found);
}

async function searchOrForget<Wire>(
  create: Beginning<Wire>,
  interrupted: OtherCreate[],
  unstored: string[],
  forget: () => void,
) {
  try {
    return await create.search(oldestOf(interrupted), unstored);
  } catch (error) {
    // After another error, such as a failed request, the next create can search again.
    if (error instanceof UndecidedError) forget();
    const { message } = error as Error;
    throw new Error(
      `${doubtOf(create)}, and the account can't be searched (${message}): look for it`,
    );
  }
}

function warningOfOthers<Wire extends { id: string }>(
  { title, search }: Beginning<Wire>,
  others: OtherCreate[],
): Promise<string | undefined> {
  const names = others.flatMap(({ urns }) => Object.keys(urns)).map(nameInUrn);
  const unstored = others.flatMap((one) => one.unstored);
  return warningOf(
    `an interrupted update may have created another ${title}`,
    search(oldestOf(others), unstored).then(({ found }) => found),
    `The next create of ${names.join(", ")} uses it. If the program no longer declares that ` +
      "resource, delete the object",
  );
}

/** A warning that names objects; undefined if there are none. */
export async function warningOf(
  doubt: string,
  search: Promise<{ id: string }[]>,
  advice: string,
): Promise<string | undefined> {
  try {
    const found = await search;
    return found.length > 0 ? `${doubt}: ${idsOf(found)}. ${advice}` : undefined;
  } catch (error) {
    const { message } = error as Error;
    return `${doubt}, and the account can't be searched (${message}): look for it`;
  }
}

/** The error about objects that an interrupted create may have made. No other create takes one. */
function ambiguity<Wire extends { id: string }>(create: Beginning<Wire>, found: Wire[]): Error {
  for (const wire of found) create.take(wire);
  return new Error(
    `${doubtOf(create)}. Objects with the same content, created since then: ${idsOf(found)}. ` +
      "If the resource was renamed and the stack has the object under the old name, put the " +
      "old name into the resource option `aliases`. If no stack has the object, delete it or, " +
      "unless this is a replacement, adopt it with the resource option `import`. The next " +
      "`pulumi up` creates a new object even if one of these still exists",
  );
}

function doubtOf({ title }: { title: string }): string {
  return `an interrupted update may have created this ${title} already`;
}

function oldestOf(creates: OtherCreate[]): number {
  return Math.min(...creates.map(({ since }) => since as number));
}

/** The name of a resource, which ends its URN. */
export function nameInUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

/** The ids of objects, for messages. */
export function idsOf(wires: { id: string }[]): string {
  return wires.map(({ id }) => id).join(", ");
}
