#!/usr/bin/env node
import { basename, resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { Client } from "../client/client";
import { defaultConnection, waysToSet } from "../client/settings";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { tunnels } from "../client/tunnel";
import { connect } from "../provider/connection";
import { adoptionOf, adoptionText, planOf } from "./adopt";
import { refuseTaken, writeFolder } from "./folder";
import { type Frame, projectOf } from "./program";
import { statusOf, statusText } from "./status";
import { inert, plain } from "./table";

interface StatusOptions {
  connection: string;
  failWithin?: number;
  json?: boolean;
}

async function printStatus({ connection, failWithin, json }: StatusOptions): Promise<void> {
  const account = await readAccount(connection, isWatched(json), async (all, client) => ({
    edges: await all("edges", tlsEdges.list(client)),
    certificates: await all("certificates", tlsCertificates.list(client)),
    tunnels: await all("tunnels", tunnels.list(client)),
  }));
  const status = statusOf(account, new Date(), failWithin);
  const text = json ? inert(status, 2) : statusText(status, display());
  process.stdout.write(`${text}\n`);
  if (status.failing.length > 0) process.exitCode = 2;
}

/** Reads lists of an account, and tells of it on a terminal; says which service it has read. */
async function readAccount<T>(
  connection: string,
  tell: boolean,
  read: (all: All, client: Client) => Promise<T>,
): Promise<T & { service: string }> {
  // A person waits, or a job: a service that is not there is told of soon.
  process.env[waysToSet(connection, "maxRetries").variable] ??= "2";
  const client = connect(connection);
  const show = (text: string) => {
    if (tell) process.stderr.write(`\r\u001b[K${text}`);
  };
  const all: All = async (title, items) => {
    const found = [];
    show(`Reading ${title}…`);
    for await (const item of items) {
      found.push(item);
      if (found.length % 100 === 0) show(`Reading ${title}… ${found.length}`);
    }
    return found;
  };
  try {
    return { service: client.baseUrl.host, ...(await read(all, client)) };
  } finally {
    show("");
  }
}

/** Reads a list to its end. */
type All = <T>(title: string, items: AsyncIterable<T>) => Promise<T[]>;

interface AdoptOptions {
  connection: string;
  out: string;
  filter?: string;
  json?: boolean;
}

async function adopt({ connection, out, filter, json }: AdoptOptions): Promise<void> {
  refuseTaken(out);
  const holdings = await readAccount(connection, isWatched(json), async (all, client) => ({
    edges: await all("edges", tlsEdges.list(client)),
    certificates: await all("certificates", tlsCertificates.list(client)),
  }));
  const plan = planOf(holdings, { connection, filter });
  const isEmpty = plan.edges.length + plan.certificates.length === 0;
  const files = isEmpty ? new Map<string, string>() : projectOf(plan, frameOf(out, connection));
  if (!isEmpty) writeFolder(out, files);
  const adoption = adoptionOf(plan, { service: holdings.service, out, filter, files });
  const text = json ? inert(adoption, 2) : adoptionText(adoption, display());
  process.stdout.write(`${text}\n`);
  if (isEmpty) throw new Error(`there is nothing to adopt, so ${out} is not written`);
}

/** What the project of a folder is called and depends on. */
function frameOf(out: string, connection: string): Frame {
  const name = basename(resolve(out)).replace(/[^A-Za-z0-9._-]+/g, "-");
  const { version, peerDependencies } = manifest();
  return {
    project: name.slice(0, 100).replace(/^[._-]+|[.-]+$/g, "") || "adopted",
    connection,
    packages: {
      dependencies: { ...peerDependencies, "pulumi-tlsedge": `^${version}` },
      // The one inside Pulumi is too old for the types of this package.
      devDependencies: { "@types/node": "^22.0.0", typescript: "^5.0.0" },
    },
  };
}

interface Manifest {
  version: string;
  peerDependencies: Record<string, string>;
}

const manifest = () => require("pulumi-tlsedge/package.json") as Manifest;

/** Whether a person sees the progress. */
const isWatched = (json?: boolean) => process.stderr.isTTY && !json;

const display = () => ({ width: terminalWidth(), colour: wantsColour() });

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

const program = new Command("pulumi-tlsedge")
  .description("A look at an account of the service, and a Pulumi project that adopts it.")
  .version(manifest().version)
  .showHelpAfterError("Add --help to list the commands and options.");

const environment = `
Environment:
  TLSEDGE_BASE_URL     where the service is
  TLSEDGE_API_KEY      the API key
  TLSEDGE_CA_FILE      a PEM file of authorities to trust instead of Node's own
  NO_COLOR, FORCE_COLOR
`;

/** A command that reads an account; its failure is one line. */
function command(name: string, description: string) {
  return program
    .command(name)
    .description(description)
    .option(
      "--connection <name>",
      "the account: tlsedge-staging reads TLSEDGE_STAGING_API_KEY",
      defaultConnection,
    )
    .option("--json", "print one JSON object");
}

const action =
  <Options extends { connection: string }>(work: (options: Options) => Promise<void>) =>
  (options: Options) =>
    work(options).catch((error: unknown) => {
      console.error(`error: ${plain(error instanceof Error ? error.message : String(error))}`);
      process.exitCode = 1;
    });

command("status", "show what an account holds: edges, certificates and tunnels online")
  .option(
    "--fail-within <days>",
    "exit with 2 when a certificate expires within so many days",
    days,
  )
  .addHelpText(
    "after",
    `${environment}
Exit codes: 0, 1 for an error, 2 when a certificate expires within --fail-within.`,
  )
  .action(action(printStatus));

command("adopt", "write a Pulumi project that adopts what an account holds")
  .requiredOption("--out <dir>", "the folder to write: new or empty")
  .option(
    "--filter <text>",
    "only what has the text in a hostport, a name, the description or the id",
  )
  .addHelpText(
    "after",
    `
Edges and certificates are read, and nothing is changed. Then, in the folder: npm install,
pulumi stack init, pulumi up. Its README.md says more.
${environment}
Exit codes: 0, 1 for an error or when there is nothing to adopt.`,
  )
  .action(action(adopt));

// A reader that has seen enough, such as head, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

program.parse();
