import { isDeepStrictEqual } from "node:util";
import { type BaseIssue, safeParse } from "valibot";
import { pathOf } from "../client/answer";
import {
  defined,
  isObject,
  type Lifecycle,
  type Problem,
  type Properties,
  unknownValue,
} from "./lifecycle";
import { nearest } from "./nearest";

/** Removes `__provider`, empty values and unchanged values that an earlier check has added. */
export function prune(
  { schema }: Pick<Lifecycle, "schema">,
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

/** The problems that the schema finds, except those of unknown values. */
export function problemsOfShape(
  { schema }: Pick<Lifecycle, "schema">,
  news: Properties,
): Problem[] {
  const rest = structuredClone(news);
  const unknownNames: Problem[] = [];
  for (;;) {
    const issues: BaseIssue<unknown>[] = safeParse(schema, rest).issues ?? [];
    const problems = issues.map((issue) => ({
      path: pathOf(issue),
      reason: reasonOf(issue, schema),
    }));
    // valibot names only the first unknown property: remove it to find the next one.
    const first = issues.findIndex(isUnknownName);
    const item = issues[first]?.path?.at(-1);
    if (!item) {
      return [...unknownNames, ...problems.filter((_, index) => !ofUnknownValue(issues[index]))];
    }
    unknownNames.push(problems[first] as Problem);
    delete (item.input as Properties)[item.key as string];
  }
}

/** Whether an issue is about a property that the schema does not have. */
function isUnknownName(issue: BaseIssue<unknown>): boolean {
  return issue.type === "strict_object" && issue.expected === "never";
}

function ofUnknownValue(issue: BaseIssue<unknown> | undefined): boolean {
  return issue?.input === unknownValue;
}

/** The reason of a problem. It replaces valibot's own message, which quotes the value. */
function reasonOf(issue: BaseIssue<unknown>, schema: unknown): string {
  if (issue.kind === "validation") return issue.message;
  if (isUnknownName(issue)) {
    const path = (issue.path ?? []).map(({ key }) => String(key));
    return misspelt(
      "property",
      path.at(-1) ?? "",
      Object.keys(entriesAt(schema, path.slice(0, -1))),
    );
  }
  if (issue.received === "undefined") return "is missing";
  return `must be ${kinds[issue.expected ?? ""] ?? choices(issue.expected ?? "")}`;
}

/** Names of value types, for messages. All lists in the schemas contain strings. */
const kinds: Record<string, string> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  Array: "an array of strings",
  Object: "an object",
};

/** `("a" | "b" | "c")` as `"a", "b" or "c"`. */
function choices(expected: string): string {
  return expected
    .replace(/[()]/g, "")
    .replace(/ \| (?=[^|]*$)/, " or ")
    .replaceAll(" | ", ", ");
}

type Nested = { entries?: Record<string, unknown>; wrapped?: unknown; pipe?: unknown[] };

/** The properties of the object at a path of a schema, inside any `optional` and `pipe`. */
export function entriesAt(schema: unknown, path: string[]): Record<string, unknown> {
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
  return `${path}${unknown}: ${misspelt(what, unknown, known)}`;
}

/** The reason for an unknown name, with the nearest known name. */
export function misspelt(what: string, name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return `no such ${what}: ${meant ? `did you mean ${meant}?` : "is it misspelt?"}`;
}
