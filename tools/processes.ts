import { execFileSync } from "node:child_process";
import { setTimeout } from "node:timers/promises";

/** A process of this machine. */
export interface Process {
  pid: number;
  parent: number;
  command: string;
}

/** All descendants of a process. */
export function descendants(pid: number): Process[] {
  const all = processes();
  const below = (parent: number): Process[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid);
}

/** The processes that still run; a pid that another process has now does not count. */
export function left(started: Process[]): Process[] {
  const now = processes();
  return started.filter(({ pid, command }) =>
    now.some((one) => one.pid === pid && one.command === command),
  );
}

/** Kills the processes that still run. */
export function end(started: Process[]): void {
  for (const { pid } of left(started)) process.kill(pid, "SIGKILL");
}

function processes(): Process[] {
  const listed = execFileSync("ps", ["-A", "-ww", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  return listed.split("\n").flatMap((line) => {
    const [, pid, parent, command = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid ? [{ pid: Number(pid), parent: Number(parent), command }] : [];
  });
}

/** Waits until a condition holds, or until the work has ended. */
export async function until(holds: () => boolean, work: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  work.then(end, end);
  while (!hasEnded && !holds()) await setTimeout(2);
}
