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

/** Whether a text, an id or a name, names the object in a state. */
export function namesObject(
  { importName }: Kind,
  id: string,
  state: Properties,
  text: unknown,
): boolean {
  if (text === id) return true;
  const name = typeof text === "string" ? importName?.in(text) : undefined;
  return name !== undefined && importName?.of(state).includes(name) === true;
}
