import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { setTimeout } from "node:timers/promises";
import axios, { type AxiosError, type AxiosInstance } from "axios";
import createDebug from "debug";
import type { InferOutput } from "valibot";
import { moreTime, type NameOf, notTheService } from "./advice";
import { type AnswerSchema, readAnswer } from "./answer";
import { type Attempted, ConnectionError } from "./errors";
import { canRetry, errorOf, isLost, isSuccess, type Outcome, pauseMs } from "./outcome";
import { Deadline, Pace } from "./pace";
import { Progress } from "./progress";
import { redact, secretsOfPem } from "./redact";

const debug = createDebug("pulumi-tlsedge:request");

const attemptTimeoutMs = 30_000;
/** How long a failed connection is retried before the first write, as in a plan. */
const unwrittenMs = 10_000;

/** What a {@link Client} needs to reach one account of the service. */
export interface ClientOptions {
  /** Where the service is, `https:` only; a path is kept, a trailing slash is not. */
  baseUrl: string;
  /** The bearer key (api.md §5). It is sent to the origin of `baseUrl` and nowhere else. */
  apiKey: string;
  /** The version of the API to speak. Default `"2"`. */
  apiVersion?: string;
  /** The header that carries the version. Default `"Service-Version"`. */
  versionHeader?: string;
  /** A PEM file of certificate authorities to trust in place of the built-in ones. */
  caFile?: string;
  /** Deadline of one operation in seconds, with retries but without rate-limit waits. Default 120. */
  timeoutSeconds?: number;
  /** How many times a request is tried again. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
  /** How errors name these settings. Default: as options, such as `the option apiKey`. */
  nameOf?: NameOf;
  /** Called with a sentence that says why requests take long, at most every 10 s. */
  tell?: (message: string) => void;
  /** Sends one request, each retry too, or throws instead. Default: sends each. */
  send?: <T>(request: () => Promise<T>) => Promise<T>;
}

/** What all operations of one account share. */
interface Account {
  nameOf: NameOf;
  http: AxiosInstance;
  base: URL;
  apiKey: string;
  fingerprint: string;
  deadlineMs: number;
  maxRetries: number;
  pace: Pace;
  clockSkewMs: number;
  writes: number;
  progress: Progress;
}

/** A request, as it is sent in each try. */
interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the base URL, or a URL of its origin. */
  path: string;
  body?: object;
  /** Whether the path names one object: then 404 means that the object is gone. */
  isItem: boolean;
  onSend?: () => void;
}

/**
 * One account of the service: bearer key, version header, JSON, keep-alive, a request limit and
 * retries within a deadline (api.md §5, §7, §9). Each request has a deadline of its own; the
 * requests of one {@link Client.operation} share one.
 *
 * A request fails with a {@link ServiceError} or a {@link ConnectionError}; neither holds the key.
 * A POST is sent again only after 429, or when it never left this machine. GET, PATCH and DELETE
 * are sent again after any transient failure. While the account has written nothing, a failed
 * connection is not tried again after 10 s. `DEBUG=pulumi-tlsedge:*` logs each request without its body.
 *
 * @example
 * const client = new Client({ baseUrl: "https://api.example.com", apiKey: "…" });
 * for await (const edge of tlsEdges.list(client)) console.log(edge.id, edge.hostports);
 */
export class Client {
  readonly #account: Account;
  /** The account's client and the operation's deadline; undefined in the account's own client. */
  readonly #of: Client | undefined;
  readonly #deadline: Deadline | undefined;

  constructor(options: ClientOptions | Client) {
    this.#of = options instanceof Client ? options.account : undefined;
    this.#account = options instanceof Client ? options.#account : accountOf(options);
    this.#deadline = this.#of && new Deadline(this.#account.deadlineMs);
  }

  /** The client of the account, where each request has a deadline of its own. */
  get account(): Client {
    return this.#of ?? this;
  }

  /** Counts each write when it is sent and when it ends: what was read before may be stale. */
  get writes(): number {
    return this.#account.writes;
  }

  /** How far the service's clock is ahead of ours, in milliseconds, by its last answer's `Date`. */
  get clockSkewMs(): number {
    return this.#account.clockSkewMs;
  }

  /** SHA-256 of base URL and key, lower-case hex: tells accounts apart and shows neither. */
  get fingerprint(): string {
    return this.#account.fingerprint;
  }

  /** Where the service is. */
  get baseUrl(): URL {
    return this.#account.base;
  }

  /** How long one operation may take, in milliseconds. */
  get deadlineMs(): number {
    return this.#account.deadlineMs;
  }

