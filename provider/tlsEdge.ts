import * as v from "valibot";
import { ServiceError } from "../client/errors";
import type { Ref } from "../client/fields";
import {
  type TLSEdgeModule,
  type TLSEdgeMutation,
  type TLSEdgeWire,
  tlsEdges,
} from "../client/tlsEdge";
import { createOnce } from "./createOnce";
import { description, edgeModule, hostports, id, metadata, minVersion, someIds } from "./fields";
import { planHostports, setHostports } from "./hostports";
import {
  defined,
  isObject,
  type Lifecycle,
  only,
  type Problem,
  type Properties,
  unknownValue,
} from "./lifecycle";
import { readPaged } from "./pages";

/** What a program may say of a TLS edge (api.md §4.1). */
export const schema = v.strictObject({
  /** What the edge is for, for people. At most 255 bytes of UTF-8. */
  description,
  /** Anything, for machines. At most 4096 bytes of UTF-8. */
  metadata,
  /** What the edge serves, each a host and a port: `app.example.com:443`. Order says nothing. */
  hostports,
  /** The backend behind the edge. */
  backend: edgeModule({
    /** The id of the backend. */
    backendId: id,
  }),
  /** Who may connect, by source address. */
  ipRestriction: edgeModule({
    /** The ids of the IP policies. Order says nothing. */
    ipPolicyIds: someIds,
  }),
  /** Which authorities sign the certificates that clients must present. */
  mutualTls: edgeModule({
    /** The ids of the certificate authorities. Order says nothing. */
    certificateAuthorityIds: someIds,
  }),
  /** Where TLS ends, and from which version on it is spoken. */
  tlsTermination: edgeModule({
    /** `edge`: at the service. `upstream`: behind it. Left out, the service decides. */
    terminateAt: v.optional(v.picklist(["edge", "upstream"])),
    /** The lowest TLS version. Left out, the service picks a safe one. */
    minVersion: v.optional(minVersion),
  }),
  /**
   * What removing a module from the program does, as no update can remove it: `disable` switches
   * it off in place, `delete` calls the service's delete-module operation (not every service has
   * it), `replace` makes a new edge. Default `disable`.
   */
  onModuleRemoval: v.optional(v.picklist(["disable", "delete", "replace"])),
  /** The config namespace of the account. Default `tlsedge`; changing it replaces. */
  connection: v.optional(v.string()),
});

/** The inputs of a TLS edge, all known. */
export type TLSEdgeInputs = v.InferInput<typeof schema>;

/** A version of TLS. */
export type TLSVersion = NonNullable<NonNullable<TLSEdgeInputs["tlsTermination"]>["minVersion"]>;

/** A TLS edge as the service holds it; what is unset is undefined. */
export type TLSEdgeState = Pick<TLSEdgeInputs, "description" | "metadata"> & {
  [M in Module]?: NonNullable<TLSEdgeInputs[M]> & {
    /** Whether the module is applied to traffic. */
    enabled: boolean;
  };
} & {
  /** The URI of the edge. */
  uri: string;
  /** When the edge was created, RFC 3339 in UTC. */
  createdAt: string;
  /** What the edge serves, each a host and a port. */
  hostports: string[];
};

const moduleNames = {
  backend: "backend",
  ipRestriction: "ip_restriction",
  mutualTls: "mutual_tls",
  tlsTermination: "tls_termination",
} as const satisfies Partial<Record<keyof TLSEdgeInputs, TLSEdgeModule>>;
type Module = keyof typeof moduleNames;
/** The modules of an edge. */
export const modules = Object.keys(moduleNames) as Module[];

/**
 * Where a state names the fields of modules that the program leaves to the service, such as
 * `tlsTermination.minVersion`: a change of one is no drift, and setting one later is a change.
 */
const defaultsKey = "__defaults";

