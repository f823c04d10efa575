import { scryptSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { debuglog } from "node:util";
import axios, { type AxiosError, type AxiosInstance } from "axios";
import type { InferOutput } from "valibot";
import { moreTime, type NameOf, notTheService } from "./advice";
import { type AnswerSchema, readAnswer } from "./answer";
import { type Attempted, ConnectionError } from "./errors";
import {
  canRetry,
  errorOf,
  isLost,
  isSuccess,
  isTransient,
  type Outcome,
  pauseMs,
} from "./outcome";
import { Deadline, Pace } from "./pace";
import { plain } from "./plain";
import { Progress } from "./progress";
import { isOtherProxy, proxyVariable } from "./proxy";
import { withoutApiKey, withoutArguments, withoutPrivateKeys } from "./redact";

const debug = debuglog("tlsedge");

const attemptTimeoutMs = 30_000;
const maxIdleMs = 1000;
/** How much of an answer is read, after decompression. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** A shorter API key may be part of a name by chance, and state must have that name as it is. */
const minKeyInAnswer = 16;
/** How much of an unusable answer an error keeps. */
const maxUsableLength = 1024 * 1024;
/** How much of a text of the service is shown. */
const maxShownLength = 1000;
/** How long a failed connection is retried before the first write, for example in a plan. */
const maxRetryMsBeforeWrite = 10_000;

/** What a {@link Client} needs to reach one account of the service. */
export interface ClientOptions {
  /** The URL of the service, `https:` only. It may have a path; a trailing slash is ignored. */
  baseUrl: string;
  /** The bearer key (api.md §5). It is sent only to the origin of `baseUrl`. */
  apiKey: string;
  /** The API version to request. Default `"2"`. */
  apiVersion?: string;
  /** The header that carries the API version. Default `"Service-Version"`. */
  versionHeader?: string;
  /** A PEM file of certificate authorities to trust in place of the built-in ones. */
  caFile?: string;
  /**
   * Deadline of one operation in seconds, including retries but not rate-limit waits. Default 120.
   */
  timeoutSeconds?: number;
  /** How many times a failed request is retried. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
  /** How errors name a setting. Default: as an option, such as `the option apiKey`. */
  nameOf?: NameOf;
  /** Called with a message when requests take long, at most once in 10 s. */
  tell?: (message: string) => void;
  /**
   * Ends waits and reads with the signal's reason, and keeps further tries from being sent. A write in
   * flight still gets its answer.
   */
  signal?: AbortSignal | undefined;
}

/** What all operations of one account share. */
interface Account {
  nameOf: NameOf;
  http: AxiosInstance;
  base: URL;
  apiKey: string;
  /** Cuts the API key out of a text. */
  withoutApiKey: (text: string) => string;
  accountTag?: string;
  deadlineMs: number;
  maxRetries: number;
  pace: Pace;
  clockSkewMs: number;
  writes: number;
  progress: Progress;
  signal: AbortSignal | undefined;
}

/** One request. Each retry sends it unchanged. */
interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path below the base URL. */
  path: string;
  body?: object;
  /** Whether the path names one object: then 404 means that the object is gone. */
  isItem: boolean;
  onSend?: () => void;
}

