/**
 * The endpoints of TLS edges, with the names of the fields that the service has.
 *
 * @module pulumi-tlsedge/client/tlsEdge
 */

import * as v from "valibot";
import { endpointsOf } from "./endpoints";
import {
  answer,
  enabled,
  part,
  type Ref,
  ref,
  refs,
  type ServiceObject,
  serviceObject,
  text,
  texts,
  type Unset,
} from "./fields";

/** A TLS edge in an answer of the service. Lists omit scalars that are unset (api.md §2.1). */
export interface TLSEdgeWire extends ServiceObject {
  /** The hostports that the edge serves, each a host and a port. */
  hostports?: Unset<string[]>;
  /** The backend behind the edge; unset when not configured. */
  backend?: Unset<BackendWire>;
  /** Who may connect, by source address; unset when not configured. */
  ip_restriction?: Unset<IpRestrictionWire>;
  /** Which authorities must sign the client certificates; unset when not configured. */
  mutual_tls?: Unset<MutualTlsWire>;
  /** Where TLS ends: at the edge, or behind it; unset when not configured. */
  tls_termination?: Unset<TlsTerminationWire>;
}

/** What each module of an edge has in an answer. */
export interface ModuleWire {
  /** Whether the module is applied to traffic; null means true. */
  enabled?: Unset<boolean>;
}

/** The module `backend` in an answer. */
export interface BackendWire extends ModuleWire {
  /** The backend itself. */
  backend?: Unset<Ref>;
}

/** The module `ip_restriction` in an answer. */
export interface IpRestrictionWire extends ModuleWire {
  /** The policies: one, a list or null. */
  ip_policies?: Unset<Ref | Ref[]>;
}

/** The module `mutual_tls` in an answer. */
export interface MutualTlsWire extends ModuleWire {
  /** The authorities: one, a list or null. */
  certificate_authorities?: Unset<Ref | Ref[]>;
}

/** The module `tls_termination` in an answer. */
export interface TlsTerminationWire extends ModuleWire {
  /** `edge` or `upstream`; services may add values. */
  terminate_at?: Unset<string>;
  /** Such as `1.2`; null with `upstream`. */
  min_version?: Unset<string>;
}

const schema = answer<TLSEdgeWire>({
  ...serviceObject,
  hostports: texts,
  backend: part<BackendWire>({ enabled, backend: v.nullish(ref) }),
  ip_restriction: part<IpRestrictionWire>({ enabled, ip_policies: refs }),
  mutual_tls: part<MutualTlsWire>({ enabled, certificate_authorities: refs }),
  tls_termination: part<TlsTerminationWire>({ enabled, terminate_at: text, min_version: text }),
});

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

/**
 * The TLS edge endpoints (api.md §4.1).
 *
 * @example
 * const edge = await tlsEdges.create(client, { hostports: ["app.example.com:443"] });
 * await tlsEdges.update(client, edge.id, { backend: { backend_id: "bkdtg_…" } });
 */
export const tlsEdges = endpointsOf<TLSEdgeWire, TLSEdgeMutation>(
  "/edges/tls",
  "tls_edges",
  schema,
);
