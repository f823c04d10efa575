import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import axios, {
  AxiosError,
  type AxiosInstance,
  type AxiosRequestConfig,
  type AxiosResponse,
} from "axios";
import axiosRetry, { retryAfter } from "axios-retry";
import createDebug from "debug";
import { array, type InferOutput, nullish, object, string } from "valibot";
import { advise, explain, howMuch, refused } from "./advice";
import { type AnswerSchema, readAnswer } from "./answer";
import { type Attempted, ConnectionError, ServiceError } from "./errors";
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
const firstBackoffMs = 500;
const longestBackoffMs = 20_000;
const longestReason = 1000;
/** From this try on a person is told why it takes so long. */
const firstTryToTell = 3;
const tellEveryMs = 10_000;
/** So long a try may take before a person is told that it does. */
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
  /** Seconds that one operation may take, retries included, waits for the limit not. Default 120. */
  timeoutSeconds?: number;
  /** How many times a request is tried again. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
  /** The config namespace of these settings, for what errors say to do. Default `"tlsedge"`. */
  connection?: string;
  /** Hears, now and then, why requests take long: a sentence for a person. Default: nobody does. */
  tell?: (message: string) => void;
}

const broken = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNABORTED"]);

/** Whether asking again can neither do the work twice nor be in vain. */
function canRetry(method: string, error: AxiosError): boolean {
  const post = method === "POST";
  const answer = answered(error);
  if (answer) {
    const { status, headers } = answer;
    if (status === 429) return true;
    if (post) return false;
    return (status === 503 && Boolean(headers["retry-after"])) || isGateway(answer);
  }
  const code = codeOf(error);
  return refused.has(code) || (!post && broken.has(code));
}

/** Said by what stands before the service: it may have passed the request on. */
function isGateway({ status, headers }: AxiosResponse): boolean {
  return status === 502 || status === 504 || (status === 503 && !headers["retry-after"]);
}

/** Whether the service may have done what this answer says it has not. */
function isLost(method: string, answer: AxiosResponse): boolean {
  if (method === "POST") return answer.status === 408 || answer.status >= 500;
  return method !== "GET" && isGateway(answer);
}

/** The answer, when there is one; a success that was cut off half-way is none. */
function answered(error: AxiosError) {
  return error.response && error.response.status >= 300 ? error.response : undefined;
}

function codeOf(error: AxiosError): string {
  if (error.response && !answered(error)) return "ECONNRESET";
  return error.code === "ERR_CANCELED" ? "ETIMEDOUT" : (error.code ?? "EUNKNOWN");
}

/** What the operations of one account share. */
interface Account {
  connection: string;
  http: AxiosInstance;
  base: URL;
  apiKey: string;
  deadlineMs: number;
  pace: Pace;
  clockSkewMs: number;
  writes: number;
  tell: (message: string) => void;
}

/**
 * One account of the service: bearer key, version header, JSON, keep-alive, a request limit and
 * retries within a deadline (api.md §5, §7, §9). Each request has a deadline of its own, unless
 * they are of one {@link Client.operation}.
 *
 * A request fails with a {@link ServiceError} or a {@link ConnectionError}, neither of which ever
 * holds the key. `DEBUG=pulumi-tlsedge:*` logs each request without its body.
 *
 * @example
 * const client = new Client({ baseUrl: "https://api.example.com", apiKey: "…" });
 * for await (const edge of tlsEdges.list(client)) console.log(edge.id, edge.hostports);
 */
export class Client {
  readonly #account: Account;
  /** Of one operation: the client that it is an operation of, and the time that it has. */
  readonly #of: Client | undefined;
  readonly #deadline: Deadline | undefined;

  constructor(options: ClientOptions | Client) {
    this.#of = options instanceof Client ? options.account : undefined;
    this.#account = options instanceof Client ? options.#account : accountOf(options);
    this.#deadline = this.#of && new Deadline(this.#account.deadlineMs);
  }

  /** The account for all operations; each request of this client has a deadline of its own. */
  get account(): Client {
    return this.#of ?? this;
  }

  /** How many requests that write were sent or answered: another number, another account. */
  get writes(): number {
    return this.#account.writes;
  }

  /** How far the service's clock is ahead of ours, in milliseconds, by its last answer's `Date`. */
  get clockSkewMs(): number {
    return this.#account.clockSkewMs;
  }

  /** SHA-256 of base URL and key, lower-case hex: tells accounts apart, and neither of the two. */
  get fingerprint(): string {
    const { base, apiKey } = this.#account;
    return createHash("sha256").update(`${base.href} ${apiKey}`).digest("hex");
  }

  /** How long one operation may take, in milliseconds. */
  get deadlineMs(): number {
    return this.#account.deadlineMs;
  }

