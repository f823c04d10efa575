import type { Client } from "../client/client";
import { ConnectionError } from "../client/errors";

/** How objects of one kind are read. */
export interface Readable<Wire> {
  get(client: Client, id: string): Promise<Wire>;
  pages(client: Client): AsyncGenerator<Wire[], void, undefined>;
}

/**
 * How old an answer may be. The engine stores each resource before it asks for the next ones, so a
 * run takes minutes. What changes in that time is drift, which the next refresh finds.
 */
const maxAgeMs = 600_000;
/** The number of the first read that reads pages. A page has up to 100 objects. */
const firstPagedRead = 2;
/** How many pages each read allows. With its own `get`, a read costs at most three requests. */
const pagesForEachRead = 2;

/**
 * Reads one object as `get` does. The engine refreshes many objects at a time, and services allow
 * few requests a minute. So reads are answered from pages of the list, which all waiting reads share,
 * until this process writes. An object that no page has is read by itself: only a 404 means that the
 * object is gone.
 */
export async function readPaged<Wire extends { id: string }>(
  kind: Readable<Wire>,
  client: Client,
  id: string,
): Promise<Wire> {
  const snapshot = currentOf(kind, client);
  snapshot.reads += 1;
  for (;;) {
    const shown = snapshot.shown(id);
    if (shown) return shown;
    if (!snapshot.isWorthAPage) return kind.get(client, id);
    await snapshot.nextPage();
  }
}

/** The snapshots by the account's client, then by kind. A write makes its snapshots stale. */
let snapshotsOf = new WeakMap<Client, Map<object, Snapshot<{ id: string }>>>();

/** Forgets all pages: a process may serve several runs of the engine. */
export function forgetPages(): void {
  snapshotsOf = new WeakMap();
}

function currentOf<Wire extends { id: string }>(kind: Readable<Wire>, client: Client) {
  const snapshots = snapshotsOf.get(client.account) ?? new Map();
  snapshotsOf.set(client.account, snapshots);
  const known = snapshots.get(kind) as Snapshot<Wire> | undefined;
  if (known?.isCurrent) return known;
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
  readonly #shown = new Map<string, Wire>();
  readonly #since = performance.now();
  #pagesRead = 0;
  #ended = false;
  #reading: Promise<void> | undefined;

  constructor(kind: Readable<Wire>, client: Client) {
    // The account's client, not the operation's: so each page has its own deadline.
    this.#client = client.account;
    this.#writes = client.writes;
    this.#pages = kind.pages(this.#client);
  }

  get isCurrent(): boolean {
    return this.#writes === this.#client.writes && performance.now() - this.#since < maxAgeMs;
  }

  shown(id: string): Wire | undefined {
    return this.isCurrent ? this.#shown.get(id) : undefined;
  }

  get isWorthAPage(): boolean {
    const isAllowed = this.#pagesRead < this.reads * pagesForEachRead;
    return this.isCurrent && !this.#ended && this.reads >= firstPagedRead && isAllowed;
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
      for (const wire of value ?? []) this.#shown.set(wire.id, wire);
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
