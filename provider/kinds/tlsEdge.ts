import * as v from "valibot";
import type { FieldsOf } from "../../client/answer";
import { choice } from "../../client/inputs";
import {
  bodyOf,
  type InputsOf,
  inputsOf,
  type StateOf,
  stateNamesOf,
  stateOf,
  wantedOf,
} from "../../client/table";
import {
  fields,
  type moduleFields,
  modules,
  type TLSEdgeWire,
  tlsEdges,
} from "../../client/tlsEdge";
import { hostportIn, knownHostports, plainHostport } from "../values/hostport";
import { defined, isRecord, isSameJson, type Properties, unknownValue } from "../values/properties";
import type { Kind, PlanWarning, Problem } from "./kind";
import { type LookupKind, matchesObject, type ObjectFilter, objectFilters } from "./lookup";
import type { Found, ServiceState } from "./state";

/** The inputs that are not sent to the service. */
const unsentInputs = {
  /**
   * What to do when the program removes a module: an update of an edge can't remove one. `disable`
   * disables the module in place, `replace` replaces the edge. Default `disable`.
   */
  onModuleRemoval: v.optional(choice("disable", "replace")),
};

/** The inputs of a TLS edge (api.md §4.1). */
export const schema = v.strictObject({ ...inputsOf(fields), ...unsentInputs });

/** The inputs of a TLS edge, all known. */
export interface TLSEdgeInputs extends InputsOf<typeof fields>, FieldsOf<typeof unsentInputs> {}

/** What state holds of a TLS edge; null is unset. */
export interface TLSEdgeState extends ServiceState, StateOf<typeof fields> {
  backend: BackendState | null;
  ipRestriction: IPRestrictionState | null;
  mutualTls: MutualTLSState | null;
  tlsTermination: TLSTerminationState | null;
}

/** What each module of a deployed edge has. */
export interface ModuleState extends StateOf<typeof moduleFields> {}

type Modules = typeof modules;
/** The backend of a deployed edge. */
export interface BackendState extends StateOf<Modules["backend"]["fields"]> {}
/** The IP restriction of a deployed edge. */
export interface IPRestrictionState extends StateOf<Modules["ipRestriction"]["fields"]> {}
/** The mutual TLS of a deployed edge. */
export interface MutualTLSState extends StateOf<Modules["mutualTls"]["fields"]> {}
/** The TLS termination of a deployed edge. */
export interface TLSTerminationState extends StateOf<Modules["tlsTermination"]["fields"]> {}

/** A version of TLS. */
export type TLSVersion = NonNullable<TLSTerminationState["minVersion"]>;

const moduleNames = Object.keys(modules);

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
  stateNames: stateNamesOf(fields),
  exclusive: "hostports",

  check(news) {
    const inputs: Properties = { ...news };
    for (const name of moduleNames) {
      const module = inputs[name];
      if (isRecord(module)) inputs[name] = { ...module, enabled: module.enabled ?? true };
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
    return moduleNames.filter((name) => isOn(state[name]) && inputs[name] === undefined);
  },

  wanted(state, inputs) {
    const found = withoutDefaults(state);
    const wanted = moduleNames.map((name) => [name, inputs[name] ?? disabled(found[name], inputs)]);
    return { ...wantedOf(fields, inputs), ...Object.fromEntries(wanted) };
  },

  withoutDefaults,

  planWarning(state, inputs): PlanWarning | undefined {
    const lost = moduleNames.filter(
      (name) => losses[name] && isOn(state[name]) && !isOn(inputs[name]),
    );
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

  toBody: (properties) => bodyOf(fields, properties),

  toState(wire, known = {}) {
    const before = withoutDefaults(known);
    const found = stateOf(fields, wire);
    // What means the same keeps its form, such as the order of a list.
    const properties = Object.entries(found).map(([property, value]) => {
      const old = before[property];
      return [property, old && value && tlsEdge.same(property, old, value) ? old : value];
    });
    const { tlsTermination } = before;
    const isSet = (field: string) =>
      !isRecord(tlsTermination) || tlsTermination[field] !== undefined || field === "enabled";
    const defaults = Object.keys(found.tlsTermination ?? {})
      .filter((field) => !isSet(field))
      .map((field) => `tlsTermination.${field}`);
    return {
      ...Object.fromEntries(properties),
      ...(defaults.length > 0 && { [defaultsKey]: defaults }),
    };
  },

  contentKey({ description, metadata, hostports }: Partial<TLSEdgeWire>) {
    return [description || "", metadata || "", [...knownHostports(hostports)].sort()];
  },
  names: ({ hostports }) => (hostports as string[]).toSorted().sort((a, b) => a.length - b.length),
  importName: {
    filter: "hostport",
    of: ({ hostports }) => [...knownHostports(hostports)],
    parse: hostportIn,
  },
};

/** With `upstream` the service passes TLS through, so these settings can't apply (api.md §2.1). */
function problemsOfTermination({ tlsTermination, mutualTls }: Properties): Problem[] {
  if (!isRecord(tlsTermination) || tlsTermination.terminateAt !== "upstream") return [];
  const problems: Problem[] = [];
  if (tlsTermination.minVersion !== undefined && tlsTermination.minVersion !== unknownValue) {
    problems.push({
      path: "tlsTermination.minVersion",
      reason: "can't be set when terminateAt is upstream: set it where TLS ends",
    });
  }
  // A disabled module asks for no client certificates.
  if (isRecord(mutualTls) && (mutualTls.enabled ?? true) === true) {
    problems.push({
      path: "mutualTls",
      reason: "needs terminateAt edge: with upstream, the service does not see client certificates",
    });
  }
  return problems;
}

/** The new value of a module that the program has removed; undefined for no change. */
function disabled(module: unknown, { mutualTls }: Properties): Properties | undefined {
  if (!isRecord(module)) return undefined;
  // With `upstream`, even in a disabled module, the service refuses mutual TLS.
  const isConflict = module.terminateAt === "upstream" && isOn(mutualTls);
  return { ...module, enabled: false, ...(isConflict && { terminateAt: "edge" }) };
}

/** A state without its list of defaults, and without the fields of `tlsTermination` that this list names. */
function withoutDefaults({ [defaultsKey]: defaults = [], ...state }: Properties): Properties {
  const { tlsTermination } = state;
  if (!isRecord(tlsTermination)) return state;
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
  const item = (one: unknown) => (property === "hostports" ? plainHostport(one) : one);
  return JSON.stringify(value, (_key, part) => {
    if (Array.isArray(part)) return part.map(item).sort();
    return isRecord(part) ? Object.fromEntries(Object.entries(part).sort()) : part;
  });
}

/** The result of an edge lookup; unset fields are undefined. */
export interface GetTLSEdgeResult extends Found<TLSEdgeState> {}

/** Which edges to look up. */
export interface TLSEdgeFilter extends ObjectFilter {
  /** Only edges that serve this host and port, such as `app.example.com:443`. */
  hostport?: string | undefined;
}

export const lookup: LookupKind<TLSEdgeWire, TLSEdgeFilter, GetTLSEdgeResult> = {
  title: tlsEdge.title,
  filters: { hostport: "a host and a port, such as app.example.com:443", ...objectFilters },
  texts: ({ hostports }) => ({ hostport: hostports ?? [] }),
  ...tlsEdges,
  result: (wire) =>
    defined({ id: wire.id, ...tlsEdge.toState(wire) }) as unknown as GetTLSEdgeResult,
  matches: (wire, { hostport, ...filter }) =>
    (hostport === undefined || knownHostports(wire.hostports).has(plainHostport(hostport))) &&
    matchesObject(wire, filter),
};
