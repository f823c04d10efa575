import * as pulumi from "@pulumi/pulumi";
import { isObject } from "../provider/lifecycle";
import { misspelt } from "../provider/shape";

/** Whether a value is an output or a promise. */
export function isLater(value: unknown): boolean {
  return pulumi.Output.isInstance(value) || value instanceof Promise;
}

/**
 * What is wrong with arguments that must be an object with no other names than these; undefined
 * when nothing is. A program in JavaScript may pass anything.
 *
 * @param what What a name is, for the message: "option".
 * @param path Where the object stands: "access."; empty for the arguments themselves.
 */
export function wrongForm(
  args: unknown,
  known: readonly string[],
  what: string,
  path = "",
): string | undefined {
  if (!isObject(args) || Array.isArray(args) || isLater(args)) {
    return `${path.slice(0, -1) || "the argument"} must be an object with any of ${known.join(", ")}`;
  }
  const stray = Object.keys(args).find((name) => !known.includes(name));
  return stray === undefined ? undefined : `${path}${stray}: ${misspelt(what, stray, known)}`;
}
