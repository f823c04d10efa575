import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeCertificate, startEmulator } from "../emulator/server";
import { environment, repository } from "./folders";
import { findOrBuildPulumi } from "./pulumi";

const usage = `npm start [-- COMMAND [FLAGS]]

Runs the quickstart (examples/quickstart) on the real Pulumi engine, against the emulator.

  up        creates and updates the resources (the default)
  preview   shows what up would do
  refresh   reads the resources from the service
  destroy   deletes the resources

Pulumi gets all FLAGS: npm start -- up --diff`;

const next = `
What to try next:
  npm start                  again: nothing to change
  edit examples/quickstart/index.ts and npm start: only your changes are sent
  npm start -- preview --diff
  npm start -- refresh
  npm start -- destroy`;

const unattended = ["--yes", "--skip-preview"];
/** The commands, each with its flags. */
const commands: Record<string, string[]> = {
  up: unattended,
  preview: [],
  refresh: unattended,
  // Without --remove, Pulumi suggests `pulumi stack rm`, which needs the environment of this command.
  destroy: [...unattended, "--remove"],
};

/** Kept between runs: state, home and the emulator's data. */
const kept = path.join(repository, ".tlsedge");
const certificate = path.join(repository, "examples", "quickstart", "certificate");
const chain = path.join(certificate, "chain.pem");

async function main(): Promise<number> {
  const [command = "up", ...flags] = process.argv.slice(2);
  const own = commands[command];
  if (!own || flags.includes("--help")) {
    console.log(usage);
    return own || command === "--help" ? 0 : 2;
  }
  await mkdir(kept, { recursive: true });
  const cli = await findOrBuildPulumi();
  // A second run uses the same certificate, so it has nothing to change.
  if (!existsSync(chain)) await makeCertificates();
  const emulator = await startEmulator({ dataFile: path.join(kept, "emulator.jsonl") });
  console.log(`Emulator at ${emulator.url}, no account needed. Its data and Pulumi's state are in
${path.relative(process.cwd(), kept)}. Pulumi CLI ${cli.version}, Node.js ${process.version}.\n`);
  try {
    const env = {
      ...cli.env,
      ...(await environment(kept, emulator)),
      PULUMI_CONFIG_PASSPHRASE: "quickstart",
    };
    const pulumi = (...args: string[]) => run(cli.command, args, env);
    const select = await pulumi("stack", "select", "--create", "quickstart");
    if (select !== 0) return select;
    emulator.requests.length = 0;
    const code = await pulumi(command, ...own, ...flags, "--stack", "quickstart");
    const requests = emulator.requests.map(({ method, path }) => `${method} ${path.split("?")[0]}`);
    console.log(`\nRequests to the service: ${requests.join(", ") || "none"}`);
    if (code === 0 && command !== "destroy") console.log(next);
    return code;
  } finally {
    await emulator.close();
  }
}

async function makeCertificates(): Promise<void> {
  const authority = await makeCertificate({ commonName: "Quickstart CA", isCa: true });
  const { certificatePem, privateKeyPem } = await makeCertificate({
    commonName: "app.example.com",
    dnsNames: ["app.example.com", "*.app.example.com"],
    organization: "Quickstart",
    issuer: authority,
  });
  await mkdir(certificate, { recursive: true });
  await writeFile(path.join(certificate, "key.pem"), privateKeyPem, { mode: 0o600 });
  await writeFile(chain, certificatePem);
}

async function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, args, { cwd: repository, env, stdio: "inherit" });
  const [code] = await once(child, "close");
  return code ?? 1;
}

main().then((code) => {
  process.exitCode = code;
});
