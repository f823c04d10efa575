import * as tlsEdge from "../provider/tlsEdge";
import { edgeKind } from "./edge";
import type { AdoptableKind, Kind } from "./kind";
import { certificateKind } from "./tlsCertificate";
import { tunnelKind } from "./tunnel";

/** All kinds of objects, in the order in which they are read and reported. */
export const kinds = [
  edgeKind({ key: "edges", noun: "edge", className: "TLSEdge", provider: tlsEdge }),
  certificateKind,
  tunnelKind,
];

/** The kinds that a program can adopt. */
export const adoptableKinds = kinds.filter((kind) => "adoption" in kind);

/** Any of {@link kinds}. */
export type AnyKind = Kind<(typeof kinds)[number]["key"]>;

/** Any of {@link adoptableKinds}. */
export type AnyAdoptableKind = AdoptableKind<(typeof adoptableKinds)[number]["key"]>;
