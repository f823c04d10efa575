import { isDeepStrictEqual } from "node:util";
import { type BaseIssue, safeParse } from "valibot";
import { pathOf, typeOf } from "../../client/answer";
import { plain } from "../../client/plain";
import { holdsPrivateKey } from "../../client/redact";
import type { Kind, Problem } from "../kind";
import { defined, isObject, type Properties, unknownValue } from "../properties";
import { nearest } from "./nearest";

/** Removes `__provider`, empty values and unchanged values that an earlier check has added. */
export function prune(
  { schema }: Pick<Kind, "schema">,
  raw: Properties,
  olds: Properties,
): Properties {
  const { __provider, ...rest } = withoutNull(raw) as Properties;
  return Object.fromEntries(
    Object.entries(rest).filter(([property, value]) => {
      // With `ignoreChanges`, the inputs contain values that an earlier check has derived.
      const derived = !(property in schema.entries) && property in olds;
      return value !== "" && !(derived && isDeepStrictEqual(value, olds[property]));
    }),
  );
}

/** Null means the same as a missing property, at any depth. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value) || !isObject(value)) return value;
  const parts = Object.entries(defined(value));
  return Object.fromEntries(parts.map(([property, part]) => [property, withoutNull(part)]));
}

const keyInName = "a property has a private key as its name";

/** The properties that hold PEM. Their own checks say when the two are swapped. */
const pemProperties = ["certificatePem", "privateKeyPem"];

/** The problems of texts that hold a private key: the service and the state would show it. */
export function misplacedKeys(value: unknown, path = ""): Problem[] {
  if (typeof value === "string" && holdsPrivateKey(value)) {
    return [{ path, reason: "holds a private key, which belongs only in privateKeyPem" }];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    if (holdsPrivateKey(name)) return [{ path, reason: keyInName }];
    if (path === "" && pemProperties.includes(name)) return [];
    const below = Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name;
    return misplacedKeys(part, below);
  });
}

/** The problems that the schema finds, except those of unknown values. */
export function problemsOfShape({ schema }: Pick<Kind, "schema">, news: Properties): Problem[] {
  const rest = structuredClone(news);
  const unknownNames: Problem[] = [];
  for (;;) {
    const issues: BaseIssue<unknown>[] = safeParse(schema, rest).issues ?? [];
    // valibot names only the first unknown property: remove it to find the next one.
    const first = issues.find(isUnknownName);
    const item = first?.path?.at(-1);
    if (!first || !item) {
      const known = issues
        .filter(({ input }) => input !== unknownValue)
        .map((issue) => problemOfValue(issue, schema));
      // The path of an unknown name quotes it.
      const shown = [...unknownNames, ...known].filter(({ path }) => !holdsPrivateKey(path));
      const misspelt = unknownNames.flatMap(({ path, meant }) => (meant ? path : []));
      const misplaced = misplacedKeys(news).filter(({ path }) => !misspelt.includes(path));
      return [...misplaced, ...shown];
    }
    unknownNames.push(problemOfName(first, schema));
    delete (item.input as Properties)[item.key as string];
  }
}

/** Whether an issue is about a property that the schema does not have. */
function isUnknownName(issue: BaseIssue<unknown>): boolean {
  return issue.type === "strict_object" && issue.expected === "never";
}

function problemOfName(issue: BaseIssue<unknown>, schema: unknown): Problem {
  const path = pathOf(issue);
  const [name = "", ...parents] = namesIn(issue).reverse();
  const siblings = entriesAt(schema, parents.reverse());
  const known = Object.keys(siblings);
  // A program may set a property of a module beside the module.
  const module = known.find((each) => Object.hasOwn(entriesAt(siblings[each], []), name));
  if (module) return { path, reason: `no such property: did you mean ${module}.${name}?` };
  const meant = nearest(name, known);
  const isMissing = meant && !Object.hasOwn(issue.path?.at(-1)?.input as Properties, meant);
  return {
    path,
    reason: misspelt("property", name, known),
    ...(isMissing && { meant: [...parents, meant].join(".") }),
  };
}

