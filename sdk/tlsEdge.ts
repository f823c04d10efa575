import * as pulumi from "@pulumi/pulumi";
import type { fields, moduleFields, modules } from "../client/tlsEdge";
import {
  type GetTLSEdgeResult,
  type TLSEdgeFilter,
  type TLSEdgeInputs,
  type TLSEdgeState,
  tlsEdge,
} from "../provider/kinds/tlsEdge";
import type { ArgsOf, ObjectArgs } from "./args";
import { type InputOf, isOfKind } from "./kind";
import { type LookupArgs, type LookupOutputOptions, lookUp, lookUpOutput } from "./lookup";
import type { Outputs } from "./outputs";
import { Registration } from "./registration";
import { refuseSharedHostports } from "./shared";
import { idToGet } from "./workarounds";

export type { GetTLSEdgeResult };

type Modules = typeof modules;

/** The arguments of a {@link TLSEdge}. All are optional. */
export interface TLSEdgeArgs
  extends ObjectArgs,
    ArgsOf<typeof fields>,
    Pick<TLSEdgeInputs, "onModuleRemoval"> {
  backend?: pulumi.Input<BackendArgs | undefined>;
  ipRestriction?: pulumi.Input<IPRestrictionArgs | undefined>;
  mutualTls?: pulumi.Input<MutualTLSArgs | undefined>;
  tlsTermination?: pulumi.Input<TLSTerminationArgs | undefined>;
}

/** What each module of an edge can have. */
export interface ModuleArgs extends ArgsOf<typeof moduleFields> {}
/** The module `backend` of a {@link TLSEdge}. */
export interface BackendArgs extends ArgsOf<Modules["backend"]["fields"]> {}
/** The module `ipRestriction` of a {@link TLSEdge}. */
export interface IPRestrictionArgs extends ArgsOf<Modules["ipRestriction"]["fields"]> {}
/** The module `mutualTls` of a {@link TLSEdge}. */
export interface MutualTLSArgs extends ArgsOf<Modules["mutualTls"]["fields"]> {}
/** The module `tlsTermination` of a {@link TLSEdge}. */
export interface TLSTerminationArgs extends ArgsOf<Modules["tlsTermination"]["fields"]> {}

export interface TLSEdge extends Outputs<TLSEdgeState> {}

/**
 * A TLS edge: hostports that serve TLS traffic, with modules.
 *
 * All inputs but `connection` update in place. A module that the program removes is disabled,
 * unless `onModuleRemoval` says otherwise. A replacement deletes the old edge first, because two
 * edges can't have the same hostport; `deleteBeforeReplace: false` overrides this.
 *
 * The option `import` adopts the existing edge with that id, or with that hostport: nothing is
 * created, and the plan fails and lists the differences if the arguments differ from the edge.
 * After the first update the option can be removed.
 *
 * @example
 * const edge = new TLSEdge("app", {
 *   hostports: ["app.example.com:443"],
 *   backend: { backendId: "bkdtg_…" },
 *   tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
 * });
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Pulumi sets the outputs at run time.
export class TLSEdge extends pulumi.CustomResource {
  /** Assigned by the service, opaque. */
  declare readonly id: pulumi.Output<pulumi.ID>;
  constructor(name: string, args?: TLSEdgeArgs, opts: pulumi.CustomResourceOptions = {}) {
    refuseSharedHostports(name, args ?? {}, opts);
    // As an option, not as a result of diff, so that it also applies to a forced replacement.
    const options = pulumi.mergeOptions({ deleteBeforeReplace: true }, opts);
    const registered = { kind: tlsEdge, provider: "tlsEdge" } as const;
    const registration = new Registration(registered, name, { ...args }, options);
    try {
      super(registration.token, name, registration.properties, registration.options);
    } catch (error) {
      // The registration pauses stack traces, which are slow: the error gets its own here.
      throw registration.pausedTraces.end(error);
    }
    registration.done(this);
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
    state?: { connection?: string | undefined },
    opts?: pulumi.CustomResourceOptions,
  ): TLSEdge {
    return new TLSEdge(name, state, { ...opts, id: idToGet("TLSEdge", id) });
  }

  /** Whether a value is a TLSEdge, from any copy of this package or from the plugin. */
  static override isInstance(value: unknown): value is TLSEdge {
    return isOfKind(value, "TLSEdge");
  }
}

/** Which edges to look up: those that match all given filters. */
export interface GetTLSEdgesArgs extends TLSEdgeFilter, LookupArgs {}

/** Which edge to look up: by `id`, or the only one that matches all given filters. */
export interface GetTLSEdgeArgs extends TLSEdgeFilter, LookupArgs {
  /** The id of the edge. With an id, other filters are ignored. */
  id?: string | undefined;
}

/** All matching edges of the account, newest first. */
export async function getTLSEdges(args: GetTLSEdgesArgs = {}): Promise<GetTLSEdgeResult[]> {
  return lookUp("getTLSEdges", args);
}

/**
 * Reads one edge of the account without managing it.
 *
 * @throws {@link LookupError} when none or several match; the message lists the candidates.
 * @example
 * const { id } = await getTLSEdge({ hostport: "app.example.com:443" });
 */
export async function getTLSEdge(args: GetTLSEdgeArgs): Promise<GetTLSEdgeResult> {
  return lookUp("getTLSEdge", args);
}

/** {@link getTLSEdge} for arguments that are outputs. An error shows no secret value. */
export function getTLSEdgeOutput(
  args: InputOf<GetTLSEdgeArgs>,
  opts?: LookupOutputOptions,
): pulumi.Output<GetTLSEdgeResult> {
  return lookUpOutput("getTLSEdge", args, opts);
}

/** {@link getTLSEdges} for arguments that are outputs. */
export function getTLSEdgesOutput(
  args: InputOf<GetTLSEdgesArgs> = {},
  opts?: LookupOutputOptions,
): pulumi.Output<GetTLSEdgeResult[]> {
  return lookUpOutput("getTLSEdges", args, opts);
}
