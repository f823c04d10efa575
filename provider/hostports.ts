import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { ServiceError } from "../client/errors";
import type { ServiceObject } from "../client/fields";
import { lowerCase } from "./declaredHostports";
import { cancelSignal } from "./engine";
import type { Kind } from "./kind";
import { type Listed, named } from "./objects";
import { hasUnknown, type Properties } from "./properties";
import type { Account, Run } from "./run";

/** When a write reads the list while it waits for a hostport, in seconds after it was refused. */
const readsAt = [1, 3, 7, 15, 20];
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
  const kept = lowerCase(to);
  run.willServe.set(account.object(kind, id), kept);
  for (const one of lowerCase(from)) if (!kept.has(one)) run.givenUp.add(one);
  run.changes.emit("edge");
}

/** Notes that this run has deleted an edge. */
export function noteDeleted(kind: Kind, account: Account, id: string, state: Properties): void {
  if (!kind.exclusive) return;
  const hostports = (state[kind.exclusive] ?? []) as string[];
  for (const one of lowerCase(hostports)) account.run.givenUp.add(one);
  noteServed(account.run, account.object(kind, id), []);
}

function noteServed({ serves, changes }: Run, edge: string, hostports: string[]): void {
  serves.set(edge, lowerCase(hostports));
  changes.emit("edge");
}

/** An edge that serves a wanted hostport. */
interface Holder {
  wire: Listed;
  /** Its name in the memory of the run. */
  edge: string;
}

/** What is written: a create has no `id`; its `isSame` compares an edge with what is created. */
interface Written {
  id?: string;
  body: object;
  isSame?(wire: ServiceObject): boolean;
}

/** A write that was refused. */
interface Waiting extends Written {
  /** The edge that is updated, as the memory of the run names it. */
  own: string | undefined;
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
  written: Written,
  send: () => Promise<Wire>,
): Promise<Wire> {
  const { run } = account;
  const hostports = kind.exclusive && (written.body as Listed)[kind.exclusive];
  const own = written.id === undefined ? undefined : account.object(kind, written.id);
  if (!hostports) return send();
  try {
    const wire = await send().catch(async (error) => {
      const isRefused = error instanceof ServiceError && [400, 409].includes(error.status);
      if (!isRefused) throw error;
      await waitForHolders(kind, account, { ...written, own }, lowerCase(hostports), error);
      return send();
    });
    noteServed(run, account.object(kind, wire.id), hostports);
    return wire;
  } catch (error) {
    // After a 404, the update of a new edge is tried again.
    const { status } = error as Partial<ServiceError>;
    if (own && status !== 404) run.notUpdated.add(own);
    run.changes.emit("edge");
    throw error;
  } finally {
    if (own) run.waitsFor.delete(own);
  }
}

/** Waits until no edge serves the wanted hostports, or throws. */
async function waitForHolders(
  kind: Kind,
  account: Account,
  written: Waiting,
  wanted: Set<string>,
  error: ServiceError,
): Promise<void> {
  const { run, secondMs } = account;
  const { own } = written;
  const since = performance.now();
  const read = async (): Promise<Holder[]> => {
    const all = await account
      .objects(kind)
      .all(secondMs)
      .catch(() => Promise.reject(error));
    return all.map((wire) => ({ wire, edge: account.object(kind, wire.id) }));
  };
  let all = await read();
  let hadHolder = false;
  for (;;) {
    const holders = all.filter((one) => one.edge !== own && serves(run, one, wanted));
    // The holder may have been updated after the refusal and before the list was read.
    const isGivenUp = hadHolder || share(wanted, run.givenUp);
    if (holders.length === 0 && isGivenUp) return;
    if (holders.length === 0) throw error;
    hadHolder = true;
    noteWaiting(run, own, holders);
    const seconds = (performance.now() - since) / secondMs;
    const reasons = holders.map((holder) => whyNot(run, written, wanted, holder, seconds));
    const reason = reasons.find((text) => text !== undefined);
    if (reason) throw new Error(`${error.message}. ${reason}`);
    // An edge without a diff gives up nothing: its diff is awaited, not its update.
    const isPlanned = holders.some(({ edge }) => run.willServe.has(edge));
    const next = isPlanned ? nextRead(seconds) : undiffedFor;
    const hasEvent = await hasChanged(run, Math.max(1, (next - seconds) * secondMs));
    if (isPlanned && !hasEvent) all = await read();
  }
}

const nextRead = (seconds: number) => readsAt.find((at) => at > seconds) ?? longest;

/** Waits for a change of what an edge serves or waits for. False when the time is over. */
async function hasChanged({ changes }: Run, ms: number): Promise<boolean> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, cancelSignal]);
  const change = once(changes, "edge", { signal }).then(() => true);
  try {
    return await Promise.race([change, setTimeout(ms, false, { signal })]);
  } catch (error) {
    throw cancelSignal.reason ?? error;
  } finally {
    ended.abort();
  }
}

function noteWaiting({ waitsFor, changes }: Run, own: string | undefined, holders: Holder[]): void {
  if (own === undefined) return;
  const isNew = !waitsFor.has(own);
  waitsFor.set(
    own,
    holders.map(({ edge }) => edge),
  );
  if (isNew) changes.emit("edge");
}

/** Whether an edge serves one of the hostports, by the list and by what this run has done since. */
function serves(run: Run, { edge, wire }: Holder, wanted: Set<string>): boolean {
  const served = run.serves.get(edge) ?? lowerCase(wire.hostports ?? []);
  return share(wanted, served);
}

/** Why a write does not wait for a holder, or no longer; undefined while it waits. */
function whyNot(
  run: Run,
  { own, isSame }: Waiting,
  wanted: Set<string>,
  { wire, edge }: Holder,
  seconds: number,
): string | undefined {
  const holder = `edge ${named(wire)}`;
  const willServe = run.willServe.get(edge);
  const keeps = willServe && share(wanted, willServe);
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
  if (own && waitsInCircle(run, own, edge)) {
    return (
      `The ${holder} waits for a hostport of this edge, too. Make two updates: in the first, one of the two ` +
      "gives up the hostport and takes no other"
    );
  }
  if (run.notUpdated.has(edge)) {
    return `The ${holder} would give it up in this update, but its own update failed: see its error`;
  }
  if (seconds < longest) return undefined;
  return (
    `The ${holder} gives it up in this update, but has not done so in time. Run \`pulumi up\` again; with ` +
    "`--parallel 1`, first remove the hostport there, then add it here"
  );
}

function waitsInCircle(run: Run, own: string, edge: string, seen = new Set<string>()): boolean {
  if (edge === own || seen.has(edge)) return edge === own;
  seen.add(edge);
  return (run.waitsFor.get(edge) ?? []).some((next) => waitsInCircle(run, own, next, seen));
}

/** Whether two sets have an element in common. */
const share = (one: Set<string>, other: Set<string>) => [...one].some((part) => other.has(part));

/** Equal for lists that mean the same. */
function keyOf(hostports: string[]): string {
  return [...lowerCase(hostports)].sort().join();
}
