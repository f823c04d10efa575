import * as v from "valibot";
import type { SettingKey } from "../../client/advice";
import { Client, type ClientOptions } from "../../client/client";
import { nearest } from "../values/nearest";
import { defined } from "../values/properties";
import { checks, type Key, keys } from "../values/settingChecks";
import { type Connection, configFiles, defaultConnection, waysToSet } from "../values/settings";
import { cancelSignal } from "./engine";

/** A setting is missing or malformed. The message says how to set it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** Reads one value of stack config by its full key, such as `tlsedge:baseUrl`. */
export type ConfigReader = (key: string) => string | undefined;

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
 * A client of a connection.
 *
 * A connection is a config namespace: `tlsedge-staging` reads `tlsedge-staging:apiKey` or, if
 * config does not set that, `TLSEDGE_STAGING_API_KEY`.
 *
 * @param config Undefined outside a stack: then only the environment is read.
 * @param show How messages are shown. Default: not at all.
 * @throws ConfigurationError that names every missing or malformed setting.
 */
export function connect(
  connection: Connection,
  config?: ConfigReader,
  env: NodeJS.ProcessEnv = process.env,
  texts: Pick<ClientOptions, "show" | "hide"> = {},
  settings = readSettings(connection, config, env),
): Client {
  const nameOf = (key: SettingKey) => whereSet(connection, key, config, env);
  return new Client({ ...settings, nameOf, signal: cancelSignal, ...texts });
}

/**
 * The place where a setting is set: stack config wins over the environment. A setting that is not
 * set belongs where the base URL is set.
 */
function whereSet(
  connection: Connection,
  key: SettingKey,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
): string {
  const { variable, configKey } = waysToSet(connection, key);
  const { inStack, inEnv } = valuesOf(connection, key, config, env);
  if (inStack) return configKey;
  if (inEnv) return variable;
  const base = valuesOf(connection, "baseUrl", config, env);
  return config && (base.inStack || !base.inEnv) ? configKey : variable;
}

/**
 * What stack config and the environment set, and how to set it. White space comes from files and
 * shells. To a base URL of an explicit provider goes no key but the provider's own, and the environment fills in no
 * property of it that is empty: a variable of the program may not be set.
 */
function valuesOf(
  connection: Connection,
  key: Key,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
) {
  const { variable, configKey, text } = waysToSet(connection, key);
  const base = waysToSet(connection, "baseUrl").configKey;
  const isOwn = key === "apiKey" && typeof connection !== "string" && config?.(base)?.trim();
  const inStack = config?.(configKey)?.trim();
  const isEmpty = inStack === "" && typeof connection !== "string";
  const inEnv = isOwn || isEmpty ? undefined : env[variable]?.trim();
  const howTo = config ? text : `set ${variable} in the environment`;
  const howToSet = isOwn ? `set ${configKey}, because that provider sets baseUrl` : howTo;
  const needed = { baseUrl: "base URL", apiKey: "API key" }[key as string];
  const missing = needed && `no ${needed} is set: ${howToSet}`;
  const whyMissing = isEmpty ? `${configKey} is empty: give it a value, or leave it out` : missing;
  return { inStack, inEnv, howToSet, whyMissing };
}

/** Why an API key must be a secret in the config. */
export function plainKey(connection: Connection): string {
  const { configKey, text } = waysToSet(connection, "apiKey");
  const problem = `${configKey} is in plain text in the config, and would be in the state`;
  return `${problem}: delete it from ${configFiles}, then ${text}`;
}

/** Reads and checks the settings of a connection. Makes no request. */
export function readSettings(
  connection: Connection,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
): Settings {
  if (typeof connection === "string" && !/^[a-z][a-z0-9-]*$/.test(connection)) {
    throw new ConfigurationError(
      "a connection must be the name of a config namespace: a lower-case letter, then lower-case " +
        "letters, digits and hyphens",
    );
  }
  const problems: string[] = [];
  const read = (key: Key) => {
    const { variable, configKey, inConfig } = waysToSet(connection, key);
    const { inStack, inEnv, howToSet, whyMissing } = valuesOf(connection, key, config, env);
    const value = inStack || inEnv;
    if (!value) {
      if (whyMissing) problems.push(whyMissing);
      return undefined;
    }
    const { output, issues } = parse(key, value);
    if (!issues) return output;
    const source = inStack ? configKey : variable;
    // A variable does not override a wrong value in stack config.
    const advice = inStack ? inConfig : howToSet.replace(/^set /, "correct ");
    const sentence = advice.charAt(0).toUpperCase() + advice.slice(1);
    problems.push(`${source} ${issues[0].message}. ${sentence}`);
    return undefined;
  };
  const settings = defined(Object.fromEntries(keys.map((key) => [key, read(key)])));
  // Where settings are missing, the plan fails before it could warn of a misspelt variable.
  if (problems.length > 0)
    throw new ConfigurationError([...problems, unknownVariables(env) ?? []].flat().join("; "));
  // Without a problem, each has the type of its check.
  return settings as unknown as Settings;
}

const parse = (key: Key, value: string) =>
  v.safeParse(checks[key], value, { abortPipeEarly: true });

/** Whether a text of config gives a setting the value that it has. White space does not count. */
export const isSetting = (settings: Settings, key: "baseUrl" | "apiKey", text: string): boolean =>
  parse(key, text.trim()).output === settings[key];

/** The message of a {@link ConfigurationError} that the work throws. */
export function problemOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

/** The source of each valid setting that is set, for people. */
export function sourcesOf(
  connection: Connection,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
): string {
  const sources = keys.flatMap((key) => {
    const { variable, configKey } = waysToSet(connection, key);
    const { inStack, inEnv } = valuesOf(connection, key, config, env);
    const text = key === "baseUrl" ? `${key} (${inStack || inEnv})` : key;
    if (inStack) return `${text} from ${configKey}${inEnv ? `, not ${variable}` : ""}`;
    return inEnv ? `${text} from ${variable}` : [];
  });
  return sources.join("; ");
}

/** An error message for keys of a connection that are no settings; undefined if there is none. */
export function unknownKeys(
  connection: Connection,
  configKeys: readonly string[],
): string | undefined {
  const [before = "", after = ""] = waysToSet(connection, "*").configKey.split("*");
  const known: readonly string[] = keys;
  const unknown = configKeys
    .filter((key) => key.startsWith(before) && key.endsWith(after))
    .map((key) => key.slice(before.length, key.length - after.length))
    .filter((key) => !known.includes(key));
  if (unknown.length === 0) return undefined;
  const listed = unknown.map((key) => {
    const meant = nearest(key, known);
    return `${before}${key}${meant ? ` (did you mean ${before}${meant}?)` : ""}`;
  });
  const settings = keys.join(", ");
  if (typeof connection !== "string") {
    return `unknown: ${listed.join(", ")}. The settings of a provider are ${settings}`;
  }
  return (
    `unknown in stack config: ${listed.join(", ")}. Delete each unknown key from ` +
    `${configFiles}. The settings in ${connection} are ${settings}`
  );
}

/**
 * The variables that look like those of a setting and are none, each with the nearest; undefined if there is none.
 * Every connection has the same settings, so a setting is known by the end of its name.
 */
export function unknownVariables(env: NodeJS.ProcessEnv): string | undefined {
  const known = keys.map((key) => waysToSet(defaultConnection, key).variable);
  const ends = known.map((variable) => variable.replace("TLSEDGE", ""));
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
