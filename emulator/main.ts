#!/usr/bin/env node
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Emulator, type EmulatorOptions, makeCertificate, startEmulator } from "./server";

const usage = `Usage: pulumi-tlsedge-emulator [options]
       pulumi-tlsedge-emulator certificate DOMAIN… --out FOLDER [--days N]

Serves the API over HTTPS on loopback:

  --data FOLDER            keep data, port, API key and CA here (default: .tlsedge/emulator)
  --in-memory              keep nothing
  --write-env FILE         write TLSEDGE_BASE_URL, TLSEDGE_API_KEY and TLSEDGE_CA_FILE here, a line
                           each, as a shell, Node.js and Docker read them
  --port N                 serve on this port of loopback (default: the kept port if that is free,
                           else any free port)
  --ca-file FILE           write the CA here (default: ca.pem in the folder, or a temporary file)
  --api-key KEY            require this bearer key (default: the kept key, or a random key)
  --latency MS             delay every answer by this many milliseconds
  --requests-per-minute N  answer 429 above this limit (default: no limit; the service has 120)
  --json                   print one line of JSON: url, apiKey, caFile
  --help                   print this

Or creates a test certificate, signed by a new authority, in the files that ACME clients write:

  --out FOLDER             write fullchain.pem and privkey.pem here, and replace existing files
  --days N                 valid for this many days (default: 90)
`;

/** A mistake on the command line. */
class UsageError extends Error {}

interface Command {
  options: EmulatorOptions;
  caFile?: string;
  envFile?: string;
  json: boolean;
  help: boolean;
  /** Create a certificate instead of serving. */
  certificate?: { domains: string[]; folder: string; days: number };
}

function readCommand(args: string[]): Command {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      out: { type: "string" },
      days: { type: "string" },
      port: { type: "string" },
      data: { type: "string" },
      "in-memory": { type: "boolean", default: false },
      "write-env": { type: "string" },
      "ca-file": { type: "string" },
      "api-key": { type: "string" },
      latency: { type: "string" },
      "requests-per-minute": { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.data !== undefined && values["in-memory"]) {
    throw new UsageError("--data and --in-memory exclude each other");
  }
  const folder = resolve(values.data ?? join(".tlsedge", "emulator"));
  return {
    options: {
      port: whole("--port", values.port, 0, 65_535),
      dataFile: values["in-memory"] ? undefined : join(folder, "data.sqlite"),
      apiKey: values["api-key"],
      latencyMs: whole("--latency", values.latency, 0, 600_000),
      requestsPerMinute: whole("--requests-per-minute", values["requests-per-minute"], 1, 1e9),
    },
    caFile: values["ca-file"],
    envFile: values["write-env"],
    json: values.json,
    help: values.help,
    certificate:
      positionals.length > 0 && !values.help ? readCertificate(positionals, values) : undefined,
  };
}

function readCertificate(words: string[], { out, days }: { out?: string; days?: string }) {
  const [command, ...domains] = words;
  if (command !== "certificate") throw new UsageError(`unknown command ${command}`);
  if (domains.length === 0) throw new UsageError("name the domains that the certificate is for");
  if (out === undefined) throw new UsageError("name the folder of the certificate with --out");
  return { domains, folder: resolve(out), days: whole("--days", days, 1, 36_500) ?? 90 };
}

function whole(name: string, text: string | undefined, min: number, max: number) {
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${name} takes a whole number from ${min} to ${max}, not ${text}`);
}

/** Writes the CA to a file. `remove` deletes the file if it is a temporary one. */
function writeCA(ca: string, { caFile, options }: Command) {
  const named = caFile ?? (options.dataFile && join(dirname(options.dataFile), "ca.pem"));
  const file = resolve(named ?? join(mkdtempSync(join(tmpdir(), "tlsedge-")), "ca.pem"));
  // In the folder, a link with this name may lead to any file: replace it.
  if (!caFile) rmSync(file, { force: true });
  writeFileSync(file, ca);
  const remove = () => {
    if (!named) rmSync(dirname(file), { recursive: true });
  };
  return { file, remove };
}

function describe({ url, apiKey }: Emulator, caFile: string, json: boolean): string {
  if (json) return JSON.stringify({ url, apiKey, caFile });
  return `export TLSEDGE_BASE_URL=${quoted(url)}
export TLSEDGE_API_KEY=${quoted(apiKey)}
export TLSEDGE_CA_FILE=${quoted(caFile)}
# The emulator runs until Ctrl-C.`;
}

/** A word with quotes for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes the settings of a program. Only the owner of the file can read it. */
function writeEnv({ url, apiKey }: Emulator, caFile: string, file: string): void {
  const settings = [
    `TLSEDGE_BASE_URL=${url}`,
    `TLSEDGE_API_KEY=${apiKey}`,
    `TLSEDGE_CA_FILE=${quoted(caFile)}`,
  ];
  // An existing file would keep its rights.
  rmSync(file, { force: true });
  writeFileSync(file, `${settings.join("\n")}\n`, { mode: 0o600 });
}

async function run(command: Command): Promise<void> {
  const { dataFile } = command.options;
  if (dataFile) mkdirSync(dirname(dataFile), { recursive: true });
  const emulator = await startEmulator(command.options);
  try {
    const { file, remove } = writeCA(emulator.ca, command);
    const stop = () => {
      remove();
      emulator.close().catch(fail);
    };
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    if (command.envFile) writeEnv(emulator, file, command.envFile);
    // Printed last, because the reader may send a signal at once.
    console.log(describe(emulator, file, command.json));
  } catch (error) {
    await emulator.close();
    throw error;
  }
}

/** Creates root, intermediate and leaf, as public authorities do, and writes the chain and key. */
async function writeCertificate({ domains, folder, days }: Required<Command>["certificate"]) {
  const root = await makeCertificate({ commonName: "Trial Root CA", isCa: true });
  const issuer = await makeCertificate({ commonName: "Trial CA", isCa: true, issuer: root });
  const { certificatePem, privateKeyPem } = await makeCertificate({
    commonName: domains[0] as string,
    dnsNames: domains,
    issuer,
    notAfter: new Date(Date.now() + days * 86_400_000),
  });
  mkdirSync(folder, { recursive: true });
  // An existing file would keep its rights.
  for (const name of ["privkey.pem", "fullchain.pem"]) rmSync(join(folder, name), { force: true });
  writeFileSync(join(folder, "privkey.pem"), privateKeyPem, { mode: 0o600, flag: "wx" });
  writeFileSync(join(folder, "fullchain.pem"), certificatePem);
  console.log(
    `${join(folder, "fullchain.pem")} and privkey.pem: ${domains.join(", ")}, ${days} days`,
  );
}

function fail(error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  const isUsage = error instanceof UsageError || code?.startsWith("ERR_PARSE_ARGS_");
  const taken = "The port is in use: choose another with --port, or omit --port for a free one.";
  console.error(`pulumi-tlsedge-emulator: ${code === "EADDRINUSE" ? taken : message}`);
  if (isUsage) console.error(`\n${usage}`);
  process.exitCode = isUsage ? 2 : 1;
}

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  if (command.help) process.stdout.write(usage);
  else if (command.certificate) await writeCertificate(command.certificate);
  else await run(command);
}

main().catch(fail);
