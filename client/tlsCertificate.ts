/**
 * TLS certificates: their fields, and their endpoints.
 *
 * @module pulumi-tlsedge/client/tlsCertificate
 */

import * as v from "valibot";
import { object, text, texts, type Unset } from "./answer";
import { type Endpoints, endpointsOf } from "./endpoints";
import { type Item, itemOf, serviceFields } from "./fields";
import { answered, required } from "./rows";
import type { AnswerOf, BodyOf } from "./table";

/** A text of the leaf; empty where it has none. */
const ofLeaf = <const Name extends string>(name: Name) => ({
  ...answered(name, text),
  read: (value: Unset<string>) => value ?? "",
});
const textOrNull = <const Name extends string>(name: Name) => ({
  ...answered(name, text),
  read: (value: Unset<string>) => value || null,
});
const listOf = <const Name extends string>(name: Name) => ({
  ...answered(name, texts),
  read: (value: Unset<string[]>) => value ?? [],
});
const names = { dns_names: texts, ips: texts };

/** The fields of a certificate: a row of each. `ChainState` has the texts of what the chain says. @internal */
export const fields = {
  ...serviceFields,
  /**
   * The PEM chain, leaf first, each certificate signed by the next. The leaf's key is RSA, ECDSA or
   * Ed25519. Changing the chain replaces the certificate.
   */
  certificatePem: required("certificate_pem"),
  subjectCommonName: ofLeaf("subject_common_name"),
  subjectAlternativeNames: {
    ...answered("subject_alternative_names", v.nullish(object(names))),
    read: (value: Unset<{ dns_names?: Unset<string[]>; ips?: Unset<string[]> }>) => ({
      dnsNames: value?.dns_names ?? [],
      ips: value?.ips ?? [],
    }),
  },
  /** When the service issued the certificate itself; unset for an uploaded one. */
  issuedAt: textOrNull("issued_at"),
  notBefore: ofLeaf("not_before"),
  notAfter: ofLeaf("not_after"),
  /** What the key may be used for, in the service's names. */
  keyUsages: listOf("key_usages"),
  /** The extended key usages, in the service's names. */
  extendedKeyUsages: listOf("extended_key_usages"),
  privateKeyType: textOrNull("private_key_type"),
  issuerCommonName: ofLeaf("issuer_common_name"),
  serialNumber: {
    ...answered("serial_number", text),
    read: (value: Unset<string>) => (value ?? "").toLowerCase(),
  },
  subjectOrganization: ofLeaf("subject_organization"),
  subjectOrganizationalUnit: ofLeaf("subject_organizational_unit"),
  subjectLocality: ofLeaf("subject_locality"),
  subjectProvince: ofLeaf("subject_province"),
  subjectCountry: ofLeaf("subject_country"),
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
