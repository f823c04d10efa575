/**
 * The endpoints of TLS edges, with the names of the fields that the service has.
 *
 * @module pulumi-tlsedge/client/tlsEdge
 */

import * as v from "valibot";
import { type Endpoints, endpointsOf } from "./endpoints";
import { type FieldsOf, object, oneRef, refs, serviceObject, text, texts } from "./fields";

/** What each module of an edge has in an answer. */
const moduleFields = {
  /** Whether the module is applied to traffic; null means true. */
  enabled: v.nullish(v.boolean()),
};

const fields = {
  ...serviceObject,
  /** The hostports that the edge serves, each a host and a port. */
  hostports: texts,
  /** The backend behind the edge; unset when not configured. */
  backend: v.nullish(
    object({
      ...moduleFields,
      /** The backend itself. */
      backend: oneRef,
    }),
  ),
  /** Who may connect, by source address; unset when not configured. */
  ip_restriction: v.nullish(
    object({
      ...moduleFields,
      /** The policies: one, a list or null. */
      ip_policies: refs,
    }),
  ),
  /** Which authorities must sign the client certificates; unset when not configured. */
  mutual_tls: v.nullish(
    object({
      ...moduleFields,
      /** The authorities: one, a list or null. */
      certificate_authorities: refs,
    }),
  ),
  /** Where TLS ends: at the edge, or behind it; unset when not configured. */
  tls_termination: v.nullish(
    object({
      ...moduleFields,
      /** `edge` or `upstream`; services may add values. */
      terminate_at: text,
      /** Such as `1.2`; null with `upstream`. */
      min_version: text,
    }),
  ),
};

/** A TLS edge in an answer of the service. Lists omit scalars that are unset (api.md §2.1). */
export interface TLSEdgeWire extends FieldsOf<typeof fields> {}

/** What each module of an edge has in a request. */
export interface ModuleMutation {
  /** Whether the module is applied to traffic. Default true. */
  enabled?: boolean;
}

/** The body of a create or an update. A given module replaces the whole module (api.md §4.1). */
export interface TLSEdgeMutation {
  /** For people; at most 255 bytes of UTF-8. */
  description?: string;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: string;
  /** The hostports that the edge serves, each a host and a port. */
  hostports?: string[];
  /** The backend behind the edge. */
  backend?: ModuleMutation & {
    /** The id of the backend. */
    backend_id?: string;
  };
  /** Who may connect, by source address. */
  ip_restriction?: ModuleMutation & {
    /** The ids of the policies. */
    ip_policy_ids?: string[];
  };
  /** Which authorities must sign the client certificates. */
  mutual_tls?: ModuleMutation & {
    /** The ids of the authorities. */
    certificate_authority_ids?: string[];
  };
  /** Where TLS ends. */
  tls_termination?: ModuleMutation & {
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
export const tlsEdges: Endpoints<TLSEdgeWire, TLSEdgeMutation> = endpointsOf(
  "/edges/tls",
  "tls_edges",
  object(fields),
);
