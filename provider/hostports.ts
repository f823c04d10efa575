import { EventEmitter, once } from "node:events";
import { setTimeout } from "node:timers/promises";
import type { Client } from "../client/client";
import type { Endpoints } from "../client/endpoints";
import { type Attempted, ServiceError } from "../client/errors";
import { lowerCase } from "./declaredHostports";
import { calls, cancelSignal } from "./engine";
import { type Listed, named } from "./plan";
import { hasUnknown } from "./properties";

/** The lists of hostports that the program of this run declares. */
const declared = new Set<string>();
/** By the id of an edge: the hostports that this run removes from it, in lower case. */
const plans = new Map<string, Set<string>>();
/** The ids of the edges that this run has deleted. */
const deleted = new Set<string>();
/** Emits the id of an edge that gets a plan or is deleted. */
const changes = new EventEmitter().setMaxListeners(0);

/**
 * How long a write waits at most until the holder has a plan. The engine may diff the holder after
 * it has started to create the edge that takes the hostport. It diffs ahead, but not far when all its
 * workers are busy. No call says that no diff follows: so the wait ends early when the engine has sent
 * no call for a while and waits for no answer but those of writes that wait here. What may still come
 * then depends on other providers or on the program's own requests.
 */
const maxGraceMs = 10_000;
/** In how many parts the grace is divided, and after how many of them without a call it ends early. */
const [parts, quietParts] = [40, 20];

/** Notes that the program declares an edge with these hostports. Ignores what is no known list. */
export function declareHostports(hostports: unknown): void {
  if (Array.isArray(hostports) && !hasUnknown(hostports)) declared.add(keyOf(hostports));
}

/**
 * Plans the change of an edge, from its diff. Ignores a diff to what the program does not declare:
 * after a refresh the engine diffs to the old inputs, and for a dependent of a replaced resource to
 * unknown ones.
 */
export function planHostports(id: string, from: unknown, to: unknown): void {
  if (hasUnknown(to) || !declared.has(keyOf(to as string[]))) return;
  const keeps = lowerCase(to as string[]);
  plans.set(id, new Set([...lowerCase(from as string[])].filter((one) => !keeps.has(one))));
  changes.emit(id);
}

/** Notes that an edge was deleted: a replacement may delete it without a diff. */
export function noteDeleted(id: string): void {
  deleted.add(id);
  changes.emit(id);
}

/** Begins a run. */
export function forgetPlans(): void {
  for (const one of [declared, plans, deleted]) one.clear();
}

/** An edge that is created or updated. */
interface Edge<Wire> {
  /** Undefined when it is created. */
  id?: string;
  /** The hostports it will serve; undefined when they don't change. */
  hostports: string[] | undefined;
  endpoints: Pick<Endpoints<Wire, object>, "get" | "list" | "update">;
  /** Whether an existing edge has the whole content of the edge that is created. */
  isSame?(wire: Wire): boolean;
}

/**
 * Creates or updates an edge. The service refuses the write when other edges, the holders, serve
 * wanted hostports. If this run's plan removes these from the holders, they are removed now, and the
 * write is sent again (contract C38). The holders' own updates follow as planned.
 *
 * @throws Error that names the holder and says what to do. Other errors are thrown unchanged.
 */
export async function setHostports<T, Wire extends Listed>(
  client: Client,
  edge: Edge<Wire>,
  write: () => Promise<T>,
): Promise<T> {
  try {
    // `take` sends the holder's list as it has read it: no update of the holder may come between.
    return await (edge.id && edge.hostports ? inTurn(client, write) : write());
  } catch (error) {
    const isRefused = error instanceof ServiceError && [400, 409].includes(error.status);
    if (!isRefused || !edge.hostports) throw error;
    const wanted = lowerCase(edge.hostports);
    const holders = await holdersOf(client, edge, wanted, error);
    return inTurn(client, () => take(client, edge.endpoints, wanted, holders, write));
  }
}

/**
 * The ids of the edges that serve wanted hostports, which all have plans to remove these. They are
 * found in the list, because the service's refusal does not always name them.
 */
