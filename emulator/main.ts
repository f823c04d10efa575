#!/usr/bin/env node
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeCertificate, startEmulator } from "./server";

const usageOf = (self: string) => `Usage: ${self} [--data FOLDER] [--port N] [--write-env FILE]
       ${self} certificate DOMAIN… --out FOLDER [--days N]

Serves the API over HTTPS on loopback:

  --data FOLDER     keep data, port, API key and CA here (default: .tlsedge/emulator)
  --port N          serve on this port (default: the kept port if that is free, else any free port)
  --write-env FILE  write TLSEDGE_BASE_URL, TLSEDGE_API_KEY and TLSEDGE_CA_FILE here, a line each,
                    as Node.js and Docker read them, and a shell after \`set -a\`

Or creates a test certificate, signed by a new authority, in the files that ACME clients write:

  --out FOLDER      write fullchain.pem and privkey.pem here, and replace existing files
  --days N          valid for this many days (default: 90); with 0 it has expired
`;

/** A mistake on the command line. */
class UsageError extends Error {}

async function main(args: string[], usage: string): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ data: text, port: text, "write-env": text, out: text, days: text },
      help: { type: "boolean" },
    },
  });
  const [command, ...domains] = positionals;
  if (values.help) return void process.stdout.write(usage);
  if (command === undefined) {
    const port = whole("--port", values.port, 0, 65_535);
    return serve(resolve(values.data ?? ".tlsedge/emulator"), port, values["write-env"]);
  }
  if (command !== "certificate") throw new UsageError(`unknown command ${command}`);
  if (domains.length === 0) throw new UsageError("name the domains that the certificate is for");
  if (!values.out) throw new UsageError("name the folder of the certificate with --out");
  const days = whole("--days", values.days, 0, 36_500) ?? 90;
  return writeCertificate(domains, resolve(values.out), days);
}

function whole(name: string, text: string | undefined, min: number, max: number) {
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${name} takes a whole number from ${min} to ${max}, not ${text}`);
}

async function serve(folder: string, port?: number, envFile?: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const emulator = await startEmulator({ port, dataFile: join(folder, "data.jsonl") });
  try {
    const caFile = join(folder, "ca.pem");
    replace(caFile, emulator.ca);
    const settings = [
      `TLSEDGE_BASE_URL=${emulator.url}`,
      `TLSEDGE_API_KEY=${emulator.apiKey}`,
      `TLSEDGE_CA_FILE=${quoted(caFile)}`,
    ];
    if (envFile) replace(envFile, `${settings.join("\n")}\n`, 0o600);
    const stopped = new Promise((stop) => {
      process.once("SIGINT", stop);
      process.once("SIGTERM", stop);
    });
    // Printed last, because the reader may send a signal at once.
    for (const setting of settings) console.log(`export ${setting}`);
    console.log("# The emulator runs until Ctrl-C.");
    await stopped;
  } finally {
    await emulator.close();
  }
}

/** A word with quotes for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes a new file: an existing one would keep its rights, and a link may lead to any file. */
function replace(file: string, text: string, mode?: number): void {
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode, flag: "wx" });
}

/** Creates root, intermediate and leaf, as public authorities do, and writes the chain and key. */
async function writeCertificate(domains: string[], folder: string, days: number): Promise<void> {
  const root = await makeCertificate({ commonName: "Trial Root CA", isCa: true });
  const issuer = await makeCertificate({ commonName: "Trial CA", isCa: true, issuer: root });
  const { certificatePem, privateKeyPem } = await makeCertificate({
    commonName: domains[0] as string,
    dnsNames: domains,
    issuer,
    notAfter: new Date(Date.now() + days * 86_400_000),
  });
  mkdirSync(folder, { recursive: true });
  const chainFile = join(folder, "fullchain.pem");
  replace(join(folder, "privkey.pem"), privateKeyPem, 0o600);
  replace(chainFile, certificatePem);
  console.log(`${chainFile} and privkey.pem: ${domains.join(", ")}, ${days} days`);
}

const unwritable = "Choose a place that you may write with --data, --write-env, --out or --port.";

/** What to do about an error of the system, by its code. */
const advice: Record<string, string> = {
  EADDRINUSE: "Choose another port with --port, or omit --port for a free one.",
  EACCES: unwritable,
  EROFS: unwritable,
};

/** Runs a command line. `self` is what a person writes before it. */
export function start(self: string, args: string[]): void {
  const usage = usageOf(self);
  main(args, usage).catch((error: NodeJS.ErrnoException) => {
    const isUsage = error instanceof UsageError || error.code?.startsWith("ERR_PARSE_ARGS_");
    const todo = advice[error.code ?? ""];
    console.error(`${self}: ${error.message}${todo ? `. ${todo}` : ""}`);
    if (isUsage) console.error(`\n${usage}`);
    process.exitCode = isUsage ? 2 : 1;
  });
}

if (require.main === module) start("pulumi-tlsedge-emulator", process.argv.slice(2));