  /** How much of that time is left, in milliseconds. */
  get leftMs(): number {
    return this.#deadline?.leftMs ?? this.#account.deadlineMs;
  }

  /**
   * The same account for one operation: all its requests share a deadline. Its time begins when the
   * first request is sent, and does not run while a request waits for the rate limit.
   */
  operation(): Client {
    return new Client(this);
  }

  /**
   * Reads a path, or a URL of the service's origin. `isItem` says whether that is one object, so
   * that 404 means that the object is gone; default true.
   */
  get<S extends AnswerSchema>(
    path: string,
    answer: S,
    { isItem = true }: { isItem?: boolean } = {},
  ): Promise<InferOutput<S>> {
    return this.#send({ method: "GET", path, isItem }, answer);
  }

  /**
   * Creates something; sent again only after 429, or when it never left this machine. `onSend` is
   * called before the first try, after the wait for the rate limit.
   */
  post<S extends AnswerSchema>(
    path: string,
    body: object,
    answer: S,
    onSend?: () => void,
  ): Promise<InferOutput<S>> {
    return this.#send({ method: "POST", path, body, isItem: false, onSend }, answer);
  }

  /** Changes what is at a path. */
  patch<S extends AnswerSchema>(path: string, body: object, answer: S): Promise<InferOutput<S>> {
    return this.#send({ method: "PATCH", path, body, isItem: true }, answer);
  }

  /** Deletes what is at a path. A success may have any JSON body, or none. */
  async delete(path: string): Promise<void> {
    const { json, attempted } = await this.#request({ method: "DELETE", path, isItem: true });
    if (json === undefined)
      throw ConnectionError.unusable(attempted, "it is not JSON", { ambiguous: true });
  }

  async #send<S extends AnswerSchema>(request: Request, schema: S): Promise<InferOutput<S>> {
    const { json, attempted } = await this.#request(request);
    const read = readAnswer(schema, json);
    if ("answer" in read) return read.answer;
    const { field, reason, usable } = read.unusable;
    const said = field
      ? `its field ${field} ${reason}`
      : `it is not a JSON object. ${notTheService(this.#account.nameOf)}`;
    throw ConnectionError.unusable(attempted, said, {
      field: field || undefined,
      usable,
      ambiguous: request.method !== "GET",
    });
  }

  /** Sends a request until it succeeds, or can't be sent again within its deadline. */
  async #request(request: Request): Promise<{ json: unknown; attempted: Attempted }> {
    const { nameOf, base, deadlineMs, maxRetries, progress } = this.#account;
    const { method, isItem } = request;
    const deadline = this.#deadline ?? new Deadline(deadlineMs);
    const path = request.path.replace(base.origin, "");
    const attempted = { method, path, attempts: 0, elapsedMs: 0, ambiguous: false };
    if (deadline.leftMs <= 0) {
      const said = `no time is left${moreTime(nameOf)}`;
      throw new ConnectionError(said, { ...attempted, code: "ETIMEDOUT" });
    }
    let startedAt: number | undefined;
    let lastStatus: number | undefined;
    for (;;) {
      const release = await deadline.waitFor(this.#account.pace.turn());
      startedAt ??= Date.now();
      attempted.attempts += 1;
      const outcome = await this.#try(request, attempted, deadline).finally(release);
      attempted.elapsedMs = Date.now() - startedAt;
      if (isSuccess(outcome)) return { json: outcome.json, attempted };
      attempted.ambiguous ||= method !== "GET" && isLost(outcome);
      lastStatus = outcome.status ?? lastStatus;
      const mostMs = this.#mostMs(outcome);
      const leftMs = Math.min(deadline.leftMs, mostMs - attempted.elapsedMs);
      const pause = pauseMs(outcome, attempted.attempts, this.clockSkewMs);
      if (!canRetry(method, outcome) || attempted.attempts > maxRetries || pause >= leftMs) {
        const redact = (said: string) => this.#redact(said, request.body);
        throw errorOf(outcome, { ...attempted, lastStatus }, { nameOf, isItem, redact, mostMs });
      }
      debug("%s %s again in %d ms", method, path, pause);
      progress.retrying(attempted, outcome, pause, leftMs);
      await setTimeout(pause);
    }
  }

  /** Sends a request once. */
  async #try(request: Request, attempted: Attempted, deadline: Deadline): Promise<Outcome> {
    const { http, progress } = this.#account;
    const { method, path, attempts } = attempted;
    const startedAt = Date.now();
    const stopWaiting = progress.waiting(attempted, () => deadline.leftMs);
    this.#noteWrite(method);
    try {
      if (attempts === 1) request.onSend?.();
      const outcome = await send(http, request, Math.min(attemptTimeoutMs, deadline.leftMs));
      const took = Date.now() - startedAt;
      const { status, code } = outcome;
      debug("%s %s %s %d ms, attempt %d", method, path, status ?? code, took, attempts);
      this.#noteClock(outcome.headers?.date);
      return outcome;
    } finally {
      stopWaiting();
      this.#noteWrite(method);
    }
  }

  /** How long a request may be retried after this outcome, in milliseconds. */
  #mostMs(outcome: Outcome): number {
    const isConnected = outcome.status !== undefined || outcome.wasSent;
    return isConnected || this.writes > 0 ? Number.POSITIVE_INFINITY : unwrittenMs;
  }

  #noteWrite(method: string): void {
    if (method !== "GET") this.#account.writes += 1;
  }

  #noteClock(date: unknown): void {
    const time = Date.parse(String(date));
    if (!Number.isNaN(time)) this.#account.clockSkewMs = time - Date.now();
  }

  /** Removes the keys that a service may quote from the request. */
  #redact(said: string, body: { private_key_pem?: string } = {}): string {
    return redact(said, [this.#account.apiKey, ...secretsOfPem(body.private_key_pem)]);
  }
}

