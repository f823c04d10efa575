import * as pulumi from "@pulumi/pulumi";
import { isObject } from "../provider/lifecycle";
import { misspelt } from "../provider/shape";

/** Whether a value is an output or a promise. */
export function isAsync(value: unknown): boolean {
  return pulumi.Output.isInstance(value) || value instanceof Promise;
}

/**
 * The problem of arguments that must be an object with only these names; undefined if there is
 * none. A JavaScript program may pass anything.
 *
 * @param what What the names are, for the message: "option".
 * @param path The path of the object: "access."; empty for the arguments themselves.
 */
export function wrongForm(
  args: unknown,
  known: readonly string[],
  what: string,
  path = "",
): string | undefined {
  if (!isObject(args) || Array.isArray(args) || isAsync(args)) {
    return `${path.slice(0, -1) || "the argument"} must be an object with some of these: ${known.join(", ")}`;
  }
  const unknown = Object.keys(args).find((name) => !known.includes(name));
  if (unknown === undefined) return undefined;
  return `${path}${unknown}: ${misspelt(what, unknown, known)}`;
}
