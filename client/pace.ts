import { RateLimiter } from "limiter";

/** The requests that an account may start in a minute, in the order in which they are asked for. */
export class Pace {
  readonly #limiter: RateLimiter | undefined;
  #waiting = 0;

  /** With 0 a minute there is no limit; `onWait` hears of each request that has to wait. */
  constructor(
    requestsPerMinute: number,
    readonly onWait: (waiting: number) => void,
  ) {
    this.#limiter = requestsPerMinute
      ? new RateLimiter({ tokensPerInterval: requestsPerMinute, interval: "minute" })
      : undefined;
  }

  /** Settles when the request may start. */
  async turn(): Promise<void> {
    if (!this.#limiter) return;
    this.#waiting += 1;
    // Those that were asked for at the same time have not taken theirs yet.
    const left = this.#limiter.getTokensRemaining();
    if (this.#waiting > left || this.#limiter.getWaitTime(1) > 0) this.onWait(this.#waiting);
    await this.#limiter.removeTokens(1);
    this.#waiting -= 1;
  }
}

/** The time that an operation has: from its first request on, and not while a request queues. */
export class Deadline {
  #endsAt: number | undefined;

  constructor(readonly ms: number) {}

  /** Milliseconds that are left. */
  get leftMs(): number {
    return this.#endsAt === undefined ? this.ms : this.#endsAt - Date.now();
  }

  /** Waits for a request's turn: meanwhile the time stands. */
  async standFor(turn: Promise<void>): Promise<void> {
    const left = this.leftMs;
    await turn;
    this.#endsAt = Date.now() + left;
  }
}
