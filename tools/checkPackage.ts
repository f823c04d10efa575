import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { type Emulator, startEmulator } from "pulumi-tlsedge-emulator";
import { findOrBuildPulumi, type PulumiCli } from "./pulumi.ts";

const usage = `Usage: npm run check:package [-- --lowest]

--lowest installs the lowest version of everything that package.json promises, Node.js too.

Packs this package and tries the tarball as its users do: installed by npm, pnpm and Yarn Classic,
type-checked, and run by the real Pulumi engine against the emulator, in CommonJS and ESM programs.
Then the policy pack's tarball: it stops an update; and the emulator's: its types need nothing that
it does not install.`;

const lowest = process.argv.includes("--lowest");

/** How each package manager installs what package.json says, without running any script. */
const layouts: Record<string, [command: string, line: string]> = {
  npm: ["npm", "install --no-audit --no-fund --ignore-scripts --prefer-offline"],
  pnpm: ["npx", "--yes pnpm@10 install --ignore-scripts --prefer-offline"],
  // A cache of its own: Yarn's takes another tarball of the same version for this one.
  yarn: ["npx", "--yes yarn@1 install --ignore-scripts --non-interactive --cache-folder .cache"],
};

/** The same two-line program in both module systems. */
const flavours = {
  CommonJS: {
    type: "commonjs",
    program: `const { TLSEdge } = require("pulumi-tlsedge");
exports.id = new TLSEdge("app", { hostports: ["commonjs.example.com:443"] }).id;`,
  },
  ESM: {
    type: "module",
    program: `import { TLSEdge } from "pulumi-tlsedge";
export const { id } = new TLSEdge("app", { hostports: ["esm.example.com:443"] });`,
  },
};

const consumer = `import * as pulumi from "@pulumi/pulumi";
import { getTunnelOutput, TLSCertificate, TLSEdge, type TLSEdgeArgs } from "pulumi-tlsedge";
const tunnel = getTunnelOutput({ labels: { app: "web" } });
const args: TLSEdgeArgs = { description: tunnel.id, tlsTermination: { terminateAt: "edge" } };
export const id: pulumi.Output<string> = new TLSEdge("app", args).id;
export const { notAfter } = new TLSCertificate("app", { certificatePem: pulumi.output("pem") });
// @ts-expect-error A misspelt property is an error.
new TLSEdge("typo", { hostport: ["app.example.com:443"] });
`;
/** `.cts` is CommonJS and `.mts` is ESM, whatever package.json says. */
const tsc = "--noEmit --strict --module node16 --target es2022 consumer.cts consumer.mts";

/** What a tarball may hold, and what it must. */
const built = /^dist\/(cli|client|provider|sdk)\/\w+\.(js|d\.ts)$/;
const beside = ["package.json", "README.md", "LICENSE", "CHANGELOG.md"];
/** What only the emulator needs: a production install goes without. */
const unwanted = ["hono", "@hono", "@peculiar", "pulumi-tlsedge-emulator"];

/** A check that failed, with what was printed. */
class Failure extends Error {}

const run = promisify(execFile);

/** Runs a command with arguments parted by spaces, and gives what it printed. */
async function sh(command: string, line: string, cwd: string, env = process.env): Promise<string> {
  try {
    const options = { cwd, env, maxBuffer: 1 << 26, timeout: 300_000 };
    const { stdout, stderr } = await run(command, line.split(" "), options);
    return stdout + stderr;
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & Record<string, string>;
    throw new Failure(`${command} ${line}\n${stdout}${stderr || message}`);
  }
}

/** Does the work and prints one line of it; whether it went well. */
async function check(name: string, work: () => Promise<unknown>): Promise<boolean> {
  const started = Date.now();
  try {
    await work();
    console.log(`ok ${name} (${Math.round((Date.now() - started) / 1000)} s)`);
    return true;
  } catch (error) {
    const said = error instanceof Failure ? error.message : String((error as Error).stack);
    console.error(`FAILED ${name}\n${stripVTControlCharacters(said).trimEnd()}\n`);
    process.exitCode = 1;
    return false;
  }
}

/** Packs what is built of this package or of a workspace; the tarball's absolute path. */
async function pack(folder: string, from = "."): Promise<string> {
  await mkdir(folder);
  const env = { ...process.env, npm_config_pack_destination: folder };
  await sh("npm", "pack --silent --ignore-scripts", path.resolve(from), env);
  const [tarball] = await readdir(folder);
  if (!tarball) throw new Failure("npm pack made no tarball");
  return path.join(folder, tarball);
}

