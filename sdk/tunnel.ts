import type * as pulumi from "@pulumi/pulumi";
import type { GetTunnelResult, TunnelFilter } from "../provider/kinds/tunnel";
import type { InputOf } from "./kind";
import { type LookupArgs, type LookupOutputOptions, lookUp, lookUpOutput } from "./lookup";

export type { GetTunnelResult };

/** Which tunnels to look up: those that match all given filters. */
export interface GetTunnelsArgs extends TunnelFilter, LookupArgs {}

/** Which tunnel to look up: by `id`, or the only one that matches all given filters. */
export interface GetTunnelArgs extends TunnelFilter, LookupArgs {
  /** The id of the tunnel. With an id, other filters are ignored. */
  id?: string | undefined;
}

/** All matching tunnels that are online, newest first, from any number of pages. */
export async function getTunnels(args: GetTunnelsArgs = {}): Promise<GetTunnelResult[]> {
  return lookUp("getTunnels", args);
}

/**
 * Reads one tunnel that is online.
 *
 * @throws {@link LookupError} when none or several match; the message lists the tunnels that match, or the
 * first that are online.
 * @example
 * const { publicUrl } = await getTunnel({ labels: { app: "web", env: "prod" } });
 */
export async function getTunnel(args: GetTunnelArgs): Promise<GetTunnelResult> {
  return lookUp("getTunnel", args);
}

/** {@link getTunnel} for arguments that are outputs. An error shows no secret value. */
export function getTunnelOutput(
  args: InputOf<GetTunnelArgs>,
  opts?: LookupOutputOptions,
): pulumi.Output<GetTunnelResult> {
  return lookUpOutput("getTunnel", args, opts);
}

/** {@link getTunnels} for arguments that are outputs. */
export function getTunnelsOutput(
  args: InputOf<GetTunnelsArgs> = {},
  opts?: LookupOutputOptions,
): pulumi.Output<GetTunnelResult[]> {
  return lookUpOutput("getTunnels", args, opts);
}
