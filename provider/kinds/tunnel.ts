import type { Item } from "../../client/fields";
import { type StateOf, stateOf } from "../../client/table";
import { fields, type TunnelWire, tunnels } from "../../client/tunnel";
import type { Properties } from "../values/properties";
import type { LookupKind } from "./lookup";

/** A tunnel that is online; fields that the service leaves out are undefined. */
export interface GetTunnelResult extends Item, StateOf<typeof fields> {}

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
  result: (wire) => ({ id: wire.id, ...stateOf(fields, wire) }),
  matches(wire, { labels = {}, ...texts }) {
    const tunnel: Properties = stateOf(fields, wire);
    const hasText = ([name, text]: [string, unknown]) => tunnel[name] === text;
    const hasLabel = ([label, value]: [string, string]) => wire.labels?.[label] === value;
    return Object.entries(texts).every(hasText) && Object.entries(labels).every(hasLabel);
  },
  label: ({ publicUrl, labels, forwardsTo }) => {
    const name = publicUrl ?? (labels ? JSON.stringify(labels) : "no URL");
    return forwardsTo ? `${name} → ${forwardsTo}` : name;
  },
};
