/**
 * TLS edges: their fields, and their endpoints.
 *
 * @module pulumi-tlsedge/client/tlsEdge
 */

import { type Endpoints, endpointsOf } from "./endpoints";
import { type Item, itemOf, serviceFields } from "./fields";
import { hostports } from "./inputs";
import { choice, flag, id, ids, list, part } from "./rows";
import type { AnswerOf, BodyOf } from "./table";

/** What each module has. @internal */
export const moduleFields = {
  /** Whether the module is applied to traffic. Default true. */
  enabled: flag("enabled", true),
};

/** The modules of an edge. A request that names one replaces it as a whole (api.md §4.1). @internal */
export const modules = {
  /** The backend behind the edge. */
  backend: part("backend", {
    ...moduleFields,
    /** The id of the backend. */
    backendId: id("backend_id", "backend"),
  }),
  /** Who may connect, by source address. */
  ipRestriction: part("ip_restriction", {
    ...moduleFields,
    /** The ids of the IP policies, one or more, in any order. */
    ipPolicyIds: ids("ip_policy_ids", "ip_policies"),
  }),
  /** Which authorities sign the certificates that clients must present. Not where TLS ends at the upstream. */
  mutualTls: part("mutual_tls", {
    ...moduleFields,
    /** The ids of the certificate authorities, one or more, in any order. */
    certificateAuthorityIds: ids("certificate_authority_ids", "certificate_authorities"),
  }),
  /** Where TLS ends, and the lowest TLS version. */
  tlsTermination: part("tls_termination", {
    ...moduleFields,
    /** `edge`: at the service. `upstream`: behind it. Default: the service's choice. */
    terminateAt: choice("terminate_at", "edge", "upstream"),
    /**
     * The lowest TLS version. Not where TLS ends at the upstream. Default: the service's choice,
     * which is a safe version.
     */
    minVersion: choice("min_version", "1.0", "1.1", "1.2", "1.3"),
  }),
};

/** The fields of an edge: a row of each. @internal */
export const fields = {
  ...serviceFields,
  /**
   * The hostports that the edge serves, in any order: each a host name and a port from 1 to 65535,
   * such as `app.example.com:443` or `*.example.com:443`. Letter case does not matter.
   */
  hostports: list("hostports", hostports),
  ...modules,
};

/** A TLS edge in an answer of the service. Lists omit scalars that are unset (api.md §2.1). */
export interface TLSEdgeWire extends Item, AnswerOf<typeof fields> {}

/** What each module of an edge has in a request. */
export interface ModuleMutation extends BodyOf<typeof moduleFields> {}

/** The body of a create or an update. */
export interface TLSEdgeMutation extends BodyOf<typeof fields> {}

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
  itemOf(fields),
);
