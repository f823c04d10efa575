/**
 * The endpoints of tunnels, with the names of the fields that the service has.
 *
 * @module pulumi-tlsedge/client/tunnel
 */

import * as v from "valibot";
import { type Endpoints, endpointsOf } from "./endpoints";
import { answer, noList, type Ref, ref, refs, text, type Unset } from "./fields";

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URL of the tunnel's public endpoint. */
  public_url?: Unset<string>;
  /** When the tunnel was started, RFC 3339 in UTC. */
  started_at?: Unset<string>;
  /** The tunnel's metadata in the agent's configuration. */
  metadata?: Unset<string>;
  /** `http`, `https`, `tcp` or `tls`. */
  proto?: Unset<string>;
  /** The region in which the tunnel runs. */
  region?: Unset<string>;
  /** The session on which the tunnel was started. */
  tunnel_session?: Unset<Ref>;
  /** The endpoint of a tunnel that an agent started. */
  endpoint?: Unset<Ref>;
  /** The labels that backends match. */
  labels?: Unset<Record<string, string>>;
  /** The backends that the tunnel serves. */
  backends?: Unset<Ref | Ref[]>;
  /** Where the agent forwards traffic to: a URL or an address. */
  forwards_to?: Unset<string>;
}

const schema = answer<TunnelWire>({
  id: v.string(),
  public_url: text,
  started_at: text,
  metadata: text,
  proto: text,
  region: text,
  tunnel_session: v.nullish(ref),
  endpoint: v.nullish(ref),
  labels: v.nullish(noList(v.record(v.string(), v.string()))),
  backends: refs,
  forwards_to: text,
});

/**
 * The tunnel endpoints: list and get only (api.md §4.3).
 *
 * @example
 * const { forwards_to } = await tunnels.get(client, "tn_…");
 */
export const tunnels: Pick<Endpoints<TunnelWire, never>, "get" | "list"> = endpointsOf(
  "/tunnels",
  "tunnels",
  schema,
);
