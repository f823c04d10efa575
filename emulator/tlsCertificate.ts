import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import { findBlocks, fits } from "./pem";
import { labels, type Resource, readBody, strictObject, withoutUnset } from "./requests";
import { type Made, newId, timestamp, type Unset } from "./wire";

/** A TLS certificate, without its private key (api.md §2.2). */
export interface TLSCertificateWire extends Made {
  /** The chain in PEM, leaf first. */
  certificate_pem: string;
  /** The leaf's common name. */
  subject_common_name?: Unset<string>;
  /** The other names that the leaf is valid for. */
  subject_alternative_names?: Unset<{ dns_names?: Unset<string[]>; ips?: Unset<string[]> }>;
  /** When the service issued the certificate, RFC 3339; null for an uploaded one. */
  issued_at?: Unset<string>;
  /** Start of validity, RFC 3339. */
  not_before?: Unset<string>;
  /** End of validity, RFC 3339. */
  not_after?: Unset<string>;
  /** What the key may be used for. */
  key_usages?: Unset<string[]>;
  /** The extended key usages. */
  extended_key_usages?: Unset<string[]>;
  /** `rsa`, `ecdsa` or `ed25519`. */
  private_key_type?: Unset<string>;
  /** The common name of the leaf's issuer. */
  issuer_common_name?: Unset<string>;
  /** The leaf's serial number. */
  serial_number?: Unset<string>;
  /** The organization in the leaf's subject; empty when absent. */
  subject_organization?: Unset<string>;
  /** The organizational unit in the leaf's subject; empty when absent. */
  subject_organizational_unit?: Unset<string>;
  /** The locality, such as a city, in the leaf's subject; empty when absent. */
  subject_locality?: Unset<string>;
  /** The state or province in the leaf's subject; empty when absent. */
  subject_province?: Unset<string>;
  /** The country in the leaf's subject; empty when absent. */
  subject_country?: Unset<string>;
}

const upload = strictObject({
  ...labels,
  certificate_pem: v.optional(v.string(), ""),
  private_key_pem: v.optional(v.string(), ""),
});
const update = strictObject(labels);

/** TLS certificates (api.md §4.2). The private key is checked, and not stored. */
export const tlsCertificates: Resource<TLSCertificateWire> = {
  name: "tls_certificates",
  path: "/tls_certificates",
  inList: withoutUnset,
  alone: withoutUnset,
  write: {
    create(c, certificates) {
      const { certificate_pem, private_key_pem, ...texts } = readBody(c, upload);
      const chain = readChain(certificate_pem);
      const fields = fieldsOf(chain[0]);
      if (!fields.private_key_type) {
        throw new Refusal(reasons.keyTypeUnsupported, "A key must be RSA, ECDSA or Ed25519.");
      }
      refuseKey(private_key_pem, chain[0]);
      refuseDisorder(chain);
      return certificates.set({
        ...certificates.ref(newId("cert")),
        created_at: certificates.service.now(),
        ...texts,
        certificate_pem: chain.map(({ raw }) => `${pem(raw)}\n`).join(""),
        ...fields,
      });
    },
    update(c, certificates, id) {
      return certificates.patch(id, readBody(c, update));
    },
  },
};

function pem(raw: Uint8Array): string {
  return x509.PemConverter.encode(Uint8Array.from(raw).buffer, "CERTIFICATE");
}

/** The certificates of a PEM text, leaf first. Text around the blocks is ignored. */
function readChain(text: string): [X509Certificate, ...X509Certificate[]] {
  if (text.trim() === "") {
    throw new Refusal(reasons.certificateMissing, "certificate_pem is missing.");
  }
  const blocks = findBlocks(text);
  const begun = text.match(/-----BEGIN /g) ?? [];
  const isWhole = begun.length === blocks.length;
  if (!isWhole || blocks.some(({ label }) => label !== "CERTIFICATE")) {
    throw new Refusal(
      reasons.certificateUnparsable,
      "certificate_pem must hold whole CERTIFICATE blocks and no others.",
    );
  }
  const [leaf, ...issuers] = blocks.map(({ der }, index) => readCertificate(der, index));
  if (leaf) return [leaf, ...issuers];
  throw new Refusal(reasons.certificateUnparsable, "certificate_pem holds no CERTIFICATE block.");
}

