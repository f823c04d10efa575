import * as pulumi from "@pulumi/pulumi";
import { isObject } from "../provider/values/properties";
import { isAsync } from "./args";

/** The names of the arguments that are secrets for the program, or have a secret part. */
export async function secretsOf(args: pulumi.Inputs, known: readonly string[]): Promise<string[]> {
  const parts = Object.entries(args)
    .filter(([name]) => !known.includes(name))
    // A plain value has no output: Pulumi would make one of each of its parts.
    .flatMap(([name, value]) => asyncParts(value).map((part) => [name, part] as const));
  const secrets = parts.map(async ([name, part]) => {
    // Of a part that fails, the registration tells.
    const isSecret = await pulumi.isSecret(pulumi.output(part)).catch(() => true);
    return isSecret ? [name] : [];
  });
  return [...new Set([...known, ...(await Promise.all(secrets)).flat()])];
}

/** The outputs and promises in a value, at any depth; not those of a resource, which may be a cycle. */
function asyncParts(value: unknown): unknown[] {
  if (pulumi.Resource.isInstance(value)) return [];
  if (isAsync(value)) return [value];
  return isObject(value) ? Object.values(value).flatMap(asyncParts) : [];
}
