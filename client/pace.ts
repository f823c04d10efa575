import { setTimeout } from "node:timers/promises";

/** A minute, and a second more: some requests reach the service faster than earlier ones. */
const windowMs = 61_000;

/** A shorter pause is not shown. */
const minShownMs = 1000;
const showEveryMs = 15_000;

/** Shows how many seconds are left of a pause; 0 when it is over. */
export type ShowPause = (seconds: number) => void;

/**
 * A pause that ends with the signal's reason when the signal is aborted. `show` is called for a pause of a second or
 * more: at its start, every 15 s, and at its end.
 */
export async function pause(ms: number, signal?: AbortSignal, show?: ShowPause): Promise<void> {
  const endsAt = performance.now() + ms;
  for (let left = ms; left >= 1; left = endsAt - performance.now()) {
    if (left >= minShownMs) show?.(Math.ceil(left / 1000));
    await setTimeout(Math.min(left, showEveryMs), undefined, { signal }).catch(() => {
      throw signal?.reason;
    });
  }
  if (ms >= minShownMs) show?.(0);
}

/** Limits how many requests of an account start in a minute, in the order of the calls. */
export class Pace {
  /** When the last requests start, as many as may start in a minute. */
  readonly #starts: number[] = [];

  /** 0 requests a minute means no limit. The signal ends all waits. */
  constructor(
    readonly requestsPerMinute: number,
    readonly signal?: AbortSignal,
  ) {}

  /** Resolves when the request may start. */
  async turn(show?: ShowPause): Promise<void> {
    if (this.requestsPerMinute === 0) return;
    const now = performance.now();
    const isFull = this.#starts.length === this.requestsPerMinute;
    const freeAt = isFull ? Number(this.#starts.shift()) + windowMs : now;
    this.#starts.push(Math.max(now, freeAt));
    await pause(freeAt - now, this.signal, show);
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
