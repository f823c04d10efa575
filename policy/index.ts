/**
 * The policies, for a policy pack of your own.
 *
 * @module pulumi-tlsedge-policy
 */

import type { ResourcePolicy, StackPolicy } from "./policy";
import { deployedTlsVersion, hostportCertificate, keyReuse, owner } from "./stack";
import {
  certificateChain,
  certificateExpiry,
  certificateKey,
  certificateLeaf,
  certificateSignature,
} from "./tlsCertificate";
import { edgeAccess, edgeModules, edgeProtected, edgeTlsVersion } from "./tlsEdge";

export type { Explained, ResourcePolicy, StackPolicy } from "./policy";
export {
  certificateChain,
  certificateExpiry,
  certificateKey,
  certificateLeaf,
  certificateSignature,
  deployedTlsVersion,
  edgeAccess,
  edgeModules,
  edgeProtected,
  edgeTlsVersion,
  hostportCertificate,
  keyReuse,
  owner,
};

/** All policies of the pack, for your own pack or for another program. */
export const policies: (ResourcePolicy | StackPolicy)[] = [
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