function accountOf(options: ClientOptions): Account {
  const base = new URL(options.baseUrl);
  if (base.protocol !== "https:") {
    throw new TypeError("the base URL must start with https: the API key is sent to it");
  }
  const nameOf = options.nameOf ?? ((key) => `the option ${key}`);
  const progress = new Progress(options.tell ?? (() => {}));
  const limit = options.requestsPerMinute ?? 120;
  const { send = (request) => request() } = options;
  const http = axios.create({
    adapter: (config) => send(() => axios.getAdapter("http")(config)),
    baseURL: options.baseUrl.replace(/\/+$/, ""),
    headers: {
      Accept: "application/json",
      Authorization: `Bearer ${options.apiKey}`,
      [options.versionHeader ?? "Service-Version"]: options.apiVersion ?? "2",
    },
    httpsAgent: new Agent({
      keepAlive: true,
      maxSockets: 16,
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
      rejectUnauthorized: true,
      ...(options.caFile && { ca: readFileSync(options.caFile) }),
    }),
    maxRedirects: 0,
    validateStatus: () => true,
    responseType: "text",
    transformResponse: (body: unknown) => body,
  });
  return {
    nameOf,
    http,
    base,
    apiKey: options.apiKey,
    fingerprint: createHash("sha256").update(`${base.href} ${options.apiKey}`).digest("hex"),
    deadlineMs: (options.timeoutSeconds ?? 120) * 1000,
    maxRetries: options.maxRetries ?? 8,
    clockSkewMs: 0,
    writes: 0,
    progress,
    pace: new Pace(limit, (waiting) =>
      progress.tell(
        `the limit of ${limit} requests a minute is reached, and requests wait for their turn ` +
          `(${waiting} so far): ${nameOf("requestsPerMinute")} sets it`,
      ),
    ),
  };
}

/** Sends a request once and waits for the answer until the time is over. */
async function send(
  http: AxiosInstance,
  { method, path, body }: Request,
  timeoutMs: number,
): Promise<Outcome> {
  try {
    const { status, headers, data } = await http.request<string>({
      method,
      url: path,
      data: body,
      ...(body && { headers: { "Content-Type": "application/json" } }),
      signal: AbortSignal.timeout(Math.max(1, timeoutMs)),
    });
    const answer = { status, headers, json: parseJson(data) };
    const isCut = answer.json === undefined && data.trimStart().startsWith("{");
    if (!isSuccess(answer) || !isCut) return answer;
    return { code: "ECONNRESET", message: "the answer was cut off", wasSent: true };
  } catch (error) {
    if (!axios.isAxiosError(error)) throw error;
    // Node.js writes nothing of a request before the TLS handshake has authorized the server.
    const wasSent = error.request?.socket?.authorized === true;
    return { code: codeOf(error), message: error.message, wasSent };
  }
}

/** Node's code for what axios reports. */
function codeOf({ code = "EUNKNOWN" }: AxiosError): string {
  if (code === "ERR_CANCELED") return "ETIMEDOUT";
  return code === "ERR_BAD_RESPONSE" ? "ECONNRESET" : code;
}

/** Null for no text, undefined for what is not JSON. */
function parseJson(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
