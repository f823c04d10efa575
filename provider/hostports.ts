import { ServiceError } from "../client/errors";
import type { ServiceObject } from "../client/fields";
import { lowerCase } from "./declaredHostports";
import type { Kind } from "./kind";
import { idAndTime, type ListItem, pause } from "./objects";
import { hasUnknown, type Properties } from "./properties";
import type { Account, KnownObject, Run } from "./run";

/** When a write reads the list while it waits for a hostport, in seconds after it was refused. */
const readsAt = [0, 1, 3, 7, 15, 20];
/** For how many seconds a write waits. */
const longest = 20;
/** For how many seconds a write waits for an edge of which the engine has asked no diff. */
const undiffedFor = 5;

/** Notes that the program declares an edge with these hostports. Ignores what is no known list. */
export function declareHostports(run: Run, kind: Kind, inputs: Properties): void {
  const hostports = kind.exclusive && (inputs[kind.exclusive] ?? []);
  if (Array.isArray(hostports) && !hasUnknown(hostports)) run.declared.add(keyOf(hostports));
}

/**
 * Plans the hostports of an edge, from its diff. Ignores a diff to what the program does not declare:
 * after a refresh the engine diffs to the old inputs, and for a dependent of a replaced resource to
 * unknown ones.
 */
export function planHostports(
  kind: Kind,
  account: Account,
  id: string,
  state: Properties,
  inputs: Properties,
): void {
  const { exclusive } = kind;
  const { run } = account;
  if (!exclusive) return;
  const [from, to] = [state, inputs].map((one) => (one[exclusive] ?? []) as string[]);
  if (!from || !to || hasUnknown(to) || !run.declared.has(keyOf(to))) return;
  const after = lowerCase(to);
  account.known(kind, id).willServe = after;
  for (const one of lowerCase(from)) if (!after.has(one)) run.givenUp.add(one);
}

/** Notes that this run has deleted an edge. */
export function noteDeleted(kind: Kind, account: Account, id: string, state: Properties): void {
  if (!kind.exclusive) return;
  const hostports = (state[kind.exclusive] ?? []) as string[];
  for (const one of lowerCase(hostports)) account.run.givenUp.add(one);
  account.known(kind, id).serves = new Set();
}

/** What is written: a create has no `id`; its `isSame` compares an edge with what is created. */
interface Written {
  id?: string;
  body: object;
  isSame?(wire: ServiceObject): boolean;
}

/** A write that was refused. */
interface Waiting {
  /** The edge that is updated; undefined for a create. */
  own: KnownObject | undefined;
  hostports: Set<string>;
  isSame: Written["isSame"];
  error: ServiceError;
}

/** An edge that may serve a wanted hostport. */
interface Holder {
  wire: ListItem;
  edge: KnownObject;
}

/**
 * Creates or updates an object. If the service refuses a hostport that another edge serves, the holder,
 * and this run gives it up there, the write waits for that and is sent again (contract C38). It never
 * writes to the holder.
 *
 * @throws Error that names the holder and says what to do. Other errors are thrown unchanged.
 */
export async function setHostports<Wire extends ServiceObject>(
  kind: Kind,
  account: Account,
  { id, body, isSame }: Written,
  send: () => Promise<Wire>,
): Promise<Wire> {
  const wanted = kind.exclusive && (body as ListItem)[kind.exclusive];
  if (!wanted) return send();
  const hostports = lowerCase(wanted);
  const own = id === undefined ? undefined : account.known(kind, id);
  try {
    const wire = await send().catch(async (error) => {
      const isRefused = error instanceof ServiceError && [400, 409].includes(error.status);
      if (!isRefused) throw error;
      await waitForHolders(kind, account, { own, hostports, isSame, error });
      return send();
    });
    account.known(kind, wire.id).serves = hostports;
    return wire;
  } catch (error) {
    // After a 404, the update of a new edge is tried again.
    if (own) own.isNotUpdated = (error as Partial<ServiceError>).status !== 404;
    throw error;
  }
}

