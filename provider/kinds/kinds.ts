import type { Properties } from "../values/properties";
import type { Kind } from "./kind";
import { findAll, findOne, type Lookup, type LookupKind } from "./lookup";
import { tlsCertificate } from "./tlsCertificate";
import * as tlsCertificateLookup from "./tlsCertificateLookup";
import * as edge from "./tlsEdge";
import * as tunnel from "./tunnel";

/** The kinds of resources, by the names that they have in programs and in the plugin's schema. */
export const kinds = { TLSEdge: edge.tlsEdge, TLSCertificate: tlsCertificate };

/** The lookups: the names of what each gives, and its kind. */
const lookupKinds = [
  ["Tunnel", "Tunnels", tunnel.lookup],
  ["TLSEdge", "TLSEdges", edge.lookup],
  ["TLSCertificate", "TLSCertificates", tlsCertificateLookup.lookup],
] as const;

/** The names of a lookup that finds one object, and of the one that finds all that match, with the kind's title. */
export const lookupNames = lookupKinds.map(([one, all, { title }]) => ({
  one: `get${one}`,
  all: `get${all}`,
  title,
}));

/** The lookups, by their names. */
export const lookups: Readonly<Record<string, Lookup<Properties, object>>> = Object.fromEntries(
  lookupKinds.flatMap(([one, all, kind]) => {
    // Each checks its arguments.
    const lookup = kind as LookupKind<{ id: string }, object, { id: string }>;
    return [
      [`get${one}`, findOne(lookup)],
      [`get${all}`, findAll(lookup)],
    ];
  }),
);

/** Whether a text, an id or a name, names the object in a state. */
export function isSameObject(
  { importName }: Kind,
  id: string,
  state: Properties,
  text: unknown,
): boolean {
  if (text === id) return true;
  const name = typeof text === "string" ? importName?.in(text) : undefined;
  return name !== undefined && importName?.of(state).includes(name) === true;
}
