import type { Lifecycle } from "./lifecycle";
import { lifecycle as tlsCertificate } from "./tlsCertificate";
import { lifecycle as tlsEdge } from "./tlsEdge";

/** A kind of resource. */
export interface Kind {
  lifecycle: Lifecycle;
  /** Whether the old object and its replacement can't exist at the same time. */
  deleteBeforeReplace?: boolean;
}

/** The kinds of resources, by the names that they have in programs and in the plugin's schema. */
export const kinds: Readonly<Record<string, Kind>> = {
  TLSEdge: { lifecycle: tlsEdge, deleteBeforeReplace: true },
  TLSCertificate: { lifecycle: tlsCertificate },
};
