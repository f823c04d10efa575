import { debuglog } from "node:util";
import * as v from "valibot";
import { Account } from "./account";
import { errorOf } from "./advice";
import { type AnswerSchema, readAnswer } from "./answer";
import { type Attempted, ConnectionError } from "./errors";
import type { ClientOptions } from "./options";
import {
  canRetry,
  isSuccess,
  mayBeDone,
  mayHaveArrived,
  type Outcome,
  pauseMs,
  refusedFor,
  tooLate,
} from "./outcome";
import { Deadline, pause } from "./pace";
import type { Request } from "./transport";
import { showRetry, showTurn } from "./waitTexts";

const debug = debuglog("tlsedge");

/** How long a failed connection is retried before the first write, for example in a plan. */
const maxRetryMsBeforeWrite = 10_000;

/**
 * One account of the service: bearer key, version header, JSON, keep-alive, a request limit and
 * retries within a deadline (api.md §5, §7, §9). Each request has its own deadline, except that all
 * requests of one {@link Client.operation} share one.
 *
 * A request fails with a `ServiceError` or a {@link ConnectionError}, which never contain the key.
 * After 429, all requests of the account wait, and go on more slowly. A POST is else retried only when
 * no part of it was sent. GET, PATCH and DELETE are retried after any transient failure. Before the
 * first write, a failed connection is retried for at most 10 s. `NODE_DEBUG=tlsedge` logs each
 * request without its body. The proxy that `HTTPS_PROXY` or `ALL_PROXY` names is used, unless
 * `NO_PROXY` has the service.
 *
 * @example
 * const client = new Client({ baseUrl: "https://api.example.com", apiKey: "…" });
 * for await (const edge of tlsEdges.list(client)) console.log(edge.id, edge.hostports);
 */
export class Client {
  readonly #account: Account;
  /** In the client of one operation: the account's client. In the account's client: undefined. */
  readonly #parent: Client | undefined;
  /** The deadline of the operation; undefined in the account's client. */
  readonly #deadline: Deadline | undefined;
  /** Whether no error of the operation shows a text of the service. */
  readonly #hidesTexts: boolean;

  /**
   * @param options Those of an account. In {@link Client.operation}: the client of the account.
   * @throws TypeError when the base URL is not `https:`, or the URL of the proxy is malformed.
   */
  constructor(options: ClientOptions | Client, deadlineMs?: number, hidesTexts = false) {
    this.#parent = options instanceof Client ? options.account : undefined;
    this.#account = options instanceof Client ? options.#account : new Account(options);
    this.#deadline = this.#parent && new Deadline(deadlineMs ?? this.#account.deadlineMs);
    this.#hidesTexts = hidesTexts;
  }

  /** The account's own client. Each of its requests has its own deadline. */
  get account(): Client {
    return this.#parent ?? this;
  }

  /** The writes sent plus the writes ended. A change of this number makes earlier reads stale. */
  get writes(): number {
    return this.#account.writes;
  }

  /** When the last write was sent or has ended, by the monotonic clock. */
  get lastWriteAt(): number {
    return this.#account.lastWriteAt;
  }

  /** Milliseconds that the service's clock is ahead of ours, by the `Date` of the last answer. */
  get clockSkewMs(): number {
    return this.#account.clockSkewMs;
  }

  /**
   * 16 hex characters that are equal for all clients with the same base URL and API key. State shows
   * them, so a list of guesses must not find the key: API keys are long and random, and each guess takes 10 ms.
   */
  get accountTag(): string {
    return this.#account.tag;
  }

  /** The URL of the service. */
  get baseUrl(): URL {
    return this.#account.transport.base;
  }

  /** The deadline of one operation, in milliseconds. */
  get deadlineMs(): number {
    return this.#deadline?.ms ?? this.#account.deadlineMs;
  }

