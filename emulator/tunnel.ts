import type { Resource } from "./requests";
import { Collection } from "./store";
import { newId, type Ref, timestamp, type Unset } from "./wire";

/** A tunnel that is online (api.md §2.3). */
export interface TunnelWire {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URL of the tunnel's public endpoint. */
  public_url?: Unset<string>;
  /** RFC 3339, UTC. */
  started_at?: Unset<string>;
  /** The tunnel's metadata in the agent's configuration. */
  metadata?: Unset<string>;
  /** `http`, `https`, `tcp` or `tls`. */
  proto?: Unset<string>;
  /** Where the tunnel runs. */
  region?: Unset<string>;
  /** The session on which the tunnel was started. */
  tunnel_session?: Unset<Ref>;
  /** The endpoint of a tunnel that an agent started. */
  endpoint?: Unset<Ref>;
  /** The labels that backends match. */
  labels?: Unset<Record<string, string>>;
  /** The backends that the tunnel serves. */
  backends?: Unset<Ref | Ref[]>;
  /** Where the agent forwards to. */
  forwards_to?: Unset<string>;
}

/** Tunnels (api.md §4.3). Requests only read them. */
export const tunnels: Resource<TunnelWire> = { name: "tunnels", path: "/tunnels" };

/** The tunnels that are online. To delete one takes it offline. */
export class Tunnels extends Collection<TunnelWire> {
  /**
   * Puts a tunnel online, as an agent does. Missing fields get example values: with `labels` those
   * of a backend tunnel, otherwise those of an https tunnel.
   */
  online(given: Partial<TunnelWire>): TunnelWire {
    const { id = newId("tn"), labels, proto = "https" } = given;
    const host = `${id.slice(-12).toLowerCase()}.tunnels.example`;
    const kind = labels
      ? { backends: [this.ref(newId("bkdtg"), "/backends/tunnel_group")] }
      : {
          public_url: proto === "tcp" ? `tcp://${host}:20443` : `${proto}://${host}`,
          proto,
          endpoint: this.ref(newId("ep"), "/endpoints"),
        };
    return this.set({
      id,
      started_at: timestamp(new Date()),
      metadata: "",
      region: "us",
      tunnel_session: this.ref(newId("ts"), "/tunnel_sessions"),
      forwards_to: "http://localhost:80",
      ...kind,
      ...given,
    });
  }
}

/** One tunnel of each kind, newest first. */
export function exampleTunnels(): Partial<TunnelWire>[] {
  const ago = (minutes: number) => timestamp(new Date(Date.now() - minutes * 60_000));
  return [
    {
      public_url: "https://preview-142.acme.example",
      started_at: ago(4),
      metadata: '{"pullRequest":142}',
      forwards_to: "http://localhost:3000",
    },
    {
      started_at: ago(60 * 30),
      metadata: '{"host":"web-1"}',
      region: "eu",
      labels: { app: "web", env: "production" },
      forwards_to: "https://web-1.internal:8443",
    },
  ];
}
