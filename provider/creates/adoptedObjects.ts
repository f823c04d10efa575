import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { enginePort, isProcessAlive } from "../engine";
import { warn } from "../log";
import { folder as notesFolder } from "./journal";

/**
 * The objects that the resources of a run adopt, in one file for each provider process. When the
 * provider's own record is replaced, the engine starts two processes: the new one adopts, the old
 * one deletes. The old one reads the files and does not delete adopted objects. A file is named
 * after its process and the engine's port, which both processes share.
 */
const folder = () => join(notesFolder(), "adopted");

const noted = new Set<string>();
/** Whether the file has every noted object; if not, the next object writes the whole file. */
let isSaved = false;
let hasWarned = false;

/** Notes an adopted object for the other provider processes of this run. */
export function noteAdopted(object: string): void {
  if (enginePort() === 0 || (isSaved && noted.has(object))) return;
  noted.add(object);
  try {
    const file = join(folder(), `${process.pid}.${enginePort()}`);
    if (isSaved) {
      writeFileSync(file, `${object}\n`, { flag: "a", mode: 0o600 });
      return;
    }
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    writeFileSync(file, [...noted].map((one) => `${one}\n`).join(""), { mode: 0o600 });
    isSaved = true;
    removeStale();
  } catch (error) {
    isSaved = false;
    if (hasWarned) return;
    hasWarned = true;
    warn(
      `the ids of adopted objects can't be saved (${(error as Error).message}). Until ` +
        "they can, don't replace the provider's own record (`--replace '**'`), which would " +
        "delete adopted objects",
    );
  }
}

/** Whether a provider process of this run has noted that it adopts the object. */
export function isNotedAsAdopted(object: string): boolean {
  if (enginePort() === 0) return false;
  try {
    return readdirSync(folder())
      .filter((file) => isOfLiveProcess(file) && file.endsWith(`.${enginePort()}`))
      .some((file) => readFileSync(join(folder(), file), "utf8").split("\n").includes(object));
  } catch {
    // No folder: no object was adopted.
    return false;
  }
}

function removeStale(): void {
  for (const file of readdirSync(folder())) {
    if (isOfLiveProcess(file)) continue;
    try {
      rmSync(join(folder(), file), { force: true });
    } catch {
      // A file of a process that has ended does no harm.
    }
  }
}

const isOfLiveProcess = (file: string) => isProcessAlive(Number(file.split(".")[0]));
