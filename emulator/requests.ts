import type { Context, Hono } from "hono";
import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import type { Collection } from "./store";

const maxLimit = 100;

/** A resource of the service, as its file hands it to the server. */
export interface Served<D> {
  documents: { name: string; uri: string };
  routes: Hono;
  /** The handle that `Emulator` shows under the resource's name. */
  direct: D;
  /** Adds what a new store starts from. */
  seed?(): void;
}

/** A JSON object with these fields and no others. */
export function strictObject<const E extends v.ObjectEntries>(entries: E) {
  // Valibot takes an array for an object.
  const isObject = (value: unknown) => value instanceof Object && !Array.isArray(value);
  return v.pipe(v.custom<object>(isObject), v.strictObject(entries));
}

/** The two fields that every mutable resource has: limits in bytes of UTF-8 (api.md §8). */
export const labels = {
  description: v.optional(v.pipe(v.string(), v.maxBytes(255))),
  metadata: v.optional(v.pipe(v.string(), v.maxBytes(4096))),
};

/**
 * The body of a request, checked against a schema: refused when it isn't sent as JSON, isn't JSON
 * or doesn't fit. No message holds a value of the body: it may be a key.
 */
export async function readBody<S extends v.GenericSchema>(
  c: Context,
  schema: S,
): Promise<v.InferOutput<S>> {
  if (!/^application\/json\s*(;|$)/i.test(c.req.header("content-type") ?? "")) {
    throw new Refusal(reasons.contentType, "Send the body with Content-Type: application/json.");
  }
  const result = v.safeParse(schema, parseJSON(await c.req.text()));
  if (result.success) return result.output;
  throw misfit(result.issues[0]);
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // JSON.parse's own message quotes the text, which may hold a key.
    throw new Refusal(reasons.bodyNotJSON, "The body is not valid JSON.", { cause });
  }
}

function misfit(issue: v.BaseIssue<unknown>): Refusal {
  const field = v.getDotPath(issue) ?? "the body";
  if (issue.type === "strict_object" && issue.expected === "never") {
    return new Refusal(reasons.unknownField, `There is no field ${field} here.`);
  }
  if (issue.type === "max_bytes") {
    const limit = issue.expected?.replace("<=", "");
    return new Refusal(reasons.fieldTooLong, `${field} may have at most ${limit} bytes of UTF-8.`);
  }
  const expected = issue.type === "custom" ? "object" : issue.expected;
  return new Refusal(reasons.fieldInvalid, `${field} is not of type ${expected}.`);
}

/** Refuses every query parameter that is not named, and a named one that is given twice. */
export function refuseParameters(c: Context, known: string[] = []): void {
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (!known.includes(name) || values.length > 1) {
      throw new Refusal(reasons.unknownParameter, `The query parameter ${name} is not known here.`);
    }
  }
}

/** An object of a collection, or the refusal that it isn't there. */
export function found<T extends { id: string }>(documents: Collection<T>, id: string): T {
  const document = documents.get(id);
  if (document) return document;
  throw new Refusal(reasons.notFound, `There is no ${id} in ${documents.name}.`);
}

/** Serves the list of a collection (api.md §4.4) and each of its objects. */
export function serveReads<T extends { id: string }>(
  routes: Hono,
  documents: Collection<T>,
  views: { list?: (document: T) => object; single?: (document: T) => object } = {},
): void {
  const { list = same, single = same } = views;
  routes.get(documents.path, (c) => {
    refuseParameters(c, ["limit", "before_id"]);
    const limit = readLimit(c.req.query("limit"));
    const page = documents.page(limit, c.req.query("before_id"));
    if (!page) {
      throw new Refusal(reasons.beforeIdUnknown, "before_id was never an id in this list.");
    }
    const next = new URLSearchParams({
      before_id: page.items.at(-1)?.id ?? "",
      limit: String(limit),
    });
    return c.json({
      [documents.name]: page.items.map(list),
      uri: documents.uri,
      next_page_uri: page.more ? `${documents.uri}?${next}` : null,
    });
  });
  routes.get(`${documents.path}/:id`, (c) => {
    refuseParameters(c);
    return c.json(single(found(documents, c.req.param("id"))));
  });
}

/** Serves the deletion of a collection's objects. */
export function serveDelete<T extends { id: string }>(
  routes: Hono,
  documents: Collection<T>,
  path = documents.path,
): void {
  routes.delete(`${path}/:id`, (c) => {
    refuseParameters(c);
    documents.remove(found(documents, c.req.param("id")).id);
    return c.body(null, 204);
  });
}

/** Refuses, on a path that exists, the methods that have no route. Comes after the routes. */
export function refuseOtherMethods(routes: Hono, path: string, methods: string): void {
  routes.all(path, (c) => {
    c.header("Allow", methods);
    throw new Refusal(reasons.wrongMethod, `${c.req.path} takes ${methods}, not ${c.req.method}.`);
  });
}

/** An object without its unset description and metadata. */
export function withoutUnset<T extends { description?: unknown; metadata?: unknown }>(document: T) {
  const { description, metadata, ...rest } = document;
  return { ...rest, ...(description ? { description } : {}), ...(metadata ? { metadata } : {}) };
}

function readLimit(given = String(maxLimit)): number {
  const limit = /^[1-9]\d{0,2}$/.test(given) ? Number(given) : 0;
  if (limit >= 1 && limit <= maxLimit) return limit;
  throw new Refusal(reasons.limitInvalid, `limit must be a whole number from 1 to ${maxLimit}.`);
}

function same<T>(document: T): T {
  return document;
}
