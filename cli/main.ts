#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { fstatSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { Client } from "../client/client";
import { plain, plainJson } from "../client/plain";
import { defaultConnection, waysToSet } from "../client/settings";
import { connect } from "../provider/connection";
import { adoptionOf, adoptionText, filesOf, planOf, refuseTaken, writeFiles } from "./adopt";
import { checksOf, checkText } from "./check";
import { statusHtml } from "./html";
import type { Kind, Lists } from "./kind";
import { adoptableKinds, kinds } from "./kinds";
import { statusMarkdown } from "./markdown";
import { statusText } from "./report";
import { type Account, type Mark, marks, statusOf } from "./status";
import { type Display, inWords } from "./table";

const { version } = require("pulumi-tlsedge/package.json") as { version: string };

/** What a command reads from its process, and where it writes: `process` is one. */
export interface IO {
  env: Record<string, string | undefined>;
  stdout: Output;
  stderr: Output;
}

/** A stream to write to. The rest says what it leads to: a terminal or a file. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  hasColors?(env: object): boolean;
  fd?: number;
}

interface Options {
  connection: string;
  json?: boolean;
}

const formats = ["text", "json", "markdown", "html"] as const;

interface StatusOptions extends Options {
  failOn?: Mark[];
  failWithin?: number;
  format?: (typeof formats)[number];
}

/** Within how many days a certificate is `expiring`, unless `--fail-within` says it. */
const defaultDays = 14;

/** Gives the exit code, as `adopt` does. */
async function status(given: StatusOptions, io: IO): Promise<number> {
  const { failOn = [], ...options } = given;
  const format = options.format ?? (options.json ? "json" : "text");
  if (options.json && format !== "json") {
    throw new Error(`--json prints JSON, and --format ${format} does not: leave one of them out`);
  }
  const failWithin = options.failWithin ?? (failOn.includes("expiring") ? defaultDays : undefined);
  const account = await readAccount(kinds, { ...options, json: format === "json" }, io);
  const found = statusOf(account, new Date(), failWithin, failOn);
  if (format === "text") printReport(statusText(found, display(io)), io);
  else if (format === "json") print(plainJson(found, 2), io.stdout);
  else print(format === "html" ? statusHtml(found) : statusMarkdown(found), io.stdout);
  return found.failing.length > 0 ? 2 : 0;
}

interface AdoptOptions extends Options {
  out: string;
  filter?: string;
  plugin?: boolean;
}

async function adopt(given: AdoptOptions, io: IO): Promise<number> {
  const { out, filter, plugin: isPlugin = false, ...options } = given;
  refuseTaken(out, isPlugin);
  const { service, ...account } = await readAccount(adoptableKinds, options, io);
  // With the plugin, the stack's config has the settings of the account, and no resource names it.
  const plan = planOf(account, isPlugin ? defaultConnection : options.connection, filter);
  const isEmpty = adoptableKinds.every(({ key }) => plan[key].length === 0);
  const files = isEmpty ? [] : writeFiles(out, filesOf(plan, isPlugin));
  const adoption = adoptionOf(plan, service, files);
  if (options.json) print(plainJson(adoption, 2), io.stdout);
  else printReport(adoptionText(adoption, isPlugin, display(io)), io);
  if (isEmpty) throw new Error("there is nothing to adopt, so nothing is written");
  return 0;
}

async function check(options: Options, io: IO): Promise<number> {
  const checks = await checksOf(() => clientOf(options.connection, io.env), version, io.env);
  if (options.json) print(plainJson({ checks }, 2), io.stdout);
  else printReport(checkText(checks, display(io)), io);
  return checks.every(({ ok }) => ok) ? 0 : 1;
}

/** A person or a job waits for a command: it fails early when the service does not answer. */
function clientOf(connection: string, env: IO["env"]): Client {
  const retries = waysToSet(connection, "maxRetries").variable;
  return connect(connection, undefined, { ...env, [retries]: env[retries] ?? "2" });
}

/** Reads the lists of an account, and shows the progress to a person at a terminal. */
async function readAccount(
  all: Kind[],
  { connection, json }: Options,
  { env, stderr }: IO,
): Promise<Account> {
  const client = clientOf(connection, env);
  const show = (text: string) => {
    if (stderr.isTTY && !json) stderr.write(`\r\u001b[K${text}`);
  };
  const lists: Partial<Record<Kind["key"], unknown[]>> = {};
  try {
    for (const { key, noun, list } of all) {
      const found: unknown[] = [];
      show(`Reading ${noun}s…`);
      for await (const one of list(client)) {
        found.push(one);
        if (found.length % 100 === 0) show(`Reading ${noun}s… ${found.length}`);
      }
      lists[key] = found;
    }
  } finally {
    show("");
  }
  return { service: client.baseUrl.host, ...(lists as Lists) };
}

