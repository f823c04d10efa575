import "reflect-metadata"; // Which @peculiar/x509 needs.
import { type KeyObject, X509Certificate as NodeCertificate } from "node:crypto";
import { PemConverter, X509Certificate } from "@peculiar/x509";
import { validateResourceOfType } from "@pulumi/policy";
import { TLSCertificate } from "pulumi-tlsedge";
import { type ResourcePolicy, uploaded } from "./policy";

const day = 24 * 3_600_000;

/** Certificates are renewed in time. */
export const certificateExpiry: ResourcePolicy = {
  name: "certificate-expiry",
  displayName: "Certificate expiry",
  description: "A TLS certificate does not expire soon.",
  why:
    "From the moment a certificate has expired, clients refuse to connect. Renewing it in a hurry " +
    "is where keys are reused and chains cut short.",
  remediationSteps: "Renew the certificate and give its new chain and key.",
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
  validateResource: validateResourceOfType(TLSCertificate, ({ certificatePem }, args, report) => {
    const { days } = args.getConfig<{ days: number }>();
    const [leaf] = parse(certificatePem);
    if (!leaf || leaf.notAfter.getTime() - Date.now() >= days * day) return;
    report(
      `The TLS certificate "${args.name}" expires on ${leaf.notAfter.toISOString()}, in fewer ` +
        `than ${days} days. Renew it.`,
    );
  }),
};

/** No key is so short that it can be broken. */
export const certificateKey: ResourcePolicy = {
  name: "certificate-key",
  displayName: "Key strength",
  description: "No certificate of a chain has a weak key.",
  why:
    "Who breaks a key can pose as its owner, and a chain is as strong as the weakest key in it. " +
    "RSA below 2048 bits and curves below P-256 are within reach; public authorities may not sign " +
    "them and browsers refuse them.",
  remediationSteps:
    "Make a new key, RSA with 2048 bits or more, ECDSA on P-256 or better, or Ed25519, and have a " +
    "certificate issued for it. If an intermediate is weak, ask its authority for another one. " +
    "Besides P-256, P-384 and P-521 the policy knows secp256k1 and the Brainpool curves from 256 " +
    "bits; a key on any other counts as weak.",
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
  validateResource: validateResourceOfType(TLSCertificate, ({ certificatePem }, args, report) => {
    const minimum = args.getConfig<{ minRsaBits: number; minEcdsaBits: number }>();
    parse(certificatePem).forEach((certificate, index) => {
      const weakness = weaknessOf(certificate, minimum);
      if (!weakness) return;
      report(
        `${ordinal(index)} of the TLS certificate "${args.name}" has ${weakness}. ` +
          "Make a stronger key, and have a certificate issued for it.",
      );
    });
  }),
};

/** OpenSSL's names of the curves that are at least as strong as P-256. No others are known. */
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

/** Ed25519 has one strength, and is not judged. */
function weaknessOf(
  certificate: X509Certificate,
  { minRsaBits, minEcdsaBits }: { minRsaBits: number; minEcdsaBits: number },
): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey(certificate) ?? {};
  const { modulusLength, namedCurve = "an unnamed curve" } = details ?? {};
  if (modulusLength !== undefined && modulusLength < minRsaBits) {
    return `a key of ${modulusLength} bits (${type}), fewer than ${minRsaBits}`;
  }
  if (type !== "ec") return undefined;
  const bits = curveBits[namedCurve];
  if (!bits) return `a key on ${namedCurve}, a curve that this policy does not know`;
  if (bits >= minEcdsaBits) return undefined;
  return `a key on ${namedCurve}, a curve of fewer than ${minEcdsaBits} bits`;
}

/** Undefined for a kind of key that this Node.js knows nothing of: the service judges that. */
function publicKey({ rawData }: X509Certificate): KeyObject | undefined {
  try {
    return new NodeCertificate(Buffer.from(rawData)).publicKey;
  } catch {
    return undefined;
  }
}

