#!/usr/bin/env node
import { Command, InvalidArgumentError } from "commander";
import { ConnectionError, ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { tunnels } from "../client/tunnel";
import { connect, defaultConnection, waysToSet } from "../provider/connection";
import { type Account, statusOf, statusText } from "./status";
import { plain } from "./table";

interface StatusOptions {
  connection: string;
  failWithin?: number;
  json?: boolean;
}

async function printStatus({ connection, failWithin, json }: StatusOptions): Promise<void> {
  const account = await readAccount(connection, process.stderr.isTTY && !json);
  const status = statusOf(account, new Date(), failWithin);
  const text = json
    ? inert(JSON.stringify(status, null, 2))
    : statusText(status, { width: terminalWidth(), colour: wantsColour() });
  process.stdout.write(`${text}\n`);
  if (status.failing.length > 0) process.exitCode = 2;
}

/** The same JSON without what JSON allows and a terminal may obey: others wrote the strings. */
function inert(json: string): string {
  const escaped = (character: string) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(/[\u007f-\u009f\u2028\u2029]/g, escaped);
}

async function readAccount(connection: string, tell: boolean): Promise<Account> {
  // A person waits, or a job: a service that is not there is told of soon.
  process.env[waysToSet(connection, "maxRetries").variable] ??= "2";
  const client = connect(connection);
  const show = (text: string) => {
    if (tell) process.stderr.write(`\r\u001b[K${text}`);
  };
  const all = async <T>(title: string, items: AsyncIterable<T>): Promise<T[]> => {
    const found: T[] = [];
    show(`Reading ${title}…`);
    for await (const item of items) {
      found.push(item);
      if (found.length % 100 === 0) show(`Reading ${title}… ${found.length}`);
    }
    return found;
  };
  try {
    return {
      edges: await all("edges", tlsEdges.list(client)),
      certificates: await all("certificates", tlsCertificates.list(client)),
      tunnels: await all("tunnels", tunnels.list(client)),
    };
  } finally {
    show("");
  }
}

/** Of the terminal, else as the shell says; columns would be too narrow below 60. */
function terminalWidth(): number {
  return Math.max(60, process.stdout.columns || Number(process.env.COLUMNS) || 80);
}

/** As Node.js itself decides, which it does only for terminals. */
function wantsColour(): boolean {
  const { FORCE_COLOR: forced } = process.env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return process.stdout.isTTY && process.stdout.hasColors();
}

function days(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number of days, such as 14.");
}

/** What went wrong and what to do, on one line. */
function explain(error: unknown, connection: string): string {
  const variable = (key: string) => waysToSet(connection, key).variable;
  if (error instanceof ServiceError) return explainRefusal(error, variable);
  if (error instanceof ConnectionError) return explainSilence(error, variable);
  return error instanceof Error ? error.message : String(error);
}

/*
 * The client's own messages end in advice for Pulumi programs, of the connection that most have.
 * Where there is such advice, the two functions below say it anew.
 */

function explainRefusal(error: ServiceError, variable: (key: string) => string): string {
  const { status, code, operationId, message } = error;
  const details = [status, code, operationId].filter(Boolean).join(", ");
  if (status === 401 || status === 403) {
    return `the service refused the API key (${details}): check ${variable("apiKey")}`;
  }
  if (status === 429) {
    return (
      `the account's request limit is used up (${details}): wait a minute, or lower ` +
      variable("requestsPerMinute")
    );
  }
  if (status === 404) return `${message}. Check the base URL and its path: ${variable("baseUrl")}`;
  if (status >= 300 && status < 400) return `${message}: ${variable("baseUrl")}`;
  return message;
}

const unreachable = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"];

function explainSilence(error: ConnectionError, variable: (key: string) => string): string {
  const { code, method, path, attempts, message } = error;
  const asked = `${method} ${path}${attempts > 1 ? ` after ${attempts} tries` : ""}`;
  if (code === "EBADANSWER") return `${message}. Check the base URL: ${variable("baseUrl")}`;
  if (code === "ETIMEDOUT") {
    return `no answer in time to ${asked} (${code}): ${variable("timeoutSeconds")} sets how long`;
  }
  if (unreachable.includes(code)) {
    return (
      `the service can't be reached for ${asked} (${code}): check the network and the base URL, ` +
      variable("baseUrl")
    );
  }
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) {
    return (
      `the service's certificate is not trusted (${code}): if a private authority signs for the ` +
      `service, name its PEM file, ${variable("caFile")}`
    );
  }
  return message;
}

const program = new Command("pulumi-tlsedge")
  .description("A look at an account of the service, outside Pulumi.")
  .version((require("pulumi-tlsedge/package.json") as { version: string }).version)
  .showHelpAfterError("Add --help to see what can be said.");

program
  .command("status")
  .description("show what an account holds: edges, certificates and tunnels online")
  .option(
    "--connection <name>",
    "the account: tlsedge-staging reads TLSEDGE_STAGING_API_KEY",
    defaultConnection,
  )
  .option(
    "--fail-within <days>",
    "exit with 2 when a certificate expires within so many days",
    days,
  )
  .option("--json", "print one JSON object")
  .addHelpText(
    "after",
    `
Environment:
  TLSEDGE_BASE_URL     where the service is
  TLSEDGE_API_KEY      the API key
  TLSEDGE_CA_FILE      a PEM file of authorities to trust instead of Node's own
  NO_COLOR, FORCE_COLOR

Exit codes: 0, 1 for an error, 2 when a certificate expires within --fail-within.`,
  )
  .action((options: StatusOptions) =>
    printStatus(options).catch((error: unknown) => {
      console.error(`error: ${plain(explain(error, options.connection))}`);
      process.exitCode = 1;
    }),
  );

// A reader that has seen enough, such as head, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

program.parse();
