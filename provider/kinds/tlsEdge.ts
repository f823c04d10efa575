import * as v from "valibot";
import type { Ref, Unset } from "../../client/fields";
import { type TLSEdgeMutation, type TLSEdgeWire, tlsEdges } from "../../client/tlsEdge";
import { knownHostports } from "../values/hostport";
import type { NamesOf } from "../values/properties";
import { defined, isObject, isSameJson, type Properties, unknownValue } from "../values/properties";
import { choice, description, edgeModule, hostports, id, metadata, someIds } from "./inputs";
import type { Kind, Problem, Remark } from "./kind";
import {
  type LookupKind,
  matchesObject,
  type ObjectFilter,
  objectFilters,
  objectTexts,
} from "./lookup";
import { type Found, type ServiceState, serviceNames, serviceState } from "./state";

/** The inputs of a TLS edge (api.md §4.1). `TLSEdgeArgs` in sdk/tlsEdge.ts describes them. */
export const schema = v.strictObject({
  description,
  metadata,
  hostports,
  backend: edgeModule({ backendId: id }),
  ipRestriction: edgeModule({ ipPolicyIds: someIds }),
  mutualTls: edgeModule({ certificateAuthorityIds: someIds }),
  tlsTermination: edgeModule({
    terminateAt: v.optional(choice("edge", "upstream")),
    minVersion: v.optional(choice("1.0", "1.1", "1.2", "1.3")),
  }),
  onModuleRemoval: v.optional(choice("disable", "replace")),
});

/** The inputs of a TLS edge, all known. */
export type TLSEdgeInputs = v.InferInput<typeof schema>;

/** A version of TLS. */
export type TLSVersion = "1.0" | "1.1" | "1.2" | "1.3";

/** What state holds of a TLS edge; null is unset. */
export interface TLSEdgeState extends ServiceState {
  /** The hostports that the edge serves, each a host and a port. */
  hostports: string[];
  /** The backend behind the edge; unset when not configured. */
  backend: BackendState | null;
  /** Who may connect, by source address; unset when not configured. */
  ipRestriction: IPRestrictionState | null;
  /** Which authorities must sign the client certificates; unset when not configured. */
  mutualTls: MutualTLSState | null;
  /** Where TLS ends, with the values that the service chose; unset when not configured. */
  tlsTermination: TLSTerminationState | null;
}

/** The names of {@link TLSEdgeState}. */
export const stateNames: NamesOf<TLSEdgeState> = {
  ...serviceNames,
  hostports: "always",
  backend: "nullable",
  ipRestriction: "nullable",
  mutualTls: "nullable",
  tlsTermination: "nullable",
};

/** What each module of a deployed edge has. */
export interface ModuleState {
  /** Whether the module is applied to traffic. */
  enabled: boolean;
}

/** The backend of a deployed edge. */
export interface BackendState extends ModuleState {
  /** The id of the backend. */
  backendId: string;
}

/** The IP restriction of a deployed edge. */
export interface IPRestrictionState extends ModuleState {
  /** The ids of the IP policies. */
  ipPolicyIds: string[];
}

/** The mutual TLS of a deployed edge. */
export interface MutualTLSState extends ModuleState {
  /** The ids of the certificate authorities. */
  certificateAuthorityIds: string[];
}

/** The TLS termination of a deployed edge. */
export interface TLSTerminationState extends ModuleState {
  /** `edge`: at the service. `upstream`: behind it. */
  terminateAt?: "edge" | "upstream";
  /** The lowest TLS version. */
  minVersion?: TLSVersion;
}

const modules = ["backend", "ipRestriction", "mutualTls", "tlsTermination"] as const;

/** What a plan says of an edge that loses a module. */
const losses: Record<string, string> = {
  backend: "its traffic ends",
  ipRestriction: "clients from every address may connect",
  mutualTls: "clients need no certificate",
};

/**
 * The state's list of the fields of `tlsTermination` that the program does not set. When the service
 * changes such a field, this is no drift; when the program sets it later, this is a change.
 */
const defaultsKey = "__defaults";