async function holdersOf<Wire extends Listed>(
  client: Client,
  edge: Edge<Wire>,
  wanted: Set<string>,
  error: ServiceError,
): Promise<string[]> {
  const holders: { wire: Wire; held: string[] }[] = [];
  try {
    for await (const wire of edge.endpoints.list(client)) {
      const held = (wire.hostports ?? []).filter((one) => wanted.has(one.toLowerCase()));
      if (held.length > 0 && wire.id !== edge.id) holders.push({ wire, held });
    }
  } catch {
    throw error;
  }
  // The holder may have been updated after the refusal and before the list was read.
  const isPlanned = [...wanted].some((one) => [...plans.values()].some((all) => all.has(one)));
  if (holders.length === 0 && !isPlanned) throw error;
  const partMs = Math.min(maxGraceMs, client.deadlineMs / 10) / parts;
  for (const { wire, held } of holders) {
    const isKnown = plans.has(wire.id) || deleted.has(wire.id);
    if (!isKnown) await planOf(wire.id, partMs);
    const kept = held.find((hostport) => !isDropped(wire.id, hostport));
    if (kept) throw refusal(error, edge, wire);
  }
  return holders.map(({ wire }) => wire.id);
}

/** How many writes wait for a plan. */
let waiting = 0;

/** Waits until an edge gets a plan, or until none is to be expected. */
async function planOf(id: string, partMs: number): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, cancelSignal]);
  const isKnown = once(changes, id, { signal }).catch(() => true);
  waiting += 1;
  for (let part = 0, quiet = 0; part < parts && quiet < quietParts; part++) {
    const { total } = calls;
    if (await Promise.race([isKnown, setTimeout(partMs)])) break;
    quiet = calls.total === total && calls.open === waiting ? quiet + 1 : 0;
  }
  waiting -= 1;
  ended.abort();
}

function isDropped(id: string, hostport: string): boolean {
  return deleted.has(id) || plans.get(id)?.has(hostport.toLowerCase()) === true;
}

/** By base URL, because two keys of one account share its edges: the last work. */
const turns = new Map<string, Promise<unknown>>();

/** Runs one work at a time for each service. */
function inTurn<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const { href } = client.baseUrl;
  const done = (turns.get(href) ?? Promise.resolve()).then(work);
  turns.set(href, Promise.allSettled([done]));
  return done;
}

/**
 * Removes the wanted hostports from the holders, and writes. After a refusal the holders get back
 * what they had; after a lost answer they don't, because the service may still do that request.
 */
async function take<T, Wire extends Listed>(
  client: Client,
  endpoints: Edge<Wire>["endpoints"],
  wanted: Set<string>,
  holders: string[],
  write: () => Promise<T>,
): Promise<T> {
  const freed: Listed[] = [];
  try {
    for (const id of holders) {
      const found = await endpoints.get(client, id).catch(ignoreGone);
      const all = found?.hostports ?? [];
      const kept = all.filter((one) => !wanted.has(one.toLowerCase()) || !isDropped(id, one));
      if (kept.length === all.length) continue;
      await endpoints.update(client, id, { hostports: kept }).catch(ignoreGone);
      freed.push({ id, hostports: all });
    }
    return await write();
  } catch (error) {
    const advice =
      `. It is not known which hostports these edges serve now: ${holders.join(", ")}. ` +
      "Run `pulumi refresh`, then `pulumi up`";
    if ((error as Partial<Attempted>).ambiguous) {
      // The same error, because a create reads its fields.
      if (holders.length > 0) (error as Error).message += advice;
      throw error;
    }
    const givenBack = await Promise.allSettled(
      freed.map(({ id, hostports }) =>
        // With its own deadline: the failed requests may have used up the other one.
        endpoints.update(client.operation(), id, { hostports }).catch(ignoreGone),
      ),
    );
    const isComplete = givenBack.every(({ status }) => status === "fulfilled");
    throw isComplete ? error : new Error((error as Error).message + advice);
  }
}

/** A holder that is gone serves nothing. */
function ignoreGone(error: unknown): undefined {
  if (error instanceof ServiceError && error.status === 404) return;
  throw error;
}

function refusal<Wire extends Listed>(
  error: ServiceError,
  { id, isSame }: Edge<Wire>,
  holder: Wire,
): Error {
  const edge = `edge ${named(holder)}`;
  const same =
    `The ${edge} has exactly this content: if a resource was renamed, give it its old name in the ` +
    "resource option `aliases`; if no stack has the edge, delete it, or adopt it with the option `import`";
  const other =
    `If another stack has the ${edge}, remove the hostport there; if this program gives it up, make ` +
    "two updates: first remove it, then add it";
  // With --target-replace and after a taint, the engine asks no provider which comes first.
  const option = id
    ? ""
    : "; if this replaces that edge, set the option `deleteBeforeReplace: true`";
  return new Error(`${error.message}. ${isSame?.(holder) ? same : other}${option}`);
}

/** Equal for lists that mean the same. */
function keyOf(hostports: string[]): string {
  return [...lowerCase(hostports)].sort().join();
}
