import { createRequire } from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { defaultConnection, waysToSet } from "../client/settings";
import type { AccountState } from "../provider/account";
import {
  ConfigurationError,
  overruled,
  plainKey,
  readSettings,
  unknownKeys,
} from "../provider/connection";
import { importKey, secretsKey } from "../provider/creates/adoption";
import { defined, isObject } from "../provider/lifecycle";
import type { StateNames } from "../provider/state";
import { millisecondsOf, timeoutsKey } from "../provider/timeouts";
import { mocks } from "./mocks";

/**
 * The properties of a resource for the engine: a copy of the arguments, the provider's code as
 * text, and a key for each output. Every state has that text, so it never changes.
 *
 * @param stateNames The outputs.
 * @param options `import` is the id of an existing object to adopt, `id` that of one to read.
 */
export function registration(
  provider: keyof typeof import("../provider/dynamic"),
  args: pulumi.Inputs & { connection?: string },
  stateNames: StateNames,
  { import: adopted, id, customTimeouts = {} }: pulumi.CustomResourceOptions,
): pulumi.Inputs {
  checkConnection(args.connection ?? defaultConnection);
  resourceConnections.add(args.connection ?? defaultConnection);
  checkResolvable();
  if (adopted === "") {
    throw new pulumi.RunError("the import option is empty: give the id of the object to adopt");
  }
  const given = copied(args);
  const outputs = [...Object.keys(stateNames), "connection", "accountTag"];
  return {
    ...Object.fromEntries(outputs.map((output) => [output, undefined])),
    ...given,
    ...timeoutsOf(customTimeouts),
    ...(adopted && { [importKey]: adopted }),
    ...(!id && { [secretsKey]: secretsOf(given) }),
    __provider: `exports.handler = () => require("pulumi-tlsedge/provider").${provider}`,
  };
}

/**
 * Stops stack traces until {@link allowTraces}: Pulumi takes four for each output of a resource, 15 %
 * of the processor time of a plan (docs/performance.md). Gives the limit to restore. The positions
 * in the program that state has do not depend on it.
 */
export function stopTraces(): number {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  return stackTraceLimit;
}

/** Allows traces again; gives an error that was thrown meanwhile its trace. */
export function allowTraces(limit: number, error?: unknown): void {
  Error.stackTraceLimit = limit;
  if (error instanceof Error) Error.captureStackTrace(error, allowTraces);
}

/** Gives the error of a failed registration its trace: Pulumi makes the error in advance. */
export function traceFailure({ urn }: pulumi.Resource): void {
  const here = new Error();
  Error.captureStackTrace(here, traceFailure);
  const registered = (urn as unknown as { promise(): Promise<unknown> }).promise();
  registered.catch((error) => {
    const frames = here.stack?.replace(/^.*/, "");
    if (error instanceof Error && !error.stack?.includes("\n    at ")) error.stack += frames ?? "";
  });
}

/** The deadlines of the operations as an input; none where the option sets none. */
function timeoutsOf(given: pulumi.CustomTimeouts): pulumi.Inputs {
  const timeouts = Object.entries(given).map(([name, text]) => [name, millisecondsOf(`${text}`)]);
  const known = defined(Object.fromEntries(timeouts));
  return Object.keys(known).length > 0 ? { [timeoutsKey]: known } : {};
}

/** The names of the arguments that are secrets for the program, or have a secret part. */
async function secretsOf(args: pulumi.Inputs): Promise<string[]> {
  // A text or a number is no secret: skip what is slow for a stack with thousands of them.
  const names = Object.keys(args).filter((name) => isObject(args[name]));
  const marks = await Promise.all(
    // Of an argument that fails, the registration tells.
    names.map((name) => pulumi.isSecret(pulumi.output(args[name])).catch(() => true)),
  );
  return names.filter((_, index) => marks[index]);
}

/** A deep copy: Pulumi reads arguments after the constructor, and the program may change them. */
function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (typeof value !== "object" || value === null) return value;
  // Outputs, promises and other class instances are not copied.
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, copied(part)]);
  return Object.fromEntries(parts) as T;
}

