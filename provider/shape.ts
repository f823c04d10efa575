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

/** Removes `__provider`, empty values and values that an earlier check has added. */
export function prune(lifecycle: Lifecycle, raw: Properties, olds: Properties): Properties {
  const { __provider, ...rest } = withoutNull(raw) as Properties;
  return Object.fromEntries(
    Object.entries(rest).filter(([property, value]) => {
      // With `ignoreChanges` the engine gives back what check has derived before.
      const derived = !(property in lifecycle.schema.entries) && property in olds;
      return value !== "" && !(derived && isDeepStrictEqual(value, olds[property]));
    }),
  );
}

/** A property that is null says the same as none, at any depth. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value) || !isObject(value)) return value;
  const parts = Object.entries(defined(value));
  return Object.fromEntries(parts.map(([property, part]) => [property, withoutNull(part)]));
}

/** What the schema says, less what it says of values that are not known yet. */
export function problemsOfShape(lifecycle: Lifecycle, news: Properties): Problem[] {
  const rest = structuredClone(news);
  const strays: Problem[] = [];
  for (;;) {
    const issues: BaseIssue<unknown>[] = safeParse(lifecycle.schema, rest).issues ?? [];
    const problems = issues.map((issue) => ({
      path: pathOf(issue),
      reason: reasonOf(issue, lifecycle.schema),
    }));
    // Of several misspelt properties valibot names the first: it is taken out to see the next.
    const stray = issues.findIndex(isStray);
    const place = issues[stray]?.path?.at(-1);
    if (!place) return [...strays, ...problems.filter((_, index) => !ofUnknown(issues[index]))];
    strays.push(problems[stray] as Problem);
    delete (place.input as Properties)[place.key as string];
  }
}

/** Said of a property that the schema does not have, whatever its value. */
function isStray(issue: BaseIssue<unknown>): boolean {
  return issue.type === "strict_object" && issue.expected === "never";
}

function ofUnknown(issue: BaseIssue<unknown> | undefined): boolean {
  return issue?.input === unknownValue;
}

/** Never valibot's own message, which quotes the value. */
function reasonOf(issue: BaseIssue<unknown>, schema: unknown): string {
  if (issue.kind === "validation") return issue.message;
  if (isStray(issue)) {
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

/** Kinds of values, in words. Every list of the schemas holds strings. */
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

/** The properties of the object at a path of a schema, whose own may be optional or in a pipe. */
function entriesAt(schema: unknown, path: string[]): Record<string, unknown> {
  const { entries, wrapped, pipe = [] } = schema as Nested;
  if (wrapped) return entriesAt(wrapped, path);
  const own = entries ?? (pipe as Nested[]).find((part) => part.entries)?.entries ?? {};
  const [first, ...rest] = path;
  return first === undefined ? own : entriesAt(own[first], rest);
}

/** What to say of a name that is none of those that are known. */
export function misspelt(what: string, name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return `no such ${what}: ${meant ? `did you mean ${meant}?` : "is it misspelt?"}`;
}
