import { setTimeout } from "node:timers/promises";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { cancelSignal, isEngineAlive } from "./engine";
import { idsOf, settleInterrupted, UndecidedError, warningOf } from "./interruptedCreates";
import { perAccount } from "./lifecycle";
import { PendingCreate } from "./pendingCreates";

interface ServiceObject {
  id: string;
  created_at: string;
}

/** How to create an object, and how to recognize it when the answer was lost. */
export interface CreateSpec<Wire> {
  /** The kind of object, for messages: "TLS edge". */
  title: string;
  /** The URN of the resource. A dynamic provider is not told. */
  urn?: string | undefined;
  /** Equal for inputs that create equal objects. */
  content: string;
  /** Sends the create request. Calls `onSend` just before sending. */
  post(onSend: () => void): Promise<Wire>;
  /** All objects of this kind in the account, newest first. */
  list(client: Client): AsyncIterable<Wire>;
  /** Whether an object has the content of the inputs. */
  matches(wire: Wire): boolean;
}

/** The result of a create. */
export interface Creation<Wire> {
  wire: Wire;
  /** Why a part of the service's answer can't be used. */
  problem?: string;
  /** What the user should check: the object that was found, or another one that may exist. */
  warning?: string;
}

/** The creates of one content in this process, which run one after another. */
interface Queue {
  note: PendingCreate;
  /** Settles when the last create has ended. */
  last: Promise<unknown>;
}

/** A create request that may still get an answer. */
interface RequestInFlight {
  title: string;
  matches(wire: unknown): boolean;
  answered: Promise<unknown>;
}

const queues = new Map<string, Queue>();
/** The ids that this process has created, taken or named in an error. No create may take them. */
const takenOf = perAccount(() => new Set<string>());
const requestsOf = perAccount(() => new Set<RequestInFlight>());

const maxPosts = 3;
/** The precision of `Date` and `created_at` is one second. */
const clockToleranceMs = 2000;
const maxPauseMs = 2000;
/** After a timeout the service may need longer. */
const maxPauseAfterTimeoutMs = 10_000;
/** How often a create reads the notes of other processes while it waits for them. */
const pollMs = 100;
/** How many objects a search reads at most: ten pages. */
const maxSearched = 1000;

/**
 * Creates one object for one resource (contract C33, C36).
 *
 * The answer to a POST is lost when the POST failed but the service may have created the object: a
 * timeout, a reset, 408, any 5xx. Before the POST is sent again, the account's list is searched for
 * an object that has the same content, was created after the POST was sent, and belongs to no other
 * create. If there is one, the create takes it, with a warning that names it. If there is none, the
 * POST is sent again. If the search can't decide, the create fails and names the candidates.
 *
 * On one machine, no two resources get the same id, and each created object is in a state or named
 * in an error or a warning. Equal creates of one process run one after another. Equal creates of
 * several processes read each other's notes (pendingCreates.ts). Another machine leaves no note
 * here: if it creates equal content in the same account at the same moment, the search may take
 * the other machine's object. The warning exists for this case.
 *
 * @throws Error when the search can't decide what a request of this process, or of a dead one, has
 * created; the message says what to check. Other errors are thrown unchanged.
 */
export function createOnce<Wire extends ServiceObject>(
  client: Client,
  spec: CreateSpec<Wire>,
): Promise<Creation<Wire>> {
  const key = JSON.stringify([client.fingerprint, spec.title, spec.content]);
  const queue = queues.get(key) ?? { note: new PendingCreate(key), last: Promise.resolve() };
  queues.set(key, queue);
  const created = queue.last.then(() => new Create(client, spec, queue.note).run());
  queue.last = created.then(
    () => {},
    () => queue.note.giveUp(),
  );
  return created;
}

/** The ids in the states of this run. No lost request has created them. */
const managed = new Set<string>();

/** Notes that a state has this id. */
export function noteManaged(id: string): void {
  managed.add(id);
}