  /** How much of that is left, in milliseconds. */
  get leftMs(): number {
    return this.#deadline?.leftMs ?? this.#account.deadlineMs;
  }

  /**
   * The same account for one operation: all its requests share a deadline, which is counted from
   * the start of the first one and stands while a request waits for its turn.
   */
  operation(): Client {
    return new Client(this);
  }

  /** Reads what is at a path. */
  get<S extends AnswerSchema>(path: string, answer: S): Promise<InferOutput<S>> {
    return this.#send("GET", path, answer);
  }

  /**
   * Makes something; sent again only when the service has certainly not taken it. `onSend` is
   * called before the first attempt, after the wait for the rate limit.
   */
  post<S extends AnswerSchema>(
    path: string,
    body: object,
    answer: S,
    onSend?: () => void,
  ): Promise<InferOutput<S>> {
    return this.#send("POST", path, answer, body, onSend);
  }

  /** Changes what is at a path. */
  patch<S extends AnswerSchema>(path: string, body: object, answer: S): Promise<InferOutput<S>> {
    return this.#send("PATCH", path, answer, body);
  }

  /** Takes away what is at a path; a success says no more, in JSON at the most. */
  async delete(path: string): Promise<void> {
    const { data, asked } = await this.#request("DELETE", path);
    if (data === undefined)
      throw ConnectionError.unusable(asked, "it is not JSON", { ambiguous: true });
  }

  /** The pages of a list, newest first, each read when it is asked for (api.md §4.4). */
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
      const answer: Record<string, unknown> = await this.#send("GET", next, page);
      yield answer[collection] as InferOutput<S>[];
      next = this.#sameOrigin(path, answer.next_page_uri as string | null | undefined);
      if (next && seen.has(next)) {
        throw ConnectionError.unusable({ method: "GET", path }, "its pages go in a circle");
      }
    }
  }

  /** Every item of a list, newest first, one page held at a time (api.md §4.4). */
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

  async #send<S extends AnswerSchema>(
    method: string,
    path: string,
    schema: S,
    body?: object,
    onSend?: () => void,
  ): Promise<InferOutput<S>> {
    const { data, asked } = await this.#request(method, path, body, onSend);
    const read = readAnswer(schema, data);
    if ("answer" in read) return read.answer;
    const { field, reason, usable } = read.unusable;
    const said = field
      ? `its field ${field} ${reason}`
      : "it is not a JSON object. If something other than the service answered, such as a proxy, " +
        "mend the base URL or the way there";
    throw ConnectionError.unusable(asked, said, {
      field: field || undefined,
      usable,
      ambiguous: method !== "GET",
    });
  }

  async #request(method: string, path: string, body?: object, onSend = () => {}) {
    const { connection, http, base, deadlineMs, pace, tell } = this.#account;
    const deadline = this.#deadline ?? new Deadline(deadlineMs);
    const asked = { method, path: path.replace(base.origin, "") };
    if (deadline.leftMs <= 0) {
      const fields = { ...asked, attempts: 0, elapsedMs: 0, code: "ETIMEDOUT", ambiguous: false };
      throw new ConnectionError(`no time is left${howMuch(connection)}`, fields);
    }
    let release = await deadline.standFor(pace.turn());
    const first = Date.now();
    let started = first;
    let attempts = 1;
    let lastStatus: number | undefined;
    let delay = 0;
    const attempted = () => ({ ...asked, attempts, elapsedMs: Date.now() - first });
    const log = (outcome: string) => {
      const took = Date.now() - started;
      debug("%s %s %s %d ms, attempt %d", method, asked.path, outcome, took, attempts);
    };
    const request: AxiosRequestConfig = {
      method,
      url: path,
      data: body,
      ...(body && { headers: { "Content-Type": "application/json" } }),
      signal: AbortSignal.timeout(Math.min(attemptTimeoutMs, deadline.leftMs)),
      "axios-retry": {
        retryCondition: (error) => {
          const outcome = answered(error)?.status ?? codeOf(error);
          log(String(outcome));
          if (typeof outcome === "number") lastStatus = outcome;
          const backoff = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempts - 1));
          delay = error.response?.headers["retry-after"]
            ? retryAfter(error)
            : Math.ceil(Math.random() * backoff);
          return canRetry(method, error) && delay < deadline.leftMs;
        },
        retryDelay: () => delay,
        onRetry: async (_count, error, config) => {
          debug("%s %s again in %d ms", method, asked.path, delay);
          attempts += 1;
          if (attempts >= firstTryToTell) {
            const left = Math.round(deadline.leftMs / 1000);
            tell(`${why(asked, error)}; it is tried again, for ${left} s at most`);
          }
          release();
          release = await deadline.standFor(pace.turn());
          started = Date.now() + delay;
          // Of its own, so that a try which hangs is no more than a try.
          const mostMs = Math.max(1, Math.min(attemptTimeoutMs, deadline.leftMs - delay));
          config.signal = AbortSignal.timeout(delay + mostMs);
        },
      },
    };
    const silence = setInterval(() => {
      const left = Math.round(deadline.leftMs / 1000);
      tell(`${method} ${asked.path} has no answer yet; it is waited for, for ${left} s at most`);
    }, silentMs).unref();
    const noteWrite = () => {
      if (method !== "GET") this.#account.writes += 1;
    };
    noteWrite();
    onSend();
    try {
      const response = await http.request<unknown>(request);
      log(String(response.status));
      this.#noteClock(response.headers.date);
      return { data: response.data, asked: attempted() };
    } catch (error) {
      if (!axios.isAxiosError(error)) throw error;
      this.#noteClock(error.response?.headers.date);
      throw failure({ ...attempted(), lastStatus }, error, connection, (said) =>
        this.#redact(said, body),
      );
    } finally {
      clearInterval(silence);
      release();
      noteWrite();
    }
  }

  #noteClock(date: unknown): void {
    const time = Date.parse(String(date));
    if (!Number.isNaN(time)) this.#account.clockSkewMs = time - Date.now();
  }

  /** Without the keys that a service may quote from the request. */
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
  const tell = nowAndThen(options.tell ?? (() => {}));
  const limit = options.requestsPerMinute ?? 120;
  const http = axios.create({
    baseURL: options.baseUrl.replace(/\/+$/, ""),
    headers: {
      Accept: "application/json",
      Authorization: `Bearer ${options.apiKey}`,
      [options.versionHeader ?? "Service-Version"]: options.apiVersion ?? "2",
    },
    httpsAgent: new Agent({
      keepAlive: true,
      maxSockets: 16,
      // Said aloud because NODE_TLS_REJECT_UNAUTHORIZED=0 turns off what is left to the default.
      rejectUnauthorized: true,
      ...(options.caFile && { ca: readFileSync(options.caFile) }),
    }),
    maxRedirects: 0,
    responseType: "text",
    transformResponse: (body: unknown) => body,
  });
  http.interceptors.response.use(readJson);
  axiosRetry(http, { retries: options.maxRetries ?? 8 });
  return {
    connection,
    http,
    base,
    apiKey: options.apiKey,
    deadlineMs: (options.timeoutSeconds ?? 120) * 1000,
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

/** A person is told why it takes long, not each time. */
function nowAndThen(tell: (message: string) => void): (message: string) => void {
  let told = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (Date.now() - told < tellEveryMs) return;
    told = Date.now();
    tell(message);
  };
}

