import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { version } from "../package.json";
import { newFolder, repository, sharedFolder } from "./folders";
import { fillOnce, run } from "./pulumi";

/** Runs a command line, split at its spaces; gives its output. */
export async function sh(line: string, cwd: string, env = process.env): Promise<string> {
  const [command = "", ...args] = line.split(" ");
  try {
    const { stdout, stderr } = await run(command, args, { cwd, env, maxBuffer: 1 << 26 });
    return stdout + stderr;
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & Record<string, string>;
    throw new Error(`${line}\n${stdout}${stderr || message}`);
  }
}

/** This machine, as the engine calls it in the name of a plugin's archive. */
export const platform = `${process.platform === "win32" ? "windows" : process.platform}-${
  process.arch === "x64" ? "amd64" : process.arch
}`;
export const pluginArchive = `pulumi-resource-tlsedge-v${version}-${platform}.tar.gz`;

/** A folder with the archive of the plugin for this machine, which is packed once in a run. */
export async function packPlugin(): Promise<string> {
  const archives = sharedFolder("archives");
  await fillOnce(archives, (folder) => sh(`tools/pack.sh ${folder} ${platform}`, repository));
  return archives;
}

/** Serves the files of a folder, each below any path; `requested` has the paths of all requests. */
export async function serveFolder(folder: string) {
  const requested: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    requested.push(url);
    const file = path.join(folder, path.basename(url));
    response.statusCode = existsSync(file) ? 200 : 404;
    response.end(existsSync(file) ? readFileSync(file) : "");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, requested, close };
}

/** Settings of npm that only save time. */
export const quickNpm = {
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_prefer_offline: "true",
};

/** Packs this package, or a workspace, as it is built and published; gives the tarball's path. */
export async function pack(from: string): Promise<string> {
  const folder = newFolder();
  const line = `npm pack --silent --ignore-scripts --pack-destination ${folder}`;
  await sh(line, path.join(repository, from));
  const [name = ""] = await readdir(folder);
  return path.join(folder, name);
}

/** Commits this repository as it is into a new one; gives the URL that npm installs it from. */
export async function gitUrl(): Promise<string> {
  const folder = newFolder();
  const git = (command: string) =>
    sh(`git --git-dir=${folder} --work-tree=${repository} ${command}`, repository);
  await sh(`git init --quiet --bare ${folder}`, repository);
  await git("add --all");
  await git("-c user.name=test -c user.email=test commit --quiet --message=test");
  return `git+file://${folder}`;
}
