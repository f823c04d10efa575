/**
 * What a Pulumi program imports: {@link TLSEdge} and {@link TLSCertificate}, {@link TLSSite}, which
 * declares both at once, and the lookups of edges, certificates and tunnels.
 *
 * @module pulumi-tlsedge
 */

export type { Ref } from "../client/answer";
export type {
  BackendState,
  IPRestrictionState,
  ModuleState,
  MutualTLSState,
  TLSEdgeState,
  TLSTerminationState,
  TLSVersion,
} from "../provider/kinds/tlsEdge";
export type { ObjectArgs } from "./args";
export { argumentProblems } from "./argumentProblems";
export type { InputOf } from "./kind";
export { LookupError, type LookupOutputOptions } from "./lookup";
export type { TLSSiteAccess, TLSSiteArgs } from "./siteParts";
export * from "./tlsCertificate";
export * from "./tlsEdge";
export { TLSSite } from "./tlsSite";
export * from "./tunnel";
