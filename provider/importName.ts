import type { Client } from "../client/client";
import type { Lifecycle, Properties } from "./lifecycle";
import { one } from "./lookup";
import { lifecycle as tlsCertificate } from "./tlsCertificate";
import { lookup as certificates } from "./tlsCertificateLookup";
import { lookup as edges, lifecycle as tlsEdge } from "./tlsEdge";
import { fingerprintIn } from "./values/pem";

/** A name by which people know an object, which an import may give in place of the id. */
interface Name {
  /** The name that a text is, in the form that states have; undefined for any other text. */
  in(text: string): string | undefined;
  /** The names of an object in state. */
  of(state: Properties): unknown[];
  /** Finds the object. Its error lists what there is. */
  find(client: () => Client, name: string): Promise<{ id: string }>;
}

const allEdges: typeof edges = { ...edges, all: "TLS edges of the account" };
const allCertificates: typeof certificates = {
  ...certificates,
  all: "TLS certificates of the account",
};
const findEdge = one(allEdges);
const findCertificate = one(allCertificates);

const names = new Map<Lifecycle, Name>([
  [
    tlsEdge,
    {
      in: (text) => (/^[^\s/]+:\d+$/.test(text) ? text.toLowerCase() : undefined),
      of: ({ hostports }) =>
        ((hostports ?? []) as string[]).map((hostport) => hostport.toLowerCase()),
      find: (client, hostport) => findEdge(client, { hostport }),
    },
  ],
  [
    tlsCertificate,
    {
      in: fingerprintIn,
      of: ({ fingerprint }) => [fingerprint],
      find: (client, fingerprint) => findCertificate(client, { fingerprint }),
    },
  ],
]);

/**
 * The id of the object to import: a hostport names an edge, a SHA-256 fingerprint a certificate, and
 * any other text is an id. Makes a request for a name alone.
 *
 * @throws LookupError when the name is that of no object or of several.
 */
export async function idToImport(
  lifecycle: Lifecycle,
  client: Client,
  text: string,
): Promise<string> {
  const kind = names.get(lifecycle);
  const name = kind?.in(text);
  if (!kind || name === undefined) return text;
  return (await kind.find(() => client, name)).id;
}

/** Whether a text, an id or a name, names the object in a state. */
export function isNamed(
  lifecycle: Lifecycle,
  id: string,
  state: Properties,
  text: unknown,
): boolean {
  if (text === id) return true;
  const kind = names.get(lifecycle);
  const name = typeof text === "string" ? kind?.in(text) : undefined;
  return name !== undefined && kind?.of(state).includes(name) === true;
}
