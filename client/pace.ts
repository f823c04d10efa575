import { setTimeout } from "node:timers/promises";

const windowMs = 60_000;

/**
 * The requests that an account may start in any 60 seconds, in the order in which they are asked
 * for. The service counts a request when it arrives, which is before it is answered: so a place is
 * free again 60 seconds after the answer, and no request is answered 429 for want of patience.
 */
export class Pace {
  #taken = 0;
  /** When places that were taken are free again, the earliest first. */
  readonly #freeAt: number[] = [];
  #queue = Promise.resolve();
  #waiting = 0;
  #onAnswer = () => {};

  /** With 0 a minute there is no limit; `onWait` hears of each request that has to wait. */
  constructor(
    readonly requestsPerMinute: number,
    readonly onWait: (waiting: number) => void,
  ) {}

  /** Settles when the request may start. What it gives is to be called once it is answered. */
  async turn(): Promise<() => void> {
    if (this.requestsPerMinute === 0) return () => {};
    if (this.#waiting === 0 && this.#isFree()) {
      this.#taken += 1;
    } else {
      this.#waiting += 1;
      this.onWait(this.#waiting);
      this.#queue = this.#queue.then(() => this.#takeWhenFree());
      await this.#queue;
    }
    return () => {
      this.#freeAt.push(Date.now() + windowMs);
      this.#onAnswer();
    };
  }

  #isFree(): boolean {
    while ((this.#freeAt[0] ?? Number.POSITIVE_INFINITY) <= Date.now()) {
      this.#freeAt.shift();
      this.#taken -= 1;
    }
    return this.#taken < this.requestsPerMinute;
  }

  async #takeWhenFree(): Promise<void> {
    while (!this.#isFree()) {
      const [next] = this.#freeAt;
      if (next !== undefined) await setTimeout(next - Date.now());
      else await this.#nextAnswer();
    }
    this.#taken += 1;
    this.#waiting -= 1;
  }

  #nextAnswer(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAnswer = resolve;
    });
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
  async standFor<T>(turn: Promise<T>): Promise<T> {
    const left = this.leftMs;
    const taken = await turn;
    this.#endsAt = Date.now() + left;
    return taken;
  }
}
