import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const mostNamed = 5;

/**
 * Refuses a folder in which anything stands.
 *
 * @throws Error that names what stands there.
 */
export function refuseTaken(folder: string): void {
  const found = entriesOf(folder)?.sort() ?? [];
  if (found.length === 0) return;
  const more = found.length > mostNamed ? ` and ${found.length - mostNamed} more` : "";
  throw new Error(
    `${folder} is not empty, and nothing in it is overwritten: it has ` +
      `${found.slice(0, mostNamed).join(", ")}${more}. Name a folder that is new`,
  );
}

/** What stands in a folder; undefined when there is no such folder. */
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
 * Writes files into a folder that is new or empty: all of them or none.
 *
 * @throws Error when something stands there by now, or when the disk refuses.
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

/** Into a folder that is there: it may be the one that a shell stands in. */
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
