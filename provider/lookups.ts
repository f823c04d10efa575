import { all, one } from "./lookup";
import { kind as tlsCertificate } from "./tlsCertificateLookup";
import { kind as tlsEdge } from "./tlsEdge";
import { kind as tunnel } from "./tunnel";

/** The lookups, by the names that they have in programs and in the schema of the plugin. */
export const lookups = {
  getTunnel: one(tunnel),
  getTunnels: all(tunnel),
  getTLSEdge: one(tlsEdge),
  getTLSEdges: all(tlsEdge),
  getTLSCertificate: one(tlsCertificate),
  getTLSCertificates: all(tlsCertificate),
};