/**
 * One account of the service: bearer key, version header, JSON, keep-alive, a request limit and
 * retries within a deadline (api.md §5, §7, §9). Each request has its own deadline, except that all
 * requests of one {@link Client.operation} share one.
 *
 * A request fails with a `ServiceError` or a {@link ConnectionError}, which never contain the key.
 * A POST is retried only after 429, or when no part of it was sent. GET, PATCH and DELETE are
 * retried after any transient failure. Before the first write, a failed connection is retried for
 * at most 10 s. `NODE_DEBUG=tlsedge` logs each request without its body.
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
  /** What the program has marked as secret among what the operation sends. */
  readonly #secrets: string[];

  constructor(options: ClientOptions | Client, deadlineMs?: number, secrets: string[] = []) {
    this.#parent = options instanceof Client ? options.account : undefined;
    this.#account = options instanceof Client ? options.#account : accountOf(options);
    this.#deadline = this.#parent && new Deadline(deadlineMs ?? this.#account.deadlineMs);
    this.#secrets = secrets;
  }

  /** The account's own client. Each of its requests has its own deadline. */
  get account(): Client {
    return this.#parent ?? this;
  }

  /** The writes sent plus the writes ended. A change of this number makes earlier reads stale. */
  get writes(): number {
    return this.#account.writes;
  }

  /** Milliseconds that the service's clock is ahead of ours, by the `Date` of the last answer. */
  get clockSkewMs(): number {
    return this.#account.clockSkewMs;
  }

  /**
   * 16 hex characters that are equal for all clients with the same base URL and API key. State shows
   * them, so a list of guesses must not find the key: API keys are long and random, and scrypt makes
   * each guess for a short one slow (40 ms here, once a client).
   */
  get accountTag(): string {
    const { base, apiKey } = this.#account;
    this.#account.accountTag ??= scryptSync(`${base.href} ${apiKey}`, "pulumi-tlsedge", 8).toString(
      "hex",
    );
    return this.#account.accountTag;
  }

  /** The URL of the service. */
  get baseUrl(): URL {
    return this.#account.base;
  }

  /** The deadline of one operation, in milliseconds. */
  get deadlineMs(): number {
    return this.#deadline?.ms ?? this.#account.deadlineMs;
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
   * @param secrets Texts that no error of the operation shows, even if the service quotes them.
   * Default: those of this client.
   */
  operation(deadlineMs = this.deadlineMs, secrets = this.#secrets): Client {
    return new Client(this, deadlineMs, secrets);
  }

  /**
   * Reads a path.
   *
   * @param options `isItem`: whether the path names one object, so that 404 means that the object
   * is gone. Default true.
   */
  get<S extends AnswerSchema>(
    path: string,
    answer: S,
    { isItem = true }: { isItem?: boolean } = {},
  ): Promise<InferOutput<S>> {
    return this.#send({ method: "GET", path, isItem }, answer);
  }

  /**
   * Creates an object. The request is retried only after 429, or when no part of it was sent.
   *
   * @param onSend Called before the first try, after the wait for the rate limit.
   */
  post<S extends AnswerSchema>(
    path: string,
    body: object,
    answer: S,
    onSend?: () => void,
  ): Promise<InferOutput<S>> {
    return this.#send({ method: "POST", path, body, isItem: false, onSend }, answer);
  }

  /** Updates the object at a path, and reads it if the service answers without it. */
  patch<S extends AnswerSchema>(path: string, body: object, answer: S): Promise<InferOutput<S>> {
    return this.#send({ method: "PATCH", path, body, isItem: true }, answer);
  }

  /** Deletes the object at a path. A success may have any JSON body, or none. */
  async delete(path: string): Promise<void> {
    const { json, attempted } = await this.#request({ method: "DELETE", path, isItem: true });
    if (json === undefined)
      throw ConnectionError.unusable(
        attempted,
        `the answer is not JSON. ${notTheService(this.#account.nameOf)}`,
        { ambiguous: true },
      );
  }

  async #send<S extends AnswerSchema>(request: Request, schema: S): Promise<InferOutput<S>> {
    const { json, attempted } = await this.#request(request);
    if (json === null && request.method === "PATCH") {
      return this.get(request.path, schema).catch((error) => {
        throw Object.assign(error, { ambiguous: true });
      });
    }
    const read = readAnswer(schema, json);
    if ("answer" in read) return read.answer;
    const { reason, usable } = read.unusable;
    // A label's name in a path is a text of the service.
    const field = this.#shown(read.unusable.field);
    const what = field
      ? `field ${field} of the answer ${reason}`
      : "the answer is not a JSON object";
    // Without its list, a page is perhaps the answer of another service.
    const isForeign =
      !field || (request.method === "GET" && !request.isItem && !field.includes("["));
    const advice = isForeign ? `. ${notTheService(this.#account.nameOf)}` : "";
    throw ConnectionError.unusable(attempted, what + advice, {
      field: field || undefined,
      // Of a big answer the id alone.
      usable: JSON.stringify(usable).length > maxUsableLength ? { id: usable.id } : usable,
      ambiguous: request.method !== "GET",
    });
  }

  /** Sends a request until it succeeds, can't be retried, or reaches its deadline. */
  async #request(request: Request): Promise<{ json: unknown; attempted: Attempted }> {
    const { nameOf, deadlineMs, maxRetries, progress, signal } = this.#account;
    const { method, isItem } = request;
    // The query may be that of the service's next_page_uri.
    const path = this.#shown(request.path);
    const deadline = this.#deadline ?? new Deadline(deadlineMs);
    const attempted = { method, path, attempts: 0, elapsedMs: 0, ambiguous: false };
    if (deadline.leftMs <= 0) {
      const reason = `no time is left${moreTime(nameOf)}`;
      throw new ConnectionError(reason, { ...attempted, code: "ETIMEDOUT" });
    }
    let startedAt: number | undefined;
    let lastStatus: number | undefined;
    for (;;) {
      const release = await deadline.waitFor(unlessAborted(signal, this.#account.pace.turn()));
      startedAt ??= performance.now();
      attempted.attempts += 1;
      const outcome = await this.#try(request, attempted, deadline).finally(release);
      attempted.elapsedMs = Math.round(performance.now() - startedAt);
      if (isSuccess(outcome)) return { json: outcome.json, attempted };
      attempted.ambiguous ||= method !== "GET" && isLost(outcome);
      lastStatus = outcome.status ?? lastStatus;
      const maxRetryMs = this.#maxRetryMs(outcome);
      const leftMs = Math.min(deadline.leftMs, maxRetryMs - attempted.elapsedMs);
      const pause = pauseMs(outcome, attempted.attempts, this.clockSkewMs);
      const mayRetry = canRetry(method, outcome) && attempted.attempts <= maxRetries;
      if (!mayRetry || pause >= leftMs) {
        throw errorOf(
          outcome,
          { ...attempted, lastStatus },
          {
            nameOf,
            host: this.baseUrl.host,
            isItem,
            shown: (text) => this.#shown(text),
            // Named in the error only if it ended the retries.
            maxRetryMs: mayRetry ? maxRetryMs : Number.POSITIVE_INFINITY,
          },
        );
      }
      debug("%s %s: retry in %d ms", method, path, pause);
      progress.retrying(attempted, outcome, pause, leftMs);
      await unlessAborted(signal, setTimeout(pause, undefined, { signal }));
    }
  }

  /** Sends a request once. */
  async #try(request: Request, attempted: Attempted, deadline: Deadline): Promise<Outcome> {
    const { progress, signal } = this.#account;
    const { method, path, attempts } = attempted;
    const startedAt = performance.now();
    const stopWaiting = progress.waiting(attempted, () => deadline.leftMs);
    this.#countWrite(method);
    try {
      if (attempts === 1) request.onSend?.();
      const ends = [AbortSignal.timeout(Math.max(1, Math.min(attemptTimeoutMs, deadline.leftMs)))];
      if (signal && method === "GET") ends.push(signal);
      const outcome = await send(this.#account, request, AbortSignal.any(ends));
      if (method === "GET") signal?.throwIfAborted();
      const took = Math.round(performance.now() - startedAt);
      const { status, code } = outcome;
      debug("%s %s %s %d ms, attempt %d", method, path, status ?? code, took, attempts);
      this.#updateClock(outcome.headers?.date);
      return outcome;
    } finally {
      stopWaiting();
      this.#countWrite(method);
    }
  }

  /** How long a request may be retried after this outcome, in milliseconds. */
  #maxRetryMs(outcome: Outcome): number {
    const isConnected = outcome.status !== undefined || outcome.wasSent;
    return isConnected || this.writes > 0 ? Number.POSITIVE_INFINITY : maxRetryMsBeforeWrite;
  }

  #countWrite(method: string): void {
    if (method !== "GET") this.#account.writes += 1;
  }

  #updateClock(date: unknown): void {
    const time = Date.parse(String(date));
    if (!Number.isNaN(time)) this.#account.clockSkewMs = time - Date.now();
  }

  /** A text of the service as messages show it: plain, without secrets, and not too long. */
  #shown(text: string): string {
    const open = withoutArguments(this.#secrets)(text.slice(0, 8 * maxShownLength));
    // Cut the key before the text is shortened: the start of a key is not recognized.
    return this.#account.withoutApiKey(plain(open)).slice(0, maxShownLength);
  }
}