/** The outputs of a resource: what its state holds, with undefined where state has null. */
export type Outputs<State> = {
  readonly [Name in keyof (State & StoredState)]-?: pulumi.Output<
    (State & StoredState)[Name] extends infer Value ? Unset<Value> : never
  >;
};
type Unset<Value> = Value extends null ? undefined : Value;

/** What state holds beside the object. */
interface StoredState extends AccountState {
  /** The config namespace of the account. */
  connection: string;
}

/** Turns null into undefined: an unset property is null in state, and undefined in a program. */
export function unsetIsUndefined(resource: pulumi.CustomResource, stateNames: StateNames): void {
  const outputs = resource as unknown as Record<string, pulumi.Output<unknown>>;
  const nullable = Object.keys(stateNames).filter((name) => stateNames[name] === "nullable");
  for (const name of [...nullable, "accountTag"]) {
    outputs[name] = (outputs[name] as pulumi.Output<unknown>).apply((value) => value ?? undefined);
  }
}

/** Refuses an empty id: with one, Pulumi would create a resource instead of reading one. */
export function idToGet(type: string, id: pulumi.Input<pulumi.ID>): pulumi.Input<pulumi.ID> {
  const given = (known: pulumi.ID) => {
    if (known) return known;
    throw new pulumi.RunError(`${type}.get needs the id of the ${type} to read`);
  };
  return typeof id === "string" || !id ? given(id) : pulumi.output(id).apply(given);
}

/** Reads a value of the running stack's config. */
export const stackConfig = (key: string): string | undefined => pulumi.runtime.getConfig(key);

/** Checks a connection in the program, so that a problem is reported once, not per resource. */
export function checkConnection(connection: unknown): void {
  if (typeof connection !== "string") {
    throw new pulumi.RunError(
      "connection must be a string with the name of a config namespace, not an output",
    );
  }
  const { configKey } = waysToSet(connection, "apiKey");
  const config = pulumi.runtime.allConfig();
  if (config[configKey] !== undefined && !isConfigSecret(configKey)) {
    throw new pulumi.RunError(plainKey(connection));
  }
  // The namespace with the project's name has the program's own settings, too.
  const isProject = connection === pulumi.getProject();
  const problem = isProject ? undefined : unknownKeys(connection, Object.keys(config));
  if (problem) throw new pulumi.RunError(problem);
  // A unit test reaches no account.
  if (mocks()) return;
  try {
    readSettings(connection, (key) => config[key], process.env);
  } catch (error) {
    throw error instanceof ConfigurationError ? new pulumi.RunError(error.message) : error;
  }
}

/** The connections that resources use. The provider process warns about these. */
const resourceConnections = new Set<string>();
const lookupWarnings = new Set<string>();

/**
 * Warns at the end of the program about variables that differ from stack config, which wins. If a
 * resource uses the connection, the provider process warns instead.
 */
export function warnOfLookups(connection: string): void {
  const warning = overruled(connection, stackConfig, process.env);
  if (!warning || lookupWarnings.has(warning)) return;
  lookupWarnings.add(warning);
  process.once("exit", () => {
    if (!resourceConnections.has(connection)) console.error(`warning: ${warning}`);
  });
}

/** Pulumi exports this function but not its type. */
const { isConfigSecret } = pulumi.runtime as unknown as {
  isConfigSecret: (key: string) => boolean;
};

/** The folders from which this package was found. */
const resolvableFrom = new Set<string>();

/** Fails if the engine can't load the provider, which it loads from the program's folder. */
function checkResolvable(): void {
  const folder = process.cwd();
  if (resolvableFrom.has(folder)) return;
  try {
    createRequire(join(folder, "index.js")).resolve("pulumi-tlsedge/provider");
    resolvableFrom.add(folder);
  } catch {
    throw new pulumi.RunError(
      `pulumi-tlsedge can't be found from ${folder}, where the engine looks for it: ` +
        "add pulumi-tlsedge to this project's dependencies",
    );
  }
}