  /** Shows a message about an answer, in plain text and without secrets. Default: as the options say. */
  tell(message: string, show = (text: string) => this.#account.options.show?.("info", text)): void {
    show(this.#account.shown(message));
  }

  /** How much time is left until the deadline, in milliseconds. */
  get leftMs(): number {
    return this.#deadline?.leftMs ?? this.#account.deadlineMs;
  }

  /**
   * A client for one operation, whose requests share one deadline. The deadline starts with the
   * first request and pauses while a request waits for the rate limit.
   *
   * @param deadlineMs The deadline, in milliseconds. Default: that of this client.
   * @param hidesTexts Whether no error of the operation shows the service's reason, which may quote a secret.
   * Default: as in this client.
   */
  operation(deadlineMs = this.deadlineMs, hidesTexts = this.#hidesTexts): Client {
    return new Client(this, deadlineMs, hidesTexts);
  }

  /**
   * Reads a path.
   *
   * @param options `isItem`: whether the path names one object, so that 404 means that the object
   * is gone. Default true.
   */
  get<Wire>(
    path: string,
    answer: AnswerSchema<Wire>,
    { isItem = true }: { isItem?: boolean } = {},
  ): Promise<Wire> {
    return this.#send({ method: "GET", path, isItem }, answer);
  }

  /** Creates an object. The request is retried only after 429, or when no part of it was sent. */
  post<Wire>(path: string, body: object, answer: AnswerSchema<Wire>): Promise<Wire> {
    return this.#send({ method: "POST", path, body, isItem: false }, answer);
  }

  /** Updates the object at a path, and reads it if the service answers without it. */
  patch<Wire>(path: string, body: object, answer: AnswerSchema<Wire>): Promise<Wire> {
    return this.#send({ method: "PATCH", path, body, isItem: true }, answer);
  }

  /** Deletes the object at a path. A success may have any JSON body, or none. */
  async delete(path: string): Promise<void> {
    const json = v.custom<unknown>((body) => body !== undefined);
    await this.#send({ method: "DELETE", path, isItem: true }, json);
  }

  async #send<Wire>(request: Request, schema: AnswerSchema<Wire>): Promise<Wire> {
    const { method } = request;
    const { json, tries } = await this.#request(request);
    if (json === null && method === "PATCH") {
      return this.get(request.path, schema).catch((error) => {
        throw Object.assign(error, { ambiguous: true });
      });
    }
    const read = readAnswer(schema, json);
    if ("answer" in read) return read.answer;
    const { reason, objectId } = read.unusable;
    // A label's name in a path is a text of the service.
    const field = this.#account.shown(read.unusable.field);
    const what = field
      ? `field ${field} of the answer ${reason}`
      : "the answer is not a JSON object";
    const advice =
      "If something other than the service answered, such as a proxy, check the base URL in " +
      `${this.#account.nameOf("baseUrl")} and the proxy`;
    const ids = { ...(field && { field }), ...(objectId !== undefined && { objectId }) };
    throw ConnectionError.unusable(
      { ...tries, ...ids, ambiguous: method !== "GET" },
      `${what}. ${advice}`,
    );
  }

  /** Sends a request until it succeeds, can't be retried, or reaches its deadline. */
  async #request(request: Request): Promise<{ json: unknown; tries: Attempted }> {
    const account = this.#account;
    const { method, isItem } = request;
    const deadline = this.#deadline ?? new Deadline(account.deadlineMs);
    // The query may be that of the service's next_page_uri. Other secrets are not searched for: it would cost each
    // request, also one that succeeds.
    const path = account.shown(request.path, (text) => text);
    const tries = { method, path, attempts: 0, elapsedMs: 0, ambiguous: false };
    const context = { account, isItem, hidesTexts: this.#hidesTexts };
    if (deadline.leftMs <= 0) throw errorOf(tooLate, tries, context);
    let firstAt: number | undefined;
    let retries = 0;
    for (;;) {
      const turn = account.pace.turn(deadline.ms, showTurn(account));
      const startedAt = await deadline.waitFor(turn);
      if (startedAt === undefined) throw errorOf(refusedFor(account.pace.heldMs), tries, context);
      firstAt ??= startedAt;
      tries.attempts += 1;
      const outcome = await account.sendOnce(request, deadline, startedAt);
      tries.elapsedMs = Math.round(performance.now() - firstAt);
      const { status, code } = outcome;
      const took = `${Math.round(performance.now() - startedAt)} ms, attempt ${tries.attempts}`;
      debug("%s %s %s %s", method, path, status ?? code, took);
      if (isSuccess(outcome)) return { json: outcome.json, tries };
      // `Pace` makes the next turn of each request wait.
      if (status === 429 && account.pace.refusedMs < deadline.ms) continue;
      tries.ambiguous ||= method !== "GET" && mayBeDone(outcome);
      retries += 1;
      const ms = this.#pauseBefore(retries, outcome, tries, deadline);
      if (ms === undefined) throw errorOf(outcome, tries, context);
      const show = showRetry(account, { method, isItem, path }, outcome, retries);
      await pause(ms, account.options.signal, show);
    }
  }

  /** The pause before another try, in milliseconds; undefined when there is no other try. */
  #pauseBefore(
    retries: number,
    outcome: Outcome,
    { method, elapsedMs }: Attempted,
    { leftMs }: Deadline,
  ): number | undefined {
    const { maxRetries, clockSkewMs, hasWritten } = this.#account;
    if (!canRetry(method, outcome) || retries > maxRetries) return undefined;
    // A plan, or a run that has changed nothing yet, fails soon where there is no connection.
    const failsSoon = !mayHaveArrived(outcome) && !hasWritten;
    const maxMs = failsSoon ? Math.min(leftMs, maxRetryMsBeforeWrite - elapsedMs) : leftMs;
    const ms = pauseMs(outcome, retries, clockSkewMs);
    return ms < maxMs ? ms : undefined;
  }
}
