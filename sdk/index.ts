export type { TLSVersion } from "../provider/tlsEdge";
export { LookupError } from "./lookup";
export {
  type GetTLSCertificateArgs,
  type GetTLSCertificateResult,
  type GetTLSCertificatesArgs,
  getTLSCertificate,
  getTLSCertificateOutput,
  getTLSCertificates,
  getTLSCertificatesOutput,
  type SubjectAlternativeNames,
  TLSCertificate,
  type TLSCertificateArgs,
} from "./tlsCertificate";
export {
  type GetTLSEdgeArgs,
  type GetTLSEdgeResult,
  type GetTLSEdgesArgs,
  getTLSEdge,
  getTLSEdgeOutput,
  getTLSEdges,
  getTLSEdgesOutput,
  TLSEdge,
  type TLSEdgeArgs,
  type TLSEdgeState,
} from "./tlsEdge";
export { TLSSite, type TLSSiteAccess, type TLSSiteArgs, type TLSSiteCertificate } from "./tlsSite";
export {
  type GetTunnelArgs,
  type GetTunnelResult,
  type GetTunnelsArgs,
  getTunnel,
  getTunnelOutput,
  getTunnels,
  getTunnelsOutput,
  streamTunnels,
} from "./tunnel";
