import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import fs, { constants } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

/** The version that is downloaded or built when PATH has no Pulumi CLI to use. */
export const pulumiVersion = "3.274.1";

/** What is built or downloaded is in the cache under this name. The last number grows with what is built. */
export const cacheName = `pulumi-${pulumiVersion}-1`;

/** The oldest CLI on PATH that is used: the package's own lower bound for `@pulumi/pulumi`. */
export const oldestVersion = "3.216.0";

const oldestGo = "1.26.6";
const install = "Install the Pulumi CLI (https://www.pulumi.com/docs/install/)";

/** Called with each line of progress. */
export type Log = (line: string) => void;

/** A Pulumi CLI that can run Node.js programs. */
export interface PulumiCli {
  /** Absolute path of `pulumi`. */
  command: string;
  /** Its environment: its plugins and this process's `node` come first on PATH. */
  env: NodeJS.ProcessEnv;
  version: string;
  origin: "PATH" | "cache" | "download" | "built";
}

const checksumList = `pulumi-${pulumiVersion}-checksums.txt`;

/** Where a CLI may come from; tests use other places. */
const realPlaces = {
  env: process.env,
  releases: "https://get.pulumi.com/releases/sdk",
  checksums: `https://github.com/pulumi/pulumi/releases/download/v${pulumiVersion}/${checksumList}`,
};
type Places = typeof realPlaces;

/** Runs a program; throws when it fails. */
export const run = promisify(execFile);
const exe = process.platform === "win32" ? ".exe" : "";

/**
 * The Pulumi CLI: from PATH, else from the cache, else the official download, else built with Go.
 * A build takes minutes, and its progress is on stderr.
 *
 * @throws when there is no CLI and no way to make one; the message says what to install.
 * @example const { command, env } = await findOrBuildPulumi();
 */
export function findOrBuildPulumi(): Promise<PulumiCli> {
  return findPulumi(realPlaces, console.error);
}

/** `findOrBuildPulumi` with other places to look in. */
export async function findPulumi(places: Places, log: Log): Promise<PulumiCli> {
  const { env } = places;
  const onPath = await fromPath(env, log);
  if (onPath) return onPath;
  const folder = cacheFolder(env, cacheName);
  const origin = (await complete(folder)) ? "cache" : await make(folder, places, log);
  return {
    command: path.join(folder, "pulumi"),
    env: environment(env, [folder, ...(await nodeFolder(env))]),
    version: pulumiVersion,
    origin,
  };
}

/** Whether version `found` is `oldest` or newer, without regard to pre-release labels. */
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
  const done = await run(command, ["version"], { env: quiet, timeout: 30_000 }).catch(() => null);
  return done?.stdout.match(/\d+\.\d+\.\d+\S*/)?.[0];
}

/** The folders of PATH. */
export function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env[pathName(env)] ?? "").split(path.delimiter).filter(Boolean);
}

function pathName(env: NodeJS.ProcessEnv): string {
  return Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}

/** The path of a program that is in one of the folders. */
export async function findProgram(name: string, folders: string[]): Promise<string | undefined> {
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

/** The folder of this process's node; none when `node` on PATH is the same program. */
async function nodeFolder(env: NodeJS.ProcessEnv): Promise<string[]> {
  const first = await findProgram("node", pathFolders(env));
  const same = first && (await fs.realpath(first)) === (await fs.realpath(process.execPath));
  return same ? [] : [path.dirname(process.execPath)];
}

function environment(env: NodeJS.ProcessEnv, first: string[]): NodeJS.ProcessEnv {
  const folders = [...first, ...pathFolders(env)].join(path.delimiter);
  return { ...env, [pathName(env)]: folders, PULUMI_SKIP_UPDATE_CHECK: "true" };
}

/** A folder for what is made once for all processes: `fillOnce` fills it. */
export function cacheFolder(env: NodeJS.ProcessEnv, name: string): string {
  const cache = env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), ".cache");
  const root = env.TLSEDGE_PULUMI_CACHE || path.join(cache, "pulumi-tlsedge");
  return path.resolve(root, name);
}

