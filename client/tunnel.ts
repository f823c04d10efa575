import * as v from "valibot";
import { type Endpoints, endpointsOf } from "./endpoints";
import { noList, ref, refs, text } from "./fields";

/** The schema of a {@link TunnelWire}. */
export const tunnelWire = v.object({
  /** Assigned by the service, opaque. */
  id: v.string(),
  /** The URL of the tunnel's public endpoint. */
  public_url: text,
  /** RFC 3339, UTC. */
  started_at: text,
  /** The tunnel's metadata in the agent's configuration. */
  metadata: text,
  /** `http`, `https`, `tcp` or `tls`. */
  proto: text,
  /** Where the tunnel runs. */
  region: text,
  /** The session on which the tunnel was started. */
  tunnel_session: v.nullish(ref),
  /** The endpoint of a tunnel that an agent started. */
  endpoint: v.nullish(ref),
  /** The labels that backends match. */
  labels: v.nullish(noList(v.record(v.string(), v.string()))),
  /** The backends that the tunnel serves. */
  backends: refs,
  /** Where the agent forwards to. */
  forwards_to: text,
});

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire extends v.InferOutput<typeof tunnelWire> {}

/** The tunnel endpoints: list and get only (api.md §4.3). */
export const tunnels: Pick<Endpoints<TunnelWire, never>, "get" | "list"> = endpointsOf(
  "/tunnels",
  "tunnels",
  tunnelWire,
);
