import { plain } from "../client/plain";
import { type TunnelWire, tunnels } from "../client/tunnel";
import type { Kind } from "./kind";
import { cell, type Row } from "./table";

/** A tunnel that is online, as `status --json` prints it. */
export interface TunnelStatus {
  id: string;
  publicUrl: string | null;
  proto: string | null;
  region: string | null;
  labels: Record<string, string> | null;
  forwardsTo: string | null;
}

/** Tunnels: agents make them, so a program only reads them. */
export const tunnelKind: Kind = {
  key: "tunnels",
  noun: "tunnel",
  heading: "tunnels online",
  list: tunnels.list,
};

export const readTunnel = (wire: TunnelWire): TunnelStatus => ({
  id: wire.id,
  publicUrl: wire.public_url || null,
  proto: wire.proto || null,
  region: wire.region || null,
  labels: wire.labels ?? null,
  forwardsTo: wire.forwards_to || null,
});

/** A row with the address, what it forwards to, and the region. A URL says the protocol. */
export function tunnelRow({ id, publicUrl, labels, forwardsTo, region }: TunnelStatus): Row {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
  const addresses = [publicUrl ?? "", pairs.join(", ")].filter((text) => text !== "");
  const others = [forwardsTo, region].map((text) => cell(text ?? "-"));
  return { id: plain(id), cells: [addresses.flatMap((text) => cell(text)), ...others] };
}
