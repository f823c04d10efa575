import type * as pulumi from "@pulumi/pulumi";
import { pluginToken, typeToken } from "../provider/kinds/token";

/** A value that may be an output, or that may have outputs as parts. */
export type InputOf<T> = pulumi.Input<T extends object ? { [K in keyof T]: InputOf<T[K]> } : T>;

/**
 * Whether a value is a resource of this name, of any copy of this package or of the plugin.
 *
 * Policies match resources by this: a class that has a static `__pulumiType` is matched by that one
 * type alone, so the classes of this package have none.
 */
export function isOfKind(value: unknown, name: string): boolean {
  const type = (value as { __pulumiType?: unknown } | null | undefined)?.__pulumiType;
  return type === typeToken(name) || type === pluginToken(name);
}
