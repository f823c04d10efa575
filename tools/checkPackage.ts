import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import ours from "../package.json";
import { runTool } from "./command";
import { Project } from "./engine";
import { newFolder, repository } from "./folders";
import { findOrBuildPulumi } from "./pulumi";
import { pack, sh } from "./tarball";

const usage = `npm run check:package [-- --lowest]

Packs this package and tests the tarball as its users use it: installed by npm, pnpm and Yarn
Classic, type-checked, and run by the real Pulumi engine against the emulator, from CommonJS and ESM
programs. Then the policy pack's tarball has to stop an update, and the emulator's has to install
everything that its types need, which --lowest leaves out.

  --lowest   installs the lowest version of all that package.json allows, Node.js included`;

const lowest = process.argv.includes("--lowest");

/** How each package manager installs a project, without running any script. */
const installs: Record<string, string> = {
  npm: "npm install --no-audit --no-fund --ignore-scripts --prefer-offline",
  pnpm: "npx --yes pnpm@10 install --ignore-scripts --prefer-offline",
  // A cache of its own: Yarn's cache may hold another tarball of the same version.
  yarn: "npx --yes yarn@1 install --ignore-scripts --non-interactive --cache-folder .cache",
};

/** The same program in both module systems. */
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
/** With every strict option that a program may set. */
const tsc =
  "node_modules/.bin/tsc --noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false " +
  "--module node16 --target es2022";

/** The files that a tarball may hold, and those that it must hold. */
const built = /^dist\/(cli|client|provider(\/(creates|values))?|sdk)\/\w+\.(js|d\.ts)$/;
const required = ["package.json", "README.md", "LICENSE", "CHANGELOG.md"];
/** Only the emulator needs these: a production install may not have them. */
const unwanted = ["hono", "@hono", "@peculiar", "pulumi-tlsedge-emulator"];

/** Runs a check and prints its result; gives whether it passed. */
async function check(name: string, work: () => Promise<unknown>): Promise<boolean> {
  const started = Date.now();
  try {
    await work();
    console.log(`ok ${name} (${Math.round((Date.now() - started) / 1000)} s)`);
    return true;
  } catch (error) {
    const { message } = error as Error;
    console.error(`FAILED ${name}\n${stripVTControlCharacters(message).trimEnd()}\n`);
    process.exitCode = 1;
    return false;
  }
}

