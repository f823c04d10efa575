import { isIP } from "node:net";
import type { Client } from "../../client/client";
import { isNotFound } from "../../client/errors";
import { plain } from "../../client/plain";
import { fingerprintIn } from "../values/chain";
import { hostportIn } from "../values/hostport";
import { isObject, type Properties, pick } from "../values/properties";
import { noneWithId } from "./kind";
import { misplacedTexts, wrongForm } from "./shape";
import { idAndTime } from "./state";

/** A lookup of one object has found none or several, or the arguments of a lookup are invalid. */
export class LookupError extends Error {
  override readonly name = "LookupError";
}

/** The type of an argument's value. */
type ArgType =
  | "a string"
  | "true or false"
  | "a map of strings"
  | "an RFC 3339 time, such as 2027-01-31T00:00:00Z"
  | "a SHA-256 fingerprint in hex"
  | "a host and a port, such as app.example.com:443"
  | "a domain without a port";

/** What edges and certificates are looked up by, besides what each kind has of its own. */
export interface ObjectFilter {
  /** Only those with exactly this description. */
  description?: string | undefined;
  /**
   * Only those whose metadata is a JSON object with these names and texts, such as
   * `{"owner":"web"}`. `TLSSite` writes such metadata. It may have more names.
   */
  metadata?: Record<string, string> | undefined;
}

/** The types of {@link ObjectFilter}. */
export const objectFilters: { [F in keyof ObjectFilter]-?: ArgType } = {
  description: "a string",
  metadata: "a map of strings",
};

/** Whether an object of the service matches. */
export function matchesObject(
  wire: { description?: string | null; metadata?: string | null },
  { description, metadata }: ObjectFilter,
): boolean {
  if (description !== undefined && description !== wire.description) return false;
  if (metadata === undefined) return true;
  const found = objectIn(wire.metadata ?? "");
  return Object.entries(metadata).every(([name, value]) => found.get(name) === value);
}

