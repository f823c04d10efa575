import type { Attempted } from "./errors";
import type { Outcome } from "./outcome";

const betweenMs = 10_000;
/** A pause or a try that takes longer is worth a message. */
const longMs = 10_000;
/** So is this try, and each one after it. */
const thirdTry = 3;

/** Tells a person why requests take long: one message in 10 s at most. */
export class Progress {
  readonly #tell: (message: string) => void;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(tell: (message: string) => void) {
    this.#tell = tell;
  }

  /** Passes a message on unless there was one in the last 10 s. */
  tell(message: string): void {
    if (Date.now() - this.#lastAt < betweenMs) return;
    this.#lastAt = Date.now();
    this.#tell(message);
  }

  /** Tells of a try for as long as it has no answer. Call the function that it gives to end that. */
  waiting({ method, path }: Attempted, leftMs: () => number): () => void {
    const timer = setInterval(() => {
      this.tell(`${method} ${path} has no answer yet; still waiting${atMost(leftMs())}`);
    }, longMs).unref();
    return () => clearInterval(timer);
  }

  /** Tells of the third try and later ones, and of a long pause before any. */
  retrying(attempted: Attempted, outcome: Outcome, pauseMs: number, leftMs: number): void {
    const { method, path, attempts } = attempted;
    if (attempts + 1 < thirdTry && pauseMs < longMs) return;
    const cause = outcome.code
      ? `got no answer (${outcome.code})`
      : `was answered ${outcome.status}`;
    this.tell(`${method} ${path} ${cause}; trying again${atMost(leftMs)}`);
  }
}

/** How much longer this may take; empty when no time is left. */
function atMost(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds > 0 ? `, for ${seconds} s at most` : "";
}
