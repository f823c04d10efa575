import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import createDebug from "debug";
import { enginePort, isEngineAlive, isProcessAlive } from "./engine";

const debug = createDebug("pulumi-tlsedge:pendingCreates");

/** Where the processes of one machine keep their notes. */
export const folder = () => join(process.env.PULUMI_HOME || join(homedir(), ".pulumi"), "tlsedge");

/** A note that nobody has asked for by then is removed. */
const longestKeptMs = 7 * 24 * 3600 * 1000;
/**
 * So long the id of an answered create stays noted at least. Another process looks for what was
 * made since it sent its own request, less what the two clocks may differ by: a few seconds.
 */
const shortestKeptMs = 10_000;

/** By then a live engine has stored what a create has answered, on a slow state backend too. */
const storedAfterMs = 30_000;

/** The file of one process and one content. */
interface Note {
  /** When the oldest request was sent of which it isn't known what it made; undefined: none. */
  since?: number;
  /** `sent`: an answer may come. `lost`: none will, the process looks for what was made. `over`. */
  state: "sent" | "lost" | "over";
  /** The ids of what the process has made of this content. */
  made: string[];
  /** Ids that the engine may not have stored yet. If the process dies now, no state has them. */
  answered: string[];
  /** When this was written. */
  at: number;
}

/** What another process has noted of its creates of the same content. */
export interface OtherCreate {
  /** The ids of what it has made. */
  made: string[];
  /** Those of them that no state may have, as its process died before the engine stored them. */
  unstored: string[];
  /** When the oldest request was sent of which it isn't known what it made; undefined: none. */
  since: number | undefined;
  /**
   * `before`: wait for that process. `after`: it waits for this one. `over`: it has no create under
   * way. `died`: its process has ended.
   */
  turn: "before" | "after" | "over" | "died";
  /** Removes the note. */
  forget(): void;
}

/**
 * The creates of one content in this process, which run one after another, as a file that other
 * processes of the machine read. It says which requests are pending, and, when the process has
 * died, may have made something that no state holds: the engine tells the next process nothing of
 * an update that was cut off. It also says which ids are taken, so that processes that make the
 * same at the same time don't take each other's. Other machines see none of it.
 */
export class PendingCreate {
  readonly #hash: string;
  readonly #file: string;
  readonly #made: string[] = [];
  #answered: string[] = [];
  #state: Note["state"] = "over";
  #since: number | undefined;
  /** The oldest of those that have failed and may yet make something. */
  #givenUp: number | undefined;

  constructor(content: string) {
    this.#hash = createHash("sha256").update(content).digest("hex");
    this.#file = `${this.#hash}.${process.pid}.${enginePort()}`;
  }

  /** When the first request was sent of which it isn't known what it made. */
  get since(): number {
    return this.#since ?? Date.now();
  }

  /** The request is sent now. */
  sent(): void {
    this.#since ??= Date.now();
    this.#write("sent");
  }

  /** Its answer is lost. */
  lost(): void {
    this.#write("lost");
  }

  /** It is known what it made, if anything. An id is the engine's to store. */
  settle(id?: string): void {
    if (id !== undefined) {
      this.#made.push(id);
      this.#answered.push(id);
      unstored.add(this);
      setTimeout(() => void this.#storedBy(id), storedAfterMs).unref();
    }
    this.#state = "over";
    this.#forgetTime();
    this.#write("over");
  }

  /** It has failed, and it isn't known what it made. */
  giveUp(): void {
    // The one that failed may be refused, and the ones before it answered.
    if (this.#state !== "over") this.#givenUp ??= this.#since;
    this.#write("over");
  }

  /** The engine has stored what was answered: it is alive, or ends this process in order. */
  stored(): void {
    this.#answered = [];
    unstored.delete(this);
    this.#forgetTime();
    this.#write(this.#state);
  }

  async #storedBy(id: string): Promise<void> {
    if (this.#answered.at(-1) === id && (await isEngineAlive())) this.stored();
  }

  #forgetTime(): void {
    if (this.#state === "over" && this.#answered.length === 0) this.#since = this.#givenUp;
  }

  /** What other processes have noted of the same content. */
  async others(): Promise<OtherCreate[]> {
    sweep();
    const others = notesOf(this.#hash).filter(({ file }) => file !== this.#file);
    return Promise.all(
      others.map(async (note) => {
        const { made, since, file, answered = [] } = note;
        const [, pid, port] = file.split(".").map(Number) as [number, number, number];
        const isLive = isProcessAlive(pid) && (await isEngineAlive(port));
        return {
          made,
          unstored: isLive ? [] : answered,
          since,
          turn: isLive ? this.#turnOf(note, pid) : "died",
          forget: () => forget(file),
        };
      }),
    );
  }

  /** Who is still to be answered is waited for; of those who look, who sent first may take first. */
  #turnOf({ state, since = 0 }: Note, pid: number): OtherCreate["turn"] {
    if (state !== "lost") return state === "sent" ? "before" : "over";
    const own = this.#since ?? Number.POSITIVE_INFINITY;
    return (since - own || pid - process.pid) < 0 ? "before" : "after";
  }

  #write(state: Note["state"]): void {
    this.#state = state;
    if (this.#since === undefined && this.#made.length === 0) {
      forget(this.#file);
      return;
    }
    const note: Note = {
      since: this.#since,
      state,
      made: this.#made,
      answered: this.#answered,
      at: Date.now(),
    };
    attempt(() => {
      mkdirSync(folder(), { recursive: true, mode: 0o700 });
      // Written aside, so that nobody reads half of it.
      const aside = join(folder(), `.${this.#file}`);
      writeFileSync(aside, JSON.stringify(note));
      renameSync(aside, join(folder(), this.#file));
    });
  }
}

/** The creates whose answers the engine may not have stored yet. */
const unstored = new Set<PendingCreate>();

/** Notes that the engine has stored all answers, as it ends this process in order. */
export function noteAllStored(): void {
  for (const one of unstored) one.stored();
}

/** All notes, or those of one content. */
function notesOf(hash = ""): (Note & { file: string })[] {
  const files = attempt(() => readdirSync(folder())) ?? [];
  const named = files.filter((file) => file.startsWith(hash) && !file.startsWith("."));
  return named.flatMap((file) => {
    const text = attempt(() => readFileSync(join(folder(), file), "utf8"));
    const note = attempt(() => JSON.parse(text ?? "") as Note);
    return note ? [{ ...note, file }] : [];
  });
}

let sweptAt = 0;

/** Removes the notes that nobody will ask for: now and then, as it reads all of them. */
function sweep(): void {
  const now = Date.now();
  if (now - sweptAt < shortestKeptMs) return;
  sweptAt = now;
  const oldest = new Map<string, number>();
  const all = notesOf();
  for (const { file, since = now } of all) {
    const hash = hashOf(file);
    oldest.set(hash, Math.min(since, oldest.get(hash) ?? now));
  }
  for (const { file, since, at } of all) {
    // An id is needed by those that sent their request before or soon after it was noted.
    const neededFrom =
      since === undefined
        ? (oldest.get(hashOf(file)) ?? now) - shortestKeptMs
        : now - longestKeptMs;
    if (at < neededFrom) forget(file);
  }
}

function hashOf(file: string): string {
  return file.slice(0, file.indexOf("."));
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
