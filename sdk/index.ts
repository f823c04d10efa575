/**
 * What a Pulumi program imports: {@link TLSSite}, which declares a certificate and its edge, or
 * {@link TLSCertificate} and {@link TLSEdge} themselves. The lookups are {@link getTLSEdge},
 * {@link getTLSEdges}, {@link getTLSCertificate}, {@link getTLSCertificates}, {@link getTunnel} and
 * {@link getTunnels}, each with an Output form.
 *
 * @module pulumi-tlsedge
 */

import "../client/checkNode";

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
