import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import fs, { constants } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

/** The version that is installed or built when PATH has no Pulumi CLI to use. */
export const pulumiVersion = "3.274.1";

/** Where that is in the cache. The last number grows with what is built. */
const cacheName = `pulumi-${pulumiVersion}-1`;

/** The oldest CLI on PATH that is used: the package's own lower bound for `@pulumi/pulumi`. */
const oldestVersion = "3.216.0";

/** A Pulumi CLI that can run Node.js programs. */
export interface PulumiCli {
  /** Absolute path of `pulumi`. */
  command: string;
  /** Its environment: its plugins and this process's `node` come first on PATH. */
  env: NodeJS.ProcessEnv;
  version: string;
  /** One on PATH has its own language hosts; those in the cache are built when they are needed. */
  origin: "PATH" | "cache";
}

/** Runs a program; throws when it fails. */
export const run = promisify(execFile);

/**
 * The Pulumi CLI: from PATH, else from the cache. What is there comes from Pulumi's own installer, or
 * where that can't be reached from a build with Go, which takes minutes. Progress is on stderr.
 *
 * @throws when there is no CLI and no way to make one; the message says what to install.
 * @example const { command, env } = await findOrBuildPulumi();
 */
export async function findOrBuildPulumi(): Promise<PulumiCli> {
  const onPath = await findProgram("pulumi", pathFolders(process.env));
  const version = onPath && (await versionOf(onPath));
  const isNew = version && version.localeCompare(oldestVersion, undefined, { numeric: true }) >= 0;
  if (onPath && isNew) return { command: onPath, env: environment(), version, origin: "PATH" };
  if (onPath) console.error(`${onPath} is not used: its version is ${version ?? "unknown"}`);

  const folder = cacheFolder(process.env, cacheName);
  await fillOnce(folder, install);
  const command = path.join(folder, "pulumi");
  return { command, env: environment(folder), version: pulumiVersion, origin: "cache" };
}

/**
 * Called by mocha once, before its worker processes start. Each would otherwise build the same at the
 * same time, and its hooks would meet their timeouts.
 */
export async function mochaGlobalSetup(): Promise<void> {
  await findOrBuildPulumi();
}

async function versionOf(command: string): Promise<string | undefined> {
  const done = await run(command, ["version"], { env: environment() }).catch(() => undefined);
  return done?.stdout.match(/\d+\.\d+\.\d+\S*/)?.[0];
}

function environment(...first: string[]): NodeJS.ProcessEnv {
  const folders = [...first, path.dirname(process.execPath), ...pathFolders(process.env)];
  return { ...process.env, PATH: folders.join(path.delimiter), PULUMI_SKIP_UPDATE_CHECK: "true" };
}

/** What Pulumi's documentation says to do. */
const official = `
  cd "$0"
  curl --fail --silent --show-error --location --max-time 20 --output install.sh https://get.pulumi.com/
  sh install.sh --no-edit-path --install-root "$0/official" --version "$1"
  mv official/bin/* .
  rm -r official install.sh`;

async function install(folder: string): Promise<void> {
  const sh = (...args: string[]) =>
    execFileSync("sh", args, { env: goEnv(), stdio: ["ignore", process.stderr, process.stderr] });
  try {
    sh("-ec", official, folder, pulumiVersion);
  } catch {
    const go = await findGo("Install the CLI (https://www.pulumi.com/docs/install/): a build here");
    console.error(
      `Building the Pulumi CLI ${pulumiVersion}, which takes some minutes. CONTRIBUTING.md says what it lacks`,
    );
    const npm = path.dirname(require.resolve("@pulumi/pulumi/package.json"));
    sh(path.join(__dirname, "pulumi-cli", "build.sh"), go, folder, pulumiVersion, npm);
  }
}

/** The folders of PATH. */
export function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env.PATH ?? "").split(path.delimiter).filter(Boolean);
}

/** The path of a program that is in one of the folders. */
export async function findProgram(name: string, folders: string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const file = path.resolve(folder, process.platform === "win32" ? `${name}.exe` : name);
    const isProgram = fs.access(file, constants.X_OK).then(() => fs.stat(file));
    if (await isProgram.then((found) => found.isFile()).catch(() => false)) return file;
  }
  return undefined;
}

/** A folder for what is made once for all processes: `fillOnce` fills it. */
export function cacheFolder(env: NodeJS.ProcessEnv, name: string): string {
  const cache = env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
  return path.resolve(env.TLSEDGE_PULUMI_CACHE || path.join(cache, "pulumi-tlsedge"), name);
}

/** Fills a folder that does not exist. What it is filled with is renamed to it when it is complete. */
export async function fillOnce(
  folder: string,
  fill: (staging: string) => Promise<unknown>,
): Promise<void> {
  if (existsSync(folder)) return;
  await fs.mkdir(path.dirname(folder), { recursive: true });
  const staging = await fs.mkdtemp(`${folder}.`);
  try {
    await fill(staging);
    await fs.rename(staging, folder).catch((error) => {
      // Another process may have been first.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await fs.rm(staging, { recursive: true, force: true });
  }
}

/**
 * The Go to build with. One that is too old says so, or gets the version that go.mod names.
 *
 * @throws when PATH has none; the message begins with what needs it.
 */
export async function findGo(what: string): Promise<string> {
  const go = await findProgram("go", pathFolders(process.env));
  if (!go) throw new Error(`${what} needs Go, which is not on PATH.`);
  return go;
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
