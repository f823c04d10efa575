import { setTimeout } from "node:timers/promises";

/** A minute, and a second more: some requests reach the service faster than earlier ones. */
const windowMs = 61_000;
const minuteMs = 60_000;

/** A shorter pause is not shown. */
const minShownMs = 1000;
const showEveryMs = 15_000;

/** Shows how many seconds are left of a wait; undefined: it is over. */
export type ShowWait = (seconds: number | undefined) => void;

/**
 * A pause that ends with the signal's reason when the signal is aborted. `show` is called for a pause of a second or
 * more: at its start, every 15 s, and at its end.
 */
export async function pause(ms: number, signal?: AbortSignal, show?: ShowWait): Promise<void> {
  const endsAt = performance.now() + ms;
  for (let left = ms; left >= 1; left = endsAt - performance.now()) {
    if (left >= minShownMs) show?.(Math.ceil(left / 1000));
    await setTimeout(Math.min(left, showEveryMs), undefined, { signal }).catch((error) => {
      // Node.js throws an error of its own when the signal is aborted.
      throw signal?.aborted ? signal.reason : error;
    });
  }
  if (ms >= minShownMs) show?.(undefined);
}

/** The hold after a refusal that names no time. It doubles with each one that follows. */
const firstHoldMs = 1000;
const longestHoldMs = 32_000;
/** The rates after a refusal, in requests a second. */
const slowestRate = 0.5;
const unmeasuredRate = 2;
const fastestRate = 20;
/** By which part of the rate each answer makes it faster. */
const gain = 0.02;

/** {@link ShowWait} of the wait until a request may start, and whether refusals are its cause. */
export type ShowTurn = (seconds: number | undefined, isRefused: boolean) => void;

/**
 * When the requests of an account start, in the order of the calls: so many in a minute.
 *
 * When the service refuses one for its rate (429), all wait: as long as it says, else 1, 2, 4 … 32 s. Then they start
 * one by one, at nine tenths of the rate at which the service took them in the last minute, and a little faster with
 * each answer. So a service refuses few, whether it counts the requests of a minute or gives a turn now and then.
 */
export class Pace {
  /** When the last requests started, as many as may start in a minute. */
  readonly #starts: number[] = [];
  /** When the service took those of the last minute. */
  readonly #taken: number[] = [];
  /** How many requests have asked for a turn, and how many have started. */
  #asked = 0;
  #started = 0;
  #lastStart = Number.NEGATIVE_INFINITY;
  /** In requests a second: no limit, until the service refuses one. */
  #rate = Number.POSITIVE_INFINITY;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #holdMs = 0;
  #slowedAt = Number.NEGATIVE_INFINITY;
  #refusedSince: number | undefined;

  /** 0 requests a minute means no limit. The signal ends all waits. */
  constructor(
    readonly requestsPerMinute: number,
    readonly signal?: AbortSignal,
  ) {}

  /** For how long the service has taken no request, to the end of the present hold, in milliseconds. */
  get refusedMs(): number {
    return this.#refusedSince === undefined ? 0 : this.#heldUntil - this.#refusedSince;
  }