/** No signature can be forged. */
export const certificateSignature: ResourcePolicy = {
  name: "certificate-signature",
  displayName: "Signature algorithm",
  description: "No certificate of a chain is signed with SHA-1, MD5, MD4 or MD2.",
  why:
    "Collisions of these hashes can be computed, so such a signature may be moved to another " +
    "certificate. Clients refuse them.",
  remediationSteps:
    "Have the certificate issued again, signed with SHA-256 or better. A root at the end of a " +
    "chain is not judged: clients trust it as it stands, not for its signature.",
  severity: "critical",
  enforcementLevel: "mandatory",
  example: { violation: uploaded("sha1"), fix: uploaded("sha256") },
  validateResource: validateResourceOfType(TLSCertificate, ({ certificatePem }, { name }, report) =>
    parse(certificatePem).forEach((certificate, index) => {
      const hash = brokenHash(certificate);
      const isRoot = index > 0 && signsItself(certificate);
      if (!hash || isRoot) return;
      report(
        `${ordinal(index)} of the TLS certificate "${name}" is signed with ${hash}. ` +
          "Have it issued again, signed with SHA-256 or better.",
      );
    }),
  ),
};

/** The hashes of algorithms that WebCrypto, and so the library, has no names for. */
const brokenHashes: Partial<Record<string, string>> = {
  // RFC 8017, appendix C, and its forerunners: md2WithRSAEncryption and so on.
  "1.2.840.113549.1.1.2": "MD2",
  "1.2.840.113549.1.1.3": "MD4",
  "1.2.840.113549.1.1.4": "MD5",
  // RFC 3279: id-dsa-with-sha1.
  "1.2.840.10040.4.3": "SHA-1",
  // The OIW's own: md5WithRSA, dsaWithSHA1, sha1WithRSA.
  "1.3.14.3.2.3": "MD5",
  "1.3.14.3.2.27": "SHA-1",
  "1.3.14.3.2.29": "SHA-1",
};

function brokenHash({ signatureAlgorithm }: X509Certificate): string | undefined {
  const { name, hash } = signatureAlgorithm as { name: string; hash?: { name: string } };
  return hash?.name === "SHA-1" ? "SHA-1" : brokenHashes[name];
}

/** Clients get what they need to trust the leaf. */
export const certificateChain: ResourcePolicy = {
  name: "certificate-chain",
  displayName: "Complete chain",
  description: "A certificate that another one has signed comes with its intermediates.",
  why:
    "Clients know roots, not intermediates. Where one is missing, browsers may find it elsewhere " +
    "while other programs fail, so the mistake is seen late and looks like something else.",
  remediationSteps:
    "Append the intermediates to certificatePem, each after the one that it signed; authorities " +
    'publish them as the "full chain". The policy knows no roots: it takes any second ' +
    "certificate for enough. Where a root that clients trust signs leaves itself, append the " +
    "root, or set this policy to `disabled`.",
  severity: "high",
  enforcementLevel: "advisory",
  example: { violation: uploaded("leaf-alone"), fix: uploaded("full-chain") },
  validateResource: validateResourceOfType(
    TLSCertificate,
    ({ certificatePem }, { name }, report) => {
      const [leaf, intermediate] = parse(certificatePem);
      if (!leaf || intermediate || signsItself(leaf)) return;
      report(
        `The TLS certificate "${name}" comes without the certificate of its issuer ` +
          `(${leaf.issuer}). Append the intermediates to certificatePem.`,
      );
    },
  ),
};

/** The chain, leaf first; empty when it can't be read, as the resource's own check then fails. */
function parse(pem: string): X509Certificate[] {
  try {
    return PemConverter.decode(pem).map((raw) => new X509Certificate(raw));
  } catch {
    return [];
  }
}

function signsItself({ subject, issuer }: X509Certificate): boolean {
  return subject === issuer;
}

function ordinal(index: number): string {
  return index === 0 ? "The leaf" : `Certificate ${index + 1}`;
}
