import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { enginePort, isProcessAlive } from "./engine";
import { folder as notesFolder } from "./pendingCreates";

/**
 * Which objects the resources of a run adopt, in a file for each provider process. When the
 * provider's own record is replaced, the engine starts two processes: the new provider adopts, the
 * old one deletes. The files tell the old one what it must not delete. A file is named after the
 * process and the port of its engine, which both processes share.
 */
const folder = () => join(notesFolder(), "adopted");

const noted = new Set<string>();
let hasWarned = false;

/** Tells the other provider processes of this run that an object is adopted. */
export function noteAdopted(object: string): void {
  if (enginePort() === 0 || noted.has(object)) return;
  const isFirst = noted.size === 0;
  noted.add(object);
  try {
    if (isFirst) {
      mkdirSync(folder(), { recursive: true, mode: 0o700 });
      removeOld();
    }
    const file = join(folder(), `${process.pid}.${enginePort()}`);
    writeFileSync(file, `${object}\n`, { flag: isFirst ? "w" : "a" });
  } catch (error) {
    if (hasWarned) return;
    hasWarned = true;
    console.error(
      `warning: what is adopted can't be noted (${(error as Error).message}). Until that is mended, ` +
        "don't replace the provider's own record (`--replace '**'`): it would delete adopted objects",
    );
  }
}

/** Whether another provider process of this run has noted that the object is adopted. */
export function isNotedAsAdopted(object: string): boolean {
  if (enginePort() === 0) return false;
  try {
    return readdirSync(folder())
      .filter((file) => isOfLiveProcess(file) && file.endsWith(`.${enginePort()}`))
      .some((file) => readFileSync(join(folder(), file), "utf8").split("\n").includes(object));
  } catch {
    // No folder: nothing has been adopted.
    return false;
  }
}

function removeOld(): void {
  for (const file of readdirSync(folder())) {
    if (!isOfLiveProcess(file)) rmSync(join(folder(), file), { force: true });
  }
}

const isOfLiveProcess = (file: string) => isProcessAlive(Number(file.split(".")[0]));
