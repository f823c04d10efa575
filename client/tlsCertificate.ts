import * as v from "valibot";
import { type Endpoints, endpointsOf } from "./endpoints";
import { commonFields, noList, text, texts } from "./fields";

/** The schema of a {@link TLSCertificateWire}. */
export const tlsCertificateWire = v.object({
  ...commonFields,
  /** The chain in PEM, leaf first. */
  certificate_pem: v.string(),
  /** The leaf's common name. */
  subject_common_name: text,
  /** The other names that the leaf is valid for. */
  subject_alternative_names: v.nullish(
    noList(
      v.object({
        /** Domains, wildcards included. */
        dns_names: texts,
        /** IPv4 and IPv6 addresses. */
        ips: texts,
      }),
    ),
  ),
  /** When the service issued the certificate, RFC 3339; null for an uploaded one. */
  issued_at: text,
  /** Start of validity, RFC 3339. */
  not_before: text,
  /** End of validity, RFC 3339. */
  not_after: text,
  /** What the key may be used for. */
  key_usages: texts,
  /** The extended key usages. */
  extended_key_usages: texts,
  /** `rsa`, `ecdsa` or `ed25519`. */
  private_key_type: text,
  /** The common name of the leaf's issuer. */
  issuer_common_name: text,
  /** The leaf's serial number. */
  serial_number: text,
  /** From the leaf's subject. */
  subject_organization: text,
  /** From the leaf's subject. */
  subject_organizational_unit: text,
  /** From the leaf's subject. */
  subject_locality: text,
  /** From the leaf's subject. */
  subject_province: text,
  /** From the leaf's subject. */
  subject_country: text,
});

/** A TLS certificate in an answer of the service, which never has the private key (api.md §2.2). */
export interface TLSCertificateWire extends v.InferOutput<typeof tlsCertificateWire> {}

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

/** The TLS certificate endpoints (api.md §4.2). */
export const tlsCertificates: Endpoints<
  TLSCertificateWire,
  TLSCertificateUpload,
  TLSCertificateUpdate
> = endpointsOf("/tls_certificates", "tls_certificates", tlsCertificateWire);
