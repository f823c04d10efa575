import { readFileSync } from "node:fs";
import type { SettingKey } from "../client/advice";
import type { Client, ClientOptions } from "../client/client";
import { waysToSet } from "../client/settings";
import { sendForEngine } from "./engine";
import { nearest } from "./nearest";

/** Something is missing or malformed in the configuration; says how to set it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** Reads one value of stack config by its full key, such as `tlsedge:baseUrl`. */
export type ConfigReader = (key: string) => string | undefined;

/** What the configuration says of a connection. */
export interface Settings extends ClientOptions {
  /** The origin of the service before its host changed. */
  movedFrom?: string;
}

const clients = new Map<string, Client>();
const movedFrom = new WeakMap<Client, string>();

/**
 * The client of a connection: one for each account in a process, so that its limit holds for all.
 *
 * A connection is a config namespace: `tlsedge-staging` reads `tlsedge-staging:apiKey` and, where
 * config leaves it out, `TLSEDGE_STAGING_API_KEY`.
 *
 * @param config Left out where there is no stack: then the environment is all there is.
 * @throws ConfigurationError naming everything that is missing or malformed.
 */
export function connect(connection: string, config?: ConfigReader): Client {
  const settings = readSettings(connection, config, process.env);
  const account = JSON.stringify(settings);
  const known = clients.get(account);
  if (known) return known;
  // Loaded with the first request: a plan that changes nothing makes none.
  const { Client } = require("../client/client") as typeof import("../client/client");
  // The engine shows what is said there, and a terminal does.
  const nameOf = (key: SettingKey) => whereSet(connection, key, config, process.env);
  const client = new Client({ ...settings, nameOf, tell: console.error, send: sendForEngine });
  clients.set(account, client);
  if (settings.movedFrom) movedFrom.set(client, settings.movedFrom);
  return client;
}

/** Where a setting stands, or where to put it when it stands nowhere: stack config counts first. */
function whereSet(
  connection: string,
  key: SettingKey,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
): string {
  const { variable, configKey } = waysToSet(connection, key);
  return config && (config(configKey) || !env[variable]) ? configKey : variable;
}

/** The origins of the service: the base URL's, and the one that it has moved from, if any. */
export function originsOf({ account }: Client): { now: string; before: string | undefined } {
  return { now: account.baseUrl.origin, before: movedFrom.get(account) };
}

/** The settings of a connection, checked, without connecting. */
export function readSettings(
  connection: string,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
): Settings {
  if (!/^[a-z][a-z0-9-]*$/.test(connection)) {
    throw new ConfigurationError(
      "a connection is the name of a config namespace: lower-case letters, digits and hyphens",
    );
  }
  const problems: string[] = [];
  const read = <K extends Key>(key: K): Value<K> | undefined => {
    const { name, check } = kinds[key];
    const { variable, configKey, text, inConfig } = waysToSet(connection, key);
    const inStack = config?.(configKey);
    const value = inStack || env[variable];
    const anyWay = config ? text : `set ${variable} in the environment`;
    if (!value) {
      if (key === "baseUrl" || key === "apiKey") problems.push(`no ${name} is set: ${anyWay}`);
      return undefined;
    }
    const checked = check(value);
    if (!(checked instanceof Complaint)) return checked as Value<K>;
    const source = `${inStack ? configKey : variable}${shown(key, value)}`;
    // Beside a value in stack config a variable alone does not help.
    problems.push(`the ${name} in ${source} ${checked.text}: ${inStack ? inConfig : anyWay}`);
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
    movedFrom: read("movedFrom"),
  };
  if (problems.length > 0) throw new ConfigurationError(problems.join("; "));
  return settings;
}

/** A warning when variables say something else than stack config does, which counts before them. */
export function overruled(
  connection: string,
  config: ConfigReader,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const differing = keys.flatMap((key) => {
    const { variable, configKey } = waysToSet(connection, key);
    const [inStack, inEnv] = [config(configKey), env[variable]];
    if (!inStack || !inEnv || inStack === inEnv) return [];
    const { check } = kinds[key];
    if (check(inStack) === check(inEnv)) return [];
    return [`${configKey}${shown(key, inStack)} counts, not ${variable}${shown(key, inEnv)}`];
  });
  if (differing.length === 0) return undefined;
  return `warning: stack config and the environment differ: ${differing.join("; ")}`;
}

