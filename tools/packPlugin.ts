import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { create, type WriteEntry } from "tar";
import { version } from "../package.json";
import { runTool } from "./command";
import { newFolder, repository } from "./folders";

const usage = `npm run pack:plugin

Writes the archives of the plugin and their checksums into plugin/archives. The same Node.js makes
the same bytes of the same commit.`;

const plugin = path.join(repository, "plugin");
const built = path.join(plugin, "dist");

/** What a release holds. */
export const archivesFolder = path.join(plugin, "archives");

/** The systems that the engine asks for, in the words of Go. The files are the same for each. */
const platforms = ["linux", "darwin", "windows"].flatMap((system) =>
  ["amd64", "arm64"].map((architecture) => `${system}-${architecture}`),
);

/** The name that the engine asks a server for, as `linux-amd64`. */
export const archiveName = (platform: string) =>
  `pulumi-resource-tlsedge-v${version}-${platform}.tar.gz`;

const ofBuild = (name: string) => fs.readFile(path.join(built, name));

/** What each archive holds. */
const files: Record<string, (name: string) => Promise<string | Buffer>> = {
  LICENSE: (name) => fs.readFile(path.join(repository, name)),
  "LICENSES-THIRD-PARTY.txt": licenses,
  "components.js": ofBuild,
  "plugin.js": ofBuild,
  "pulumi-resource-tlsedge": ofBuild,
  "pulumi-resource-tlsedge.cmd": ofBuild,
};

/** The licences of the packages that the bundle holds code of. */
async function licenses(): Promise<string> {
  const { outputs } = JSON.parse(await fs.readFile(path.join(built, "meta.json"), "utf8"));
  const bundles = ["dist/plugin.js", "dist/components.js"];
  const inputs = bundles.flatMap((name): [string, { bytesInOutput: number }][] =>
    Object.entries(outputs[name].inputs),
  );
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  const folders = used.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => licenseOf(path.join(plugin, folder)));
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

async function licenseOf(folder: string): Promise<string> {
  const manifest = JSON.parse(await fs.readFile(path.join(folder, "package.json"), "utf8"));
  const title = `${manifest.name} ${manifest.version} (${manifest.license})\n`;
  const names = (await fs.readdir(folder)).filter((name) => /^licen[cs]e/i.test(name)).sort();
  const read = (name: string) => fs.readFile(path.join(folder, name), "utf8");
  if (names.length > 0) return [title, ...(await Promise.all(names.map(read)))].join("\n");
  // Some packages have their licence at the end of the README.
  return [title, (await read("README.md")).match(/^License\n[\s\S]*/m)?.[0]].join("\n");
}

/**
 * Writes an archive for each platform, and SHA256SUMS, into a folder; gives the checksums. The
 * plugin must be built.
 *
 * @example await packPlugin("plugin/archives");
 */
export async function packPlugin(folder: string): Promise<string> {
  const cwd = newFolder();
  for (const [name, content] of Object.entries(files)) {
    await fs.writeFile(path.join(cwd, name), await content(name));
  }
  const first = path.join(cwd, "archive.tar.gz");
  const reproducible = {
    gzip: { level: 9 },
    portable: true,
    mtime: new Date(0),
    // What this system and its umask say of a file does not count: Windows knows no programs.
    onWriteEntry({ path: name, stat }: WriteEntry) {
      if (stat) stat.mode = name.startsWith("pulumi-resource-") ? 0o755 : 0o644;
    },
  };
  await create({ ...reproducible, cwd, file: first }, Object.keys(files));

  await fs.rm(folder, { recursive: true, force: true });
  await fs.mkdir(folder, { recursive: true });
  for (const each of platforms) await fs.copyFile(first, path.join(folder, archiveName(each)));
  return writeSums(folder);
}

/** Writes the checksums of all files of a folder into its SHA256SUMS; gives that text. */
export async function writeSums(folder: string): Promise<string> {
  const names = (await fs.readdir(folder)).filter((name) => name !== "SHA256SUMS").sort();
  const lines = names.map(async (name) => {
    const bytes = await fs.readFile(path.join(folder, name));
    return `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`;
  });
  const text = (await Promise.all(lines)).join("");
  await fs.writeFile(path.join(folder, "SHA256SUMS"), text);
  return text;
}

if (require.main === module)
  runTool(usage, async () => console.log(await packPlugin(archivesFolder)));
