import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, createWriteStream, existsSync, realpathSync } from "node:fs";
import fs from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs, promisify } from "node:util";

/** The version that is downloaded or built when PATH has no Pulumi CLI to use. */
export const pulumiVersion = "3.250.0";

/** The oldest CLI on PATH that is used: the package's own lower bound for `@pulumi/pulumi`. */
export const oldestVersion = "3.216.0";

const oldestGo = "1.25.0";
const install = "Install the Pulumi CLI (https://www.pulumi.com/docs/install/)";

/** Takes one line of progress. */
export type Log = (line: string) => void;

/** A Pulumi CLI that can run Node.js programs. */
export interface PulumiCli {
  /** Absolute path of `pulumi`. */
  command: string;
  /** The environment to start it with: its plugins and this process's `node` come first on PATH. */
  env: NodeJS.ProcessEnv;
  version: string;
  origin: "PATH" | "cache" | "download" | "built";
}

const checksumList = `pulumi-${pulumiVersion}-checksums.txt`;

/** Where a CLI may come from; tests give other places. */
const realPlaces = {
  env: process.env,
  releases: "https://get.pulumi.com/releases/sdk",
  checksums: `https://github.com/pulumi/pulumi/releases/download/v${pulumiVersion}/${checksumList}`,
};
type Places = typeof realPlaces;

const run = promisify(execFile);
const exe = process.platform === "win32" ? ".exe" : "";

// Only CommonJS has `__dirname`. Started by node itself this file is an ES module, whose entry file
// is this one, a sibling or in a folder beside it (`import.meta` would not compile to CommonJS).
const here = typeof __dirname === "string" ? __dirname : folderOf(process.argv[1] ?? ".");

function folderOf(entry: string): string {
  const folder = path.dirname(realpathSync(entry));
  return existsSync(path.join(folder, "pulumi-cli")) ? folder : path.dirname(folder);
}

/**
 * The Pulumi CLI: from PATH, else from the cache, else the official download, else built with Go.
 * The first build takes minutes; `log` hears of it, and by default writes to stderr.
 *
 * @throws when there is no CLI and no way to make one; the message says what to install.
 * @example const { command, env } = await findOrBuildPulumi();
 */
export function findOrBuildPulumi(log: Log = terminalLog()): Promise<PulumiCli> {
  return findPulumi(realPlaces, log);
}

/** `findOrBuildPulumi` with other places to look in. */
export async function findPulumi(places: Places, log: Log): Promise<PulumiCli> {
  const { env } = places;
  const onPath = await fromPath(env, log);
  if (onPath) return onPath;
  const folder = cacheFolder(env);
  const origin = (await complete(folder)) ? "cache" : await make(folder, places, log);
  return {
    command: path.join(folder, "pulumi"),
    env: environment(env, [folder, ...(await nodeFolder(env))]),
    version: pulumiVersion,
    origin,
  };
}

/** Whether version `found` is `oldest` or newer; pre-release labels are not looked at. */
export function atLeast(found: string, oldest: string): boolean {
  const numbers = (text: string) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number);
  const [a, b] = [numbers(found), numbers(oldest)];
  const at = [0, 1, 2].find((index) => (a[index] ?? 0) !== (b[index] ?? 0)) ?? 0;
  return (a[at] ?? 0) >= (b[at] ?? 0);
}

async function fromPath(env: NodeJS.ProcessEnv, log: Log): Promise<PulumiCli | undefined> {
  const command = await findProgram("pulumi", pathFolders(env));
  if (!command) return undefined;
  const besides = path.dirname(await fs.realpath(command));
  const host = await findProgram("pulumi-language-nodejs", [...pathFolders(env), besides]);
  const version = await versionOf(command, env);
  if (host && version && atLeast(version, oldestVersion)) {
    return { command, env: environment(env, await nodeFolder(env)), version, origin: "PATH" };
  }
  const found = `${command} (version ${version ?? "unknown"})`;
  log(host ? `${found} is older than ${oldestVersion}` : `${found} has no pulumi-language-nodejs`);
  return undefined;
}

