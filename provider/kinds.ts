import type { ImportName } from "./importName";
import type { Lifecycle, Properties } from "./lifecycle";
import { all, type Lookup, type LookupKind, one } from "./lookup";
import * as tlsCertificate from "./tlsCertificate";
import * as tlsCertificateLookup from "./tlsCertificateLookup";
import * as tlsEdge from "./tlsEdge";
import * as tunnel from "./tunnel";

/** A kind of resource: an object of the service that a program can declare. */
export interface Kind {
  lifecycle: Lifecycle;
  importName: ImportName;
  /** Whether the old object and its replacement can't exist at the same time. */
  deleteBeforeReplace?: boolean;
}

/** The kinds of resources, by the names that they have in programs and in the plugin's schema. */
export const kinds = {
  TLSEdge: {
    lifecycle: tlsEdge.lifecycle,
    importName: tlsEdge.importName,
    deleteBeforeReplace: true,
  },
  TLSCertificate: {
    lifecycle: tlsCertificate.lifecycle,
    importName: tlsCertificateLookup.importName,
  },
} satisfies Record<string, Kind>;

/** The lookups, by the names that they have in programs and in the plugin's schema. */
export const lookups: Readonly<Record<string, Lookup<Properties, object>>> = {
  ...lookupsOf("Tunnel", tunnel.lookup),
  ...lookupsOf("TLSEdge", tlsEdge.lookup),
  ...lookupsOf("TLSCertificate", tlsCertificateLookup.lookup),
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
