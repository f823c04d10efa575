import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import axios, {
  type AxiosError,
  type AxiosInstance,
  type AxiosRequestConfig,
  type AxiosResponse,
} from "axios";
import axiosRetry, { retryAfter } from "axios-retry";
import createDebug from "debug";
import { RateLimiter } from "limiter";
import { type Attempted, ConnectionError, ServiceError } from "./errors";

export { ConnectionError, ServiceError } from "./errors";
export type {
  TLSCertificateUpdate,
  TLSCertificateUpload,
  TLSCertificateWire,
} from "./tlsCertificate";
export { tlsCertificates } from "./tlsCertificate";
export type {
  Ref,
  TLSEdgeModule,
  TLSEdgeMutation,
  TLSEdgeWire,
  TLSTerminationWire,
} from "./tlsEdge";
export { tlsEdges } from "./tlsEdge";
export type { TunnelWire } from "./tunnel";
export { tunnels } from "./tunnel";

const debug = createDebug("pulumi-tlsedge:request");

const attemptTimeoutMs = 30_000;
const firstBackoffMs = 500;
const longestBackoffMs = 20_000;
const longestReason = 1000;

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
  /** Seconds that one operation may take, retries included. Default 120. */
  timeoutSeconds?: number;
  /** How many times a request is tried again. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
}

const refused = new Set(["ECONNREFUSED", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"]);
const broken = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNABORTED"]);

/** Whether asking again can neither do the work twice nor be in vain. */
function canRetry(method: string, error: AxiosError): boolean {
  const post = method === "POST";
  const answer = answered(error);
  if (answer) {
    const { status, headers } = answer;
    if (status === 429) return true;
    if (status === 503 && headers["retry-after"]) return true;
    return !post && isGateway(answer);
  }
  const code = codeOf(error);
  return refused.has(code) || (!post && broken.has(code));
}

/** Said by what stands before the service: it may have passed the request on. */
function isGateway({ status, headers }: AxiosResponse): boolean {
  return status === 502 || status === 504 || (status === 503 && !headers["retry-after"]);
}

/** The answer, when there is one; a success that was cut off half-way is none. */
function answered(error: AxiosError) {
  return error.response && error.response.status >= 300 ? error.response : undefined;
}

function codeOf(error: AxiosError): string {
  if (error.response && !answered(error)) return "ECONNRESET";
  return error.code === "ERR_CANCELED" ? "ETIMEDOUT" : (error.code ?? "EUNKNOWN");
}

/**
 * One account of the service: bearer key, version header, JSON, keep-alive, a request limit and
 * retries within one deadline (api.md §5, §7, §9).
 *
 * A request fails with a {@link ServiceError} or a {@link ConnectionError}, neither of which ever
 * holds the key. `DEBUG=pulumi-tlsedge:*` logs each request without its body.
 *
 * @example
 * const client = new Client({ baseUrl: "https://api.example.com", apiKey: "…" });
 * for await (const edge of tlsEdges.list(client)) console.log(edge.id, edge.hostports);
 */
export class Client {
  readonly #http: AxiosInstance;
  readonly #base: URL;
  readonly #apiKey: string;
  readonly #deadlineMs: number;
  readonly #limiter: RateLimiter | undefined;
  #clockSkewMs = 0;

