import { isIP } from "node:net";
import type { PolicyResource } from "@pulumi/policy";
import { isDefaultProvider, TLSCertificate, TLSEdge } from "pulumi-tlsedge";
import { readChain, unread } from "./chain";
import { any, each, isOn, resourcePolicy, stackPolicy, uploaded } from "./policy";
import { acceptsLess, edgeTlsVersion, minimumSchema } from "./tlsEdge";

/** Edges and certificates name an owner. */
export const owner = resourcePolicy({
  name: "owner",
  displayName: "Owner in metadata",
  description: "The metadata of a TLS edge or TLS certificate is JSON that names an owner.",
  why:
    "When a private key leaks or a host name is taken over, someone must call the owner at once. " +
    "With the owner in the metadata, everyone who can read the object knows whom to call.",
  remediationSteps:
    'Set metadata to JSON with the property, such as JSON.stringify({ owner: "payments" }).',
  severity: "low",
  enforcementLevel: "advisory",
  configSchema: {
    properties: {
      property: {
        type: "string",
        minLength: 1,
        default: "owner",
        description: "The property of the metadata that names the owner.",
      },
    },
  },
  example: {
    violation: 'new TLSEdge("app", { metadata: "payments" });',
    fix: 'new TLSEdge("app", { metadata: JSON.stringify({ owner: "payments" }) });',
  },
  validateResource(args, report) {
    const resource = args.asType(TLSEdge) ?? args.asType(TLSCertificate);
    if (!resource) return args.notApplicable("Policy only applies to TLS edges and certificates");
    const { property } = args.getConfig<{ property: string }>();
    if (namesOwner(resource.metadata, property)) return;
    report(
      `The metadata of "${args.name}" names no owner. ` +
        `Set the metadata to JSON with the property "${property}".`,
    );
  },
});

function namesOwner(metadata: string | undefined, property: string): boolean {
  try {
    const name = JSON.parse(metadata ?? "null")?.[property];
    // A letter or a digit that can be seen: some letters and spaces can't.
    return (
      typeof name === "string" && /(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}]/u.test(name)
    );
  } catch {
    return false;
  }
}

/** No edge accepts an old TLS version, whoever chose the version. */
export const deployedTlsVersion = stackPolicy({
  name: "deployed-tls-version",
  displayName: "Minimum TLS version as deployed",
  description: "No TLS edge of the stack accepts a TLS version below the minimum.",
  why:
    "An edge for which the program sets no tlsTermination.minVersion has the version of the " +
    "service. An adopted edge may have an old version, and someone may lower it at the service: " +
    "no plan shows a change then.",
  remediationSteps:
    'Set tlsTermination.minVersion to the minimum or to "1.3". This policy judges the state of ' +
    "the stack: `pulumi refresh` brings into it what was changed at the service. The version of " +
    "an edge that this update creates, adopts or changes is judged after the update, unless the " +
    "program sets it.",
  severity: "high",
  enforcementLevel: "mandatory",
  configSchema: minimumSchema,
  example: edgeTlsVersion.example,
  validateStack({ resources, getConfig }, report) {
    const { minVersion } = getConfig<{ minVersion: string }>();
    const edges = resources.filter((resource) => resource.isType(TLSEdge));
    each(edges, ({ name, urn, props: { tlsTermination } }) => {
      if (!acceptsLess(tlsTermination, minVersion)) return;
      report(
        `The deployed TLS edge "${name}" accepts TLS versions below ${minVersion}. ` +
          `Set its tlsTermination.minVersion to "${minVersion}" or higher.`,
        urn,
      );
    });
  },
});

