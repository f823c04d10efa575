import { setTimeout } from "node:timers/promises";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { isHeard, note, unheard } from "./unheard";

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

/** What was made, and what of the service's answer to that can't be used. */
export interface Outcome<Wire> {
  wire: Wire;
  problem?: string;
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
const claimed = new Set<string>();
/** What is said of creates of earlier processes, by content: to each twin, in this process. */
const told = new Map<string, Promise<string | undefined>>();

const mostPosts = 3;
/** `Date` counts in seconds, and so does `created_at`. */
const clockToleranceMs = 2000;
const longestPauseMs = 2000;
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
    await said.then((problem) => {
      if (problem) throw new Error(problem);
    });
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
  const settle = note(known(client, making));
  for (let posts = 1; ; posts++) {
    const asked = Date.now();
    const asking = making
      .post()
      .then((wire) => ({ wire }), partlyAnswered<Wire>)
      .then(claim)
      .finally(() => own.asking.delete(asking));
    own.asking.add(asking);
    try {
      const outcome = await asking;
      await settle();
      return outcome;
    } catch (error) {
      if (!isAmbiguous(error)) {
        await settle();
        throw error;
      }
      const found = await lookFor(client, making, own, asked, error);
      if (found) {
        await settle();
        return { wire: found };
      }
      // What nobody hears of any more is not asked for again.
      if (posts === mostPosts || client.leftMs <= 0 || !(await isHeard())) throw error;
    }
  }
}

/** By what other processes know it. */
function known<Wire>({ baseUrl }: Client, { content }: Making<Wire>): string {
  return JSON.stringify([baseUrl, content]);
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
  const ids = found.map(({ id }) => id).filter((id) => !claimed.has(id));
  if (ids.length === 0) return undefined;
  return (
    `an update that was cut off may have made this ${making.title} already: ${ids.join(", ")} ` +
    "has its content and was made since. If no stack has it, delete it, or, unless this is a " +
    "replacement, adopt it with the resource option `import`. Then run `pulumi up` again, which makes one whatever there is"
  );
}

function claim<Wire extends Made>(outcome: Outcome<Wire>): Outcome<Wire> {
  claimed.add(outcome.wire.id);
  return outcome;
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
    for (const pauseMs of [0, Math.min(longestPauseMs, client.deadlineMs / 20)]) {
      await setTimeout(pauseMs);
      // With time of its own: the lost request may have taken all there was.
      const seen = await candidates(client.operation(), making, asked).catch((cause: Error) => {
        throw new Error(
          `${error.message}. Whether the ${making.title} was made can't be told, as the list can't ` +
            `be read either (${cause.message}): look for it, and delete it, before the next ` +
            "`pulumi up`",
        );
      });
      // Some of what was seen may be that of a twin, which claims it when it is answered.
      while (own.asking.size > 0) await Promise.allSettled(own.asking);
      const found = seen.filter(({ id }) => !claimed.has(id));
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
        claimed.add(wire.id);
        return wire;
      }
    }
    return undefined;
  } finally {
    own.lost -= 1;
  }
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
