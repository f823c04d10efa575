import { setTimeout } from "node:timers/promises";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { isEngineAlive } from "./engine";
import { perAccount } from "./lifecycle";
import { PendingCreate } from "./pendingCreates";

interface Made {
  id: string;
  created_at: string;
}

/** How something is made, and known again when the answer to that was lost. */
export interface Making<Wire> {
  /** The field's own name for it, for messages: "TLS edge". */
  title: string;
  /** The same for inputs that make the same. */
  content: string;
  /** Asks the service for it, and calls `onSend` before the request goes out. */
  post(onSend: () => void): Promise<Wire>;
  /** All that the account has, newest first. */
  list(client: Client): AsyncIterable<Wire>;
  /** Whether this is what the inputs make. */
  isMade(wire: Wire): boolean;
}

/** What was made. */
export interface Creation<Wire> {
  wire: Wire;
  /** What of the service's answer can't be used. */
  problem?: string;
  /** What a person should look at: what was found, or what may have been made beside it. */
  warning?: string;
}

/** The creates of one content in this process, which run one after another. */
interface Queue {
  note: PendingCreate;
  /** Settles when the last of them has ended. */
  last: Promise<unknown>;
}

/** A request that may still be answered. */
interface RequestInFlight {
  title: string;
  isMade(wire: unknown): boolean;
  answered: Promise<unknown>;
}

const queues = new Map<string, Queue>();
/** The ids that this process has made, taken or named in an error: no other create takes them. */
const takenOf = perAccount(() => new Set<string>());
const requestsOf = perAccount(() => new Set<RequestInFlight>());

const mostPosts = 3;
/** `Date` counts in seconds, and so does `created_at`. */
const clockToleranceMs = 2000;
const longestPauseMs = 2000;
/** After a timeout the service may still be at work. */
const longestPauseOfSlowMs = 10_000;
/** How often the notes of other processes are read while they are waited for. */
const pollMs = 100;
/** Ten pages. */
const mostLooked = 1000;

/**
 * Makes one object for one resource (contract C33, C36).
 *
 * An answer is lost when the service may have done the work although it did not say so: a timeout,
 * a reset, 408, any 5xx. After a lost answer, and before the request is sent again, the account's
 * list is searched for an object of the same content, made since the request was sent, that no
 * other create has. If there is one it is taken, with a warning that names it. If there is none the
 * request is sent again. If that can't be told the create fails, and names the candidates.
 *
 * What is promised: on one machine no two resources get one id, and each object that was made is
 * in a state or named by an error or a warning. Equal creates of one process run one after another,
 * and notes keep those of several processes apart (pendingCreates.ts). What is not: a machine that
 * makes the same content in the same account at the same moment leaves no note here, so its object
 * may be taken for the one whose answer was lost. That is what the warning is for.
 *
 * @throws Error when it can't be told what a request of this process, or of one that has died, has
 * made: it says what to look at. Any other failure as it is.
 */
export function createOnce<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
): Promise<Creation<Wire>> {
  const key = JSON.stringify([client.fingerprint, making.title, making.content]);
  const queue = queues.get(key) ?? { note: new PendingCreate(key), last: Promise.resolve() };
  queues.set(key, queue);
  const created = queue.last.then(() => new Create(client, making, queue.note).run());
  queue.last = created.then(
    () => {},
    () => queue.note.giveUp(),
  );
  return created;
}

/** The ids of the objects that the states of this run have: no lost request has made them. */
const managed = new Set<string>();

/** Tells that a state has this id. */
export function noteManaged(id: string): void {
  managed.add(id);
}

class Create<Wire extends Made> {
  constructor(
    readonly client: Client,
    readonly making: Making<Wire>,
    readonly note: PendingCreate,
  ) {}

