import * as pulumi from "@pulumi/pulumi";
import {
  type GetTLSEdgeResult,
  lookup,
  stateNames,
  type TLSEdgeFilter,
  type TLSEdgeQuery,
  type TLSEdgeState,
} from "../provider/kinds/tlsEdge";
import { findAll, findOne } from "../provider/lifecycle/lookup";
import type { ObjectArgs } from "./args";
import { type InputOf, isOfKind } from "./kind";
import { type LookupArgs, type LookupOutputOptions, lookUp, lookUpOutput } from "./lookup";
import type { Outputs } from "./outputs";
import { type Registered, Registration } from "./registration";
import { refuseSharedHostports } from "./shared";
import { idToGet } from "./workarounds";

export type { GetTLSEdgeResult };

/** The arguments of a {@link TLSEdge}. All are optional. */
export interface TLSEdgeArgs extends ObjectArgs {
  /**
   * The hostports that the edge serves, in any order: each a host name and a port from 1 to 65535,
   * such as `app.example.com:443` or `*.example.com:443`. Letter case does not matter.
   */
  hostports?: pulumi.Input<pulumi.Input<string>[] | undefined>;
  /** The backend behind the edge. */
  backend?: pulumi.Input<BackendArgs | undefined>;
  /** Who may connect, by source address. */
  ipRestriction?: pulumi.Input<IPRestrictionArgs | undefined>;
  /**
   * Which authorities sign the certificates that clients must present. Not where TLS
   * ends at the upstream.
   */
  mutualTls?: pulumi.Input<MutualTLSArgs | undefined>;
  /** Where TLS ends, and the lowest TLS version. */
  tlsTermination?: pulumi.Input<TLSTerminationArgs | undefined>;
  /**
   * What to do when the program removes a module: an update of an edge can't remove one. `disable`
   * disables the module in place, `replace` replaces the edge. Default `disable`.
   */
  onModuleRemoval?: "disable" | "replace" | undefined;
}

/** What each module of an edge can have. */
export interface ModuleArgs {
  /** Whether the module is applied to traffic. Default true. */
  enabled?: pulumi.Input<boolean | undefined>;
}

/** The module `backend` of a {@link TLSEdge}. */
export interface BackendArgs extends ModuleArgs {
  /** The id of the backend. */
  backendId: pulumi.Input<string>;
}

/** The module `ipRestriction` of a {@link TLSEdge}. */
export interface IPRestrictionArgs extends ModuleArgs {
  /** The ids of the IP policies, one or more, in any order. */
  ipPolicyIds: pulumi.Input<pulumi.Input<string>[]>;
}

/** The module `mutualTls` of a {@link TLSEdge}. */
export interface MutualTLSArgs extends ModuleArgs {
  /** The ids of the certificate authorities, one or more, in any order. */
  certificateAuthorityIds: pulumi.Input<pulumi.Input<string>[]>;
}

/** The module `tlsTermination` of a {@link TLSEdge}. */
export interface TLSTerminationArgs extends ModuleArgs {
  /** `edge`: at the service. `upstream`: behind it. Default: the service's choice. */
  terminateAt?: pulumi.Input<"edge" | "upstream" | undefined>;
  /**
   * The lowest TLS version. Not where TLS ends at the upstream. Default: the service's choice,
   * which is a safe version.
   */
  minVersion?: pulumi.Input<"1.0" | "1.1" | "1.2" | "1.3" | undefined>;
}

const registered: Registered = { type: "TLSEdge", provider: "tlsEdge", stateNames };

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
    const registration = new Registration(registered, name, { ...args }, options);
    try {
      super(registration.token, name, registration.properties, registration.options);
    } catch (error) {
      throw registration.traces.end(error);
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
export interface GetTLSEdgeArgs extends TLSEdgeQuery, LookupArgs {}

/** All matching edges of the account, newest first. */
export async function getTLSEdges(args: GetTLSEdgesArgs = {}): Promise<GetTLSEdgeResult[]> {
  return lookUp("getTLSEdges", findAll(lookup), args);
}

/**
 * Reads one edge of the account without managing it.
 *
 * @throws {@link LookupError} when none or several match; the message lists the candidates.
 * @example
 * const { id } = await getTLSEdge({ hostport: "app.example.com:443" });
 */
export async function getTLSEdge(args: GetTLSEdgeArgs): Promise<GetTLSEdgeResult> {
  return lookUp("getTLSEdge", findOne(lookup), args);
}

/** {@link getTLSEdge} for arguments that are outputs. An error shows no secret value. */
export function getTLSEdgeOutput(
  args: InputOf<GetTLSEdgeArgs>,
  opts?: LookupOutputOptions,
): pulumi.Output<GetTLSEdgeResult> {
  return lookUpOutput("getTLSEdge", findOne(lookup), args, opts);
}

/** {@link getTLSEdges} for arguments that are outputs. */
export function getTLSEdgesOutput(
  args: InputOf<GetTLSEdgesArgs> = {},
  opts?: LookupOutputOptions,
): pulumi.Output<GetTLSEdgeResult[]> {
  return lookUpOutput("getTLSEdges", findAll(lookup), args, opts);
}