function display({ stdout, env }: IO): Display {
  // Columns would be too narrow below 60.
  const width = Math.max(60, stdout.columns || Number(env.COLUMNS) || 80);
  // Node.js obeys FORCE_COLOR too, but only for terminals.
  const { FORCE_COLOR: forced } = env;
  const isForced = forced !== "0" && forced !== "false";
  const colour = forced === undefined ? stdout.isTTY && stdout.hasColors?.(env) : isForced;
  return { width, colour: colour === true };
}

const print = (text: string, output: Output) => output.write(`${text}\n`);

/** Prints a report for people. In a log of GitHub Actions no line of it is a command. */
function printReport(report: string, { stdout, env }: IO): void {
  const isFile = stdout.fd !== undefined && fstatSync(stdout.fd).isFile();
  if (env.GITHUB_ACTIONS !== "true" || isFile) return void print(report, stdout);
  const token = randomUUID();
  print(`::stop-commands::${token}\n${report}\n::${token}::`, stdout);
}

const environment = `
Environment:
  TLSEDGE_BASE_URL     the URL of the service
  TLSEDGE_API_KEY      the API key
  TLSEDGE_CA_FILE      a PEM file of authorities to trust instead of those of Node.js
  NO_COLOR, FORCE_COLOR
`;

function days(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number of days, such as 14.");
}

function failures(text: string): Mark[] {
  const given = text.split(",").map((word) => marks.find((mark) => mark === word.trim()));
  if (given.every((mark) => mark !== undefined)) return given;
  throw new InvalidArgumentError(`Give one or more of ${marks.join(",")}.`);
}

const headings = (some: Kind[]) => inWords(some.map(({ heading }) => heading));

/**
 * Runs a command line, and gives the exit code. A command that fails prints one line.
 *
 * @param argv What stands after `pulumi-tlsedge`.
 */
export async function main(argv: string[], io: IO): Promise<number> {
  let code = 0;
  const program = new Command("pulumi-tlsedge")
    .description("Shows what an account of the service holds, or writes a program that adopts it.")
    .version(version)
    .showHelpAfterError("Add --help to list the commands and options.")
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
    })
    .exitOverride();

  /** A command that reads an account. */
  const command = <O extends Options>(
    name: string,
    description: string,
    work: (options: O, io: IO) => Promise<number>,
  ) =>
    program
      .command(name)
      .description(description)
      .option(
        "--connection <name>",
        "the config namespace of the account: tlsedge-staging reads TLSEDGE_STAGING_API_KEY",
        defaultConnection,
      )
      .option("--json", "print one JSON object instead of text")
      .action(async (options: O) => {
        code = await work(options, io);
      });

  command("status", `show what an account holds: ${headings(kinds)}`, status)
    .option("--fail-on <list>", "exit with 2 for any of weak,open,expiring", failures)
    .option("--fail-within <days>", "exit with 2 if a certificate has fewer days left", days)
    .addOption(
      new Option("--format <format>", "what to print; --json is --format json").choices(formats),
    )
    .addHelpText(
      "after",
      `${environment}
With --fail-on: an edge is weak if it accepts TLS versions below 1.2, and open if neither
ipRestriction nor mutualTls is enabled; a certificate is expiring if it has fewer days left than
--fail-within, or ${defaultDays}, or no known expiry date. --fail-within alone is --fail-on expiring.

Exit codes: 0, 1 for an error, 2 for what --fail-on and --fail-within say.`,
    );

  command(
    "check",
    "look whether settings, service, key, clock and versions are right",
    check,
  ).addHelpText(
    "after",
    `
It makes two requests, and changes nothing.
${environment}
Exit codes: 0 when all is right, else 1.`,
  );

  command("adopt", "write a program that adopts what an account holds", adopt)
    .option("--out <dir>", "the folder to write into: that of a Pulumi project", ".")
    .option("--filter <text>", "only objects with the text in a hostport, name, description or id")
    .option("--plugin", "write only a file for `pulumi import`, for programs in any language")
    .addHelpText(
      "after",
      `
The command reads ${headings(adoptableKinds)}, and changes nothing at the service. It writes
adopted.json and adoption.ts, which index.ts imports: the next \`pulumi up\` adopts what they name. With
--plugin it writes import.json, which \`pulumi import --file\` reads.
${environment}
Exit codes: 0, 1 for an error or when there is nothing to adopt.`,
    );

  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    print(`error: ${plain(error instanceof Error ? error.message : String(error))}`, io.stderr);
    return 1;
  }
}

if (require.main === module) {
  // A reader such as head may close the pipe before it has read everything: that is no error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  void main(process.argv.slice(2), process).then((code) => {
    process.exitCode = code;
  });
}
