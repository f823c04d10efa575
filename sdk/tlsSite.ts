import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { plainMessage } from "../client/plain";
import { isObject } from "../provider/lifecycle";
import { listed } from "../provider/log";
import { covers } from "../provider/values/pem";
import { isAsync, wrongForm } from "./args";
import type { InputOf } from "./resource";
import {
  type SubjectAlternativeNames,
  TLSCertificate,
  type TLSCertificateArgs,
} from "./tlsCertificate";
import { TLSEdge } from "./tlsEdge";

/** A chain and its key: as PEM text, or as files, which each run of the program reads. */
export type TLSSiteCertificate =
  | Pick<TLSCertificateArgs, "certificatePem" | "privateKeyPem">
  | {
      /** A PEM file of the chain, leaf first, such as an ACME client's `fullchain.pem`. */
      chainFile: string;
      /** A PEM file of the leaf's private key, such as `privkey.pem`. */
      keyFile: string;
    };

/** Who may connect to a site. If both properties are set, a client must satisfy both. */
export interface TLSSiteAccess {
  /** The IP policies that list the allowed addresses. */
  ipPolicyIds?: InputOf<string[]>;
  /** The authorities that must sign the clients' certificates. */
  certificateAuthorityIds?: InputOf<string[]>;
}

/** The arguments of a {@link TLSSite}. */
export interface TLSSiteArgs {
  /** The hostports that the site serves, such as `app.example.com:443`. */
  hostports: InputOf<string[]>;
  /**
   * The certificate of the site. Sites may share one: create a `TLSCertificate` in the account of
   * the sites, and pass it to each.
   */
  certificate: TLSCertificate | TLSSiteCertificate;
  /** The backend behind the site. */
  backendId: pulumi.Input<string>;
  /** Who may connect. `"anyone"` makes the site public; there is no default. */
  access: "anyone" | TLSSiteAccess;
  /** The lowest TLS version. Default `1.2`. */
  minVersion?: pulumi.Input<"1.0" | "1.1" | "1.2" | "1.3">;
  /** A plan warns when the site's own certificate expires within this many days. Default 21. */
  renewBeforeDays?: pulumi.Input<number>;
  /** For people; at most 255 bytes. Default: the name of the site and of the stack. */
  description?: pulumi.Input<string>;
  /**
   * Metadata of each child as JSON, for machines. Two names are added unless you set them:
   * `environment` (the stack) and, in a CI system, `repository` (from `GITHUB_REPOSITORY` or
   * `CI_PROJECT_PATH`). A null removes a name. If the JSON would exceed 4096 bytes, no names are
   * added. The commit is not added, because each commit would then update each site. To add it, set
   * `commit: process.env.GITHUB_SHA`.
   */
  metadata?: Record<string, pulumi.Input<string | undefined> | null>;
  /** Who is responsible for the site: `owner` in the metadata. Overrides `metadata.owner`. */
  owner?: pulumi.Input<string>;
  /** The config namespace of the account. Default `tlsedge`; changing it replaces. */
  connection?: string;
}

/**
 * A certificate and the edge that serves it, with safe defaults: TLS ends at the edge, the lowest
 * TLS version is 1.2, and `access` is required. The certificate is created before the edge, and
 * deleted after it.
 *
 * A plan warns once for each certificate about the hostports that it is not valid for.
 *
 * The resource option `protect` protects the site's own certificate, too, and Pulumi replaces nothing
 * that is protected: to renew the certificate of a protected site, pass a `TLSCertificate`. In place
 * of a certificate that the site has already, give it the name of the site and the resource option
 * `aliases: [{ parent: "<the URN of the site>" }]`.
 *
 * @throws pulumi.RunError when an option is misspelt or missing, or a certificate's file can't be
 * read.
 * @example
 * const site = new TLSSite("app", {
 *   hostports: ["app.example.com:443"],
 *   certificate: { chainFile: "app/fullchain.pem", keyFile: "app/privkey.pem" },
 *   backendId: "bkdtg_…",
 *   access: { ipPolicyIds: ["ipp_…"] },
 *   owner: "web",
 * });
 */
export class TLSSite extends pulumi.ComponentResource {
  /** @internal */
  static readonly __pulumiType: string = "tlsedge:index:TLSSite";

