import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { plain } from "../client/plain";
import { isObject, type Properties } from "./properties";
import { fingerprintIn } from "./values/pem";
import { misplacedKeys, wrongForm } from "./values/shape";

/** A lookup of one object has found none or several, or the arguments of a lookup are invalid. */
export class LookupError extends Error {
  override readonly name = "LookupError";
}

/** The type of an argument's value. */
type ArgType =
  | "a string"
  | "an object of strings"
  | "an RFC 3339 time, such as 2027-01-31T00:00:00Z"
  | "a SHA-256 fingerprint in hex";

/** What edges and certificates are looked up by, besides what each kind has of its own. */
export interface ObjectFilter {
  /** Only those with exactly this description. */
  description?: string;
  /**
   * Only those whose metadata is a JSON object with these names and texts, such as
   * `{ owner: "web" }`. `TLSSite` writes such metadata. It may have more names.
   */
  metadata?: Record<string, string>;
}

/** The types of {@link ObjectFilter}. */
export const objectFilters: { [F in keyof ObjectFilter]-?: ArgType } = {
  description: "a string",
  metadata: "an object of strings",
};

/** Whether an object of the service matches. */
export function matchesObject(
  wire: { description?: string | null; metadata?: string | null },
  { description, metadata }: ObjectFilter,
): boolean {
  if (description !== undefined && description !== (wire.description ?? "")) return false;
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

/** One kind of object that can be looked up. */
export interface LookupKind<
  Wire,
  Args extends { id?: string },
  Result extends { id: string },
  ListArgs extends Omit<Args, "id"> = Omit<Args, "id">,
> {
  /** For messages: "TLS edge". */
  title: string;
  /** Every filter with its type. */
  filters: { [F in keyof Omit<Args, "id">]-?: ArgType };
  /** Every filter that only the lookup of all objects has. */
  listFilters?: { [F in keyof Omit<ListArgs, keyof Args>]-?: ArgType };
  get(client: Client, id: string): Promise<Wire>;
  /** All objects, newest first, page by page. */
  list(client: Client): AsyncIterable<Wire>;
  result(wire: Wire): Result;
  matches(wire: Wire, filter: Omit<Args, "id"> & Partial<ListArgs>): boolean;
  /** Describes an object in an error's list of candidates, without its id. */
  label(result: Result): string;
  /** When no object matches, the error lists all objects below this heading. Default: no list. */
  all?: string;
}

/** What depends on who calls a lookup. */
export interface LookupOptions {
  /** Whether the arguments are secrets: then an error shows no value. */
  isSecret?: boolean;
  /** Names of further arguments that only the caller reads. Each is a string. */
  settings?: readonly string[];
  /** Gives the answer of the plugin's function in place of the service: the mocks of a unit test. */
  instead?(): Promise<object>;
  /** Why the caller does not take a value: "is a promise: …". Default: it takes every value. */
  refusal?(value: unknown): string | undefined;
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
export function all<
  Wire,
  Args extends { id?: string },
  Result extends { id: string },
  ListArgs extends Omit<Args, "id">,
>(kind: LookupKind<Wire, Args, Result, ListArgs>): Lookup<ListArgs, Result[]> {
  return (client, args, options) => Array.fromAsync(stream(kind, client, args, options));
}

/** All matching objects. Holds one page at a time. */
export async function* stream<
  Wire,
  Args extends { id?: string },
  Result extends { id: string },
  ListArgs extends Omit<Args, "id">,
>(
  kind: LookupKind<Wire, Args, Result, ListArgs>,
  client: () => Client,
  args: ListArgs,
  options: LookupOptions = {},
): AsyncGenerator<Result, void, undefined> {
  checkArgs(kind.title, { ...kind.filters, ...kind.listFilters }, args, options);
  if (options.instead) return yield* listIn<Result>(await options.instead());
  for await (const wire of kind.list(client())) {
    if (kind.matches(wire, args)) yield kind.result(wire);
  }
}

/** The lookup of one object: by id, or the only one that matches. */
export function one<
  Wire,
  Args extends { id?: string },
  Result extends { id: string },
  ListArgs extends Omit<Args, "id">,
>(kind: LookupKind<Wire, Args, Result, ListArgs>): Lookup<Args, Result> {
  return async (client, args, options = {}) => {
    const { title, filters } = kind;
    checkArgs(title, { id: "a string", ...filters }, args, options);
    const { isSecret = false } = options;
    const { id } = args;
    const given = Object.entries(args).filter(
      ([name, value]) => name in filters && value !== undefined,
    );
    const filter = Object.fromEntries(given);
    if (id === undefined && given.length === 0) {
      throw new LookupError(`the lookup of a ${title} needs an id or a filter`);
    }
    if (options.instead) return options.instead() as Promise<Result>;
    if (id !== undefined) return byId(kind, client(), id, isSecret);
    return byFilter(kind, client(), args, filter, isSecret);
  };
}

/** The list in the answer of a function of the plugin: its only property. */
function listIn<Result>(answer: object): Result[] {
  const list = Object.values(answer).find(Array.isArray);
  if (list) return list;
  throw new LookupError(
    "the mock of a lookup that gives a list must give an object with the list, such as { tunnels: [] }",
  );
}

async function byId<Wire, Args extends { id?: string }, Result extends { id: string }>(
  kind: LookupKind<Wire, Args, Result>,
  client: Client,
  id: string,
  isSecret: boolean,
): Promise<Result> {
  try {
    return kind.result(await kind.get(client, id));
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) {
      throw new LookupError(`no ${kind.title} has the id ${isSecret ? "[secret]" : id}`);
    }
    if (isSecret && error instanceof Error) {
      error.message = error.message
        .replaceAll(encodeURIComponent(id), "[secret]")
        .replaceAll(id, "[secret]");
    }
    throw error;
  }
}

async function byFilter<Wire, Args extends { id?: string }, Result extends { id: string }>(
  kind: LookupKind<Wire, Args, Result>,
  client: Client,
  args: Args,
  filter: Properties,
  isSecret: boolean,
): Promise<Result> {
  const matching = new Candidates<Result>();
  const others = new Candidates<Result>();
  for await (const wire of kind.list(client)) {
    if (kind.matches(wire, args)) matching.add(() => kind.result(wire));
    else if (kind.all) others.add(() => kind.result(wire));
  }
  const [first] = matching.listed;
  if (first && matching.count === 1) return first;
  const shownFilter = isSecret
    ? `the filter by ${Object.keys(filter).join(", ")} ([secret])`
    : JSON.stringify(filter);
  // A label may contain a value of the filter.
  const label = (one: Result) => (isSecret ? "" : ` (${kind.label(one)})`);
  if (first) {
    throw new LookupError(
      `${matching.count} ${kind.title}s match ${shownFilter}: use a narrower filter or an id:` +
        matching.list(label),
    );
  }
  const none = `no ${kind.title} matches ${shownFilter}`;
  if (!kind.all) throw new LookupError(none);
  const available = others.count > 0 ? `${kind.all}:${others.list(label)}` : `${kind.all}: none`;
  throw new LookupError(`${none}. ${available}`);
}

const maxCandidates = 10;
const maxLineLength = 1000;

/** The first few objects, and the number of all. */
class Candidates<Result extends { id: string }> {
  readonly listed: Result[] = [];
  count = 0;

  add(result: () => Result): void {
    this.count += 1;
    if (this.count <= maxCandidates) this.listed.push(result());
  }

  list(label: (result: Result) => string): string {
    const lines = this.listed
      .map((one) => `\n  ${plain((one.id + label(one)).slice(0, maxLineLength))}`)
      .join("");
    const rest = this.count - this.listed.length;
    return rest > 0 ? `${lines}\n  and ${rest} more` : lines;
  }
}

/** Whether a filter is empty, such as an unset config value. It would match every object. */
function isEmpty(value: unknown): boolean {
  return value === "" || (isObject(value) && Object.keys(value).length === 0);
}

/** Refuses invalid arguments: a JavaScript program may pass anything. */
function checkArgs(
  title: string,
  filters: Record<string, ArgType>,
  args: unknown,
  { settings = [], refusal = () => undefined }: LookupOptions,
): void {
  const own = settings.map((name) => [name, "a string"] as const);
  const problem = problemOf({ ...filters, ...Object.fromEntries(own) }, args, refusal);
  if (problem) throw new LookupError(`the lookup of a ${title}: ${problem}`);
  const empty = Object.keys(filters).find((name) => isEmpty((args as Properties)[name]));
  if (empty) throw new LookupError(`the ${empty} in the lookup of a ${title} is empty`);
}

function problemOf(
  types: Record<string, ArgType>,
  args: unknown,
  refusal: (value: unknown) => string | undefined,
): string | undefined {
  const refused = refusal(args);
  if (refused) return `the argument ${refused}`;
  const wrong = wrongForm(args, Object.keys(types), "filter");
  if (wrong) return wrong;
  for (const [name, value] of Object.entries(args as object)) {
    const type = types[name] as ArgType;
    const parts = isObject(value) ? Object.values(value) : [];
    const refused = [value, ...parts].map(refusal).find((reason) => reason !== undefined);
    if (refused) return `${name} ${refused}`;
    if (value !== undefined && !isA[type](value)) return `${name} must be ${type}`;
  }
  const [misplaced] = misplacedKeys(args);
  return misplaced && `${misplaced.path}: ${misplaced.reason}`;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const isString = (value: unknown): value is string => typeof value === "string";
const isA: Record<ArgType, (value: unknown) => boolean> = {
  "a string": isString,
  "an object of strings": (value) =>
    isObject(value) && !Array.isArray(value) && Object.values(value).every(isString),
  "an RFC 3339 time, such as 2027-01-31T00:00:00Z": (value) =>
    isString(value) && rfc3339.test(value) && !Number.isNaN(Date.parse(value)),
  "a SHA-256 fingerprint in hex": (value) => isString(value) && fingerprintIn(value) !== undefined,
};
