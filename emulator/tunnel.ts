import { Hono } from "hono";
import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import {
  readBody,
  refuseOtherMethods,
  refuseParameters,
  type Served,
  serveDelete,
  serveReads,
  strictObject,
} from "./requests";
import { Collection, newId, type Store, timestamp } from "./store";
import type { Ref, Unset } from "./wire";

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

const control = "/_emulator/tunnels";

const text = v.optional(v.string());
const ref = strictObject({ id: v.string(), uri: v.string() });
const tunnel = strictObject({
  id: v.optional(v.pipe(v.string(), v.nonEmpty())),
  public_url: text,
  started_at: text,
  metadata: text,
  proto: text,
  region: text,
  tunnel_session: v.optional(ref),
  endpoint: v.optional(ref),
  labels: v.optional(v.record(v.string(), v.string())),
  backends: v.optional(v.union([ref, v.array(ref)])),
  forwards_to: text,
});

/** Puts tunnels online and takes them offline, as agents do. */
export interface Tunnels {
  /** The tunnels that are online, newest first. */
  list(): TunnelWire[];
  /**
   * Puts a tunnel online. Missing fields get example values: with `labels` those of a backend
   * tunnel, otherwise those of an https tunnel. Throws when a tunnel with the given id is online.
   */
  online(tunnel: Partial<TunnelWire>): TunnelWire;
  /** Takes a tunnel offline. Throws when it isn't online. */
  offline(id: string): void;
}

/** Serves tunnels (api.md §4.3), and the emulator's own routes to put them online and offline. */
export function serveTunnels(
  store: Store,
  { tunnels: seeds = exampleTunnels() }: { tunnels?: Partial<TunnelWire>[] } = {},
): Served<Tunnels> {
  const tunnels = new Collection<TunnelWire>(store, "tunnels", "/tunnels");
  const routes = new Hono();
  serveReads(routes, tunnels);
  refuseOtherMethods(routes, tunnels.path, "GET");
  refuseOtherMethods(routes, `${tunnels.path}/:id`, "GET");

  const online = (given: Partial<TunnelWire>): TunnelWire => {
    if (given.id !== undefined && tunnels.get(given.id)) {
      throw new Refusal(reasons.tunnelOnline, `The tunnel ${given.id} is online already.`);
    }
    return tunnels.add(completed(tunnels, given));
  };
  routes.post(control, async (c) => {
    refuseParameters(c);
    return c.json(online(await readBody(c, tunnel)), 201);
  });
  serveDelete(routes, tunnels, control);
  refuseOtherMethods(routes, control, "POST");
  refuseOtherMethods(routes, `${control}/:id`, "DELETE");

  const { list, delete: offline } = tunnels.direct();
  const direct: Tunnels = { list, online, offline };
  const seed = () => [...seeds].reverse().forEach((each) => void online(each));
  return { documents: tunnels, routes, direct, seed };
}

function completed(tunnels: Collection<TunnelWire>, given: Partial<TunnelWire>): TunnelWire {
  const session = tunnels.ref(newId("ts"), "/tunnel_sessions");
  const id = given.id ?? newId("tn");
  const started_at = given.started_at ?? timestamp();
  const common = {
    metadata: "",
    region: "us",
    tunnel_session: session,
    forwards_to: "http://localhost:80",
    ...given,
  };
  if (given.labels) {
    const backend = tunnels.ref(newId("bkdtg"), "/backends/tunnel_group");
    return { id, started_at, backends: [backend], ...common };
  }
  const host = `${id.slice(-12).toLowerCase()}.tunnels.example`;
  return {
    id,
    started_at,
    public_url:
      given.proto === "tcp" ? `tcp://${host}:20443` : `${given.proto ?? "https"}://${host}`,
    proto: "https",
    endpoint: tunnels.ref(newId("ep"), "/endpoints"),
    ...common,
  };
}

/** Example tunnels, newest first. */
function exampleTunnels(): Partial<TunnelWire>[] {
  const ago = (minutes: number) => timestamp(new Date(Date.now() - minutes * 60_000));
  return [
    {
      public_url: "https://preview-142.acme.example",
      started_at: ago(4),
      metadata: '{"pullRequest":142}',
      proto: "https",
      region: "us",
      forwards_to: "http://localhost:3000",
    },
    {
      public_url: "http://webhooks.acme.example",
      started_at: ago(31),
      proto: "http",
      region: "us",
      forwards_to: "http://localhost:8080",
    },
    {
      public_url: "tcp://1.tcp.eu.acme.example:21043",
      started_at: ago(95),
      metadata: "bastion",
      proto: "tcp",
      region: "eu",
      forwards_to: "localhost:22",
    },
    {
      public_url: "tls://mqtt.acme.example:443",
      started_at: ago(60 * 7),
      metadata: '{"team":"iot"}',
      proto: "tls",
      region: "ap",
      forwards_to: "10.20.0.14:8883",
    },
    {
      started_at: ago(60 * 30),
      metadata: '{"host":"web-1"}',
      region: "eu",
      labels: { app: "web", env: "production" },
      forwards_to: "https://web-1.internal:8443",
    },
    {
      started_at: ago(60 * 31),
      metadata: '{"host":"api-1"}',
      region: "eu",
      labels: { app: "api", env: "production" },
      forwards_to: "https://api-1.internal:8443",
    },
  ];
}
