import { Client } from "../../client/client";
import type { ClientOptions, SettingKey } from "../../client/options";
import { nearest } from "../values/nearest";
import { defined } from "../values/properties";
import {
  type ConfigReader,
  type Connection,
  configFiles,
  defaultConnection,
  Setting,
  variableOf,
} from "../values/setting";
import { type Key, keys } from "../values/settingChecks";
import { cancelSignal } from "./engine";

/** A setting is missing or malformed. The message says how to set it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** The settings of a connection, which a user gives. */
export interface Settings extends Omit<ClientOptions, "nameOf" | "show" | "hide" | "signal"> {
  /**
   * Whether the base URL and the API key are those of the account that the state was made with, in spite
   * of a change. Give it for one run only.
   */
  sameAccount?: boolean;
  /** Whether a plan does not ask the service. */
  offlinePlan?: boolean;
}

/**
 * The settings of a connection, each read once.
 *
 * A connection is a config namespace: `tlsedge-staging` reads `tlsedge-staging:apiKey` or, if
 * config does not set that, `TLSEDGE_STAGING_API_KEY`.
 */
export class Configuration {
  /** Each missing or malformed setting; undefined if there is none. */
  readonly problem: string | undefined;
  readonly #all: Setting[];
  #settings: Settings | undefined;

  /** @param config Undefined outside a stack: then only the environment is read. */
  constructor(
    readonly connection: Connection,
    readonly config?: ConfigReader,
    env: NodeJS.ProcessEnv = process.env,
  ) {
    const source = { connection, config, env };
    const base = new Setting("baseUrl", source);
    this.#all = keys.map((key) => (key === "baseUrl" ? base : new Setting(key, source, base)));
    const problems = this.#all.flatMap(({ problem }) => problem ?? []);
    if (typeof connection === "string" && !/^[a-z][a-z0-9-]*$/.test(connection)) {
      this.problem =
        "a connection must be the name of a config namespace: a lower-case letter, then lower-case " +
        "letters, digits and hyphens";
    } else if (problems.length > 0) {
      // The plan fails before it could warn of a misspelt variable.
      this.problem = [...problems, unknownVariables(env) ?? []].flat().join("; ");
    }
  }

  setting(key: Key): Setting {
    return this.#all.find((one) => one.key === key) as Setting;
  }

  /**
   * The values that are set.
   *
   * @throws ConfigurationError with the problem.
   */
  get settings(): Settings {
    if (this.problem) throw new ConfigurationError(this.problem);
    const values = () => this.#all.map(({ key, value }) => [key, value]);
    // Without a problem, each has the type of its check.
    this.#settings ??= defined(Object.fromEntries(values())) as Settings;
    return this.#settings;
  }

  /** The source of each setting that is set, for people. */
  get sources(): string {
    return this.#all.flatMap(({ origin }) => origin ?? []).join("; ");
  }

  /**
   * What is wrong with the keys of stack config, besides their values: the API key is in plain text, or names are no
   * settings. Undefined for nothing.
   *
   * @param all The keys of each namespace.
   * @param project As in {@link unknownSettings}.
   */
  problemOfConfig(
    all: readonly string[],
    isSecret: (configKey: string) => boolean,
    project: string,
  ): string | undefined {
    const { inConfig, configKey, whySecret } = this.setting("apiKey");
    if (inConfig !== undefined && !isSecret(configKey)) return whySecret;
    const prefix = `${this.connection}:`;
    const own = all.filter((key) => key.startsWith(prefix));
    return this.unknownSettings(
      own.map((key) => key.slice(prefix.length)),
      project,
    );
  }

  /**
   * An error message for names that are no settings; undefined if there is none.
   *
   * @param names What stands in the namespace, or the provider's properties.
   * @param project The namespace with the project's name has the program's own settings, too.
   */
  unknownSettings(names: readonly string[], project: string): string | undefined {
    const { connection } = this;
    const known: readonly string[] = keys;
    const unknown = names.filter((name) => !known.includes(name));
    if (unknown.length === 0 || connection === project) return undefined;
    const isNamespace = typeof connection === "string";
    const prefix = isNamespace ? `${connection}:` : "";
    const listed = unknown.map((name) => {
      const meant = nearest(name, known);
      return `${prefix}${name}${meant ? ` (did you mean ${prefix}${meant}?)` : ""}`;
    });
    const [found, settings] = [listed.join(", "), known.join(", ")];
    if (!isNamespace) return `unknown: ${found}. The settings of a provider are ${settings}`;
    const advice = `Delete each unknown key from ${configFiles}`;
    return `unknown in stack config: ${found}. ${advice}. The settings in ${connection} are ${settings}`;
  }
}

/**
 * A client by the settings.
 *
 * @param options What no setting says. Default: messages are not shown.
 * @throws ConfigurationError that names every missing or malformed setting.
 */
export function connect(configuration: Configuration, options: Partial<ClientOptions> = {}) {
  const nameOf = (key: SettingKey) => configuration.setting(key).place;
  return new Client({ nameOf, signal: cancelSignal, ...options, ...configuration.settings });
}

/**
 * The variables that look like those of a setting and are none, each with the nearest; undefined if there is none.
 * Every connection has the same settings, so a setting is known by the end of its name.
 */
export function unknownVariables(env: NodeJS.ProcessEnv): string | undefined {
  const ends = keys.map((key) => variableOf(defaultConnection, key).replace("TLSEDGE", ""));
  const unknown = Object.keys(env)
    .filter((name) => name.startsWith("TLSEDGE_") && !ends.some((end) => name.endsWith(end)))
    // The prefix, which all have, makes far names look near.
    .map((name) => ({ name, meant: nearest(name.replace("TLSEDGE", ""), ends) }));
  if (unknown.length === 0) return undefined;
  const texts = unknown.map(
    ({ name, meant }) => name + (meant ? ` (did you mean TLSEDGE${meant}?)` : ""),
  );
  return `no setting has this name, so correct or unset it: ${texts.join(", ")}`;
}
