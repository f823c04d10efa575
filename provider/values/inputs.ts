import * as v from "valibot";
import { hasUnknown } from "../properties";

/** A documented limit (api.md §8). */
const atMostBytes = (limit: number) =>
  v.maxBytes(
    limit,
    ({ received }) => `must be at most ${limit} bytes of UTF-8, but has ${received}`,
  );

export const description = v.optional(v.pipe(v.string(), atMostBytes(255)));
export const metadata = v.optional(v.pipe(v.string(), atMostBytes(4096)));
/** An identifier of the service, opaque. What is refused here is no identifier at all. */
export const id = v.pipe(
  v.string(),
  v.nonEmpty("must not be empty"),
  v.check((value) => !value.includes("-----BEGIN "), "is PEM text: give the id of the object"),
  v.check((value) => !/^https?:\/\//.test(value), "is a URL: give only the id, its last part"),
  v.check(
    (value) => !/^\d+(\.\d+){3}(\/\d+)?$/.test(value),
    "is an address: give the id of an object that the service has",
  ),
);
/** Identifiers in a restriction. Not empty: api.md does not say what an empty list restricts. */
export const someIds = v.pipe(
  v.array(id),
  v.nonEmpty("must not be empty: to restrict nothing, remove the module"),
);
/** The lowest TLS version. */
export const minVersion = v.picklist(["1.0", "1.1", "1.2", "1.3"]);

/** A module of an edge. */
export const edgeModule = <Entries extends v.ObjectEntries>(entries: Entries) => {
  const module = v.strictObject({
    /** Whether the module is applied to traffic. Default true. */
    enabled: v.optional(v.boolean()),
    ...entries,
  });
  // Valibot accepts a list as an object.
  const given = v.custom<v.InferInput<typeof module>>(() => true);
  const noList = v.check<v.InferInput<typeof module>, string>(
    (value) => !Array.isArray(value),
    "is a list, but must be an object",
  );
  return v.optional(v.pipe(given, noList, module));
};

const hostport = v.pipe(
  v.string(),
  v.check(isHostport, ({ input }) => mistakeIn(input)),
);
export const hostports = v.optional(
  v.pipe(
    v.array(hostport),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const indexes = new Map<string, number>();
      for (const [index, value] of dataset.value.entries()) {
        const earlier = indexes.get(value.toLowerCase());
        if (earlier === undefined) {
          if (!hasUnknown(value)) indexes.set(value.toLowerCase(), index);
          continue;
        }
        const place = { type: "array", origin: "value", input: dataset.value, key: index, value };
        addIssue({
          message: `is the same host and port as hostports[${earlier}]: remove one of them`,
          input: value,
          path: [place as v.ArrayPathItem],
        });
      }
    }),
  ),
);

function isHostport(value: string): boolean {
  const [, name, port] = /^([^:]+):([1-9]\d{0,4})$/.exec(value) ?? [];
  const label = /^(?!-)[\w-]{1,63}(?<!-)$/;
  if (!name || name.length > 253 || Number(port) > 65535) return false;
  const [first, ...rest] = name.split(".");
  const labels = first === "*" && rest.length > 0 ? rest : name.split(".");
  return labels.every((part) => label.test(part));
}

const write = "write only a host name, a colon and a port, such as app.example.com:443";

/** What is wrong with a hostport, and what to write. The first pattern that matches decides. */
const mistakes: [RegExp, string][] = [
  [/^$/, `is empty: ${write}`],
  [/,/, "holds more than one hostport: give each as an element of the list"],
  [/\s/, `has a space or a line break: ${write}`],
  [/^[a-z][a-z0-9+.-]*:\/\//i, `is a URL: ${write}`],
  [/@/, `has a user name: ${write}`],
  [/\//, `has a path: ${write}`],
  [/["'`\u2018-\u201f]/, `has quotation marks in it: ${write}`],
  [
    /[^\x21-\x7e]/,
    "has a character that is not ASCII: remove it, or write the name as DNS has it (xn--…)",
  ],
  [/^\[|:[^:]*:[^:]*:/, "is an IPv6 address: write a host name, a colon and a port"],
  [/:[^:]*:/, `has two colons: ${write}`],
  [/^[^:]*:?$/, `has no port: ${write}`],
  [/^:/, `has no host name: ${write}`],
  [/.\*|\*(?!\.)/, "has a * that is not the whole first label, as in *.example.com:443"],
  [/\.:/, "has a dot at the end of the host name: remove it"],
  [/^\.|\.\./, "has an empty label in the host name: remove the extra dot"],
  [/(^|\.)-|-[.:]/, "has a label that begins or ends with a hyphen, which no host name has"],
  [/^[^:]*[^\w.*:-]/, `has a character that no host name has: ${write}`],
  [/[^.:]{64}|^[^:]{254}/, "is too long: a host name has at most 253 characters, a label 63"],
];

function mistakeIn(value: string): string {
  const [, reason] = mistakes.find(([pattern]) => pattern.test(value)) ?? [];
  return reason ?? "has a wrong port: it is a number from 1 to 65535, without zeros before it";
}
