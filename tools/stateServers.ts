import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { newFolder } from "./folders";
import { goProgram } from "./goProgram";
import { freePort, listens, serve } from "./processes";
import { findProgram, pathFolders, run } from "./pulumi";

/** A server that keeps the state of stacks, on loopback. */
export interface StateServer {
  /** What the CLI needs to use it. */
  env: { PULUMI_BACKEND_URL: string } & NodeJS.ProcessEnv;
  /** The password of its only user. */
  password: string;
  /** All that it keeps: texts by key. */
  stored(): Promise<Record<string, string>>;
  /** Stops it, and removes what it has kept. */
  close(): Promise<void>;
}

/**
 * The folder of PostgreSQL's programs: one of PATH, or that of Debian's newest package, whose server
 * is not on PATH. Undefined when there is none.
 */
export async function findPostgres(): Promise<string | undefined> {
  const debian = "/usr/lib/postgresql";
  const versions = await readdir(debian).catch(() => []);
  const newest = versions.sort((a, b) => Number(b) - Number(a));
  const folders = newest.map((version) => path.join(debian, version, "bin"));
  const initdb = await findProgram("initdb", [...pathFolders(process.env), ...folders]);
  return initdb && path.dirname(await realpath(initdb));
}

/**
 * Starts a PostgreSQL server of its own, which listens on a socket in a new folder.
 *
 * @param programs What `findPostgres` gave.
 */
export async function startPostgres(programs: string): Promise<StateServer> {
  const folder = newFolder();
  const [data, passwordFile] = [path.join(folder, "data"), path.join(folder, "password")];
  const password = randomBytes(24).toString("hex");
  await writeFile(passwordFile, password);
  const user = await unprivileged();
  if (user) {
    await chmod(path.dirname(folder), 0o711);
    for (const owned of [folder, passwordFile]) await chown(owned, user.uid, user.gid);
  }
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: "C" } };
  const program = (name: string) => path.join(programs, name);
  const access = ["-U", "pulumi", "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  await run(program("initdb"), ["-D", data, "-E", "UTF8", "--no-sync", ...access], options);
  const settings = ["listen_addresses=", `unix_socket_directories=${folder}`];
  const args = ["-D", data, "-F", ...settings.flatMap((setting) => ["-c", setting])];
  const isReady = (printed: string) => printed.includes("ready to accept connections");
  const stop = await serve(program("postgres"), args, options, isReady);
  // The table is the CLI's: a JSON document per key, with the bytes in base64.
  const query = `SELECT json_object_agg(key, convert_from(decode(data->>'data', 'base64'), 'UTF8'))
    FROM pulumi_state`;
  return {
    env: {
      PULUMI_BACKEND_URL: `postgres://pulumi@/postgres?host=${encodeURIComponent(folder)}`,
      PGPASSWORD: password,
    },
    password,
    async stored() {
      const connection = ["-h", folder, "-U", "pulumi", "-d", "postgres"];
      const env = { ...options.env, PGPASSWORD: password };
      const args = [...connection, "-AtX", "-c", query];
      const { stdout } = await run(program("psql"), args, { env, maxBuffer: 1 << 26 });
      return JSON.parse(stdout);
    },
    async close() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** PostgreSQL refuses to run as root: it then runs as `nobody`. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = async (flag: string) => Number((await run("id", [flag, "nobody"])).stdout);
  return { uid: await idOf("-u"), gid: await idOf("-g") };
}

/** The S3-compatible server. */
const versitygw = {
  source: "github.com/versity/versitygw/cmd/versitygw",
  version: "v1.8.0",
};

/**
 * Builds versitygw, once for all processes, and starts one with the empty bucket `state`.
 *
 * @throws where there is no Go to build it with.
 */
export async function startS3(): Promise<StateServer> {
  const program = await goProgram(versitygw.source, versitygw.version);
  const folder = newFolder();
  const [data, metadata] = [path.join(folder, "data"), path.join(folder, "metadata")];
  const bucket = path.join(data, "state");
  await mkdir(bucket, { recursive: true });
  await mkdir(metadata);
  const [user, password] = ["pulumi", randomBytes(24).toString("hex")];
  const port = await freePort();
  // Its own place for metadata: not each file system has extended attributes.
  const args = ["--port", `127.0.0.1:${port}`, "posix", "--sidecar", metadata, data];
  const env = { ...process.env, ROOT_ACCESS_KEY: user, ROOT_SECRET_KEY: password };
  const stop = await serve(program, args, { cwd: folder, env }, () => listens(port));
  const query = new URLSearchParams({
    endpoint: `http://127.0.0.1:${port}`,
    s3ForcePathStyle: "true",
    region: "us-east-1",
  });
  return {
    env: {
      PULUMI_BACKEND_URL: `s3://state?${query}`,
      AWS_ACCESS_KEY_ID: user,
      AWS_SECRET_ACCESS_KEY: password,
    },
    password,
    async stored() {
      const entries = await readdir(bucket, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      const texts = files.map(async ({ parentPath, name }) => {
        const file = path.join(parentPath, name);
        return [path.relative(bucket, file), await readFile(file, "utf8")];
      });
      return Object.fromEntries(await Promise.all(texts));
    },
    async close() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}
