import {
  type ReportViolation,
  type ResourceValidationArgs,
  validateResourceOfType,
} from "@pulumi/policy";
import { TLSCertificate } from "pulumi-tlsedge";
import { type Certificate, readChain, unread } from "./chain";
import { resourcePolicy, uploaded } from "./policy";

const day = 24 * 3_600_000;

/** Judges the chain of a TLS certificate, leaf first. A chain that can't be read is a violation. */
function judging(
  judge: (
    chain: [Certificate, ...Certificate[]],
    args: ResourceValidationArgs,
    report: ReportViolation,
  ) => void,
) {
  return validateResourceOfType(TLSCertificate, ({ certificatePem }, args, report) => {
    const chain = readChain(certificatePem);
    if (chain) judge(chain, args, report);
    else report(unread(args.name));
  });
}

/** Certificates are renewed in time. */
export const certificateExpiry = resourcePolicy({
  name: "certificate-expiry",
  displayName: "Certificate expiry",
  description: "No certificate of a chain expires soon or is not valid yet.",
  why:
    "Clients refuse to connect when a certificate, or an intermediate of its chain, has expired or " +
    "is not valid yet. A renewal in a hurry often reuses the key or forgets a part of the chain.",
  remediationSteps:
    "Renew the certificate, and set its new chain and key. If an intermediate expires, take the " +
    "authority's present ones. A root at the end of a chain is not judged, because clients have " +
    "their own copy. Before a certificate is valid, leave the old one in place.",
  severity: "high",
  enforcementLevel: "advisory",
  configSchema: {
    properties: {
      days: {
        type: "integer",
        minimum: 1,
        default: 30,
        description: "How many days a certificate must still be valid.",
      },
    },
  },
  example: {
    violation: uploaded("expires-in-a-week"),
    fix: uploaded("expires-in-a-year"),
  },
  validateResource: judging((chain, args, report) => {
    const { days } = args.getConfig<{ days: number }>();
    chain.forEach((certificate, index) => {
      if (isRoot(certificate, index)) return;
      const { begins, expires } = certificate;
      const about = `${ordinal(index)} of the TLS certificate "${args.name}"`;
      if (begins.getTime() > Date.now()) {
        report(
          `${about} is not valid before ${begins.toISOString()}. Leave the old one until then.`,
        );
      }
      if (expires.getTime() - Date.now() >= days * day) return;
      report(
        `${about} expires on ${expires.toISOString()}, in fewer than ${days} days. Renew the ` +
          "certificate, with the authority's present intermediates.",
      );
    });
  }),
});

/** No key is weak. */
export const certificateKey = resourcePolicy({
  name: "certificate-key",
  displayName: "Key strength",
  description: "No certificate of a chain has a weak key.",
  why:
    "An attacker who breaks a key can impersonate its owner, and a chain is only as strong as " +
    "its weakest key. RSA keys below 2048 bits and curves below P-256 are too weak: public " +
    "authorities may not sign them, and browsers refuse them. With the public exponent 1, RSA " +
    "protects nothing, and with an even one it is not RSA.",
  remediationSteps:
    "Create a new key: RSA with 2048 bits or more, ECDSA on P-256 or a stronger curve, or " +
    "Ed25519. Have a certificate issued for this key. If the key of an intermediate is weak, ask " +
    "the authority for another intermediate. The policy knows the curves P-256, P-384, P-521, " +
    "secp256k1, and the Brainpool curves from 256 bits. A key on another curve counts as weak.",
  severity: "critical",
  enforcementLevel: "mandatory",
  configSchema: {
    properties: {
      minRsaBits: {
        type: "integer",
        minimum: 2048,
        default: 2048,
        description: "The fewest bits of an RSA key.",
      },
      minEcdsaBits: {
        type: "integer",
        minimum: 256,
        default: 256,
        description: "The fewest bits of an ECDSA key: 256 for P-256, 384 for P-384.",
      },
    },
  },
  example: { violation: uploaded("rsa-1024"), fix: uploaded("ecdsa-p256") },
  validateResource: judging((chain, args, report) => {
    const minimum = args.getConfig<{ minRsaBits: number; minEcdsaBits: number }>();
    chain.forEach((certificate, index) => {
      const weakness = weaknessOf(certificate, minimum);
      if (!weakness) return;
      report(
        `${ordinal(index)} of the TLS certificate "${args.name}" has ${weakness}. ` +
          "Create a stronger key, and have a certificate issued for it.",
      );
    });
  }),
});

