import type { Client } from "../../client/client";
import type { Endpoints, Page } from "../../client/endpoints";
import { ConnectionError } from "../../client/errors";
import type { ServiceObject } from "../../client/fields";
import type { Properties } from "../values/properties";

/** An object of a list, with the fields that are compared with other objects. */
export interface ListItem extends ServiceObject {
  hostports?: string[] | null;
}

/** What has a list. */
export interface Listed {
  /** Tells the lists of an account apart. */
  title: string;
  endpoints: Pick<Endpoints<ListItem, never>, "get" | "list" | "pages">;
}

/** A read of the list, and when it began by the monotonic clock. */
interface Reading<T> {
  beganAt: number;
  result: Promise<T>;
}

/** The objects of one kind in one account, newest first: the readings of their list that a run shares. */
export class List {
  /** The creates whose object is not known: they wait for their answer, or it was lost. */
  readonly unanswered = new Set<{ inputs: Properties }>();
  readonly #client: Client;
  readonly #kind: Listed;
  #newest: Reading<Page<ListItem>> | undefined;
  #all: Reading<ListItem[]> | undefined;
  #named: { all: ListItem[]; byName: Map<string, ListItem[]> } | undefined;
  #pages: Pages | undefined;

  /** @param client The account's own client: so each read has its own deadline. */
  constructor(client: Client, kind: Listed) {
    this.#client = client;
    this.#kind = kind;
  }

  /**
   * The newest page. Who needs it at the same time shares the request.
   *
   * @param maxAgeMs How old it may be. Default: as old as the run.
   * @throws Error when the list can't be read. A failed read is kept for later callers only if no page was read before.
   */
  newestPage(maxAgeMs: number = Number.POSITIVE_INFINITY): Promise<Page<ListItem>> {
    const before = this.#newest;
    const beganAt = performance.now();
    if (before && beganAt - before.beganAt <= maxAgeMs) return before.result;
    const first = this.#kind.endpoints.pages(this.#client.operation()).next();
    const result = first.then(({ value }) => value ?? Object.assign([], { isLast: true }));
    const reading = { beganAt, result };
    this.#newest = reading;
    result.catch(() => {
      if (before && this.#newest === reading) this.#newest = before;
    });
    return result;
  }

  /**
   * The whole list. Names the objects that can't be used.
   *
   * @param since When its read begins at the earliest, by the monotonic clock: operations share a later one.
   * @throws Error when the list can't be read.
   */
  async all(since: number): Promise<ListItem[]> {
    // Those who wait for one read share the next one.
    for (let last = this.#all; last; last = this.#all) {
      if (last.beganAt >= since) return last.result;
      await Promise.allSettled([last.result]);
      if (this.#all === last) break;
    }
    const result = Array.fromAsync(this.#kind.endpoints.list(this.#client.operation()));
    const reading = { beganAt: performance.now(), result };
    this.#all = reading;
    result.catch(() => {
      if (this.#all === reading) this.#all = undefined;
    });
    return result;
  }

  /** The objects of {@link all} by their names. Each reading is indexed once: `namesOf` never changes. */
  async named(since: number, namesOf: (object: ListItem) => string[]) {
    const all = await this.all(since);
    if (this.#named?.all !== all) {
      const byName = new Map<string, ListItem[]>();
      for (const object of all)
        for (const name of namesOf(object))
          if (!byName.get(name)?.push(object)) byName.set(name, [object]);
      this.#named = { all, byName };
    }
    return this.#named.byName;
  }

  /**
   * Reads one object as `get` does, perhaps from a page of the list: the engine refreshes many objects at a time, and
   * services allow few requests a minute. An object that no page has is read by itself: only a 404 means that it is
   * gone.
   *
   * @param client The client of the operation.
   */
  async get(client: Client, id: string): Promise<ServiceObject> {
    // A page may take as long as the account's deadline.
    if (client.deadlineMs >= this.#client.deadlineMs) {
      if (!this.#pages?.isCurrent) this.#pages = new Pages(this.#client, this.#kind);
      const found = await this.#pages.find(id);
      if (found) return found;
    }
    return this.#kind.endpoints.get(client, id);
  }
}

/** The newest pages of a list, for many reads: at most a page for two reads. A write makes them stale. */
class Pages {
  readonly #client: Client;
  readonly #writes: number;
  readonly #pages: AsyncGenerator<ListItem[], void, undefined>;
  readonly #found = new Map<string, ListItem>();
  #reads = 0;
  #pagesRead = 0;
  #hasEnded = false;
  #reading: Promise<void> | undefined;

  constructor(client: Client, kind: Listed) {
    this.#client = client;
    this.#writes = client.writes;
    this.#pages = kind.endpoints.pages(client);
  }

  get isCurrent(): boolean {
    return this.#writes === this.#client.writes;
  }

  /** The object, if a page that has been read, or is worth a request, has it. */
  async find(id: string): Promise<ListItem | undefined> {
    this.#reads += 1;
    for (;;) {
      if (!this.isCurrent) return undefined;
      const found = this.#found.get(id);
      if (found) return found;
      const isWorthIt = !this.#hasEnded && this.#pagesRead < Math.floor(this.#reads / 2);
      if (!isWorthIt && !this.#reading) return undefined;
      this.#reading ??= this.#readNext().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
  }

  async #readNext(): Promise<void> {
    this.#pagesRead += 1;
    try {
      const { value, done } = await this.#pages.next();
      this.#hasEnded = done === true || (value as Page<ListItem>).isLast === true;
      for (const wire of value ?? []) this.#found.set(wire.id, wire);
    } catch (error) {
      // Where the list can't be read, each object is read by itself. Where the service does not answer, that would fail, too.
      if (error instanceof ConnectionError && error.code !== "EBADANSWER") throw error;
    }
  }
}

/** The objects of a page that are newer than all of an earlier page; all where there is no earlier one. Both are newest first. */
export function newerThan(before: Page<ListItem> | undefined, page: Page<ListItem>): ListItem[] {
  const old = new Set(before?.map(({ id }) => id));
  const first = page.findIndex(({ id }) => old.has(id));
  if (first >= 0) return page.slice(0, first);
  // Where the page has none of them, older objects may have moved up.
  return before && !before.isLast ? [] : page;
}
