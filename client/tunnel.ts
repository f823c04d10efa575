/**
 * The endpoints of tunnels, with the names of the fields that the service has.
 *
 * @module pulumi-tlsedge/client/tunnel
 */

import * as v from "valibot";
import { type Endpoints, endpointsOf } from "./endpoints";
import { type FieldsOf, id, noList, object, oneRef, refs, text } from "./fields";

const fields = {
  /** Assigned by the service, opaque. */
  id,
  /** The URL of the tunnel's public endpoint. */
  public_url: text,
  /** When the tunnel was started, RFC 3339 in UTC. */
  started_at: text,
  /** The tunnel's metadata in the agent's configuration. */
  metadata: text,
  /** `http`, `https`, `tcp` or `tls`. */
  proto: text,
  /** The region in which the tunnel runs. */
  region: text,
  /** The session on which the tunnel was started. */
  tunnel_session: oneRef,
  /** The endpoint of a tunnel that an agent started. */
  endpoint: oneRef,
  /** The labels that backends match. */
  labels: v.nullish(noList(v.record(v.string(), v.string()))),
  /** The backends that the tunnel serves: one, a list or null. */
  backends: refs,
  /** Where the agent forwards traffic to: a URL or an address. */
  forwards_to: text,
};

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire extends FieldsOf<typeof fields> {}

/**
 * The tunnel endpoints: list and get only (api.md §4.3).
 *
 * @example
 * const { forwards_to } = await tunnels.get(client, "tn_…");
 */
export const tunnels: Pick<Endpoints<TunnelWire, never>, "get" | "list" | "pages"> = endpointsOf(
  "/tunnels",
  "tunnels",
  object(fields),
);