  /** The certificate of the site. */
  readonly certificate: TLSCertificate;
  /** The edge of the site. */
  readonly edge: TLSEdge;
  /** The hostports that the site serves. */
  readonly hostports: pulumi.Output<string[]>;
  /** When the site's certificate expires, RFC 3339 in UTC. */
  readonly expires: pulumi.Output<string>;

  constructor(name: string, args: TLSSiteArgs, opts?: pulumi.ComponentResourceOptions) {
    checkArgs(name, args);
    super(TLSSite.__pulumiType, name, {}, opts);
    const { connection, certificate } = args;
    const about = {
      description: args.description ?? cut(`${name} (${pulumi.getStack()})`),
      metadata: metadataOf(args),
      ...(connection !== undefined && { connection }),
    };
    // Every state has the type and name of a child. If you change one, give the child an alias.
    this.certificate = TLSCertificate.isInstance(certificate)
      ? certificate
      : new TLSCertificate(
          name,
          { ...about, ...pemOf(name, certificate), renewBeforeDays: args.renewBeforeDays ?? 21 },
          { parent: this },
        );
    this.edge = new TLSEdge(
      name,
      {
        ...about,
        hostports: args.hostports,
        backend: { backendId: args.backendId },
        tlsTermination: { terminateAt: "edge", minVersion: args.minVersion ?? "1.2" },
        ...modulesOf(name, args.access),
      },
      { parent: this, dependsOn: this.certificate },
    );
    warnOfUncovered(name, this);
    this.hostports = this.edge.hostports;
    this.expires = this.certificate.notAfter;
    this.registerOutputs({
      certificateId: this.certificate.id,
      edgeId: this.edge.id,
      hostports: this.hostports,
      expires: this.expires,
    });
  }
}

const options: Record<keyof TLSSiteArgs, "required" | "optional"> = {
  hostports: "required",
  certificate: "required",
  backendId: "required",
  access: "required",
  minVersion: "optional",
  renewBeforeDays: "optional",
  description: "optional",
  metadata: "optional",
  owner: "optional",
  connection: "optional",
};
const accessOptions = ["ipPolicyIds", "certificateAuthorityIds"];
const pemOptions = ["certificatePem", "privateKeyPem"];
const fileOptions = ["chainFile", "keyFile"];

/** Refuses invalid options: a JavaScript program may pass anything. */
function checkArgs(site: string, args: TLSSiteArgs): void {
  const problem =
    wrongForm(args, Object.keys(options), "option") ??
    missing(args) ??
    wrongCertificate(args.certificate) ??
    (args.access === "anyone"
      ? undefined
      : wrongForm(args.access, accessOptions, "option", "access.")) ??
    (isAsync(args.metadata) || !isObject(args.metadata ?? {}) || Array.isArray(args.metadata)
      ? "metadata must be an object, whose values may be outputs"
      : undefined);
  if (problem) throw new pulumi.RunError(`the site ${site}: ${problem}`);
}

function missing(args: TLSSiteArgs): string | undefined {
  const name = (Object.keys(options) as (keyof TLSSiteArgs)[]).find(
    (option) => options[option] === "required" && args[option] == null,
  );
  if (name === "access") return missingAccess;
  return name && `${name} is missing`;
}

function wrongCertificate(given: TLSSiteArgs["certificate"]): string | undefined {
  if (TLSCertificate.isInstance(given)) return undefined;
  const wrong = wrongForm(given, [...fileOptions, ...pemOptions], "option", "certificate.");
  if (wrong || !fileOptions.some((name) => name in given)) return wrong;
  const files = given as Record<string, unknown>;
  if (pemOptions.some((name) => name in given)) {
    return "certificate has both PEM text and files: give only one of the two";
  }
  const name = fileOptions.find((one) => typeof files[one] !== "string");
  return name && `certificate.${name} must be the path of a PEM file`;
}

/** The sites of each certificate that no warning has judged yet, with their names. */
const unjudged = new WeakMap<TLSCertificate, { name: string; site: TLSSite }[]>();