async function checkFiles(tarball: string): Promise<void> {
  const list = (await sh("tar", `-tzf ${path.basename(tarball)}`, path.dirname(tarball)))
    .trim()
    .split("\n");
  const files = list.map((file) => file.replace(/^package\//, ""));
  const stray = files.filter((file) => !built.test(file) && !beside.includes(file));
  const missing = beside.filter((file) => !files.includes(file));
  if (stray.length > 0) throw new Failure(`it should not hold ${stray.join(", ")}`);
  if (missing.length > 0) throw new Failure(`it should hold ${missing.join(", ")}`);
}

/** The program and the provider run on this one with --lowest; the emulator stays on ours. */
const lowestNode = `node-${process.platform}-${process.arch}`;

/** The lowest version of everything that package.json promises. */
function lowestOf(ours: Manifest): Record<string, string> {
  const promised = { ...ours.dependencies, ...ours.peerDependencies };
  const exact = Object.entries(promised).map(([name, range]) => [name, range.replace("^", "")]);
  const node = `${ours.engines.node?.replace(">=", "")}.0.0`;
  return { ...Object.fromEntries(exact), [lowestNode]: node };
}

type Manifest = Record<
  "dependencies" | "devDependencies" | "peerDependencies" | "engines",
  Record<string, string>
>;

/** A project as its users have it, but for `type`, which each flavour sets. */
async function writeManifest(
  folder: string,
  tarball: string,
  type: string,
  more: Record<string, string> = {},
): Promise<void> {
  const ours = JSON.parse(await readFile("package.json", "utf8")) as Manifest;
  const dependencies = {
    "@pulumi/pulumi": ours.devDependencies["@pulumi/pulumi"],
    ...(lowest && lowestOf(ours)),
    "pulumi-tlsedge": `file:${tarball}`,
    ...more,
    typescript: "~5.9.3",
  };
  const manifest = { name: "consumer", private: true, main: "index.js", type, dependencies };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest, null, 2));
}

async function install(layout: string, folder: string, tarball: string): Promise<void> {
  const [command, line] = layouts[layout] as [string, string];
  await mkdir(folder);
  await writeManifest(folder, tarball, "commonjs");
  await sh(command, line, folder);
  const modules = path.join(folder, "node_modules");
  const found = [modules, path.join(modules, ".pnpm", "node_modules")].flatMap((where) =>
    unwanted.map((name) => path.join(where, name)).filter((place) => existsSync(place)),
  );
  if (found.length > 0) throw new Failure(`a production install holds\n  ${found.join("\n  ")}`);
}

async function typeCheck(folder: string): Promise<void> {
  for (const file of ["consumer.cts", "consumer.mts"]) {
    await writeFile(path.join(folder, file), consumer);
  }
  await sh(path.join(folder, "node_modules", ".bin", "tsc"), tsc, folder);
}

/** The command, as its file and its dependencies were installed. */
async function runCommand(folder: string): Promise<void> {
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  const env = withLowestNode(process.env, folder);
  const printed = await sh("npx", "--no pulumi-tlsedge -- --version", folder, env);
  if (!printed.split("\n").includes(version)) throw new Failure(`it printed ${printed}`);
}

/** With --lowest, an environment in which `node` is the one that was installed. */
function withLowestNode(env: NodeJS.ProcessEnv, folder: string): NodeJS.ProcessEnv {
  const node = path.join(folder, "node_modules", lowestNode, "bin");
  return lowest ? { ...env, PATH: `${node}${path.delimiter}${env.PATH}` } : env;
}

async function environment(folder: string, { env }: PulumiCli, emulator: Emulator) {
  const inFolder = (name: string) => path.join(folder, name);
  const yaml = "name: consumer\nruntime: { name: nodejs, options: { typescript: false } }\n";
  await writeFile(inFolder("Pulumi.yaml"), yaml);
  await writeFile(inFolder("ca.pem"), emulator.ca);
  await mkdir(inFolder("state"), { recursive: true });
  return {
    ...withLowestNode(env, folder),
    PULUMI_HOME: inFolder("home"),
    PULUMI_BACKEND_URL: `file://${inFolder("state")}`,
    PULUMI_CONFIG_PASSPHRASE: "check",
    TLSEDGE_BASE_URL: emulator.url,
    TLSEDGE_API_KEY: emulator.apiKey,
    TLSEDGE_CA_FILE: inFolder("ca.pem"),
  };
}

