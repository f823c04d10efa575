import { setTimeout as delay } from "node:timers/promises";
import type { Context, MiddlewareHandler } from "hono";
import { errorBody, Refusal, reasons } from "./errors";

/** The emulator's own paths: the service has none of them, so its version and limits don't hold. */
const controlPrefix = "/_emulator/";

/** How the HTTP server is told that there is nothing to answer. */
const alreadySent = "x-hono-already-sent";

const maxBodyBytes = 1024 * 1024;
const windowMs = 60_000;

/** A request as the emulator saw it. */
export interface RecordedRequest {
  method: string;
  /** The path with its query. */
  path: string;
  /** The parsed body, a private key in it left out; undefined when there was none or not JSON. */
  body: unknown;
  /** The status of the answer; 0 until it is given. */
  status: number;
  /** The headers by lower-case name, without `authorization`. */
  headers: Record<string, string>;
}

/** Rewrites the body of a response that is JSON. */
export type Respond = (
  body: unknown,
  request: { method: string; path: string; status: number },
) => unknown;

/** Records every request as it arrives, and its status once it is answered. */
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
    request.body = recordable(await c.req.text());
    await next();
    // A fault may have left the request without an answer.
    if (!c.res.headers.has(alreadySent)) request.status = c.res.status;
  };
}

/** Delays every answer. */
export function late(latencyMs: number): MiddlewareHandler {
  return async (_, next) => {
    // Unreferenced: a closed emulator doesn't keep its process waiting.
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

/** Lets a request through that has the key, isn't one too many or too large, and has a version. */
export function gate(apiKey: string, limit: RollingLimit): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${apiKey}`) {
      c.header("WWW-Authenticate", "Bearer");
      throw new Refusal(reasons.keyRefused, "Send a valid key: Authorization: Bearer <API key>.");
    }
    if (!c.req.path.startsWith(controlPrefix)) {
      refuseExcess(c, limit);
      refuseVersion(c.req.header("service-version") ?? "");
    }
    if (Buffer.byteLength(await c.req.text()) > maxBodyBytes) {
      throw new Refusal(reasons.bodyTooLarge, `A body may have at most ${maxBodyBytes} bytes.`);
    }
    await next();
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

/** At most so many requests in any 60 seconds; refused ones don't count. */
export class RollingLimit {
  #admitted: number[] = [];

  constructor(readonly requestsPerMinute = Number.POSITIVE_INFINITY) {}

  /** Counts a request and returns 0, or returns the milliseconds until one would be admitted. */
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

/** The answer to a request that failed: a refusal, or a fault of the emulator's own. */
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
    // The route has refused it already: what isn't JSON is recorded as no body.
    return undefined;
  }
}
