import type { Client } from "./client";
import type { Ref } from "./tlsEdge";

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URL of the tunnel's public endpoint. */
  public_url?: string | null;
  /** RFC 3339, UTC. */
  started_at?: string | null;
  /** What the agent's configuration says of the tunnel. */
  metadata?: string | null;
  /** `http`, `https`, `tcp` or `tls`. */
  proto?: string | null;
  /** Where the tunnel runs. */
  region?: string | null;
  /** The session on which it was started. */
  tunnel_session?: Ref | null;
  /** The endpoint of a tunnel that an agent started. */
  endpoint?: Ref | null;
  /** What backends match. */
  labels?: Record<string, string> | null;
  /** The backends that it serves. */
  backends?: Ref | Ref[] | null;
  /** Where the agent forwards to. */
  forwards_to?: string | null;
}

const path = "/tunnels";

/** The tunnel endpoints: list and get only (api.md §4.3). */
export const tunnels = {
  /** One, by id; a 404 when there is none. */
  get: (client: Client, id: string) => client.get<TunnelWire>(`${path}/${encodeURIComponent(id)}`),
  /** All, newest first, page by page. */
  list: (client: Client) => client.list<TunnelWire>(path, "tunnels"),
};
