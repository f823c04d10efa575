import { isIP } from "node:net";
import { type PolicyResource, UnknownValueError, validateResourceOfType } from "@pulumi/policy";
import { type Certificate, readChain, unread } from "./chain";
import { TLSCertificate, TLSEdge } from "./kinds";
import { isOn, judgeEach, resourcePolicy, someTrue, stackPolicy } from "./policy";
import { acceptsLess, minimumSchema } from "./tlsEdge";

/** Edges and certificates name an owner. */
export const owner = resourcePolicy([TLSEdge, TLSCertificate], {
  name: "owner",
  description: "The metadata of a TLS edge or TLS certificate is JSON that names an owner.",
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
    return typeof name === "string" && name.trim() !== "";
  } catch {
    return false;
  }
}

/** The edges whose version the program sets, by URN: `edge-tls-version` judges them. */
const declared = new Set<string>();

/** No edge has an old TLS version at the service where the program sets none. */
export const deployedTlsVersion = stackPolicy([TLSEdge], {
  name: "deployed-tls-version",
  description:
    "No TLS edge for which the program sets no TLS version has one below the minimum at the service.",
  severity: "high",
  enforcementLevel: "mandatory",
  configSchema: minimumSchema,
  validateResource: validateResourceOfType(TLSEdge, (edge, { urn }) => {
    declared.delete(urn);
    if (setsVersion(edge)) declared.add(urn);
  }),
  validateStack({ resources, getConfig }, report) {
    const { minVersion } = getConfig<{ minVersion: string }>();
    const edges = resources.filter((one) => one.isType(TLSEdge) && !declared.has(one.urn));
    judgeEach(edges, ({ name, urn, props: { tlsTermination } }) => {
      if (!acceptsLess(tlsTermination, minVersion)) return;
      report(
        `The deployed TLS edge "${name}" accepts TLS versions below ${minVersion}, and the program ` +
          `sets none. Set its tlsTermination.minVersion to "${minVersion}" or higher.`,
        urn,
      );
    });
  },
});

/** Whether a program sets a version, which may not be known in the plan. */
function setsVersion(edge: { tlsTermination?: { minVersion?: string } }): boolean {
  try {
    return (edge.tlsTermination?.minVersion ?? undefined) !== undefined;
  } catch (error) {
    if (error instanceof UnknownValueError) return true;
    throw error;
  }
}

/** Every hostport has a valid certificate. */
export const hostportCertificate = stackPolicy([TLSEdge], {
  name: "hostport-certificate",
  description:
    "Every hostport of the stack's TLS edges is covered by a certificate of the stack that is " +
    "valid now.",
  severity: "high",
  enforcementLevel: "advisory",
  configSchema: {
    properties: {
      coveredElsewhere: {
        type: "array",
        items: { type: "string", pattern: "^[^:/]+$" },
        description:
          "Host names whose certificate is in another stack, as that certificate has them: " +
          "`*.example.com` covers one label.",
      },
    },
  },
  validateStack({ resources, getConfig }, report) {
    const { coveredElsewhere = [] } = getConfig<{ coveredElsewhere?: string[] }>();
    const elsewhere = new Set(coveredElsewhere.map((name) => name.toLowerCase()));
    const certificates = resources.filter((resource) => resource.isType(TLSCertificate));
    const { names, errors } = namesCovered(certificates);
    const edges = resources.filter((resource) => resource.isType(TLSEdge));
    judgeEach(edges, (resource) => {
      const { name, urn, props: edge } = resource;
      const account = accountOf(resource);
      const endsTls = someTrue([
        () => !isOn(edge.tlsTermination),
        () => edge.tlsTermination?.terminateAt !== "upstream",
      ]);
      if (!endsTls) return;
      judgeEach((edge.hostports ?? []) as string[], (hostport, index) => {
        const host = hostport.replace(/:\d+$/, "");
        const type = isIP(host) ? "ip" : "dns";
        const isCovered = namesCovering(host).some(
          (one) => elsewhere.has(one) || names.has(`${account} ${type} ${one}`),
        );
        if (isCovered) return;
        // A certificate that is not known yet may cover it.
        if (errors.has(account)) throw errors.get(account);
        report(
          `No certificate of the stack is valid now for hostports[${index}] of the TLS edge "${name}". ` +
            "Add a TLSCertificate with its host name in the subject alternative names, or renew the " +
            "expired one. If another stack has it, name the host in coveredElsewhere.",
          urn,
        );
      });
    });
  },
});

/** A resource of the plugin has no connection: an explicit provider names its account. */
function accountOf({ props, provider }: PolicyResource): string {
  // The engine names the stack's own provider `default`, or adds the version and the server of the plugin.
  const isExplicit = provider && !/^(default(_\d+_\d+_\d+(_.*)?)?)?$/.test(provider.name);
  return props.connection ?? (isExplicit ? provider.urn : "tlsedge");
}

function isValid({ notBefore, notAfter }: Certificate): boolean {
  const now = Date.now();
  return notBefore.getTime() <= now && now <= notAfter.getTime();
}

/**
 * The names that the valid ones of some certificates cover, in lower case, each after its account and type; and by
 * account the error of a certificate that is not known yet.
 */
function namesCovered(certificates: PolicyResource[]) {
  const names = new Set<string>();
  const errors = new Map<string, unknown>();
  for (const certificate of certificates) {
    const account = accountOf(certificate);
    try {
      const leaf = readChain(certificate.props.certificatePem)?.[0];
      const hosts = leaf && isValid(leaf) ? leaf.hosts : [];
      for (const { type, value } of hosts) names.add(`${account} ${type} ${value.toLowerCase()}`);
    } catch (error) {
      errors.set(account, error);
    }
  }
  return { names, errors };
}

/**
 * The names that cover a host, in lower case (RFC 6125, 6.4). A wildcard is the whole leftmost label and covers one
 * label. `provider/values/names.ts` has a similar function, but a policy may import only what a program imports.
 */
function namesCovering(host: string): string[] {
  const name = host.toLowerCase();
  return isIP(name) ? [name] : [name, name.replace(/^[^.]+/, "*")];
}

/** No two certificates have the same key. */
export const keyReuse = stackPolicy([TLSCertificate], {
  name: "key-reuse",
  description: "No two TLS certificates of the stack have the same key.",
  severity: "high",
  enforcementLevel: "advisory",
  validateStack({ resources }, report) {
    const certificates = resources.filter((resource) => resource.isType(TLSCertificate));
    const owners = new Map<string, PolicyResource>();
    judgeEach(certificates.sort(byName), (certificate) => {
      const chain = readChain(certificate.props.certificatePem);
      if (!chain) return report(unread(certificate.name), certificate.urn);
      const key = chain[0].key.export({ type: "spki", format: "der" }).toString("hex");
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
