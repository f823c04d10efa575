import {
  type ReportViolation,
  type ResourceValidationArgs,
  validateResourceOfType,
} from "@pulumi/policy";
import { type Certificate, readChain, unread } from "./chain";
import { TLSCertificate } from "./kinds";
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
export const certificateExpiry = resourcePolicy([TLSCertificate], {
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
        description:
          "How many days a certificate must still be valid; a third of its lifetime where that is shorter.",
      },
    },
  },
  validateResource: judging((chain, args, report) => {
    const { days } = args.getConfig<{ days: number }>();
    chain.forEach((certificate, index) => {
      if (isRoot(certificate, index)) return;
      const { notBefore, notAfter } = certificate;
      const about = `${ordinal(index)} of the TLS certificate "${args.name}"`;
      if (notBefore.getTime() > Date.now()) {
        report(
          `${about} is not valid before ${notBefore.toISOString()}. Leave the old one until then.`,
        );
      }
      if (!isDueWithin(days, certificate)) return;
      report(
        `${about} expires on ${notAfter.toISOString()}, in fewer than ${days} days. Renew the ` +
          "certificate, with the authority's present intermediates.",
      );
    });
  }),
});

/** One number stands for many certificates, and most teams take that of a profile: so a short lifetime shortens it. */
function isDueWithin(days: number, { notBefore, notAfter }: Certificate): boolean {
  const third = (notAfter.getTime() - notBefore.getTime()) / 3;
  return notAfter.getTime() - Date.now() < Math.min(third, days * day);
}

/** No key is weak. */
export const certificateKey = resourcePolicy([TLSCertificate], {
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

/** The curves that the provider accepts, by OpenSSL's names, except P-224, which is weak. */
const curveBits: Partial<Record<string, number>> = {
  prime256v1: 256,
  secp384r1: 384,
  secp521r1: 521,
};

/** Why a key is weak, if it is. Ed25519 keys have one strength and are not judged. */
function weaknessOf(
  { key }: Certificate,
  { minRsaBits, minEcdsaBits }: { minRsaBits: number; minEcdsaBits: number },
): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  const { modulusLength, namedCurve = "an unnamed curve" } = details ?? {};
  if (modulusLength !== undefined && modulusLength < minRsaBits) {
    return `a key of ${modulusLength} bits (${type}), fewer than ${minRsaBits}`;
  }
  if (type !== "ec" || (curveBits[namedCurve] ?? 0) >= minEcdsaBits) return undefined;
  return `a key on ${namedCurve}, which is weaker than a curve of ${minEcdsaBits} bits`;
}

/** Every signature has a good hash. */
export const certificateSignature = resourcePolicy([TLSCertificate], {
  name: "certificate-signature",
  description:
    "Each certificate of a chain is signed with SHA-256, SHA-384 or SHA-512, or with an algorithm that has " +
    "a good hash of its own: Ed25519, Ed448, ML-DSA.",
  severity: "critical",
  enforcementLevel: "mandatory",
  validateResource: judging((chain, { name }, report) => {
    chain.forEach((certificate, index) => {
      const { signedWith } = certificate;
      if (goodSignatures.includes(signedWith) || isRoot(certificate, index)) return;
      report(
        `${ordinal(index)} of the TLS certificate "${name}" is signed with ${signedWith}. ` +
          "Have it issued again, signed with SHA-256 or better.",
      );
    });
  }),
});

/** Another algorithm counts as broken. EdDSA is the library's name of Ed448. */
const goodSignatures = [
  ...["SHA-256", "SHA-384", "SHA-512", "Ed25519", "EdDSA"],
  ...["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"],
];

/** A chain leads to an authority. */
export const certificateChain = resourcePolicy([TLSCertificate], {
  name: "certificate-chain",
  description:
    "An authority has signed the leaf of a chain, and the chain has the intermediates, which are authorities.",
  severity: "high",
  enforcementLevel: "advisory",
  validateResource: judging(([leaf, ...issuers], { name }, report) => {
    if (leaf.signsItself())
      report(`The TLS certificate "${name}" has signed itself. Have it issued by an authority.`);
    else if (issuers.length === 0)
      report(
        `The TLS certificate "${name}" has a chain without the certificate of the issuer ` +
          `(${leaf.issuer}). Append the intermediates to certificatePem.`,
      );
    issuers.forEach((issuer, index) => {
      if (issuer.isAuthority || issuer.signsItself()) return;
      report(
        `Certificate ${index + 2} of the TLS certificate "${name}" is no authority's, so clients refuse what it has ` +
          "signed. Have the leaf issued by an authority.",
      );
    });
  }),
});

/** The leaf is the certificate of a server. */
export const certificateLeaf = resourcePolicy([TLSCertificate], {
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