function readCertificate(der: Buffer, index: number): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (cause) {
    const message = `Certificate ${index + 1} of certificate_pem can't be parsed.`;
    throw new Refusal(reasons.certificateUnparsable, message, { cause });
  }
}

function refuseKey(text: string, leaf: X509Certificate): void {
  if (text.trim() === "") throw new Refusal(reasons.keyMissing, "private_key_pem is missing.");
  const block = findBlocks(text).find(({ label }) => /^(.* )?PRIVATE KEY$/.test(label));
  if (block?.label.startsWith("ENCRYPTED ") || block?.headers.includes("ENCRYPTED")) {
    throw new Refusal(reasons.keyEncrypted, "private_key_pem is encrypted: send it decrypted.");
  }
  if (!isKeyOf(leaf, block?.der)) {
    throw new Refusal(reasons.keyMismatch, "private_key_pem is not the key of the leaf.");
  }
}

function isKeyOf(leaf: X509Certificate, der: Buffer = Buffer.alloc(0)): boolean {
  try {
    return fits(der, leaf);
  } catch (cause) {
    throw new Refusal(reasons.keyUnparsable, "private_key_pem can't be parsed.", { cause });
  }
}

function refuseDisorder(chain: X509Certificate[]): void {
  chain.slice(1).forEach((issuer, index) => {
    const certificate = chain[index];
    if (certificate?.checkIssued(issuer) && certificate.verify(issuer.publicKey)) return;
    throw new Refusal(
      reasons.chainOutOfOrder,
      `Certificate ${index + 1} of certificate_pem is not signed by certificate ${index + 2}.`,
    );
  });
}

/** The types of api.md §2.2, by the library's names of their algorithms. */
const keyTypes: Record<string, string> = {
  "RSASSA-PKCS1-v1_5": "rsa",
  ECDSA: "ecdsa",
  Ed25519: "ed25519",
};

/** The fields that the service takes from the leaf (api.md §2.2). */
function fieldsOf({ raw }: X509Certificate) {
  const leaf = new x509.X509Certificate(Uint8Array.from(raw));
  const part = (name: string) => leaf.subjectName.getField(name)[0] ?? "";
  const names = leaf.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  const named = (type: string) => names.flatMap((name) => (name.type === type ? [name.value] : []));
  return {
    subject_common_name: part("CN"),
    subject_alternative_names: { dns_names: named("dns"), ips: named("ip") },
    // Null: a person has uploaded it.
    issued_at: null as Unset<string>,
    not_before: timestamp(leaf.notBefore),
    not_after: timestamp(leaf.notAfter),
    key_usages: keyUsages(leaf.getExtension(x509.KeyUsagesExtension)?.usages ?? 0),
    extended_key_usages: extendedKeyUsages(leaf),
    private_key_type: keyTypes[leaf.publicKey.algorithm.name],
    issuer_common_name: leaf.issuerName.getField("CN")[0] ?? "",
    serial_number: leaf.serialNumber,
    subject_organization: part("O"),
    subject_organizational_unit: part("OU"),
    subject_locality: part("L"),
    subject_province: part("ST"),
    subject_country: part("C"),
  };
}

function keyUsages(flags: number): string[] {
  const bits = [1, 2, 4, 8, 16, 32, 64, 128, 256].filter((bit) => flags & bit);
  return bits.map((bit) => x509.KeyUsageFlags[bit] as string);
}

/** Names such as serverAuth. A usage without a common name is given as its object identifier. */
function extendedKeyUsages(certificate: x509.X509Certificate): string[] {
  const usages = certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages ?? [];
  const common = Object.entries(x509.ExtendedKeyUsage);
  // The library's list is no plain one.
  return Array.from(usages, (oid) => common.find(([, value]) => value === oid)?.[0] ?? String(oid));
}
