import { plain } from "../client/plain";
import { type ModuleState, type TLSEdgeState, tlsEdge } from "../provider/kinds/tlsEdge";
import { aboutLines, type ObjectStatus, objectStatus, type Stored } from "./object";
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

/** A TLS edge as `status --format json` prints it; a module that is not configured is null. */
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

/** Reads an edge, with all hostports covered. */
export function readEdge(state: Stored<TLSEdgeState>): EdgeStatus {
  const unset = { terminateAt: null, minVersion: null };
  const edge = {
    ...objectStatus(state),
    hostports: state.hostports,
    uncoveredHostports: [],
    backend: moduleStatus(state.backend),
    ipRestriction: moduleStatus(state.ipRestriction),
    mutualTls: moduleStatus(state.mutualTls),
    tlsTermination: moduleStatus(state.tlsTermination, unset),
  };
  const { ipRestriction, mutualTls, tlsTermination: tls } = edge;
  return {
    ...edge,
    weak: tls?.enabled === true && Number(tls.minVersion ?? 2) < 1.2,
    open: !ipRestriction?.enabled && !mutualTls?.enabled,
  };
}

/** A module with the fields that the service leaves out. */
function moduleStatus(module: ModuleState | null, defaults: object = {}): ModuleStatus | null {
  if (!module) return null;
  const fields = Object.entries(module).map(([key, value]) => [key, value === "" ? null : value]);
  return { enabled: module.enabled, ...defaults, ...Object.fromEntries(fields) };
}

/** The shortest of its hostports. */
export const mainHostport = (edge: EdgeStatus) => tlsEdge.names({ ...edge })[0];

/** The shortest of its hostports, or its id. */
export const edgeName = (edge: EdgeStatus) => mainHostport(edge) ?? edge.id;

/** Those of its modules that are configured and disabled. */
export const disabledModules = (edge: EdgeStatus) =>
  [edge.backend, edge.ipRestriction, edge.mutualTls, edge.tlsTermination].filter(
    (module) => module?.enabled === false,
  );

/** With `upstream`, TLS ends behind the edge, which then needs no certificate. */
export const isPassedOn = ({ tlsTermination }: EdgeStatus) =>
  tlsTermination?.enabled === true && tlsTermination.terminateAt === "upstream";

/** A row with the hostports and the modules. What makes the exit code 2 is red. */
export function edgeRow(edge: EdgeStatus, failOn: string[]): Row {
  const { id, hostports, backend, ipRestriction, mutualTls, tlsTermination: tls } = edge;
  const uncovered = new Set(edge.uncoveredHostports);
  const served = hostports.flatMap((one) =>
    uncovered.has(one) ? cell(`${one}, no certificate`, "red") : cell(one),
  );
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
  const names = hostports.length > 0 ? served : cell("no hostports", "dim");
  return { id: plain(id), cells: [[...aboutLines(edge), ...names], modules.flat()] };
}
