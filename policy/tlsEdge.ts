import { remediateResourceOfType, validateResourceOfType } from "@pulumi/policy";
import { TLSEdge } from "pulumi-tlsedge";
import { any, each, isOn, type ResourcePolicy } from "./policy";

/** No edge speaks a TLS version that is too old. */
export const edgeTlsVersion: ResourcePolicy = {
  name: "edge-tls-version",
  displayName: "Minimum TLS version",
  description: "A TLS edge speaks no TLS version below the minimum.",
  why:
    "TLS 1.0 and 1.1 rest on broken hashes and ciphers, and RFC 8996 has deprecated them. As long " +
    "as an edge offers them, an attacker on the path can talk clients down to them.",
  remediationSteps:
    'Set tlsTermination.minVersion to the minimum or to "1.3", or leave it out: the service then ' +
    "picks a safe one. At the enforcement level `remediate` this policy sets it itself.",
  severity: "high",
  enforcementLevel: "mandatory",
  configSchema: {
    properties: {
      minVersion: {
        type: "string",
        enum: ["1.2", "1.3"],
        default: "1.2",
        description: "The lowest TLS version that an edge may speak.",
      },
    },
  },
  example: {
    violation: 'new TLSEdge("app", { tlsTermination: { minVersion: "1.0" } });',
    fix: 'new TLSEdge("app", { tlsTermination: { minVersion: "1.2" } });',
  },
  validateResource: validateResourceOfType(TLSEdge, ({ tlsTermination }, args, report) => {
    const { minVersion } = args.getConfig<{ minVersion: string }>();
    if (!speaksLess(tlsTermination, minVersion)) return;
    report(
      `The TLS edge "${args.name}" speaks TLS ${tlsTermination?.minVersion} and up. ` +
        `Set its tlsTermination.minVersion to "${minVersion}" or higher.`,
    );
  }),
  remediateResource: remediateResourceOfType(TLSEdge, (edge, args) => {
    const { minVersion } = args.getConfig<{ minVersion: "1.2" | "1.3" }>();
    const { tlsTermination } = edge;
    if (!tlsTermination || !speaksLess(tlsTermination, minVersion)) return undefined;
    // In place: in a copy, secrets would stand in clear and values not known yet would throw.
    tlsTermination.minVersion = minVersion;
    return edge;
  }),
};

interface Termination {
  enabled?: boolean;
  minVersion?: string;
  terminateAt?: string;
}

/**
 * Switched off, the module says nothing; unset, the version is the service's own safe choice; with
 * `upstream` it is not the edge's.
 */
function speaksLess(termination: Termination | undefined, minimum: string): boolean {
  return !any([
    () => !isOn(termination),
    () => termination?.minVersion === undefined,
    () => Number(termination?.minVersion) >= Number(minimum),
    () => termination?.terminateAt === "upstream",
  ]);
}

/** Not everyone may connect. For edges that are not for the public. */
export const edgeAccess: ResourcePolicy = {
  name: "edge-access",
  displayName: "Restricted access",
  description: "A TLS edge restricts who may connect: by source address or by mutual TLS.",
  why:
    "Without either, whoever finds the host name reaches the backend, and its own login is all " +
    "that stands between it and the Internet.",
  remediationSteps:
    "Give the edge ipRestriction with at least one IP policy, or mutualTls with at least one " +
    "certificate authority, and leave it enabled.",
  severity: "high",
  enforcementLevel: "disabled",
  example: {
    violation: 'new TLSEdge("app", {});',
    fix: 'new TLSEdge("app", { ipRestriction: { ipPolicyIds: ["ipp_office"] } });',
  },
  validateResource: validateResourceOfType(TLSEdge, (edge, { name }, report) => {
    const restricted = any([
      () => isOn(edge.ipRestriction) && edge.ipRestriction?.ipPolicyIds.length !== 0,
      () => isOn(edge.mutualTls) && edge.mutualTls?.certificateAuthorityIds.length !== 0,
    ]);
    if (restricted) return;
    report(
      `Everyone may connect to the TLS edge "${name}". Add ipRestriction or mutualTls to it, ` +
        "enabled and with at least one id.",
    );
  }),
};

/** No security module is there for show. */
export const edgeModules: ResourcePolicy = {
  name: "edge-modules",
  displayName: "Security modules switched on",
  description: "No security module of a TLS edge is configured and switched off.",
  why:
    "A module that is configured but switched off looks like protection in a review and gives " +
    "none. It is often what is left of a search for an error.",
  remediationSteps:
    "Take `enabled: false` out of ipRestriction, mutualTls or tlsTermination, or take out the " +
    "whole module when it is not wanted.",
  severity: "high",
  enforcementLevel: "advisory",
  example: {
    violation:
      'new TLSEdge("app", { mutualTls: { enabled: false, certificateAuthorityIds: ["ca_staff"] } });',
    fix: 'new TLSEdge("app", { mutualTls: { certificateAuthorityIds: ["ca_staff"] } });',
  },
  validateResource: validateResourceOfType(TLSEdge, (edge, { name }, report) => {
    each(["ipRestriction", "mutualTls", "tlsTermination"] as const, (module) => {
      if (edge[module]?.enabled !== false) return;
      report(
        `${module} of the TLS edge "${name}" is switched off. ` +
          "Take out `enabled: false`, or the module.",
      );
    });
  }),
};

/** A slip can't take an edge away. For edges that must stay. */
export const edgeProtected: ResourcePolicy = {
  name: "edge-protected",
  displayName: "Protected from deletion",
  description: "A TLS edge is protected from deletion.",
  why:
    "Deleting an edge, or replacing it, ends all traffic to its hostports at once. A protected " +
    "resource takes a second, deliberate step to delete.",
  remediationSteps: "Pass the resource option `protect: true`.",
  severity: "medium",
  enforcementLevel: "disabled",
  example: {
    violation: 'new TLSEdge("app", { hostports: ["app.example.com:443"] });',
    fix: 'new TLSEdge("app", { hostports: ["app.example.com:443"] }, { protect: true });',
  },
  validateResource: validateResourceOfType(TLSEdge, (_edge, { name, opts }, report) => {
    if (opts.protect) return;
    report(
      `The TLS edge "${name}" can be deleted by mistake. Pass { protect: true } as its options.`,
    );
  }),
};
