#!/usr/bin/env node
import "../client/checkNode";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { plain, plainJson } from "../client/plain";
import { Configuration, ConfigurationError, connect } from "../provider/run/connection";
import { defaultConnection } from "../provider/values/setting";
import { readAccount } from "./account";
import { type Adoption, adoptionText, filesOf, kinds, planOf, writeFiles } from "./adopt";
import { checksOf, checkText } from "./check";
import { statusHtml } from "./html";
import { statusMarkdown } from "./markdown";
import { type Deployment, findCreates, managedIn } from "./pendingCreates";
import { failuresText, statusText } from "./report";
import { readConfiguration, readStack } from "./stack";
import { type Flag, flags, statusOf } from "./status";
import type { Display } from "./table";

const { version } = require("pulumi-tlsedge/package.json") as { version: string };

/** What a command reads from its process, and where it writes: `process` is one. */
export interface IO {
  env: Record<string, string | undefined>;
  stdout: Output;
  stderr: Output;
}

/** A stream to write to. The rest says whether it is a terminal. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  hasColors?(env: object): boolean;
}

interface Options {
  connection: string;
  format: "text" | "json" | "markdown" | "html";
  stack?: string;
  // Of `status`.
  failOn?: Flag[];
  failWithin?: number;
  // Of `adopt`.
  filter?: string;
  pendingCreates?: boolean;
  plugin?: boolean;
}

/** Runs the command, and gives its exit code, as the others do. */
async function status(options: Options, io: IO): Promise<number> {
  const { client } = clientOf(options, io);
  const account = await readAccount(client, ["edges", "certificates", "tunnels"], io.stderr);
  const found = statusOf(account, new Date(), options.failWithin, options.failOn);
  const reports = {
    text: () => statusText(found, display(io)),
    json: () => plainJson(found, 2),
    markdown: () => statusMarkdown(found),
    html: () => statusHtml(found),
  };
  print(reports[options.format](), io.stdout);
  if (found.failing.length === 0) return account.isPartial ? 1 : 0;
  print(failuresText(found), io.stderr);
  return 2;
}

async function adopt(options: Options, io: IO): Promise<number> {
  const { connection, stack, filter, plugin: isPlugin = false, format } = options;
  if (options.pendingCreates && stack === undefined)
    throw new Error("--pending-creates needs the stack that was updated: add --stack NAME");
  const { client } = clientOf(options, io);
  const account = await readAccount(client, [...kinds], io.stderr);
  // The state is read last: it has what another update of the stack has created in between.
  const state: { deployment?: Deployment | null } =
    stack === undefined ? {} : readStack(stack, ["stack", "export"], io.env);
  const deployment = state.deployment ?? {};
  const found = options.pendingCreates && findCreates(deployment, account, connection);
  // With the plugin, the stack's config has the settings of the account, and no resource names it.
  const namespace = isPlugin ? defaultConnection : connection;
  const plan = found ? found.plan : planOf(account, namespace, filter, managedIn(deployment));
  const isEmpty = plan.edges.length + plan.certificates.length === 0;
  const files = isEmpty ? [] : writeFiles(found ? found.files : filesOf(plan, isPlugin));
  const stackOfCreates = found ? stack : undefined;
  const adoption: Adoption = { service: account.service, stack: stackOfCreates, ...plan, files };
  const isJson = format === "json";
  print(isJson ? plainJson(adoption, 2) : adoptionText(adoption, isPlugin, display(io)), io.stdout);
  if (isEmpty) throw new Error("there is nothing to adopt, so nothing is written");
  return 0;
}

async function check(options: Options, io: IO): Promise<number> {
  const checks = await checksOf(() => clientOf(options, io), version, io.env);
  const isJson = options.format === "json";
  print(isJson ? plainJson({ checks }, 2) : checkText(checks, display(io)), io.stdout);
  return checks.every(({ ok }) => ok) ? 0 : 1;
}

/** The client of an account, which says what it waits for and retries little, and the sources of its settings. */
function clientOf({ connection, stack }: Options, { env, stderr }: IO) {
  const configuration =
    stack === undefined
      ? new Configuration(connection, undefined, env)
      : readConfiguration(stack, connection, env);
  try {
    const show = (_: string, text?: string) => void (text && stderr.write(`${text}\n`));
    const client = connect(configuration, { show, maxRetries: 2 });
    return { client, sources: configuration.sources };
  } catch (error) {
    if (stack !== undefined || !(error instanceof ConfigurationError)) throw error;
    throw new Error(`${error.message}. If a stack's config has the settings, add --stack NAME`);
  }
}

function display({ stdout, env }: IO): Display {
  // Columns would be too narrow below 60.
  const width = Math.max(60, stdout.columns || Number(env.COLUMNS) || 80);
  const { FORCE_COLOR: forced } = env;
  // Node.js obeys FORCE_COLOR too, but only for terminals.
  const colour = forced ? !/^(0|false)$/.test(forced) : stdout.isTTY && stdout.hasColors?.(env);
  return { width, colour: colour === true };
}

