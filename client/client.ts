import { pbkdf2Sync } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { debuglog } from "node:util";
import type { AxiosInstance } from "axios";
import * as v from "valibot";
import { errorOf, type NameOf } from "./advice";
import { type AnswerSchema, readAnswer } from "./answer";
import { type Attempted, ConnectionError } from "./errors";
import {
  type Answer,
  alertIn,
  askedMs,
  canRetry,
  isSuccess,
  mayBeDone,
  type Outcome,
  pauseMs,
  refusedFor,
  tooLate,
  wantsCertificate,
} from "./outcome";
import { Deadline, Pace, pause, type ShowTurn, type ShowWait } from "./pace";
import { plain } from "./plain";
import { type HttpProxy, proxyFor } from "./proxy";
import { formsOf, withoutPrivateKeys, withoutSecrets, withTexts } from "./redact";

const debug = debuglog("tlsedge");

/** Loaded with the first request: many plans, and programs without lookups, make none. */
const axios = () => require("axios") as typeof import("axios");

const attemptTimeoutMs = 30_000;
/** How long a connection is kept for the next request. */
const maxIdleMs = 1000;
/** How much of an answer is read, after decompression. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** How much of a text of the service is shown. */
const maxShownLength = 1000;
/** How long a failed connection is retried before the first write, for example in a plan. */
const maxRetryMsBeforeWrite = 10_000;

/** What a {@link Client} needs to reach one account of the service. */
export interface ClientOptions {
  /** The URL of the service, `https:` only. It may have a path; a trailing slash is ignored. */
  baseUrl: string;
  /** The bearer key (api.md §5). It is sent only to the origin of the base URL. */
  apiKey: string;
  /** The API version to request. Default `"2"`. */
  apiVersion?: string;
  /** The header that carries the API version. Default `"Service-Version"`. */
  versionHeader?: string;
  /**
   * A PEM file of certificate authorities to trust in place of the built-in ones. A relative path starts
   * at the folder of the program.
   */
  caFile?: string;
  /**
   * Deadline of one operation in seconds, including retries but not rate-limit waits. Default 120.
   */
  timeoutSeconds?: number;
  /** How many times a failed request is retried, besides after 429. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
  /** How errors name a setting. Default: as an option, such as `the option apiKey`. */
  nameOf?: NameOf;
  /**
   * Shows a message: an `info` when a list leaves out objects, and a `status` for each request that waits for a second
   * or more: at once, every 15 s, and one without a text when the wait is over.
   */
  show?: (severity: "info" | "status", text: string | undefined) => void;
  /** Cuts further secrets out of a text of the service before an error or a message shows it. */
  hide?: (text: string) => string;
  /**
   * Ends waits and reads with the signal's reason, and keeps further tries from being sent. A write in
   * flight still gets its answer.
   */
  signal?: AbortSignal | undefined;
}

/** What all operations of one account share. */
interface Account {
  nameOf: NameOf;
  hasCaFile: boolean;
  http: () => AxiosInstance;
  base: URL;
  proxy: HttpProxy | undefined;
  apiKey: string;
  keyForms: string[];
  accountTag?: string;
  deadlineMs: number;
  maxRetries: number;
  pace: Pace;
  clockSkewMs: number;
  writes: number;
  lastWriteAt: number;
  /** Whether a write has reached the service. */
  hasWritten: boolean;
  show: ClientOptions["show"];
  hide: (text: string) => string;
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
}

