import * as v from "valibot";
import type { Client } from "./client";
import { endpointsOf } from "./endpoints";
import { commonFields, edgeModule, enabled, ref, refs, text } from "./fields";

/** The schema of a {@link TLSEdgeWire}. */
export const tlsEdgeWire = v.object({
  ...commonFields,
  /** The hostports that the edge serves, each a host and a port. */
  hostports: v.nullish(v.array(v.string())),
  /** The backend behind the edge. */
  backend: edgeModule({
    /** Whether the module is applied; null means true. */
    enabled,
    /** The backend itself. */
    backend: v.nullish(ref),
  }),
  /** Who may connect, by source address. */
  ip_restriction: edgeModule({
    /** Whether the module is applied; null means true. */
    enabled,
    /** The policies: one, a list or null. */
    ip_policies: refs,
  }),
  /** Which authorities must sign the client certificates. */
  mutual_tls: edgeModule({
    /** Whether the module is applied; null means true. */
    enabled,
    /** The authorities: one, a list or null. */
    certificate_authorities: refs,
  }),
  /** Where TLS ends: at the edge, or at the agent or server behind the edge. */
  tls_termination: edgeModule({
    /** Whether the module is applied; null means true. */
    enabled,
    /** `edge` or `upstream`; services may add values. */
    terminate_at: text,
    /** Such as `1.2`; null with `upstream`. */
    min_version: text,
  }),
});

/** A TLS edge in an answer of the service. Lists omit scalars that are unset (api.md §2.1). */
export interface TLSEdgeWire extends v.InferOutput<typeof tlsEdgeWire> {}

/** The body of a create or an update. A given module replaces the whole module (api.md §4.1). */
export interface TLSEdgeMutation {
  /** For people; at most 255 bytes of UTF-8. */
  description?: string;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: string;
  /** The hostports that the edge serves, each a host and a port. */
  hostports?: string[];
  /** The backend behind the edge. */
  backend?: {
    /** Whether the module is applied. */
    enabled?: boolean;
    /** The id of the backend. */
    backend_id?: string;
  };
  /** Who may connect, by source address. */
  ip_restriction?: {
    /** Whether the module is applied. */
    enabled?: boolean;
    /** The ids of the policies. */
    ip_policy_ids?: string[];
  };
  /** Which authorities must sign the client certificates. */
  mutual_tls?: {
    /** Whether the module is applied. */
    enabled?: boolean;
    /** The ids of the authorities. */
    certificate_authority_ids?: string[];
  };
  /** Where TLS ends. */
  tls_termination?: {
    /** Whether the module is applied. */
    enabled?: boolean;
    /** `edge` or `upstream`. */
    terminate_at?: string;
    /** Such as `1.2`; not with `upstream`. */
    min_version?: string;
  };
}

/** The modules that an edge may carry. */
export type TLSEdgeModule = "backend" | "ip_restriction" | "mutual_tls" | "tls_termination";

const path = "/edges/tls";

/** The TLS edge endpoints (api.md §4.1). */
export const tlsEdges = {
  ...endpointsOf<TLSEdgeWire, TLSEdgeMutation>(path, "tls_edges", tlsEdgeWire),
  /**
   * Deletes a module. api.md does not have this operation, but similar services do. So it is called
   * only when a program sets `onModuleRemoval` to `delete`.
   */
  deleteModule: (client: Client, id: string, module: TLSEdgeModule) =>
    client.delete(`${path}/${encodeURIComponent(id)}/${module}`),
};
