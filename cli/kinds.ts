import { certificateKind } from "./tlsCertificate";
import { edgeKind } from "./tlsEdge";
import { tunnelKind } from "./tunnel";

/** The kinds that a program can adopt. */
export const adoptableKinds = [edgeKind, certificateKind];

/** All kinds of objects, in the order in which they are read and reported. */
export const kinds = [...adoptableKinds, tunnelKind];
