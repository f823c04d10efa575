import { randomBytes } from "node:crypto";
import { chmod, chown, readdir, realpath, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { newFolder } from "./folders";
import { serve } from "./processes";
import { findProgram, pathFolders, run } from "./pulumi";

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
 * Starts a PostgreSQL server of its own, with one user, which listens on a socket in a new folder.
 *
 * @param programs What `findPostgres` gave.
 */
export async function startPostgres(programs: string) {
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
  const stop = await serve(program("postgres"), args, options, "ready to accept connections");
  // The table is the CLI's: a JSON document per key, with the bytes in base64.
  const query =
    "SELECT key, convert_from(decode(data->>'data', 'base64'), 'UTF8') FROM pulumi_state";
  return {
    env: {
      PULUMI_BACKEND_URL: `postgres://pulumi@/postgres?host=${encodeURIComponent(folder)}`,
      PGPASSWORD: password,
    },
    password,
    /** All that it keeps: keys and values. */
    async stored() {
      const connection = ["-h", folder, "-U", "pulumi", "-d", "postgres"];
      const env = { ...options.env, PGPASSWORD: password };
      const args = [...connection, "-AtX", "-c", query];
      const { stdout } = await run(program("psql"), args, { env, maxBuffer: 1 << 26 });
      return stdout;
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
