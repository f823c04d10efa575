import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import createDebug from "debug";
import { enginePort, isEngineAlive, isProcessAlive } from "./engine";

const debug = createDebug("pulumi-tlsedge:pendingCreates");

/** The folder of the notes that all processes of a machine share. */
export const folder = () => join(process.env.PULUMI_HOME || join(homedir(), ".pulumi"), "tlsedge");

/** The note of a pending create is removed after this time. */
const maxPendingAgeMs = 7 * 24 * 3600 * 1000;
/**
 * The id of an answered create stays noted for at least this time. Another process searches for
 * objects created since it sent its own request, and the clocks may differ by a few seconds.
 */
const minIdAgeMs = 10_000;

/** After this time a live engine has stored the result of a create, even on a slow backend. */
const storedAfterMs = 30_000;

/** A note: the file of one process about its creates of one content. */
interface Note {
  /** When the oldest request with an unknown result was sent; undefined if there is none. */
  since?: number;
  /** `sent`: awaits an answer. `lost`: searches, because the answer is lost. `over`: no create. */
  state: "sent" | "lost" | "over";
  /** The ids of the objects that the process has created. */
  made: string[];
  /** Ids that the engine may not have stored yet. If the process dies now, no state has them. */
  answered: string[];
  /**
   * By the URN of a resource: the id in `answered` that is the resource's, or null while it is not
   * known what its request has created. Only the plugin knows URNs.
   */
  urns?: Record<string, string | null>;
  /** When the file was written. */
  at: number;
}

/** What another process has noted about its creates of the same content. */
export interface OtherCreate {
  /** The ids of the objects that the process has created. */
  made: string[];
  /** Ids in `made` that may be in no state: the process died, perhaps before they were stored. */
  unstored: string[];
  /** When the oldest request with an unknown result was sent; undefined if there is none. */
  since: number | undefined;
  /** See `Note`. */
  urns: Record<string, string | null>;
  /**
   * `before`: wait for that process. `after`: that process waits for this one. `over`: that process
   * runs no create. `died`: that process has ended.
   */
  turn: "before" | "after" | "over" | "died";
  /** Removes the note, or what it says of one URN. */
  forget(urn?: string): void;
}

/**
 * The note of this process about its creates of one content, which run one after another. The note
 * is a file that other processes of the machine read. It lists pending requests: when the process
 * dies, they may have created an object that is in no state, and the engine does not tell the next
 * process about an interrupted update. It also lists the ids of this process, so that processes
 * that create equal objects at the same time don't take each other's objects. Other machines can't
 * read the note.
 */
export class PendingCreate {
  readonly #hash: string;
  readonly #file: string;
  readonly #made: string[] = [];
  #answered: string[] = [];
  readonly #urns = new Map<string, string | null>();
  #state: Note["state"] = "over";
  #since: number | undefined;
  /** When the oldest failed request that may still create an object was sent. */
  #failedSince: number | undefined;

  constructor(content: string) {
    this.#hash = createHash("sha256").update(content).digest("hex");
    this.#file = `${this.#hash}.${process.pid}.${enginePort()}`;
  }

  /** When the oldest request with an unknown result was sent; now if there is none. */
  get since(): number {
    return this.#since ?? Date.now();
  }

  /** Notes that the request is sent now, or was sent then, for the resource with this URN. */
  sent(urn?: string, since = Date.now()): void {
    this.#since ??= since;
    if (urn) this.#urns.set(urn, null);
    this.#write("sent");
  }

  /** Notes that the answer is lost. */
  lost(): void {
    this.#write("lost");
  }

  /** Notes the result: the id of the created object, or that the request created none. */
  settle(id?: string, urn?: string): void {
    if (urn && id === undefined) this.#urns.delete(urn);
    if (id !== undefined) {
      if (urn) this.#urns.set(urn, id);
      this.#made.push(id);
      this.#answered.push(id);
      unstored.add(this);
      setTimeout(() => void this.#storedBy(id), storedAfterMs).unref();
    }
    this.#state = "over";
    this.#forgetTime();
    this.#write("over");
  }

  /** Notes that the create has failed with an unknown result. */
  giveUp(): void {
    // In state `over` the result is known: the request was refused or not sent.
    if (this.#state !== "over") this.#failedSince ??= this.#since;
    this.#write("over");
  }

  /** Notes that the engine has stored all answers. */
  stored(): void {
    this.#answered = [];
    for (const [urn, id] of this.#urns) if (id !== null) this.#urns.delete(urn);
    unstored.delete(this);
    this.#forgetTime();
    this.#write(this.#state);
  }

  async #storedBy(id: string): Promise<void> {
    if (this.#answered.at(-1) === id && (await isEngineAlive())) this.stored();
  }

  #forgetTime(): void {
    if (this.#state === "over" && this.#answered.length === 0) this.#since = this.#failedSince;
  }

  /** What other processes have noted about the same content. */
  async others(): Promise<OtherCreate[]> {
    sweep();
    const others = notesOf(this.#hash).filter(({ file }) => file !== this.#file);
    return Promise.all(
      others.map(async (note) => {
        const { made, since, file, answered = [], urns = {} } = note;
        const [, pid, port] = file.split(".").map(Number) as [number, number, number];
        const isLive = isProcessAlive(pid) && (await isEngineAlive(port));
        return {
          made,
          unstored: isLive ? [] : answered,
          since,
          urns,
          turn: isLive ? this.#turnOf(note, pid) : "died",
          forget: (urn?: string) => {
            if (urn) delete urns[urn];
            if (urn && Object.keys(urns).length > 0) write(file, note);
            else forget(file);
          },
        };
      }),
    );
  }

  /** First the processes that await an answer, then those that search, earliest sender first. */
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
      urns: Object.fromEntries(this.#urns),
      at: Date.now(),
    };
    write(this.#file, note);
  }
}

/** The creates whose answers the engine may not have stored yet. */
const unstored = new Set<PendingCreate>();

/** Notes that the engine has stored all answers, which it does before an orderly exit. */
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

/** Removes notes that no process needs. Runs at most every 10 s, because it reads all notes. */
function sweep(): void {
  const now = Date.now();
  if (now - sweptAt < minIdAgeMs) return;
  sweptAt = now;
  const oldest = new Map<string, number>();
  const all = notesOf();
  for (const { file, since = now } of all) {
    const hash = hashOf(file);
    oldest.set(hash, Math.min(since, oldest.get(hash) ?? now));
  }
  for (const { file, since, at } of all) {
    // A process needs an id if it sent its own request before the id was noted, or at most 10 s
    // after.
    const neededFrom =
      since === undefined ? (oldest.get(hashOf(file)) ?? now) - minIdAgeMs : now - maxPendingAgeMs;
    if (at < neededFrom) forget(file);
  }
}

function hashOf(file: string): string {
  return file.slice(0, file.indexOf("."));
}

function write(file: string, { since, state, made, answered, urns, at }: Note): void {
  attempt(() => {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    // Write another file, then rename it: no process reads half a note.
    const temporary = join(folder(), `.${file}`);
    writeFileSync(temporary, JSON.stringify({ since, state, made, answered, urns, at }));
    renameSync(temporary, join(folder(), file));
  });
}

function forget(file: string): void {
  attempt(() => rmSync(join(folder(), file), { force: true }));
}

/** Undefined when a file can't be read or written: creates work without notes. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    debug("%s", (error as Error).message);
    return undefined;
  }
}
