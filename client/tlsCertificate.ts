import type { Client } from "./client";

/** A TLS certificate as the service answers it: never with its private key (api.md §2.2). */
export interface TLSCertificateWire {
  /** Assigned by the service, opaque. */
  id: string;
  /** Where the service serves it. */
  uri: string;
  /** RFC 3339, UTC. */
  created_at: string;
  /** For people; at most 255 bytes of UTF-8. */
  description?: string | null;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: string | null;
  /** The chain in PEM, leaf first. */
  certificate_pem: string;
  /** The leaf's common name. */
  subject_common_name?: string | null;
  /** The other names that the leaf is valid for. */
  subject_alternative_names?: {
    /** Domains, wildcards included. */
    dns_names?: string[] | null;
    /** IPv4 and IPv6 addresses. */
    ips?: string[] | null;
  } | null;
  /** When the service issued it, RFC 3339; null for an uploaded one. */
  issued_at?: string | null;
  /** Start of validity, RFC 3339. */
  not_before?: string | null;
  /** End of validity, RFC 3339. */
  not_after?: string | null;
  /** What the key may be used for. */
  key_usages?: string[] | null;
  /** The extended set of such uses. */
  extended_key_usages?: string[] | null;
  /** `rsa`, `ecdsa` or `ed25519`. */
  private_key_type?: string | null;
  /** The common name of the leaf's issuer. */
  issuer_common_name?: string | null;
  /** The leaf's serial number. */
  serial_number?: string | null;
  /** From the leaf's subject. */
  subject_organization?: string | null;
  /** From the leaf's subject. */
  subject_organizational_unit?: string | null;
  /** From the leaf's subject. */
  subject_locality?: string | null;
  /** From the leaf's subject. */
  subject_province?: string | null;
  /** From the leaf's subject. */
  subject_country?: string | null;
}

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

const path = "/tls_certificates";
const at = (id: string) => `${path}/${encodeURIComponent(id)}`;

/** The TLS certificate endpoints (api.md §4.2). */
export const tlsCertificates = {
  /** Makes one; not asked again where that might make a second. */
  create: (client: Client, body: TLSCertificateUpload) =>
    client.post<TLSCertificateWire>(path, body),
  /** One, by id; a 404 when there is none. */
  get: (client: Client, id: string) => client.get<TLSCertificateWire>(at(id)),
  /** Sends what changes, and no more. */
  update: (client: Client, id: string, body: TLSCertificateUpdate) =>
    client.patch<TLSCertificateWire>(at(id), body),
  /** Takes one away; a 404 when there is none. */
  delete: (client: Client, id: string) => client.delete(at(id)),
  /** All, newest first, page by page. */
  list: (client: Client) => client.list<TLSCertificateWire>(path, "tls_certificates"),
};
