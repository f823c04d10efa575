import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { setTimeout } from "node:timers/promises";
import axios, { type AxiosError, type AxiosInstance } from "axios";
import createDebug from "debug";
import { array, type InferOutput, nullish, object, string } from "valibot";
import { howMuch } from "./advice";
import { type AnswerSchema, readAnswer } from "./answer";
import { type Attempted, ConnectionError } from "./errors";
import { canRetry, errorOf, isLost, isSuccess, type Outcome, pauseMs } from "./outcome";
import { Deadline, Pace } from "./pace";
import { redact, secretsOfPem } from "./redact";
import { defaultConnection } from "./settings";

export { ConnectionError, ServiceError } from "./errors";
export type { Ref } from "./fields";
export type {
  TLSCertificateUpdate,
  TLSCertificateUpload,
  TLSCertificateWire,
} from "./tlsCertificate";
export { tlsCertificates } from "./tlsCertificate";
export type {
  TLSEdgeModule,
  TLSEdgeMutation,
  TLSEdgeWire,
} from "./tlsEdge";
export { tlsEdges } from "./tlsEdge";
export type { TunnelWire } from "./tunnel";
export { tunnels } from "./tunnel";

const debug = createDebug("pulumi-tlsedge:request");

const attemptTimeoutMs = 30_000;
/** For how long a connection is tried until this process has written something, as in a plan. */
const unwrittenMs = 10_000;
/** `tell` hears of this try and those after it. */
const firstTryToTell = 3;
const tellEveryMs = 10_000;
/** `tell` hears of a try or a pause that takes longer. */
const silentMs = 10_000;

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
  /** Seconds that one operation may take: with its retries, without rate-limit waits. Default 120. */
  timeoutSeconds?: number;
  /** How many times a request is tried again. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
  /** The config namespace of these settings, which errors name. Default `"tlsedge"`. */
  connection?: string;
  /** Called with a sentence that says why requests take long, at most every 10 s. */
  tell?: (message: string) => void;
  /** Sends one request, each retry too, or throws instead. Default: sends each. */
  send?: <T>(request: () => Promise<T>) => Promise<T>;
}

/** What all operations of one account share. */
interface Account {
  connection: string;
  http: AxiosInstance;
  base: URL;
  apiKey: string;
  deadlineMs: number;
  maxRetries: number;
  pace: Pace;
  clockSkewMs: number;
  writes: number;
  tell: (message: string) => void;
}

