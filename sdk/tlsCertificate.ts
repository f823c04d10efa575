import * as pulumi from "@pulumi/pulumi";
import {
  type TLSCertificateInputs,
  type TLSCertificateState,
  tlsCertificate,
} from "../provider/kinds/tlsCertificate";
import type {
  GetTLSCertificateResult,
  TLSCertificateFilter,
  TLSCertificateListFilter,
} from "../provider/kinds/tlsCertificateLookup";
import type { SubjectAlternativeNames } from "../provider/values/names";
import type { Given, ObjectArgs } from "./args";
import { warnOfChain } from "./chainWarnings";
import { type InputOf, isOfKind } from "./kind";
import { type LookupArgs, type LookupOutputOptions, lookUp, lookUpOutput } from "./lookup";
import type { Outputs } from "./outputs";
import { Registration } from "./registration";
import { idToGet } from "./workarounds";

export type { GetTLSCertificateResult, SubjectAlternativeNames };

/** The arguments of a {@link TLSCertificate}. */
export interface TLSCertificateArgs extends ObjectArgs, Given<TLSCertificateInputs> {}

export interface TLSCertificate extends Outputs<TLSCertificateState> {}

/**
 * A TLS certificate: a PEM chain with its private key, uploaded.
 *
 * Only `description` and `metadata` update in place. A changed chain replaces the certificate: the
 * new one is created first, then the old one is deleted. Another PEM text of the same chain is no
 * change.
 *
 * The option `import` adopts the existing certificate with that id, or with that SHA-256
 * fingerprint: nothing is created, and the plan fails and lists the differences if the arguments
 * differ from the certificate. The key may be omitted. After the first update the option can be
 * removed.
 *
 * @example
 * const certificate = new TLSCertificate("app", {
 *   certificatePem: readFileSync("app.pem", "utf8"),
 *   privateKeyPem: config.requireSecret("appKey"),
 * });
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Pulumi sets the outputs at run time.
export class TLSCertificate extends pulumi.CustomResource {
  /** Assigned by the service, opaque. */
  declare readonly id: pulumi.Output<pulumi.ID>;
  constructor(name: string, args: TLSCertificateArgs, opts: pulumi.CustomResourceOptions = {}) {
    const registered = { kind: tlsCertificate, provider: "tlsCertificate" } as const;
    // A JavaScript program may pass no arguments: then the provider reports what is missing.
    const registration = new Registration(registered, name, { ...args }, opts);
    try {
      super(registration.token, name, registration.properties, registration.options);
    } catch (error) {
      // The registration pauses stack traces, which are slow: the error gets its own here.
      throw registration.pausedTraces.end(error);
    }
    registration.done(this);
    if (opts.id === undefined) warnOfChain(this, this.certificatePem, args?.renewBeforeDays);
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
    state?: { connection?: string | undefined },
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

/** Which certificates to look up: those that match all given filters. */
export interface GetTLSCertificatesArgs extends TLSCertificateListFilter, LookupArgs {}

/** Which certificate to look up: by `id`, or the only one that matches all given filters. */
export interface GetTLSCertificateArgs extends TLSCertificateFilter, LookupArgs {
  /** The id of the certificate. With an id, other filters are ignored. */
  id?: string | undefined;
  /**
   * Whether to take the one whose validity starts last, if several match. Of equal ones, the one created
   * last is taken. Default false: several are an error.
   */
  mostRecent?: boolean | undefined;
}

/** All matching certificates of the account, newest first. */
export async function getTLSCertificates(
  args: GetTLSCertificatesArgs = {},
): Promise<GetTLSCertificateResult[]> {
  return lookUp("getTLSCertificates", args);
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
  return lookUp("getTLSCertificate", args);
}

/** {@link getTLSCertificate} for arguments that are outputs. An error shows no secret value. */
export function getTLSCertificateOutput(
  args: InputOf<GetTLSCertificateArgs>,
  opts?: LookupOutputOptions,
): pulumi.Output<GetTLSCertificateResult> {
  return lookUpOutput("getTLSCertificate", args, opts);
}

/** {@link getTLSCertificates} for arguments that are outputs. */
export function getTLSCertificatesOutput(
  args: InputOf<GetTLSCertificatesArgs> = {},
  opts?: LookupOutputOptions,
): pulumi.Output<GetTLSCertificateResult[]> {
  return lookUpOutput("getTLSCertificates", args, opts);
}
