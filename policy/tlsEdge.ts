import {
  type PolicyConfigSchema,
  remediateResourceOfType,
  validateResourceOfType,
} from "@pulumi/policy";
import { TLSEdge } from "./kinds";
import { isOn, judgeEach, resourcePolicy, someTrue } from "./policy";

/** The setting of the two policies on TLS versions. */
export const minimumSchema: PolicyConfigSchema = {
  properties: {
    minVersion: {
      type: "string",
      enum: ["1.2", "1.3"],
      default: "1.2",
      description: "The lowest TLS version that an edge may accept.",
    },
  },
};

/** No program asks for an old TLS version. */
export const edgeTlsVersion = resourcePolicy([TLSEdge], {
  name: "edge-tls-version",
  description: "No program sets a TLS version below the minimum for a TLS edge.",
  severity: "high",
  enforcementLevel: "mandatory",
  configSchema: minimumSchema,
  validateResource: validateResourceOfType(TLSEdge, ({ tlsTermination }, args, report) => {
    const { minVersion } = args.getConfig<{ minVersion: string }>();
    if (!acceptsLess(tlsTermination, minVersion)) return;
    report(
      `The TLS edge "${args.name}" accepts TLS versions below ${minVersion}. ` +
        `Set its tlsTermination.minVersion to "${minVersion}" or higher.`,
    );
  }),
  remediateResource: remediateResourceOfType(TLSEdge, (edge, args) => {
    const { minVersion } = args.getConfig<{ minVersion: "1.2" | "1.3" }>();
    const { tlsTermination } = edge;
    if (!tlsTermination || !acceptsLess(tlsTermination, minVersion)) return undefined;
    // Change the edge in place: to copy it would reveal secrets, and throw on unknown values.
    tlsTermination.minVersion = minVersion;
    return edge;
  }),
});

interface Termination {
  enabled?: boolean;
  minVersion?: string | null;
}

/**
 * Whether an edge accepts a version below the minimum. A disabled module has no effect. An unset
 * version, null in a state, is not judged: an edge that ends TLS `upstream` has none (api.md §2.1).
 */
export function acceptsLess(termination: Termination | null | undefined, minimum: string): boolean {
  return !someTrue([
    () => !isOn(termination),
    () => (termination?.minVersion ?? undefined) === undefined,
    () => Number(termination?.minVersion) >= Number(minimum),
  ]);
}

/** Only some clients may connect. For edges that are not public. */
export const edgeAccess = resourcePolicy([TLSEdge], {
  name: "edge-access",
  description: "A TLS edge restricts who may connect: by source address or by mutual TLS.",
  severity: "high",
  enforcementLevel: "disabled",
  validateResource: validateResourceOfType(TLSEdge, (edge, { name }, report) => {
    const restricted = someTrue([
      () => isOn(edge.ipRestriction) && edge.ipRestriction?.ipPolicyIds.length !== 0,
      () => isOn(edge.mutualTls) && edge.mutualTls?.certificateAuthorityIds.length !== 0,
    ]);
    if (restricted) return;
    report(
      `Everyone may connect to the TLS edge "${name}". Add ipRestriction or mutualTls to it, ` +
        "enabled and with at least one id. In a TLSSite, `access` gives the ids.",
    );
  }),
});

/** No configured security module is disabled. */
export const edgeModules = resourcePolicy([TLSEdge], {
  name: "edge-modules",
  description: "No security module of a TLS edge is configured and disabled.",
  severity: "high",
  enforcementLevel: "advisory",
  validateResource: validateResourceOfType(TLSEdge, (edge, { name }, report) => {
    judgeEach(["ipRestriction", "mutualTls", "tlsTermination"] as const, (module) => {
      if (edge[module]?.enabled !== false) return;
      report(`${module} of the TLS edge "${name}" is disabled. Enable it, or remove the module.`);
    });
  }),
});

/** No edge can be deleted by mistake. For edges that must not be deleted. */
export const edgeProtected = resourcePolicy([TLSEdge], {
  name: "edge-protected",
  description: "A TLS edge is protected from deletion.",
  severity: "medium",
  enforcementLevel: "disabled",
  validateResource: validateResourceOfType(TLSEdge, (_edge, { name, opts }, report) => {
    if (opts.protect) return;
    report(
      `The TLS edge "${name}" can be deleted by mistake. Set its resource option protect to true.`,
    );
  }),
});
