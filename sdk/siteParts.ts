import * as pulumi from "@pulumi/pulumi";
import { plainMessage } from "../client/plain";
import { filesKey, listed } from "../provider/kinds/kind";
import { misplacedTexts } from "../provider/kinds/shape";
import { hostOf } from "../provider/values/hostport";
import { covers } from "../provider/values/names";
import { isRecord } from "../provider/values/properties";
import { readTextFile } from "../provider/values/textFile";
import { isAsync, wrongForm } from "./args";
import { type InputOf, isOfKind } from "./kind";
import type { TLSCertificate, TLSCertificateArgs } from "./tlsCertificate";
import type { TLSEdge, TLSEdgeArgs } from "./tlsEdge";

/**
 * Who may connect to a site: either anyone, or clients with an allowed address, with a certificate of
 * an allowed authority, or with both.
 */
export interface TLSSiteAccess {
  /** True makes the site public: anyone may connect. Not with the other two. */
  public?: boolean | undefined;
  /** The ids of the IP policies that list the allowed addresses, one or more. */
  ipPolicyIds?: InputOf<string[]> | undefined;
  /** The ids of the authorities that must sign the clients' certificates, one or more. */
  certificateAuthorityIds?: InputOf<string[]> | undefined;
}

/**
 * The arguments of a `TLSSite`. Its certificate is given in one of three ways: `certificate`,
 * `certificatePem` with `privateKeyPem`, or `chainFile` with `keyFile`.
 */
export interface TLSSiteArgs {
  /** The hostports that the site serves, such as `app.example.com:443`. */
  hostports: InputOf<string[]>;
  /**
   * A certificate that is there already, in the account of the site. Sites may share one: create a
   * `TLSCertificate`, or take the certificate of a site, and pass it to each.
   */
  certificate?: TLSCertificate | undefined;
  /** The PEM chain of the site's own certificate, leaf first. */
  certificatePem?: pulumi.Input<string> | undefined;
  /** The private key of the chain's leaf, in PEM. Always a secret. */
  privateKeyPem?: pulumi.Input<string> | undefined;
  /**
   * A PEM file with the chain of the site's own certificate, leaf first, such as an ACME client's
   * `fullchain.pem`. Each run of the program reads it.
   */
  chainFile?: string | undefined;
  /** A PEM file with the private key of the chain's leaf, such as `privkey.pem`. */
  keyFile?: string | undefined;
  /** The id of the backend behind the site. */
  backendId: pulumi.Input<string>;
  /** Who may connect. There is no default: a public site says that it is `public`. */
  access: TLSSiteAccess;
  /** The lowest TLS version. Default `1.2`. */
  minVersion?: pulumi.Input<"1.0" | "1.1" | "1.2" | "1.3"> | undefined;
  /**
   * A plan warns when the site's own certificate expires within this many days. Default 21, or a third of its lifetime
   * where that is shorter.
   */
  renewBeforeDays?: pulumi.Input<number> | undefined;
  /** For people; at most 255 bytes. Default: the name of the site and of the stack. */
  description?: pulumi.Input<string> | undefined;
  /**
   * Metadata of each child as JSON, for machines. Two names are added unless you set them:
   * `environment` (the stack) and, in a CI system, `repository` (from `GITHUB_REPOSITORY` or
   * `CI_PROJECT_PATH`). An empty text leaves a name out. If the JSON would exceed 4096 bytes, no names
   * are added. The commit is not added, because each commit would then update each site. To add it,
   * set `commit` to what the CI system says, such as `GITHUB_SHA`.
   */
  metadata?: pulumi.Input<Record<string, pulumi.Input<string | undefined>>> | undefined;
  /** Who is responsible for the site: `owner` in the metadata. Overrides `metadata.owner`. */
  owner?: pulumi.Input<string> | undefined;
  /** The config namespace of the account. Default `tlsedge`; changing it replaces. */
  connection?: string | undefined;
}

/** The way to the resources, dynamic providers or the plugin: the classes of a site's children. */
export interface Classes {
  TLSCertificate: ResourceClass<TLSCertificateArgs, TLSCertificate>;
  TLSEdge: ResourceClass<TLSEdgeArgs, TLSEdge>;
  /** The type that the child of this name has when it goes the other way: its alias. */
  otherType: (name: string) => string;
  /**
   * The options that keep a protected site from protecting its certificate: Pulumi replaces nothing that
   * is protected, and a renewal replaces the certificate.
   */
  unprotected: pulumi.CustomResourceOptions;
}

export type ResourceClass<Args, Made> = new (
  name: string,
  args: Args,
  opts: pulumi.CustomResourceOptions,
) => Made;

/** The outputs of a site. */
export interface SiteParts {
  /** The certificate of the site. */
  readonly certificate: TLSCertificate;
  /** The edge of the site. */
  readonly edge: TLSEdge;
  /** The id of the site's certificate. */
  readonly certificateId: pulumi.Output<string>;
  /** The id of the site's edge. */
  readonly edgeId: pulumi.Output<string>;
  /** The hostports that the site serves. */
  readonly hostports: pulumi.Output<string[]>;
  /** When the site's certificate expires, RFC 3339 in UTC. */
  readonly expires: pulumi.Output<string>;
}