/** OpenSSL's names of the known curves, which are at least as strong as P-256. */
const curveBits: Partial<Record<string, number>> = {
  prime256v1: 256,
  secp256k1: 256,
  brainpoolP256r1: 256,
  brainpoolP256t1: 256,
  brainpoolP320r1: 320,
  brainpoolP320t1: 320,
  secp384r1: 384,
  brainpoolP384r1: 384,
  brainpoolP384t1: 384,
  brainpoolP512r1: 512,
  brainpoolP512t1: 512,
  secp521r1: 521,
};

/** Why a key is weak, if it is. Ed25519 keys have one strength and are not judged. */
function weaknessOf(
  { key }: Certificate,
  { minRsaBits, minEcdsaBits }: { minRsaBits: number; minEcdsaBits: number },
): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  const { modulusLength, publicExponent, namedCurve = "an unnamed curve" } = details ?? {};
  if (modulusLength !== undefined && modulusLength < minRsaBits) {
    return `a key of ${modulusLength} bits (${type}), fewer than ${minRsaBits}`;
  }
  if (publicExponent !== undefined && (publicExponent === 1n || publicExponent % 2n === 0n)) {
    return "a key whose public exponent is 1 or even (RSA)";
  }
  if (type !== "ec") return undefined;
  const bits = curveBits[namedCurve];
  if (!bits) return `a key on ${namedCurve}, a curve that this policy does not know`;
  if (bits >= minEcdsaBits) return undefined;
  return `a key on ${namedCurve}, a curve of fewer than ${minEcdsaBits} bits`;
}

/** No signature uses a broken hash. */
export const certificateSignature = resourcePolicy({
  name: "certificate-signature",
  displayName: "Signature algorithm",
  description:
    "No certificate of a chain is signed with SHA-1, MD5, MD4 or MD2, or with an algorithm that " +
    "the policy does not know.",
  why:
    "Attackers can compute collisions of these hashes, and so use a signature for another " +
    "certificate. Clients refuse such signatures.",
  remediationSteps:
    "Have the certificate issued again, signed with SHA-256 or better. A root at the end of a " +
    "chain is not judged, because clients do not check its signature. The policy knows RSA and " +
    "ECDSA with SHA-2, RSASSA-PSS, Ed25519, Ed448 and ML-DSA.",
  severity: "critical",
  enforcementLevel: "mandatory",
  example: { violation: uploaded("sha1"), fix: uploaded("sha256") },
  validateResource: judging((chain, { name }, report) => {
    chain.forEach((certificate, index) => {
      const weakness = weaknessOfSignature(certificate);
      if (!weakness || isRoot(certificate, index)) return;
      report(
        `${ordinal(index)} of the TLS certificate "${name}" is signed with ${weakness}. ` +
          "Have it issued again, signed with SHA-256 or better.",
      );
    });
  }),
});

/** SHA-2, and algorithms with a hash of their own. Those without a name have only an OID. */
const goodSignatures = [
  "SHA-256",
  "SHA-384",
  "SHA-512",
  "Ed25519",
  "EdDSA", // Ed448.
  "ML-DSA-44",
  "ML-DSA-65",
  "ML-DSA-87",
  "1.2.840.113549.1.1.14", // sha224WithRSAEncryption.
  "1.2.840.10045.4.3.1", // ecdsa-with-SHA224.
  "2.16.840.1.101.3.4.2.4", // SHA-224, in RSASSA-PSS.
];

