import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Emulator } from "../emulator/server";

/** The root of the repository. */
export const repository = path.join(__dirname, "..");

let parent: string | undefined;

/** A new temporary folder; it is removed when the process ends. All paths have the same length. */
export function newFolder(): string {
  parent ??= newParent();
  return mkdtempSync(path.join(parent, "f"));
}

function newParent(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "tlsedge-")));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  // Without a handler a signal ends the process with no exit event.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  return folder;
}

/** A path that all processes of a run of mocha have in common: `fillOnce` (pulumi.ts) fills it. */
export function sharedFolder(name: string): string {
  return path.join(process.env.TLSEDGE_TEST_SHARED ?? newFolder(), name);
}

/** Makes this repository's modules visible to what runs in a folder or below it. */
export function linkModules(folder: string): Promise<void> {
  const modules = path.join(repository, "node_modules");
  return symlink(modules, path.join(folder, "node_modules"), "junction");
}

/**
 * The variables for commands of the CLI against an emulator. The folder holds Pulumi's home, the
 * state and the emulator's CA.
 */
export async function environment(folder: string, emulator: Emulator): Promise<NodeJS.ProcessEnv> {
  const inFolder = (name: string) => path.join(folder, name);
  await mkdir(inFolder("state"), { recursive: true });
  await writeFile(inFolder("ca.pem"), emulator.ca);
  return {
    PULUMI_HOME: inFolder("home"),
    PULUMI_BACKEND_URL: `file://${inFolder("state")}`,
    // The state fixtures of the tests are encrypted with it.
    PULUMI_CONFIG_PASSPHRASE: "acceptance",
    TLSEDGE_BASE_URL: emulator.url,
    TLSEDGE_API_KEY: emulator.apiKey,
    TLSEDGE_CA_FILE: inFolder("ca.pem"),
  };
}
