import { setTimeout } from "node:timers/promises";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { perAccount } from "./lifecycle";
import { isHeard, type Noted, note, unheard } from "./pendingCreates";

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
  post(): Promise<Wire>;
  /** All that the account has, newest first. */
  list(client: Client): AsyncIterable<Wire>;
  /** Whether this is what the inputs make. */
  isMade(wire: Wire): boolean;
}

/** What was made. */
export interface Outcome<Wire> {
  wire: Wire;
  /** What of the service's answer can't be used. */
  problem?: string;
  /** What may have been made beside it. */
  warning?: string;
}

/** What creates of the same content share while they are under way in this process. */
interface Twins {
  /** Requests that may still be answered. */
  asking: Set<Promise<unknown>>;
  /** How many have lost their answer and do not know yet what became of it. */
  lost: number;
  /** Creates under way. */
  count: number;
}

const twins = new Map<string, Twins>();
/** What creates of this process have made: it is nobody else's. */
const claimedOf = perAccount(() => new Set<string>());
/** Notes of requests that may yet make something, by content. */
const kept = new Map<string, Noted[]>();
/** What is said of creates of earlier processes, by content: to each twin, in this process. */
const told = new Map<string, Promise<string | undefined>>();

const mostPosts = 3;
/** `Date` counts in seconds, and so does `created_at`. */
const clockToleranceMs = 2000;
const longestPauseMs = 2000;
/** A service that did not answer in time is slow. */
const longestPauseOfSlowMs = 10_000;
/** Ten pages: what was made since is among the newest. */
const mostLooked = 1000;

/**
 * Makes one, and no second one when the answer is lost: then what was made is looked for first.
 * Whatever else fails, fails as it is (contract C33, C36).
 *
 * @throws Error when what became of a lost request can't be told, be it one of this process or one
 * of a process that died: it says what to look at.
 */
export async function createOnce<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
): Promise<Outcome<Wire>> {
  const own = twins.get(making.content) ?? newTwins();
  twins.set(making.content, own);
  own.count += 1;
  try {
    const said = told.get(making.content) ?? leftBehind(client, making);
    told.set(making.content, said);
    const problem = await said.catch((error) => {
      // What could not be found out is asked again by the next.
      told.delete(making.content);
      throw error;
    });
    if (problem) throw new Error(problem);
    return await makeOrFind(client, making, own);
  } finally {
    own.count -= 1;
    if (own.count === 0) twins.delete(making.content);
  }
}

function newTwins(): Twins {
  return { asking: new Set(), lost: 0, count: 0 };
}

async function makeOrFind<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
  own: Twins,
): Promise<Outcome<Wire>> {
  const noted = note(known(client, making));
  const settled = async (outcome: Outcome<Wire>) => {
    await noted.settle();
    return outcome;
  };
  /** When the first request was sent whose answer was lost. */
  let lostSince: number | undefined;
  for (let posts = 1; ; posts++) {
    const asked = Date.now();
    const { outcome, error } = await ask(client, making, own);
    if (outcome) return settled(await besides(client, making, own, outcome, lostSince));
    const isLost = isAmbiguous(error);
    if (!isLost && lostSince === undefined) {
      await noted.settle();
      throw error;
    }
    lostSince ??= asked;
    // A refusal, too, may be due to what a lost request has made in the end.
    const found = await lookFor(client, making, own, lostSince, error);
    if (found) return settled({ wire: found });
    if (isLost && (await isWorthAnother(client, posts))) continue;
    // It may yet be made: the next process is told of it.
    kept.set(making.content, [...(kept.get(making.content) ?? []), noted]);
    noted.keep([...claimedOf(client)]);
    throw error;
  }
}

/** Sends the request; while it may be answered, a twin waits for what it claims. */
function ask<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
  own: Twins,
): Promise<{ outcome: Outcome<Wire>; error?: never } | { outcome?: never; error: Error }> {
  const asking = making
    .post()
    .then((wire) => ({ wire }), partlyAnswered<Wire>)
    .then((outcome) => {
      claim(client, making, outcome.wire);
      return outcome;
    })
    .finally(() => own.asking.delete(asking));
  own.asking.add(asking);
  return asking.then(
    (outcome) => ({ outcome }),
    (error) => ({ error }),
  );
}

/** What nobody hears of any more is not asked for again. */
async function isWorthAnother(client: Client, posts: number): Promise<boolean> {
  return posts < mostPosts && client.leftMs > 0 && (await isHeard());
}

/** What was made, with what is to be said of requests before that were taken for lost. */
async function besides<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
  own: Twins,
  outcome: Outcome<Wire>,
  lostSince: number | undefined,
): Promise<Outcome<Wire>> {
  if (lostSince === undefined) return outcome;
  const said = `a request whose answer was lost may have made one more ${making.title}`;
  try {
    const found = await unclaimed(client, making, own, lostSince);
    if (found.length <= own.lost) return outcome;
    const ids = found.map(({ id }) => id).join(", ");
    return { ...outcome, warning: `${said}: ${ids}. Delete what no stack has` };
  } catch (error) {
    const why = (error as Error).message;
    return { ...outcome, warning: `${said}, and the list can't be read (${why}): look for it` };
  }
}

