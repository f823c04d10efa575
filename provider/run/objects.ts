import { once } from "node:events";
import type { Client } from "../../client/client";
import type { Page } from "../../client/endpoints";
import { ConnectionError } from "../../client/errors";
import type { ServiceObject } from "../../client/fields";
import { pause as waitFor } from "../../client/pace";
import type { Kind } from "../kinds/kind";
import { cancelSignal } from "./engine";

/** An object of a list, with the fields that are compared with other objects. */
export interface ListItem extends ServiceObject {
  hostports?: string[] | null;
}

/** What stood in the list before a POST. */
export interface Baseline {
  /** The newest ids, and those of this run's last creates. */
  ids: Set<string>;
  /** Whether the page that was read before is the whole list. */
  isWhole: boolean;
}

/** What was read of a list. */
export interface List {
  /** Newest first. */
  items: ListItem[];
  /** How many pages were read. */
  pages: number;
  /** Whether these are all objects of the list. */
  isWhole: boolean;
}

/** The age after which a baseline is read again before a POST. */
const baselineAgeMs = 30_000;
/** A POST that has waited longer for the request limit has no baseline. */
const maxBaselineAgeMs = 90_000;
/** How long the read of a baseline may take: a create goes on without it. */
const baselineDeadlineMs = 10_000;
/** How many ids of this run's creates a baseline has. */
const baselineCreates = 20;
/** How many pages are read at most for an object that is newer than a baseline. */
const maxPages = 10;
/**
 * How old a page may be that answers a read. The engine stores each resource before it asks for the next
 * ones, so a run takes minutes. What changes in that time is drift, which the next refresh finds.
 */
const maxReadAgeMs = 600_000;

/**
 * The objects of one kind in one account: the only reader of their list. Whoever needs a page at the
 * same time shares the request.
 */
export class Objects {
  readonly #client: Client;
  readonly #kind: Kind;
  #newest: { page: Page<ListItem>; readAt: number } | undefined;
  #readingNewest: Promise<void> | undefined;
  #first: Promise<Page<ListItem>> | undefined;
  #list: { list: Promise<List>; readAt: number } | undefined;
  #pages: Pages | undefined;
  /** The ids of this run's creates, newest first. */
  readonly #created: string[] = [];

  /** @param client The account's own client: so each request has its own deadline. */
  constructor(client: Client, kind: Kind) {
    this.#client = client;
    this.#kind = kind;
  }

  /**
   * The newest page, read once in a run: empty when it has an object that can't be used.
   *
   * @throws Error when the list can't be read, the same one each time.
   */
  newestPage(): Promise<Page<ListItem>> {
    const read = async () => {
      if (!this.#newest) await this.#readNewest(this.#client.operation());
    };
    this.#first ??= read().then(
      () => this.#newest?.page ?? [],
      (error) => {
        if (isUnusableItem(error)) return [];
        throw error;
      },
    );
    return this.#first;
  }

