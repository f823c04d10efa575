import type { Client } from "./client";

/** A TLS certificate as the service answers it: never with its private key (api.md §2.2). */
export interface TLSCertificateWire {
  id: string;
  uri: string;
  created_at: string;
  description?: string | null;
  metadata?: string | null;
  certificate_pem: string;
  subject_common_name?: string | null;
  subject_alternative_names?: { dns_names?: string[] | null; ips?: string[] | null } | null;
  issued_at?: string | null;
  not_before?: string | null;
  not_after?: string | null;
  key_usages?: string[] | null;
  extended_key_usages?: string[] | null;
  private_key_type?: string | null;
  issuer_common_name?: string | null;
  serial_number?: string | null;
  subject_organization?: string | null;
  subject_organizational_unit?: string | null;
  subject_locality?: string | null;
  subject_province?: string | null;
  subject_country?: string | null;
}

/** The body of an upload (api.md §4.2). */
export interface TLSCertificateUpload {
  description?: string;
  metadata?: string;
  certificate_pem: string;
  private_key_pem: string;
}

/** The only two fields of a certificate that can be updated (api.md §4.2). */
export type TLSCertificateUpdate = Pick<TLSCertificateUpload, "description" | "metadata">;

const path = "/tls_certificates";
const at = (id: string) => `${path}/${encodeURIComponent(id)}`;

/** The TLS certificate endpoints (api.md §4.2). */
export const tlsCertificates = {
  create: (client: Client, body: TLSCertificateUpload) =>
    client.post<TLSCertificateWire>(path, body),
  get: (client: Client, id: string) => client.get<TLSCertificateWire>(at(id)),
  update: (client: Client, id: string, body: TLSCertificateUpdate) =>
    client.patch<TLSCertificateWire>(at(id), body),
  delete: (client: Client, id: string) => client.delete(at(id)),
  list: (client: Client) => client.list<TLSCertificateWire>(path, "tls_certificates"),
};
