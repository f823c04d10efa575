import * as pulumi from "@pulumi/pulumi";
import { lookups } from "../provider/lookups";
import type {
  GetTLSCertificateResult,
  TLSCertificateFilter,
  TLSCertificateQuery,
} from "../provider/tlsCertificateLookup";
import type { SubjectAlternativeNames } from "../provider/values/pem";
import { warnOfExpiry } from "./expiry";
import { ask, askOutput, type LookupArgs } from "./lookup";
import {
  type InputOf,
  idToGet,
  isOfKind,
  registration,
  typeToken,
  unsetIsUndefined,
} from "./resource";

export type { GetTLSCertificateResult, SubjectAlternativeNames };

/** The arguments of a {@link TLSCertificate} (api.md §4.2). */
export interface TLSCertificateArgs {
  /**
   * A description for people. At most 255 bytes of UTF-8. Updates in place. An empty text is the
   * same as none.
   */
  description?: pulumi.Input<string | undefined>;
  /**
   * Any text for machines. At most 4096 bytes of UTF-8. Updates in place. An empty text is the same
   * as none.
   */
  metadata?: pulumi.Input<string | undefined>;
  /**
   * The PEM chain, leaf first, each certificate signed by the next. The leaf's key is RSA, ECDSA or
   * Ed25519. Changing the chain replaces the certificate.
   */
  certificatePem: pulumi.Input<string>;
  /**
   * The leaf's private key in PEM: PKCS#8, PKCS#1 or SEC1, not encrypted. Always a secret. State
   * has it once, encrypted. The service never returns it. Required for a new certificate.
   */
  privateKeyPem?: pulumi.Input<string | undefined>;
  /**
   * A plan warns when the leaf expires within this number of days, 1 to 3650. Default: no warning
   * before the leaf has expired. Not sent to the service.
   */
  renewBeforeDays?: pulumi.Input<number | undefined>;
  /** The config namespace of the account. Default `tlsedge`; changing it replaces. */
  connection?: string;
}

/**
 * A TLS certificate: a PEM chain with its private key, uploaded (api.md §2.2).
 *
 * Only `description` and `metadata` update in place. A changed chain replaces the certificate: the
 * new one is created first, then the old one is deleted. Another PEM text of the same chain is no
 * change.
 *
 * The option `import` adopts the existing certificate with that id: nothing is created, and the plan
 * fails and lists the differences if the arguments differ from the certificate. The key may be
 * omitted. After the first update the option can be removed.
 *
 * @example
 * const certificate = new TLSCertificate("app", {
 *   certificatePem: readFileSync("app.pem", "utf8"),
 *   privateKeyPem: config.requireSecret("appKey"),
 * });
 */
export class TLSCertificate extends pulumi.CustomResource {
  /** Assigned by the service, opaque. */
  declare readonly id: pulumi.Output<pulumi.ID>;
  /** The URI of the certificate. */
  declare readonly uri: pulumi.Output<string>;
  /** When the certificate was uploaded, RFC 3339 in UTC. */
  declare readonly createdAt: pulumi.Output<string>;
  /** The description for people; may be unset. */
  declare readonly description: pulumi.Output<string | undefined>;
  /** The text for machines; may be unset. */
  declare readonly metadata: pulumi.Output<string | undefined>;
  /** The config namespace of the account. */
  declare readonly connection: pulumi.Output<string>;
  /**
   * 16 hex characters, equal for all objects that were made or last read with the same API key; unset
   * in the state of an earlier version.
   */
  declare readonly accountTag: pulumi.Output<string | undefined>;
  /** The PEM chain, leaf first. */
  declare readonly certificatePem: pulumi.Output<string>;
  /** The leaf's common name; empty when it has none. */
  declare readonly subjectCommonName: pulumi.Output<string>;
  /** The other names that the leaf is valid for. */
  declare readonly subjectAlternativeNames: pulumi.Output<SubjectAlternativeNames>;
  /** When the service issued the certificate itself; unset for an uploaded one. */
  declare readonly issuedAt: pulumi.Output<string | undefined>;
  /** Start of validity, RFC 3339 in UTC. */
  declare readonly notBefore: pulumi.Output<string>;
  /** End of validity, RFC 3339 in UTC. */
  declare readonly notAfter: pulumi.Output<string>;
  /** What the key may be used for, in the service's names. */
  declare readonly keyUsages: pulumi.Output<string[]>;
  /** The extended key usages, in the service's names. */
  declare readonly extendedKeyUsages: pulumi.Output<string[]>;
  /** `rsa`, `ecdsa` or `ed25519`; unset for another kind of key. */
  declare readonly privateKeyType: pulumi.Output<string | undefined>;
  /** The common name of the leaf's issuer; empty when it has none. */
  declare readonly issuerCommonName: pulumi.Output<string>;
  /** The leaf's serial number, lower-case hex. */
  declare readonly serialNumber: pulumi.Output<string>;
  /** The organization in the leaf's subject; empty when absent. */
  declare readonly subjectOrganization: pulumi.Output<string>;
  /** The organizational unit in the leaf's subject; empty when absent. */
  declare readonly subjectOrganizationalUnit: pulumi.Output<string>;
  /** The locality, such as a city, in the leaf's subject; empty when absent. */
  declare readonly subjectLocality: pulumi.Output<string>;
  /** The state or province in the leaf's subject; empty when absent. */
  declare readonly subjectProvince: pulumi.Output<string>;
  /** The country in the leaf's subject; empty when absent. */
  declare readonly subjectCountry: pulumi.Output<string>;
  /** SHA-256 of the leaf, lower-case hex. */
  declare readonly fingerprint: pulumi.Output<string>;
  /**
   * SHA-256 of the leaf's public key (SPKI), lower-case hex: equal for all leaves with one key in one
   * form. The key of a curve has two forms, compressed and uncompressed. Unset for a kind of key that
   * Node.js does not support.
   */
  declare readonly publicKeyFingerprint: pulumi.Output<string | undefined>;
  /** SHA-256 over the decoded chain in order, lower-case hex: differs for any other chain. */
  declare readonly chainFingerprint: pulumi.Output<string>;