  /**
   * Reads the newest page for the baseline, unless it is fresh.
   *
   * @throws Error when the list can't be read.
   */
  async readBaseline(): Promise<void> {
    if (this.#ageMs >= baselineAgeMs)
      await this.#readNewest(this.#client.operation(baselineDeadlineMs));
  }

  get #ageMs(): number {
    return performance.now() - (this.#newest?.readAt ?? Number.NEGATIVE_INFINITY);
  }

  #readNewest(client: Client): Promise<void> {
    const read = async () => {
      const readAt = performance.now();
      const { value } = await this.#kind.endpoints.pages(client).next();
      this.#newest = { page: value ?? Object.assign([], { isLast: true }), readAt };
    };
    this.#readingNewest ??= read().finally(() => {
      this.#readingNewest = undefined;
    });
    return this.#readingNewest;
  }

  /** What stands in the list now, as far as this run knows; undefined when it was not read. */
  get baseline(): Baseline | undefined {
    if (!this.#newest || this.#ageMs > maxBaselineAgeMs) return undefined;
    const { page } = this.#newest;
    const created = this.#created.slice(0, baselineCreates);
    return {
      ids: new Set([...created, ...page.map(({ id }) => id)]),
      isWhole: page.isLast === true,
    };
  }

  noteCreated(id: string): void {
    this.#created.unshift(id);
  }

  /** Whether this run has created the object. */
  hasCreated(id: string): boolean {
    return this.#created.includes(id);
  }

  /**
   * Reads the list from its newest object on: all of it, or until an object with one of the ids.
   *
   * @param since When it was read at the earliest, by the monotonic clock: operations share a later read.
   * @throws Error when the list can't be read.
   */
  async list(since: number, until?: Set<string>): Promise<List> {
    const isEnough = ({ items, pages, isWhole }: List) =>
      isWhole || (until && (pages >= maxPages || items.some(({ id }) => until.has(id))));
    // Those who wait for one read share the next one.
    for (let last = this.#list; last; last = this.#list) {
      const list = await last.list.catch((error) => {
        if (last.readAt >= since) throw error;
      });
      if (list && last.readAt >= since && isEnough(list)) return list;
      if (this.#list === last) break;
    }
    const read = { readAt: performance.now(), list: this.#readUntil(isEnough) };
    this.#list = read;
    // A failure is for those who wait now, and is not remembered.
    read.list.catch(() => {
      if (this.#list === read) this.#list = undefined;
    });
    return read.list;
  }

  async #readUntil(isEnough: (list: List) => unknown): Promise<List> {
    const list: List = { items: [], pages: 0, isWhole: false };
    // With its own deadline: the lost request may have used up the other one.
    for await (const page of this.#kind.endpoints.pages(this.#client.operation())) {
      list.pages += 1;
      list.items.push(...page);
      // A later page without objects may begin after a deleted one: it does not show the end.
      list.isWhole = page.isLast === true && (page.length > 0 || list.pages === 1);
      if (isEnough(list)) break;
    }
    return list;
  }

  /**
   * Reads one object as `get` does, perhaps from a page of the list. The engine refreshes many objects at
   * a time, and services allow few requests a minute. An object that no page has is read by itself: only a
   * 404 means that the object is gone.
   *
   * @param client The client of the operation.
   */
  async get(client: Client, id: string): Promise<ServiceObject> {
    if (!this.#pages?.isCurrent) this.#pages = new Pages(this.#client, this.#kind);
    const pages = this.#pages;
    pages.reads += 1;
    // A resource may have a shorter deadline than a page.
    const late = AbortSignal.timeout(Math.max(0, client.leftMs));
    for (;;) {
      const found = pages.find(id);
      if (found) return found;
      if (!pages.isNextPageWorthIt || late.aborted) return this.#kind.endpoints.get(client, id);
      await Promise.race([pages.readNext(), once(late, "abort")]);
    }
  }
}

/** The newest pages of a list, for many reads. Reads a page only where this saves requests. */
class Pages {
  /** How many reads have used these pages. */
  reads = 0;
  /** How many of them a page has answered. */
  #hits = 0;
  readonly #client: Client;
  /** `client.writes` when the first page was read; any later write makes the pages stale. */
  readonly #writes: number;
  readonly #pages: AsyncGenerator<ListItem[], void, undefined>;
  readonly #found = new Map<string, ListItem>();
  readonly #since = performance.now();
  #pagesRead = 0;
  #hasEnded = false;
  #reading: Promise<void> | undefined;

  constructor(client: Client, kind: Kind) {
    this.#client = client;
    this.#writes = client.writes;
    this.#pages = kind.endpoints.pages(client);
  }

  get isCurrent(): boolean {
    return this.#writes === this.#client.writes && performance.now() - this.#since < maxReadAgeMs;
  }

  find(id: string): ListItem | undefined {
    const found = this.isCurrent ? this.#found.get(id) : undefined;
    if (found) this.#hits += 1;
    return found;
  }

  /** A page for each read that a page has answered, and for every second other one. */
  get isNextPageWorthIt(): boolean {
    if (!this.isCurrent || this.#hasEnded) return false;
    if (this.#reading) return true;
    const others = this.reads - this.#hits;
    return this.#pagesRead < this.#hits + Math.floor(others / 2);
  }

  readNext(): Promise<void> {
    this.#reading ??= this.#readPage().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readPage(): Promise<void> {
    this.#pagesRead += 1;
    try {
      const { value, done } = await this.#pages.next();
      this.#hasEnded = done === true || (value as Page<ListItem>).isLast === true;
      for (const wire of value ?? []) this.#found.set(wire.id, wire);
    } catch (error) {
      // If the list can't be read or has an unusable item, the object is read by itself. If the
      // service does not answer, that read would fail too.
      if (error instanceof ConnectionError && error.code !== "EBADANSWER") throw error;
      this.#hasEnded = true;
    }
  }
}

/** Whether a list was read, but has an item that can't be used. */
export const isUnusableItem = (error: unknown): boolean =>
  error instanceof ConnectionError && error.field?.includes("[") === true;

/** A pause that ends with an error when the update is cancelled. */
export const pause = (ms: number): Promise<void> => waitFor(ms, cancelSignal);
