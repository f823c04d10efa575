import { any, array, check, nullish, object, pipe, string } from "valibot";
import type { SchemaOf } from "./answer";
import type { Client } from "./client";
import { ConnectionError } from "./errors";
import { holdsPrivateKey } from "./redact";

/** The endpoints of one kind of resource: a verb, a path and two types each (api.md §4). */
export interface Endpoints<Wire, Create, Update = Create> {
  /**
   * Creates one object. A request that may have created it is never retried. `onSend` is called
   * before the first try, after the wait for the rate limit.
   */
  create(client: Client, body: Create, onSend?: () => void): Promise<Wire>;
  /** Reads one object; fails with 404 when it does not exist. */
  get(client: Client, id: string): Promise<Wire>;
  /** Updates one object: only the fields in `body`. */
  update(client: Client, id: string, body: Update): Promise<Wire>;
  /** Deletes one object; fails with 404 when it does not exist. */
  delete(client: Client, id: string): Promise<void>;
  /** All objects, newest first. Holds one page in memory. */
  list(client: Client): AsyncGenerator<Wire, void, undefined>;
  /** The same in pages of at most 100 objects. Each page is requested when it is needed. */
  pages(client: Client): AsyncGenerator<Page<Wire>, void, undefined>;
}

/** A page of a list, newest first. */
export type Page<Wire> = Wire[] & {
  /** Whether the service says that no page follows. */
  isLast?: boolean;
};

/** The endpoints below a path; `collection` is the field of a page that holds its items. */
export function endpointsOf<Wire, Create extends object, Update extends object = Create>(
  path: string,
  collection: string,
  schema: SchemaOf<Wire>,
): Endpoints<Wire, Create, Update> {
  const at = (id: string) => pathOfId(path, id);
  const pages = (client: Client) => pagesOf(client, path, collection, schema);
  return {
    create: (client, body, onSend) => client.post(path, body, schema, onSend),
    get: async (client, id) => client.get(at(id), schema),
    update: async (client, id, body) => client.patch(at(id), body, schema),
    delete: async (client, id) => client.delete(at(id)),
    async *list(client) {
      for await (const page of pages(client)) yield* page;
    },
    pages,
  };
}

/**
 * The path of an object.
 *
 * @throws TypeError when the id would make the path of another object, such as `..`, or holds a key.
 * The message does not quote it.
 */
function pathOfId(path: string, id: string): string {
  const isBroken = /\p{Surrogate}/u.test(id);
  if (id === "" || id === "." || id === ".." || isBroken || holdsPrivateKey(id)) {
    throw new TypeError(
      "this is not the id of an object: it is empty, . or .., or it holds a private key or half of " +
        "a character",
    );
  }
  return `${path}/${encodeURIComponent(id)}`;
}

/** How many pages of a list are read: a service may name a next page without end. */
const mostPages = 1000;
/** How many items of a page are read: api.md allows 100. */
const mostItems = 1000;

/** The pages of a list (api.md §4.4). */
async function* pagesOf<Wire>(
  client: Client,
  path: string,
  collection: string,
  schema: SchemaOf<Wire>,
): AsyncGenerator<Page<Wire>, void, undefined> {
  const isShort = (items: unknown) => !Array.isArray(items) || items.length <= mostItems;
  const items = pipe(any(), check(isShort, `has more than ${mostItems} items`), array(schema));
  const page = object({ [collection]: items, next_page_uri: nullish(string()) });
  const seen = new Set<string>();
  let next: string | undefined = `${path}?limit=100`;
  while (next) {
    seen.add(next);
    const answer: Record<string, unknown> = await client.get(next, page, { isItem: false });
    yield Object.assign(answer[collection] as Wire[], { isLast: !answer.next_page_uri });
    next = nextPage(path, answer.next_page_uri as string | null | undefined);
    if (next && seen.has(next)) {
      throw ConnectionError.unusable({ method: "GET", path }, "the pages of the list form a loop");
    }
    if (next && seen.size === mostPages) {
      const reason = `the list has more than ${mostPages} pages`;
      throw ConnectionError.unusable({ method: "GET", path }, reason);
    }
  }
}

/**
 * The next page, at our own base URL and path: only the query of `next_page_uri` is followed. So the
 * API key goes nowhere else, and a gateway with a base URL of its own works.
 */
function nextPage(path: string, next: string | null | undefined): string | undefined {
  if (!next) return undefined;
  const search = URL.canParse(next, "https://any") ? new URL(next, "https://any").search : "";
  if (search) return path + search;
  throw ConnectionError.unusable({ method: "GET", path }, "next_page_uri has no query", {
    field: "next_page_uri",
  });
}