const print = (text: string, output: Output) => output.write(`${text}\n`);

function days(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number of days, such as 14.");
}

function failures(text: string): Flag[] {
  const words = text.split(",").map((word) => word.trim());
  const chosen = flags.filter((flag) => words.includes(flag));
  if (chosen.length === new Set(words).size) return chosen;
  throw new InvalidArgumentError(`Give any of ${flags.join(",")}. For expiry, give --fail-within.`);
}

/**
 * Runs a command line, and gives the exit code. A command that fails prints one line.
 *
 * @param argv What stands after the command.
 * @param isPlugin Whether the command is that of the plugin, not of the Node.js package.
 */
export async function main(argv: string[], io: IO, isPlugin = false): Promise<number> {
  // With flags, npx needs the `--`, else it takes them for its own.
  const self = isPlugin ? "pulumi-resource-tlsedge" : "npx --no -- pulumi-tlsedge";
  let code = 0;
  const program = new Command(self)
    .description(
      "Shows what an account of the service holds, checks the settings, or writes a program that adopts it.",
    )
    .version(version)
    .showHelpAfterError(`\`${self} --help\` lists the commands and options.`)
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
    .addHelpText(
      "afterAll",
      `
Environment:
  TLSEDGE_BASE_URL     the URL of the service
  TLSEDGE_API_KEY      the API key
  TLSEDGE_CA_FILE      a PEM file of authorities to trust instead of those of Node.js
  NO_COLOR, FORCE_COLOR`,
    )
    .exitOverride();

  const command = (
    name: string,
    description: string,
    help: string,
    work: typeof status,
    formats: Options["format"][] = ["text", "json"],
  ) =>
    program
      .command(name)
      .description(description)
      .showHelpAfterError(`\`${self} ${name} --help\` lists its options.`)
      .option(
        "--connection <name>",
        "the config namespace of the account: tlsedge-staging reads TLSEDGE_STAGING_API_KEY",
        defaultConnection,
      )
      .option("--stack <name>", "read the settings from the config of a stack, with the Pulumi CLI")
      .addOption(new Option("--format <format>", "what to print").choices(formats).default("text"))
      .addHelpText("after", `\n${help}`)
      .action(async (options: Options) => {
        code = await work(options, io);
      });

  command(
    "status",
    "show what an account holds: edges, certificates and tunnels online",
    `An edge is weak if it accepts TLS versions below 1.2, and open if neither ipRestriction nor
mutualTls is enabled. Equal certificates, and equal edges without hostports, are twins.
--fail-within also counts a certificate with no known expiry date.

Exit codes: 0, 1 for an error or an object that can't be used, 2 for what --fail-on and
--fail-within say.`,
    status,
    ["text", "json", "markdown", "html"],
  )
    .option("--fail-on <list>", "exit with 2 for any of weak,open,twins", failures)
    .option("--fail-within <days>", "exit with 2 if a certificate has fewer days left", days);

  command(
    "check",
    "look whether settings, service, key, clock and versions are right",
    `It says where each setting comes from. It makes one request, and changes nothing.

Exit codes: 0 when all is right, else 1.`,
    check,
  );

  const imports = "import.json, which `pulumi import --file` reads";
  command(
    "adopt",
    isPlugin ? `write ${imports}` : "write a program that adopts what an account holds",
    `The command reads edges and certificates, and changes nothing at the service. It writes, into the
current folder, ${
      isPlugin
        ? imports
        : `adopted.json and adoption.ts, which index.ts imports: the next \`pulumi up\` adopts what they name. With
--plugin it writes ${imports}`
    }.

With --stack, it leaves out what the stack has.

Exit codes: 0, 1 for an error or when there is nothing to adopt.`,
    adopt,
  )
    .option(
      "--filter <text>",
      "only objects with the text in a hostport, name, description, metadata or id",
    )
    .addOption(
      new Option("--pending-creates", "what a killed update of the --stack has left").conflicts([
        "filter",
        "plugin",
      ]),
    )
    .addOption(
      new Option("--plugin", "write only a file for `pulumi import`, for programs in any language")
        .default(isPlugin || undefined)
        .hideHelp(isPlugin),
    );

  // plugin/commands.ts starts it: only its help comes here.
  if (isPlugin)
    program
      .command("emulator")
      .description("serve the API on this machine, to try without an account: `emulator --help`");

  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    print(`error: ${plain((error as Error).message)}`, io.stderr);
    return 1;
  }
}

/** Runs the command line of this process. */
export function start(isPlugin = false): void {
  // A reader such as head may close the pipe before it has read everything: that is no error.
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") return;
    print(`error: the output can't be written: ${message}`, process.stderr);
    process.exit(1);
  });
  void main(process.argv.slice(2), process, isPlugin).then((code) => {
    process.exitCode = code;
  });
}

if (require.main === module) start();
