import type { Context, Hono } from "hono";
import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import type { Collection } from "./store";

const maxLimit = 100;

/** A resource of the service, for the server. */
export interface Served<D> {
  documents: { name: string; uri: string };
  routes: Hono;
  /** The value of the `Emulator` property that has the resource's name. */
  direct: D;
  /** Adds the initial objects of a new store. */
  seed?(): void;
}

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
  throw refusalOf(result.issues[0]);
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // JSON.parse's own message quotes the text, which may hold a key.
    throw new Refusal(reasons.bodyNotJSON, "The body is not valid JSON.", { cause });
  }
}

function refusalOf(issue: v.BaseIssue<unknown>): Refusal {
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

/** Refuses a query parameter that is unknown or given twice. */
export function refuseParameters(c: Context, known: string[] = []): void {
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (!known.includes(name) || values.length > 1) {
      throw new Refusal(
        reasons.unknownParameter,
        `The query parameter ${name} is unknown here, or given twice.`,
      );
    }
  }
}

/** Finds an object of a collection, or refuses the request when there is none. */
export function findOrRefuse<T extends { id: string }>(documents: Collection<T>, id: string): T {
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
    return c.json(single(findOrRefuse(documents, c.req.param("id"))));
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
    documents.remove(findOrRefuse(documents, c.req.param("id")).id);
    return c.body(null, 204);
  });
}

/** Refuses the methods that have no route on an existing path. Call it after adding the routes. */
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
