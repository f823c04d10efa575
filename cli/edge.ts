import { plain } from "../client/plain";
import { defined, type Lifecycle, type Properties } from "../provider/lifecycle";
import type { AdoptableKind, Candidate, ObjectStatus, Wire } from "./kind";
import { cell, count, type Line } from "./table";

interface EdgeWire extends Wire {
  uri: string;
  hostports?: string[] | null;
}

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

type Modules<Name extends string> = Record<Name, ModuleStatus | null>;

/** An edge as `status --json` prints it; a module that is not configured is null. */
export type EdgeStatus<Module extends string> = ObjectStatus & {
  description: string | null;
  createdAt: string | null;
  metadata: string | null;
  hostports: string[];
  uncoveredHostports: string[];
} & Modules<Module>;

/** The column heads of modules. Default: the module's name. */
const heads: Record<string, string> = {
  ipRestriction: "IP RULES",
  mutualTls: "MTLS",
  tlsTermination: "TLS",
};

/** What the fields of modules refer to. */
const references = {
  backendId: "backend",
  ipPolicyIds: "IP policies",
  certificateAuthorityIds: "authorities",
} as const;

/**
 * A kind of edge: an object with hostports and modules.
 *
 * @param kind The key, the noun and the class name of the kind, and what its file in `provider/`
 * exports.
 */
export function edgeKind<Key extends string, W extends EdgeWire, Module extends string>(kind: {
  key: Key;
  noun: string;
  className: string;
  provider: {
    lifecycle: Lifecycle & { toState(wire: W, given?: Properties): Properties };
    modules: readonly Module[];
  };
}): AdoptableKind<Key, W, EdgeStatus<Module>> {
  const { key, noun, className, provider } = kind;
  const { lifecycle, modules } = provider;
  const hasTermination = modules.some((name) => name === "tlsTermination");
  return {
    key,
    noun,
    heading: `${noun}s`,
    list: (client) => lifecycle.list(client) as AsyncIterable<W>,
    read(wire) {
      const state = lifecycle.toState(wire);
      const parts = modules.map((name) => [name, moduleStatus(name, state[name])]);
      const hostports = state.hostports as string[];
      const tls = state.tlsTermination as ModuleStatus | null;
      // With `upstream` the service passes TLS through, so it needs no certificate.
      const isPassedOn = tls?.enabled && tls.terminateAt === "upstream";
      const { id, uri, created_at, hostports: _, ...content } = wire;
      return {
        status: {
          id,
          description: wire.description || null,
          createdAt: created_at ?? null,
          metadata: wire.metadata || null,
          hostports,
          uncoveredHostports: [],
          ...(Object.fromEntries(parts) as Modules<Module>),
        },
        needs: hasTermination && !isPassedOn ? hostports : [],
        // Only one edge can have a hostport, so an edge with hostports has no twin.
        twinContent: hostports.length > 0 ? undefined : content,
      };
    },
    heads: ["ID", "HOSTPORTS", ...modules.map((name) => heads[name] ?? name.toUpperCase())],
    row(edge) {
      const uncovered = new Set(edge.uncoveredHostports);
      const hostports = edge.hostports.flatMap((hostport) =>
        cell(hostport, uncovered.has(hostport) ? "red" : undefined),
      );
      const marks = modules.map((name) => mark((edge as Modules<Module>)[name]));
      return {
        id: plain(edge.id),
        cells: [hostports.length > 0 ? hostports : cell("none", "dim"), ...marks],
      };
    },
    uses(edge) {
      const given = modules.map((name) => (edge as Modules<Module>)[name]);
      return Object.entries(references).flatMap(([field, noun]) => {
        const ids = given.flatMap((module) => module?.[field as keyof typeof references] ?? []);
        return ids.length > 0 ? cell(`${noun}: ${ids.join(", ")}`) : [];
      });
    },
    columns(edge) {
      return { USES: this.uses?.(edge) ?? [] };
    },
    note(edges) {
      const { length } = edges.flatMap(({ uncoveredHostports }) => uncoveredHostports);
      return length > 0 ? `${count(length, "hostport")} uncovered` : undefined;
    },
    adoption: {
      className,
      lifecycle,
      candidate(wire) {
        const { names, args } = argsOf(lifecycle.inputsOf(lifecycle.toState(wire)));
        const name = names[0]?.replace(/:443$/, "") ?? "";
        return { names, name, args, state: lifecycle.toState(wire, args) };
      },
    },
  };
}

function moduleStatus(name: string, module: unknown): ModuleStatus | null {
  if (!module) return null;
  const fields = Object.entries(module).map(([field, value]) => [
    field,
    value === "" ? null : value,
  ]);
  const unset = name === "tlsTermination" ? { terminateAt: null, minVersion: null } : {};
  return { enabled: true, ...unset, ...Object.fromEntries(fields) };
}

function mark(module: ModuleStatus | null): Line[] {
  if (!module) return cell("-", "dim");
  const { enabled, terminateAt, minVersion } = module;
  if (!enabled) return cell("off", "yellow");
  return cell(terminateAt ? `${terminateAt}${minVersion ? ` ${minVersion}+` : ""}` : "on", "green");
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
