import { createRequire } from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { defaultConnection, waysToSet } from "../client/settings";
import { importKey, secretsKey } from "../provider/adopt";
import {
  ConfigurationError,
  overruled,
  plainKey,
  readSettings,
  unknownKeys,
} from "../provider/connection";
import type { AccountState } from "../provider/marks";
import { defined, isObject } from "../provider/properties";
import type { StateNames } from "../provider/state";
import { millisecondsOf, timeoutsKey } from "../provider/timeouts";
import { isAsync } from "./args";
import { refuseSharedObject } from "./imports";
import { typeToken } from "./kind";
import { mocks } from "./mocks";

/** What a resource of this package is to the engine. */
export interface Registered {
  /** The name of the class. */
  type: string;
  /** The provider's export in `provider/dynamic.ts`. */
  provider: keyof typeof import("../provider/dynamic");
  /** The outputs. */
  stateNames: StateNames;
  /** The arguments that are always secrets, and that the resource does not show. */
  secrets?: readonly string[];
}

/**
 * The registration of a resource, from its constructor. A base class would be less code, but Pulumi
 * takes the fifth frame of the stack for the line of the program, and state has that line.
 *
 * It stops stack traces until {@link done} or {@link failed}: Pulumi takes four for each output of a
 * resource, 15 % of the processor time of a plan (docs/performance.md). The lines of the program that
 * state has do not depend on it.
 *
 * @example
 * const registration = new Registration(registered, args, opts);
 * try {
 *   super(registration.token, name, registration.properties, registration.options);
 * } catch (error) {
 *   throw registration.failed(error);
 * }
 * registration.done(this, name);
 */
export class Registration {
  readonly token: string;
  /**
   * A copy of the arguments, the provider's code as text, and a key for each output. Every state has
   * that text, so it never changes.
   */
  readonly properties: pulumi.Inputs;
  /** Without `import`: the engine can't import dynamic resources, so the provider does it. */
  readonly options: pulumi.CustomResourceOptions;
  readonly #registered: Registered;
  readonly #imported: string | undefined;
  readonly #stackTraceLimit = Error.stackTraceLimit;

  constructor(
    registered: Registered,
    args: pulumi.Inputs & { connection?: string },
    { import: adopted, ...options }: pulumi.CustomResourceOptions,
  ) {
    checkConnection(args.connection ?? defaultConnection);
    resourceConnections.add(args.connection ?? defaultConnection);
    checkResolvable();
    if (adopted === "") {
      throw new pulumi.RunError("the import option is empty: give the id of the object to adopt");
    }
    const { type, provider, stateNames, secrets = [] } = registered;
    const given = copied(args);
    const hidden = asSecrets(given, secrets);
    const outputs = [...Object.keys(stateNames), "connection", "accountTag"];
    this.#registered = registered;
    this.#imported = adopted;
    this.token = typeToken(type);
    this.properties = {
      ...Object.fromEntries(outputs.map((output) => [output, undefined])),
      ...given,
      ...hidden,
      ...timeoutsOf(options.customTimeouts),
      ...(adopted && { [importKey]: adopted }),
      ...(!options.id && { [secretsKey]: secretsOf(given, Object.keys(hidden)) }),
      __provider: `exports.handler = () => require("pulumi-tlsedge/provider").${provider}`,
    };
    this.options = options;
    Error.stackTraceLimit = 0;
  }

  /** Allows traces again; gives the error that Pulumi's constructor has thrown its trace. */
  failed(error: unknown): unknown {
    Error.stackTraceLimit = this.#stackTraceLimit;
    if (error instanceof Error) Error.captureStackTrace(error, this.failed);
    return error;
  }

  /** Ends the registration of a resource. */
  done(resource: pulumi.CustomResource, name: string): void {
    const { type, stateNames, secrets = [] } = this.#registered;
    const kind = `${type} ${this.properties.connection ?? defaultConnection}`;
    Error.stackTraceLimit = this.#stackTraceLimit;
    // A `get` manages nothing.
    if (!this.options.id) refuseSharedObject(resource, name, kind, this.#imported);
    traceFailure(resource, this.done);
    // Pulumi makes each argument a property. An export of the resource must contain no key.
    for (const secret of secrets) delete (resource as unknown as Record<string, unknown>)[secret];
    unsetIsUndefined(resource, stateNames);
  }
}

/** Gives the error of a failed registration its trace: Pulumi makes the error in advance. */
function traceFailure({ urn }: pulumi.Resource, from: Registration["done"]) {
  const here = new Error();
  Error.captureStackTrace(here, from);
  const registered = (urn as unknown as { promise(): Promise<unknown> }).promise();
  registered.catch((error) => {
    const frames = here.stack?.replace(/^.*/, "");
    if (error instanceof Error && !error.stack?.includes("\n    at ")) error.stack += frames ?? "";
  });
}

/** The named arguments that are set, as secrets. */
function asSecrets(args: pulumi.Inputs, names: readonly string[]): pulumi.Inputs {
  const given = names.filter((name) => args[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, pulumi.secret(args[name])]));
}

/** The deadlines of the operations as an input; none where the option sets none. */
function timeoutsOf(given: pulumi.CustomTimeouts = {}): pulumi.Inputs {
  const timeouts = Object.entries(given).map(([name, text]) => [name, millisecondsOf(`${text}`)]);
  const known = defined(Object.fromEntries(timeouts));
  return Object.keys(known).length > 0 ? { [timeoutsKey]: known } : {};
}

/** The names of the arguments that are secrets for the program, or have a secret part. */
async function secretsOf(args: pulumi.Inputs, known: readonly string[]): Promise<string[]> {
  const parts = Object.entries(args)
    .filter(([name]) => !known.includes(name))
    // A plain value has no output: Pulumi would make one of each of its parts.
    .flatMap(([name, value]) => asyncParts(value).map((part) => [name, part] as const));
  // Of an argument that fails, the registration tells.
  const isSecret = ([, part]: readonly [string, unknown]) =>
    pulumi.isSecret(pulumi.output(part)).catch(() => true);
  const marks = await Promise.all(parts.map(isSecret));
  const secrets = parts.filter((_, index) => marks[index]).map(([name]) => name);
  return [...new Set([...known, ...secrets])];
}

/** The outputs and promises in a value, at any depth; not those of a resource, which may be a cycle. */
function asyncParts(value: unknown): unknown[] {
  if (pulumi.Resource.isInstance(value)) return [];
  if (isAsync(value)) return [value];
  return isObject(value) ? Object.values(value).flatMap(asyncParts) : [];
}

/** A deep copy: Pulumi reads arguments after the constructor, and the program may change them. */
export function copied<T>(value: T): T {
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
function unsetIsUndefined(resource: pulumi.CustomResource, stateNames: StateNames): void {
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
        "add pulumi-tlsedge to the dependencies there, or start the program in the folder that has it",
    );
  }
}