/** How a TLS edge lives. */
export const lifecycle: Lifecycle = {
  title: "TLS edge",
  schema,
  settings: ["connection", "onModuleRemoval"],
  properties: ["description", "metadata", "hostports", ...modules],

  check(news) {
    const inputs: Properties = { ...news };
    for (const module of modules) {
      const value = inputs[module];
      if (!isObject(value) || Array.isArray(value)) continue;
      inputs[module] = { ...value, enabled: value.enabled ?? true };
    }
    return { inputs, problems: problemsOfTermination(news) };
  },

  same(property, a, b) {
    const [one, other] = [canonical(property, a), canonical(property, b)];
    // Disabled equals absent, but two disabled modules with different settings differ.
    return one === other || ((one === "" || other === "") && !isOn(a) && !isOn(b));
  },

  inputsOf: (state) => defined(only(withoutDefaults(state), lifecycle.properties)),

  replaces: (state, inputs) =>
    inputs.onModuleRemoval === "replace"
      ? modules.filter((module) => isOn(state[module]) && inputs[module] === undefined)
      : [],

  differences: (state, inputs) =>
    [...Object.keys(changes(state, inputs)), ...leftovers(state, inputs)].map((property) => ({
      property,
      wanted: inputs[property],
      found: state[property],
    })),

  planned: (edgeId, inputs) => planHostports(edgeId, inputs.hostports ?? []),

  async create(client, inputs) {
    const body = toWire(inputs);
    const isMade = (wire: TLSEdgeWire) =>
      lifecycle.differences(toState(wire, inputs), inputs).length === 0;
    const edge = { hostports: body.hostports, isSame: isMade };
    const { wire, ...told } = await createOnce(client, {
      title: lifecycle.title,
      content: JSON.stringify(body),
      post: (onSend) => setHostports(client, edge, () => tlsEdges.create(client, body, onSend)),
      list: tlsEdges.list,
      isMade,
    });
    return { id: wire.id, state: toState(wire, inputs), ...told };
  },

  async read(client, edgeId, known = {}, oldestMs) {
    const wire = await readPaged(tlsEdges, client, edgeId, oldestMs);
    return toState(wire, withoutDefaults(known));
  },

  async update(client, edgeId, state, inputs) {
    for (const module of leftovers(state, inputs)) {
      await tlsEdges.deleteModule(client, edgeId, moduleNames[module]).catch(ifMissing);
    }
    const changed = changes(state, inputs);
    const patch = toWire(changed);
    const wire =
      Object.keys(changed).length > 0
        ? await setHostports(client, { id: edgeId, hostports: patch.hostports }, () =>
            tlsEdges.update(client, edgeId, patch),
          )
        : await tlsEdges.get(client, edgeId);
    const updated = toState(wire, inputs);
    const [left] = leftovers(updated, inputs);
    if (!left) return updated;
    throw new Error(
      `the service did not delete ${left} of the TLS edge ${edgeId}: ` +
        'set onModuleRemoval to "disable" or "replace"',
    );
  },

  delete: (client, edgeId) =>
    setHostports(client, { id: edgeId, hostports: [] }, () => tlsEdges.delete(client, edgeId)),
  list: tlsEdges.list,
};

/** The module is gone already, or the service can't delete it: its next answer shows which. */
function ifMissing(error: unknown): void {
  if (error instanceof ServiceError && [404, 405].includes(error.status)) return;
  throw error;
}

/** The properties that an update sends, each whole. */
function changes(state: Properties, inputs: Properties): Properties {
  const found = withoutDefaults(state);
  const wanted: Properties = {
    description: inputs.description ?? "",
    metadata: inputs.metadata ?? "",
    hostports: inputs.hostports ?? [],
  };
  for (const module of modules) {
    wanted[module] = inputs[module] ?? switchedOff(found[module], inputs);
  }
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([property, value]) =>
        value !== undefined && canonical(property, value) !== canonical(property, found[property]),
    ),
  );
}

/** What a module becomes that the program no longer has. */
function switchedOff(
  module: unknown,
  { onModuleRemoval, mutualTls }: Properties,
): Properties | undefined {
  if (!isObject(module) || onModuleRemoval === "delete") return undefined;
  // Even when it is disabled, `upstream` makes the service refuse client certificates.
  const isInTheWay = mutualTls !== undefined && module.terminateAt === "upstream";
  return { ...module, enabled: false, ...(isInTheWay && { terminateAt: "edge" }) };
}

/** The modules that the program no longer has and that the service is to delete. */
function leftovers(state: Properties, inputs: Properties): Module[] {
  if (inputs.onModuleRemoval !== "delete") return [];
  return modules.filter((module) => isObject(state[module]) && inputs[module] === undefined);
}

/** A state without the fields that the program leaves to the service. */
function withoutDefaults({ [defaultsKey]: defaults = [], ...state }: Properties): Properties {
  const isChosen = (module: string, field: string) =>
    (defaults as string[]).includes(`${module}.${field}`);
  for (const module of modules) {
    const value = state[module];
    if (!isObject(value)) continue;
    const fields = Object.entries(value).filter(([field]) => !isChosen(module, field));
    state[module] = Object.fromEntries(fields);
  }
  return state;
}

