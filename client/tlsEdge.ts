import type { Client } from "./client";

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** Where the service serves it. */
  uri: string;
}

/** Where TLS ends: at the service's edge, or at the agent or server behind it (api.md §2.1). */
export interface TLSTerminationWire {
  /** Whether the module is applied; null means true. */
  enabled?: boolean | null;
  /** `edge` or `upstream`; may gain values. */
  terminate_at?: string | null;
  /** Such as `1.2`; null with `upstream`. */
  min_version?: string | null;
}

/** A TLS edge as the service answers it. A list leaves out scalars that are unset (api.md §2.1). */
export interface TLSEdgeWire {
  /** Assigned by the service, opaque. */
  id: string;
  /** Where the service serves it. */
  uri: string;
  /** RFC 3339, UTC. */
  created_at: string;
  /** For people; at most 255 bytes of UTF-8. */
  description?: string | null;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: string | null;
  /** What it serves, each a host and a port. */
  hostports?: string[] | null;
  /** The backend behind it. */
  backend?: {
    /** Whether the module is applied. */
    enabled?: boolean | null;
    /** The backend itself. */
    backend?: Ref | null;
  } | null;
  /** Who may connect, by source address. */
  ip_restriction?: {
    /** Whether the module is applied. */
    enabled?: boolean | null;
    /** The policies: one, a list or null. */
    ip_policies?: Ref | Ref[] | null;
  } | null;
  /** Whose client certificates are asked for. */
  mutual_tls?: {
    /** Whether the module is applied. */
    enabled?: boolean | null;
    /** The authorities: one, a list or null. */
    certificate_authorities?: Ref | Ref[] | null;
  } | null;
  /** Where TLS ends. */
  tls_termination?: TLSTerminationWire | null;
}

/** The body of a create or an update: a module that is present replaces all of it (api.md §4.1). */
export interface TLSEdgeMutation {
  /** For people; at most 255 bytes of UTF-8. */
  description?: string;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: string;
  /** What it serves, each a host and a port. */
  hostports?: string[];
  /** The backend behind it. */
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
  /** Whose client certificates are asked for. */
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
const at = (id: string) => `${path}/${encodeURIComponent(id)}`;

/** The TLS edge endpoints (api.md §4.1). */
export const tlsEdges = {
  /** Makes one; not asked again where that might make a second. */
  create: (client: Client, body: TLSEdgeMutation) => client.post<TLSEdgeWire>(path, body),
  /** One, by id; a 404 when there is none. */
  get: (client: Client, id: string) => client.get<TLSEdgeWire>(at(id)),
  /** Sends what changes, and no more. */
  update: (client: Client, id: string, body: TLSEdgeMutation) =>
    client.patch<TLSEdgeWire>(at(id), body),
  /** Takes one away; a 404 when there is none. */
  delete: (client: Client, id: string) => client.delete(at(id)),
  /** Not in api.md: services of this family have it, so it is only called when asked for. */
  deleteModule: (client: Client, id: string, module: TLSEdgeModule) =>
    client.delete(`${at(id)}/${module}`),
  /** All, newest first, page by page. */
  list: (client: Client) => client.list<TLSEdgeWire>(path, "tls_edges"),
};
