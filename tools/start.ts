import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { runTool, UsageError } from "./command";
import { environment, repository } from "./folders";
import { findOrBuildPulumi } from "./pulumi";

const usage = `npm start [-- COMMAND [FLAGS]]

Runs the quickstart (examples/quickstart) on the real Pulumi engine, against the emulator.

  up        creates and updates the resources (the default)
  preview   shows what up would do
  refresh   reads the resources from the service
  destroy   deletes the resources

Pulumi gets all FLAGS: npm start -- up --diff`;

const unattended = ["--yes", "--skip-preview"];
/** The commands, each with its flags. */
const commands = {
  up: unattended,
  preview: [],
  refresh: unattended,
  // Without --remove, Pulumi suggests `pulumi stack rm`, which needs the environment of this command.
  destroy: [...unattended, "--remove"],
};
type Command = keyof typeof commands;
const stack = "quickstart";
/** Kept between runs: state, home and the emulator's data. */
const kept = path.join(repository, ".tlsedge");
const program = path.join(repository, "examples", "quickstart");

async function main(): Promise<number> {
  const { positionals } = parseArgs({ allowPositionals: true, strict: false });
  const command = positionals[0] ?? "up";
  if (!Object.hasOwn(commands, command)) throw new UsageError(`there is no command "${command}"`);
  const flags = process.argv.slice(2).filter((argument) => argument !== command);
  await mkdir(kept, { recursive: true });
  const cli = await findOrBuildPulumi();
  await makeCertificateOnce();
  const emulator = await startEmulator({ dataFile: path.join(kept, "emulator.jsonl") });
  console.log(`Emulator at ${emulator.url}, no account needed. Its data and Pulumi's state are in
${path.relative(process.cwd(), kept)}. Pulumi CLI ${cli.version} from ${cli.origin === "PATH" ? "PATH" : "the cache"}. Node.js ${process.version}.\n`);
  try {
    const env = {
      ...cli.env,
      ...(await environment(kept, emulator)),
      PULUMI_CONFIG_PASSPHRASE: process.env.PULUMI_CONFIG_PASSPHRASE ?? "quickstart",
    };
    const select = await run(cli.command, ["stack", "select", "--create", stack], env);
    if (select !== 0) return select;
    emulator.requests.length = 0;
    const args = [command, ...commands[command as Command], ...flags, "--stack", stack];
    const code = await run(cli.command, args, env);
    console.log(`\nRequests to the service: ${requestsOf(emulator)}`);
    if (code === 0) console.log(next(command));
    return code;
  } finally {
    await emulator.close();
  }
}

/** `GET /tunnels, POST /edges/tls`. */
function requestsOf({ requests }: Emulator): string {
  return requests.map(({ method, path }) => `${method} ${path.split("?")[0]}`).join(", ") || "none";
}

/** A second run uses the same certificate, so it has nothing to change. */
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
    const child = spawn(command, args, { cwd: repository, env, stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

function next(command: string): string {
  if (command === "destroy") return "\nEverything is deleted. `npm start` creates it again.";
  if (command === "preview") return "\nThat was the plan. `npm start` carries it out.";
  return `
What to try next:
  npm start                  again: nothing to change
  edit ${path.relative(repository, path.join(program, "index.ts"))} and npm start: only your changes are sent
  npm start -- preview --diff
  npm start -- refresh
  npm start -- destroy`;
}

runTool(usage, main);
