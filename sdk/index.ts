/**
 * What a Pulumi program imports: {@link TLSEdge} and {@link TLSCertificate}, {@link TLSSite}, which
 * declares both at once, and the lookups of edges, certificates and tunnels.
 *
 * @module pulumi-tlsedge
 */

export type { Ref } from "../client/fields";
export { isDefaultProvider } from "../client/settings";
export type { TLSVersion } from "../provider/tlsEdge";
export type { ObjectArgs } from "./args";
export type { InputOf } from "./kind";
export { LookupError } from "./lookup";
export type { TLSSiteAccess, TLSSiteArgs } from "./siteParts";
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
  type BackendArgs,
  type BackendState,
  type GetTLSEdgeArgs,
  type GetTLSEdgeResult,
  type GetTLSEdgesArgs,
  getTLSEdge,
  getTLSEdgeOutput,
  getTLSEdges,
  getTLSEdgesOutput,
  type IpRestrictionArgs,
  type IpRestrictionState,
  type ModuleArgs,
  type ModuleState,
  type MutualTlsArgs,
  type MutualTlsState,
  TLSEdge,
  type TLSEdgeArgs,
  type TLSEdgeState,
  type TlsTerminationArgs,
  type TlsTerminationState,
} from "./tlsEdge";
export { TLSSite } from "./tlsSite";
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
