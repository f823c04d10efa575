import * as pulumi from "@pulumi/pulumi";
import { lookups } from "../provider/lookups";
import {
  type GetTLSEdgeResult,
  modules,
  type TLSEdgeFilter,
  type TLSEdgeInputs,
  type TLSEdgeQuery,
  type TLSEdgeState,
} from "../provider/tlsEdge";
import { refuseSharedHostports } from "./hostports";
import { ask, askOutput, type LookupArgs } from "./lookup";
import {
  type InputOf,
  idToGet,
  isOfKind,
  registration,
  typeToken,
  unsetIsUndefined,
} from "./resource";

export type { GetTLSEdgeResult, TLSEdgeState };

type Settings = "onModuleRemoval" | "connection";

/** The arguments of a {@link TLSEdge}. */
export type TLSEdgeArgs = {
  [K in keyof Omit<TLSEdgeInputs, Settings>]: InputOf<TLSEdgeInputs[K]>;
} & Pick<TLSEdgeInputs, Settings>;

/**
 * A TLS edge: hostports that serve TLS traffic, with modules (api.md §2.1).
 *
 * All inputs but `connection` update in place. A module that the program removes is disabled,
 * unless `onModuleRemoval` says otherwise. A replacement deletes the old edge first, because two
 * edges can't have the same hostport; `deleteBeforeReplace: false` overrides this.
 *
 * @example
 * const edge = new TLSEdge("app", {
 *   hostports: ["app.example.com:443"],
 *   backend: { backendId: "bkdtg_…" },
 *   tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
 * });
 */
export class TLSEdge extends pulumi.CustomResource {
  /** The URI of the edge. */
  declare readonly uri: pulumi.Output<string>;
  /** When the edge was created, RFC 3339 in UTC. */
  declare readonly createdAt: pulumi.Output<string>;
  /** The description for people; may be unset. */
  declare readonly description: pulumi.Output<string | undefined>;
  /** The text for machines; may be unset. */
  declare readonly metadata: pulumi.Output<string | undefined>;
  /** The hostports that the edge serves, each a host and a port. */
  declare readonly hostports: pulumi.Output<string[]>;
  /** The backend behind the edge; unset when not configured. */
  declare readonly backend: pulumi.Output<TLSEdgeState["backend"]>;
  /** Who may connect, by source address; unset when not configured. */
  declare readonly ipRestriction: pulumi.Output<TLSEdgeState["ipRestriction"]>;
  /** Which authorities must sign the client certificates; unset when not configured. */
  declare readonly mutualTls: pulumi.Output<TLSEdgeState["mutualTls"]>;
  /** The config namespace of the account. */
  declare readonly connection: pulumi.Output<string>;
  /** Where TLS ends, with the values that the service chose; unset when not configured. */
  declare readonly tlsTermination: pulumi.Output<TLSEdgeState["tlsTermination"]>;

  /**
   * @param opts With `import`, the existing edge with that id is adopted: nothing is created, and
   * the plan fails and lists the differences if `args` differ from the edge. After the first update
   * the option can be removed.
   */
  constructor(name: string, args?: TLSEdgeArgs, opts: pulumi.CustomResourceOptions = {}) {
    refuseSharedHostports("TLS edge", name, args ?? {}, opts);
    // The engine can't import dynamic resources, so the provider does it.
    const { import: adopted, ...rest } = opts;
    super(
      typeToken("TLSEdge"),
      name,
      registration("tlsEdge", args ?? {}, outputs, adopted),
      // As an option, not as a result of diff, so that it also applies to a forced replacement.
      pulumi.mergeOptions({ deleteBeforeReplace: true }, rest),
    );
    unsetIsUndefined<TLSEdge>(this, ["description", "metadata", ...modules]);
  }

  /**
   * Reads an existing edge without managing it.
   *
   * @param state `connection` names another account.
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

  /** Whether a value is a TLSEdge, from any copy of this package or from the plugin. */
  static override isInstance(value: unknown): value is TLSEdge {
    return isOfKind(value, "TLSEdge");
  }
}

const outputs = [
  ...["uri", "createdAt", "description", "metadata", "hostports", "connection"],
  ...modules,
];

/** Which edges to look up. */
export interface GetTLSEdgesArgs extends TLSEdgeFilter, LookupArgs {}

/** Which edge to look up: by `id`, or the only one that serves `hostport`. */
export interface GetTLSEdgeArgs extends TLSEdgeQuery, LookupArgs {}

/** All matching edges of the account, newest first. */
export async function getTLSEdges(args: GetTLSEdgesArgs = {}): Promise<GetTLSEdgeResult[]> {
  return ask(lookups.getTLSEdges, args);
}

/**
 * Reads one edge of the account without managing it.
 *
 * @throws LookupError when none or several match; the message lists the candidates.
 * @example
 * const { id } = await getTLSEdge({ hostport: "app.example.com:443" });
 */
export async function getTLSEdge(args: GetTLSEdgeArgs): Promise<GetTLSEdgeResult> {
  return ask(lookups.getTLSEdge, args);
}

/** {@link getTLSEdge} for arguments that are outputs. An error shows no secret value. */
export function getTLSEdgeOutput(args: InputOf<GetTLSEdgeArgs>): pulumi.Output<GetTLSEdgeResult> {
  return askOutput(lookups.getTLSEdge, args);
}

/** {@link getTLSEdges} for arguments that are outputs. */
export function getTLSEdgesOutput(
  args: InputOf<GetTLSEdgesArgs> = {},
): pulumi.Output<GetTLSEdgeResult[]> {
  return askOutput(lookups.getTLSEdges, args);
}
