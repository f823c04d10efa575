import { isDeepStrictEqual } from "node:util";
import { type BaseIssue, safeParse } from "valibot";
import { pathOf, typeOf } from "../../client/answer";
import { plain } from "../../client/plain";
import { holdsPrivateKey } from "../../client/redact";
import { nearest } from "../values/nearest";
import { defined, isObject, isRecord, type Properties, unknownValue } from "../values/properties";
import type { Kind, Problem } from "./kind";

/** The properties that hold PEM. Their own checks say when the two are swapped. */
const pemProperties = ["certificatePem", "privateKeyPem"];

/**
 * Removes `__provider`, empty values and unchanged values that an earlier check has added.
 *
 * @param olds The inputs of the last deployment. A check of the plugin adds nothing to them.
 */
export function prune(
  { schema }: Pick<Kind, "schema">,
  raw: Properties,
  olds: Properties = {},
): Properties {
  const { __provider, ...rest } = withoutNull(raw) as Properties;
  return Object.fromEntries(
    Object.entries(rest).filter(([property, value]) => {
      // Of a chain and a key, an empty text is a file that could not be written: their checks refuse it.
      if (value === "" && !pemProperties.includes(property)) return false;
      // With `ignoreChanges`, the inputs contain values that an earlier check has derived.
      const isDerived = !(property in schema.entries) && property in olds;
      return !(isDerived && isDeepStrictEqual(value, olds[property]));
    }),
  );
}

/** Null means the same as a missing property, at any depth. */
function withoutNull(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const parts = Object.entries(defined(value));
  return Object.fromEntries(parts.map(([property, part]) => [property, withoutNull(part)]));
}

const keyInName = "a property has a private key as its name";

/** The text that an output becomes in a string of each language, and what gives its value. */
const outputTexts: [RegExp, string][] = [
  [
    /Calling \[ToString\] on an \S{0,9}Output/,
    'in C#, write `Output.Format($"…")`, or `Output.JsonSerialize(…)` for JSON',
  ],
  [
    /Calling \[to(String|JSON)\] on an \S{0,9}Output|\bOutputImpl \{/i,
    "in TypeScript, write pulumi.interpolate`…`, or `pulumi.jsonStringify(…)` for JSON",
  ],
  [
    /Calling __str__ on an Output|<pulumi\.output\.Output object/i,
    "in Python, write `pulumi.Output.concat(…)` or `pulumi.Output.format(…)`, or `pulumi.Output.json_dumps(…)` for JSON",
  ],
  // In JSON, an apostrophe may be escaped.
  [/Calling ('|\\u0027)toString\1 on an \S{0,9}Output/i, 'in Java, write `Output.format("…", …)`'],
  // A struct with an address, in each verb of `fmt`.
  [
    /\{(OutputState:)?0x[\da-f]{8,16}[ }]|\*\w{1,9}\.OutputState\b/i,
    'in Go, write `pulumi.Sprintf("…", …)`, or `pulumi.JSONMarshal(…)` for JSON',
  ],
];

/** Why a text can't be the one that is meant: a program has put an output into it. Undefined for another text. */
export function outputInText(text: string): string | undefined {
  const advice = outputTexts.find(([pattern]) => pattern.test(text))?.[1];
  return advice && `holds the text that stands for an output, not the output's value: ${advice}`;
}

/** The problems of texts that hold an output, or a private key: the service and the state would show it. */
export function misplacedTexts(value: unknown, path = ""): Problem[] {
  if (typeof value === "string") {
    const isKey = holdsPrivateKey(value) && !pemProperties.includes(path);
    const reason = isKey
      ? "holds a private key, which belongs only in privateKeyPem"
      : outputInText(value);
    return reason ? [{ path, reason }] : [];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    if (holdsPrivateKey(name)) return [{ path, reason: keyInName }];
    const below = Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name;
    return misplacedTexts(part, below);
  });
}

/** The problems of misplaced texts and unknown names, and those that the schema finds in known values. */
export function problemsOfShape({ schema }: Pick<Kind, "schema">, news: Properties): Problem[] {
  const misplaced = misplacedTexts(news);
  const unknownNames = problemsOfNames(schema, news);
  const issues: BaseIssue<unknown>[] = safeParse(schema, news).issues ?? [];
  const wrong = issues
    .filter(({ input }) => input !== unknownValue)
    // Valibot expects "never" of an unknown name: `unknownNames` has them all.
    .filter(({ expected }) => expected !== "never")
    // What is missing may be there under a misspelt name.
    .filter(({ input }) => input !== undefined || unknownNames.length === 0)
    .map(problemOfValue);
  const misplacedPaths = new Set(misplaced.map(({ path }) => path));
  const others = [...unknownNames, ...wrong]
    .filter(({ path }) => !misplacedPaths.has(path))
    // A name that is a private key is not shown: `misplaced` tells of it.
    .filter(({ path }) => !holdsPrivateKey(path));
  return [...misplaced, ...others];
}

/** The names that the schema does not have, at any depth. Valibot reports only the first. */
function problemsOfNames(schema: unknown, value: unknown, parent = ""): Problem[] {
  const entries = entriesOf(schema);
  if (!entries || !isRecord(value)) return [];
  const known = Object.keys(entries);
  return Object.entries(value).flatMap(([name, part]) => {
    const path = parent + name;
    if (known.includes(name)) return problemsOfNames(entries[name], part, `${path}.`);
    // A program may set a property of a module beside the module.
    const module = known.find((other) => Object.hasOwn(entriesOf(entries[other]) ?? {}, name));
    const reason = module
      ? `no such property: did you mean ${module}.${name}?`
      : misspelt("property", name, known);
    return [{ path, reason }];
  });
}

/** The properties of an object's schema, also of one inside `optional` or `pipe`; undefined for another schema. */
function entriesOf(schema: unknown): Record<string, unknown> | undefined {
  type Nested = { entries?: Record<string, unknown>; wrapped?: unknown; pipe?: unknown[] };
  const { entries, wrapped, pipe } = schema as Nested;
  return wrapped ? entriesOf(wrapped) : (entries ?? pipe?.map(entriesOf).find(isObject));
}

/** The problem of a value. What it must be is the schema's message, because valibot's own quotes it. */
function problemOfValue(issue: BaseIssue<unknown>): Problem {
  const { input, kind, message, type } = issue;
  const path = pathOf(issue);
  if (input === undefined) return { path, reason: "is missing" };
  if (kind === "validation" || (type === "picklist" && typeof input === "string")) {
    return { path, reason: message, value: type.endsWith("bytes") ? undefined : quoted(input) };
  }
  return { path, reason: `is ${typeOf(input)}, but ${message}` };
}

/**
 * A text for a message, on one line. Undefined for one that may hold a password or a key: `LS0t` is
 * `---` in base64.
 */
function quoted(value: unknown): string | undefined {
  if (typeof value !== "string" || /@|\p{Pd}{3}|LS0t/u.test(value)) return undefined;
  const short = value.length > 80 ? `${value.slice(0, 80)}…` : value;
  return plain(JSON.stringify(short));
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
  if (!isRecord(args)) {
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
  return meant
    ? `no such ${what}: did you mean ${meant}?`
    : `no such ${what}: known are ${known.join(", ")}`;
}
