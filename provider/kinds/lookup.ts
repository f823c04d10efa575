import { isIP } from "node:net";
import { distance } from "fastest-levenshtein";
import type { Unset } from "../../client/answer";
import type { Endpoints } from "../../client/endpoints";
import type { Item } from "../../client/fields";
import { plain } from "../../client/plain";
import { fingerprintIn } from "../values/chain";
import { hostportIn } from "../values/hostport";
import { isObject, isRecord, type Properties, pick } from "../values/properties";
import { noneWithId } from "./kind";
import { misplacedTexts, wrongForm } from "./shape";
import { idAndTime } from "./state";

/** A lookup of one object has found none or several, or the arguments of a lookup are invalid. */
export class LookupError extends Error {
  override readonly name = "LookupError";
}

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

export const objectFilters: Record<keyof ObjectFilter, ArgType> = {
  description: "a string",
  metadata: "a map of strings",
};

/** Whether an object of the service matches a filter. */
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
    return new Map(isRecord(value) ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

export interface LookupKind<
  Wire extends Item = Item,
  Filter extends object = object,
  Result extends Item = Item,
> extends Pick<Endpoints<Wire, never>, "get" | "list" | "pages"> {
  /** For messages: "TLS edge". */
  title: string;
  filters: Record<keyof Filter & string, ArgType>;
  /** The filters that only the lookup of all objects takes. */
  listOnlyFilters?: readonly string[];
  result(wire: Wire): Result;
  matches(wire: Wire, filter: Filter): boolean;
  /** When an object became valid: `mostRecent` takes the latest. Default: there is no such argument. */
  recency?(wire: Wire): number;
  /**
   * Describes an object in an error's list of candidates, besides its id. Default: when it was created, because
   * other texts may be secrets of a program.
   */
  label?(result: Result): string;
  /**
   * What an object has that a filter is compared with: if nothing matches, an error lists the nearest. None that may
   * be a secret.
   */
  texts(wire: Wire): Partial<Record<keyof Filter & string, readonly Unset<string>[]>>;
  /** Whether others make and end the objects while a program runs: each lookup reads what there is when it is asked. */
  isReadAfresh?: boolean;
}

/** How the lookup of one object takes one, besides by filters. */
export interface Choice {
  id?: string;
  mostRecent?: boolean;
}

/** Refuses wrong arguments of the lookup of all objects. A JavaScript program may pass anything. */
export function checkFindAllArgs(
  { title, filters }: Pick<LookupKind, "title" | "filters">,
  args: unknown,
): void {
  const problem = problemOf(filters, args);
  if (problem) throw new LookupError(`the ${title} lookup: ${problem}`);
}

/** Refuses wrong arguments of the lookup of one object, and a lookup with neither an id nor a filter. */
export function checkFindOneArgs(kind: LookupKind, args: Choice): void {
  const { title, listOnlyFilters = [], recency } = kind;
  const allowed = Object.entries(kind.filters).filter(([name]) => !listOnlyFilters.includes(name));
  const filters = Object.fromEntries(allowed);
  const otherArgs = { id: "a string", ...(recency && { mostRecent: "true or false" }) };
  checkFindAllArgs({ title, filters: { ...otherArgs, ...filters } }, args);
  if (args.id !== undefined || Object.keys(filterIn(kind, args)).length > 0) return;
  const names = Object.keys(filters).join(", ");
  throw new LookupError(`the ${title} lookup needs an id or a filter: ${names}`);
}

/** The filters that are set among the arguments. */
export function filterIn({ filters }: LookupKind, args: object): Properties {
  return pick(args as Properties, Object.keys(filters));
}

/**
 * The object that a lookup of one gives: the only one that matches or, with `mostRecent`, the latest.
 *
 * @param objects All objects of the account, newest first.
 * @throws LookupError when none or several match. It lists candidates.
 */
export function chosen(kind: LookupKind, objects: Item[], args: Choice, isSecret: boolean): Item {
  const { recency, title } = kind;
  const filter = filterIn(kind, args);
  const matching = objects.filter((wire) => kind.matches(wire, filter));
  // Of equal ones, the newest stays first.
  if (recency && args.mostRecent) matching.sort((one, other) => recency(other) - recency(one));
  const [first] = matching;
  if (first && (matching.length === 1 || args.mostRecent)) return kind.result(first);
  const shownFilter = isSecret
    ? `the filter by ${Object.keys(filter).join(", ")} ([secret])`
    : JSON.stringify(filter);
  if (!first) {
    const nearest = isSecret ? "" : nearestOf(kind, objects, filter);
    const list = nearest || newestOf(kind, objects, isSecret);
    throw new LookupError(`no ${title} matches ${shownFilter}.${list}`);
  }
  const narrower = `use a narrower filter${recency ? ", mostRecent" : ""} or an id`;
  const list = listOf(kind, matching, isSecret);
  throw new LookupError(
    `${matching.length} ${title} objects match ${shownFilter}: ${narrower}:${list}`,
  );
}

/** The error about an id that no object has. `newest` are the newest objects. */
export function noneWith(
  kind: LookupKind,
  id: string,
  newest: Item[],
  isSecret: boolean,
): LookupError {
  const none = noneWithId(kind.title, id, isSecret ? "[secret]" : id);
  return new LookupError(`${none}.${newestOf(kind, newest, isSecret)}`);
}

/** The newest objects, after an error that none is the one that was looked up. */
function newestOf(kind: LookupKind, wires: Item[], isSecret: boolean): string {
  if (wires.length === 0) return " The account has none";
  const list = listOf(kind, wires.slice(0, maxOthers), isSecret);
  return ` The newest that the account has:${list}\n${toSeeAll}`;
}

/** The objects with the texts that are nearest to the filter, a line each; empty where the filter has no text. */
function nearestOf(kind: LookupKind, wires: Item[], filter: Properties): string {
  const cut = (text: unknown) => String(text).slice(0, maxTextLength);
  const compared = (text: unknown) => cut(text).toLowerCase();
  const found: { id: string; text: string; far: number }[] = [];
  for (const wire of wires) {
    const textsOf: Partial<Record<string, readonly Unset<string>[]>> = kind.texts(wire);
    for (const [name, wanted] of Object.entries(filter)) {
      for (const text of textsOf[name]?.filter((one) => one) ?? []) {
        const far = distance(compared(wanted), compared(text));
        found.push({ id: wire.id, text: cut(text), far });
      }
    }
  }
  found.sort((one, other) => one.far - other.far);
  // Of each object, the nearest text comes first.
  const lines = [...Map.groupBy(found, ({ id }) => id)]
    .slice(0, maxOthers)
    .map(([id, [nearest]]) => `\n  ${plain(`${nearest?.text} (${id})`)}`);
  return lines.length > 0 ? ` The nearest:${lines.join("")}\n${toSeeAll}` : "";
}

/** The first objects, a line each, and how many more there are. */
function listOf({ label, result }: LookupKind, wires: Item[], isSecret: boolean): string {
  const lines = wires.slice(0, maxCandidates).map((wire) => {
    // A label may contain a value of the filter.
    const text = label && !isSecret ? `${wire.id} (${label(result(wire))})` : idAndTime(wire);
    return `\n  ${plain(text.slice(0, maxLineLength))}`;
  });
  const rest = wires.length - lines.length;
  if (rest > 0) lines.push(`\n  and ${rest} more`);
  return lines.join("");
}

const maxCandidates = 10;
/** How many objects an error names that are not the one that was looked up. */
const maxOthers = 5;
const toSeeAll = "The command `status` lists all";
/** How much of a text is compared, and shown. */
const maxTextLength = 256;
const maxLineLength = 1000;

/** What is wrong with arguments of these types; undefined for nothing. */
function problemOf(types: Record<string, ArgType>, args: unknown): string | undefined {
  const wrong = wrongForm(args, Object.keys(types), "filter");
  if (wrong) return wrong;
  for (const [name, value] of Object.entries(args as object)) {
    const type = types[name] as ArgType;
    if (value !== undefined && !isA[type](value)) return `${name} must be ${type}`;
    // Such as an unset value of config, which would match every object.
    if (value === "" || (isObject(value) && Object.keys(value).length === 0))
      return `${name} is empty`;
  }
  const [misplaced] = misplacedTexts(args);
  return misplaced && `${misplaced.path}: ${misplaced.reason}`;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const isString = (value: unknown): value is string => typeof value === "string";
/** What an argument may be, as errors say it. */
const isA = {
  "a string": isString,
  "true or false": (value: unknown) => typeof value === "boolean",
  "a map of strings": (value: unknown) => isRecord(value) && Object.values(value).every(isString),
  "an RFC 3339 time, such as 2027-01-31T00:00:00Z": (value: unknown) =>
    isString(value) && rfc3339.test(value) && !Number.isNaN(Date.parse(value)),
  "a SHA-256 fingerprint in hex": (value: unknown) =>
    isString(value) && fingerprintIn(value) !== undefined,
  "a host and a port, such as app.example.com:443": (value: unknown) =>
    isString(value) && hostportIn(value) !== undefined,
  "a domain without a port": (value: unknown) =>
    isString(value) && (isIP(value) > 0 || /^[^\s/:]+$/.test(value)),
};
type ArgType = keyof typeof isA;
