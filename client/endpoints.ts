import { array, type GenericSchema, nullish, object, string } from "valibot";
import type { AnswerSchema } from "./answer";
import type { Client } from "./client";
import { ConnectionError } from "./errors";

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
  pages(client: Client): AsyncGenerator<Wire[], void, undefined>;
}

/** The schema of an answer that is read as a `Wire`. */
export type SchemaOf<Wire> = AnswerSchema & GenericSchema<unknown, Wire>;

/** The endpoints below a path; `collection` is the field of a page that holds its items. */
export function endpointsOf<Wire, Create extends object, Update extends object = Create>(
  path: string,
  collection: string,
  schema: SchemaOf<Wire>,
): Endpoints<Wire, Create, Update> {
  const at = (id: string) => `${path}/${encodeURIComponent(id)}`;
  const pages = (client: Client) => pagesOf(client, path, collection, schema);
  return {
    create: (client, body, onSend) => client.post(path, body, schema, onSend),
    get: (client, id) => client.get(at(id), schema),
    update: (client, id, body) => client.patch(at(id), body, schema),
    delete: (client, id) => client.delete(at(id)),
    async *list(client) {
      for await (const page of pages(client)) yield* page;
    },
    pages,
  };
}

/** The pages of a list (api.md §4.4). */
async function* pagesOf<Wire>(
  client: Client,
  path: string,
  collection: string,
  schema: SchemaOf<Wire>,
): AsyncGenerator<Wire[], void, undefined> {
  const page = object({ [collection]: array(schema), next_page_uri: nullish(string()) });
  const seen = new Set<string>();
  let next: string | undefined = `${path}?limit=100`;
  while (next) {
    seen.add(next);
    const answer: Record<string, unknown> = await client.get(next, page, { isItem: false });
    yield answer[collection] as Wire[];
    next = sameOrigin(client.baseUrl, path, answer.next_page_uri as string | null | undefined);
    if (next && seen.has(next)) {
      throw ConnectionError.unusable({ method: "GET", path }, "the pages of the list form a loop");
    }
  }
}

function sameOrigin(
  { href, origin }: URL,
  path: string,
  next: string | null | undefined,
): string | undefined {
  if (!next) return undefined;
  const url = URL.canParse(next, href) ? new URL(next, href) : null;
  if (url?.origin === origin) return url.href;
  throw ConnectionError.unusable(
    { method: "GET", path },
    `next_page_uri is not at ${origin}, and the API key is sent only there`,
    { field: "next_page_uri" },
  );
}
