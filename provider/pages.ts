import type { Client } from "../client/client";
import { ConnectionError } from "../client/errors";

/** What one kind of thing can be read by. */
export interface Readable<Wire> {
  get(client: Client, id: string): Promise<Wire>;
  pages(client: Client): AsyncGenerator<Wire[], void, undefined>;
}

/** How old an answer may be that a read is given, unless it says otherwise. */
const freshMs = 5000;
/** From this read on, pages are worth it: they hold a hundred things each. */
const firstPagedRead = 2;
/** So that reads in a large account, of which little is asked for, take at most three times as many. */
const pagesForEachRead = 2;

/**
 * Reads one thing as `get` does. The engine refreshes many at a time, and services allow few
 * requests a minute: so reads soon after one another are answered from pages of the list, which
 * all that wait share. What they do not show is asked for by itself: only a 404 says "gone".
 *
 * @param oldestMs How old the answer may be.
 */
export async function readPaged<Wire extends { id: string }>(
  kind: Readable<Wire>,
  client: Client,
  id: string,
  oldestMs = freshMs,
): Promise<Wire> {
  const snapshot = currentOf(kind, client, id, oldestMs);
  snapshot.reads += 1;
  for (;;) {
    const shown = snapshot.shown(id, oldestMs);
    if (shown) return shown;
    if (!snapshot.isWorthAPage(oldestMs)) break;
    await snapshot.nextPage();
  }
  const isPast = snapshot.hasShown(id, oldestMs);
  return isPast ? readPaged(kind, client, id, oldestMs) : kind.get(client, id);
}

/** By client, and then by kind: a snapshot is stale after a write, which its own client counts. */
const snapshotsOf = new WeakMap<Client, Map<object, Snapshot<{ id: string }>>>();

function currentOf<Wire extends { id: string }>(
  kind: Readable<Wire>,
  client: Client,
  id: string,
  oldestMs: number,
) {
  const snapshots = snapshotsOf.get(client.account) ?? new Map();
  snapshotsOf.set(client.account, snapshots);
  const known = snapshots.get(kind) as Snapshot<Wire> | undefined;
  if (known?.isCurrent(oldestMs) && !known.hasShown(id, oldestMs)) return known;
  const snapshot = new Snapshot(kind, client);
  snapshots.set(kind, snapshot);
  return snapshot;
}

/** The newest pages of a list, as many as were worth reading. */
class Snapshot<Wire extends { id: string }> {
  /** How many reads were asked for since it was begun. */
  reads = 0;
  readonly #client: Client;
  /** `client.writes` when the snapshot began; any later write makes it stale. */
  readonly #writes: number;
  readonly #pages: AsyncGenerator<Wire[], void, undefined>;
  readonly #shown = new Map<string, { wire: Wire; since: number }>();
  #pagesRead = 0;
  #ended = false;
  #since = Date.now();
  #reading: Promise<void> | undefined;

  constructor(kind: Readable<Wire>, client: Client) {
    // Not for one operation: each page has a deadline of its own.
    this.#client = client.account;
    this.#writes = client.writes;
    this.#pages = kind.pages(this.#client);
  }

  isCurrent(oldestMs: number): boolean {
    if (this.#writes !== this.#client.writes) return false;
    return this.#reading !== undefined || Date.now() - this.#since < oldestMs;
  }

  shown(id: string, oldestMs: number): Wire | undefined {
    const found = this.#shown.get(id);
    const isFresh = found && Date.now() - found.since < oldestMs;
    return isFresh && this.#writes === this.#client.writes ? found.wire : undefined;
  }

  /** All pages were read, and the one that showed it is too old by now: it is time for new ones. */
  hasShown(id: string, oldestMs: number): boolean {
    const isTrue = this.#writes === this.#client.writes;
    return this.#ended && isTrue && this.#shown.has(id) && !this.shown(id, oldestMs);
  }

  isWorthAPage(oldestMs: number): boolean {
    return (
      !this.#ended &&
      this.reads >= firstPagedRead &&
      this.#pagesRead < this.reads * pagesForEachRead &&
      this.isCurrent(oldestMs)
    );
  }

  /** Settles for all that wait when the page is there. */
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
      // Not since it was asked for: that may have waited for its turn for long.
      const since = Date.now();
      for (const wire of value ?? []) this.#shown.set(wire.id, { wire, since });
      this.#since = since;
    } catch (error) {
      // A list that can't be had, or holds what nobody asked for and nobody can use, is no reason
      // to fail: what is asked for is read by itself. From a service that is silent it can't be.
      if (isSilence(error)) throw error;
      this.#ended = true;
    }
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof ConnectionError && error.code !== "EBADANSWER";
}