async function checkFiles(tarball: string): Promise<void> {
  const list = await sh(`tar -tzf ${tarball}`, repository);
  const files = list
    .trim()
    .replace(/^package\//gm, "")
    .split("\n");
  const stray = files.filter((file) => !built.test(file) && !required.includes(file));
  const missing = required.filter((file) => !files.includes(file));
  assert.deepEqual({ stray, missing }, { stray: [], missing: [] });
  const { scripts } = JSON.parse(await sh(`tar -xzOf ${tarball} package/package.json`, repository));
  assert.ok(!("prepare" in scripts), "npm would build the package where nothing can be built");
}

/** Every entry is found by Node.js, and its types by TypeScript, in each of their module systems. */
async function checkEntries(tarball: string): Promise<void> {
  for (const line of ["publint run --strict", "attw"]) {
    await sh(`node_modules/.bin/${line} ${tarball}`, repository);
  }
}

/** The npm package of the Node.js that --lowest uses for program and provider, not emulator. */
const lowestNode = `node-${process.platform}-${process.arch}`;

/** The lowest version that package.json allows, by package. */
function lowestVersions(): Record<string, string> {
  const allowed = { ...ours.dependencies, ...ours.peerDependencies };
  const exact = Object.entries(allowed).map(([name, range]) => [name, range.replace("^", "")]);
  const node = `${ours.engines.node.replace(">=", "")}.0.0`;
  return { ...Object.fromEntries(exact), [lowestNode]: node };
}

/** The dependencies of a project that uses the package. */
const dependenciesWith = (tarball: string) => ({
  "@pulumi/pulumi": ours.devDependencies["@pulumi/pulumi"],
  ...(lowest && lowestVersions()),
  "pulumi-tlsedge": `file:${tarball}`,
  typescript: ours.devDependencies.typescript,
});

function writeManifest(folder: string, dependencies: object, type = "commonjs"): Promise<void> {
  const manifest = { name: "consumer", private: true, main: "index.js", type, dependencies };
  return writeFile(path.join(folder, "package.json"), JSON.stringify(manifest, null, 2));
}

async function install(line: string, folder: string, tarball: string): Promise<void> {
  await writeManifest(folder, dependenciesWith(tarball));
  await sh(line, folder);
  const modules = path.join(folder, "node_modules");
  const places = [modules, path.join(modules, ".pnpm", "node_modules")];
  const found = places.flatMap((place) => unwanted.map((name) => path.join(place, name)));
  assert.deepEqual(found.filter(existsSync), [], "a production install holds more than it needs");
}

async function typeCheck(folder: string): Promise<void> {
  await writeFile(path.join(folder, "consumer.mts"), consumer);
  await sh(`${tsc} consumer.mts`, folder);
}

/** The command line runs with the dependencies that were installed. */
async function runCommand(folder: string): Promise<void> {
  const env = { ...process.env, ...withLowestNode(process.env, folder) };
  const printed = await sh("npx --no pulumi-tlsedge -- --version", folder, env);
  assert.ok(printed.split("\n").includes(ours.version), printed);
}

/** The variables; with --lowest they put the installed Node.js first on PATH. */
function withLowestNode({ PATH }: NodeJS.ProcessEnv, folder: string): NodeJS.ProcessEnv {
  const node = path.join(folder, "node_modules", lowestNode, "bin");
  return lowest ? { PATH: `${node}${path.delimiter}${PATH}` } : {};
}

/** A project in a folder that has its modules, with a new stack. */
async function openProject(folder: string, stack: string, program: string): Promise<Project> {
  const { env } = await findOrBuildPulumi();
  const project = await Project.in(folder, {}, withLowestNode(env, folder));
  const runtime = "runtime: { name: nodejs, options: { typescript: false } }";
  await project.file("Pulumi.yaml", `name: consumer\n${runtime}\n`);
  await project.file("index.js", program);
  await project.select(stack);
  return project;
}

/**
 * The engine creates the program's resource, and deletes it with what the state says. With --lowest it
 * also finds nothing to change: no test has these versions.
 */
async function deploy(folder: string, type: string, program: string): Promise<void> {
  const project = await openProject(folder, type, program);
  try {
    await project.up();
    if (lowest) await project.up("--expect-no-changes");
    await project.destroy();
    const methods = project.emulator.requests.map(({ method }) => method);
    // The list is read before the first create.
    assert.deepEqual(methods, ["GET", "POST", "DELETE"]);
  } finally {
    await project.emulator.close();
  }
}

const violation = `const { TLSEdge } = require("pulumi-tlsedge");
new TLSEdge("app", { tlsTermination: { minVersion: "1.0" } });`;

/** The policy pack, installed from its tarball, stops an update before any write. */
async function stopUpdate(tarball: string, policy: string): Promise<void> {
  const folder = newFolder();
  const name = "pulumi-tlsedge-policy";
  await writeManifest(folder, { ...dependenciesWith(tarball), [name]: `file:${policy}` });
  await sh(installs.npm as string, folder);
  await sh(`npx --no ${name} -- node_modules/${name}/profiles/production.json`, folder);
  const project = await openProject(folder, "dev", violation);
  try {
    const pack = ["--policy-pack", `node_modules/${name}`];
    const { output, writes } = await project.fails("up", "--yes", "--skip-preview", ...pack);
    assert.match(output, /mandatory.*edge-tls-version/);
    assert.deepEqual(writes, []);
  } finally {
    await project.emulator.close();
  }
}

const emulatorUser = `import { type Emulator, startEmulator } from "pulumi-tlsedge-emulator";
const emulator: Emulator = await startEmulator({ tunnels: [{ id: "tn_1", proto: "tls" }] });
export const served = emulator.tlsEdges.list().flatMap(({ hostports }) => hostports ?? []);
// @ts-expect-error A tunnel has no such field.
await startEmulator({ tunnels: [{ colour: "red" }] });
`;

/** Checks the types of the emulator alone, from its tarball, with the current versions. */
async function typeCheckEmulator(emulator: string): Promise<void> {
  const folder = newFolder();
  const dependencies = {
    "pulumi-tlsedge-emulator": `file:${emulator}`,
    "@types/node": ours.devDependencies["@types/node"],
    typescript: ours.devDependencies.typescript,
  };
  await writeManifest(folder, dependencies);
  await sh(installs.npm as string, folder);
  await writeFile(path.join(folder, "user.mts"), emulatorUser);
  await sh(`${tsc} user.mts`, folder);
}

async function checkInstall(manager: string, line: string, tarball: string): Promise<void> {
  const folder = newFolder();
  if (!(await check(`${manager}: install`, () => install(line, folder, tarball)))) return;
  await check(`${manager}: npx --no pulumi-tlsedge --version`, () => runCommand(folder));
  await check(`${manager}: types`, () => typeCheck(folder));
  // The others place modules in other folders, where both module systems look in the same way.
  const { CommonJS, ...esm } = flavours;
  for (const [name, { type, program }] of Object.entries(manager === "npm" ? flavours : esm)) {
    await writeManifest(folder, dependenciesWith(tarball), type);
    await check(`${manager}, ${name}: up, destroy`, () => deploy(folder, type, program));
  }
}

async function main(): Promise<void> {
  const tarball = await pack(".");
  await check("tarball: its files", () => checkFiles(tarball));
  await check("tarball: its entries", () => checkEntries(tarball));
  // Found once, so that only one process downloads or builds it.
  await findOrBuildPulumi();
  const managers = Object.entries(installs).filter(([manager]) => !lowest || manager === "npm");
  await Promise.all(managers.map(([manager, line]) => checkInstall(manager, line, tarball)));
  const policy = await pack("policy");
  await check("policy pack: its entries", () => checkEntries(policy));
  await check("policy pack: stops an update", () => stopUpdate(tarball, policy));
  if (lowest) return;
  const emulator = await pack("emulator");
  await check("emulator: its entries", () => checkEntries(emulator));
  await check("emulator: its types alone", () => typeCheckEmulator(emulator));
}

runTool(usage, main);
