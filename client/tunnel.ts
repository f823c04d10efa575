/**
 * Tunnels: their fields, and their endpoints.
 *
 * @module pulumi-tlsedge/client/tunnel
 */

import * as v from "valibot";
import { noList, oneRef, type Ref, refs, text, type Unset } from "./answer";
import { type Endpoints, endpointsOf } from "./endpoints";
import { type Item, itemOf } from "./fields";
import { answered } from "./rows";
import type { AnswerOf } from "./table";

/** The fields of a tunnel, besides the id. Undefined where the service leaves one out. @internal */
export const fields = {
  /** The URL of the tunnel's public endpoint. */
  publicUrl: answered("public_url", text),
  /** When the tunnel was started, RFC 3339 in UTC. */
  startedAt: answered("started_at", text),
  /** The tunnel's metadata in the agent's configuration. */
  metadata: answered("metadata", text),
  /** `http`, `https`, `tcp` or `tls`. */
  proto: answered("proto", text),
  /** The region in which the tunnel runs. */
  region: answered("region", text),
  /** The session on which the tunnel was started. */
  tunnelSession: answered("tunnel_session", oneRef),
  /** The endpoint of a tunnel that an agent started. */
  endpoint: answered("endpoint", oneRef),
  /** The labels that backends match. */
  labels: answered("labels", v.nullish(noList(v.record(v.string(), v.string())))),
  /** The backends that the tunnel serves. */
  backends: {
    ...answered("backends", refs),
    read: (value: Unset<Ref | Ref[]>) => (value ? [value].flat() : undefined),
  },
  /** Where the agent forwards traffic to: a URL or an address. */
  forwardsTo: answered("forwards_to", text),
};

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire extends Item, AnswerOf<typeof fields> {}

/**
 * The tunnel endpoints: list and get only (api.md §4.3).
 *
 * @example
 * const { forwards_to } = await tunnels.get(client, "tn_…");
 */
export const tunnels: Pick<Endpoints<TunnelWire, never>, "get" | "list" | "pages"> = endpointsOf(
  "/tunnels",
  "tunnels",
  itemOf(fields),
);
