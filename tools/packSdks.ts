import fs from "node:fs/promises";
import path from "node:path";
import { create } from "tar";
import { version } from "../package.json";
import { runTool } from "./command";
import { linkModules, repository } from "./folders";
import { archivesFolder, writeSums } from "./packPlugin";
import { pulumiVersion, run } from "./pulumi";
import { pack } from "./tarball";

const usage = `npm run pack:sdks

Packs the SDKs that \`pulumi package gen-sdk plugin/schema.json --out plugin/sdks\` has written.
plugin/archives gets a wheel for Python, a package for npm, and the sources for C# and Java, and the
npm packages of this repository as they are built. The module for Go stays in its folder: a release
gives it a tag. Needs python3 with pip, and Go.`;

/** How the SDK of a language is packed: from its folder, into another one. */
const packers: Record<string, (sdk: string, folder: string) => Promise<void>> = {
  dotnet: packSources,
  java: async (sdk, folder) => {
    // The SDK reads it. Gradle writes it when it builds; Maven does not.
    const resources = path.join(sdk, "src", "main", "resources", "com", "pulumi", "tlsedge");
    await fs.mkdir(resources, { recursive: true });
    await fs.writeFile(path.join(resources, "version.txt"), version);
    await packSources(sdk, folder);
  },
  nodejs: async (sdk, folder) => {
    await compileNodeSdk(sdk);
    await run("npm", ["pack", "--silent", "--pack-destination", folder], {
      cwd: path.join(sdk, "bin"),
    });
  },
  python: (sdk, folder) => packWheel("python3", sdk, folder),
  // The generator requires a version of Pulumi's SDK that its code does not compile with.
  go: async (sdk) => {
    const pulumi = `github.com/pulumi/pulumi/sdk/v3@v${pulumiVersion}`;
    await run("go", ["mod", "edit", `-require=${pulumi}`], { cwd: sdk });
  },
};

function packSources(sdk: string, folder: string): Promise<void> {
  const file = `pulumi-tlsedge-${path.basename(sdk)}-v${version}.tar.gz`;
  return create({ gzip: true, portable: true, cwd: sdk, file: path.join(folder, file) }, ["."]);
}

/** Compiles a generated SDK. What is published is its folder `bin`. */
export async function compileNodeSdk(sdk: string): Promise<void> {
  await linkModules(sdk);
  await run(process.execPath, [require.resolve("typescript/bin/tsc"), "--project", sdk]);
  await fs.copyFile(path.join(sdk, "package.json"), path.join(sdk, "bin", "package.json"));
}

/** Builds the wheel of a generated SDK into a folder. */
export async function packWheel(
  python: string,
  sdk: string,
  folder: string,
  ...options: string[]
): Promise<void> {
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", ...options];
  await run(python, ["-m", "pip", "wheel", ...quiet, "--wheel-dir", folder, sdk]);
}

/**
 * Packs the SDKs of all languages that a folder has, and the npm packages; gives the checksums of all
 * files.
 */
export async function packSdks(sdks: string, folder: string): Promise<string> {
  await fs.mkdir(folder, { recursive: true });
  for (const from of [".", "emulator", "policy"]) {
    const tarball = await pack(from);
    await fs.copyFile(tarball, path.join(folder, path.basename(tarball)));
  }
  for (const language of await fs.readdir(sdks)) {
    await packers[language]?.(path.join(sdks, language), folder);
  }
  return writeSums(folder);
}

if (require.main === module)
  runTool(usage, async () =>
    console.log(await packSdks(path.join(repository, "plugin", "sdks"), archivesFolder)),
  );
