import * as v from "valibot";
import { type AnswerSchema, object, readAnswer } from "./answer";
import type { Client } from "./client";
import { ConnectionError } from "./errors";
import { holdsPrivateKey } from "./redact";

/** The endpoints of one kind of resource: a verb, a path and two types each (api.md §4). */
export interface Endpoints<Wire, Create, Update = Create> {
  /** Creates one object. A request that may have created it is never retried. */
  create(client: Client, body: Create): Promise<Wire>;
  /** Reads one object; fails with 404 when it does not exist, and when the answer is about another. */
  get(client: Client, id: string): Promise<Wire>;
  /** Updates one object: only the fields in `body`. */
  update(client: Client, id: string, body: Update): Promise<Wire>;
  /** Deletes one object; fails with 404 when it does not exist. */
  delete(client: Client, id: string): Promise<void>;
  /**
   * All objects, newest first. Holds one page in memory. Each page has its own deadline, but in an operation.
   * Objects that can't be used are left out: `warn` is called with a message that names them. Default: the option
   * `show` of the client.
   */
  list(client: Client, warn?: (text: string) => void): AsyncGenerator<Wire, void, undefined>;
  /** The same in pages of at most 100 objects, each requested when it is needed. Leaves out those that can't be used. */
  pages(client: Client): AsyncGenerator<Page<Wire>, void, undefined>;
}

/** A page of a list, newest first. */
export type Page<Wire> = Wire[] & {
  /** Whether the service says that no page follows. */
  isLast?: boolean;
};

/** The schema of the answer about the object with this id: a cache may answer with another one. */
const about = <Wire>(id: string, schema: AnswerSchema<Wire>): AnswerSchema<Wire> => {
  const same = v.check((found: string) => found === id, "is that of another object");
  return v.pipe(v.looseObject({ id: v.pipe(v.string(), same) }) as AnswerSchema, schema);
};

/** The endpoints below a path; `collection` is the field of a page that holds its items. */
export function endpointsOf<Wire, Create extends object, Update extends object = Create>(
  path: string,
  collection: string,
  schema: AnswerSchema<Wire>,
): Endpoints<Wire, Create, Update> {
  const pages = (client: Client, leftOut: string[] = []) =>
    pagesOf(client, path, collection, usableItems(collection, schema, leftOut));
  return {
    create: (client, body) => client.post(path, body, schema),
    get: async (client, id) => client.get(pathOfId(path, id), about(id, schema)),
    update: async (client, id, body) => client.patch(pathOfId(path, id), body, about(id, schema)),
    delete: async (client, id) => client.delete(pathOfId(path, id)),
    async *list(client, warn) {
      const leftOut: string[] = [];
      for await (const page of pages(client, leftOut)) yield* page;
      const what = `${leftOut.length} of ${collection} can't be used, and are left out`;
      if (leftOut.length > 0) client.tell(`${what}: ${leftOut.join(", ")}`, warn);
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
  if (["", ".", ".."].includes(id) || holdsPrivateKey(id)) {
    throw new TypeError(
      "this is not the id of an object: it is empty, . or .., or it holds a private key",
    );
  }
  return `${path}/${encodeURIComponent(id)}`;
}

/** How many objects a page has at most (api.md §4.4). */
const pageLength = 100;
/** How many pages of a list are read: a service may name a next page without end. */
const mostPages = 1000;

/** Takes the items of a page that can be used. Adds the others to `leftOut`, by the id or, without one, by the place. */
const usableItems = <Wire>(collection: string, schema: AnswerSchema<Wire>, leftOut: string[]) =>
  v.transform((items: unknown[]) =>
    items.flatMap((item, place) => {
      const read = readAnswer(schema, item);
      if ("answer" in read) return [read.answer];
      const { field, reason, objectId = `${collection}[${place}]` } = read.unusable;
      leftOut.push(`${objectId} (${`${field} ${reason}`.trim()})`);
      return [];
    }),
  );

/** The pages of a list (api.md §4.4). */
async function* pagesOf<Wire>(
  client: Client,
  path: string,
  collection: string,
  usable: v.PipeItem<unknown[], Wire[], v.BaseIssue<unknown>>,
): AsyncGenerator<Page<Wire>, void, undefined> {
  const tooMany = `has more than ${pageLength} items`;
  const items = v.pipe(v.array(v.unknown()), v.maxLength(pageLength, tooMany), usable);
  const page = v.pipe(
    v.unknown(),
    // Services in Go answer null for an empty collection. That it is a page, its URI shows.
    v.transform((answer) => {
      const { [collection]: found, uri } = Object(answer) as Record<string, unknown>;
      const isEmpty = found === null && typeof uri === "string";
      return isEmpty ? { ...(answer as object), [collection]: [] } : answer;
    }),
    object({ [collection]: items, next_page_uri: v.nullish(v.string()) }),
  );
  let query: string | undefined = `?limit=${pageLength}`;
  for (let pages = 0; query; pages++) {
    if (pages === mostPages) {
      throw ConnectionError.unusable({ path }, `the list has more than ${mostPages} pages`);
    }
    const answer: Record<string, unknown> = await client.get(path + query, page, { isItem: false });
    const next = answer.next_page_uri as string | null | undefined;
    yield Object.assign(answer[collection] as Wire[], { isLast: !next });
    const nextQuery = next ? queryOf(path, next) : undefined;
    if (nextQuery === query)
      throw ConnectionError.unusable({ path }, "a page names itself as the next");
    query = nextQuery;
  }
}

/**
 * Only the query of `next_page_uri` is followed, at our own base URL and path. So the API key goes
 * nowhere else, and a gateway with a base URL of its own works.
 */
function queryOf(path: string, next: string): string {
  const search = URL.canParse(next, "https://any") ? new URL(next, "https://any").search : "";
  if (search) return search;
  throw ConnectionError.unusable({ path, field: "next_page_uri" }, "next_page_uri has no query");
}
