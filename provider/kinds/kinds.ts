import type { Kind } from "./kind";
import { findAll, findOne, type Lookup, type LookupKind } from "./lookup";
import type { Properties } from "./properties";
import { tlsCertificate } from "./tlsCertificate";
import * as tlsCertificateLookup from "./tlsCertificateLookup";
import * as edge from "./tlsEdge";
import * as tunnel from "./tunnel";

/** The kinds of resources, by the names that they have in programs and in the plugin's schema. */
export const kinds = { TLSEdge: edge.tlsEdge, TLSCertificate: tlsCertificate };

/** The lookups, by the names that they have in programs and in the plugin's schema. */
export const lookups: Readonly<Record<string, Lookup<Properties, object>>> = {
  ...lookupsOf("Tunnel", tunnel.lookup),
  ...lookupsOf("TLSEdge", edge.lookup),
  ...lookupsOf("TLSCertificate", tlsCertificateLookup.lookup),
};

/** `getTunnel`, which finds one object, and `getTunnels`, which finds all that match. */
function lookupsOf<Wire, Filter extends object, Result extends { id: string }>(
  name: string,
  kind: LookupKind<Wire, Filter, Result>,
): Record<string, Lookup<Properties, object>> {
  // Each checks its arguments.
  const lookups = { [`get${name}`]: findOne(kind), [`get${name}s`]: findAll(kind) };
  return lookups as Record<string, Lookup<Properties, object>>;
}

/** Whether a text, an id or a name, names the object in a state. */
export function isSameObject(kind: Kind, id: string, state: Properties, text: unknown): boolean {
  if (text === id) return true;
  const name = typeof text === "string" ? kind.importNameIn(text) : undefined;
  return name !== undefined && kind.importNames(state).includes(name);
}
