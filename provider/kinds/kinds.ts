import type { Properties } from "../values/properties";
import type { Kind } from "./kind";
import { tlsCertificate } from "./tlsCertificate";
import * as tlsCertificateLookup from "./tlsCertificateLookup";
import * as edge from "./tlsEdge";
import * as tunnel from "./tunnel";

/** The kinds of resources, by the names that they have in programs and in the plugin's schema. */
export const kinds = { TLSEdge: edge.tlsEdge, TLSCertificate: tlsCertificate };

/** The kinds that lookups find: `get` with the first name finds one object, with the second all that match. */
export const lookupKinds = [
  ["Tunnel", "Tunnels", tunnel.lookup],
  ["TLSEdge", "TLSEdges", edge.lookup],
  ["TLSCertificate", "TLSCertificates", tlsCertificateLookup.lookup],
] as const;

/** Whether a text names the object in a state: it is its id, or a name that an import takes, such as a hostport. */
export function namesObject(
  { importName }: Kind,
  id: string,
  state: Properties,
  text: unknown,
): boolean {
  if (text === id) return true;
  const name = typeof text === "string" ? importName?.parse(text) : undefined;
  return name !== undefined && importName?.of(state).includes(name) === true;
}