function accountOf(options: ClientOptions): Account {
  const base = new URL(options.baseUrl);
  if (base.protocol !== "https:") {
    throw new TypeError("the base URL must start with https://, because the API key is sent to it");
  }
  debug("the service is %s", base.host);
  const nameOf = options.nameOf ?? ((key) => `the option ${key}`);
  const progress = new Progress(options.tell ?? (() => {}));
  const limit = options.requestsPerMinute ?? 120;
  const http = axios.create({
    adapter: "http",
    baseURL: options.baseUrl.replace(/\/+$/, ""),
    headers: {
      Accept: "application/json",
      Authorization: `Bearer ${options.apiKey}`,
      [options.versionHeader ?? "Service-Version"]: options.apiVersion ?? "2",
    },
    httpsAgent: new FreshAgent({
      keepAlive: true,
      maxSockets: 16,
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
      rejectUnauthorized: true,
      ...(options.caFile && { ca: readFileSync(options.caFile) }),
    }),
    ...(isOtherProxy() && { proxy: false }),
    maxRedirects: 0,
    maxContentLength: maxAnswerBytes,
    validateStatus: () => true,
    responseType: "text",
    transformResponse: (body: unknown) => body,
  });
  return {
    nameOf,
    http,
    base,
    apiKey: options.apiKey,
    withoutApiKey: withoutApiKey(options.apiKey),
    deadlineMs: (options.timeoutSeconds ?? 120) * 1000,
    maxRetries: options.maxRetries ?? 8,
    clockSkewMs: 0,
    writes: 0,
    progress,
    signal: options.signal,
    pace: new Pace(
      limit,
      (waiting) =>
        progress.report(
          `the limit of ${limit} requests a minute is reached; requests that wait: ${waiting}. ` +
            `${nameOf("requestsPerMinute")} sets the limit`,
        ),
      options.signal,
    ),
  };
}

