import { setTimeout } from "node:timers/promises";

/** A minute, and a second more: some requests reach the service faster than earlier ones. */
const windowMs = 61_000;

/** A pause that ends with the signal's reason when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {
    throw signal?.reason;
  });
}

/** Limits how many requests of an account start in a minute, in the order of the calls. */
export class Pace {
  /** When the last requests start, as many as may start in a minute. */
  readonly #starts: number[] = [];

  /**
   * 0 requests a minute means no limit. `onWait` is called for each request that must wait, with the
   * milliseconds. The signal ends all waits.
   */
  constructor(
    readonly requestsPerMinute: number,
    readonly onWait: (ms: number) => void,
    readonly signal?: AbortSignal,
  ) {}

  /** Resolves when the request may start. */
  async turn(): Promise<void> {
    if (this.requestsPerMinute === 0) return;
    const now = performance.now();
    const isFull = this.#starts.length === this.requestsPerMinute;
    const freeAt = isFull ? Number(this.#starts.shift()) + windowMs : now;
    this.#starts.push(Math.max(now, freeAt));
    if (freeAt <= now) return;
    this.onWait(freeAt - now);
    await pause(freeAt - now, this.signal);
  }
}

/** A timer of Node.js that is set for longer, 24 days, ends at once. */
const maxTimerMs = 2 ** 31 - 1;

/** The deadline of one operation. It starts with the first request and pauses in `waitFor`. */
export class Deadline {
  readonly ms: number;
  #endsAt: number | undefined;

  constructor(ms: number) {
    this.ms = Math.min(ms, maxTimerMs);
  }

  /** Whole milliseconds until the deadline. */
  get leftMs(): number {
    return this.#endsAt === undefined ? this.ms : Math.round(this.#endsAt - performance.now());
  }

  /** Waits for the rate limit. This time does not count. */
  async waitFor(turn: Promise<void>): Promise<void> {
    const left = this.leftMs;
    await turn;
    this.#endsAt = performance.now() + left;
  }
}
