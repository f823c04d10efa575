import { pbkdf2Sync } from "node:crypto";
import { debuglog } from "node:util";
import type { ClientOptions, NameOf } from "./options";
import { askedMs, mayHaveArrived, type Outcome } from "./outcome";
import { type Deadline, Pace } from "./pace";
import { plain } from "./plain";
import { withoutSecrets } from "./redact";
import { type Request, Transport } from "./transport";

const debug = debuglog("tlsedge");

const attemptTimeoutMs = 30_000;
/** How much of a text of the service is shown. */
const maxShownLength = 1000;

/** What all operations of one base URL and API key share. */
export class Account {
  readonly transport: Transport;
  readonly pace: Pace;
  readonly nameOf: NameOf;
  readonly deadlineMs: number;
  readonly maxRetries: number;
  /** Milliseconds that the service's clock is ahead of ours, by the `Date` of the last answer. */
  clockSkewMs = 0;
  /** The writes sent plus the writes ended. */
  writes = 0;
  lastWriteAt = Number.NEGATIVE_INFINITY;
  /** Whether a write has reached the service. */
  hasWritten = false;
  #tag: string | undefined;

  constructor(readonly options: ClientOptions) {
    this.transport = new Transport(options);
    this.pace = new Pace(options.requestsPerMinute ?? 120, options.signal);
    this.nameOf = options.nameOf ?? ((key) => `the option ${key}`);
    this.deadlineMs = (options.timeoutSeconds ?? 120) * 1000;
    this.maxRetries = options.maxRetries ?? 8;
    debug("the service is %s", this.transport.base.host);
  }

  /** As `Client.accountTag`. */
  get tag(): string {
    // A function that a FIPS module has, too, with lengths that it allows.
    this.#tag ??= pbkdf2Sync(
      `${this.transport.base.href} ${this.options.apiKey}`,
      "pulumi-tlsedge account tag",
      30_000,
      32,
      "sha256",
    ).toString("hex", 0, 8);
    return this.#tag;
  }

  /** A text of the service as messages show it: plain, without secrets, and not too long. */
  shown(text: string, hide = this.options.hide): string {
    // Cut the secrets before the text is shortened: the start of one is not recognized.
    const start = text.slice(0, 8 * maxShownLength);
    const safe = withoutSecrets(hide?.(start) ?? start, this.transport.keyForms);
    return plain(safe).slice(0, maxShownLength);
  }

  /** Sends a request once. What its answer says of the service's rate and clock counts for the next ones. */
  async sendOnce(request: Request, deadline: Deadline, startedAt: number): Promise<Outcome> {
    const { signal } = this.options;
    const isWrite = request.method !== "GET";
    signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(Math.max(1, Math.min(attemptTimeoutMs, deadline.leftMs)));
    // An abort does not end a write in flight: the service may do it, and its answer says so.
    const end = signal && !isWrite ? AbortSignal.any([timeout, signal]) : timeout;
    if (isWrite) this.#countWrite();
    try {
      const outcome = await this.transport.send(request, end);
      if (!isWrite) signal?.throwIfAborted();
      else if (mayHaveArrived(outcome)) this.hasWritten = true;
      this.#learnFrom(outcome, startedAt);
      return outcome;
    } finally {
      if (isWrite) this.#countWrite();
    }
  }

  #learnFrom(outcome: Outcome, startedAt: number): void {
    const { status, headers } = outcome;
    const date = Date.parse(String(headers?.date));
    if (!Number.isNaN(date)) this.clockSkewMs = date - Date.now();
    if (status === 429) this.pace.refused(startedAt, askedMs(outcome, this.clockSkewMs));
    else if (status !== undefined) this.pace.took(startedAt);
  }

  #countWrite(): void {
    this.writes += 1;
    this.lastWriteAt = performance.now();
  }
}
