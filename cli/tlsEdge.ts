import { plain } from "../client/plain";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { inputsOf } from "../provider/kind";
import { defined, type Properties } from "../provider/properties";
import { tlsEdge } from "../provider/tlsEdge";
import {
  type AdoptableKind,
  aboutLines,
  type Candidate,
  type ObjectStatus,
  objectStatus,
  type Reading,
} from "./kind";
import { cell, type Row } from "./table";

/** A module of an edge: whether it is on, and the fields that it has in a program. */
interface ModuleStatus {
  /** Whether the module is applied to traffic. */
  enabled: boolean;
  backendId?: string | null;
  ipPolicyIds?: string[];
  certificateAuthorityIds?: string[];
  terminateAt?: string | null;
  minVersion?: string | null;
}

/** A TLS edge as `status --json` prints it; a module that is not configured is null. */
export interface EdgeStatus extends ObjectStatus {
  hostports: string[];
  /** The hostports for which no certificate of the account is valid now. */
  uncoveredHostports: string[];
  backend: ModuleStatus | null;
  ipRestriction: ModuleStatus | null;
  mutualTls: ModuleStatus | null;
  tlsTermination: ModuleStatus | null;
  /** Whether it accepts TLS versions below 1.2, as far as it says. */
  weak: boolean;
  /** Whether everybody may connect: neither `ipRestriction` nor `mutualTls` is enabled. */
  open: boolean;
}

/** TLS edges. */
export const edgeKind: AdoptableKind = {
  key: "edges",
  noun: "edge",
  heading: "edges",
  list: tlsEdges.list,
  resource: tlsEdge,
  candidate(wire: TLSEdgeWire) {
    const { names, args } = argsOf(inputsOf(tlsEdge, tlsEdge.toState(wire)));
    const name = names[0]?.replace(/:443$/, "") ?? "";
    return { names, name, args, state: tlsEdge.toState(wire, args) };
  },
};

/** Reads an edge, with all hostports covered. */
export function readEdge(wire: TLSEdgeWire): Reading<EdgeStatus> {
  const state = tlsEdge.toState(wire);
  const hostports = state.hostports as string[];
  const ipRestriction = moduleStatus(state.ipRestriction);
  const mutualTls = moduleStatus(state.mutualTls);
  const tlsTermination = moduleStatus(state.tlsTermination, {
    terminateAt: null,
    minVersion: null,
  });
  const { id, uri, created_at, hostports: _, ...content } = wire;
  return {
    status: {
      ...objectStatus(wire),
      hostports,
      uncoveredHostports: [],
      backend: moduleStatus(state.backend),
      ipRestriction,
      mutualTls,
      tlsTermination,
      weak: tlsTermination?.enabled === true && Number(tlsTermination.minVersion ?? 2) < 1.2,
      open: !ipRestriction?.enabled && !mutualTls?.enabled,
    },
    // Only one edge can have a hostport, so an edge with hostports has no twin.
    content: hostports.length > 0 ? undefined : content,
  };
}

function moduleStatus(module: unknown, unset: object = {}): ModuleStatus | null {
  if (!module) return null;
  const fields = Object.entries(module).map(([field, text]) => [field, text === "" ? null : text]);
  return { enabled: true, ...unset, ...Object.fromEntries(fields) };
}

/** Those of its modules that are configured and disabled. */
export const disabledModules = ({
  backend,
  ipRestriction,
  mutualTls,
  tlsTermination,
}: EdgeStatus) =>
  [backend, ipRestriction, mutualTls, tlsTermination].filter((module) => module?.enabled === false);

/** With `upstream`, TLS ends behind the edge, which then needs no certificate. */
export const isPassedOn = ({ tlsTermination }: EdgeStatus) =>
  tlsTermination?.enabled === true && tlsTermination.terminateAt === "upstream";

/** A row with the hostports and the modules. What makes the exit code 2 is red. */
export function edgeRow(edge: EdgeStatus, failOn: string[]): Row {
  const { id, hostports, backend, ipRestriction, mutualTls, tlsTermination: tls } = edge;
  const uncovered = new Set(edge.uncoveredHostports);
  const served = hostports.flatMap((one) => cell(one, uncovered.has(one) ? "red" : undefined));
  const paintOf = (mark: string) => (failOn.includes(mark) ? "red" : "yellow");
  const line = (name: string, module: ModuleStatus | null, text?: string | null) => {
    if (!module) return [];
    const words = module.enabled ? [name, text || "on"] : [name, text, "off"];
    return cell(words.filter(Boolean).join(" "), module.enabled ? undefined : "yellow");
  };
  const version = tls?.minVersion ? ` ${tls.minVersion}+` : "";
  const modules = [
    line("backend", backend, backend?.backendId),
    line("IP rules", ipRestriction, ipRestriction?.ipPolicyIds?.join(", ")),
    line("mTLS", mutualTls, mutualTls?.certificateAuthorityIds?.join(", ")),
    line("TLS", tls, tls?.terminateAt && `${tls.terminateAt}${version}`),
    edge.weak ? cell("weak TLS", paintOf("weak")) : [],
    edge.open ? cell("open to all", paintOf("open")) : [],
  ];
  return {
    id: plain(id),
    cells: [
      [...aboutLines(edge), ...(hostports.length > 0 ? served : cell("no hostports", "dim"))],
      modules.flat(),
    ],
  };
}

/** The arguments for the inputs, in the order of the class, and the hostports, shortest first. */
function argsOf(inputs: Properties): Pick<Candidate, "names" | "args"> {
  const { description, metadata, hostports = [], ...modules } = inputs;
  const names = (hostports as string[]).toSorted().sort((a, b) => a.length - b.length);
  const parts = Object.entries(modules as Record<string, Properties>)
    .filter(([, module]) => !isOffAndEmpty(module))
    .map(([name, module]) => [name, withoutDefaults(module)]);
  const served = names.length > 0 ? hostports : undefined;
  const args = { description, hostports: served, ...Object.fromEntries(parts), metadata };
  return { names, args: defined(args) };
}

/** A disabled module with an empty list is left out: the schema refuses an empty list. */
function isOffAndEmpty({ enabled, ...rest }: Properties): boolean {
  const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
  return enabled === false && Object.values(rest).some(isEmpty);
}

/** A module without its unset fields, and without `enabled: true`, which is the default. */
function withoutDefaults(module: Properties): Properties {
  const isNeeded = ([field, value]: [string, unknown]) =>
    value !== "" && !(field === "enabled" && value === true);
  return Object.fromEntries(Object.entries(module).filter(isNeeded));
}
