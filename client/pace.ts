import { setTimeout } from "node:timers/promises";

const windowMs = 60_000;

/**
 * Limits how many requests of an account start in any 60 seconds, in the order of the calls. The
 * service counts a request when it arrives, at an unknown time before its answer. So a request
 * counts here until 60 seconds after its answer.
 */
export class Pace {
  #taken = 0;
  /** When each answered request stops counting, earliest first. */
  readonly #freeAt: number[] = [];
  #queue = Promise.resolve();
  #waiting = 0;
  #onAnswer = () => {};

  /**
   * 0 requests a minute means no limit. `onWait` is called for each request that must wait. The
   * signal ends all waits: an open timer would keep the process.
   */
  constructor(
    readonly requestsPerMinute: number,
    readonly onWait: (waiting: number) => void,
    readonly signal?: AbortSignal,
  ) {}

  /** Resolves when the request may start, with a function to call after its answer. */
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
      this.#freeAt.push(performance.now() + windowMs);
      this.#onAnswer();
    };
  }

  #isFree(): boolean {
    while ((this.#freeAt[0] ?? Number.POSITIVE_INFINITY) <= performance.now()) {
      this.#freeAt.shift();
      this.#taken -= 1;
    }
    return this.#taken < this.requestsPerMinute;
  }

  async #takeWhenFree(): Promise<void> {
    while (!this.#isFree()) {
      const [next] = this.#freeAt;
      const { signal } = this;
      if (next !== undefined) await setTimeout(next - performance.now(), undefined, { signal });
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

/** The deadline of one operation. It starts with the first request and pauses in `waitFor`. */
export class Deadline {
  #endsAt: number | undefined;

  constructor(readonly ms: number) {}

  /** Whole milliseconds until the deadline. */
  get leftMs(): number {
    return this.#endsAt === undefined ? this.ms : Math.round(this.#endsAt - performance.now());
  }

  /** Waits for the rate limit. This time does not count. */
  async waitFor<T>(turn: Promise<T>): Promise<T> {
    const left = this.leftMs;
    const taken = await turn;
    this.#endsAt = performance.now() + left;
    return taken;
  }
}
