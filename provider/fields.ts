import * as v from "valibot";
import { hasUnknown } from "./lifecycle";

/** A documented limit (api.md §8). */
const atMostBytes = (limit: number) =>
  v.maxBytes(
    limit,
    ({ received }) => `must be at most ${limit} bytes of UTF-8, but has ${received}`,
  );

export const description = v.optional(v.pipe(v.string(), atMostBytes(255)));
export const metadata = v.optional(v.pipe(v.string(), atMostBytes(4096)));
/** An identifier of the service, opaque. */
export const id = v.pipe(v.string(), v.nonEmpty("must not be empty"));
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
      (given) => repeated(given) === undefined,
      ({ input }) => `${repeated(input)} are the same host and port`,
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

/** The paths of two equal hostports, without their value, which may be a secret. */
function repeated(hostports: string[]): string | undefined {
  const indexes = new Map<string, number>();
  for (const [index, hostport] of hostports.entries()) {
    const earlier = indexes.get(hostport.toLowerCase());
    if (earlier !== undefined) return `hostports[${earlier}] and hostports[${index}]`;
    if (!hasUnknown(hostport)) indexes.set(hostport.toLowerCase(), index);
  }
  return undefined;
}