/** The arguments of a site, without a file. */
type CheckedArgs = TLSSiteArgs & { [filesKey]?: object };

/**
 * The inputs of a site in state: the arguments but those of its certificate. The private key is in the state of the
 * certificate alone, and a path in none.
 */
export function inputsOf(args: CheckedArgs): pulumi.Inputs {
  const ofCertificate: readonly string[] = [...certificateNames.flat(), filesKey];
  return Object.fromEntries(Object.entries(args).filter(([name]) => !ofCertificate.includes(name)));
}

/** The children of a site. `checkedArgs` has accepted the arguments. */
export function partsOf(
  site: pulumi.ComponentResource,
  name: string,
  args: CheckedArgs,
  { TLSCertificate, TLSEdge, otherType, unprotected }: Classes,
): SiteParts {
  const { connection } = args;
  const { ipPolicyIds, certificateAuthorityIds } = args.access;
  // Pulumi's name for what the site has from its options or from its parent.
  const { __protect: isProtected } = site as { __protect?: boolean };
  const about = {
    description: args.description ?? `${name} (${pulumi.getStack()})`,
    metadata: metadataOf(args),
    ...(connection !== undefined && { connection }),
  };
  const child = (type: string) => ({ parent: site, aliases: [{ type: otherType(type) }] });
  // Every state has the type and name of a child. If you change one, give the child an alias.
  const certificate =
    args.certificate ??
    new TLSCertificate(
      name,
      {
        ...about,
        certificatePem: args.certificatePem as pulumi.Input<string>,
        privateKeyPem: args.privateKeyPem && pulumi.secret(args.privateKeyPem),
        renewBeforeDays: args.renewBeforeDays,
        ...(args[filesKey] && { [filesKey]: args[filesKey] }),
      },
      { ...child("TLSCertificate"), ...(isProtected && unprotected) },
    );
  const edge = new TLSEdge(
    name,
    {
      ...about,
      hostports: args.hostports,
      backend: { backendId: args.backendId },
      tlsTermination: { terminateAt: "edge", minVersion: args.minVersion ?? "1.2" },
      ...(ipPolicyIds && { ipRestriction: { ipPolicyIds } }),
      ...(certificateAuthorityIds && { mutualTls: { certificateAuthorityIds } }),
    },
    { ...child("TLSEdge"), dependsOn: certificate },
  );
  warnOfUncovered(name, certificate, edge);
  return {
    certificate,
    edge,
    certificateId: certificate.id,
    edgeId: edge.id,
    hostports: edge.hostports,
    expires: certificate.notAfter,
  };
}

type Name = keyof TLSSiteArgs;
const required: readonly Name[] = ["hostports", "backendId", "access"];
const optional: readonly Name[] = [
  "minVersion",
  "renewBeforeDays",
  "description",
  "metadata",
  "owner",
];
const accessNames = ["public", "ipPolicyIds", "certificateAuthorityIds"];

/** The arguments that give a certificate: one of these rows. */
const certificateNames = [
  ["certificate"],
  ["certificatePem", "privateKeyPem"],
  ["chainFile", "keyFile"],
] as const;

/**
 * The arguments, with the texts of the files in place of their paths. Refuses invalid ones: a program in JavaScript or
 * YAML may pass anything.
 *
 * @param more Names that only this way to the resources has.
 * @throws pulumi.RunError with a sentence.
 */
export function checkedArgs(
  site: string,
  args: TLSSiteArgs,
  more: readonly Name[] = [],
): CheckedArgs {
  const known = [...required, ...certificateNames.flat(), ...optional, ...more];
  const problem =
    wrongForm(args, known, "option") ??
    missing(args) ??
    noHostport(args) ??
    wrongCertificate(args) ??
    wrongForm(args.access, accessNames, "option", "access.") ??
    wrongAccess(args.access) ??
    wrongMetadata(args) ??
    wrongText(args);
  if (problem) throw new pulumi.RunError(`the site ${site}: ${problem}`);
  const { chainFile, keyFile, ...others } = args;
  if (chainFile == null || keyFile == null) return args;
  return {
    ...others,
    certificatePem: readPemFile(site, "chainFile", chainFile),
    privateKeyPem: readPemFile(site, "keyFile", keyFile),
    [filesKey]: { certificatePem: `chainFile ${chainFile}`, privateKeyPem: `keyFile ${keyFile}` },
  };
}

function missing(args: TLSSiteArgs): string | undefined {
  const name = required.find((name) => args[name] == null);
  return name === "access" ? noAccess : name && `${name} is missing`;
}

function noHostport({ hostports }: TLSSiteArgs): string | undefined {
  const isEmpty = Array.isArray(hostports) && hostports.length === 0;
  return isEmpty ? "hostports is empty: give at least one, such as app.example.com:443" : undefined;
}