/** The broken hashes, by the library's names or, for what WebCrypto does not name, by OID. */
const brokenHashes: Partial<Record<string, string>> = {
  "SHA-1": "SHA-1",
  // RSASSA-PSS without parameters: RFC 8017, A.2.3.
  "RSA-PSS": "SHA-1",
  // RFC 8017, appendix C, and earlier versions of it: md2WithRSAEncryption and so on.
  "1.2.840.113549.1.1.2": "MD2",
  "1.2.840.113549.1.1.3": "MD4",
  "1.2.840.113549.1.1.4": "MD5",
  // RFC 3279: id-dsa-with-sha1.
  "1.2.840.10040.4.3": "SHA-1",
  // From the OIW: md5WithRSA, dsaWithSHA1, sha1WithRSA.
  "1.3.14.3.2.3": "MD5",
  "1.3.14.3.2.27": "SHA-1",
  "1.3.14.3.2.29": "SHA-1",
};

/** What is weak in a signature, if anything. What this policy does not know counts as weak. */
function weaknessOfSignature({ signedWith }: Certificate): string | undefined {
  if (goodSignatures.includes(signedWith)) return undefined;
  return brokenHashes[signedWith] ?? `an algorithm (${signedWith}) that this policy does not know`;
}

/** A chain has its intermediates. */
export const certificateChain = resourcePolicy({
  name: "certificate-chain",
  displayName: "Complete chain",
  description: "The chain of a certificate that another one has signed has the intermediates.",
  why:
    "Clients know roots, not intermediates. If an intermediate is missing, browsers may find it " +
    "elsewhere, but other programs fail. So the cause is found late.",
  remediationSteps:
    "Append the intermediates to certificatePem, each after the certificate that it signed; " +
    'authorities publish them as the "full chain". The policy does not know the roots, so it ' +
    "accepts any second certificate. If a root that clients trust has signed the leaf, append " +
    "the root, or set this policy to `disabled`.",
  severity: "high",
  enforcementLevel: "advisory",
  example: { violation: uploaded("leaf-alone"), fix: uploaded("full-chain") },
  validateResource: judging(([leaf, intermediate], { name }, report) => {
    if (intermediate || leaf.signsItself()) return;
    report(
      `The TLS certificate "${name}" has a chain without the certificate of the issuer ` +
        `(${leaf.issuer}). Append the intermediates to certificatePem.`,
    );
  }),
});

/** The leaf is the certificate of a server. */
export const certificateLeaf = resourcePolicy({
  name: "certificate-leaf",
  displayName: "A server's certificate",
  description:
    "The leaf of a chain is a server's: not an authority's, with serverAuth among its extended key " +
    "usages, and with a host name or an address in its subject alternative names.",
  why:
    "Clients refuse another certificate from a server. They ignore the common name, many want " +
    "serverAuth, and some refuse a certificate that may sign others. Who steals the key of an " +
    "authority's certificate can issue certificates.",
  remediationSteps:
    "Have the certificate issued again for a server, with its host names. If certificatePem begins " +
    "with an authority's certificate, put the server's first.",
  severity: "high",
  enforcementLevel: "advisory",
  example: { violation: uploaded("name-in-subject"), fix: uploaded("name-in-san") },
  validateResource: judging(([leaf], { name }, report) => {
    const faults = leaf.serverFaults;
    if (faults.length === 0) return;
    report(
      `The leaf of the TLS certificate "${name}" is not for a server: ${faults.join(", and ")}. ` +
        "Have it issued again for a server, with its host names.",
    );
  }),
});

/** Clients have their own copy of a root: they check neither its signature nor its dates here. */
function isRoot(certificate: Certificate, index: number): boolean {
  return index > 0 && certificate.signsItself();
}

function ordinal(index: number): string {
  return index === 0 ? "The leaf" : `Certificate ${index + 1}`;
}
