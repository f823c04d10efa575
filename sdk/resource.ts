import { createRequire } from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { importKey, millisecondsOf, secretsKey, timeoutsKey } from "../provider/dynamic/hidden";
import { filesKey } from "../provider/kinds/kind";
import type { AccountState } from "../provider/kinds/state";
import { Configuration } from "../provider/run/connection";
import type { StateNames } from "../provider/values/properties";
import { defined, isObject } from "../provider/values/properties";
import { defaultConnection } from "../provider/values/setting";
import { isAsync } from "./args";
import { typeToken } from "./kind";
import { declared, type Owner, refuseSharedObject } from "./shared";
import { hasOwnStore, isConfigSecret, mocks, PausedTraces } from "./workarounds";

/** What a resource of this package is to the engine. */
export interface Registered {
  /** The name of the class. */
  type: string;
  /** The provider's export in `provider/dynamic/dynamic.ts`. */
  provider: keyof typeof import("../provider/dynamic/dynamic");
  /** The outputs. */
  stateNames: StateNames;
  /** The arguments that are always secrets, and that the resource does not show. */
  secrets?: readonly string[];
}

/**
 * The registration of a resource, from its constructor. A base class would be less code, but Pulumi
 * takes the fifth frame of the stack for the line of the program, and state has that line.
 *
 * @example
 * const registration = new Registration(registered, name, args, opts);
 * try {
 *   super(registration.token, name, registration.properties, registration.options);
 * } catch (error) {
 *   throw registration.traces.end(error);
 * }
 * registration.done(this);
 */
export class Registration {
  readonly token: string;
  /**
   * The arguments, the provider's code as text, and a key for each output. Every state has that text, so it
   * never changes.
   */
  readonly properties: pulumi.Inputs;
  /** Without `import`: the engine can't import dynamic resources, so the provider does it. */
  readonly options: pulumi.CustomResourceOptions;
  readonly traces: PausedTraces;
  readonly #registered: Registered;
  readonly #owner: Owner;

  constructor(
    registered: Registered,
    name: string,
    args: pulumi.Inputs & { connection?: string },
    { import: imported, ...options }: pulumi.CustomResourceOptions,
  ) {
    const { connection = defaultConnection } = args;
    const { type, provider, stateNames, secrets = [] } = registered;
    checkConnection(connection);
    checkResolvable();
    if (imported === "") {
      throw new pulumi.RunError("the import option is empty: give the id of the object to adopt");
    }
    const hidden = asSecrets(args, secrets);
    const outputs = [...Object.keys(stateNames), "connection", "accountTag"];
    this.#registered = registered;
    this.#owner = { kind: `${type} ${connection}`, name, imported };
    this.token = typeToken(type);
    this.properties = {
      ...Object.fromEntries(outputs.map((output) => [output, undefined])),
      ...args,
      ...hidden,
      ...timeoutsOf(options.customTimeouts),
      ...(imported && { [importKey]: imported }),
      // A `get` manages nothing.
      ...(!options.id && { [secretsKey]: secretsOf(args, Object.keys(hidden)) }),
      __provider: `exports.handler = () => require("pulumi-tlsedge/provider").${provider}`,
    };
    this.options = options;
    this.traces = new PausedTraces();
  }

  /** Ends the registration of a resource. */
  done(resource: pulumi.CustomResource): void {
    const { stateNames, secrets = [] } = this.#registered;
    this.traces.end();
    // A `get` manages nothing.
    if (!this.options.id) refuseSharedObject(resource, this.#owner);
    const outputs = resource as unknown as Record<string, pulumi.Output<unknown>>;
    // Pulumi makes each argument a property. An export of the resource must contain no key.
    for (const name of [...secrets, filesKey]) delete outputs[name];
    // An unset property is null in state, and undefined in a program.
    const nullable = Object.keys(stateNames).filter((name) => stateNames[name] === "nullable");
    for (const name of [...nullable, "accountTag"]) {
      outputs[name] = (outputs[name] as pulumi.Output<unknown>).apply(
        (value) => value ?? undefined,
      );
    }
  }
}

/** The named arguments that are set, as secrets. */
function asSecrets(args: pulumi.Inputs, names: readonly string[]): pulumi.Inputs {
  const set = names.filter((name) => args[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, pulumi.secret(args[name])]));
}

/** The deadlines of the operations as an input; none where the option sets none. */
function timeoutsOf(option: pulumi.CustomTimeouts = {}): pulumi.Inputs {
  const timeouts = Object.entries(option).map(([name, text]) => [name, millisecondsOf(`${text}`)]);
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

/**
 * The settings of a connection, read and checked once in a program, so that a problem is reported once, not per
 * resource.
 */
export function checkConnection(connection: unknown): Configuration {
  if (typeof connection !== "string") {
    throw new pulumi.RunError(
      "connection must be a string with the name of a config namespace, not an output",
    );
  }
  const checked = declared()?.configurations;
  const known = checked?.get(connection);
  if (known) return known;
  const config = pulumi.runtime.allConfig();
  const configuration = new Configuration(connection, (key) => config[key]);
  const apiKey = configuration.setting("apiKey");
  const isPlain = apiKey.inConfig !== undefined && !isConfigSecret(apiKey.configKey);
  const before = `${connection}:`;
  const names = Object.keys(config).flatMap((key) =>
    key.startsWith(before) ? key.slice(before.length) : [],
  );
  const problem =
    (isPlain ? apiKey.whySecret : undefined) ??
    configuration.unknown(names, pulumi.getProject()) ??
    // A unit test reaches no account.
    (mocks() ? undefined : configuration.problem);
  if (problem) throw new pulumi.RunError(problem);
  checked?.set(connection, configuration);
  return configuration;
}

/** The folders from which this package was found. */
const resolvableFrom = new Set<string>();

/** Fails if the engine can't load the provider, which it loads from the folder of the project's program. */
function checkResolvable(): void {
  // The folder of an inline program or of a component's program is known to the engine alone, whose error names what
  // it can't load.
  if (hasOwnStore()) return;
  const folder = process.cwd();
  if (resolvableFrom.has(folder)) return;
  try {
    createRequire(join(folder, "index.js")).resolve("pulumi-tlsedge/provider");
    resolvableFrom.add(folder);
  } catch {
    throw new pulumi.RunError(
      `pulumi-tlsedge can't be found from ${folder}, where the engine looks for it: add pulumi-tlsedge to the ` +
        "dependencies there",
    );
  }
}