  async run(): Promise<Creation<Wire>> {
    await this.#refuseLeftBehind();
    for (let posts = 1; ; posts++) {
      const { outcome, error } = await this.#post();
      if (outcome) {
        const warning = posts > 1 ? await this.#warnOfMore() : undefined;
        this.note.settle(outcome.wire.id);
        return { ...outcome, warning };
      }
      const isLost = isAmbiguous(error);
      if (!isLost && posts === 1) {
        this.note.settle();
        throw error;
      }
      // A refusal, too, may be due to what a lost request has made in the end.
      const found = await this.#lookFor(error);
      if (found) return found;
      const isWorthAnother = isLost && posts < mostPosts && this.client.leftMs > 0;
      // Don't POST again once the engine that asked has exited.
      if (!isWorthAnother || !(await isEngineAlive())) throw error;
    }
  }

  /** Sends the request. What is answered is taken from that moment on. */
  async #post(): Promise<
    { outcome: Creation<Wire>; error?: never } | { outcome?: never; error: Error }
  > {
    const { title, post, isMade } = this.making;
    const answered = post(() => this.note.sent())
      .then((wire) => ({ wire }), partlyAnswered<Wire>)
      .then((outcome) => {
        takenOf(this.client).add(outcome.wire.id);
        return { outcome };
      })
      .catch((error) => ({ error }));
    const request = { title, isMade: isMade as RequestInFlight["isMade"], answered };
    requestsOf(this.client).add(request);
    const answer = await answered;
    requestsOf(this.client).delete(request);
    return answer;
  }

