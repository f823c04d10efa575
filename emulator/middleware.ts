import { setTimeout as delay } from "node:timers/promises";
import type { Context, MiddlewareHandler } from "hono";
import { errorBody, Refusal, reasons } from "./errors";
import type { Clocks } from "./store";

/** The prefix of the emulator's own paths. The service's version and limit don't apply to them. */
const controlPrefix = "/_emulator/";

/** The header that makes the HTTP server send no answer. */
const alreadySent = "x-hono-already-sent";

const maxBodyBytes = 1024 * 1024;
const windowMs = 60_000;

/** A request to the emulator. */
export interface RecordedRequest {
  method: string;
  /** The path with its query. */
  path: string;
  /**
   * The parsed body without a private key; undefined when there was none, it was not JSON, or the
   * request was refused before its body was read.
   */
  body: unknown;
  /** The status of the answer; 0 before the answer. */
  status: number;
  /** The headers by lower-case name, without `authorization`. */
  headers: Record<string, string>;
}

/** Rewrites the body of a response that is JSON. */
export type Respond = (
  body: unknown,
  request: { method: string; path: string; status: number },
) => unknown;

/** The key of a request's record in its context. */
const recordKey = "recorded request";

/** Records every request when it arrives, and its status when it is answered. */
export function record(requests: RecordedRequest[]): MiddlewareHandler {
  return async (c, next) => {
    const { authorization: _, ...headers } = c.req.header();
    const { method } = c.req;
    const request: RecordedRequest = {
      method,
      path: target(c),
      body: undefined,
      status: 0,
      headers,
    };
    requests.push(request);
    c.set(recordKey, request);
    await next();
    // A fault may have left the request without an answer.
    if (!c.res.headers.has(alreadySent)) request.status = c.res.status;
  };
}

/** Reads and records the body of a request with a valid key. Refuses a long one. */
export function readBodies(): MiddlewareHandler {
  return async (c, next) => {
    const text = await c.req.text();
    (c.get(recordKey) as RecordedRequest).body = recordable(text);
    if (Buffer.byteLength(text) > maxBodyBytes) {
      throw new Refusal(reasons.bodyTooLarge, `A body may have at most ${maxBodyBytes} bytes.`);
    }
    await next();
  };
}

/** Sends the time of the service's clock in every answer that does not have another. */
export function sendDate(clocks: Clocks): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    if (headers.has(alreadySent) || headers.has("Date")) return;
    headers.set("Date", new Date(Date.now() + clocks.date).toUTCString());
  };
}

/** Delays every answer. */
export function delayAnswers(latencyMs: number): MiddlewareHandler {
  return async (_, next) => {
    // Unreferenced, so that a closed emulator does not keep its process alive.
    await delay(latencyMs, undefined, { ref: false });
    await next();
  };
}

/** Passes the body of every response that has one through `respond`. */
export function rewrite(respond: Respond): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { status, headers } = c.res;
    if (status === 204 || c.req.method === "HEAD") return;
    const request = { method: c.req.method, path: target(c), status };
    const body = JSON.stringify(respond(await c.res.json(), request));
    c.res = new Response(body, { status, headers });
  };
}

/** An account: how its requests are limited, and how one of them is served for it. */
export interface Admission {
  limit: RollingLimit;
  serve(next: () => Promise<void>): Promise<void>;
}

/**
 * Refuses a request without a known key or a version, or above the rate limit, by its headers alone.
 *
 * @param accounts The accounts, by their keys.
 */
export function gate(accounts: Map<string, Admission>): MiddlewareHandler {
  return async (c, next) => {
    const account = accounts.get((c.req.header("authorization") ?? "").replace(/^Bearer /, ""));
    if (!account) {
      c.header("WWW-Authenticate", "Bearer");
      throw new Refusal(reasons.keyRefused, "Send a valid key: Authorization: Bearer <API key>.");
    }
    if (!c.req.path.startsWith(controlPrefix)) {
      refuseExcess(c, account.limit);
      refuseVersion(c.req.header("service-version") ?? "");
    }
    await account.serve(next);
  };
}

function refuseExcess(c: Context, limit: RollingLimit): void {
  const waitMs = limit.admit();
  if (waitMs === 0) return;
  c.header("Retry-After", String(Math.ceil(waitMs / 1000)));
  throw new Refusal(reasons.tooManyRequests, "Too many requests in 60 seconds.");
}

function refuseVersion(version: string): void {
  if (/^[012]$/.test(version)) return;
  throw new Refusal(reasons.versionRefused, "Send the header Service-Version: 0, 1 or 2.");
}

/** Limits the requests in any 60 seconds. Refused requests don't count. */
export class RollingLimit {
  #admitted: number[] = [];

  constructor(readonly requestsPerMinute = Number.POSITIVE_INFINITY) {}

  /** Counts a request and returns 0, or returns the milliseconds to wait. */
  admit(): number {
    if (this.requestsPerMinute === Number.POSITIVE_INFINITY) return 0;
    const now = Date.now();
    this.#admitted = this.#admitted.filter((time) => now - time < windowMs);
    const oldest = this.#admitted[0];
    if (oldest !== undefined && this.#admitted.length >= this.requestsPerMinute) {
      return oldest + windowMs - now;
    }
    this.#admitted.push(now);
    return 0;
  }

  reset(): void {
    this.#admitted = [];
  }
}

/** The answer to a failed request: a refusal, or an error of the emulator itself. */
export function answerError(error: Error, c: Context): Response {
  const reason = error instanceof Refusal ? error.reason : reasons.internal;
  return c.json(errorBody(reason, error.message), reason.status);
}

function target(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  return `${pathname}${search}`;
}

function recordable(text: string): unknown {
  try {
    return JSON.parse(text, (key, value: unknown) =>
      key === "private_key_pem" ? "(not recorded)" : value,
    );
  } catch {
    // Not JSON: recorded as no body.
    return undefined;
  }
}
