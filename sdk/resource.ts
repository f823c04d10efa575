import { createRequire } from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { defaultConnection, waysToSet } from "../client/settings";
import { importKey } from "../provider/adoption";
import { ConfigurationError, misspelt, overruled, readSettings } from "../provider/connection";

/** A value, or parts of it, that may come from outputs. */
export type InputOf<T> = pulumi.Input<T extends object ? { [K in keyof T]: InputOf<T[K]> } : T>;

/** The type token of a resource. Policies and state know it: it stays for ever. */
export const typeToken = (name: string) => `pulumi-nodejs:dynamic/tlsedge:${name}`;

/**
 * What the engine is given for a resource: the arguments, the provider's text, and a place for
 * each output that is none of them. The text is a promise to every state: constant to the letter,
 * free of code.
 *
 * @param adopted The id of an object that is there already, to take over.
 */
export function registration(
  provider: "tlsEdge" | "tlsCertificate",
  args: pulumi.Inputs & { connection?: string },
  outputs: readonly string[],
  adopted: string | undefined,
): pulumi.Inputs {
  checkConnection(args.connection ?? defaultConnection);
  hasResource = true;
  checkResolvable();
  if (adopted === "") throw new pulumi.RunError("the import option is empty: give the id to adopt");
  return {
    ...Object.fromEntries(outputs.map((output) => [output, undefined])),
    ...args,
    ...(adopted && { [importKey]: adopted }),
    __provider: `exports.handler = () => require("pulumi-tlsedge/provider").${provider}`,
  };
}

/**
 * Has Pulumi take no stack traces until told to go on: for each property of a resource it takes
 * four, longer than all else that a program does for it, and looks at them only when
 * PULUMI_DEBUG_PROMISE_LEAKS is set. Where in the program a resource stands it sees all the same.
 */
export function pauseTraces() {
  const limit = Error.stackTraceLimit;
  if (!process.env.PULUMI_DEBUG_PROMISE_LEAKS) Error.stackTraceLimit = 0;
  const resume = () => {
    Error.stackTraceLimit = limit;
  };
  /** What was thrown, with the trace that it would have had. */
  const traced = (error: unknown) => {
    resume();
    if (error instanceof Error) Error.captureStackTrace(error);
    return error;
  };
  return { resume, traced };
}

/**
 * Gives a property its value when it is asked for: a place for each costs a program time.
 *
 * @param args What the program says, which state holds as inputs alone: in the plan of a resource
 * that does not change the engine tells outputs alone. None for a resource that is only read.
 * @param value What the property is, from what is known of it.
 */
export function lazily<T, U>(
  resource: pulumi.CustomResource,
  name: string,
  args: pulumi.Inputs | undefined,
  value: (known: pulumi.Output<T | undefined>) => pulumi.Output<U>,
): void {
  const read = (resource as unknown as Record<string, pulumi.Output<T> | undefined>)[name];
  // With the URN, so that whatever depends on the property waits for the resource.
  const said = () => pulumi.all([args?.[name], resource.urn]).apply(([known]) => known as T);
  const get = () => value(args ? said() : (read ?? pulumi.output(undefined)));
  Object.defineProperty(resource, name, { configurable: true, enumerable: true, get });
}

/** The optional texts of every resource. */
export const texts = ["description", "metadata", "connection"];

/** {@link lazily} for those texts: one that is unset, or empty, is undefined. */
export function textsLazily(
  resource: pulumi.CustomResource,
  args: pulumi.Inputs | undefined,
): void {
  for (const name of texts) {
    lazily<string, string | undefined>(resource, name, args, (known) =>
      known.apply((text) => text || undefined),
    );
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
  const stray = isProject ? undefined : misspelt(connection, Object.keys(config));
  if (stray) throw new pulumi.RunError(stray);
  try {
    readSettings(connection, (key) => config[key], process.env);
  } catch (error) {
    throw error instanceof ConfigurationError ? new pulumi.RunError(error.message) : error;
  }
}

let hasResource = false;
const overruledByConfig = new Set<string>();

/**
 * Warns of variables that stack config overrules when the program ends: only then it is known that
 * it has lookups alone. With a resource the provider's process warns.
 */
export function warnOfLookups(connection: string): void {
  const warning = overruled(connection, stackConfig, process.env);
  if (!warning || overruledByConfig.has(warning)) return;
  overruledByConfig.add(warning);
  process.once("exit", () => hasResource || console.error(warning));
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
