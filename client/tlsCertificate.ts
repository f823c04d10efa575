/**
 * The endpoints of TLS certificates, with the names of the fields that the service has.
 *
 * @module pulumi-tlsedge/client/tlsCertificate
 */

import * as v from "valibot";
import { type Endpoints, endpointsOf } from "./endpoints";
import { answer, part, type ServiceObject, serviceObject, text, texts, type Unset } from "./fields";

/** A TLS certificate in an answer of the service, which never has the private key (api.md §2.2). */
export interface TLSCertificateWire extends ServiceObject {
  /** The chain in PEM, leaf first. */
  certificate_pem: string;
  /** The leaf's common name. */
  subject_common_name?: Unset<string>;
  /** The other names that the leaf is valid for. */
  subject_alternative_names?: Unset<SubjectAlternativeNamesWire>;
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
  /** The organization in the leaf's subject. */
  subject_organization?: Unset<string>;
  /** The organizational unit in the leaf's subject. */
  subject_organizational_unit?: Unset<string>;
  /** The locality, such as a city, in the leaf's subject. */
  subject_locality?: Unset<string>;
  /** The state or province in the leaf's subject. */
  subject_province?: Unset<string>;
  /** The country in the leaf's subject. */
  subject_country?: Unset<string>;
}

/** The subject alternative names of a leaf, in an answer. */
export interface SubjectAlternativeNamesWire {
  /** Domains, wildcards included. */
  dns_names?: Unset<string[]>;
  /** IPv4 and IPv6 addresses. */
  ips?: Unset<string[]>;
}

const schema = answer<TLSCertificateWire>({
  ...serviceObject,
  certificate_pem: v.string(),
  subject_common_name: text,
  subject_alternative_names: part<SubjectAlternativeNamesWire>({ dns_names: texts, ips: texts }),
  issued_at: text,
  not_before: text,
  not_after: text,
  key_usages: texts,
  extended_key_usages: texts,
  private_key_type: text,
  issuer_common_name: text,
  serial_number: text,
  subject_organization: text,
  subject_organizational_unit: text,
  subject_locality: text,
  subject_province: text,
  subject_country: text,
});

/** The body of an upload (api.md §4.2). */
export interface TLSCertificateUpload {
  /** For people; at most 255 bytes of UTF-8. */
  description?: string;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: string;
  /** The chain in PEM, leaf first. */
  certificate_pem: string;
  /** The leaf's key in PEM, not encrypted. */
  private_key_pem: string;
}

/** The only two fields of a certificate that can be updated (api.md §4.2). */
export type TLSCertificateUpdate = Pick<TLSCertificateUpload, "description" | "metadata">;

/**
 * The TLS certificate endpoints (api.md §4.2).
 *
 * @example
 * for await (const { id, not_after } of tlsCertificates.list(client)) console.log(id, not_after);
 */
export const tlsCertificates: Endpoints<
  TLSCertificateWire,
  TLSCertificateUpload,
  TLSCertificateUpdate
> = endpointsOf("/tls_certificates", "tls_certificates", schema);
