import * as pulumi from "@pulumi/pulumi";
import type { Ref } from "../client/fields";
import { type TunnelWire, tunnels } from "../client/tunnel";
import { type Kind, type LookupArgs, one, oneOutput, stream } from "./lookup";
import type { InputOf } from "./resource";

/** A tunnel that is online (api.md §2.3); fields that the service leaves out are undefined. */
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
export interface GetTunnelsArgs extends LookupArgs {
  /** The exact URL of the public endpoint. */
  publicUrl?: string;
  /** Labels that a tunnel must have; it may have more. */
  labels?: Record<string, string>;
  /** The exact metadata. */
  metadata?: string;
  /** `http`, `https`, `tcp` or `tls`. */
  proto?: string;
  /** Where the tunnel runs. */
  region?: string;
  /** The exact URL or address that the agent forwards to. */
  forwardsTo?: string;
}

/** Which tunnel to look up: by `id`, or the only one that matches all given filters. */
export interface GetTunnelArgs extends GetTunnelsArgs {
  /** The id of the tunnel. With an id, other filters are ignored. */
  id?: string;
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

const scalars = ["publicUrl", "metadata", "proto", "region", "forwardsTo"] as const;

function matches(tunnel: GetTunnelResult, wanted: GetTunnelsArgs): boolean {
  return (
    scalars.every((field) => wanted[field] === undefined || wanted[field] === tunnel[field]) &&
    Object.entries(wanted.labels ?? {}).every(([label, value]) => tunnel.labels?.[label] === value)
  );
}

const kind: Kind<TunnelWire, GetTunnelsArgs, GetTunnelResult> = {
  title: "tunnel",
  filters: {
    publicUrl: "a string",
    labels: "an object of strings",
    metadata: "a string",
    proto: "a string",
    region: "a string",
    forwardsTo: "a string",
  },
  ...tunnels,
  result,
  matches: (wire, args) => matches(result(wire), args),
  label: ({ publicUrl, labels, forwardsTo }) => {
    const name = publicUrl ?? (labels ? JSON.stringify(labels) : "no URL");
    return forwardsTo ? `${name} → ${forwardsTo}` : name;
  },
  all: "Tunnels online",
};

/**
 * All matching tunnels that are online, newest first, as a stream. For very many tunnels: it holds
 * one page at a time, and requests a page only when it is needed.
 *
 * @example
 * for await (const { id, publicUrl } of streamTunnels({ proto: "tls" })) console.log(id, publicUrl);
 */
export async function* streamTunnels(
  args: GetTunnelsArgs = {},
): AsyncGenerator<GetTunnelResult, void, undefined> {
  yield* stream(kind, args);
}

/** All matching tunnels that are online, newest first, from any number of pages. */
export async function getTunnels(args: GetTunnelsArgs = {}): Promise<GetTunnelResult[]> {
  return Array.fromAsync(streamTunnels(args));
}

/**
 * Reads one tunnel that is online.
 *
 * @throws LookupError when none or several match; the message lists the tunnels that match, or the
 * first that are online.
 * @example
 * const { publicUrl } = await getTunnel({ labels: { app: "web", env: "prod" } });
 */
export async function getTunnel(args: GetTunnelArgs): Promise<GetTunnelResult> {
  return one(kind, args);
}

/** {@link getTunnel} for arguments that are outputs. An error shows no secret value. */
export function getTunnelOutput(args: InputOf<GetTunnelArgs>): pulumi.Output<GetTunnelResult> {
  return oneOutput(kind, args);
}

/** {@link getTunnels} for arguments that are outputs. */
export function getTunnelsOutput(
  args: InputOf<GetTunnelsArgs> = {},
): pulumi.Output<GetTunnelResult[]> {
  return pulumi.output(args).apply((known) => getTunnels(known as GetTunnelsArgs));
}