/**
 * One account of the service: bearer key, version header, JSON, keep-alive, a request limit and
 * retries within a deadline (api.md §5, §7, §9). Each request has its own deadline, except that all
 * requests of one {@link Client.operation} share one.
 *
 * A request fails with a `ServiceError` or a {@link ConnectionError}, which never contain the key.
 * After 429, all requests of the account wait, and go on more slowly. A POST is else retried only when
 * no part of it was sent. GET, PATCH and DELETE are
 * retried after any transient failure. Before the first write, a failed connection is retried for
 * at most 10 s. `NODE_DEBUG=tlsedge` logs each request without its body. The proxy that `HTTPS_PROXY`
 * or `ALL_PROXY` names is used, unless `NO_PROXY` has the service.
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

  /** @throws TypeError when the base URL is not `https:`, or the URL of the proxy is malformed. */
  constructor(options: ClientOptions | Client, deadlineMs?: number, hidesTexts = false) {
    this.#parent = options instanceof Client ? options.account : undefined;
    this.#account = options instanceof Client ? options.#account : accountOf(options);
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
    const { base, apiKey } = this.#account;
    // A function that a FIPS module has, too, with lengths that it allows.
    this.#account.accountTag ??= pbkdf2Sync(
      `${base.href} ${apiKey}`,
      "pulumi-tlsedge account tag",
      30_000,
      32,
      "sha256",
    ).toString("hex", 0, 8);
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

  /** Shows a message about an answer, in plain text and without secrets. Default: as the options say. */
  tell(message: string, tell = (text: string) => this.#account.show?.("info", text)): void {
    tell(this.#shown(message));
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
    // A label's name in a path is a text of the service.
    const field = this.#shown(read.unusable.field);
    const what = field
      ? `field ${field} of the answer ${read.unusable.reason}`
      : "the answer is not a JSON object";
    const advice =
      "If something other than the service answered, such as a proxy, check the base URL in " +
      `${this.#account.nameOf("baseUrl")} and the proxy`;
    throw ConnectionError.unusable(
      {
        ...tries,
        ...(field && { field }),
        // The id is checked first: when another field is wrong, it is right.
        ...(field && field !== "id" && { objectId: (json as { id?: string }).id }),
        ambiguous: method !== "GET",
      },
      `${what}. ${advice}`,
    );
  }

  /** Sends a request until it succeeds, can't be retried, or reaches its deadline. */
  async #request(request: Request): Promise<{ json: unknown; tries: Attempted }> {
    const { deadlineMs, pace } = this.#account;
    const { method } = request;
    const deadline = this.#deadline ?? new Deadline(deadlineMs);
    // The query may be that of the service's next_page_uri.
    const path = this.#shown(request.path, (own) => own);
    const tries = { method, path, attempts: 0, elapsedMs: 0, ambiguous: false };
    if (deadline.leftMs <= 0) throw this.#errorOf(tooLate, request, tries);
    let firstAt: number | undefined;
    let retries = 0;
    for (;;) {
      const startedAt = await deadline.waitFor(pace.turn(deadline.ms, this.#showTurn));
      if (startedAt === undefined) throw this.#errorOf(refusedFor(pace.heldMs), request, tries);
      firstAt ??= startedAt;
      tries.attempts += 1;
      const outcome = await this.#try(request, tries, deadline, startedAt);
      tries.elapsedMs = Math.round(performance.now() - firstAt);
      if (isSuccess(outcome)) return { json: outcome.json, tries };
      // The next turn of all requests waits.
      if (outcome.status === 429 && pace.refusedMs < deadline.ms) continue;
      tries.ambiguous ||= method !== "GET" && mayBeDone(outcome);
      retries += 1;
      const ms = this.#pauseBefore(retries, outcome, tries, deadline);
      if (ms === undefined) throw this.#errorOf(outcome, request, tries);
      debug("%s %s: retry in %d ms", method, path, ms);
      await pause(ms, this.#account.signal, this.#showRetry(outcome, retries, request, path));
    }
  }

  /** The pause before another try, in milliseconds; undefined when there is none. */
  #pauseBefore(
    retries: number,
    outcome: Outcome,
    { method, elapsedMs }: Attempted,
    { leftMs }: Deadline,
  ): number | undefined {
    const isEnded = !canRetry(method, outcome) || retries > this.#account.maxRetries;
    const ms = pauseMs(outcome, retries, this.clockSkewMs);
    const isLate = ms >= Math.min(leftMs, this.#maxRetryMs(outcome) - elapsedMs);
    return isEnded || isLate ? undefined : ms;
  }

  #errorOf(outcome: Outcome, { isItem }: Request, tries: Attempted) {
    const { nameOf, hasCaFile, proxy } = this.#account;
    return errorOf(outcome, tries, {
      ...{ nameOf, hasCaFile, isItem },
      host: this.baseUrl.host,
      proxy: proxy?.variable,
      askedMs: askedMs(outcome, this.clockSkewMs),
      hidesTexts: this.#hidesTexts,
      shown: (text: string) => this.#shown(text),
    });
  }

  /** A terminal of 100 columns shows the first 30 characters. */
  readonly #showTurn: ShowTurn = (seconds, isRefused) => {
    const { nameOf, pace } = this.#account;
    const limit = isRefused
      ? "(429): the account's limit of requests is used up"
      : `(own limit): ${pace.requestsPerMinute} requests a minute by ${nameOf("requestsPerMinute")}`;
    this.#showWait(seconds, `waits ${seconds} s ${limit}`);
  };

  /** What is shown while another try waits. It is short: a terminal cuts it. */
  #showRetry(
    outcome: Outcome,
    retries: number,
    { method, isItem }: Request,
    path: string,
  ): ShowWait {
    const cause = outcome.code ? `no answer (${outcome.code})` : outcome.status;
    const name = isItem ? path.slice(path.lastIndexOf("/") + 1) : path.split("?", 1)[0];
    const more = `(${retries} of ${this.#account.maxRetries}): ${method} ${name}`;
    return (seconds) => this.#showWait(seconds, `${cause}, tries again in ${seconds} s ${more}`);
  }

  #showWait(seconds: number | undefined, text: string): void {
    this.#account.show?.("status", seconds === undefined ? undefined : text);
  }

  /** Sends a request once. */
  async #try(
    request: Request,
    { method, path, attempts }: Attempted,
    deadline: Deadline,
    startedAt: number,
  ): Promise<Outcome> {
    const { pace, signal } = this.#account;
    signal?.throwIfAborted();
    this.#countWrite(method);
    try {
      const ends = [AbortSignal.timeout(Math.max(1, Math.min(attemptTimeoutMs, deadline.leftMs)))];
      if (signal && method === "GET") ends.push(signal);
      const outcome = await send(this.#account, request, AbortSignal.any(ends));
      if (method === "GET") signal?.throwIfAborted();
      const took = Math.round(performance.now() - startedAt);
      const { status, code } = outcome;
      if (method !== "GET" && (outcome.status !== undefined || outcome.wasSent))
        this.#account.hasWritten = true;
      debug("%s %s %s %d ms, attempt %d", method, path, status ?? code, took, attempts);
      const date = Date.parse(String(outcome.headers?.date));
      if (!Number.isNaN(date)) this.#account.clockSkewMs = date - Date.now();
      if (status === 429) pace.refused(startedAt, askedMs(outcome, this.clockSkewMs));
      else if (status !== undefined) pace.took(startedAt);
      return outcome;
    } finally {
      this.#countWrite(method);
    }
  }

  /** How long a request may be retried after this outcome, in milliseconds. */
  #maxRetryMs({ status, wasSent }: { status?: number; wasSent?: boolean }): number {
    const isConnected = status !== undefined || wasSent;
    return isConnected || this.#account.hasWritten
      ? Number.POSITIVE_INFINITY
      : maxRetryMsBeforeWrite;
  }

  #countWrite(method: string): void {
    if (method === "GET") return;
    this.#account.writes += 1;
    this.#account.lastWriteAt = performance.now();
  }

  /** A text of the service as messages show it: plain, without secrets, and not too long. */
  #shown(text: string, hide = this.#account.hide): string {
    // Cut the secrets before the text is shortened: the start of one is not recognized.
    const open = withoutSecrets(hide(text.slice(0, 8 * maxShownLength)), this.#account.keyForms);
    return plain(open).slice(0, maxShownLength);
  }
}

