import { EventEmitter, once } from "node:events";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";

/** The hostports that an existing edge will have after this run, by its last diff, update or delete. */
interface Plan {
  /** In lower case. */
  hostports: Set<string>;
  /** Whether the service has been told. */
  isDone: boolean;
}

/** By the id of the edge. */
const plans = new Map<string, Plan>();
/** Edges whose update waits for another edge, and which one. */
const waitsFor = new Map<string, string>();
/** Tells those that wait of each change of a plan. */
const changes = new EventEmitter().setMaxListeners(0);
/** How many writes of edges have ended. */
let ended = 0;

/** The engine may diff the holder a moment after it creates the edge that takes the hostport. */
const longestGraceMs = 10_000;

/** Notes what an edge is to serve once its update has run. Values not known yet say nothing. */
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

/** What is read of an edge here. */
interface Served {
  id: string;
  hostports?: string[] | null;
}

/**
 * Creates, updates or deletes an edge. The service refuses it when another edge serves one of its
 * hostports. If this process is to take the hostport off that edge, waits until that is done, at
 * most for the time that the operation has, and tries once more (contract C38).
 *
 * What can't be waited for, and the error says so: a delete of an edge that left the program, as
 * the engine does that when all else is done, and the other of two edges that exchange hostports.
 *
 * @throws Error that names the edge that serves the hostport and says what to do. Any other failure
 * as it is.
 */
export async function setHostports<T, Wire extends Served>(
  client: Client,
  edge: Edge<Wire>,
  write: () => Promise<T>,
): Promise<T> {
  const { id, hostports } = edge;
  if (id) planHostports(id, hostports);
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
    ended += 1;
    changes.emit("change");
  }
}

async function writeOrWait<T, Wire extends Served>(
  client: Client,
  edge: Edge<Wire>,
  write: () => Promise<T>,
): Promise<T> {
  const endedBefore = ended;
  try {
    return await write();
  } catch (error) {
    const holders = await holdersOf(client, edge, error);
    // The holder may have been updated after the refusal and before the list was read.
    if (holders.length === 0 && ended === endedBefore) throw error;
    const graceEndsAt = Date.now() + Math.min(longestGraceMs, client.deadlineMs / 10);
    for (const holder of holders) {
      const isFree = await isGivenUp(client, edge.id, holder, graceEndsAt);
      if (!isFree) throw refusal(error as ServiceError, holder);
    }
  }
  return write().catch(async (error) => {
    const [holder] = await holdersOf(client, edge, error);
    throw holder ? refusal(error, holder) : error;
  });
}

interface Holder {
  id: string;
  /** What it serves that is wanted. */
  hostport: string;
  isSame: boolean;
}

/** Services name a taken hostport in words of their own, if at all: the list tells who has it. */
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

/** Waits until that edge serves the hostport no more; false when that won't happen. */
async function isGivenUp(
  client: Client,
  id = "",
  holder: Holder,
  graceEndsAt: number,
): Promise<boolean> {
  waitsFor.set(id, holder.id);
  try {
    for (;;) {
      const plan = plans.get(holder.id);
      const isKept = plan?.hostports.has(holder.hostport.toLowerCase());
      if (plan?.isDone && !isKept) return true;
      const leftMs = plan ? client.leftMs : graceEndsAt - Date.now();
      if (isKept || leftMs <= 0 || waitsInCircle(id)) return false;
      await once(changes, "change", { signal: AbortSignal.timeout(leftMs) }).catch(() => {});
    }
  } finally {
    waitsFor.delete(id);
  }
}

/** Two edges that exchange hostports would wait for each other. */
function waitsInCircle(id: string): boolean {
  let next = waitsFor.get(id);
  while (next && next !== id) next = waitsFor.get(next);
  return next === id;
}

function refusal(error: ServiceError, { id, hostport, isSame }: Holder): Error {
  const advice = isSame
    ? " and has exactly the content of this edge. If the resource was renamed, put its old name " +
      "into the resource option `aliases`. If no stack has that edge, an update that was cut off may have " +
      "made it: delete it first, or, unless this is a replacement, adopt it with the resource " +
      "option `import`"
    : ": first remove the hostport from that edge, or delete that edge. If this update should do " +
      "both, split it in two: edges that leave the program are deleted last, and two edges can't exchange hostports";
  return new Error(`${error.message}. The edge ${id} serves ${hostport}${advice}`);
}

function lowerCase(hostports: string[]): Set<string> {
  return new Set(hostports.map((hostport) => hostport.toLowerCase()));
}
