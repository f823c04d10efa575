import * as v from "valibot";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { EdgeLifecycle } from "./edge";
import type { ImportName } from "./importName";
import { defined, isObject, type Problem, type Properties, unknownValue } from "./lifecycle";
import { type LookupKind, matchesObject, type ObjectFilter, objectFilters, one } from "./lookup";
import { type Found, type NamesOf, type ServiceState, serviceNames } from "./state";
import {
  description,
  edgeModule,
  hostports,
  id,
  metadata,
  minVersion,
  someIds,
} from "./values/inputs";
import { idField, idsField, textField } from "./values/modules";

/** The inputs of a TLS edge (api.md §4.1). `TLSEdgeArgs` in sdk/tlsEdge.ts describes them. */
export const schema = v.strictObject({
  description,
  metadata,
  hostports,
  backend: edgeModule({ backendId: id }),
  ipRestriction: edgeModule({ ipPolicyIds: someIds }),
  mutualTls: edgeModule({ certificateAuthorityIds: someIds }),
  tlsTermination: edgeModule({
    terminateAt: v.optional(v.picklist(["edge", "upstream"])),
    minVersion: v.optional(minVersion),
  }),
  onModuleRemoval: v.optional(v.picklist(["disable", "delete", "replace"])),
  connection: v.optional(v.string()),
});

/** The inputs of a TLS edge, all known. */
export type TLSEdgeInputs = v.InferInput<typeof schema>;

/** A version of TLS. */
export type TLSVersion = "1.0" | "1.1" | "1.2" | "1.3";

/** What state holds of a TLS edge; null is unset. */
export interface TLSEdgeState extends ServiceState {
  /** The hostports that the edge serves, each a host and a port. */
  hostports: string[];
  /** The backend behind the edge; unset when not configured. */
  backend: BackendState | null;
  /** Who may connect, by source address; unset when not configured. */
  ipRestriction: IpRestrictionState | null;
  /** Which authorities must sign the client certificates; unset when not configured. */
  mutualTls: MutualTlsState | null;
  /** Where TLS ends, with the values that the service chose; unset when not configured. */
  tlsTermination: TlsTerminationState | null;
}

/** The names of {@link TLSEdgeState}. */
export const stateNames: NamesOf<TLSEdgeState> = {
  ...serviceNames,
  hostports: "always",
  backend: "nullable",
  ipRestriction: "nullable",
  mutualTls: "nullable",
  tlsTermination: "nullable",
};

/** What each module of a deployed edge has. */
export interface ModuleState {
  /** Whether the module is applied to traffic. */
  enabled: boolean;
}

/** The module `backend` of a deployed edge. */
export interface BackendState extends ModuleState {
  /** The id of the backend. */
  backendId: string;
}

/** The module `ipRestriction` of a deployed edge. */
export interface IpRestrictionState extends ModuleState {
  /** The ids of the IP policies. */
  ipPolicyIds: string[];
}

/** The module `mutualTls` of a deployed edge. */
export interface MutualTlsState extends ModuleState {
  /** The ids of the certificate authorities. */
  certificateAuthorityIds: string[];
}

/** The module `tlsTermination` of a deployed edge. */
export interface TlsTerminationState extends ModuleState {
  /** `edge`: at the service. `upstream`: behind it. */
  terminateAt?: "edge" | "upstream";
  /** The lowest TLS version. */
  minVersion?: TLSVersion;
}

/** The modules and their wire names (api.md §4.1). */
const moduleTable = {
  backend: {
    wire: "backend",
    fields: { backendId: idField("backend_id", "backend") },
    loss: "its traffic ends",
  },
  ipRestriction: {
    wire: "ip_restriction",
    fields: { ipPolicyIds: idsField("ip_policy_ids", "ip_policies") },
  },
  mutualTls: {
    wire: "mutual_tls",
    fields: {
      certificateAuthorityIds: idsField("certificate_authority_ids", "certificate_authorities"),
    },
  },
  tlsTermination: {
    wire: "tls_termination",
    fields: { terminateAt: textField("terminate_at"), minVersion: textField("min_version") },
  },
};

/** The lifecycle of TLS edges. */
export const lifecycle = new EdgeLifecycle({
  title: "TLS edge",
  schema,
  stateNames,
  modules: moduleTable,
  endpoints: tlsEdges,
  problems: problemsOfTermination,
  // With `upstream`, even in a disabled module, the service refuses mutual TLS.
  disabled: ({ terminateAt }, { mutualTls }) =>
    terminateAt === "upstream" && mutualTls !== undefined ? { terminateAt: "edge" } : {},
});

/** With `upstream` the service passes TLS through, so these settings can't apply (api.md §2.1). */
function problemsOfTermination({ tlsTermination, mutualTls }: Properties): Problem[] {
  if (!isObject(tlsTermination) || tlsTermination.terminateAt !== "upstream") return [];
  const problems: Problem[] = [];
  if (tlsTermination.minVersion !== undefined && tlsTermination.minVersion !== unknownValue) {
    problems.push({
      path: "tlsTermination.minVersion",
      reason: "can't be set when terminateAt is upstream: set it where TLS ends",
    });
  }
  if (isObject(mutualTls)) {
    problems.push({
      path: "mutualTls",
      reason: "needs terminateAt edge: with upstream, the service does not see client certificates",
    });
  }
  return problems;
}

/** The result of an edge lookup; unset fields are undefined. */
export interface GetTLSEdgeResult extends Found<TLSEdgeState> {}

/** Which edges to look up. */
export interface TLSEdgeFilter extends ObjectFilter {
  /** Only edges that serve this host and port, such as `app.example.com:443`. */
  hostport?: string;
}

/** Which edge to look up: by `id`, or the only one that matches all given filters. */
export interface TLSEdgeQuery extends TLSEdgeFilter {
  /** The id of the edge. With an id, other filters are ignored. */
  id?: string;
}

/** How edges are looked up. */
export const lookup: LookupKind<TLSEdgeWire, TLSEdgeQuery, GetTLSEdgeResult> = {
  title: lifecycle.title,
  filters: { hostport: "a string", ...objectFilters },
  ...tlsEdges,
  result: (wire) =>
    defined({ id: wire.id, ...lifecycle.toState(wire) }) as unknown as GetTLSEdgeResult,
  matches: (wire, { hostport, ...filter }) =>
    (hostport === undefined || serves(wire, hostport)) && matchesObject(wire, filter),
  label: ({ hostports, description }) => hostports.join(", ") || description || "no hostports",
};

const listing: typeof lookup = { ...lookup, all: "TLS edges of the account" };
const find = one(listing);

/** An import may name an edge by a hostport. */
export const importName: ImportName = {
  nameIn: (text) => (/^[^\s/]+:\d+$/.test(text) ? text.toLowerCase() : undefined),
  namesOf: ({ hostports }) =>
    ((hostports ?? []) as string[]).map((hostport) => hostport.toLowerCase()),
  find: (client, hostport) => find(client, { hostport }),
};

function serves({ hostports }: TLSEdgeWire, hostport: string): boolean {
  return (hostports ?? []).some((served) => served.toLowerCase() === hostport.toLowerCase());
}
