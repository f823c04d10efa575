import type { Lifecycle, Properties } from "./lifecycle";
import { all, type Lookup, type LookupKind, one } from "./lookup";
import { lifecycle as tlsCertificate } from "./tlsCertificate";
import { lookup as tlsCertificateLookup } from "./tlsCertificateLookup";
import { lifecycle as tlsEdge, lookup as tlsEdgeLookup } from "./tlsEdge";
import { lookup as tunnelLookup } from "./tunnel";

/** A kind of resource: an object of the service that a program can declare. */
export interface Kind {
  lifecycle: Lifecycle;
  /** Whether the old object and its replacement can't exist at the same time. */
  deleteBeforeReplace?: boolean;
}

/** The kinds of resources, by the names that they have in programs and in the plugin's schema. */
export const kinds: Readonly<Record<string, Kind>> = {
  TLSEdge: { lifecycle: tlsEdge, deleteBeforeReplace: true },
  TLSCertificate: { lifecycle: tlsCertificate },
};

/** The lookups, by the names that they have in programs and in the plugin's schema. */
export const lookups: Readonly<Record<string, Lookup<Properties, object>>> = {
  ...lookupsOf("Tunnel", tunnelLookup),
  ...lookupsOf("TLSEdge", tlsEdgeLookup),
  ...lookupsOf("TLSCertificate", tlsCertificateLookup),
};

/** `getTunnel`, which finds one object, and `getTunnels`, which finds all that match. */
function lookupsOf<
  Wire,
  Args extends { id?: string },
  Result extends { id: string },
  ListArgs extends Omit<Args, "id">,
>(
  name: string,
  kind: LookupKind<Wire, Args, Result, ListArgs>,
): Record<string, Lookup<Properties, object>> {
  // Each checks its arguments.
  const lookups = { [`get${name}`]: one(kind), [`get${name}s`]: all(kind) };
  return lookups as Record<string, Lookup<Properties, object>>;
}
