import * as v from "valibot";
import { hasUnknown } from "./lifecycle";

/** The fields that every resource shares, each with its documented limit (api.md §8). */
const atMostBytes = (limit: number) =>
  v.maxBytes<string, number, string>(limit, `must be at most ${limit} bytes of UTF-8`);

export const description = v.optional(v.pipe(v.string(), atMostBytes(255)));
export const metadata = v.optional(v.pipe(v.string(), atMostBytes(4096)));
/** An identifier of the service, opaque. */
export const id = v.pipe(v.string(), v.nonEmpty("must not be empty"));

/** A module of an edge. */
export const edgeModule = <Entries extends v.ObjectEntries>(entries: Entries) => {
  const module = v.strictObject({
    /** Whether the module is applied to traffic. Default true. */
    enabled: v.optional(v.boolean()),
    ...entries,
  });
  // Valibot takes a list for an object.
  const given = v.custom<v.InferInput<typeof module>>(() => true);
  const noList = v.check<v.InferInput<typeof module>, string>(
    (value) => !Array.isArray(value),
    "must be an object",
  );
  return v.optional(v.pipe(given, noList, module));
};

const hostport = v.pipe(
  v.string(),
  v.check(
    isHostport,
    "must be a host name, a colon and a port (1 to 65535), such as app.example.com:443",
  ),
);
export const hostports = v.optional(
  v.pipe(v.array(hostport), v.check(hasNoTwins, "names the same hostport twice")),
);

function isHostport(value: string): boolean {
  const [, host, port] = /^(?:\*\.)?([^:]+):([1-9]\d{0,4})$/.exec(value) ?? [];
  const label = /^(?!-)[\w-]{1,63}(?<!-)$/;
  if (!host || host.length > 253 || Number(port) > 65535) return false;
  return host.split(".").every((part) => label.test(part));
}

function hasNoTwins(hostports: string[]): boolean {
  const known = hostports.filter((hostport) => !hasUnknown(hostport)).map((h) => h.toLowerCase());
  return new Set(known).size === known.length;
}