/** What is wrong with the keys of config that a connection's namespace has beside its settings. */
export function unknownKeys(connection: string, configKeys: readonly string[]): string | undefined {
  const known = keys.map((key) => `${connection}:${key}`);
  const strays = configKeys.filter(
    (key) => key.startsWith(`${connection}:`) && !known.includes(key),
  );
  if (strays.length === 0) return undefined;
  const told = strays.map((stray) => {
    const meant = nearest(stray.slice(connection.length + 1), keys);
    return meant ? `${stray} (did you mean ${connection}:${meant}?)` : stray;
  });
  return (
    `there is no setting ${told.join(", ")}: remove it with \`pulumi config rm\`. ` +
    `The settings in ${connection} are ${keys.join(", ")}`
  );
}

const told = new Set<string>();

/** Tells a person of something once in this process: the engine shows it. */
export function tellOnce(text: string | undefined): void {
  if (!text || told.has(text)) return;
  told.add(text);
  console.error(text);
}

/** What is wrong with a setting, without its value: an API key is one too. */
class Complaint {
  constructor(readonly text: string) {}
}

/** Each setting: what people call it, and what is wrong with a value. */
const kinds = {
  baseUrl: { name: "base URL", check: checkBaseUrl },
  apiKey: { name: "API key", check: checkApiKey },
  apiVersion: { name: "API version", check: matching(/^\d+$/, "must be a number") },
  versionHeader: { name: "version header", check: matching(/^[\w-]+$/, "must be a header's name") },
  caFile: { name: "CA file", check: checkCaFile },
  timeoutSeconds: { name: "timeout", check: between(1, 86_400) },
  maxRetries: { name: "number of retries", check: between(0, 1000) },
  requestsPerMinute: { name: "number of requests per minute", check: between(0, 1_000_000) },
  movedFrom: { name: "old origin", check: checkOrigin },
};

type Key = keyof typeof kinds;
type Value<K extends Key> = Exclude<ReturnType<(typeof kinds)[K]["check"]>, Complaint>;
const keys = Object.keys(kinds) as Key[];

/** A URL or a path in brackets, without what may be secret in it; nothing of any other setting. */
function shown(key: Key, value: string): string {
  if (key === "caFile") return ` (${value})`;
  if (key !== "baseUrl" && key !== "movedFrom") return "";
  const bare = value.replace(/^([a-z]+:\/\/)?.*@/is, "$1").replace(/[?#].*/s, "");
  // An API key may stand there by mistake: no host name has capital letters or underscores.
  return /^[a-z]+:\/|^[a-z0-9.-]+[.:][a-z0-9/.-]+$/.test(bare) ? ` (${bare})` : "";
}

function checkBaseUrl(value: string): string | Complaint {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url?.host) return new Complaint("is not a URL");
  if (url.protocol !== "https:") return new Complaint("must start with https://");
  if (url.username || url.password || url.search || url.hash) {
    return new Complaint("must be no more than https://, a host and a path");
  }
  return value.replace(/\/+$/, "");
}

function checkOrigin(value: string): string | Complaint {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url?.host ? url.origin : new Complaint("is not a URL such as https://api.example.com");
}

function checkApiKey(value: string): string | Complaint {
  return /^[\x21-\x7e]+$/.test(value)
    ? value
    : new Complaint("has a space, a line break or a character that no key has");
}

function checkCaFile(value: string): string | Complaint {
  try {
    if (readFileSync(value, "utf8").includes("-----BEGIN CERTIFICATE-----")) return value;
  } catch (error) {
    return new Complaint(`can't be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return new Complaint("holds no PEM certificate");
}

function matching(pattern: RegExp, otherwise: string): (value: string) => string | Complaint {
  return (value) => (pattern.test(value) ? value : new Complaint(otherwise));
}

function between(least: number, most: number): (value: string) => number | Complaint {
  return (value) =>
    /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most
      ? Number(value)
      : new Complaint(`must be a whole number from ${least} to ${most}`);
}