/** The problem of a value. It replaces valibot's own message, which quotes every value. */
function problemOfValue(issue: BaseIssue<unknown>, schema: unknown): Problem {
  const path = pathOf(issue);
  const { kind, input, message, received, type } = issue;
  if (received === "undefined") return { path, reason: "is missing" };
  const [property = ""] = namesIn(issue);
  // Quote no long text, and no text that a user may think of as private.
  const isQuoted = typeof input === "string" && type.endsWith("check");
  const value = isQuoted || type === "picklist" ? quoted(input) : undefined;
  const told = (reason: string, withValue: string): Problem => ({
    path,
    reason,
    ...(value && { quoting: { property, reason: withValue } }),
  });
  if (kind === "validation") return told(message, `${value} ${message}`);
  const must = `must be ${wantedBy(issue, schema)}`;
  const isWrongType = type !== "picklist" || typeof input !== "string";
  return told(isWrongType ? `is ${typeOf(input)}, but ${must}` : must, `is ${value}, but ${must}`);
}

function namesIn(issue: BaseIssue<unknown>): string[] {
  return (issue.path ?? []).map(({ key }) => String(key));
}

/** What a value must be, and how to write it. All lists in the schemas contain strings. */
function wantedBy(issue: BaseIssue<unknown>, schema: unknown): string {
  const { input, expected } = issue;
  if (expected === "number") return "a number, without quotes";
  if (expected === "boolean") return "true or false, without quotes";
  if (expected === "Array") {
    return `a list of strings${typeof input === "string" ? ": put it into brackets" : ""}`;
  }
  if (expected === "Object") {
    const names = Object.keys(entriesAt(schema, namesIn(issue)));
    return `an object with some of these: ${names.join(", ")}`;
  }
  const text = expected === "string" ? "a string" : choices(expected ?? "");
  if (typeof input === "number") return `${text}: put it into quotes`;
  if (!isObject(input) || Array.isArray(input)) return text;
  // A Buffer arrives with its bytes by index.
  if ("0" in input) return `${text}: use readFileSync(path, "utf8")`;
  return namesIn(issue).at(-1) === "metadata" ? `${text}: convert it to JSON` : text;
}

const maxQuoted = 80;

/**
 * A value for a message, on one line. Undefined for what should not be shown: a list, an object, and
 * a text that may hold a key or a password.
 */
function quoted(value: unknown): string | undefined {
  if (typeof value === "number") return `the number ${value}`;
  if (typeof value === "boolean") return `${value}`;
  if (typeof value !== "string" || /@|\p{Pd}{3}/u.test(value)) return undefined;
  const short = value.length > maxQuoted ? `${value.slice(0, maxQuoted)}…` : value;
  // JSON leaves some invisible characters as they are.
  return plain(JSON.stringify(short).replaceAll("\u00a0", "\\u00a0"));
}

/** `("a" | "b" | "c")` as `"a", "b" or "c"`. */
function choices(expected: string): string {
  return expected
    .replace(/[()]/g, "")
    .replace(/ \| (?=[^|]*$)/, " or ")
    .replaceAll(" | ", ", ");
}

type Nested = { entries?: Record<string, unknown>; wrapped?: unknown; pipe?: unknown[] };

/** The properties of the object at a path of a schema, inside any `optional` and `pipe`. */
function entriesAt(schema: unknown, path: string[]): Record<string, unknown> {
  const { entries, wrapped, pipe = [] } = schema as Nested;
  if (wrapped) return entriesAt(wrapped, path);
  const own = entries ?? (pipe as Nested[]).find((part) => part.entries)?.entries ?? {};
  const [first, ...rest] = path;
  return first === undefined ? own : entriesAt(own[first], rest);
}

/**
 * The problem of arguments that must be an object with only these names; undefined if there is
 * none. A JavaScript program may pass anything.
 *
 * @param what What the names are, for the message: "option".
 * @param path The path of the object: "access."; empty for the arguments themselves.
 */
export function wrongForm(
  args: unknown,
  known: readonly string[],
  what: string,
  path = "",
): string | undefined {
  if (!isObject(args) || Array.isArray(args)) {
    return `${path.slice(0, -1) || "the argument"} must be an object with some of these: ${known.join(", ")}`;
  }
  const unknown = Object.keys(args).find((name) => !known.includes(name));
  if (unknown === undefined) return undefined;
  if (holdsPrivateKey(unknown)) return keyInName;
  return `${path}${unknown}: ${misspelt(what, unknown, known)}`;
}

/** The reason for an unknown name, with the nearest known name or all of them. */
function misspelt(what: string, name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return `no such ${what}: ${meant ? `did you mean ${meant}?` : `known are ${known.join(", ")}`}`;
}
