import type { Attempted } from "./errors";
import type { Outcome } from "./outcome";

const betweenMs = 10_000;
/** A longer pause or try is reported. */
const longMs = 10_000;
/** This try and later ones are reported, even after a short pause. */
const firstReportedTry = 3;

/** Reports why requests take long, with at most one message in 10 s. */
export class Progress {
  readonly #send: (message: string) => void;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(send: (message: string) => void) {
    this.#send = send;
  }

  /** Sends a message, unless one was sent in the last 10 s. */
  report(message: string): void {
    if (performance.now() - this.#lastAt < betweenMs) return;
    this.#lastAt = performance.now();
    this.#send(message);
  }

  /** Reports every 10 s that a try has no answer yet. Returns a function that stops the reports. */
  waiting({ method, path }: Attempted, leftMs: () => number): () => void {
    const timer = setInterval(() => {
      this.report(`${method} ${path} has no answer yet; still waiting${atMost(leftMs())}`);
    }, longMs).unref();
    return () => clearInterval(timer);
  }

  /** Reports the third and later tries, and a long pause before any try. */
  retrying(attempted: Attempted, outcome: Outcome, pauseMs: number, leftMs: number): void {
    const { method, path, attempts } = attempted;
    if (attempts + 1 < firstReportedTry && pauseMs < longMs) return;
    const cause = outcome.code ? `no answer (${outcome.code})` : `status ${outcome.status}`;
    this.report(`${method} ${path} got ${cause}; trying again${atMost(leftMs)}`);
  }
}

/** How much longer a request may take, for messages; empty when no time is left. */
function atMost(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds > 0 ? `, for ${seconds} s at most` : "";
}
