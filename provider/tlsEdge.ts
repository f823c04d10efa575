import * as v from "valibot";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import type { Ref } from "../client/fields";
import {
  type TLSEdgeModule,
  type TLSEdgeMutation,
  type TLSEdgeWire,
  tlsEdges,
} from "../client/tlsEdge";
import { createOnce } from "./createOnce";
import { digest, digestsOf, isOn } from "./digests";
import { description, edgeModule, hostports, id, metadata } from "./fields";
import { planHostports, setHostports } from "./hostports";
import {
  defined,
  isObject,
  type Lifecycle,
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
    ipPolicyIds: v.array(id),
  }),
  /** Which authorities sign the certificates that clients must present. */
  mutualTls: edgeModule({
    /** The ids of the certificate authorities. Order says nothing. */
    certificateAuthorityIds: v.array(id),
  }),
  /** Where TLS ends, and from which version on it is spoken. */
  tlsTermination: edgeModule({
    /** `edge`: at the service. `upstream`: behind it. Left out, the service decides. */
    terminateAt: v.optional(v.picklist(["edge", "upstream"])),
    /** The lowest TLS version, such as `1.2`. Left out, the service picks a safe one. */
    minVersion: v.optional(id),
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

/** What the service keeps of an edge; a module that is there is complete. */
export type TLSEdgeState = Pick<TLSEdgeInputs, "description" | "metadata"> & {
  [M in Module]?: NonNullable<TLSEdgeInputs[M]> & {
    /** Whether the module is applied to traffic. */
    enabled: boolean;
  };
} & {
  /** Where the service serves the edge. */
  uri: string;
  /** When the edge was made, RFC 3339 in UTC. */
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

/** How a TLS edge lives. */
export const lifecycle: Lifecycle = {
  title: "TLS edge",
  schema,
  settings: ["connection", "onModuleRemoval"],
  outputs: ["uri", "createdAt"],
  digested: ["description", "metadata", "hostports", ...modules],

  check(news, olds = {}) {
    const inputs: Properties = { ...news };
    for (const module of modules) {
      if (inputs[module] === undefined) remember(module, olds[module]);
      const value = inputs[module];
      if (!isObject(value) || Array.isArray(value)) continue;
      inputs[module] = { ...value, enabled: value.enabled ?? true };
    }
    return { inputs, problems: problemsOfTermination(news), warnings: [] };
  },

  digest(property, value) {
    if (Array.isArray(value) && value.length === 0) return "";
    return digest(canonical(property, value), isObject(value) && value.enabled === false);
  },

  replaces(state, inputs) {
    if (inputs.onModuleRemoval !== "replace") return [];
    const found = digestsOf(lifecycle, state);
    return modules.filter((module) => isOn(found[module]) && inputs[module] === undefined);
  },

  differences: (state, inputs) => [
    ...Object.entries(changes(state, inputs)).map(([property, wanted]) => ({
      property,
      wanted: inputs[property] === undefined ? undefined : wanted,
      found: state[property],
    })),
    ...leftovers(state, inputs).map((property) => ({
      property,
      wanted: undefined,
      found: state[property],
    })),
  ],

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

  async read(client, edgeId, state, oldestMs) {
    const found = toState(await readPaged(tlsEdges, client, edgeId, oldestMs), state);
    const { uri: _uri, createdAt: _createdAt, ...inputs } = found;
    return { state: found, inputs: () => inputs };
  },

  async update(client, edgeId, state, inputs) {
    for (const module of leftovers(state, inputs)) {
      await tlsEdges.deleteModule(client, edgeId, moduleNames[module]).catch(ifMissing);
    }
    const changed = changes(await withRemoved(client, edgeId, state, inputs), inputs);
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

/** The module is gone already, or the service can't delete it: what it answers next tells. */
function ifMissing(error: unknown): void {
  if (error instanceof ServiceError && [404, 405].includes(error.status)) return;
  throw error;
}

/** The properties to be told to the service, each whole. */
function changes(state: Properties, inputs: Properties): Properties {
  const wanted: Properties = {
    description: inputs.description ?? "",
    metadata: inputs.metadata ?? "",
    hostports: inputs.hostports ?? [],
  };
  const found = digestsOf(lifecycle, state);
  for (const module of modules)
    wanted[module] = inputs[module] ?? switchedOff(state[module], found[module], inputs);
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([property, value]) =>
        value !== undefined && lifecycle.digest(property, value) !== found[property],
    ),
  );
}

/** What a module becomes that the program no longer has. Stored state does not know all of it. */
function switchedOff(
  content: unknown,
  digest: string | undefined,
  { onModuleRemoval, mutualTls }: Properties,
): Properties | undefined {
  if (!digest || onModuleRemoval === "delete") return undefined;
  if (!isObject(content)) return isOn(digest) ? { enabled: false } : undefined;
  // Even switched off, `upstream` has the service refuse client certificates.
  const inTheWay = mutualTls !== undefined && content.terminateAt === "upstream";
  return { ...content, enabled: false, ...(inTheWay && { terminateAt: "edge" }) };
}

/** What removed modules were, by digest: an update is not told, and the service wants them whole. */
const removed = new Map<string, unknown>();

function remember(module: Module, content: unknown): void {
  if (content !== undefined) removed.set(lifecycle.digest(module, content), content);
}

/** With what is to be switched off, as check has seen it; else as the service tells it. */
async function withRemoved(
  client: Client,
  edgeId: string,
  state: Properties,
  inputs: Properties,
): Promise<Properties> {
  const found = digestsOf(lifecycle, state);
  const gone = modules.filter((module) => found[module] && inputs[module] === undefined);
  const contents = gone.map((module) => [
    module,
    state[module] ?? removed.get(found[module] as string),
  ]);
  const known = { ...state, ...Object.fromEntries(contents) };
  const { mutualTls, onModuleRemoval } = inputs;
  const asksClients = mutualTls && lifecycle.digest("mutualTls", mutualTls) !== found.mutualTls;
  const unknown = gone.filter(
    (module) =>
      !known[module] && (isOn(found[module]) || (module === "tlsTermination" && asksClients)),
  );
  if (onModuleRemoval === "delete" || unknown.length === 0) return known;
  return toState(await tlsEdges.get(client, edgeId), inputs);
}

/** The modules that the program no longer has and that the service is to delete. */
function leftovers(state: Properties, inputs: Properties): Module[] {
  if (inputs.onModuleRemoval !== "delete") return [];
  const found = digestsOf(lifecycle, state);
  return modules.filter((module) => found[module] && inputs[module] === undefined);
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

/** From the service's answer; `wanted` tells what the program leaves to the service. */
export function toState(wire: TLSEdgeWire, wanted?: Properties): TLSEdgeState & Properties {
  const { backend, ip_restriction, mutual_tls, tls_termination } = wire;
  return defined({
    uri: wire.uri,
    createdAt: wire.created_at,
    description: wire.description || undefined,
    metadata: wire.metadata || undefined,
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
      asWanted(
        defined({
          enabled: tls_termination.enabled ?? true,
          terminateAt: tls_termination.terminate_at,
          minVersion: tls_termination.min_version,
        }),
        wanted,
      ),
  }) as TLSEdgeState & Properties;
}

/** Without what the program leaves to the service: by its inputs, or by the digest of stored state. */
function asWanted(found: Properties, wanted: Properties | undefined): Properties {
  if (!wanted) return found;
  const { terminateAt, minVersion, ...rest } = found;
  const given = wanted.tlsTermination;
  if (isObject(given)) {
    const kept = Object.entries(found).filter(
      ([key]) => key === "enabled" || given[key] !== undefined,
    );
    return Object.fromEntries(kept);
  }
  const { tlsTermination } = digestsOf(lifecycle, wanted);
  const readings = [found, { ...rest, terminateAt }, { ...rest, minVersion }, rest];
  const isStored = (one: Properties) =>
    [true, false].some(
      (enabled) => lifecycle.digest("tlsTermination", { ...one, enabled }) === tlsTermination,
    );
  return readings.find(isStored) ?? found;
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

/** Lists are sets, host names know no case, and keys have no order. */
function canonical(property: string, value: unknown): string | undefined {
  return JSON.stringify(value === "" ? undefined : value, (_key, part) => {
    if (Array.isArray(part)) {
      const parts = property === "hostports" ? part.map((p) => String(p).toLowerCase()) : part;
      return [...parts].sort();
    }
    return isObject(part) ? Object.fromEntries(Object.entries(part).sort()) : part;
  });
}