/** TLS edges. An update replaces each module that it names as a whole. */
export const tlsEdge: Kind<TLSEdgeWire> = {
  name: "TLSEdge",
  title: "TLS edge",
  endpoints: tlsEdges,
  schema,
  stateNames,
  exclusive: "hostports",

  check(news) {
    const inputs: Properties = { ...news };
    for (const name of modules) {
      const module = inputs[name];
      if (!isObject(module) || Array.isArray(module)) continue;
      inputs[name] = { ...module, enabled: module.enabled ?? true };
    }
    return { inputs, problems: problemsOfTermination(news) };
  },

  same(property, a, b) {
    if (property === "metadata" && isSameJson(a, b)) return true;
    const [one, other] = [canonical(property, a), canonical(property, b)];
    // Disabled equals absent, but two disabled modules with different settings differ.
    return one === other || ((one === "" || other === "") && !isOn(a) && !isOn(b));
  },

  replaces(state, inputs) {
    if (inputs.onModuleRemoval !== "replace") return [];
    return modules.filter((name) => isOn(state[name]) && inputs[name] === undefined);
  },

  wanted(state, inputs) {
    const found = withoutDefaults(state);
    const { description = "", metadata = "", hostports = [] } = inputs;
    const wanted = modules.map((name) => [name, inputs[name] ?? disabled(found[name], inputs)]);
    return { description, metadata, hostports, ...Object.fromEntries(wanted) };
  },

  withoutDefaults,

  remark(state, inputs): Remark | undefined {
    const lost = modules.filter((name) => losses[name] && isOn(state[name]) && !isOn(inputs[name]));
    const texts = lost.map((name) => `without its ${name}, ${losses[name]}`);
    if (texts.length === 0) return undefined;
    const isReplaced = inputs.onModuleRemoval === "replace";
    const how = isReplaced ? "the edge is replaced" : "the module is disabled (onModuleRemoval)";
    const isRemoved = lost.some((name) => inputs[name] === undefined);
    return {
      severity: "warning",
      text: `${texts.join(", and ")}${isRemoved ? `; ${how}` : ""}`,
    };
  },

  toBody(properties): TLSEdgeMutation {
    const inputs = properties as TLSEdgeInputs;
    const { description, metadata, hostports } = inputs;
    const { backend, ipRestriction, mutualTls, tlsTermination } = inputs;
    return defined({
      description,
      metadata,
      hostports,
      backend: backend && { enabled: backend.enabled, backend_id: backend.backendId },
      ip_restriction: ipRestriction && {
        enabled: ipRestriction.enabled,
        ip_policy_ids: ipRestriction.ipPolicyIds,
      },
      mutual_tls: mutualTls && {
        enabled: mutualTls.enabled,
        certificate_authority_ids: mutualTls.certificateAuthorityIds,
      },
      tls_termination: tlsTermination && {
        enabled: tlsTermination.enabled,
        terminate_at: tlsTermination.terminateAt,
        min_version: tlsTermination.minVersion,
      },
    });
  },

  toState(wire, known = {}) {
    const before = withoutDefaults(known);
    const found: Omit<TLSEdgeState, "tlsTermination"> & { tlsTermination: Properties | null } = {
      ...serviceState(wire),
      hostports: wire.hostports ?? [],
      backend: moduleState(wire.backend, ({ backend }) => ({ backendId: backend?.id ?? "" })),
      ipRestriction: moduleState(wire.ip_restriction, (module) => ({
        ipPolicyIds: idsIn(module.ip_policies),
      })),
      mutualTls: moduleState(wire.mutual_tls, (module) => ({
        certificateAuthorityIds: idsIn(module.certificate_authorities),
      })),
      tlsTermination: moduleState(wire.tls_termination, (module) =>
        defined({ terminateAt: module.terminate_at, minVersion: module.min_version }),
      ),
    };
    // What means the same keeps its form, such as the order of a list.
    const properties = Object.entries(found).map(([property, value]) => {
      const old = before[property];
      return [property, old && value && tlsEdge.same(property, old, value) ? old : value];
    });
    const wanted = before.tlsTermination;
    const defaults = Object.keys(found.tlsTermination ?? {})
      .filter((field) => isObject(wanted) && wanted[field] === undefined && field !== "enabled")
      .map((field) => `tlsTermination.${field}`);
    return {
      ...Object.fromEntries(properties),
      ...(defaults.length > 0 && { [defaultsKey]: defaults }),
    };
  },

  key({ description, metadata, hostports }: Partial<TLSEdgeWire>) {
    return [description || "", metadata || "", [...knownHostports(hostports)].sort()];
  },
  names: ({ hostports }) => (hostports as string[]).toSorted().sort((a, b) => a.length - b.length),
  importName: {
    filter: "hostport",
    of: ({ hostports }) => [...knownHostports(hostports)],
    in: (text) => (/^[^\s/]+:\d+$/.test(text) ? text.toLowerCase() : undefined),
  },
};

