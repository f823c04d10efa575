import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import ours from "../package.json";
import { newFolder, repository } from "./folders";

const run = promisify(execFile);

/** Runs a command line, split at its spaces; gives its output. */
export async function sh(line: string, cwd: string, env = process.env): Promise<string> {
  const [command = "", ...args] = line.split(" ");
  try {
    const options = { cwd, env, maxBuffer: 1 << 26, timeout: 300_000 };
    const { stdout, stderr } = await run(command, args, options);
    return stdout + stderr;
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & Record<string, string>;
    throw new Error(`${line}\n${stdout}${stderr || message}`);
  }
}

/** Packs this package, or a workspace, as it is built; gives the tarball's path. */
export async function pack(from: string): Promise<string> {
  const folder = newFolder();
  const env = { ...process.env, npm_config_pack_destination: folder };
  await sh("npm pack --silent --ignore-scripts", path.join(repository, from), env);
  const [tarball] = await readdir(folder);
  return path.join(folder, String(tarball));
}

/**
 * Serves the tarball of this package on loopback as a registry does after a release. For all other
 * packages it names the registry that npm is set to.
 */
export async function startRegistry(tarball: string) {
  const upstream = (await sh("npm config get registry --silent", repository)).trim();
  const file = await readFile(tarball);
  const integrity = `sha512-${createHash("sha512").update(file).digest("base64")}`;
  const { name, version } = ours;
  const server = createServer(({ url: at = "/" }, response) => {
    if (at === `/${name}.tgz`) {
      response.end(file);
    } else if (at === `/${name}`) {
      const dist = { tarball: `${url}${name}.tgz`, integrity };
      const versions = { [version]: { ...ours, dist } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
    } else {
      response.writeHead(302, { location: new URL(at.slice(1), upstream).href }).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