  /** How long the present hold lasts, in milliseconds. */
  get heldMs(): number {
    return Math.max(0, this.#heldUntil - performance.now());
  }

  /**
   * Waits until the request may start. After its answer, call {@link took} or {@link refused}.
   *
   * @returns The time of the start. Undefined to give up: at the end of the present hold, the service will have refused
   * all requests for as long as the deadline.
   */
  async turn(deadlineMs = Number.POSITIVE_INFINITY, show?: ShowTurn): Promise<number | undefined> {
    const ticket = this.#asked++;
    let shownAt = Number.NEGATIVE_INFINITY;
    try {
      for (let wait = this.#waitOf(ticket); wait.ms >= 1; wait = this.#waitOf(ticket)) {
        if (this.heldMs > 0 && this.refusedMs >= deadlineMs) return undefined;
        const now = performance.now();
        if (wait.ms >= minShownMs && now - shownAt >= showEveryMs) {
          show?.(Math.ceil(wait.ms / 1000), wait.isRefused);
          shownAt = now;
        }
        // At most a second, because the rate may get faster meanwhile.
        await pause(Math.min(wait.ms, 1000), this.signal);
      }
    } finally {
      // Also for a request that gives up or is aborted: those behind it move on.
      this.#started += 1;
      if (Number.isFinite(shownAt)) show?.(undefined, false);
    }
    this.#lastStart = performance.now();
    this.#starts.push(this.#lastStart);
    if (this.#starts.length > this.requestsPerMinute) this.#starts.shift();
    return this.#lastStart;
  }

  /** How long the request with this ticket still waits, in milliseconds, and whether because of refusals. */
  #waitOf(ticket: number): { ms: number; isRefused: boolean } {
    const now = performance.now();
    const ahead = ticket - this.#started;
    const ownLimitUntil = this.#ownLimitUntil(ahead) ?? now;
    const gapMs = 1000 / this.#rate;
    const slowedUntil = Math.max(
      this.#heldUntil + ahead * gapMs,
      this.#lastStart + (ahead + 1) * gapMs,
    );
    // Those ahead of it start first, also where they may start at the same time.
    const leastMs = ahead > 0 ? 1 : 0;
    const ms = Math.max(ownLimitUntil - now, slowedUntil - now, leastMs);
    return { ms, isRefused: slowedUntil > ownLimitUntil };
  }

  /** Until when the own limit holds back the request with so many others ahead of it; undefined: it does not. */
  #ownLimitUntil(ahead: number): number | undefined {
    const { length } = this.#starts;
    // The place among all starts of the one that must be a minute ago: it may be one of those ahead.
    const place = length + ahead - this.requestsPerMinute;
    if (this.requestsPerMinute === 0 || place < 0) return undefined;
    const minutes = 1 + Math.floor(place / length);
    return Number(this.#starts[place % length]) + minutes * windowMs;
  }

  /** The service has taken a request. One that started before a refusal says nothing of what comes after it. */
  took(startedAt: number): void {
    const now = performance.now();
    this.#taken.push(now);
    this.#forgetBefore(now - minuteMs);
    if (startedAt < this.#slowedAt) return;

    // The refusals are over.
    this.#refusedSince = undefined;
    this.#holdMs = 0;

    if (this.#rate === Number.POSITIVE_INFINITY) return;
    this.#rate = Math.min(fastestRate, this.#rate + gain * Math.max(1, this.#rate));
  }

  /**
   * The service has refused a request for its rate.
   *
   * @param startedAt The time of {@link turn}: of those that were under way together, the first one counts.
   * @param askedMs How long the service asks to wait, if it says so.
   */
  refused(startedAt: number, askedMs?: number): void {
    const now = performance.now();
    this.#refusedSince ??= now;
    if (startedAt >= this.#slowedAt) {
      this.#slowedAt = now;
      this.#forgetBefore(now - minuteMs);
      this.#rate = this.#slowedRate();
      this.#holdMs = Math.min(longestHoldMs, 2 * this.#holdMs || firstHoldMs);
      // A minute after the first one of the last minute, its turn is free again.
      const minuteOverMs = Number(this.#taken[0] ?? Number.POSITIVE_INFINITY) + windowMs - now;
      if (askedMs === undefined)
        this.#heldUntil = now + Math.max(firstHoldMs, Math.min(this.#holdMs, minuteOverMs));
    }
    this.#heldUntil = Math.max(this.#heldUntil, now + (askedMs ?? 0));
  }

  #forgetBefore(time: number): void {
    while (Number(this.#taken[0]) < time) this.#taken.shift();
  }

  /** Nine tenths of the rate at which the service took requests; after another refusal, no less than 0.7 of the rate. */
  #slowedRate(): number {
    const slowed = this.#rate === Number.POSITIVE_INFINITY ? 0 : 0.7 * this.#rate;
    const measured = (0.9 * this.#taken.length * 1000) / minuteMs || unmeasuredRate;
    return Math.min(fastestRate, Math.max(slowestRate, slowed, measured));
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
  async waitFor<T>(turn: Promise<T>): Promise<T> {
    const left = this.leftMs;
    const result = await turn;
    this.#endsAt = performance.now() + left;
    return result;
  }
}
