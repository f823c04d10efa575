import type { Client } from "../client/client";
import type { Kind } from "./kind";
import { findAll, findOne, type Lookup, LookupError, type LookupKind } from "./lookup";
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

/** The filter of a lookup that the name in an import is. */
const nameFilters: Record<string, string> = { TLSEdge: "hostport", TLSCertificate: "fingerprint" };

/**
 * The id of the object to import. A text that is no name is an id. Makes a request for a name alone.
 *
 * @throws LookupError when the name is that of no object or of several. It lists what there is.
 */
export async function idToImport(kind: Kind, client: Client, text: string): Promise<string> {
  const name = kind.nameIn(text);
  if (name === undefined) return text;
  const find = lookups[`get${kind.name}`] as Lookup<Properties, { id: string }>;
  return (await find(() => client, { [nameFilters[kind.name] as string]: name })).id;
}

/**
 * Says that an import names no object.
 *
 * @throws LookupError with what an import takes, and what there is.
 */
export async function refuseImport(kind: Kind, client: Client, id: string): Promise<void> {
  try {
    await (lookups[`get${kind.name}`] as Lookup<Properties, object>)(() => client, { id });
  } catch (error) {
    if (!(error instanceof LookupError)) throw error;
    const name = nameFilters[kind.name];
    throw new LookupError(`${error.message}\n\`pulumi import\` takes a ${name}, too`);
  }
}

/** Whether a text, an id or a name, names the object in a state. */
export function isNamed(kind: Kind, id: string, state: Properties, text: unknown): boolean {
  if (text === id) return true;
  const name = typeof text === "string" ? kind.nameIn(text) : undefined;
  return name !== undefined && kind.names(state).includes(name);
}
