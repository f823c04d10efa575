import { plain } from "../client/plain";
import { type TunnelWire, tunnels } from "../client/tunnel";
import type { Kind, ObjectStatus } from "./kind";
import { cell } from "./table";

/** A tunnel that is online, as `status --json` prints it. */
export interface TunnelStatus extends ObjectStatus {
  publicUrl: string | null;
  proto: string | null;
  region: string | null;
  labels: Record<string, string> | null;
  forwardsTo: string | null;
}

/** Tunnels: agents make them, so a program only reads them. */
export const tunnelKind: Kind<"tunnels", TunnelWire, TunnelStatus> = {
  key: "tunnels",
  noun: "tunnel",
  heading: "tunnels online",
  list: tunnels.list,
  read: (wire) => ({
    status: {
      id: wire.id,
      publicUrl: wire.public_url || null,
      proto: wire.proto || null,
      region: wire.region || null,
      labels: wire.labels ?? null,
      forwardsTo: wire.forwards_to || null,
    },
  }),
  heads: ["ID", "URL OR LABELS", "FORWARDS TO", "PROTO", "REGION"],
  row({ id, publicUrl, labels, forwardsTo, proto, region }) {
    const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
    const addresses = [publicUrl ?? "", pairs.join(", ")].filter((text) => text !== "");
    const others = [forwardsTo, proto, region].map((text) => cell(text ?? "-"));
    return { id: plain(id), cells: [addresses.flatMap((text) => cell(text)), ...others] };
  },
};
