import { EventEmitter, once } from "node:events";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { cancelSignal } from "./engine";
import { perAccount } from "./lifecycle";

/** The hostports that an edge will have after this run: from its last diff, update or delete. */
interface Plan {
  /** In lower case. */
  hostports: Set<string>;
  /** Whether the edge already has these hostports on the service. */
  isDone: boolean;
}

/** By the id of the edge. */
const plans = new Map<string, Plan>();
/** By the id of an edge whose write waits: the id of the edge that it waits for. */
const waitsFor = new Map<string, string>();
/** Tells the waiting writes that a plan has changed. */
const changes = new EventEmitter().setMaxListeners(0);
/** The updates and deletes that may free a hostport: how many ended, and how many are in flight. */
const freesOf = perAccount(() => ({ ended: 0, inFlight: 0 }));

/**
 * How long a write waits at most until the holder has a plan. The engine may diff the holder after
 * it has started to create the edge that takes over the hostport.
 */
const maxGraceMs = 10_000;

/** Notes the hostports that an edge will serve after its update. Ignores an unknown list. */
export function planHostports(edgeId: string, hostports: unknown): void {
  if (!Array.isArray(hostports)) return;
  plans.set(edgeId, { hostports: lowerCase(hostports), isDone: false });
  changes.emit("change");
}

/** An edge that is created, updated or deleted. */
interface Edge<Wire> {
  /** Undefined when it is created. */
  id?: string;
  /** The hostports it will serve; undefined when they don't change. */
  hostports: string[] | undefined;
  /** All edges of its kind. */
  list(client: Client): AsyncIterable<Wire>;
  /** Whether an existing edge has the whole content of the edge that is created. */
  isSame?(wire: Wire): boolean;
}

/** The fields of an edge that this file reads. */
interface Served {
  id: string;
  hostports?: string[] | null;
}

/**
 * Creates, updates or deletes an edge. The service refuses the write when another edge, the holder,
 * serves one of the hostports. If this process will remove the hostport from the holder, the write
 * waits for that, at most until the operation's deadline, and is tried once more (contract C38).
 *
 * In two cases the write can't wait, and the error says so: the program no longer declares the
 * holder, which the engine then deletes after all other changes; or two edges exchange hostports.
 *
 * @throws Error that names the holder and says what to do. Other errors are thrown unchanged.
 */
export async function setHostports<T, Wire extends Served>(
  client: Client,
  edge: Edge<Wire>,
  write: () => Promise<T>,
): Promise<T> {
  const { id, hostports } = edge;
  if (id) planHostports(id, hostports);
  const frees = freesOf(client);
  const mayFree = id !== undefined && hostports !== undefined ? 1 : 0;
  frees.inFlight += mayFree;
  try {
    const result = await writeOrWait(client, edge, write);
    const written = id ?? (result as { id: string }).id;
    if (hostports) plans.set(written, { hostports: lowerCase(hostports), isDone: true });
    else plans.delete(written);
    return result;
  } catch (error) {
    if (id) plans.delete(id);
    throw error;
  } finally {
    frees.inFlight -= mayFree;
    frees.ended += mayFree;
    changes.emit("change");
  }
}

async function writeOrWait<T, Wire extends Served>(
  client: Client,
  edge: Edge<Wire>,
  write: () => Promise<T>,
): Promise<T> {
  const frees = freesOf(client);
  const endedBefore = frees.ended;
  try {
    return await write();
  } catch (error) {
    const holders = await holdersOf(client, edge, error);
    // The service may have updated the holder after the refusal and before the list was read.
    const own = edge.id !== undefined ? 1 : 0;
    const mayBeFree = frees.ended > endedBefore || frees.inFlight > own;
    if (holders.length === 0 && !mayBeFree) throw error;
    const graceEndsAt = Date.now() + Math.min(maxGraceMs, client.deadlineMs / 10);
    for (const holder of holders) {
      const isFree = await hasGivenUp(client, edge.id, holder, graceEndsAt);
      if (!isFree) throw refusal(error as ServiceError, holder, edge.id);
    }
  }
  return write().catch(async (error) => {
    const [holder] = await holdersOf(client, edge, error);
    throw holder ? refusal(error, holder, edge.id) : error;
  });
}

/** An edge that serves a wanted hostport. */
interface Holder {
  id: string;
  /** The wanted hostport. */
  hostport: string;
  isSame: boolean;
}

/** Finds the holders in the list, because the service's refusal does not always name them. */
async function holdersOf<Wire extends Served>(
  client: Client,
  { id, hostports = [], list, isSame = () => false }: Edge<Wire>,
  error: unknown,
): Promise<Holder[]> {
  const isRefused = error instanceof ServiceError && [400, 409].includes(error.status);
  if (!isRefused || hostports.length === 0) throw error;
  const wanted = lowerCase(hostports);
  const holders: Holder[] = [];
  try {
    for await (const wire of list(client)) {
      const hostport = wire.hostports?.find((one) => wanted.has(one.toLowerCase()));
      if (!hostport || wire.id === id) continue;
      holders.push({ id: wire.id, hostport, isSame: isSame(wire) });
    }
  } catch {
    throw error;
  }
  return holders;
}

/** Waits until the holder no longer serves the hostport; false when that won't happen. */
async function hasGivenUp(
  client: Client,
  id = "",
  holder: Holder,
  graceEndsAt: number,
): Promise<boolean> {
  waitsFor.set(id, holder.id);
  try {
    for (;;) {
      const plan = plans.get(holder.id);
      const willServe = plan?.hostports.has(holder.hostport.toLowerCase());
      if (plan?.isDone && !willServe) return true;
      const leftMs = plan ? client.leftMs : graceEndsAt - Date.now();
      if (willServe || leftMs <= 0 || waitsForItself(id) || cancelSignal.aborted) return false;
      const signal = AbortSignal.any([AbortSignal.timeout(leftMs), cancelSignal]);
      await once(changes, "change", { signal }).catch(() => {});
    }
  } finally {
    waitsFor.delete(id);
  }
}

/** Whether a chain of waiting edges is a loop, as when two edges exchange hostports. */
function waitsForItself(id: string): boolean {
  let next = waitsFor.get(id);
  while (next && next !== id) next = waitsFor.get(next);
  return next === id;
}

/** @param updated The id of the edge that is refused; undefined when it is created. */
function refusal(
  error: ServiceError,
  { id, hostport, isSame }: Holder,
  updated: string | undefined,
): Error {
  const advice = isSame
    ? " and has exactly the content of this edge. If the resource was renamed, put its old name " +
      "into the resource option `aliases`. If no stack has that edge, an interrupted update may " +
      "have created it: delete that edge first or, unless this is a replacement, adopt it with " +
      "the resource option `import`"
    : ": first remove the hostport from that edge, or delete that edge. If the program " +
      "already does this, split the change into two updates: edges that the program no longer " +
      "declares are deleted last, and two edges can't exchange hostports in one update";
  // With --target-replace and after a taint, the engine asks no provider which comes first.
  const option = updated
    ? ""
    : ". If this replaces that edge, set the resource option `deleteBeforeReplace: true`";
  return new Error(`${error.message}. The edge ${id} serves ${hostport}${advice}${option}`);
}

function lowerCase(hostports: string[]): Set<string> {
  return new Set(hostports.map((hostport) => hostport.toLowerCase()));
}