/**
 * The JSON of a success, null for nothing and undefined for what is none; half of it is as good as
 * no answer, and so is tried again.
 */
function readJson(response: AxiosResponse): AxiosResponse {
  const text = String(response.data).trim();
  const value = text === "" ? null : parseJson(text);
  if (value === undefined && text.startsWith("{")) {
    const { config, request } = response;
    throw new AxiosError("the answer was cut off", "ECONNRESET", config, request, response);
  }
  return Object.assign(response, { data: value });
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

/** What has happened to a request, for a person who waits. */
function why(asked: { method: string; path: string }, error: AxiosError): string {
  const answer = answered(error);
  if (answer) return `${asked.method} ${asked.path} was answered ${answer.status}`;
  return `${asked.method} ${asked.path} got no answer (${codeOf(error)})`;
}

/** Turns axios' error, which carries the key in its config, into one that does not. */
function failure(
  asked: Omit<Attempted, "ambiguous"> & { lastStatus?: number },
  error: AxiosError,
  connection: string,
  redact: (said: string) => string,
): ServiceError | ConnectionError {
  const answer = answered(error);
  const { lastStatus, ...attempted } = asked;
  if (answer) {
    const body = parseJson(answer.data) as Record<string, unknown> | null | undefined;
    const details = body?.details as { operation_id?: unknown } | null | undefined;
    // Of the parsed texts: in the JSON, signs of a key may be escaped.
    const said = (value: unknown) =>
      typeof value === "string" ? redact(value.slice(0, longestReason)) : undefined;
    const fields = {
      ...attempted,
      status: answer.status,
      ambiguous: isLost(asked.method, answer),
      code: said(body?.error_code),
      operationId: said(details?.operation_id),
    };
    return new ServiceError(said(body?.msg) ?? "", fields, advise(answer.status, connection));
  }
  const code = codeOf(error);
  return new ConnectionError(explain(code, error.message, connection), {
    ...asked,
    code,
    ambiguous: asked.method !== "GET" && broken.has(code),
  });
}