/** Waits until no edge serves the wanted hostports, or throws. */
async function waitForHolders(kind: Kind, account: Account, waiting: Waiting): Promise<void> {
  const { secondMs } = account;
  const { own, hostports, error } = waiting;
  const since = performance.now();
  let items: ListItem[] = [];
  let reads = 0;
  for (let holders: Holder[] = []; ; await pause(secondMs / 4)) {
    const seconds = (performance.now() - since) / secondMs;
    if (isDue(reads, seconds, holders)) {
      const list = account.objects(kind).list(performance.now());
      items = (await list.catch(() => Promise.reject(error))).items;
      reads += 1;
    }
    holders = items
      .map((wire) => ({ wire, edge: account.known(kind, wire.id) }))
      .filter((one) => one.edge !== own && serves(one, hostports));
    if (holders.length === 0) {
      // The holder may have been updated after the refusal and before the list was read.
      if (share(hostports, account.run.givenUp)) return;
      throw error;
    }
    if (own) own.waitsFor = holders.map(({ edge }) => edge);
    const reasons = holders.map((holder) => whyNot(waiting, holder, seconds));
    const reason = reasons.find((text) => text !== undefined);
    if (reason) throw new Error(`${error.message}. ${reason}`);
  }
}

function isDue(reads: number, seconds: number, holders: Holder[]): boolean {
  // An edge without a diff gives up nothing: its diff is awaited, not its update.
  const isPlanned = reads === 0 || holders.some(({ edge }) => edge.willServe);
  return isPlanned && seconds >= (readsAt[reads] ?? Number.POSITIVE_INFINITY);
}

/** Whether an edge serves one of the hostports, by the list and by what this run has done since. */
function serves({ edge, wire }: Holder, hostports: Set<string>): boolean {
  return share(hostports, edge.serves ?? lowerCase(wire.hostports ?? []));
}

/** Why a write does not wait for a holder, or no longer; undefined while it waits. */
function whyNot(
  { own, hostports, isSame }: Waiting,
  { wire, edge }: Holder,
  seconds: number,
): string | undefined {
  const holder = `edge ${idAndTime(wire)}`;
  const { willServe } = edge;
  const keeps = willServe && share(hostports, willServe);
  if (keeps || (!willServe && seconds >= undiffedFor)) {
    const same =
      `The ${holder} has exactly this content: if a resource was renamed, give it its old name in the ` +
      "resource option `aliases`; if no stack has the edge, delete it, or adopt it with the option `import`";
    const other =
      `The ${holder} serves it. If another stack has that edge, remove the hostport there. If it is removed from ` +
      "this program, make two updates: first give that edge `hostports: []`, then remove it";
    // With --target-replace and after a taint, the engine asks no provider which comes first.
    const option = own
      ? ""
      : "; if this replaces that edge, set the option `deleteBeforeReplace: true`";
    return (isSame?.(wire) ? same : other) + option;
  }
  if (own && waitsInCircle(own, edge)) {
    return (
      `The ${holder} waits for a hostport of this edge, too. Make two updates: in the first, one of the two ` +
      "gives up the hostport and takes no other"
    );
  }
  if (edge.isNotUpdated) {
    return `The ${holder} would give it up in this update, but its own update failed: see its error`;
  }
  if (seconds < longest) return undefined;
  return (
    `The ${holder} gives it up in this update, but has not done so in time. Run \`pulumi up\` again; with ` +
    "`--parallel 1`, first remove the hostport there, then add it here"
  );
}

function waitsInCircle(own: KnownObject, edge: KnownObject, seen = new Set([own])): boolean {
  if (seen.has(edge)) return edge === own;
  seen.add(edge);
  return (edge.waitsFor ?? []).some((next) => waitsInCircle(own, next, seen));
}

/** Whether two sets have an element in common. */
const share = (one: Set<string>, other: Set<string>) => [...one].some((part) => other.has(part));

/** Equal for lists that mean the same. */
function keyOf(hostports: string[]): string {
  return [...lowerCase(hostports)].sort().join();
}
