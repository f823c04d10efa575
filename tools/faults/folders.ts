import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const root = mkdtempSync(path.join(tmpdir(), "tlsedge-faults-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
// Otherwise a signal ends the process with no exit event.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** A folder that is there until the process ends. */
export function newFolder(): Promise<string> {
  return mkdtemp(path.join(root, "f"));
}

/** Lets what runs in a folder, or below it, find this repository's modules. */
export function linkModules(folder: string): Promise<void> {
  const modules = path.join(process.cwd(), "node_modules");
  return symlink(modules, path.join(folder, "node_modules"), "junction");
}
