import * as pulumi from "@pulumi/pulumi";
import { defaultConnection } from "../client/settings";
import type { InputOf } from "./resource";

/** The edge of each hostport, by stack: one process may declare several stacks. */
const edgesOf = new WeakMap<object, Map<string, string>>();

/**
 * Fails the plan when two edges have the same hostport. The service would refuse the second edge
 * only during the update, after other resources are deployed.
 *
 * @param title The kind of edge, for messages: "TLS edge".
 */
export function refuseSharedHostports(
  title: string,
  name: string,
  args: { hostports?: InputOf<string[] | undefined>; connection?: string },
  opts: pulumi.CustomResourceOptions,
): void {
  const stack = pulumi.runtime.getStackResource();
  const isIgnored = opts.ignoreChanges?.some((path) => /^(\*$|hostports)/.test(path));
  if (!stack || isIgnored) return;
  const edges = edgesOf.get(stack) ?? new Map<string, string>();
  edgesOf.set(stack, edges);
  const check = (hostports: unknown) => {
    if (!Array.isArray(hostports)) return;
    // The provider refuses an edge that names a hostport twice.
    for (const hostport of new Set(hostports.map((one) => String(one).toLowerCase()))) {
      const key = `${args.connection ?? defaultConnection} ${hostport}`;
      const other = edges.get(key);
      edges.set(key, name);
      if (other === undefined) continue;
      throw new pulumi.RunError(
        `the ${title}s "${other}" and "${name}" have the same hostport, which only one edge can ` +
          "serve: remove the hostport from one of them",
      );
    }
  };
  const { hostports } = args;
  const isKnown = Array.isArray(hostports) && hostports.every((h) => typeof h === "string");
  if (isKnown) check(hostports);
  else pulumi.output(hostports).apply(check);
}