/** By what other processes know it. */
function known<Wire>({ fingerprint }: Client, { content }: Making<Wire>): string {
  return JSON.stringify([fingerprint, content]);
}

/** What is to be said of creates of processes that are gone: nothing, unless they made something. */
async function leftBehind<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
): Promise<string | undefined> {
  const left = await unheard(known(client, making));
  if (left.length === 0) return undefined;
  const since = Math.min(...left.map(({ asked }) => asked));
  const found = await candidates(client.operation(), making, since);
  for (const { forget } of left) forget();
  const made = new Set([...claimedOf(client), ...left.flatMap((one) => one.made)]);
  const ids = found.map(({ id }) => id).filter((id) => !made.has(id));
  if (ids.length === 0) return undefined;
  return (
    `an update that was cut off may have made this ${making.title} already: ${ids.join(", ")} ` +
    "has its content and was made since. If no stack has it, delete it, or, unless this is a " +
    "replacement, adopt it with the resource option `import`. Then run `pulumi up` again, which makes one whatever there is"
  );
}

/** What this process has made is nobody else's, and not what the next is to be told of. */
function claim<Wire extends Made>(client: Client, { content }: Making<Wire>, wire: Wire): void {
  const claimed = claimedOf(client).add(wire.id);
  for (const noted of kept.get(content) ?? []) noted.keep([...claimed]);
}

/** With an id it is known what was made: the rest of the answer can be read later. */
function partlyAnswered<Wire extends Made>(error: unknown): Outcome<Wire> {
  const usable = error instanceof ConnectionError ? error.usable : undefined;
  if (!usable?.id) throw error;
  const wire = { uri: "", created_at: "", ...usable } as unknown as Wire;
  return { wire, problem: (error as ConnectionError).message };
}

function isAmbiguous(error: unknown): error is ServiceError | ConnectionError {
  return (
    (error instanceof ServiceError || error instanceof ConnectionError) &&
    error.method === "POST" &&
    error.ambiguous
  );
}

/** What a lost request has made; undefined when it has made nothing, so that it can be sent again. */
async function lookFor<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
  own: Twins,
  asked: number,
  error: Error,
): Promise<Wire | undefined> {
  own.lost += 1;
  try {
    // The service may still be at work behind what gave up on it: a second look comes later.
    const isSlow = error instanceof ConnectionError && error.code === "ETIMEDOUT";
    const mostMs = isSlow ? longestPauseOfSlowMs : longestPauseMs;
    for (const pauseMs of [0, Math.min(mostMs, client.deadlineMs / 20)]) {
      await setTimeout(pauseMs);
      const found = await unclaimed(client, making, own, asked).catch((cause: Error) => {
        throw new Error(
          `${error.message}. Whether the ${making.title} was made can't be told, as the list can't ` +
            `be read either (${cause.message}): look for it, or let the next \`pulumi up\` on this ` +
            "machine do so, which names what it finds",
        );
      });
      if (found.length > own.lost) {
        const ids = found.map(({ id }) => id).join(", ");
        throw new Error(
          `${error.message}. It may have been made all the same: ${ids} have its content and were ` +
            "made since. Look at them, delete what is not wanted, then run `pulumi up` again",
        );
      }
      // The oldest first: as they are the same, each of the lost may have any.
      const wire = found.at(-1);
      if (wire) {
        claim(client, making, wire);
        return wire;
      }
    }
    return undefined;
  } finally {
    own.lost -= 1;
  }
}

/** What has this content, was made since and is nobody else's, newest first. */
async function unclaimed<Wire extends Made>(
  client: Client,
  making: Making<Wire>,
  own: Twins,
  since: number,
): Promise<Wire[]> {
  // With time of its own: the lost request may have taken all there was.
  const seen = await candidates(client.operation(), making, since);
  // Some of what was seen may be that of a twin, which claims it when it is answered.
  while (own.asking.size > 0) await Promise.allSettled(own.asking);
  return seen.filter(({ id }) => !claimedOf(client).has(id));
}

/** What has this content and was made since, newest first. */
async function candidates<Wire extends Made>(
  client: Client,
  { list, isMade }: Making<Wire>,
  asked: number,
): Promise<Wire[]> {
  const found: Wire[] = [];
  let looked = 0;
  for await (const wire of list(client)) {
    // Known better with each answer: the list's first page is one.
    const since = asked + client.clockSkewMs - clockToleranceMs;
    looked += 1;
    if (Date.parse(wire.created_at) < since || looked > mostLooked) break;
    if (isMade(wire)) found.push(wire);
  }
  return found;
}
