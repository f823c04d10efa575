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
    const limiter = this.#limiter;
    if (!limiter || (this.#waiting === 0 && limiter.tryRemoveTokens(1))) return;
    this.#waiting += 1;
    this.onWait(this.#waiting);
    await limiter.removeTokens(1);
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
