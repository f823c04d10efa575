import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { SettingKey } from "../client/advice";
import type { Client, ClientOptions } from "../client/client";
import { type Connection, waysToSet } from "../client/settings";
import { cancelSignal } from "./engine";
import { nearest } from "./values/nearest";
import { whyNoBlock, whyUnusable } from "./values/notPem";

/** A setting is missing or malformed. The message says how to set it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** Reads one value of stack config by its full key, such as `tlsedge:baseUrl`. */
export type ConfigReader = (key: string) => string | undefined;

/** The settings of a connection, which a user gives. */
export interface Settings extends Omit<ClientOptions, "nameOf" | "tell" | "signal"> {
  /**
   * Whether the base URL and the API key are those of the account that the state was made with, in spite
   * of a change. Give it for one run only.
   */
  sameAccount?: boolean;
  /**
   * Whether a create takes an object that equals it and that no resource has. Give it for one run only.
   */
  takeEqual?: boolean;
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
 * @param tell Shows a message when requests take long.
 * @throws ConfigurationError that names every missing or malformed setting.
 */
export function connect(
  connection: Connection,
  config?: ConfigReader,
  env: NodeJS.ProcessEnv = process.env,
  tell?: (message: string) => void,
): Client {
  const settings = readSettings(connection, config, env);
  // Loaded only when needed: a program without lookups makes no request.
  const { Client } = require("../client/client") as typeof import("../client/client");
  const nameOf = (key: SettingKey) => whereSet(connection, key, config, env);
  const given = { nameOf, signal: cancelSignal };
  return new Client({ ...settings, ...given, ...(tell && { tell }) });
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
 * shells. To a base URL of an explicit provider goes no key but the provider's own.
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
  const inEnv = isOwn ? undefined : env[variable]?.trim();
  const howToSet = config ? text : `set ${variable} in the environment`;
  return {
    inStack: config?.(configKey)?.trim(),
    inEnv,
    howToSet: isOwn ? `set ${configKey}, because that provider sets baseUrl` : howToSet,
  };
}

/** Why an API key must be a secret in the config. */
export function plainKey(connection: Connection): string {
  const { configKey, inConfig } = waysToSet(connection, "apiKey");
  return `${configKey} is in the stack's config in plain text, and would be in its state: ${inConfig}`;
}

/**
 * Reads and checks the settings of a connection. Makes no request.
 *
 * @param goodFiles The CA files that are known to be good, which are not read again.
 */
export function readSettings(
  connection: Connection,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
  goodFiles = new Set<string>(),
): Settings {
  if (typeof connection === "string" && !/^[a-z][a-z0-9-]*$/.test(connection)) {
    throw new ConfigurationError(
      "a connection must be the name of a config namespace: a lower-case letter, then lower-case " +
        "letters, digits and hyphens",
    );
  }
  const problems: string[] = [];
  const isGood = (key: Key, value: string) => key === "caFile" && goodFiles.has(value);
  const read = <K extends Key>(key: K): Value<K> | undefined => {
    const { name } = settingChecks[key];
    const { variable, configKey, inConfig } = waysToSet(connection, key);
    const { inStack, inEnv, howToSet } = valuesOf(connection, key, config, env);
    const value = inStack || inEnv;
    if (!value) {
      if (key === "baseUrl" || key === "apiKey") problems.push(`no ${name} is set: ${howToSet}`);
      return undefined;
    }
    const checked = isGood(key, value) ? value : settingChecks[key].check(value);
    if (!(checked instanceof Invalid)) return checked as Value<K>;
    const source = `${inStack ? configKey : variable}${shown(key, value)}`;
    // A variable does not override a wrong value in stack config.
    const howToMend = inStack ? inConfig : howToSet.replace(/^set /, "correct ");
    problems.push(`the ${name} in ${source} ${checked.reason}: ${howToMend}`);
    return undefined;
  };
  const settings = {
    baseUrl: read("baseUrl") ?? "",
    apiKey: read("apiKey") ?? "",
    apiVersion: read("apiVersion"),
    versionHeader: read("versionHeader"),
    caFile: read("caFile"),
    timeoutSeconds: read("timeoutSeconds"),
    maxRetries: read("maxRetries"),
    requestsPerMinute: read("requestsPerMinute"),
    sameAccount: read("sameAccount"),
    takeEqual: read("takeEqual"),
    offlinePlan: read("offlinePlan"),
  };
  if (problems.length > 0) throw new ConfigurationError(problems.join("; "));
  if (settings.caFile) goodFiles.add(settings.caFile);
  return settings;
}

/** Why the settings of a connection can't be used; undefined when they can. */
export function problemOfSettings(
  connection: Connection,
  config: ConfigReader | undefined,
  goodFiles?: Set<string>,
): string | undefined {
  try {
    readSettings(connection, config, process.env, goodFiles);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

/** A warning when variables differ from stack config, which wins; undefined when they agree. */
export function overruled(
  connection: Connection,
  config: ConfigReader,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const differing = keys.flatMap((key) => {
    const { variable, configKey } = waysToSet(connection, key);
    const { inStack, inEnv } = valuesOf(connection, key, config, env);
    if (!inStack || !inEnv || inStack === inEnv) return [];
    if (settingChecks[key].check(inStack) === settingChecks[key].check(inEnv)) return [];
    return [`${configKey}${shown(key, inStack)} is used, not ${variable}${shown(key, inEnv)}`];
  });
  if (differing.length === 0) return undefined;
  return `stack config and the environment differ: ${differing.join("; ")}`;
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
    `unknown in stack config: ${listed.join(", ")}. Remove each unknown key with ` +
    `\`pulumi config rm\`. The settings in ${connection} are ${settings}`
  );
}

/** Why a value is invalid, without the value, which may be an API key. */
class Invalid {
  constructor(readonly reason: string) {}
}

/** The name of each setting in messages, and its check. */
const settingChecks = {
  baseUrl: { name: "base URL", check: checkBaseUrl },
  apiKey: { name: "API key", check: checkApiKey },
  apiVersion: {
    name: "API version",
    check: matching(/^\d+$/, "must be a whole number, such as 2"),
  },
  versionHeader: {
    name: "version header",
    check: matching(
      /^(?!(?:accept|accept-.*|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$)[\w-]+$/i,
      "must be the name of a header, such as Service-Version, and none that HTTP itself has",
    ),
  },
  caFile: { name: "CA file", check: checkCaFile },
  timeoutSeconds: { name: "timeout", check: between(1, 86_400) },
  maxRetries: { name: "number of retries", check: between(0, 1000) },
  requestsPerMinute: { name: "number of requests per minute", check: between(0, 1_000_000) },
  sameAccount: { name: "answer whether the account is the same", check: checkBoolean },
  takeEqual: { name: "choice to take equal objects", check: checkBoolean },
  offlinePlan: { name: "choice of a plan without questions", check: checkBoolean },
};

type Key = keyof typeof settingChecks;
type Value<K extends Key> = Exclude<ReturnType<(typeof settingChecks)[K]["check"]>, Invalid>;
const keys = Object.keys(settingChecks) as Key[];

/** A URL or a path in brackets, without parts that may be secret; empty for any other setting. */
function shown(key: Key, value: string): string {
  // Only what looks like a file's path: anything else may be a key.
  if (key === "caFile") {
    return /^[^\n]{1,255}\.(pem|crt|cer|ca)$/i.test(value) ? ` (${value})` : "";
  }
  if (key !== "baseUrl") return "";
  const bare = value.replace(/^([a-z]+:\/\/)?.*@/is, "$1").replace(/[?#].*/s, "");
  // Show only what looks like a URL or a host name: anything else may be a misplaced API key.
  return /^[a-z]+:\/|^[a-z0-9.-]+[.:][a-z0-9/.-]+$/.test(bare) ? ` (${bare})` : "";
}

function checkBaseUrl(value: string): string | Invalid {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isHost = /^(?!https:)[a-z0-9-]+[.:][a-z0-9/.:-]+$/i.test(value);
  if (url?.host ? url.protocol !== "https:" : isHost)
    return new Invalid("must start with https://");
  if (!url?.host) return new Invalid("is not a URL such as https://api.example.com");
  if (url.username || url.password || url.search || url.hash) {
    return new Invalid("must have only https://, a host and a path");
  }
  return url.href.replace(/\/+$/, "");
}

function checkBoolean(value: string): boolean | Invalid {
  if (value === "1" || value === "true") return true;
  return value === "0" || value === "false" ? false : new Invalid("must be true or false");
}

function checkApiKey(value: string): string | Invalid {
  if (/^(["'\u2018\u201c]).*["'\u2019\u201d]$/s.test(value)) {
    return new Invalid("has quotation marks around it, which are no part of the key");
  }
  if (/^bearer\s/i.test(value))
    return new Invalid("begins with Bearer, which is no part of the key");
  return /^[\x21-\x7e]+$/.test(value)
    ? value
    : new Invalid("has a space, a line break or a character that a key can't have");
}

const isPem = (text: string) => text.includes("-----BEGIN ");

function checkCaFile(value: string): string | Invalid {
  if (isPem(value)) return new Invalid("is PEM text, but must be the path of a file");
  let text: string;
  try {
    text = readFileSync(value, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const from = isAbsolute(value) ? "" : ` from ${process.cwd()}; give an absolute path`;
    return new Invalid(`can't be read (${code})${from}`);
  }
  const start = text.indexOf("-----BEGIN CERTIFICATE-----");
  if (start < 0) return new Invalid(whyNoBlock(text, "certificate"));
  try {
    new X509Certificate(text.slice(start));
    return value;
  } catch {
    return new Invalid(
      whyUnusable(text, "holds a certificate that can't be parsed: copy the whole file again"),
    );
  }
}

function matching(pattern: RegExp, reason: string): (value: string) => string | Invalid {
  return (value) => (pattern.test(value) ? value : new Invalid(reason));
}

function between(least: number, most: number): (value: string) => number | Invalid {
  return (value) =>
    /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most
      ? Number(value)
      : new Invalid(`must be a whole number from ${least} to ${most}`);
}
