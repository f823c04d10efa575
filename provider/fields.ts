import * as v from "valibot";
import { hasUnknown } from "./lifecycle";

/** The fields that every resource shares, each with its documented limit (api.md §8). */
const atMostBytes = (limit: number) =>
  v.maxBytes(
    limit,
    ({ received }) => `must be at most ${limit} bytes of UTF-8, and has ${received}`,
  );

export const description = v.optional(v.pipe(v.string(), atMostBytes(255)));
export const metadata = v.optional(v.pipe(v.string(), atMostBytes(4096)));
/** An identifier of the service, opaque. */
export const id = v.pipe(v.string(), v.nonEmpty("must not be empty"));
/** Identifiers that restrict something: what an empty list would restrict, api.md does not say. */
export const someIds = v.pipe(
  v.array(id),
  v.nonEmpty("must not be empty: to restrict nothing, leave the module out"),
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
  v.pipe(
    v.array(hostport),
    v.check(
      (given) => twins(given) === undefined,
      ({ input }) => `${twins(input)} are the same host and port`,
    ),
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

/** The places of two hostports that are the same: a value may be a secret. */
function twins(hostports: string[]): string | undefined {
  const places = new Map<string, number>();
  for (const [place, hostport] of hostports.entries()) {
    const earlier = places.get(hostport.toLowerCase());
    if (earlier !== undefined) return `hostports[${earlier}] and hostports[${place}]`;
    if (!hasUnknown(hostport)) places.set(hostport.toLowerCase(), place);
  }
  return undefined;
}
