import { readdir, readFile, readlink } from "node:fs/promises";

const everyMs = 100;

/** How large the provider's process of a project gets, seen from outside; Linux alone tells. */
export function peakMemory(folder: string) {
  let process: string | undefined;
  let peak: number | undefined;
  let busy = false;
  const look = async () => {
    if (busy) return;
    busy = true;
    process ??= await findProvider(folder);
    const kib = process && (await highWater(process));
    if (kib) peak = Math.max(peak ?? 0, kib);
    busy = false;
  };
  const timer = setInterval(look, everyMs);
  return {
    stop: () => clearInterval(timer),
    /** The kernel keeps the maximum itself: only growth in the last moments is missed. */
    peakMiB: () => (peak === undefined ? undefined : peak / 1024),
  };
}

/** The engine starts it in the folder of the project. */
async function findProvider(folder: string): Promise<string | undefined> {
  for (const id of (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    const command = await ifThere(readFile(`/proc/${id}/cmdline`, "utf8"));
    if (!/^\S*node\0[^\0]*dynamic-provider/.test(command ?? "")) continue;
    if ((await ifThere(readlink(`/proc/${id}/cwd`))) === folder) return id;
  }
  return undefined;
}

async function highWater(id: string): Promise<number | undefined> {
  const status = await ifThere(readFile(`/proc/${id}/status`, "utf8"));
  return Number(status?.match(/^VmHWM:\s+(\d+) kB/m)?.[1]) || undefined;
}

/** A process may end between two looks; where there is no /proc, there is nothing to see. */
async function ifThere<T>(looked: Promise<T>): Promise<T | undefined> {
  return looked.catch(() => undefined);
}
