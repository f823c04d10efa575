import { createRequire } from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { defaultConnection, waysToSet } from "../client/settings";
import { importKey } from "../provider/adoption";
import { ConfigurationError, overruled, readSettings, unknownKeys } from "../provider/connection";

/** A value, or parts of it, that may come from outputs. */
export type InputOf<T> = pulumi.Input<T extends object ? { [K in keyof T]: InputOf<T[K]> } : T>;

/** The type token of a resource. Policies and state know it: it stays for ever. */
export const typeToken = (name: string) => `pulumi-nodejs:dynamic/tlsedge:${name}`;

/**
 * What the engine is given for a resource: a copy of the arguments, the provider's text, and a
 * place for each output. The text stands in every state: it never changes, and holds no code.
 *
 * @param adopted The id of an object that is there already, to take over.
 */
export function registration(
  provider: keyof typeof import("../provider/dynamic"),
  args: pulumi.Inputs & { connection?: string },
  outputs: readonly string[],
  adopted: string | undefined,
): pulumi.Inputs {
  checkConnection(args.connection ?? defaultConnection);
  resourceConnections.add(args.connection ?? defaultConnection);
  checkResolvable();
  if (adopted === "") throw new pulumi.RunError("the import option is empty: give the id to adopt");
  return {
    ...Object.fromEntries(outputs.map((output) => [output, undefined])),
    ...copied(args),
    ...(adopted && { [importKey]: adopted }),
    __provider: `exports.handler = () => require("pulumi-tlsedge/provider").${provider}`,
  };
}

/** Pulumi reads arguments some time after the constructor: the program may change them by then. */
function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (typeof value !== "object" || value === null) return value;
  // Outputs, promises and the like are taken as they are.
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, copied(part)]);
  return Object.fromEntries(parts) as T;
}

/** In state a property that the service does not have is null; to a program it is undefined. */
export function unsetIsUndefined<R extends pulumi.CustomResource>(
  resource: R,
  names: readonly (keyof R)[],
): void {
  for (const name of names) {
    const stored = resource[name] as pulumi.Output<unknown>;
    resource[name] = stored.apply((value) => value ?? undefined) as R[typeof name];
  }
}

/** The id to `get`: with none, Pulumi would make a resource instead of reading one. */
export function idToGet(type: string, id: pulumi.Input<pulumi.ID>): pulumi.Input<pulumi.ID> {
  const given = (known: pulumi.ID) => {
    if (known) return known;
    throw new pulumi.RunError(`${type}.get needs the id of the ${type} to read`);
  };
  return typeof id === "string" || !id ? given(id) : pulumi.output(id).apply(given);
}

/** Reads a value of the running stack's config. */
export const stackConfig = (key: string): string | undefined => pulumi.runtime.getConfig(key);

/** Fails early and once, rather than in every resource of the program. */
export function checkConnection(connection: unknown): void {
  if (typeof connection !== "string") {
    throw new pulumi.RunError(
      "connection must be a string, the name of a config namespace: an output can't be one",
    );
  }
  const { configKey, inConfig } = waysToSet(connection, "apiKey");
  const config = pulumi.runtime.allConfig();
  if (config[configKey] !== undefined && !isConfigSecret(configKey)) {
    throw new pulumi.RunError(
      `${configKey} stands in the stack's config in plain text, and would in its state: ${inConfig}`,
    );
  }
  // The namespace of the project's own name holds the program's own settings, too.
  const isProject = connection === pulumi.getProject();
  const stray = isProject ? undefined : unknownKeys(connection, Object.keys(config));
  if (stray) throw new pulumi.RunError(stray);
  try {
    readSettings(connection, (key) => config[key], process.env);
  } catch (error) {
    throw error instanceof ConfigurationError ? new pulumi.RunError(error.message) : error;
  }
}

/** The connections that resources use: the provider's process warns of those. */
const resourceConnections = new Set<string>();
const overruledByConfig = new Set<string>();

/**
 * Warns of variables that stack config overrules when the program ends: only then it is known that
 * it has lookups alone. With a resource the provider's process warns.
 */
export function warnOfLookups(connection: string): void {
  const warning = overruled(connection, stackConfig, process.env);
  if (!warning || overruledByConfig.has(warning)) return;
  overruledByConfig.add(warning);
  process.once("exit", () => {
    if (!resourceConnections.has(connection)) console.error(warning);
  });
}

/** Pulumi exports this function but not its type. */
const { isConfigSecret } = pulumi.runtime as unknown as {
  isConfigSecret: (key: string) => boolean;
};

let resolvable = false;

/** The engine loads the provider from the program's folder: found there, or nowhere. */
function checkResolvable(): void {
  if (resolvable) return;
  try {
    createRequire(join(process.cwd(), "index.js")).resolve("pulumi-tlsedge/provider");
    resolvable = true;
  } catch {
    throw new pulumi.RunError(
      `pulumi-tlsedge can't be found from ${process.cwd()}, where the engine looks for it: ` +
        "add pulumi-tlsedge to this project's dependencies",
    );
  }
}
