import { plain } from "../client/plain";
import type { TunnelWire } from "../client/tunnel";
import { cell, type Row } from "./table";

/** A tunnel that is online, as `status --format json` prints it. */
export interface TunnelStatus {
  id: string;
  publicUrl: string | null;
  proto: string | null;
  region: string | null;
  labels: Record<string, string> | null;
  forwardsTo: string | null;
}

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
  const addresses = [publicUrl, pairs.join(", ")].flatMap((text) => (text ? cell(text) : []));
  return { id: plain(id), cells: [addresses, cell(forwardsTo ?? "-"), cell(region ?? "-")] };
}