  constructor(options: ClientOptions) {
    this.#base = new URL(options.baseUrl);
    this.#apiKey = options.apiKey;
    if (this.#base.protocol !== "https:") {
      throw new TypeError("the base URL must start with https: the API key is sent to it");
    }
    this.#deadlineMs = (options.timeoutSeconds ?? 120) * 1000;
    const limit = options.requestsPerMinute ?? 120;
    this.#limiter = limit
      ? new RateLimiter({ tokensPerInterval: limit, interval: "minute" })
      : undefined;
    this.#http = axios.create({
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
      transitional: { clarifyTimeoutError: true },
    });
    axiosRetry(this.#http, { retries: options.maxRetries ?? 8, shouldResetTimeout: true });
  }

  /** How far the service's clock is ahead of ours, in milliseconds, by its last answer's `Date`. */
  get clockSkewMs(): number {
    return this.#clockSkewMs;
  }

  /** How long one operation may take, in milliseconds. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Reads what is at a path. */
  get<T>(path: string): Promise<T> {
    return this.#send("GET", path);
  }

  /** Makes something; sent again only when the service has certainly not taken it. */
  post<T>(path: string, body: object): Promise<T> {
    return this.#send("POST", path, body);
  }

  /** Changes what is at a path. */
  patch<T>(path: string, body: object): Promise<T> {
    return this.#send("PATCH", path, body);
  }

  /** Takes away what is at a path. */
  delete(path: string): Promise<void> {
    return this.#send("DELETE", path);
  }

  /** Every item of a list, newest first, one page held at a time (api.md §4.4). */
  async *list<T>(path: string, collection: string): AsyncGenerator<T, void, undefined> {
    let next: string | null | undefined = `${path}?limit=100`;
    const seen = new Set<string>();
    while (next) {
      seen.add(next);
      const page: Record<string, unknown> = await this.#send("GET", next);
      const items = page[collection];
      if (!Array.isArray(items)) {
        throw this.#unusable("GET", path, `the list has no "${collection}"`);
      }
      yield* items as T[];
      next = this.#sameOrigin(path, page.next_page_uri);
      if (next && seen.has(next)) throw this.#unusable("GET", path, "its pages go in a circle");
    }
  }

  #unusable(method: string, path: string, said: string): ConnectionError {
    return new ConnectionError(said, {
      method,
      path,
      attempts: 1,
      code: "EBADANSWER",
      ambiguous: false,
    });
  }

  #sameOrigin(path: string, next: unknown): string | undefined {
    if (next === null || next === undefined || next === "") return undefined;
    const { href, origin } = this.#base;
    const url = typeof next === "string" && URL.canParse(next, href) ? new URL(next, href) : null;
    if (url?.origin !== origin) {
      throw this.#unusable(
        "GET",
        path,
        `its next_page_uri leaves ${origin}, where the API key must not go`,
      );
    }
    return url.href;
  }

  async #send<T>(method: string, path: string, body?: object): Promise<T> {
    await this.#limiter?.removeTokens(1);
    const asked = { method, path: path.replace(this.#base.origin, "") };
    const deadline = Date.now() + this.#deadlineMs;
    let attempts = 1;
    let started = Date.now();
    const log = (outcome: string) =>
      debug(
        "%s %s %s %d ms, attempt %d",
        method,
        asked.path,
        outcome,
        Date.now() - started,
        attempts,
      );
    let delay = 0;
    const signal = AbortSignal.timeout(this.#deadlineMs);
    const request: AxiosRequestConfig = {
      method,
      url: path,
      data: body,
      ...(body && { headers: { "Content-Type": "application/json" } }),
      timeout: Math.min(attemptTimeoutMs, this.#deadlineMs),
      signal,
      "axios-retry": {
        retryCondition: (error) => {
          log(String(answered(error)?.status ?? codeOf(error)));
          const backoff = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempts - 1));
          delay = error.response?.headers["retry-after"]
            ? retryAfter(error)
            : Math.random() * backoff;
          return canRetry(method, error) && Date.now() + delay < deadline;
        },
        retryDelay: () => delay,
        onRetry: async (_count, error, config) => {
          debug("%s %s again in %d ms", method, asked.path, Math.round(delay));
          await Promise.race([this.#limiter?.removeTokens(1), aborted(signal)]);
          if (signal.aborted) throw error;
          attempts += 1;
          started = Date.now() + delay;
          config.timeout = Math.max(1, Math.min(attemptTimeoutMs, deadline - Date.now() - delay));
        },
      },
    };
    try {
      const response = await this.#http.request<string>(request);
      log(String(response.status));
      this.#noteClock(response.headers.date);
      return this.#parse<T>({ ...asked, attempts }, response.data, response.status);
    } catch (error) {
      if (!axios.isAxiosError(error)) throw error;
      this.#noteClock(error.response?.headers.date);
      throw failure({ ...asked, attempts }, error, (said) => this.#redact(said, body));
    }
  }

  #noteClock(date: unknown): void {
    const time = Date.parse(String(date));
    if (!Number.isNaN(time)) this.#clockSkewMs = time - Date.now();
  }

  /** Without the keys that a service may quote from the request. */
  #redact(said: string, body: { private_key_pem?: string } = {}): string {
    const lines = (body.private_key_pem ?? "").split(/\s+/).filter((line) => line.length >= 16);
    return [this.#apiKey, ...lines]
      .filter(({ length }) => length >= 8)
      .reduce((text, key) => text.replaceAll(key, "[secret]"), said);
  }

  #parse<T>(asked: Omit<Attempted, "ambiguous">, text: string, status: number): T {
    if (asked.method === "DELETE" || status === 204) return undefined as T;
    const value = parseJson(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) {
      throw new ConnectionError(`the answer (status ${status}) is not a JSON object`, {
        ...asked,
        code: "EBADANSWER",
        ambiguous: asked.method !== "GET",
      });
    }
    return value as T;
  }
}

/** Settles when the deadline is over. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

/** Turns axios' error, which carries the key in its config, into one that does not. */
function failure(
  asked: Omit<Attempted, "ambiguous">,
  error: AxiosError,
  redact: (said: string) => string,
): ServiceError | ConnectionError {
  const answer = answered(error);
  if (answer) {
    const body = parseJson(redact(String(answer.data))) as
      | Record<string, unknown>
      | null
      | undefined;
    const details = body?.details as { operation_id?: unknown } | undefined;
    return new ServiceError(text(body?.msg)?.slice(0, longestReason) ?? "", {
      ...asked,
      status: answer.status,
      ambiguous: asked.method !== "GET" && isGateway(answer),
      code: text(body?.error_code),
      operationId: text(details?.operation_id),
    });
  }
  const code = codeOf(error);
  return new ConnectionError(explain(code, error.message), {
    ...asked,
    code,
    ambiguous: asked.method !== "GET" && broken.has(code),
  });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function explain(code: string, message: string): string {
  if (code === "ETIMEDOUT") return "no answer in time (tlsedge:timeoutSeconds sets how long)";
  if (code === "ENOTFOUND" || refused.has(code)) {
    return `${message || code}. Check the base URL (TLSEDGE_BASE_URL or tlsedge:baseUrl) and the network`;
  }
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) {
    return `${message}. If a private authority signs for the service, name its PEM file: TLSEDGE_CA_FILE or tlsedge:caFile`;
  }
  return message || code;
}