class Create<Wire extends ServiceObject> {
  constructor(
    readonly client: Client,
    readonly spec: CreateSpec<Wire>,
    readonly note: PendingCreate,
  ) {}

  async run(): Promise<Creation<Wire>> {
    const { title, urn } = this.spec;
    const interrupted = await settleInterrupted<Wire>({
      title,
      urn,
      note: this.note,
      search: (since, unstored) => this.#search(since, unstored),
      take: ({ id }) => void takenOf(this.client).add(id),
    });
    if (interrupted.taken) return { wire: interrupted.taken };
    const creation = await this.#create();
    // First, because another process may wait for it.
    this.note.settle(creation.wire.id, urn);
    return { warning: await interrupted.warning?.(), ...creation };
  }

  async #create(): Promise<Creation<Wire>> {
    for (let posts = 1; ; posts++) {
      const { outcome, error } = await this.#post();
      if (outcome) {
        return posts > 1 ? { ...outcome, warning: await this.#warnOfMore() } : outcome;
      }
      const isLost = isAmbiguous(error);
      if (!isLost && posts === 1) {
        this.note.settle(undefined, this.spec.urn);
        throw error;
      }
      // The service may have refused this request because a lost one has created the object.
      const found = await this.#findCreated(error);
      if (found) return found;
      const isWorthAnother = isLost && posts < maxPosts && this.client.leftMs > 0;
      // Don't POST again once the engine that asked has exited.
      if (!isWorthAnother || !(await isEngineAlive())) throw error;
    }
  }

  /** Sends the request. An id in the answer counts as taken at once. */
  async #post(): Promise<
    { outcome: Creation<Wire>; error?: never } | { outcome?: never; error: Error }
  > {
    const { title, post, matches } = this.spec;
    const answered = post(() => this.note.sent(this.spec.urn))
      .then((wire) => ({ wire }), partlyAnswered<Wire>)
      .then((outcome) => {
        takenOf(this.client).add(outcome.wire.id);
        return { outcome };
      })
      .catch((error) => ({ error }));
    const request = { title, matches: matches as RequestInFlight["matches"], answered };
    requestsOf(this.client).add(request);
    const answer = await answered;
    requestsOf(this.client).delete(request);
    return answer;
  }

