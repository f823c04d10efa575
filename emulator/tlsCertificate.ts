import "reflect-metadata";
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { Hono } from "hono";
import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import {
  findOrRefuse,
  labels,
  readBody,
  refuseOtherMethods,
  refuseParameters,
  type Served,
  serveDelete,
  serveReads,
  strictObject,
  withoutUnset,
} from "./requests";
import { Collection, type Direct, newId, type Store, timestamp } from "./store";
import type { Made, Unset } from "./wire";

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

const keyTypes: Record<string, string> = { rsa: "rsa", ec: "ecdsa", ed25519: "ed25519" };

/** Serves TLS certificates (api.md §4.2). The private key is checked, and not stored. */
export function serveTLSCertificates(store: Store): Served<Direct<TLSCertificateWire>> {
  const certificates = new Collection<TLSCertificateWire>(
    store,
    "tls_certificates",
    "/tls_certificates",
  );
  const routes = new Hono();
  serveReads(routes, certificates, { list: withoutUnset, single: withoutUnset });
  serveDelete(routes, certificates);

  routes.post(certificates.path, async (c) => {
    refuseParameters(c);
    const { certificate_pem, private_key_pem, ...texts } = await readBody(c, upload);
    const chain = readChain(certificate_pem);
    refuseKey(private_key_pem, chain[0]);
    refuseDisorder(chain);
    const certificate: TLSCertificateWire = {
      ...certificates.ref(newId("cert")),
      created_at: store.now(),
      ...texts,
      certificate_pem: chain.map(({ raw }) => `${pem(raw)}\n`).join(""),
      ...derived(chain[0]),
    };
    return c.json(withoutUnset(certificates.add(certificate)), 201);
  });

  routes.patch(`${certificates.path}/:id`, async (c) => {
    refuseParameters(c);
    const texts = await readBody(c, update);
    const certificate = findOrRefuse(certificates, c.req.param("id"));
    return c.json(withoutUnset(certificates.put({ ...certificate, ...texts })));
  });

  refuseOtherMethods(routes, certificates.path, "GET, POST");
  refuseOtherMethods(routes, `${certificates.path}/:id`, "GET, PATCH, DELETE");
  return { documents: certificates, routes, direct: certificates.direct() };
}

function pem(raw: Uint8Array): string {
  return x509.PemConverter.encode(Uint8Array.from(raw).buffer, "CERTIFICATE");
}

/** The certificates of a PEM text, leaf first. Text around the blocks is ignored. */
function readChain(text: string): [X509Certificate, ...X509Certificate[]] {
  if (text.trim() === "") {
    throw new Refusal(reasons.certificateMissing, "certificate_pem is missing.");
  }
  const blocks = x509.PemConverter.decodeWithHeaders(text);
  const begun = text.match(/-----BEGIN /g) ?? [];
  const isWhole = begun.length === blocks.length;
  if (!isWhole || blocks.some(({ type }) => type !== "CERTIFICATE")) {
    throw new Refusal(
      reasons.certificateUnparsable,
      "certificate_pem must hold whole CERTIFICATE blocks and no others.",
    );
  }
  const [leaf, ...issuers] = blocks.map(({ rawData }, index) => readCertificate(rawData, index));
  if (leaf) return [leaf, ...issuers];
  throw new Refusal(reasons.certificateUnparsable, "certificate_pem holds no CERTIFICATE block.");
}

function readCertificate(raw: ArrayBuffer, index: number): X509Certificate {
  try {
    return new X509Certificate(new Uint8Array(raw));
  } catch (cause) {
    const message = `Certificate ${index + 1} of certificate_pem can't be parsed.`;
    throw new Refusal(reasons.certificateUnparsable, message, { cause });
  }
}

function refuseKey(text: string, leaf: X509Certificate): void {
  if (text.trim() === "") throw new Refusal(reasons.keyMissing, "private_key_pem is missing.");
  if (!keyTypes[leaf.publicKey.asymmetricKeyType ?? ""]) {
    throw new Refusal(reasons.keyTypeUnsupported, "The key must be RSA, ECDSA or Ed25519.");
  }
  if (/^-----BEGIN ENCRYPTED |^Proc-Type: .*ENCRYPTED/m.test(text)) {
    throw new Refusal(reasons.keyEncrypted, "private_key_pem is encrypted: send it decrypted.");
  }
  if (!leaf.checkPrivateKey(readKey(text))) {
    throw new Refusal(reasons.keyMismatch, "private_key_pem is not the key of the leaf.");
  }
}

function readKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
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

/** The fields that the service takes from the leaf (api.md §2.2). */
function derived(leaf: X509Certificate) {
  const parsed = new x509.X509Certificate(Uint8Array.from(leaf.raw));
  const { subjectName, issuerName } = parsed;
  const part = (name: string) => subjectName.getField(name)[0] ?? "";
  const alternatives = parsed.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  const named = (type: string) =>
    alternatives.filter((name) => name.type === type).map((name) => name.value);
  return {
    subject_common_name: part("CN"),
    subject_alternative_names: { dns_names: named("dns"), ips: named("ip") },
    issued_at: null,
    not_before: timestamp(parsed.notBefore),
    not_after: timestamp(parsed.notAfter),
    key_usages: keyUsages(parsed.getExtension(x509.KeyUsagesExtension)?.usages ?? 0),
    extended_key_usages: extendedKeyUsages(parsed),
    private_key_type: keyTypes[leaf.publicKey.asymmetricKeyType ?? ""],
    issuer_common_name: issuerName.getField("CN")[0] ?? "",
    serial_number: parsed.serialNumber.toLowerCase(),
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
  return usages.map((oid) => common.find(([, value]) => value === oid)?.[0] ?? String(oid));
}
