import type { Client } from "./client";
import type { Ref } from "./tlsEdge";

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire {
  id: string;
  public_url?: string | null;
  started_at?: string | null;
  metadata?: string | null;
  proto?: string | null;
  region?: string | null;
  tunnel_session?: Ref | null;
  endpoint?: Ref | null;
  labels?: Record<string, string> | null;
  backends?: Ref | Ref[] | null;
  forwards_to?: string | null;
}

const path = "/tunnels";

/** The tunnel endpoints: list and get only (api.md §4.3). */
export const tunnels = {
  get: (client: Client, id: string) => client.get<TunnelWire>(`${path}/${encodeURIComponent(id)}`),
  list: (client: Client) => client.list<TunnelWire>(path, "tunnels"),
};