/** With `upstream` the service passes TLS through, so these settings can't apply (api.md §2.1). */
function problemsOfTermination({ tlsTermination, mutualTls }: Properties): Problem[] {
  if (!isObject(tlsTermination) || tlsTermination.terminateAt !== "upstream") return [];
  const problems: Problem[] = [];
  if (tlsTermination.minVersion !== undefined && tlsTermination.minVersion !== unknownValue) {
    problems.push({
      path: "tlsTermination.minVersion",
      reason: "can't be set when terminateAt is upstream: set it where TLS ends",
    });
  }
  // A disabled module asks for no client certificates.
  if (isObject(mutualTls) && (mutualTls.enabled ?? true) === true) {
    problems.push({
      path: "mutualTls",
      reason: "needs terminateAt edge: with upstream, the service does not see client certificates",
    });
  }
  return problems;
}

/** A module of an answer. Its fields may be missing (api.md §2.1). */
function moduleState<Wire extends { enabled?: boolean | null }, Fields extends object>(
  module: Unset<Wire>,
  fieldsOf: (module: Wire) => Fields,
) {
  return module ? { enabled: module.enabled ?? true, ...fieldsOf(module) } : null;
}

/** The new value of a module that the program has removed; undefined for no change. */
function disabled(module: unknown, { mutualTls }: Properties): Properties | undefined {
  if (!isObject(module)) return undefined;
  // With `upstream`, even in a disabled module, the service refuses mutual TLS.
  const isInTheWay = module.terminateAt === "upstream" && isOn(mutualTls);
  return { ...module, enabled: false, ...(isInTheWay && { terminateAt: "edge" }) };
}

/** A state without the fields of modules that the program does not set. */
function withoutDefaults({ [defaultsKey]: defaults = [], ...state }: Properties): Properties {
  const { tlsTermination } = state;
  if (!isObject(tlsTermination)) return state;
  const fields = Object.entries(tlsTermination).filter(
    ([field]) => !(defaults as string[]).includes(`tlsTermination.${field}`),
  );
  return { ...state, tlsTermination: Object.fromEntries(fields) };
}

/** Whether a value is set and is not a disabled module. */
function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && (value as Properties).enabled !== false;
}

/** The same text for equal values. Ignores the order of lists, and letter case in hostports. */
function canonical(property: string, value: unknown): string {
  const isUnset = value === undefined || value === null || value === "";
  if (isUnset || (Array.isArray(value) && value.length === 0)) return "";
  return JSON.stringify(value, (_key, part) => {
    if (Array.isArray(part))
      return part.map((one) => (property === "hostports" ? String(one).toLowerCase() : one)).sort();
    return isObject(part) ? Object.fromEntries(Object.entries(part).sort()) : part;
  });
}

/** The ids in one reference or a list of them (api.md §2.1). */
const idsIn = (refs: Unset<Ref | Ref[]>) => [refs ?? []].flat().map(({ id }) => id);

/** The result of an edge lookup; unset fields are undefined. */
export interface GetTLSEdgeResult extends Found<TLSEdgeState> {}

/** Which edges to look up. */
export interface TLSEdgeFilter extends ObjectFilter {
  /** Only edges that serve this host and port, such as `app.example.com:443`. */
  hostport?: string | undefined;
}

/** Which edge to look up: by `id`, or the only one that matches all given filters. */
export interface TLSEdgeQuery extends TLSEdgeFilter {
  /** The id of the edge. With an id, other filters are ignored. */
  id?: string | undefined;
}

/** How edges are looked up. */
export const lookup: LookupKind<TLSEdgeWire, TLSEdgeFilter, GetTLSEdgeResult> = {
  title: tlsEdge.title,
  filters: { hostport: "a host and a port, such as app.example.com:443", ...objectFilters },
  texts: { hostport: ({ hostports }) => hostports ?? [], ...objectTexts },
  ...tlsEdges,
  result: (wire) =>
    defined({ id: wire.id, ...tlsEdge.toState(wire) }) as unknown as GetTLSEdgeResult,
  matches: (wire, { hostport, ...filter }) =>
    (hostport === undefined || knownHostports(wire.hostports).has(hostport.toLowerCase())) &&
    matchesObject(wire, filter),
};
