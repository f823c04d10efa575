import type { ReadableStream } from "node:stream/web";
import type { Context, MiddlewareHandler } from "hono";
import { Refusal, reasons } from "./errors";
import type { Env } from "./requests";
import type { Clocks } from "./store";

/** The prefix of the emulator's own paths. They need no version. */
const controlPrefix = "/_emulator/";

/** The header that makes the HTTP server send no answer. */
const alreadySent = "x-hono-already-sent";

const maxBodyBytes = 1024 * 1024;

/** How many requests are recorded: the newest. */
export const maxRecorded = 100_000;

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

/** Records every request when it arrives, and its status when it is answered. */
export function record(requests: RecordedRequest[]): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { authorization: _, ...headers } = c.req.header();
    const { method } = c.req;
    const request = { method, path: target(c), body: undefined, status: 0, headers };
    requests.push(request);
    if (requests.length > maxRecorded) requests.shift();
    c.set("record", request);
    await next();
    // A fault may have left the request without an answer.
    if (!c.res.headers.has(alreadySent)) request.status = c.res.status;
  };
}

/** Reads and records the body of a request with a valid key. Refuses a long one before it has come. */
export const readBodies: MiddlewareHandler<Env> = async (c, next) => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body = c.req.raw.body as ReadableStream<Uint8Array> | null;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) {
      throw new Refusal(reasons.bodyTooLarge, `A body may have at most ${maxBodyBytes} bytes.`);
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  c.set("text", text);
  c.var.record.body = recordable(text);
  await next();
};

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

/** Sends the time of the service's clock in every answer that does not have another. */
export function sendDate(clocks: Clocks): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    if (headers.has(alreadySent) || headers.has("Date")) return;
    headers.set("Date", new Date(Date.now() + clocks.date).toUTCString());
  };
}

/** Passes the body of every response that has one through `respond`. */
export function rewrite(respond: Respond): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { status, headers } = c.res;
    const body = parsed(await c.res.clone().text());
    // No content, or a fault's answer.
    if (body === undefined) return;
    const request = { method: c.req.method, path: target(c), status };
    c.res = new Response(JSON.stringify(respond(body, request)), { status, headers });
  };
}

/** The value of JSON; undefined for any other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Refuses a request without a known key or a version, by its headers alone. `accounts` are by key. */
export function gate(accounts: Map<string, Env["Variables"]["objects"]>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const [, key = ""] = /^Bearer (.+)$/.exec(c.req.header("authorization") ?? "") ?? [];
    const objects = accounts.get(key);
    if (!objects) {
      c.header("WWW-Authenticate", "Bearer");
      throw new Refusal(reasons.keyRefused, "Send a valid key: Authorization: Bearer <API key>.");
    }
    const version = c.req.header("service-version") ?? "";
    if (!c.req.path.startsWith(controlPrefix) && !/^[012]$/.test(version)) {
      throw new Refusal(reasons.versionRefused, "Send the header Service-Version: 0, 1 or 2.");
    }
    c.set("objects", objects);
    await next();
  };
}

function target(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  return `${pathname}${search}`;
}