/** Two lines of program through a whole life, on the real engine. */
async function live(folder: string, stack: string, cli: PulumiCli): Promise<void> {
  const emulator = await startEmulator();
  try {
    const env = await environment(folder, cli, emulator);
    const pulumi = (line: string) => sh(cli.command, `${line} --non-interactive`, folder, env);
    await pulumi(`stack init ${stack}`);
    await pulumi("up --yes --skip-preview");
    await pulumi("up --yes --skip-preview --expect-no-changes");
    await pulumi("destroy --yes --skip-preview");
    const heard = emulator.requests.map(({ method }) => method).join(", ");
    if (heard !== "POST, DELETE") throw new Failure(`the service heard ${heard || "nothing"}`);
  } finally {
    await emulator.close();
  }
}

const violation = `const { TLSEdge } = require("pulumi-tlsedge");
new TLSEdge("app", { tlsTermination: { minVersion: "1.0" } });`;

/** The policy pack, installed from its tarball, stops an update before any request. */
async function stopUpdate(tarball: string, policy: string, cli: PulumiCli): Promise<void> {
  const folder = path.join(path.dirname(tarball), "..", "stopped");
  const name = "pulumi-tlsedge-policy";
  const emulator = await startEmulator();
  try {
    await mkdir(folder);
    await writeManifest(folder, tarball, "commonjs", { [name]: `file:${policy}` });
    await sh(...(layouts.npm as [string, string]), folder);
    await writeFile(path.join(folder, "index.js"), violation);
    const env = await environment(folder, cli, emulator);
    await sh(cli.command, "stack init dev --non-interactive", folder, env);
    const up = `up --yes --skip-preview --non-interactive --policy-pack node_modules/${name}`;
    const said = await sh(cli.command, up, folder, env).catch(({ message }) => message as string);
    if (!/mandatory.*edge-tls-version/.test(said)) throw new Failure(said);
    if (emulator.requests.length > 0) throw new Failure("the service was asked");
  } finally {
    await emulator.close();
  }
}

const emulatorUser = `import { type Emulator, startEmulator } from "pulumi-tlsedge-emulator";
const emulator: Emulator = await startEmulator({ tunnels: [{ id: "tn_1", proto: "tls" }] });
export const served = emulator.tlsEdges.list().flatMap(({ hostports }) => hostports ?? []);
// @ts-expect-error A tunnel has no such field.
await startEmulator({ tunnels: [{ colour: "red" }] });
`;

/** The emulator alone, from its tarball; with --lowest, too, on the versions of today. */
async function typeCheckEmulator(emulator: string): Promise<void> {
  const folder = path.join(path.dirname(emulator), "..", "emulated");
  await mkdir(folder);
  const { devDependencies } = JSON.parse(await readFile("package.json", "utf8")) as Manifest;
  const dependencies = {
    "pulumi-tlsedge-emulator": `file:${emulator}`,
    "@types/node": devDependencies["@types/node"],
    typescript: devDependencies.typescript,
  };
  const manifest = { name: "consumer", private: true, dependencies };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  await sh(...(layouts.npm as [string, string]), folder);
  await writeFile(path.join(folder, "user.mts"), emulatorUser);
  const line = "--noEmit --strict --skipLibCheck false --module node16 --target es2023 user.mts";
  await sh(path.join(folder, "node_modules", ".bin", "tsc"), line, folder);
}

async function checkLayout(layout: string, tarball: string, cli: PulumiCli): Promise<void> {
  const folder = path.join(path.dirname(tarball), "..", layout);
  if (!(await check(`${layout}: install`, () => install(layout, folder, tarball)))) return;
  await check(`${layout}: npx pulumi-tlsedge --version`, () => runCommand(folder));
  await check(`${layout}: types, CommonJS and ESM`, () => typeCheck(folder));
  for (const [name, { type, program }] of Object.entries(flavours)) {
    await writeManifest(folder, tarball, type);
    await writeFile(path.join(folder, "index.js"), program);
    await check(`${layout}, ${name}: up, no change, destroy`, () => live(folder, type, cli));
  }
}

async function main(): Promise<void> {
  if (process.argv.includes("--help")) return console.log(usage);
  const folder = await mkdtemp(path.join(tmpdir(), "tlsedge-package-"));
  try {
    const tarball = await pack(path.join(folder, "tarball"));
    await check("tarball: its files", () => checkFiles(tarball));
    const cli = await findOrBuildPulumi();
    const which = lowest ? ["npm"] : Object.keys(layouts);
    await Promise.all(which.map((layout) => checkLayout(layout, tarball, cli)));
    const policy = await pack(path.join(folder, "policy"), "policy");
    await check("policy pack: stops an update", () => stopUpdate(tarball, policy, cli));
    const emulated = await pack(path.join(folder, "emulator"), "emulator");
    await check("emulator: its types alone", () => typeCheckEmulator(emulated));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = 1;
});