function accountOf(options: ClientOptions): Account {
  const base = new URL(options.baseUrl);
  if (base.protocol !== "https:") {
    throw new TypeError("the base URL must start with https://, because the API key is sent to it");
  }
  debug("the service is %s", base.host);
  const proxy = proxyFor(base);
  const nameOf = options.nameOf ?? ((key) => `the option ${key}`);
  let http: AxiosInstance | undefined;
  const create = () =>
    axios().create({
      adapter: "http",
      baseURL: options.baseUrl.replace(/\/+$/, ""),
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${options.apiKey}`,
        [options.versionHeader ?? "Service-Version"]: options.apiVersion ?? "2",
      },
      httpsAgent: new Agent({
        keepAlive: true,
        // A balancer may close an idle connection just when a POST is sent on it, and the answer would be
        // lost. A request in flight has other timeouts: axios turns this one off. Through a proxy, no
        // connection is kept, and this would limit the time to connect.
        ...(!proxy && { timeout: maxIdleMs }),
        maxSockets: 16,
        // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
        rejectUnauthorized: true,
        ...(options.caFile && { ca: readFileSync(options.caFile) }),
      }),
      proxy: proxy ?? false,
      maxRedirects: 0,
      maxContentLength: maxAnswerBytes,
      validateStatus: () => true,
      responseType: "text",
      transformResponse: (body: unknown) => body,
    });
  return {
    nameOf,
    hasCaFile: options.caFile !== undefined,
    http: () => (http ??= create()),
    base,
    proxy,
    apiKey: options.apiKey,
    keyForms: formsOf(options.apiKey),
    deadlineMs: (options.timeoutSeconds ?? 120) * 1000,
    maxRetries: options.maxRetries ?? 8,
    pace: new Pace(options.requestsPerMinute ?? 120, options.signal),
    clockSkewMs: 0,
    writes: 0,
    lastWriteAt: Number.NEGATIVE_INFINITY,
    hasWritten: false,
    show: options.show,
    hide: options.hide ?? ((text) => text),
    signal: options.signal,
  };
}

/** Sends a request once and waits for the answer, without keys in it, until the signal is aborted. */
async function send(
  { http, keyForms, proxy }: Account,
  { method, path, body }: Request,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const { status, headers, data, request } = await http().request<string>({
      method,
      url: path,
      data: body,
      ...(body && { headers: { "Content-Type": "application/json" } }),
      signal,
      // Of a proxy that does not answer, axios keeps the connection, and so the process, for ever.
      ...(proxy && { httpsAgent: new Agent({ ...http().defaults.httpsAgent.options, signal }) }),
    });
    // The service answers through TLS. A proxy that does not connect to it has passed nothing on.
    if (request?.socket && !request.socket.encrypted) {
      // Such a status may pass.
      const code = [429, 502, 503, 504].includes(status) ? "ECONNRESET" : "EPROXY";
      const message = `the proxy in ${proxy?.variable} refuses the connection with status ${status}`;
      return { code, message, wasSent: false };
    }
    return { status, headers, ...parsed(data, keyForms, body) };
  } catch (error) {
    if (!axios().isAxiosError(error)) throw error;
    const { code = "EUNKNOWN", message } = error;
    const alert = alertIn(message);
    // Node.js sends no part of a request before the TLS handshake has authorized the server.
    const wasSent = error.request?.socket?.authorized === true && !wantsCertificate(alert);
    if (message.startsWith("maxContentLength")) {
      return { code: "EBADANSWER", message: "the answer has more than 32 MiB", wasSent };
    }
    const isOfProxy = proxy !== undefined && !error.request?.socket;
    return { code: codes[code] ?? code, message, wasSent, alert, isOfProxy };
  }
}

/** Node's codes for those of axios and of other resolvers. */
const codes: Record<string, string> = {
  ERR_CANCELED: "ETIMEDOUT",
  ETIMEOUT: "ETIMEDOUT",
  ERR_BAD_RESPONSE: "ECONNRESET",
};

/** How much is kept of an answer that is not JSON. */
const maxTextLength = 8000;

/** The answer to a request with this body, without keys: a service may quote one. */
function parsed(text: string, keyForms: string[], body?: object): Pick<Answer, "json" | "text"> {
  if (text.trim() === "") return { json: null };
  const withoutPrivate = withoutPrivateKeys(body);
  const open = (one: string, field: string) => withoutPrivate(withoutSecrets(one, keyForms), field);
  try {
    // Not the raw text: JSON can write a sign in several ways.
    return { json: withTexts(JSON.parse(text), open) };
  } catch {
    return { json: undefined, text: open(text, "").slice(0, maxTextLength) };
  }
}
