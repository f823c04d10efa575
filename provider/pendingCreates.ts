import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import createDebug from "debug";

const debug = createDebug("pulumi-tlsedge:pendingCreates");

/**
 * Requests to make something, a file each, as long as it is not known what became of them.
 * A process that dies leaves its own behind: the engine tells the next one nothing of an update that
 * was cut off, and a list to look through in every update would cost a request. On another machine
 * nothing is known.
 */
const folder = () => join(process.env.PULUMI_HOME || join(homedir(), ".pulumi"), "tlsedge");

let asked = 0;

/** A request whose outcome its process can't tell any more. */
export interface Unheard {
  /** When it was made, by our clock, in milliseconds. */
  asked: number;
  /** The ids of what its process has made otherwise. */
  made: string[];
  /** It is not to be told of again. */
  forget(): void;
}

/** What a process notes of a request of its own. */
export interface Noted {
  /** It is known what became of it. */
  settle(): Promise<void>;
  /** It is not, and won't be; these are what the process has made otherwise. */
  keep(made: string[]): void;
}

/** Notes that this is asked for now. */
export function note(content: string): Noted {
  const file = `${hashOf(content)}.${process.pid}.${enginePort()}.${++asked}`;
  const written = attempt(() => {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder(), file), "");
    return true;
  });
  return {
    async settle() {
      // Else nobody hears: a provider outlives an engine that was killed.
      if (written && (await isHeard())) forget(file);
    },
    keep: (made) => void attempt(() => writeWithItsTime(join(folder(), file), made.join("\n"))),
  };
}

/** A file's time tells when it was asked. */
function writeWithItsTime(file: string, text: string): void {
  const { atime, mtime } = statSync(file);
  writeFileSync(file, text);
  utimesSync(file, atime, mtime);
}

/** What processes that are gone, or that nobody hears, asked for with the same content. */
export async function unheard(content: string): Promise<Unheard[]> {
  const found: Unheard[] = [];
  for (const file of attempt(() => readdirSync(folder())) ?? []) {
    const [hash, pid, port] = file.split(".");
    if (hash !== hashOf(content)) continue;
    if (isAlive(Number(pid)) && (await isHeard(Number(port)))) continue;
    const seen = attempt(() => ({
      asked: statSync(join(folder(), file)).mtimeMs,
      made: readFileSync(join(folder(), file), "utf8").split("\n").filter(Boolean),
    }));
    if (seen) found.push({ ...seen, forget: () => forget(file) });
  }
  return found;
}

function hashOf(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

function forget(file: string): void {
  attempt(() => rmSync(join(folder(), file), { force: true }));
}

/** Undefined where files can't be kept: that is no reason to make nothing. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    debug("%s", (error as Error).message);
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The engine starts a provider with its own address; 0 where this is no provider's process. */
function enginePort(): number {
  return Number(/^127\.0\.0\.1:(\d+)$/.exec(process.argv[2] ?? "")?.[1] ?? 0);
}

/** Whether the engine at this port is there; what has none is heard by whoever called it. */
export function isHeard(port = enginePort()): Promise<boolean> {
  if (port === 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const settle = (heard: boolean) => {
      socket.destroy();
      resolve(heard);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}