/** Warns once for each certificate about the hostports of its sites that it is not valid for. */
function warnOfUncovered(name: string, site: TLSSite): void {
  const { certificate } = site;
  const sites = unjudged.get(certificate) ?? [];
  unjudged.set(certificate, sites);
  // The first site judges all that are made before the last of them is deployed.
  if (sites.push({ name, site }) > 1) return;
  certificate.subjectAlternativeNames.apply(async (names) => {
    const found: string[] = [];
    for (const each of sites) found.push(...(await uncoveredOf(each.name, each.site, names)));
    unjudged.delete(certificate);
    const [one] = found;
    if (!one) return;
    const text =
      found.length === 1
        ? `${one}: clients will refuse the connection`
        : `${found.length} hostports (${listed(found)}): clients will refuse these connections`;
    await pulumi.log.warn(plainMessage(`the certificate is not valid for ${text}`), certificate);
  });
}

/** The hostports of a site that its certificate is not valid for; none while they are not known. */
async function uncoveredOf(
  name: string,
  { edge }: TLSSite,
  names: SubjectAlternativeNames | undefined,
): Promise<string[]> {
  let found: string[] = [];
  const judged = edge.hostports.apply(async (hostports) => {
    const isSecret = await pulumi.isSecret(edge.hostports);
    found = uncovered(hostports ?? [], names).map((index) =>
      isSecret ? `${name}.hostports[${index}]` : (hostports[index] ?? ""),
    );
  });
  // Settles when the function has run, and also when the hostports stay unknown: then it never runs.
  await pulumi.isSecret(judged).catch(() => {});
  return found;
}

/** The indexes of the hostports that a certificate with these names is not valid for. */
export function uncovered(
  hostports: string[],
  names: SubjectAlternativeNames | undefined,
): number[] {
  const indexes = [...hostports.keys()];
  return names
    ? indexes.filter((index) => !covers(names, (hostports[index] ?? "").replace(/:\d+$/, "")))
    : [];
}

function pemOf(site: string, given: TLSSiteCertificate) {
  if (!("chainFile" in given)) return given;
  const read = (file: string) => {
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // The value may be a private key.
      const reason = String(file).includes("-----BEGIN")
        ? "chainFile and keyFile are paths: give PEM text as certificatePem and privateKeyPem"
        : `${file} can't be read from ${process.cwd()} (${code})`;
      throw new pulumi.RunError(`the certificate of the site ${site}: ${reason}`);
    }
  };
  return { certificatePem: read(given.chainFile), privateKeyPem: read(given.keyFile) };
}

const missingAccess =
  "access must say who may connect: set access.ipPolicyIds or access.certificateAuthorityIds, or " +
  'make the site public with access: "anyone"';

function modulesOf(site: string, access: TLSSiteArgs["access"]) {
  if (access === "anyone") return {};
  const { ipPolicyIds, certificateAuthorityIds } = access ?? {};
  const isEmpty = (ids: unknown) => Array.isArray(ids) && ids.length === 0;
  const given = ipPolicyIds ?? certificateAuthorityIds;
  if (!given || isEmpty(ipPolicyIds) || isEmpty(certificateAuthorityIds)) {
    throw new pulumi.RunError(`the site ${site}: ${missingAccess}`);
  }
  return {
    ...(ipPolicyIds && { ipRestriction: { ipPolicyIds } }),
    ...(certificateAuthorityIds && { mutualTls: { certificateAuthorityIds } }),
  };
}

/** A text cut to the limit of a description, at the end of a whole character. */
function cut(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, 255), { stream: true });
}

/** The program's metadata as JSON, with the added names if all fit. */
function metadataOf({ metadata = {}, owner }: TLSSiteArgs): pulumi.Output<string> {
  const { env } = process;
  return pulumi.output({ ...metadata, ...(owner !== undefined && { owner }) }).apply((given) => {
    const known = {
      environment: pulumi.getStack(),
      repository: env.GITHUB_REPOSITORY || env.CI_PROJECT_PATH,
    };
    const parts = Object.entries({ ...known, ...given }).filter(([, value]) => value != null);
    const all = JSON.stringify(Object.fromEntries(parts));
    if (Buffer.byteLength(all) <= 4096) return all;
    return JSON.stringify(Object.fromEntries(parts.filter(([name]) => name in given)));
  });
}
