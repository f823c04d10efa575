import { setTimeout } from "node:timers/promises";
import type { Client } from "../../client/client";
import type { Page } from "../../client/endpoints";
import { ConnectionError } from "../../client/errors";
import { cancelSignal } from "../engine";
import type { Kind } from "../kind";
import { perAccount } from "../perAccount";
import type { Mark } from "./journal";

/** The age after which a mark is read again before a POST. */
const markAgeMs = 30_000;
/** A POST that has waited longer for the request limit has no mark. */
const maxMarkAgeMs = 90_000;
/** How long the read of a mark may take: a create goes on without it. */
const markDeadlineMs = 10_000;
/** How many ids of this process a mark has. */
const markedAnswers = 20;
/** How many pages a look reads at most. */
const maxPages = 10;

/** An object of a list. */
export interface Listed {
  id: string;
}

/** What a look has read. */
export interface Look {
  /** The objects, newest first. */
  wires: Listed[];
  /** Whether these are all objects of the list. */
  isWhole: boolean;
}

const lists = perAccount(() => new Map<string, List>());

/** The list of one kind in one account, which all creates of this process read together. */
export function listOf(client: Client, kind: Kind): List {
  const ofAccount = lists(client);
  const list = ofAccount.get(kind.title) ?? new List(client.account, kind);
  ofAccount.set(kind.title, list);
  return list;
}

class List {
  readonly #client: Client;
  readonly #kind: Kind;
  #newest: { page: Page<Listed>; readAt: number } | undefined;
  #reading: Promise<void> | undefined;
  #asked: Promise<Listed[]> | undefined;
  /** The ids of this process's creates, newest first. */
  readonly #answered: string[] = [];
  /** The looks that wait for the next round. */
  #waiting: { isEnough(look: Look): boolean; settle(look: Promise<Look>): void }[] = [];
  #isLooking = false;

  constructor(client: Client, kind: Kind) {
    this.#client = client;
    this.#kind = kind;
  }

  /**
   * The newest page, read once in a run: empty when it has an object that can't be used.
   *
   * @throws Error when the list can't be read, the same one each time.
   */
  ask(): Promise<Listed[]> {
    this.#asked ??= this.#ask();
    return this.#asked;
  }

  async #ask(): Promise<Listed[]> {
    try {
      if (!this.#newest) await this.#read(this.#client.operation());
    } catch (error) {
      const isOfItem = error instanceof ConnectionError && error.field?.includes("[");
      if (!isOfItem) throw error;
    }
    return this.#newest?.page ?? [];
  }

  /**
   * Reads the newest page for the mark, unless it is fresh.
   *
   * @throws Error when the list can't be read.
   */
  async readMark(): Promise<void> {
    if (this.#ageMs >= markAgeMs) await this.#read(this.#client.operation(markDeadlineMs));
  }

  get #ageMs(): number {
    return performance.now() - (this.#newest?.readAt ?? Number.NEGATIVE_INFINITY);
  }

  /** Reads the newest page, once for all who wait. */
  #read(client: Client): Promise<void> {
    const read = async () => {
      const readAt = performance.now();
      const { value } = await this.#kind.endpoints.pages(client).next();
      this.#newest = { page: value ?? Object.assign([], { isLast: true }), readAt };
    };
    this.#reading ??= read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** What stands in the list now, as far as this process knows; undefined when it was not read. */
  get mark(): Mark | undefined {
    if (!this.#newest || this.#ageMs > maxMarkAgeMs) return undefined;
    const { page } = this.#newest;
    const ids = [...this.#answered.slice(0, markedAnswers), ...page.map(({ id }) => id)];
    return { ids: [...new Set(ids)], isWhole: page.isLast === true };
  }

  noteAnswered(id: string): void {
    this.#answered.unshift(id);
  }

  /** Whether this process has created the object. */
  hasMade(id: string): boolean {
    return this.#answered.includes(id);
  }

  /**
   * Reads the list from its newest object on, until `isEnough`. Looks that wait at the same time
   * share their requests.
   *
   * @param pauseMs How long the next round waits for more looks.
   * @throws Error when the list can't be read.
   */
  look(pauseMs: number, isEnough: (look: Look) => boolean): Promise<Look> {
    return new Promise((settle) => {
      this.#waiting.push({ isEnough, settle });
      void this.#lookInRounds(pauseMs);
    });
  }

  async #lookInRounds(pauseMs: number): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#waiting.length > 0) {
      const round = this.#waiting.splice(0);
      const look = this.#readUntil((read) => round.every(({ isEnough }) => isEnough(read)));
      for (const { settle } of round) settle(look);
      await look.then(() => pause(pauseMs)).catch(() => {});
    }
    this.#isLooking = false;
  }

  async #readUntil(isEnough: (look: Look) => boolean): Promise<Look> {
    const look: Look = { wires: [], isWhole: false };
    let pages = 0;
    // With its own deadline: the lost request may have used up the other one.
    for await (const page of this.#kind.endpoints.pages(this.#client.operation())) {
      pages += 1;
      look.wires.push(...page);
      // A later page without objects may begin after a deleted one: it does not show the end.
      look.isWhole = page.isLast === true && (page.length > 0 || pages === 1);
      if (isEnough(look) || pages === maxPages) break;
    }
    return look;
  }
}

/** A pause that ends with an error when the update is cancelled. */
export async function pause(ms: number): Promise<void> {
  await setTimeout(ms, undefined, { signal: cancelSignal }).catch(() => {
    throw cancelSignal.reason;
  });
}