function wrongMetadata({ metadata = {} }: TLSSiteArgs): string | undefined {
  const isValid = isAsync(metadata) || isRecord(metadata);
  return isValid ? undefined : "metadata must be a map: the site writes it as JSON";
}

/**
 * Why a text can't be the one that is meant. The check of a child would name another property: `owner` is a part of its
 * `metadata`.
 */
function wrongText(args: TLSSiteArgs): string | undefined {
  // The certificate has texts of its own, and a wrong path is told where its file is read.
  const { certificate, chainFile, keyFile, ...others } = args;
  const [misplaced] = misplacedTexts(others);
  return misplaced && `${misplaced.path}: ${misplaced.reason}`;
}

function wrongCertificate(args: TLSSiteArgs): string | undefined {
  const given = certificateNames.map((way) => way.filter((name) => args[name] != null));
  const [first, second] = given.filter((names) => names.length > 0);
  const ways = "certificate, certificatePem with privateKeyPem, or chainFile with keyFile";
  if (!first) return `a certificate is missing: give ${ways}`;
  if (second) {
    return `${first[0]} and ${second[0]} both give a certificate: give only one of ${ways}`;
  }
  if (args.certificate && !isOfKind(args.certificate, "TLSCertificate")) {
    return `certificate must be a TLSCertificate itself, not its id or another resource: give ${ways}`;
  }
  if (args.privateKeyPem != null && args.certificatePem == null) return "certificatePem is missing";
  if (args.chainFile == null && args.keyFile == null) return undefined;
  const file = (["chainFile", "keyFile"] as const).find((name) => typeof args[name] !== "string");
  return (
    file && (args[file] == null ? `${file} is missing` : `${file} must be the path of a PEM file`)
  );
}

const noAccess =
  "access must say who may connect: set access.ipPolicyIds or access.certificateAuthorityIds, or " +
  "make the site public with access.public";

function wrongAccess(access: TLSSiteAccess): string | undefined {
  const { public: isPublic = false, ipPolicyIds, certificateAuthorityIds } = access;
  if (typeof isPublic !== "boolean") {
    const what = isAsync(isPublic) ? "an output" : `a ${typeof isPublic}`;
    return `access.public must be true or false, not ${what}`;
  }
  const restrictions = [ipPolicyIds, certificateAuthorityIds].filter((ids) => ids != null);
  if (isPublic && restrictions.length > 0) {
    return "access is public and restricted: remove access.public, or all else of access";
  }
  const isOpen = !isPublic && restrictions.length === 0;
  const isEmpty = restrictions.some((ids) => Array.isArray(ids) && ids.length === 0);
  return isOpen || isEmpty ? noAccess : undefined;
}

/** Warns about the hostports of a site that its certificate is not valid for. Shows no secret one. */
function warnOfUncovered(name: string, certificate: TLSCertificate, edge: TLSEdge): void {
  const { subjectAlternativeNames } = certificate;
  pulumi.all([edge.hostports, subjectAlternativeNames]).apply(async ([hostports, names]) => {
    // The mocks of a unit test may leave out either.
    if (!hostports || !names) return;
    const isSecret = await pulumi.isSecret(edge.hostports);
    const uncovered = hostports.flatMap((hostport, index) => {
      if (covers(names, hostOf(hostport))) return [];
      return isSecret ? `${name}.hostports[${index}]` : hostport;
    });
    if (uncovered.length === 0) return;
    const { dnsNames = [], ips = [] } = names;
    const text =
      `the certificate is not valid for ${listed(uncovered)}: clients will refuse the connection. ` +
      `It is valid for ${listed([...dnsNames, ...ips]) || "no name"}`;
    await pulumi.log.warn(plainMessage(text), edge);
  });
}

function readPemFile(site: string, name: Name, file: string): string {
  const errorWith = (reason: string) =>
    new pulumi.RunError(`the certificate of the site ${site}: ${reason}`);
  // The value may be a private key: no message shows it.
  if (file.includes("-----BEGIN"))
    throw errorWith(
      "chainFile and keyFile are paths: give PEM text as certificatePem and privateKeyPem",
    );
  try {
    const text = readTextFile(file);
    if (text.trim()) return text;
  } catch (error) {
    throw errorWith(`${name} ${file} ${(error as Error).message}`);
  }
  throw errorWith(`${name} ${file} is empty`);
}

/** The program's metadata as JSON, with the added names if all fit. */
function metadataOf({ metadata = {}, owner }: TLSSiteArgs): pulumi.Output<string> {
  const { env } = process;
  return pulumi.all([metadata, owner]).apply(([metadata, owner]) => {
    const own = { ...metadata, ...(owner && { owner }) };
    const added = {
      environment: pulumi.getStack(),
      repository: env.GITHUB_REPOSITORY || env.CI_PROJECT_PATH,
    };
    const parts = Object.entries({ ...added, ...own }).filter(([, value]) => value);
    const all = JSON.stringify(Object.fromEntries(parts));
    if (Buffer.byteLength(all) <= 4096) return all;
    return JSON.stringify(Object.fromEntries(parts.filter(([name]) => name in own)));
  });
}