/** What is undefined here is left out of the JSON. */
function toWire(properties: Properties): TLSEdgeMutation {
  const { description, metadata, hostports, ...rest } = properties as TLSEdgeInputs;
  const { backend, ipRestriction, mutualTls, tlsTermination } = rest;
  return {
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
  };
}

/**
 * The state that the service's answer describes.
 *
 * @param given What the program says: sets that mean the same keep its order, and fields that it
 * leaves to the service are marked as such.
 */
export function toState(wire: TLSEdgeWire, given: Properties = {}): Properties {
  const { backend, ip_restriction, mutual_tls, tls_termination } = wire;
  const found: Properties = {
    uri: wire.uri,
    createdAt: wire.created_at,
    description: wire.description || null,
    metadata: wire.metadata || null,
    hostports: wire.hostports ?? [],
    backend: backend && {
      enabled: backend.enabled ?? true,
      backendId: backend.backend?.id ?? "",
    },
    ipRestriction: ip_restriction && {
      enabled: ip_restriction.enabled ?? true,
      ipPolicyIds: ids(ip_restriction.ip_policies),
    },
    mutualTls: mutual_tls && {
      enabled: mutual_tls.enabled ?? true,
      certificateAuthorityIds: ids(mutual_tls.certificate_authorities),
    },
    tlsTermination:
      tls_termination &&
      defined({
        enabled: tls_termination.enabled ?? true,
        terminateAt: tls_termination.terminate_at,
        minVersion: tls_termination.min_version,
      }),
  };
  const inOrder = Object.entries(found).map(([property, value]) => [
    property,
    inOrderOf(given[property], value ?? null, property),
  ]);
  const defaults = modules.flatMap((module) => {
    const [wanted, value] = [given[module], found[module]];
    if (!isObject(wanted) || !isObject(value)) return [];
    const chosen = Object.keys(value).filter(
      (field) => field !== "enabled" && wanted[field] === undefined,
    );
    return chosen.map((field) => `${module}.${field}`);
  });
  return {
    ...Object.fromEntries(inOrder),
    ...(defaults.length > 0 && { [defaultsKey]: defaults }),
  };
}

/** A value with its sets in the order of another value, where they mean the same. */
function inOrderOf(given: unknown, value: unknown, property: string): unknown {
  if (Array.isArray(given) || !isObject(value) || !isObject(given)) {
    return Array.isArray(given) && lifecycle.same(property, given, value) ? given : value;
  }
  const parts = Object.entries(value).map(([name, part]) => [
    name,
    inOrderOf(given[name], part, property),
  ]);
  return Object.fromEntries(parts);
}

function ids(refs: Ref | Ref[] | null | undefined): string[] {
  return [refs ?? []].flat().map((ref) => ref.id);
}

/** With `upstream` the service never sees the traffic (api.md §2.1). */
function problemsOfTermination({ tlsTermination, mutualTls }: Properties): Problem[] {
  if (!isObject(tlsTermination) || tlsTermination.terminateAt !== "upstream") return [];
  const problems: Problem[] = [];
  if (tlsTermination.minVersion !== undefined && tlsTermination.minVersion !== unknownValue) {
    problems.push({
      path: "tlsTermination.minVersion",
      reason: "can't be set when terminateAt is upstream: whoever terminates TLS sets it there",
    });
  }
  if (isObject(mutualTls)) {
    problems.push({
      path: "mutualTls",
      reason: "needs terminateAt edge: with upstream the service never sees client certificates",
    });
  }
  return problems;
}

/** Whether a module is there and not disabled. */
function isOn(module: unknown): boolean {
  return module !== undefined && module !== null && (module as Properties).enabled !== false;
}

/** One text for all values that mean the same: lists are sets, letter case of hosts says nothing. */
function canonical(property: string, value: unknown): string {
  const isUnset = value === undefined || value === null || value === "";
  if (isUnset || (Array.isArray(value) && value.length === 0)) return "";
  return JSON.stringify(value, (_key, part) => {
    if (Array.isArray(part)) {
      const parts = property === "hostports" ? part.map((p) => String(p).toLowerCase()) : part;
      return [...parts].sort();
    }
    return isObject(part) ? Object.fromEntries(Object.entries(part).sort()) : part;
  });
}
