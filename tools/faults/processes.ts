import { execFileSync } from "node:child_process";

/** A process of this machine. */
export interface Process {
  pid: number;
  parent: number;
  command: string;
}

/** What a process has started, and what that has, and so on. */
export function descendants(pid: number): Process[] {
  const all = processes();
  const below = (parent: number): Process[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid);
}

/** Those that are still there and still what they were. */
export function left(started: Process[]): Process[] {
  const now = processes();
  return started.filter(({ pid, command }) =>
    now.some((one) => one.pid === pid && one.command === command),
  );
}

/** Ends those that are left. */
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

/** The process of the dynamic providers, among those that an engine has started. */
export function providerOf(started: Process[]): number {
  const provider = started.find(({ command }) => /dynamic-provider\/index\.js/.test(command));
  if (!provider) throw new Error("the engine has no dynamic-provider process");
  return provider.pid;
}
