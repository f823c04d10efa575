import { readdir } from "node:fs/promises";
import path from "node:path";
import { cacheFolder, fillOnce, findGo, goEnv, run } from "./pulumi";

/**
 * A program that is published as a Go module, built once for all processes. The first call takes up
 * to minutes, and its progress is on stderr.
 *
 * @param source The package of the program and the version of its module.
 * @returns the path of the program.
 * @throws where there is no Go, and when it can't be built.
 * @example await goProgram("github.com/letsencrypt/pebble/v2/cmd/pebble", "v2.10.1");
 */
export async function goProgram(source: string, version: string) {
  const name = path.basename(source);
  const folder = cacheFolder(process.env, `${name}-${version}`);
  const isBuilt = async () => (await readdir(folder).catch(() => [])).length > 0;
  if (await isBuilt()) return path.join(folder, name);
  const go = await findGo(`Building ${name}`);
  console.error(`Building ${name} ${version}`);
  const holds = async (built: string) => (await readdir(built)).includes(name);
  await fillOnce(folder, holds, async (staging) => {
    const env = { ...goEnv(), GOBIN: staging };
    await run(go, ["install", `${source}@${version}`], { env, maxBuffer: 1 << 26 });
  });
  return path.join(folder, name);
}
