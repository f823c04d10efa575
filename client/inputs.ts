import * as v from "valibot";
import { unset } from "./mistakes";

/**
 * The schemas of what a program gives. Each states what a value must be, and never quotes the value, which may be
 * a secret: `shape.ts` makes a sentence of it.
 */
export const text = v.string("must be a string");
const list = <Item extends v.GenericSchema>(item: Item) =>
  v.array(item, "must be a list of strings");
export const yesOrNo = v.boolean("must be true or false, without quotes");

/** One of several texts. */
export const choice = <const Options extends string[]>(...options: Options) => {
  const names = options.map((option) => `"${option}"`).join(", ");
  return v.picklist(options, `must be ${names.replace(/, (?=[^,]*$)/, " or ")}`);
};

/** A text with a documented limit (api.md §8). */
export const textUpTo = (limit: number, what = "a string") =>
  v.pipe(
    v.string(`must be ${what}`),
    v.maxBytes(
      limit,
      ({ received }) => `must be at most ${limit} bytes of UTF-8, but has ${received}`,
    ),
  );

/** Refuses a text that matches a pattern, with what is wrong then. The first pattern that matches decides. */
const without = (mistakes: [pattern: RegExp, reason: string][]) => {
  const mistakeIn = (value: string) => mistakes.find(([pattern]) => pattern.test(value));
  return v.check(
    (value: string) => !mistakeIn(value),
    ({ input }) => String(mistakeIn(input)?.[1]),
  );
};

/** An identifier of the service, opaque. What is refused here is no identifier at all. */
export const id = v.pipe(
  text,
  without([
    [/^$/, "must not be empty"],
    unset,
    [/[^\x21-\x7e]/, "has a space, or a character that is not ASCII: no id has one"],
  ]),
);
/** Identifiers in a restriction. Not empty: api.md does not say what an empty list restricts. */
export const someIds = v.pipe(
  list(id),
  v.nonEmpty("must not be empty: to restrict nothing, remove the module"),
);

/** An object with only these properties. */
export const objectOf = (entries: v.ObjectEntries) => {
  const message = `must be an object with some of these: ${Object.keys(entries).join(", ")}`;
  // Valibot accepts a list as an object.
  const noList = v.custom<object>((value) => !Array.isArray(value), message);
  return v.pipe(noList, v.strictObject(entries, message));
};

const form = "a host name, a colon and a port, such as app.example.com:443";
const wrongPort = "has a wrong port: it is a number from 1 to 65535, without zeros before it";
const label = "(?!-)[\\w-]{1,63}(?<!-)";

const hostport = v.pipe(
  text,
  without([
    [
      /[^\x20-\x7e]/,
      "has a line break, or a character that is not ASCII: remove it, or write the name as DNS has it (xn--…)",
    ],
    unset,
    [/^[^:]*:?$/, `has no port: write ${form}`],
    // A colon, and no other colon and no path behind it: what is left is the port.
    [
      new RegExp(`^(?!(?=[^:]{1,253}:)(\\*\\.)?${label}(\\.${label})*:[^:/]*$)`),
      `is no hostport: write only ${form}, or *.example.com:443 for all names of one more label`,
    ],
    [/:(?![1-9]\d{0,4}$)/, wrongPort],
  ]),
  v.check((value) => !(Number(value.split(":")[1]) > 65_535), wrongPort),
);

/** Hostports, each once. */
export const hostports = v.pipe(
  list(hostport),
  v.check((values) => {
    // What has no port is wrong by itself.
    const names = values.filter((one) => one.includes(":")).map((one) => one.toLowerCase());
    return new Set(names).size === names.length;
  }, "has the same host and port twice: remove one of them"),
);