async function complete(folder: string): Promise<boolean> {
  const programs = ["pulumi", "pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"];
  const found = await Promise.all(programs.map((name) => isProgram(path.join(folder, name))));
  return found.every(Boolean);
}

async function make(folder: string, places: Places, log: Log): Promise<"download" | "built"> {
  if (process.platform === "win32")
    throw new Error(`${install}: on Windows that is not automated.`);
  const fill = (work: Fill) =>
    fillOnce(folder, complete, async (staging) => {
      await work(staging);
      const version = await versionOf(path.join(staging, "pulumi"), process.env);
      if (version !== pulumiVersion) throw new Error(`it is not the Pulumi CLI ${pulumiVersion}`);
    });
  try {
    await fill((staging) => download(staging, places, log));
    return "download";
  } catch (error) {
    log(`The official Pulumi CLI is not used: ${reason(error)}`);
  }
  const go = await findGo(`There is no Pulumi CLI to use. ${install}: building it`, places.env);
  await fill((staging) => build(staging, go, places.env, log));
  return "built";
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

type Fill = (staging: string) => Promise<void>;

/** Fills a temporary folder and renames it, so that no other process sees an incomplete one. */
export async function fillOnce(
  folder: string,
  isComplete: (folder: string) => Promise<boolean>,
  fill: Fill,
): Promise<void> {
  await fs.mkdir(path.dirname(folder), { recursive: true });
  const staging = await fs.mkdtemp(`${folder}.`);
  try {
    await fill(staging);
    if (!(await isComplete(staging))) throw new Error(`${path.basename(folder)} is not complete`);
    await fs.chmod(staging, 0o755);
    await fs.rename(staging, folder).catch(async () => {
      // Another process was first; or the folder that exists is incomplete.
      if (await isComplete(folder)) return;
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

  log(`Downloading ${name}`);
  const archive = Buffer.from(await (await get(`${places.releases}/${name}`)).arrayBuffer());
  const hash = createHash("sha256").update(archive).digest("hex");
  if (hash !== expected) throw new Error(`${name} has another checksum`);
  const file = path.join(folder, name);
  await fs.writeFile(file, archive);
  await run("tar", ["-xzf", file, "-C", folder, "--strip-components=1"]);
  await fs.rm(file);
}

/** The answer has to begin within seconds; its body may take longer. */
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

/**
 * The Go to build with.
 *
 * @throws when PATH has none that is new enough; the message begins with what needs it.
 */
export async function findGo(what: string, env = process.env): Promise<string> {
  const go = await findProgram("go", pathFolders(env));
  const done = go ? await run(go, ["version"], { env }).catch(() => null) : null;
  const version = done?.stdout.match(/go(\d+\.\d+(\.\d+)?)/)?.[1];
  if (go && version && atLeast(version, oldestGo)) return go;
  const found = version ? `not ${version}` : "which is not on PATH";
  throw new Error(`${what} needs Go ${oldestGo} or newer, ${found}.`);
}

/**
 * The variables of every build with Go here. Without debug information a build takes a sixth less
 * time. Builds with equal flags share the packages that they compile.
 */
export const goEnv = (env = process.env): NodeJS.ProcessEnv => ({
  ...env,
  CGO_ENABLED: "0",
  GOWORK: "off",
  GOFLAGS: `${env.GOFLAGS ?? ""} -mod=readonly -trimpath '-ldflags=-s -w' -gcflags=all=-dwarf=false`,
});

async function build(folder: string, go: string, env: NodeJS.ProcessEnv, log: Log): Promise<void> {
  const npm = path.dirname(require.resolve("@pulumi/pulumi/package.json"));
  const script = path.join(__dirname, "pulumi-cli", "build.sh");
  log(`Building the Pulumi CLI ${pulumiVersion}, which takes some minutes`);
  const timer = setInterval(() => log("Still building"), 15_000);
  try {
    await run("sh", [script, go, folder, pulumiVersion, npm], {
      env: goEnv(env),
      maxBuffer: 1 << 26,
    });
  } catch (error) {
    const { stderr } = error as { stderr: string };
    throw new Error(`Building the Pulumi CLI failed. ${install}, or see:\n${stderr}`);
  } finally {
    clearInterval(timer);
  }
}
