import type { Client } from "./client";

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  id: string;
  uri: string;
}

/** Where TLS ends: at the service's edge, or at the agent or server behind it (api.md §2.1). */
export interface TLSTerminationWire {
  enabled?: boolean | null;
  terminate_at?: string | null;
  min_version?: string | null;
}

/** A TLS edge as the service answers it. A list leaves out scalars that are unset (api.md §2.1). */
export interface TLSEdgeWire {
  id: string;
  uri: string;
  created_at: string;
  description?: string | null;
  metadata?: string | null;
  hostports?: string[] | null;
  backend?: { enabled?: boolean | null; backend?: Ref | null } | null;
  ip_restriction?: { enabled?: boolean | null; ip_policies?: Ref | Ref[] | null } | null;
  mutual_tls?: { enabled?: boolean | null; certificate_authorities?: Ref | Ref[] | null } | null;
  tls_termination?: TLSTerminationWire | null;
}

/** The body of a create or an update: a module that is present replaces all of it (api.md §4.1). */
export interface TLSEdgeMutation {
  description?: string;
  metadata?: string;
  hostports?: string[];
  backend?: { enabled?: boolean; backend_id?: string };
  ip_restriction?: { enabled?: boolean; ip_policy_ids?: string[] };
  mutual_tls?: { enabled?: boolean; certificate_authority_ids?: string[] };
  tls_termination?: { enabled?: boolean; terminate_at?: string; min_version?: string };
}

/** The modules that an edge may carry. */
export type TLSEdgeModule = "backend" | "ip_restriction" | "mutual_tls" | "tls_termination";

const path = "/edges/tls";
const at = (id: string) => `${path}/${encodeURIComponent(id)}`;

/** The TLS edge endpoints (api.md §4.1). */
export const tlsEdges = {
  create: (client: Client, body: TLSEdgeMutation) => client.post<TLSEdgeWire>(path, body),
  get: (client: Client, id: string) => client.get<TLSEdgeWire>(at(id)),
  update: (client: Client, id: string, body: TLSEdgeMutation) =>
    client.patch<TLSEdgeWire>(at(id), body),
  delete: (client: Client, id: string) => client.delete(at(id)),
  /** Not in api.md: services of this family have it, so it is only called when asked for. */
  deleteModule: (client: Client, id: string, module: TLSEdgeModule) =>
    client.delete(`${at(id)}/${module}`),
  list: (client: Client) => client.list<TLSEdgeWire>(path, "tls_edges"),
};