async function versionOf(command: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const quiet = { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" };
  const said = await run(command, ["version"], { env: quiet, timeout: 30_000 }).catch(() => null);
  return said?.stdout.match(/\d+\.\d+\.\d+\S*/)?.[0];
}

function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env[pathName(env)] ?? "").split(path.delimiter).filter(Boolean);
}

function pathName(env: NodeJS.ProcessEnv): string {
  return Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}

async function findProgram(name: string, folders: string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const file = path.resolve(folder, name + exe);
    if (await isProgram(file)) return file;
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  const executable = fs.access(file, constants.X_OK).then(() => fs.stat(file));
  return executable.then((found) => found.isFile()).catch(() => false);
}

/** The folder of this process's node, unless `node` on PATH is that one already. */
async function nodeFolder(env: NodeJS.ProcessEnv): Promise<string[]> {
  const first = await findProgram("node", pathFolders(env));
  const same = first && (await fs.realpath(first)) === (await fs.realpath(process.execPath));
  return same ? [] : [path.dirname(process.execPath)];
}

function environment(env: NodeJS.ProcessEnv, first: string[]): NodeJS.ProcessEnv {
  const folders = [...first, ...pathFolders(env)].join(path.delimiter);
  return { ...env, [pathName(env)]: folders, PULUMI_SKIP_UPDATE_CHECK: "true" };
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  const cache = env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), ".cache");
  const root = env.TLSEDGE_PULUMI_CACHE || path.join(cache, "pulumi-tlsedge");
  return path.resolve(root, `pulumi-${pulumiVersion}`);
}

