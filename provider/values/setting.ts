import * as v from "valibot";
import { checks, type Key } from "./settingChecks";

/** The default connection: a namespace of stack config. */
export const defaultConnection = "tlsedge";

/**
 * Where an account's settings are: in a namespace of stack config, such as `tlsedge-staging`, or in
 * the properties of an explicit provider of that name.
 */
export type Connection = string | { provider: string };

/**
 * Whether a provider of the plugin is the stack's own and no explicit one.
 * The engine says it by the name alone: `default`, or with the version (and then the server) of the
 * plugin. A program may give such a name to a provider of its own.
 */
export const isDefaultProvider = (name: string): boolean =>
  /^(default(_\d+_\d+_\d+(_.*)?)?)?$/.test(name);

/**
 * The files to delete a key of config from. `pulumi config rm` leaves what Pulumi.yaml sets, and the engine does
 * not say which file it is.
 */
export const configFiles = "Pulumi.yaml or Pulumi.<stack>.yaml";

/** Reads a value of stack config by its full key, such as `tlsedge:baseUrl`, or a provider's property by its name. */
export type ConfigReader = (configKey: string, key: Key) => string | undefined;

/** Where settings are looked for. Without config, outside a stack, only the environment is read. */
export interface Source {
  connection: Connection;
  config?: ConfigReader | undefined;
  env: NodeJS.ProcessEnv;
}

/** The environment variable of a setting. An explicit provider has those of the default connection. */
export function variableOf(connection: Connection, key: Key): string {
  const namespace = typeof connection === "string" ? connection : defaultConnection;
  const prefix = namespace.toUpperCase().replaceAll("-", "_");
  return `${prefix}_${key.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
}

/** A setting of a connection: its names, where it is set and to what, and what to do if it is missing or wrong. */
export class Setting {
  readonly variable: string;
  /** The full key in stack config, or the provider's property. Its value overrides the variable. */
  readonly configKey: string;
  /** What config says, without the white space of files and shells. */
  readonly inConfig: string | undefined;
  readonly #inEnv: string | undefined;
  readonly #hasConfig: boolean;
  readonly #isProvider: boolean;
  readonly #base: Setting;
  readonly #parsed: ReturnType<typeof parse> | undefined;

  /** @param base The base URL of the connection, if this is not it. */
  constructor(
    readonly key: Key,
    { connection, config, env }: Source,
    base?: Setting,
  ) {
    this.#base = base ?? this;
    this.#hasConfig = config !== undefined;
    this.#isProvider = typeof connection !== "string";
    this.variable = variableOf(connection, key);
    this.configKey =
      typeof connection === "string"
        ? `${connection}:${key}`
        : `${key} of the provider ${connection.provider}`;
    this.inConfig = config?.(this.configKey, key)?.trim();
    // Such a property of an explicit provider is never taken from the environment.
    this.#inEnv = this.#mustBeOwn || this.#isEmpty ? undefined : env[this.variable]?.trim();
    this.#parsed = this.#text ? parse(key, this.#text) : undefined;
  }

  /** The valid value; undefined if there is none. */
  get value(): unknown {
    return this.#parsed?.success ? this.#parsed.output : undefined;
  }

  /** What is missing or wrong, and what to do. Never shows the value, which may be an API key. */
  get problem(): string | undefined {
    const { issues } = this.#parsed ?? {};
    if (issues) return `${this.place} ${issues[0].message}. ${this.#howToCorrect}`;
    if (this.#isEmpty) return `${this.configKey} is empty: give it a value, or leave it out`;
    const missing = this.#parsed ? undefined : needed[this.key];
    return missing && `no ${missing} is set: ${this.#howToSet}`;
  }

  /** The name of the place where it is set. If it is not set, that is where the base URL is set. */
  get place(): string {
    const setting = this.#text ? this : this.#base;
    const isInConfig = this.#hasConfig && (setting.inConfig || !setting.#inEnv);
    return isInConfig ? this.configKey : this.variable;
  }

  /** Where it comes from, for people; undefined if it is not set. Only the base URL is shown. */
  get origin(): string | undefined {
    if (!this.#text) return undefined;
    const shown = this.key === "baseUrl" ? `${this.key} (${this.#text})` : this.key;
    const other = this.inConfig && this.#inEnv ? `, not ${this.variable}` : "";
    return `${shown} from ${this.place}${other}`;
  }

  /** Why it must be a secret in the config. */
  get whySecret(): string {
    const problem = `${this.configKey} is in plain text in the config, and would be in the state`;
    return `${problem}: delete it from ${configFiles}, then ${this.#howToSet}`;
  }

  /** Whether a text would give it the value that it has. White space does not count. */
  isSetBy(text: string): boolean {
    return parse(this.key, text.trim()).output === this.value;
  }

  get #text(): string | undefined {
    return this.inConfig || this.#inEnv;
  }

  /** Whether the variable does not count: an explicit provider's own base URL gets no API key but its own. */
  get #mustBeOwn(): boolean {
    return this.#isProvider && this.key === "apiKey" && Boolean(this.#base.inConfig);
  }

  /** Whether an explicit provider's property is empty: perhaps the program's own variable is unset. Ours is not read. */
  get #isEmpty(): boolean {
    return this.#isProvider && this.inConfig === "";
  }

  get #howToSet(): string {
    const { variable, configKey } = this;
    if (this.#mustBeOwn) return `set ${configKey}, because that provider sets baseUrl`;
    if (this.#isProvider) return `set ${configKey}, or ${variable} in the environment`;
    return `set ${variable} in the environment${this.#hasConfig ? `, or run ${this.#command}` : ""}`;
  }

  /** How to correct a wrong value, at the place that it comes from: a value in config overrides the variable. */
  get #howToCorrect(): string {
    const isFromVariable = !this.inConfig;
    if (isFromVariable) return this.#howToSet.replace(/^set /, "Correct ");
    if (this.#isProvider) return `Correct ${this.configKey}`;
    return `Run ${this.#command}, or delete it from ${configFiles} and set ${this.variable}`;
  }

  get #command(): string {
    return `\`pulumi config set${this.key === "apiKey" ? " --secret" : ""} ${this.configKey}\``;
  }
}

/** The settings that have no default. */
const needed: Partial<Record<Key, string>> = { baseUrl: "base URL", apiKey: "API key" };

const parse = (key: Key, text: string) => v.safeParse(checks[key], text, { abortPipeEarly: true });
