import type { Ref } from "../../client/fields";
import { type TunnelWire, tunnels } from "../../client/tunnel";
import type { LookupKind } from "./lookup";

/** A tunnel that is online; fields that the service leaves out are undefined. */
export interface GetTunnelResult {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URL of the tunnel's public endpoint. */
  publicUrl?: string;
  /** When the tunnel was started, RFC 3339 in UTC. */
  startedAt?: string;
  /** The tunnel's metadata in the agent's configuration. */
  metadata?: string;
  /** `http`, `https`, `tcp` or `tls`. */
  proto?: string;
  /** The region in which the tunnel runs. */
  region?: string;
  /** The session on which the tunnel was started. */
  tunnelSession?: Ref;
  /** The endpoint of a tunnel that an agent started. */
  endpoint?: Ref;
  /** The labels that backends match. */
  labels?: Record<string, string>;
  /** The backends that the tunnel serves. */
  backends?: Ref[];
  /** Where the agent forwards traffic to: a URL or an address. */
  forwardsTo?: string;
}

/** Which tunnels to look up: those that match all given filters. */
export interface TunnelFilter {
  /** The exact URL of the public endpoint. */
  publicUrl?: string | undefined;
  /** Labels that a tunnel must have; it may have more. */
  labels?: Record<string, string> | undefined;
  /** The exact metadata. */
  metadata?: string | undefined;
  /** `http`, `https`, `tcp` or `tls`. */
  proto?: string | undefined;
  /** Where the tunnel runs. */
  region?: string | undefined;
  /** The exact URL or address that the agent forwards to. */
  forwardsTo?: string | undefined;
}

/** Which tunnel to look up: by `id`, or the only one that matches all given filters. */
export interface TunnelQuery extends TunnelFilter {
  /** The id of the tunnel. With an id, other filters are ignored. */
  id?: string | undefined;
}

function result(wire: TunnelWire): GetTunnelResult {
  return {
    id: wire.id,
    publicUrl: wire.public_url ?? undefined,
    startedAt: wire.started_at ?? undefined,
    metadata: wire.metadata ?? undefined,
    proto: wire.proto ?? undefined,
    region: wire.region ?? undefined,
    tunnelSession: wire.tunnel_session ?? undefined,
    endpoint: wire.endpoint ?? undefined,
    labels: wire.labels ?? undefined,
    backends: wire.backends ? [wire.backends].flat() : undefined,
    forwardsTo: wire.forwards_to ?? undefined,
  };
}

function matches(tunnel: GetTunnelResult, { labels = {}, ...fields }: TunnelFilter): boolean {
  return (
    Object.entries(fields).every(
      ([field, value]) => tunnel[field as keyof typeof fields] === value,
    ) && Object.entries(labels).every(([label, value]) => tunnel.labels?.[label] === value)
  );
}

/** How tunnels are looked up. */
export const lookup: LookupKind<TunnelWire, TunnelFilter, GetTunnelResult> = {
  title: "tunnel",
  filters: {
    publicUrl: "a string",
    labels: "a map of strings",
    metadata: "a string",
    proto: "a string",
    region: "a string",
    forwardsTo: "a string",
  },
  ...tunnels,
  isLive: true,
  texts: { publicUrl: (wire) => [wire.public_url], forwardsTo: (wire) => [wire.forwards_to] },
  result,
  matches: (wire, filter) => matches(result(wire), filter),
  label: ({ publicUrl, labels, forwardsTo }) => {
    const name = publicUrl ?? (labels ? JSON.stringify(labels) : "no URL");
    return forwardsTo ? `${name} → ${forwardsTo}` : name;
  },
};