/**
 * Keeps no connection that is idle for more than a second. A balancer may close an idle connection
 * just when a POST is sent on it, and the answer to that POST would be lost.
 */
class FreshAgent extends Agent {
  override keepSocketAlive(socket: Socket): boolean {
    const isKept = super.keepSocketAlive(socket) as unknown as boolean;
    // The agent destroys a free socket that times out. A request in flight has other timeouts.
    socket.setTimeout(maxIdleMs);
    return isKept;
  }
}

/** Waits for a promise. Throws the signal's reason as soon as the signal is aborted. */
function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Sends a request once and waits for the answer, without keys in it, until the signal is aborted. */
async function send(
  { http, apiKey, withoutApiKey }: Account,
  { method, path, body }: Request,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const { status, headers, data, request } = await http.request<string>({
      method,
      url: path,
      data: body,
      ...(body && { headers: { "Content-Type": "application/json" } }),
      signal,
    });
    // The service answers through TLS. A proxy that does not connect to it has passed nothing on.
    if (request?.socket && !request.socket.encrypted) {
      const code = isTransient(status) ? "ECONNREFUSED" : "EPROXY";
      return notSent(code, `refuses the connection with status ${status}`);
    }
    const text = apiKey.length < minKeyInAnswer ? data : withoutApiKey(data);
    const answer = { status, headers, json: parseJson(text, body) };
    const isCut = answer.json === undefined && data.trimStart().startsWith("{");
    if (!isSuccess(answer) || !isCut) return answer;
    return { code: "ECONNRESET", message: "the answer was cut off", wasSent: true };
  } catch (error) {
    return failureOf(error);
  }
}

/** What is known of a request that got no answer. */
function failureOf(error: unknown): Outcome {
  // The error has the URL, and with it the password. Our own URL was parsed before.
  if ((error as NodeJS.ErrnoException).code === "ERR_INVALID_URL") {
    return notSent("EPROXY", "has a malformed URL: write http://host:port");
  }
  if (!axios.isAxiosError(error)) throw error;
  // Node.js sends no part of a request before the TLS handshake has authorized the server.
  const wasSent = error.request?.socket?.authorized === true;
  if (error.message.startsWith("maxContentLength")) {
    return { code: "EBADANSWER", message: "the answer has more than 32 MiB", wasSent: true };
  }
  return { code: codeOf(error), message: error.message, wasSent };
}

function notSent(code: string, message: string): Outcome {
  return { code, message: `the proxy in ${proxyVariable()} ${message}`, wasSent: false };
}

/** Node's code for an error of axios. */
function codeOf({ code = "EUNKNOWN" }: AxiosError): string {
  if (code === "ERR_CANCELED") return "ETIMEDOUT";
  return code === "ERR_BAD_RESPONSE" ? "ECONNRESET" : code;
}

/**
 * The answer to a request with this body, without private keys: a service may quote one. Null for an empty
 * text, undefined for a text that is not JSON.
 */
function parseJson(text: string, body?: { private_key_pem?: string }): unknown {
  if (text.trim() === "") return null;
  try {
    if (!body?.private_key_pem && !text.includes("PRIVATE KEY")) return JSON.parse(text);
    const open = withoutPrivateKeys(body);
    return JSON.parse(text, (name, value) =>
      typeof value === "string" ? open(name, value) : value,
    );
  } catch {
    return undefined;
  }
}