/** The names and values of a text that is a JSON object; nothing for any other text. */
export function objectIn(text: string): Map<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return new Map(isObject(value) && !Array.isArray(value) ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

/** An object that is looked up, of the service or as a result. */
export interface Item {
  id: string;
}

/** One kind of object that can be looked up. */
export interface LookupKind<Wire extends Item, Filter extends object, Result extends Item> {
  /** For messages: "TLS edge". */
  title: string;
  /** Every filter with its type. */
  filters: { [F in keyof Filter]-?: ArgType };
  /** The filters that only the lookup of all objects has. */
  listFilters?: readonly (keyof Filter)[];
  get(client: Client, id: string): Promise<Wire>;
  /** All objects, newest first, page by page. */
  list(client: Client): AsyncIterable<Wire>;
  result(wire: Wire): Result;
  matches(wire: Wire, filter: Filter): boolean;
  /** When an object became valid: `mostRecent` takes the latest. Default: there is no such argument. */
  recency?(wire: Wire): number;
  /**
   * Describes an object in an error's list of candidates, besides its id. Default: when it was created, because
   * other texts may be secrets of a program.
   */
  label?(result: Result): string;
}

/** What depends on who calls a lookup. */
export interface LookupOptions {
  /** Whether the arguments are secrets: then an error shows no value. */
  isSecret?: boolean;
  /** Gives the answer of the plugin's function in place of the service: the mocks of a unit test. */
  instead?(): Promise<object>;
  /** The objects of the account, newest first, if the caller has read them. Default: they are read. */
  objects?: readonly unknown[];
}

/**
 * Looks up objects.
 *
 * @param client Gives the client of the account. Called once the arguments are checked.
 * @throws LookupError
 */
export type Lookup<Args, Result> = (
  client: () => Client,
  args: Args,
  options?: LookupOptions,
) => Promise<Result>;

/** The lookup of all matching objects. */
export function findAll<Wire extends Item, Filter extends object, Result extends Item>(
  kind: LookupKind<Wire, Filter, Result>,
): Lookup<Filter, Result[]> {
  return async (client, args, options = {}) => {
    checkArgs(kind.title, kind.filters, args);
    if (options.instead) return listIn<Result>(await options.instead());
    const filter = filterIn(kind, args);
    const found: Result[] = [];
    for await (const wire of kind.list(client()))
      if (kind.matches(wire, filter)) found.push(kind.result(wire));
    return found;
  };
}

/** The filters that are set among the arguments. */
function filterIn<Filter extends object>(
  { filters }: Pick<LookupKind<never, Filter, never>, "filters">,
  args: object,
): Filter {
  return pick(args as Properties, Object.keys(filters)) as Filter;
}

/** The list in the answer of a function of the plugin: its only property. */
function listIn<Result>(answer: object): Result[] {
  const list = Object.values(answer).find(Array.isArray);
  if (list) return list;
  throw new LookupError(
    "the mock of a lookup that gives a list must give an object with the list, such as { tunnels: [] }",
  );
}

/** How the lookup of one object takes one, besides by filters. */
interface Choice {
  id?: string;
  mostRecent?: boolean;
}

/** The lookup of one object: by id, or the only one that matches. */
export function findOne<Wire extends Item, Filter extends object, Result extends Item>(
  kind: LookupKind<Wire, Filter, Result>,
): Lookup<Filter & Choice, Result> {
  const { title, filters, listFilters = [], recency } = kind;
  const own = { id: "a string", ...(recency && { mostRecent: "true or false" }), ...filters };
  const types = { ...own } as Record<string, ArgType>;
  for (const name of listFilters) delete types[name as string];
  return async (client, args, options = {}) => {
    checkArgs(title, types, args);
    const { id } = args;
    if (id === undefined && Object.keys(filterIn(kind, args)).length === 0) {
      const names = Object.keys(types).filter((name) => name in filters);
      throw new LookupError(`the ${title} lookup needs an id or a filter: ${names.join(", ")}`);
    }
    if (options.instead) return options.instead() as Promise<Result>;
    const { isSecret = false } = options;
    const all = async () =>
      (options.objects as Wire[]) ?? (await Array.fromAsync(kind.list(client())));
    return id === undefined
      ? findMatching(kind, await all(), args, isSecret)
      : getById(kind, client(), id, isSecret);
  };
}

async function getById<Wire extends Item, Filter extends object, Result extends Item>(
  kind: LookupKind<Wire, Filter, Result>,
  client: Client,
  id: string,
  isSecret: boolean,
): Promise<Result> {
  try {
    return kind.result(await kind.get(client, id));
  } catch (error) {
    if (isNotFound(error)) {
      const newest = listOf(kind, await newestOf(kind.list(client)), isSecret);
      throw new LookupError(
        `${noneWithId(kind.title, id, isSecret ? "[secret]" : id)}. The newest that the account has:${newest}`,
      );
    }
    if (isSecret && error instanceof Error) {
      error.message = error.message
        .replaceAll(encodeURIComponent(id), "[secret]")
        .replaceAll(id, "[secret]");
    }
    throw error;
  }
}

function findMatching<Wire extends Item, Filter extends object, Result extends Item>(
  kind: LookupKind<Wire, Filter, Result>,
  account: Wire[],
  args: Filter & Choice,
  isSecret: boolean,
): Result {
  const { recency, title } = kind;
  const filter = filterIn(kind, args);
  const matching = account.filter((wire) => kind.matches(wire, filter));
  // Of equal ones, the newest stays first.
  if (recency && args.mostRecent) matching.sort((one, other) => recency(other) - recency(one));
  const [first] = matching;
  if (first && (matching.length === 1 || args.mostRecent)) return kind.result(first);
  const shownFilter = isSecret
    ? `the filter by ${Object.keys(filter).join(", ")} ([secret])`
    : JSON.stringify(filter);
  const list = listOf(kind, first ? matching : account, isSecret);
  throw new LookupError(
    first
      ? `${matching.length} ${title} objects match ${shownFilter}: use a narrower filter${recency ? ", mostRecent" : ""} or an id:${list}`
      : `no ${title} matches ${shownFilter}. The account has:${list}`,
  );
}

/** The first objects of a list, of which only one page is read. */
async function newestOf<Wire>(list: AsyncIterable<Wire>): Promise<Wire[]> {
  const newest: Wire[] = [];
  for await (const wire of list) if (newest.push(wire) === maxCandidates) break;
  return newest;
}

/** The first objects, a line each, and how many more there are. */
function listOf<Wire extends Item, Filter extends object, Result extends Item>(
  { label, result }: LookupKind<Wire, Filter, Result>,
  wires: Wire[],
  isSecret: boolean,
): string {
  const lines = wires.slice(0, maxCandidates).map((wire) => {
    // A label may contain a value of the filter.
    const text = label && !isSecret ? `${wire.id} (${label(result(wire))})` : idAndTime(wire);
    return `\n  ${plain(text.slice(0, maxLineLength))}`;
  });
  const rest = wires.length - lines.length;
  if (rest > 0) lines.push(`\n  and ${rest} more`);
  return lines.join("") || " none";
}

const maxCandidates = 10;
const maxLineLength = 1000;

/** Refuses invalid arguments: a JavaScript program may pass anything. */
function checkArgs(title: string, filters: Record<string, ArgType>, args: unknown): void {
  const problem = problemOf(filters, args);
  if (problem) throw new LookupError(`the ${title} lookup: ${problem}`);
}

function problemOf(types: Record<string, ArgType>, args: unknown): string | undefined {
  const wrong = wrongForm(args, Object.keys(types), "filter");
  if (wrong) return wrong;
  for (const [name, value] of Object.entries(args as object)) {
    const type = types[name] as ArgType;
    if (value !== undefined && !isA[type](value)) return `${name} must be ${type}`;
    // An unset config value, for example: it would match every object.
    if (value === "" || (isObject(value) && Object.keys(value).length === 0))
      return `${name} is empty`;
  }
  const [misplaced] = misplacedTexts(args);
  return misplaced && `${misplaced.path}: ${misplaced.reason}`;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const isString = (value: unknown): value is string => typeof value === "string";
const isA: Record<ArgType, (value: unknown) => boolean> = {
  "a string": isString,
  "true or false": (value) => typeof value === "boolean",
  "a map of strings": (value) =>
    isObject(value) && !Array.isArray(value) && Object.values(value).every(isString),
  "an RFC 3339 time, such as 2027-01-31T00:00:00Z": (value) =>
    isString(value) && rfc3339.test(value) && !Number.isNaN(Date.parse(value)),
  "a SHA-256 fingerprint in hex": (value) => isString(value) && fingerprintIn(value) !== undefined,
  "a host and a port, such as app.example.com:443": (value) =>
    isString(value) && hostportIn(value) !== undefined,
  "a domain without a port": (value) =>
    isString(value) && (isIP(value) > 0 || /^[^\s/:]+$/.test(value)),
};
