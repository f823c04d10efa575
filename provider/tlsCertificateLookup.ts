import { type TLSCertificateWire, tlsCertificates } from "../client/tlsCertificate";
import { defined } from "./lifecycle";
import type { LookupKind } from "./lookup";
import { type TLSCertificateState, toState, unparsedState } from "./tlsCertificate";
import { covers, type SubjectAlternativeNames } from "./values/pem";

/**
 * The result of a certificate lookup; unset fields are undefined. If the chain can't be parsed
 * here, the fields have the service's own values, and the fingerprints are undefined.
 */
export interface GetTLSCertificateResult {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URI of the certificate. */
  uri: string;
  /** When the certificate was uploaded, RFC 3339 in UTC. */
  createdAt: string;
  /** The description for people; may be unset. */
  description?: string;
  /** The text for machines; may be unset. */
  metadata?: string;
  /** The PEM chain, leaf first. */
  certificatePem: string;
  /** The leaf's common name; empty when it has none. */
  subjectCommonName: string;
  /** The other names that the leaf is valid for. */
  subjectAlternativeNames: SubjectAlternativeNames;
  /** When the service issued the certificate itself; unset for an uploaded one. */
  issuedAt?: string;
  /** Start of validity, RFC 3339 in UTC. */
  notBefore: string;
  /** End of validity, RFC 3339 in UTC. */
  notAfter: string;
  /** What the key may be used for, in the service's names. */
  keyUsages: string[];
  /** The extended key usages, in the service's names. */
  extendedKeyUsages: string[];
  /** `rsa`, `ecdsa` or `ed25519`. */
  privateKeyType?: string;
  /** The common name of the leaf's issuer; empty when it has none. */
  issuerCommonName: string;
  /** The leaf's serial number, lower-case hex. */
  serialNumber: string;
  /** The organization in the leaf's subject; empty when absent. */
  subjectOrganization: string;
  /** The organizational unit in the leaf's subject; empty when absent. */
  subjectOrganizationalUnit: string;
  /** The locality, such as a city, in the leaf's subject; empty when absent. */
  subjectLocality: string;
  /** The state or province in the leaf's subject; empty when absent. */
  subjectProvince: string;
  /** The country in the leaf's subject; empty when absent. */
  subjectCountry: string;
  /** SHA-256 of the leaf, lower-case hex. */
  fingerprint?: string;
  /**
   * SHA-256 of the leaf's public key (SPKI), lower-case hex: equal for all leaves with one key in one
   * form. The key of a curve has two forms, compressed and uncompressed.
   */
  publicKeyFingerprint?: string;
  /** SHA-256 over the decoded chain in order, lower-case hex: differs for any other chain. */
  chainFingerprint?: string;
}
type Fingerprint = "fingerprint" | "chainFingerprint";

/** Which certificates to look up. */
export interface TLSCertificateFilter {
  /** Only certificates valid for this domain; a wildcard covers one label (RFC 6125). */
  domain?: string;
}

/** Which certificate to look up: by `id`, or the only one that covers `domain`. */
export interface TLSCertificateQuery extends TLSCertificateFilter {
  /** The id of the certificate. With an id, other filters are ignored. */
  id?: string;
}

/** How certificates are looked up. */
export const kind: LookupKind<TLSCertificateWire, TLSCertificateQuery, GetTLSCertificateResult> = {
  title: "TLS certificate",
  filters: { domain: "a string" },
  ...tlsCertificates,
  result: (wire) =>
    defined({ id: wire.id, ...describedBy(wire) }) as unknown as GetTLSCertificateResult,
  matches: ({ subject_alternative_names: names }, { domain }) =>
    domain === undefined || covers({ dnsNames: names?.dns_names ?? [], ips: [] }, domain),
  label: ({ subjectCommonName, subjectAlternativeNames: names, serialNumber, notAfter }) =>
    `${subjectCommonName || names.dnsNames[0] || names.ips[0] || serialNumber}, until ${notAfter}`,
};

function describedBy(wire: TLSCertificateWire): Omit<TLSCertificateState, Fingerprint> {
  try {
    return toState(wire);
  } catch {
    // A certificate that this Node.js can't parse must not make the whole lookup fail.
    return asAnswered(wire);
  }
}

const text = (value: string | null | undefined) => value ?? "";

/** The fields with the service's own values. */
function asAnswered(wire: TLSCertificateWire): Omit<TLSCertificateState, Fingerprint> {
  const names = wire.subject_alternative_names;
  return {
    ...unparsedState(wire),
    certificatePem: wire.certificate_pem,
    subjectCommonName: text(wire.subject_common_name),
    subjectAlternativeNames: { dnsNames: names?.dns_names ?? [], ips: names?.ips ?? [] },
    issuerCommonName: text(wire.issuer_common_name),
    serialNumber: text(wire.serial_number).toLowerCase(),
    notBefore: text(wire.not_before),
    notAfter: text(wire.not_after),
    privateKeyType: wire.private_key_type ?? null,
    publicKeyFingerprint: null,
    subjectOrganization: text(wire.subject_organization),
    subjectOrganizationalUnit: text(wire.subject_organizational_unit),
    subjectLocality: text(wire.subject_locality),
    subjectProvince: text(wire.subject_province),
    subjectCountry: text(wire.subject_country),
  };
}
