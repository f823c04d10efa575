import type { Client } from "../client/client";
import { type TLSCertificateWire, tlsCertificates } from "../client/tlsCertificate";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { type TunnelWire, tunnels } from "../client/tunnel";

/** All that an account holds, as the service lists it: newest first. */
export interface Account {
  /** The host of the base URL, with its port if that is not 443. */
  service: string;
  edges: TLSEdgeWire[];
  certificates: TLSCertificateWire[];
  tunnels: TunnelWire[];
  /** Whether objects that can't be used are left out. */
  isPartial?: boolean;
}

const lists = { edges: tlsEdges.list, certificates: tlsCertificates.list, tunnels: tunnels.list };

/** Reads some lists of an account. Names objects that can't be used, and shows at a terminal which list it reads. */
export async function readAccount<Key extends keyof typeof lists>(
  client: Client,
  keys: Key[],
  stderr: { write(text: string): unknown; isTTY?: boolean },
): Promise<Pick<Account, Key | "service" | "isPartial">> {
  const found: Partial<Account> = { service: client.baseUrl.host };
  const show = (text: string) => stderr.isTTY && stderr.write(`\r\u001b[K${text}`);
  const warn = (text: string) => {
    found.isPartial = true;
    show("");
    stderr.write(`warning: ${text}\n`);
  };
  try {
    for (const key of keys) {
      show(`Reading ${key}…`);
      const objects: AsyncIterable<{ id: string }> = lists[key](client.operation(), warn);
      // A list that changes while it is read can contain an object twice.
      const byId = new Map((await Array.fromAsync(objects)).map((one) => [one.id, one]));
      Object.assign(found, { [key]: [...byId.values()] });
    }
  } finally {
    show("");
  }
  return found as Account;
}