/** A request, as it is sent in each try. */
interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the base URL, or a URL of its origin. */
  path: string;
  body?: object;
  /** Whether the path is of one thing, so that 404 means that it is gone. */
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
  /** Set when this client is of one operation: the account's client, and the deadline. */
  readonly #of: Client | undefined;
  readonly #deadline: Deadline | undefined;

  constructor(options: ClientOptions | Client) {
    this.#of = options instanceof Client ? options.account : undefined;
    this.#account = options instanceof Client ? options.#account : accountOf(options);
    this.#deadline = this.#of && new Deadline(this.#account.deadlineMs);
  }

  /** The client of the whole account, in which each request has a deadline of its own. */
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
    const { base, apiKey } = this.#account;
    return createHash("sha256").update(`${base.href} ${apiKey}`).digest("hex");
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

  /** Reads what is at a path. */
  get<S extends AnswerSchema>(path: string, answer: S): Promise<InferOutput<S>> {
    return this.#send({ method: "GET", path, isItem: true }, answer);
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

  /** The pages of a list, newest first; each is requested when it is needed (api.md §4.4). */
  async *pages<S extends AnswerSchema>(
    path: string,
    collection: string,
    item: S,
  ): AsyncGenerator<InferOutput<S>[], void, undefined> {
    const page = object({ [collection]: array(item), next_page_uri: nullish(string()) });
    let next: string | undefined = `${path}?limit=100`;
    const seen = new Set<string>();
    while (next) {
      seen.add(next);
      const answer: Record<string, unknown> = await this.#send(
        { method: "GET", path: next, isItem: false },
        page,
      );
      yield answer[collection] as InferOutput<S>[];
      next = this.#sameOrigin(path, answer.next_page_uri as string | null | undefined);
      if (next && seen.has(next)) {
        throw ConnectionError.unusable({ method: "GET", path }, "its pages go in a circle");
      }
    }
  }

  /** Every item of a list, newest first, with one page in memory (api.md §4.4). */
  async *list<S extends AnswerSchema>(
    path: string,
    collection: string,
    item: S,
  ): AsyncGenerator<InferOutput<S>, void, undefined> {
    for await (const page of this.pages(path, collection, item)) yield* page;
  }

  #sameOrigin(path: string, next: string | null | undefined): string | undefined {
    if (!next) return undefined;
    const { href, origin } = this.#account.base;
    const url = URL.canParse(next, href) ? new URL(next, href) : null;
    if (url?.origin === origin) return url.href;
    throw ConnectionError.unusable(
      { method: "GET", path },
      `its next_page_uri leaves ${origin}, where the API key must not go`,
      { field: "next_page_uri" },
    );
  }

  async #send<S extends AnswerSchema>(request: Request, schema: S): Promise<InferOutput<S>> {
    const { json, attempted } = await this.#request(request);
    const read = readAnswer(schema, json);
    if ("answer" in read) return read.answer;
    const { field, reason, usable } = read.unusable;
    const said = field
      ? `its field ${field} ${reason}`
      : "it is not a JSON object. If something other than the service answered, such as a proxy, " +
        "check the base URL and the proxy";
    throw ConnectionError.unusable(attempted, said, {
      field: field || undefined,
      usable,
      ambiguous: request.method !== "GET",
    });
  }

  /** Sends a request until it succeeds, or can't be sent again within its deadline. */
  async #request(request: Request): Promise<{ json: unknown; attempted: Attempted }> {
    const { connection, base, deadlineMs, maxRetries, pace } = this.#account;
    const { method, isItem } = request;
    const deadline = this.#deadline ?? new Deadline(deadlineMs);
    const path = request.path.replace(base.origin, "");
    const attempted = { method, path, attempts: 0, elapsedMs: 0, ambiguous: false };
    if (deadline.leftMs <= 0) {
      const said = `no time is left${howMuch(connection)}`;
      throw new ConnectionError(said, { ...attempted, code: "ETIMEDOUT" });
    }
    let startedAt: number | undefined;
    let lastStatus: number | undefined;
    for (;;) {
      const release = await deadline.standFor(pace.turn());
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
        const asked = { ...attempted, lastStatus };
        throw errorOf(outcome, asked, { connection, isItem, redact, mostMs });
      }
      this.#tellOfRetry(attempted, outcome, pause, leftMs);
      await setTimeout(pause);
    }
  }

  /** Sends a request once. */
  async #try(request: Request, attempted: Attempted, deadline: Deadline): Promise<Outcome> {
    const { http, tell } = this.#account;
    const { method, path, attempts } = attempted;
    const startedAt = Date.now();
    const silence = setInterval(() => {
      const most = forAtMost(deadline.leftMs);
      tell(`${method} ${path} has no answer yet; still waiting${most}`);
    }, silentMs).unref();
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
      clearInterval(silence);
      this.#noteWrite(method);
    }
  }

  /** How long to go on after this outcome, in milliseconds, as far as the deadline allows. */
  #mostMs(outcome: Outcome): number {
    const isConnected = outcome.status !== undefined || outcome.wasSent;
    return isConnected || this.writes > 0 ? Number.POSITIVE_INFINITY : unwrittenMs;
  }

  #tellOfRetry(attempted: Attempted, outcome: Outcome, pause: number, leftMs: number): void {
    const { method, path, attempts } = attempted;
    debug("%s %s again in %d ms", method, path, pause);
    if (attempts + 1 < firstTryToTell && pause < silentMs) return;
    const said = outcome.code
      ? `got no answer (${outcome.code})`
      : `was answered ${outcome.status}`;
    const most = forAtMost(leftMs);
    this.#account.tell(`${method} ${path} ${said}; trying again${most}`);
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
  const connection = options.connection ?? defaultConnection;
  const tell = atIntervals(options.tell ?? (() => {}));
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
    connection,
    http,
    base,
    apiKey: options.apiKey,
    deadlineMs: (options.timeoutSeconds ?? 120) * 1000,
    maxRetries: options.maxRetries ?? 8,
    clockSkewMs: 0,
    writes: 0,
    tell,
    pace: new Pace(limit, (waiting) =>
      tell(
        `the limit of ${limit} requests a minute is reached, and requests wait for their turn ` +
          `(${waiting} so far): ${connection}:requestsPerMinute sets it`,
      ),
    ),
  };
}

/** Passes a message on unless one was passed on in the last 10 s. */
function atIntervals(tell: (message: string) => void): (message: string) => void {
  let told = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (Date.now() - told < tellEveryMs) return;
    told = Date.now();
    tell(message);
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

/** For messages: how much longer this may take; empty when no time is left. */
function forAtMost(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds > 0 ? `, for ${seconds} s at most` : "";
}
