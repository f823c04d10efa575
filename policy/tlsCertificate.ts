import {
  type ReportViolation,
  type ResourceValidationArgs,
  validateResourceOfType,
} from "@pulumi/policy";
import { TLSCertificate } from "pulumi-tlsedge";
import { type Certificate, readChain, unread } from "./chain";
import { resourcePolicy } from "./policy";

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
  description: "No certificate of a chain expires soon or is not valid yet.",
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
  description: "No certificate of a chain has a weak key.",
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
  description:
    "No certificate of a chain is signed with SHA-1, MD5, MD4 or MD2, or with an algorithm that " +
    "the policy does not know.",
  severity: "critical",
  enforcementLevel: "mandatory",
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
  description: "The chain of a certificate that another one has signed has the intermediates.",
  severity: "high",
  enforcementLevel: "advisory",
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
  description:
    "The leaf of a chain is a server's: not an authority's, with serverAuth among its extended key " +
    "usages, and with a host name or an address in its subject alternative names.",
  severity: "high",
  enforcementLevel: "advisory",
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
