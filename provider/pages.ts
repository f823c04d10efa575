import type { Client } from "../client/client";
import { ConnectionError } from "../client/errors";

/** How objects of one kind are read. */
export interface Readable<Wire> {
  get(client: Client, id: string): Promise<Wire>;
  pages(client: Client): AsyncGenerator<Wire[], void, undefined>;
}

/** How old an answer may be by default. */
const defaultMaxAgeMs = 5000;
/** The number of the first read that reads pages. A page has up to 100 objects. */
const firstPagedRead = 2;
/** How many pages each read allows. With its own `get`, a read costs at most three requests. */
const pagesForEachRead = 2;

/**
 * Reads one object as `get` does. The engine refreshes many objects at a time, and services allow
 * few requests a minute. So reads close together are answered from pages of the list, which all
 * waiting reads share. An object that no page has is read by itself: only a 404 means that the
 * object is gone.
 *
 * @param maxAgeMs How old the answer may be.
 */
export async function readPaged<Wire extends { id: string }>(
  kind: Readable<Wire>,
  client: Client,
  id: string,
  maxAgeMs = defaultMaxAgeMs,
): Promise<Wire> {
  const snapshot = currentOf(kind, client, id, maxAgeMs);
  snapshot.reads += 1;
  for (;;) {
    const shown = snapshot.shown(id, maxAgeMs);
    if (shown) return shown;
    if (!snapshot.isWorthAPage(maxAgeMs)) break;
    await snapshot.nextPage();
  }
  const isTooOld = snapshot.hasShown(id, maxAgeMs);
  return isTooOld ? readPaged(kind, client, id, maxAgeMs) : kind.get(client, id);
}

/** The snapshots by the account's client, then by kind. A write makes its snapshots stale. */
const snapshotsOf = new WeakMap<Client, Map<object, Snapshot<{ id: string }>>>();

function currentOf<Wire extends { id: string }>(
  kind: Readable<Wire>,
  client: Client,
  id: string,
  maxAgeMs: number,
) {
  const snapshots = snapshotsOf.get(client.account) ?? new Map();
  snapshotsOf.set(client.account, snapshots);
  const known = snapshots.get(kind) as Snapshot<Wire> | undefined;
  if (known?.isCurrent(maxAgeMs) && !known.hasShown(id, maxAgeMs)) return known;
  const snapshot = new Snapshot(kind, client);
  snapshots.set(kind, snapshot);
  return snapshot;
}

/** A snapshot of the newest pages of a list. It reads a page only where this saves requests. */
class Snapshot<Wire extends { id: string }> {
  /** How many reads have used this snapshot. */
  reads = 0;
  readonly #client: Client;
  /** `client.writes` when the snapshot began; any later write makes it stale. */
  readonly #writes: number;
  readonly #pages: AsyncGenerator<Wire[], void, undefined>;
  readonly #shown = new Map<string, { wire: Wire; since: number }>();
  #pagesRead = 0;
  #ended = false;
  #since = performance.now();
  #reading: Promise<void> | undefined;

  constructor(kind: Readable<Wire>, client: Client) {
    // The account's client, not the operation's: so each page has its own deadline.
    this.#client = client.account;
    this.#writes = client.writes;
    this.#pages = kind.pages(this.#client);
  }

  isCurrent(maxAgeMs: number): boolean {
    if (this.#writes !== this.#client.writes) return false;
    return this.#reading !== undefined || performance.now() - this.#since < maxAgeMs;
  }

  shown(id: string, maxAgeMs: number): Wire | undefined {
    const found = this.#shown.get(id);
    const isFresh = found && performance.now() - found.since < maxAgeMs;
    return isFresh && this.#writes === this.#client.writes ? found.wire : undefined;
  }

  /** Whether all pages were read, but the page with this object is too old: read pages again. */
  hasShown(id: string, maxAgeMs: number): boolean {
    const isStale = this.#writes !== this.#client.writes;
    return this.#ended && !isStale && this.#shown.has(id) && !this.shown(id, maxAgeMs);
  }

  isWorthAPage(maxAgeMs: number): boolean {
    return (
      !this.#ended &&
      this.reads >= firstPagedRead &&
      this.#pagesRead < this.reads * pagesForEachRead &&
      this.isCurrent(maxAgeMs)
    );
  }

  /** Reads the next page once for all waiting reads. */
  nextPage(): Promise<void> {
    this.#reading ??= this.#readPage().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readPage(): Promise<void> {
    this.#pagesRead += 1;
    try {
      const { value, done } = await this.#pages.next();
      this.#ended = done === true;
      // The time of the answer: the request may have waited long for the rate limit.
      const since = performance.now();
      for (const wire of value ?? []) this.#shown.set(wire.id, { wire, since });
      this.#since = since;
    } catch (error) {
      // If the list can't be read or has an unusable item, the object is read by itself. If the
      // service does not answer, that read would fail too.
      if (isUnanswered(error)) throw error;
      this.#ended = true;
    }
  }
}

function isUnanswered(error: unknown): boolean {
  return error instanceof ConnectionError && error.code !== "EBADANSWER";
}
