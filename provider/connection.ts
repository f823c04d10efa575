import { readFileSync } from "node:fs";
import type { Client, ClientOptions } from "../client/client";
import { waysToSet } from "../client/settings";
import { sendForEngine } from "./engine";

/** Something is missing or malformed in the configuration; says how to set it. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** Reads one value of stack config by its full key, such as `tlsedge:baseUrl`. */
export type ConfigReader = (key: string) => string | undefined;

const clients = new Map<string, Client>();

/**
 * The client of a connection: one for each account in a process, so that its limit holds for all.
 *
 * A connection is a config namespace; `tlsedge-staging` reads `tlsedge-staging:apiKey` and
 * `TLSEDGE_STAGING_API_KEY`, and the environment wins.
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
  const client = new Client({ ...settings, connection, tell: console.error, send: sendForEngine });
  clients.set(account, client);
  return client;
}

/** The settings of a connection, checked, without connecting. */
export function readSettings(
  connection: string,
  config: ConfigReader | undefined,
  env: NodeJS.ProcessEnv,
): ClientOptions {
  if (!/^[a-z][a-z0-9-]*$/.test(connection)) {
    throw new ConfigurationError(
      "a connection is the name of a config namespace: lower-case letters, digits and hyphens",
    );
  }
  const problems: string[] = [];
  const read = <T>(key: string, check: (value: string) => T | Complaint): T | undefined => {
    const ways = waysToSet(connection, key);
    const toDo = config ? ways.text : `set ${ways.variable} in the environment`;
    const value = env[ways.variable] || config?.(ways.configKey);
    if (!value) {
      if (key !== "baseUrl" && key !== "apiKey") return undefined;
      problems.push(`no ${names[key]} is set: ${toDo}`);
      return undefined;
    }
    const checked = check(value);
    if (!(checked instanceof Complaint)) return checked;
    problems.push(`the ${names[key]} ${checked.text}: ${toDo}`);
    return undefined;
  };
  const settings = {
    baseUrl: read("baseUrl", checkBaseUrl) ?? "",
    apiKey: read("apiKey", checkApiKey) ?? "",
    apiVersion: read("apiVersion", matching(/^\d+$/, "must be a number")),
    versionHeader: read("versionHeader", matching(/^[\w-]+$/, "must be a header's name")),
    caFile: read("caFile", checkCaFile),
    timeoutSeconds: read("timeoutSeconds", between(1, 86_400)),
    maxRetries: read("maxRetries", between(0, 1000)),
    requestsPerMinute: read("requestsPerMinute", between(0, 1_000_000)),
  };
  if (problems.length > 0) throw new ConfigurationError(problems.join("; "));
  return settings;
}

const names: Record<string, string> = {
  baseUrl: "base URL",
  apiKey: "API key",
  apiVersion: "API version",
  versionHeader: "version header",
  caFile: "CA file",
  timeoutSeconds: "timeout",
  maxRetries: "number of retries",
  requestsPerMinute: "number of requests per minute",
};

/** What is wrong with a setting, without its value: an API key is one too. */
class Complaint {
  constructor(readonly text: string) {}
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

function checkApiKey(value: string): string | Complaint {
  return /^[\x21-\x7e]+$/.test(value)
    ? value
    : new Complaint("has a space, a line break or a character that no key has");
}

function checkCaFile(value: string): string | Complaint {
  try {
    if (readFileSync(value, "utf8").includes("-----BEGIN CERTIFICATE-----")) return value;
  } catch (error) {
    return new Complaint(`${value} can't be read (${(error as NodeJS.ErrnoException).code})`);
  }
  return new Complaint(`${value} holds no PEM certificate`);
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
