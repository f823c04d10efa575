import * as pulumi from "@pulumi/pulumi";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { defined } from "../provider/lifecycle";
import { modules, type TLSEdgeInputs, type TLSEdgeState, toState } from "../provider/tlsEdge";
import { refuseSharedHostports } from "./hostports";
import { type Kind, type LookupArgs, one, oneOutput, stream } from "./lookup";
import { type InputOf, idToGet, registration, typeToken, unsetIsUndefined } from "./resource";

export type { TLSEdgeState };

type Settings = "onModuleRemoval" | "connection";

/** What a program says of a {@link TLSEdge}. */
export type TLSEdgeArgs = {
  [K in keyof Omit<TLSEdgeInputs, Settings>]: InputOf<TLSEdgeInputs[K]>;
} & Pick<TLSEdgeInputs, Settings>;

/**
 * A TLS edge: hostports that serve TLS traffic, with modules (api.md §2.1).
 *
 * Everything updates in place. A module that the program no longer has is switched off, unless
 * `onModuleRemoval` says otherwise. Where an edge is replaced all the same, it is deleted first,
 * as two edges can't have the same hostport; `deleteBeforeReplace: false` overrides that.
 *
 * @example
 * const edge = new TLSEdge("app", {
 *   hostports: ["app.example.com:443"],
 *   backend: { backendId: "bkdtg_…" },
 *   tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
 * });
 */
export class TLSEdge extends pulumi.CustomResource {
  /** @internal Policies match by it. */
  static readonly __pulumiType: string = typeToken("TLSEdge");

  /** The URI of the edge. */
  declare readonly uri: pulumi.Output<string>;
  /** When the edge was made, RFC 3339 in UTC. */
  declare readonly createdAt: pulumi.Output<string>;
  /** What the edge is for; undefined when unset. */
  declare readonly description: pulumi.Output<string | undefined>;
  /** Anything, for machines; undefined when unset. */
  declare readonly metadata: pulumi.Output<string | undefined>;
  /** What the edge serves, each a host and a port. */
  declare readonly hostports: pulumi.Output<string[]>;
  /** The backend behind the edge; undefined when not configured. */
  declare readonly backend: pulumi.Output<TLSEdgeState["backend"]>;
  /** Who may connect, by source address; undefined when not configured. */
  declare readonly ipRestriction: pulumi.Output<TLSEdgeState["ipRestriction"]>;
  /** Whose client certificates are asked for; undefined when not configured. */
  declare readonly mutualTls: pulumi.Output<TLSEdgeState["mutualTls"]>;
  /** The config namespace of the account. */
  declare readonly connection: pulumi.Output<string>;
  /** Where TLS ends; undefined when not configured. It has what the service chose, too. */
  declare readonly tlsTermination: pulumi.Output<TLSEdgeState["tlsTermination"]>;

  /**
   * @param opts With `import`, the edge of that id is taken over: nothing is created, and the plan
   * fails and says what differs unless `args` say what it is. Then the option can go.
   */
  constructor(name: string, args?: TLSEdgeArgs, opts: pulumi.CustomResourceOptions = {}) {
    refuseSharedHostports("TLS edge", name, args ?? {}, opts);
    // The engine can't import dynamic resources: the provider does.
    const { import: adopted, ...rest } = opts;
    super(
      TLSEdge.__pulumiType,
      name,
      registration("tlsEdge", args ?? {}, outputs, adopted),
      // As an option rather than from diff, so that it holds in a forced replacement too.
      pulumi.mergeOptions({ deleteBeforeReplace: true }, rest),
    );
    unsetIsUndefined<TLSEdge>(this, ["description", "metadata", ...modules]);
  }

  /**
   * An edge that is there already, read without being managed.
   *
   * @param state Where it is: `connection` names another account.
   * @throws when no edge has this id.
   */
  static get(
    name: string,
    id: pulumi.Input<pulumi.ID>,
    state?: { connection?: string },
    opts?: pulumi.CustomResourceOptions,
  ): TLSEdge {
    return new TLSEdge(name, state, { ...opts, id: idToGet("TLSEdge", id) });
  }

  /** Whether a value is a TLSEdge, of whichever copy of this package. */
  static override isInstance(value: unknown): value is TLSEdge {
    return (value as { __pulumiType?: unknown } | null)?.__pulumiType === TLSEdge.__pulumiType;
  }
}

const outputs = [
  ...["uri", "createdAt", "description", "metadata", "hostports", "connection"],
  ...modules,
];

/** A TLS edge as a lookup gives it; fields that are unset are undefined. */
export type GetTLSEdgeResult = TLSEdgeState & {
  /** Assigned by the service, opaque. */
  id: string;
};

/** Which edges to look up. */
export interface GetTLSEdgesArgs extends LookupArgs {
  /** Only edges that serve this host and port, such as `app.example.com:443`. */
  hostport?: string;
}

/** Which edge to look up: by `id`, or the only one that serves `hostport`. */
export interface GetTLSEdgeArgs extends GetTLSEdgesArgs {
  /** The id of the edge; then nothing else is looked at. */
  id?: string;
}

const kind: Kind<TLSEdgeWire, GetTLSEdgesArgs, GetTLSEdgeResult> = {
  title: "TLS edge",
  filters: { hostport: "a string" },
  ...tlsEdges,
  result: (wire) => defined({ id: wire.id, ...toState(wire) }) as unknown as GetTLSEdgeResult,
  matches: ({ hostports }, { hostport }) =>
    hostport === undefined ||
    (hostports ?? []).some((served) => served.toLowerCase() === hostport.toLowerCase()),
  label: ({ hostports }) => hostports.join(", "),
};

/** Every edge of the account that matches, newest first. */
export async function getTLSEdges(args: GetTLSEdgesArgs = {}): Promise<GetTLSEdgeResult[]> {
  return Array.fromAsync(stream(kind, args));
}

/**
 * One edge of the account, not managed by this program.
 *
 * @throws LookupError when none or several match; it lists the candidates.
 * @example
 * const { id } = await getTLSEdge({ hostport: "app.example.com:443" });
 */
export async function getTLSEdge(args: GetTLSEdgeArgs): Promise<GetTLSEdgeResult> {
  return one(kind, args);
}

/** {@link getTLSEdge} for arguments that are outputs; an error shows no value of a secret. */
export function getTLSEdgeOutput(args: InputOf<GetTLSEdgeArgs>): pulumi.Output<GetTLSEdgeResult> {
  return oneOutput(kind, args);
}

/** {@link getTLSEdges} for arguments that are outputs. */
export function getTLSEdgesOutput(
  args: InputOf<GetTLSEdgesArgs> = {},
): pulumi.Output<GetTLSEdgeResult[]> {
  return pulumi.output(args).apply((known) => getTLSEdges(known as GetTLSEdgesArgs));
}
