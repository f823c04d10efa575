/**
 * The policies, for a policy pack of your own.
 *
 * @module pulumi-tlsedge-policy
 */

import type { ResourceValidationPolicy, StackValidationPolicy } from "@pulumi/policy";
import { deployedTlsVersion, hostportCertificate, keyReuse, owner } from "./stack";
import {
  certificateChain,
  certificateExpiry,
  certificateKey,
  certificateLeaf,
  certificateSignature,
} from "./tlsCertificate";
import { edgeAccess, edgeModules, edgeProtected, edgeTlsVersion } from "./tlsEdge";

export * from "./stack";
export * from "./tlsCertificate";
export { edgeAccess, edgeModules, edgeProtected, edgeTlsVersion };

/** All policies of the pack, for your own pack or for another program. */
export const policies: (ResourceValidationPolicy | StackValidationPolicy)[] = [
  edgeTlsVersion,
  deployedTlsVersion,
  edgeAccess,
  edgeModules,
  edgeProtected,
  certificateExpiry,
  certificateKey,
  certificateSignature,
  certificateChain,
  certificateLeaf,
  hostportCertificate,
  keyReuse,
  owner,
];