  /** Fails, once, when a process that has died may have made this. */
  async #refuseLeftBehind(): Promise<void> {
    const others = await this.note.others();
    const left = others.filter(({ since, turn }) => since !== undefined && turn === "died");
    if (left.length === 0) return;
    const forget = () => left.forEach((one) => void one.forget());
    const said = `an update that was cut off may have made this ${this.making.title} already`;
    const oldest = Math.min(...left.map(({ since }) => since as number));
    const unstored = left.flatMap((one) => one.unstored);
    const { found } = await this.#search(oldest, unstored).catch((cause: Error) => {
      // A list that can't be read now can be read by the next create.
      if (!isOfRequest(cause)) forget();
      throw new Error(`${said}, and the account can't be searched (${cause.message}): look for it`);
    });
    forget();
    if (found.length === 0) return;
    throw new Error(
      `${said}: ${this.#named(found)} has its content and was made since. If the resource was renamed, ` +
        "and the stack has it under the old name, put the old name into the resource option " +
        "`aliases`. If no stack has it, delete it, or, unless this is a replacement, adopt it with " +
        "the resource option `import`. Then run `pulumi up` again, which creates a new one even if " +
        "this one still exists",
    );
  }

  /** The ids of candidates, for an error: from then on no other create of this run takes one. */
  #named(found: Wire[]): string {
    for (const { id } of found) takenOf(this.client).add(id);
    return idsOf(found);
  }

  /** What a lost request has made; undefined when it has made nothing, so that it can be sent again. */
  async #lookFor(error: Error): Promise<Creation<Wire> | undefined> {
    const { title } = this.making;
    this.note.lost();
    const isSlow = error instanceof ConnectionError && error.code === "ETIMEDOUT";
    const mostMs = isSlow ? longestPauseOfSlowMs : longestPauseMs;
    // The service may still be at work behind what gave up on it: a second look comes later.
    for (const pauseMs of [0, Math.min(mostMs, this.client.deadlineMs / 20)]) {
      await setTimeout(pauseMs);
      const { found, claimants } = await this.#search(this.note.since).catch((cause: Error) => {
        throw new Error(
          `${error.message}. Whether the ${title} was made is not known (${cause.message}). Look for ` +
            "it, or run `pulumi up` again on this machine: it looks, and lists what it finds",
        );
      });
      if (found.length > claimants) {
        throw new Error(
          `${error.message}. It may have been created after all: these objects have its content and ` +
            `were made since: ${this.#named(found)}. Delete what no stack has, then run ` +
            "`pulumi up` again",
        );
      }
      // The oldest: as they are the same, each of those that have lost one may have any.
      const wire = found.findLast(({ id }) => !takenOf(this.client).has(id));
      if (!wire) continue;
      takenOf(this.client).add(wire.id);
      this.note.settle(wire.id);
      const warning =
        `no answer came to the request that makes this ${title}; ${wire.id} has its content and was ` +
        "made since, so this resource uses it. If another machine makes the same in this " +
        `account, see with \`pulumi stack --show-ids\` that no other stack has ${wire.id}`;
      return { wire, warning };
    }
    return undefined;
  }

  /** What to say of lost requests when a later one was answered. */
  async #warnOfMore(): Promise<string | undefined> {
    const said = `a request whose answer was lost may have made one more ${this.making.title}`;
    try {
      const { found } = await this.#search(this.note.since);
      return found.length > 0 ? `${said}: ${idsOf(found)}. Delete what no stack has` : undefined;
    } catch (error) {
      return `${said}, and the account can't be searched (${(error as Error).message}): look for it`;
    }
  }

  /**
   * What has this content, was made since and is nobody else's, newest first, and how many creates
   * are to choose from it: this one and those of other processes.
   *
   * @param unstored What dead processes have made that no state may have: nobody's, unless a state
   * of this run has it. To take one would be wrong, to name one is not.
   * @throws Error when that can't be told.
   */
  async #search(
    since: number,
    unstored: string[] = [],
  ): Promise<{ found: Wire[]; claimants: number }> {
    const seen = await this.#madeSince(since);
    // Inputs that differ may mean the same to the service.
    const same = [...requestsOf(this.client)].filter(
      ({ title, isMade }) => title === this.making.title && seen.some(isMade),
    );
    await Promise.all(same.map(({ answered }) => answered));
    for (const endsAt = Date.now() + this.client.deadlineMs; ; await setTimeout(pollMs)) {
      const others = await this.note.others();
      const made = others.flatMap((other) => other.made).filter((id) => !unstored.includes(id));
      const taken = new Set([...takenOf(this.client), ...managed, ...made]);
      const found = seen.filter(({ id }) => !taken.has(id));
      if (found.length === 0 || !others.some(({ turn }) => turn === "before")) {
        const after = others.filter(({ turn }) => turn === "after");
        return { found, claimants: 1 + after.length };
      }
      if (Date.now() >= endsAt) {
        throw new Error(
          `another process of this machine makes the same, and may have made ${idsOf(found)}`,
        );
      }
    }
  }

  /** What has this content and was made since, newest first. */
  async #madeSince(sent: number): Promise<Wire[]> {
    const found: Wire[] = [];
    let looked = 0;
    // With time of its own: the lost request may have taken all there was.
    const client = this.client.operation();
    for await (const wire of this.making.list(client)) {
      // Known better with each answer: the list's first page is one.
      const since = sent + client.clockSkewMs - clockToleranceMs;
      if (Date.parse(wire.created_at) < since) break;
      looked += 1;
      if (looked > mostLooked) throw new Error(`more than ${mostLooked} were made since`);
      if (this.making.isMade(wire)) found.push(wire);
    }
    return found;
  }
}

/** With an id it is known what was made: the rest of the answer can be read later. */
function partlyAnswered<Wire extends Made>(error: unknown): Creation<Wire> {
  const usable = error instanceof ConnectionError ? error.usable : undefined;
  if (!usable?.id) throw error;
  const wire = { uri: "", created_at: "", ...usable } as unknown as Wire;
  return { wire, problem: (error as ConnectionError).message };
}

function isOfRequest(error: unknown): error is ServiceError | ConnectionError {
  return error instanceof ServiceError || error instanceof ConnectionError;
}

function isAmbiguous(error: unknown): boolean {
  return isOfRequest(error) && error.method === "POST" && error.ambiguous;
}

function idsOf(wires: Made[]): string {
  return wires.map(({ id }) => id).join(", ");
}