  /** The ids of candidates, for an error. From now on no other create of this run takes one. */
  #named(found: Wire[]): string {
    for (const { id } of found) takenOf(this.client).add(id);
    return idsOf(found);
  }

  /** Finds the object of a lost request; undefined if the request created none. */
  async #findCreated(error: Error): Promise<Creation<Wire> | undefined> {
    const { title } = this.spec;
    this.note.lost();
    const isSlow = error instanceof ConnectionError && error.code === "ETIMEDOUT";
    const maxMs = isSlow ? maxPauseAfterTimeoutMs : maxPauseMs;
    // The service may create the object after the answer was lost: so search twice, with a pause.
    for (const pauseMs of [0, Math.min(maxMs, this.client.deadlineMs / 20)]) {
      const search = pause(pauseMs).then(() => this.#search(this.note.since));
      const { found, claimants } = await search.catch((cause: Error) => {
        throw new Error(
          `${error.message}. It is not known whether the ${title} was created ` +
            `(${cause.message}). Look for the ${title}, or run \`pulumi up\` again on this ` +
            "machine, which lists the candidates",
        );
      });
      if (found.length > claimants) {
        throw new Error(
          `${error.message}. The service may have created the ${title} nevertheless. Objects ` +
            `with the same content, created since then: ${this.#named(found)}. Delete those ` +
            "that no stack has, then run `pulumi up` again",
        );
      }
      // The oldest. The objects are equal, so each create with a lost answer may take any of them.
      const wire = found.findLast(({ id }) => !takenOf(this.client).has(id));
      if (!wire) continue;
      takenOf(this.client).add(wire.id);
      const warning =
        `the service's answer to the create of this ${title} was lost. ${wire.id} has the same ` +
        `content and was created since then, so this resource uses ${wire.id}. If another ` +
        "machine creates equal objects in this account, check with `pulumi stack --show-ids` " +
        `that no other stack has ${wire.id}`;
      return { wire, warning };
    }
    return undefined;
  }

  /** A warning about lost requests when a later one has succeeded. */
  #warnOfMore(): Promise<string | undefined> {
    const doubt = `a request with a lost answer may have created another ${this.spec.title}`;
    const found = this.#search(this.note.since).then(({ found }) => found);
    return warningOf(doubt, found, "Delete those that no stack has");
  }

  /**
   * The objects with this content that were created since a time and belong to no other create,
   * newest first, and how many creates may take one: this create and those of other processes.
   *
   * @param unstored Ids that dead processes have created and that may be in no state. The search
   * finds such an object unless a state of this run has it. The caller may name it in an error, but
   * must not take it.
   * @throws Error when the search can't decide.
   */
  async #search(
    since: number,
    unstored: string[] = [],
  ): Promise<{ found: Wire[]; claimants: number }> {
    const seen = await this.#createdSince(since);
    // Different inputs may mean the same to the service, so wait for their requests too.
    const same = [...requestsOf(this.client)].filter(
      ({ title, matches }) => title === this.spec.title && seen.some(matches),
    );
    await Promise.all(same.map(({ answered }) => answered));
    for (const endsAt = Date.now() + this.client.deadlineMs; ; await pause(pollMs)) {
      const others = await this.note.others();
      const made = others.flatMap((other) => other.made).filter((id) => !unstored.includes(id));
      const taken = new Set([...takenOf(this.client), ...managed, ...made]);
      const found = seen.filter(({ id }) => !taken.has(id));
      if (found.length === 0 || !others.some(({ turn }) => turn === "before")) {
        const after = others.filter(({ turn }) => turn === "after");
        // Interrupted creates of other URNs take their objects in later operations.
        const later = others
          .filter(({ turn }) => turn === "died")
          .flatMap(({ urns }) => Object.entries(urns))
          .filter(([urn, id]) => id === null && urn !== this.spec.urn);
        return { found, claimants: 1 + after.length + later.length };
      }
      if (Date.now() >= endsAt) {
        throw new UndecidedError(
          "another process on this machine creates the same content, and may have created " +
            idsOf(found),
        );
      }
    }
  }

  /** The objects with this content that were created since a time, newest first. */
  async #createdSince(sent: number): Promise<Wire[]> {
    const found: Wire[] = [];
    let searched = 0;
    // With its own deadline: the lost request may have used up the other one.
    const client = this.client.operation();
    for await (const wire of this.spec.list(client)) {
      // Computed here, because the list's first page updates the clock skew.
      const since = sent + client.clockSkewMs - clockToleranceMs;
      if (Date.parse(wire.created_at) < since) break;
      searched += 1;
      if (searched > maxSearched) {
        throw new UndecidedError(`more than ${maxSearched} objects were created since then`);
      }
      if (this.spec.matches(wire)) found.push(wire);
    }
    return found;
  }
}

/** An answer with an id is enough: the rest of the object can be read later. */
function partlyAnswered<Wire extends ServiceObject>(error: unknown): Creation<Wire> {
  const usable = error instanceof ConnectionError ? error.usable : undefined;
  if (!usable?.id) throw error;
  const wire = { uri: "", created_at: "", ...usable } as unknown as Wire;
  return { wire, problem: (error as ConnectionError).message };
}

function isAmbiguous(error: unknown): boolean {
  const isOfRequest = error instanceof ServiceError || error instanceof ConnectionError;
  return isOfRequest && error.method === "POST" && error.ambiguous;
}

/** A pause that ends with an error when the update is cancelled. */
async function pause(ms: number): Promise<void> {
  await setTimeout(ms, undefined, { signal: cancelSignal }).catch(() => {
    throw cancelSignal.reason;
  });
}
