import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { type Reason, Refusal, reasons } from "./errors";
import type { Collection } from "./store";

const maxLimit = 100;

/** A JSON object with these fields and no others. */
export function strictObject<const E extends v.ObjectEntries>(entries: E) {
  // Valibot accepts an array as an object.
  const isObject = (value: unknown) => value instanceof Object && !Array.isArray(value);
  return v.pipe(v.custom<object>(isObject), v.strictObject(entries));
}

/** The two fields of every mutable resource, with limits in bytes of UTF-8 (api.md §8). */
export const labels = {
  description: v.optional(v.pipe(v.string(), v.maxBytes(255))),
  metadata: v.optional(v.pipe(v.string(), v.maxBytes(4096))),
};

/**
 * Reads the body of a request. Refuses a body that is not JSON or does not match the schema. No
 * message contains a value of the body, which may be a key.
 *
 * @param advice A sentence for the message: what to write.
 */
export function readBody<S extends v.GenericSchema>(
  c: Context<Env>,
  schema: S,
  advice = "",
): v.InferOutput<S> {
  if (!/^application\/json\s*(;|$)/i.test(c.req.header("content-type") ?? "")) {
    throw new Refusal(reasons.contentType, "Send the body with Content-Type: application/json.");
  }
  const result = v.safeParse(schema, parseJSON(c.var.text));
  if (result.success) return result.output;
  throw refusalOf(result.issues[0], advice);
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // JSON.parse's own message quotes the text, which may hold a key.
    throw new Refusal(reasons.bodyNotJSON, "The body is not valid JSON.", { cause });
  }
}

function refusalOf(issue: v.BaseIssue<unknown>, advice: string): Refusal {
  const field = v.getDotPath(issue) ?? "the body";
  const refuse = (reason: Reason, message: string) =>
    new Refusal(reason, `${message} ${advice}`.trim());
  if (issue.type === "strict_object") {
    return issue.expected === "never"
      ? refuse(reasons.unknownField, `There is no field ${field} here.`)
      : refuse(reasons.fieldInvalid, `${field} is missing.`);
  }
  if (issue.type === "max_bytes") {
    const limit = issue.expected?.replace("<=", "");
    return refuse(reasons.fieldTooLong, `${field} may have at most ${limit} bytes of UTF-8.`);
  }
  if (issue.type === "union") return refuse(reasons.fieldInvalid, `${field} has no known form.`);
  const expected = issue.type === "custom" ? "object" : issue.expected;
  if (issue.kind === "validation")
    return refuse(reasons.fieldInvalid, `${field} must be ${expected ?? "whole"}.`);
  return refuse(reasons.fieldInvalid, `${field} is not of type ${expected}.`);
}

/** Refuses a query parameter that is unknown or given twice: only a read of a list has some. */
export function refuseParameters(...ofList: string[]): MiddlewareHandler {
  return (c, next) => {
    const known = c.req.method === "GET" ? ofList : [];
    for (const [name, values] of Object.entries(c.req.queries())) {
      if (known.includes(name) && values.length === 1) continue;
      const message = `The query parameter ${name} is unknown here, or given twice.`;
      throw new Refusal(reasons.unknownParameter, message);
    }
    return next();
  };
}

/** What the routes know of a request. */
export interface Env {
  Bindings: HttpBindings;
  Variables: {
    /** The request as it is recorded. */
    record: { body: unknown };
    /** Its body. */
    text: string;
    /** The objects of the account that asks, by the name of their list. */
    objects: Record<string, unknown>;
  };
}

/** How the objects of a kind are served. */
export interface Resource<T extends { id: string }> {
  /** The list's name in an answer, and its path. */
  name: string;
  path: string;
  /** The values of an object that requests give to one object alone. Default: none. */
  exclusive?(object: T): string[];
  /** What an answer shows of an object in a list, or alone. Default: all of it. */
  inList?(object: T): object;
  alone?(object: T): object;
  /** How a request creates or updates an object. Without it nothing can be written. */
  write?: {
    create(c: Context, objects: Collection<T>): T;
    update(c: Context, objects: Collection<T>, id: string): T;
  };
}

/** Serves the operations of a kind (api.md §4), and refuses other methods on its paths. */
export function serve<T extends { id: string }>(routes: Hono<Env>, resource: Resource<T>): void {
  const { name, path, inList = same, alone = same, write } = resource;
  const one = `${path}/:id` as const;
  const objectsOf = (c: Context<Env>) => c.var.objects[name] as Collection<T>;
  routes.use(path, refuseParameters("limit", "before_id"));
  routes.use(one, refuseParameters());
  routes.get(path, (c) => {
    const limit = readLimit(c.req.query("limit"));
    const before = c.req.query("before_id");
    const objects = objectsOf(c);
    const found = before === undefined ? objects.list() : objects.before(before);
    const page = found.slice(0, limit);
    const uri = `${objects.service.url}${path}`;
    const next = new URLSearchParams({ before_id: page.at(-1)?.id ?? "", limit: String(limit) });
    const next_page_uri = page.length < found.length ? `${uri}?${next}` : null;
    return c.json({ [name]: page.map(inList), uri, next_page_uri });
  });
  routes.get(one, (c) => c.json(alone(objectsOf(c).find(c.req.param("id")))));
  if (write) {
    routes.post(path, (c) => c.json(alone(write.create(c, objectsOf(c))), 201));
    routes.patch(one, (c) => c.json(alone(write.update(c, objectsOf(c), c.req.param("id")))));
    routes.delete(one, (c) => {
      objectsOf(c).delete(c.req.param("id"));
      return c.body(null, 204);
    });
  }
  refuseOtherMethods(routes, path, write ? "GET, POST" : "GET");
  refuseOtherMethods(routes, one, write ? "GET, PATCH, DELETE" : "GET");
}

/** Refuses the methods that have no route on an existing path. Call it after adding the routes. */
export function refuseOtherMethods(routes: Hono<Env>, path: string, methods: string): void {
  routes.all(path, (c) => {
    c.header("Allow", methods);
    throw new Refusal(reasons.wrongMethod, `${c.req.path} takes ${methods}, not ${c.req.method}.`);
  });
}

/** An object without its unset description and metadata. */
export function withoutUnset<T extends { description?: unknown; metadata?: unknown }>(object: T) {
  const { description, metadata, ...rest } = object;
  return { ...rest, ...(description ? { description } : {}), ...(metadata ? { metadata } : {}) };
}

function readLimit(given = String(maxLimit)): number {
  const limit = /^[1-9]\d{0,2}$/.test(given) ? Number(given) : 0;
  if (limit >= 1 && limit <= maxLimit) return limit;
  throw new Refusal(reasons.limitInvalid, `limit must be a whole number from 1 to ${maxLimit}.`);
}

const same = <T>(object: T): T => object;
