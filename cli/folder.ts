import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { listed } from "../provider/log";

/**
 * Refuses a folder that is not empty.
 *
 * @throws Error that names some entries of the folder.
 */
export function refuseTaken(folder: string): void {
  const found = entriesOf(folder)?.sort() ?? [];
  if (found.length === 0) return;
  throw new Error(`${folder} is not empty: it has ${listed(found)}. Name a new or empty folder`);
}

/** The entries of a folder; undefined when there is no such folder. */
function entriesOf(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ENOTDIR") throw new Error(`${folder} is a file, not a folder`);
    throw error;
  }
}

/**
 * Writes files into a new or empty folder: all of them or none.
 *
 * @throws Error when the folder is no longer empty, or a file can't be written.
 */
export function writeFolder(folder: string, files: Map<string, string>): void {
  const whole = resolve(folder);
  const partial = `${whole}.partial-${randomBytes(4).toString("hex")}`;
  try {
    for (const [path, text] of files) {
      const file = join(partial, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { flag: "wx" });
    }
    refuseTaken(folder);
    if (entriesOf(folder)) moveInto(whole, partial);
    else renameSync(partial, whole);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Moves files into an existing folder. It may be a shell's working folder, so it is kept. */
function moveInto(folder: string, partial: string): void {
  const moved: string[] = [];
  try {
    for (const entry of readdirSync(partial)) {
      renameSync(join(partial, entry), join(folder, entry));
      moved.push(entry);
    }
    rmdirSync(partial);
  } catch (error) {
    for (const entry of moved) rmSync(join(folder, entry), { recursive: true });
    throw error;
  }
}
