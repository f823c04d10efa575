/**
 * The endpoints of TLS certificates, with the names of the fields that the service has.
 *
 * @module pulumi-tlsedge/client/tlsCertificate
 */

import * as v from "valibot";
import { object, text, texts } from "./answer";
import { type Endpoints, endpointsOf } from "./endpoints";
import { type Item, itemOf, serviceFields } from "./fields";
import { answered } from "./rows";
import type { AnswerOf, BodyOf } from "./table";

const fields = {
  ...serviceFields,
  /** The chain in PEM, leaf first. */
  certificatePem: answered("certificate_pem", v.string()),
  /** The leaf's common name. */
  subjectCommonName: answered("subject_common_name", text),
  /** The other names that the leaf is valid for. */
  subjectAlternativeNames: answered(
    "subject_alternative_names",
    v.nullish(
      object({
        /** Domains, wildcards included. */
        dns_names: texts,
        /** IPv4 and IPv6 addresses. */
        ips: texts,
      }),
    ),
  ),
  /** When the service issued the certificate, RFC 3339; null for an uploaded one. */
  issuedAt: answered("issued_at", text),
  /** Start of validity, RFC 3339. */
  notBefore: answered("not_before", text),
  /** End of validity, RFC 3339. */
  notAfter: answered("not_after", text),
  /** What the key may be used for. */
  keyUsages: answered("key_usages", texts),
  /** The extended key usages. */
  extendedKeyUsages: answered("extended_key_usages", texts),
  /** `rsa`, `ecdsa` or `ed25519`. */
  privateKeyType: answered("private_key_type", text),
  /** The common name of the leaf's issuer. */
  issuerCommonName: answered("issuer_common_name", text),
  /** The leaf's serial number. */
  serialNumber: answered("serial_number", text),
  /** The organization in the leaf's subject. */
  subjectOrganization: answered("subject_organization", text),
  /** The organizational unit in the leaf's subject. */
  subjectOrganizationalUnit: answered("subject_organizational_unit", text),
  /** The locality, such as a city, in the leaf's subject. */
  subjectLocality: answered("subject_locality", text),
  /** The state or province in the leaf's subject. */
  subjectProvince: answered("subject_province", text),
  /** The country in the leaf's subject. */
  subjectCountry: answered("subject_country", text),
};

/** A TLS certificate in an answer of the service, which never has the private key (api.md §2.2). */
export interface TLSCertificateWire extends Item, AnswerOf<typeof fields> {}

/** The body of an upload (api.md §4.2). */
export interface TLSCertificateUpload extends BodyOf<typeof serviceFields> {
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
> = endpointsOf("/tls_certificates", "tls_certificates", itemOf(fields));