async function complete(folder: string): Promise<boolean> {
  const programs = ["pulumi", "pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];
  const found = await Promise.all(programs.map((name) => isProgram(path.join(folder, name))));
  return found.every(Boolean);
}

async function make(folder: string, places: Places, log: Log): Promise<"download" | "built"> {
  if (process.platform === "win32")
    throw new Error(`${install}: on Windows that is not automated.`);
  try {
    await fillOnce(folder, (staging) => download(staging, places, log));
    return "download";
  } catch (error) {
    log(`The official Pulumi CLI is not used: ${reason(error)}`);
  }
  const go = await findGo(places.env);
  await fillOnce(folder, (staging) => build(staging, go, places.env, log));
  return "built";
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** Fills a sibling and renames it, so that a folder of this name is whole whoever looks at it. */
async function fillOnce(folder: string, fill: (staging: string) => Promise<void>): Promise<void> {
  await fs.mkdir(path.dirname(folder), { recursive: true });
  const staging = await fs.mkdtemp(`${folder}.`);
  try {
    await fill(staging);
    const version = await versionOf(path.join(staging, "pulumi"), process.env);
    if (version !== pulumiVersion || !(await complete(staging))) {
      throw new Error(`what came is not the whole Pulumi CLI ${pulumiVersion}`);
    }
    await fs.chmod(staging, 0o755);
    await fs.rename(staging, folder).catch(async () => {
      // Another process was first, with a folder as good as this; or a broken one is there.
      if (await complete(folder)) return;
      await fs.rm(folder, { recursive: true, force: true });
      await fs.rename(staging, folder);
    });
  } finally {
    await fs.rm(staging, { recursive: true, force: true });
  }
}

async function download(folder: string, places: Places, log: Log): Promise<void> {
  const name = `pulumi-v${pulumiVersion}-${process.platform}-${process.arch}.tar.gz`;
  const list = await (await get(places.checksums)).text();
  const lines = list.split("\n").map((line) => line.trim().split(/\s+/));
  const expected = lines.find(([, file]) => file === name)?.[0];
  if (!expected) throw new Error(`there is no published checksum of ${name}`);

  const archive = path.join(folder, name);
  await withProgress(`Downloading ${name}`, log, async () => {
    const { body } = await get(`${places.releases}/${name}`);
    const hash = createHash("sha256");
    async function* hashed() {
      for await (const chunk of body ?? []) {
        hash.update(chunk);
        yield chunk;
      }
    }
    await pipeline(hashed, createWriteStream(archive));
    if (hash.digest("hex") !== expected) throw new Error(`${name} has another checksum`);
  });
  await run("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"]);
  await fs.rm(archive);
}

/** Only the wait for an answer is short: the body may take its time. */
async function get(url: string): Promise<Response> {
  const wait = new AbortController();
  const timer = setTimeout(() => wait.abort(new Error(`${url} does not answer`)), 5_000);
  try {
    const response = await fetch(url, { signal: wait.signal });
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
    return response;
  } finally {
    clearTimeout(timer);
  }
}

async function findGo(env: NodeJS.ProcessEnv): Promise<string> {
  const go = await findProgram("go", pathFolders(env));
  const said = go ? await run(go, ["version"], { env }).catch(() => null) : null;
  const version = said?.stdout.match(/go(\d+\.\d+(\.\d+)?)/)?.[1];
  if (go && version && atLeast(version, oldestGo)) return go;
  throw new Error(
    `There is no Pulumi CLI to use, and building one needs Go ${oldestGo} or newer, ` +
      `${version ? `not ${version}` : "which is not on PATH"}. ${install}, or Go.`,
  );
}

async function build(folder: string, go: string, env: NodeJS.ProcessEnv, log: Log): Promise<void> {
  const resolve = createRequire(path.join(here, "pulumi.ts")).resolve;
  const npm = path.dirname(resolve("@pulumi/pulumi/package.json"));
  const script = path.join(here, "pulumi-cli", "build.sh");
  await withProgress(`Building the Pulumi CLI ${pulumiVersion}, for some minutes`, log, () =>
    run("sh", [script, go, folder, pulumiVersion, npm], { env, maxBuffer: 1 << 26 }),
  ).catch((error) => {
    throw new Error(`Building the Pulumi CLI failed. ${install}, or see:\n${error.stderr}`);
  });
}

async function withProgress<T>(label: string, log: Log, work: () => Promise<T>): Promise<T> {
  const started = Date.now();
  const elapsed = () => `${label} (${Math.round((Date.now() - started) / 1000)} s)`;
  log(label);
  const timer = setInterval(() => log(elapsed()), 15_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    log(elapsed());
  }
}

/** Writes to stderr; on a terminal a line takes the place of the one that it continues. */
function terminalLog(): Log {
  let previous = "";
  return (line) => {
    const label = line.replace(/ \(\d+ s\)$/, "");
    const again = process.stderr.isTTY && label === previous;
    process.stderr.write(`${again ? "\x1b[1A\x1b[2K" : ""}${line}\n`);
    previous = label;
  };
}

const help = `Finds the Pulumi CLI: on PATH, in the cache, as the official download, or built with Go.

  node tools/pulumi.ts [--json] [--help]

  --json   print command, version, origin and PATH as JSON
  TLSEDGE_PULUMI_CACHE   the cache's folder (default: pulumi-tlsedge in XDG_CACHE_HOME, ~/.cache)`;

async function main(): Promise<void> {
  const options = { json: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;
  const { values } = parseArgs({ options });
  if (values.help) return console.log(help);
  const { command, version, origin, env } = await findOrBuildPulumi();
  const found = { command, version, origin, PATH: env[pathName(env)] };
  console.log(values.json ? JSON.stringify(found) : `${command} (${version}, ${origin})`);
}

if (process.argv[1]?.endsWith(path.join("tools", "pulumi.ts"))) {
  main().catch((error) => {
    console.error(reason(error));
    process.exitCode = 1;
  });
}
