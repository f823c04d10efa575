import type { Item } from "../../client/fields";
import { type StateOf, stateOf } from "../../client/table";
import { fields, type TunnelWire, tunnels } from "../../client/tunnel";
import type { LookupKind } from "./lookup";

/** A tunnel that is online; fields that the service leaves out are undefined. */
export interface GetTunnelResult extends Item, StateOf<typeof fields> {}

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

const result = (wire: TunnelWire): GetTunnelResult => ({ id: wire.id, ...stateOf(fields, wire) });

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
  isReadAfresh: true,
  texts: (wire) => ({ publicUrl: [wire.public_url], forwardsTo: [wire.forwards_to] }),
  result,
  matches: (wire, filter) => matches(result(wire), filter),
  label: ({ publicUrl, labels, forwardsTo }) => {
    const name = publicUrl ?? (labels ? JSON.stringify(labels) : "no URL");
    return forwardsTo ? `${name} → ${forwardsTo}` : name;
  },
};