  constructor(name: string, args: TLSCertificateArgs, opts: pulumi.CustomResourceOptions = {}) {
    // A JavaScript program may pass no arguments: then the provider reports what is missing.
    const { privateKeyPem } = args ?? {};
    // The engine can't import dynamic resources, so the provider does it.
    const { import: _, ...rest } = opts;
    super(
      typeToken("TLSCertificate"),
      name,
      registration(
        "tlsCertificate",
        {
          ...args,
          // Always a secret, so that the engine encrypts the key in state.
          ...(privateKeyPem !== undefined && { privateKeyPem: pulumi.secret(privateKeyPem) }),
        },
        outputs,
        opts,
      ),
      rest,
    );
    // Pulumi makes each argument a property. Delete the key: an export of the resource must not
    // contain it.
    delete (this as { privateKeyPem?: unknown }).privateKeyPem;
    unsetIsUndefined<TLSCertificate>(this, [
      ...(["description", "metadata", "accountTag", "issuedAt"] as const),
      ...(["privateKeyType", "publicKeyFingerprint"] as const),
    ]);
    if (opts.id === undefined) warnOfExpiry(this, this.notAfter, args?.renewBeforeDays);
  }

  /**
   * Reads an existing certificate without managing it.
   *
   * @param state `connection` names another account.
   * @throws when no certificate has this id.
   */
  static get(
    name: string,
    id: pulumi.Input<pulumi.ID>,
    state?: { connection?: string },
    opts?: pulumi.CustomResourceOptions,
  ): TLSCertificate {
    return new TLSCertificate(name, { ...state } as TLSCertificateArgs, {
      ...opts,
      id: idToGet("TLSCertificate", id),
    });
  }

  /** Whether a value is a TLSCertificate, from any copy of this package or from the plugin. */
  static override isInstance(value: unknown): value is TLSCertificate {
    return isOfKind(value, "TLSCertificate");
  }
}

const outputs = [
  ...["uri", "createdAt", "description", "metadata", "connection", "certificatePem"],
  ...["subjectCommonName", "subjectAlternativeNames", "issuerCommonName", "serialNumber"],
  ...["issuedAt", "notBefore", "notAfter", "privateKeyType", "keyUsages", "extendedKeyUsages"],
  ...["subjectOrganization", "subjectOrganizationalUnit", "subjectLocality"],
  ...["subjectProvince", "subjectCountry"],
  ...["fingerprint", "publicKeyFingerprint", "chainFingerprint", "accountTag"],
];

/** Which certificates to look up. */
export interface GetTLSCertificatesArgs extends TLSCertificateFilter, LookupArgs {}

/** Which certificate to look up: by `id`, or the only one that covers `domain`. */
export interface GetTLSCertificateArgs extends TLSCertificateQuery, LookupArgs {}

/** All matching certificates of the account, newest first. */
export async function getTLSCertificates(
  args: GetTLSCertificatesArgs = {},
): Promise<GetTLSCertificateResult[]> {
  return ask(lookups.getTLSCertificates, args);
}

/**
 * Reads one certificate of the account without managing it.
 *
 * @throws {@link LookupError} when none or several match; the message lists the candidates.
 * @example
 * const { notAfter } = await getTLSCertificate({ domain: "app.example.com" });
 */
export async function getTLSCertificate(
  args: GetTLSCertificateArgs,
): Promise<GetTLSCertificateResult> {
  return ask(lookups.getTLSCertificate, args);
}

/** {@link getTLSCertificate} for arguments that are outputs. An error shows no secret value. */
export function getTLSCertificateOutput(
  args: InputOf<GetTLSCertificateArgs>,
): pulumi.Output<GetTLSCertificateResult> {
  return askOutput(lookups.getTLSCertificate, args);
}

/** {@link getTLSCertificates} for arguments that are outputs. */
export function getTLSCertificatesOutput(
  args: InputOf<GetTLSCertificatesArgs> = {},
): pulumi.Output<GetTLSCertificateResult[]> {
  return askOutput(lookups.getTLSCertificates, args);
}
