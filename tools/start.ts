import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { makeCertificate, startEmulator } from "pulumi-tlsedge-emulator";
import { findOrBuildPulumi } from "./pulumi.ts";

const usage = `npm start [-- COMMAND [FLAGS]]

Runs the quickstart (examples/quickstart) on the real Pulumi engine, against the embedded emulator.

  up        make it so (the default)
  preview   show what up would do
  refresh   look at what the service has
  destroy   take everything away

FLAGS go to Pulumi as they are: npm start -- up --diff`;

const commands = ["up", "preview", "refresh", "destroy"];
const stack = "quickstart";
// npm runs scripts in the package's folder.
const repository = process.cwd();
const kept = path.join(repository, ".tlsedge");
const program = path.join(repository, "examples", "quickstart");

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { help: { type: "boolean", short: "h" } },
    allowPositionals: true,
    strict: false,
  });
  const command = positionals[0] ?? "up";
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (!commands.includes(command)) {
    console.error(`there is no command "${command}"\n\n${usage}`);
    return 2;
  }
  const flags = process.argv.slice(2).filter((argument) => argument !== command);
  await mkdir(path.join(kept, "state"), { recursive: true });
  const cli = await findOrBuildPulumi();
  await makeCertificateOnce();
  const emulator = await startEmulator({ dataFile: path.join(kept, "emulator.sqlite") });
  try {
    const caFile = path.join(kept, "ca.pem");
    await writeFile(caFile, emulator.ca);
    const env = {
      ...cli.env,
      PULUMI_HOME: path.join(kept, "home"),
      PULUMI_BACKEND_URL: `file://${path.join(kept, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: process.env.PULUMI_CONFIG_PASSPHRASE ?? "quickstart",
      TLSEDGE_BASE_URL: emulator.url,
      TLSEDGE_API_KEY: emulator.apiKey,
      TLSEDGE_CA_FILE: caFile,
    };
    const pulumi = (...args: string[]) => run(cli.command, [...args, "--stack", stack], env);
    const init = await run(cli.command, ["stack", "select", "--create", stack], env);
    if (init !== 0) return init;
    const go = command === "preview" ? [] : ["--yes", "--skip-preview"];
    const code = await pulumi(command, ...go, ...flags);
    if (code === 0) console.log(next(command));
    return code;
  } finally {
    await emulator.close();
  }
}

/** Made once, so that a second run has nothing to change. */
async function makeCertificateOnce(): Promise<void> {
  const folder = path.join(program, "certificate");
  if (existsSync(path.join(folder, "chain.pem"))) return;
  const authority = await makeCertificate({ commonName: "Quickstart CA", isCa: true });
  const { certificatePem, privateKeyPem } = await makeCertificate({
    commonName: "app.example.com",
    dnsNames: ["app.example.com", "*.app.example.com"],
    organization: "Quickstart",
    issuer: authority,
  });
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "key.pem"), privateKeyPem, { mode: 0o600 });
  await writeFile(path.join(folder, "chain.pem"), certificatePem);
}

function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: program, env, stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

function next(command: string): string {
  if (command === "destroy") return "\nAll gone. `npm start` makes it anew.";
  if (command === "preview") return "\nThat was the plan: `npm start` carries it out.";
  return `
What to try next:
  npm start                  again: nothing to change
  edit ${path.relative(repository, path.join(program, "index.ts"))} and npm start: only what you changed is sent
  npm start -- preview --diff
  npm start -- refresh
  npm start -- destroy`;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