/** Every hostport has a valid certificate. */
export const hostportCertificate = stackPolicy({
  name: "hostport-certificate",
  displayName: "A certificate for every hostport",
  description:
    "Every hostport of the stack's TLS edges is covered by a certificate of the stack that is " +
    "valid now.",
  why:
    "Clients refuse to connect to a host name that no certificate is valid for. A wildcard " +
    "covers exactly one label (RFC 6125): `*.example.com` is valid neither for `example.com` " +
    "nor for `a.b.example.com`.",
  remediationSteps:
    "Add a TLSCertificate of the same account with the host name in its subject alternative " +
    "names, or renew the expired one. Edges with terminateAt `upstream` are not judged unless " +
    "tlsTermination is disabled, because their certificate is on a server behind them. Where the " +
    "program sets no terminateAt, a preview judges the edge as one that ends TLS. A policy " +
    "sees only the resources of its own stack. If the certificates are in another stack, set " +
    "this policy to `disabled`. If an earlier version of pulumi-tlsedge wrote the state of a " +
    "certificate, run `pulumi refresh` first.",
  severity: "high",
  enforcementLevel: "advisory",
  example: {
    violation: `new TLSEdge("app", { hostports: ["a.b.example.com:443"] });\n${uploaded("wildcard")}`,
    fix: `new TLSEdge("app", { hostports: ["b.example.com:443"] });\n${uploaded("wildcard")}`,
  },
  validateStack({ resources }, report) {
    const certificates = resources.filter((resource) => resource.isType(TLSCertificate));
    const edges = resources.filter((resource) => resource.isType(TLSEdge));
    each(edges, (resource) => {
      const { name, urn, props: edge } = resource;
      const account = accountOf(resource);
      const endsTls = any([
        () => !isOn(edge.tlsTermination),
        () => edge.tlsTermination?.terminateAt !== "upstream",
      ]);
      if (!endsTls) return;
      each((edge.hostports ?? []) as string[], (hostport, index) => {
        const host = hostport.replace(/:\d+$/, "");
        const covered = any(
          certificates.map((certificate) => () => {
            if (accountOf(certificate) !== account) return false;
            const leaf = leafOf(certificate.props);
            return leaf !== undefined && isValid(leaf) && covers(leaf.names, host);
          }),
        );
        if (covered) return;
        report(
          `No certificate of the stack is valid now for hostports[${index}] of the TLS edge ` +
            `"${name}". Add a TLSCertificate with its host name in the subject alternative names, ` +
            "or renew the expired one.",
          urn,
        );
      });
    });
  },
});

/** A resource of the plugin has no connection: an explicit provider names its account. */
function accountOf({ props, provider }: PolicyResource): string {
  const isExplicit = provider !== undefined && !isDefaultProvider(provider.name);
  return props.connection ?? (isExplicit ? provider.urn : "tlsedge");
}

/**
 * The properties of a leaf; undefined in a state that an earlier version wrote. Reads the chain
 * first, which throws while the chain is unknown.
 */
function leafOf(certificate: PolicyResource["props"]) {
  void certificate.certificatePem;
  const { subjectAlternativeNames: names, notBefore, notAfter } = certificate;
  return names && { names, notBefore, notAfter };
}

function isValid({ notBefore, notAfter }: { notBefore: string; notAfter: string }): boolean {
  const now = Date.now();
  return Date.parse(notBefore) <= now && now <= Date.parse(notAfter);
}

/**
 * Whether names cover a host (RFC 6125, 6.4). Letter case is ignored. A wildcard is the whole
 * leftmost label and covers one label. An address must be among the addresses. `provider/values/pem.ts`
 * has a similar function, but a policy may import only what a program imports.
 */
function covers({ dnsNames, ips }: { dnsNames: string[]; ips: string[] }, host: string): boolean {
  if (isIP(host)) return ips.includes(host);
  const wanted = host.toLowerCase();
  const wildcard = wanted.replace(/^[^.]+/, "*");
  return dnsNames.some((name) => [wanted, wildcard].includes(name.toLowerCase()));
}

/** No two certificates have the same key. */
export const keyReuse = stackPolicy({
  name: "key-reuse",
  displayName: "One key, one certificate",
  description: "No two TLS certificates of the stack have the same key.",
  why:
    "An attacker who has a shared key can impersonate all names of its certificates, and to " +
    "revoke the key takes all these names down at once.",
  remediationSteps:
    "Create a key for each certificate, and have each certificate issued for its own key.",
  severity: "high",
  enforcementLevel: "advisory",
  example: {
    violation: `${uploaded("shop", "shop")}\n${uploaded("shop-again", "blog")}`,
    fix: `${uploaded("shop", "shop")}\n${uploaded("blog", "blog")}`,
  },
  validateStack({ resources }, report) {
    const certificates = resources.filter((resource) => resource.isType(TLSCertificate));
    const owners = new Map<string, PolicyResource>();
    each(certificates.sort(byName), (certificate) => {
      const chain = readChain(certificate.props.certificatePem);
      if (!chain) return report(unread(certificate.name), certificate.urn);
      const key = chain[0].keyIdentity;
      const owner = owners.get(key);
      if (!owner) {
        owners.set(key, certificate);
        return;
      }
      report(
        `The TLS certificates "${owner.name}" and "${certificate.name}" have the same key. ` +
          "Create a new key for one of the two, and have that certificate issued again.",
        certificate.urn,
      );
    });
  },
});

function byName(one: PolicyResource, other: PolicyResource): number {
  return one.name < other.name ? -1 : 1;
}
