import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { enginePort, isEngineAlive, isProcessAlive } from "../engine";
import { once, warn } from "../log";

/**
 * What the processes of this machine know of creates, in files below Pulumi's home:
 *
 * - `creates/` has a record of each POST whose result is unknown, or whose answer the engine may not
 *   have stored. An answered record has a second file, which holds the id; an unanswered one whose
 *   object was looked for in vain has one that says so.
 * - `claims/` has a file for each id that a create of this machine was answered with or kept, and one
 *   for each id that an error has named as the object of an ended record.
 *
 * No file holds a property of an object: contents are hashes.
 */

/** What this package keeps in Pulumi's home, for all processes of this machine. */
export const folder = () => join(process.env.PULUMI_HOME || join(homedir(), ".pulumi"), "tlsedge");

const keptMs = 30 * 24 * 3600 * 1000;

/** What stood in the list before a POST. */
export interface Mark {
  /** The newest ids, those that this process has created first. */
  ids: string[];
  /** Whether these are all ids of the list, without those that this process has created. */
  isWhole: boolean;
}

/** What a record says of its POST. */
export interface Intent {
  /** The base URL. */
  service: string;
  /** Identifies base URL and key. */
  account: string;
  /** A hash of the kind and the content of the object. */
  content: string;
  /** A hash of the URN; empty when the URN is not known. */
  resource: string;
  /** Undefined when the list could not be read. */
  mark?: Mark | undefined;
}

/** SHA-256 of some values, as 32 hex digits. */
export const hashOf = (...values: unknown[]): string =>
  createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 32);

/** The run of the engine that this process serves, and the records that were there before it. */
let run = randomUUID();
let before: CreateRecord[] | undefined;
let opened = 0;

/** Begins a run. */
export function startRun(): void {
  run = randomUUID();
  before = undefined;
}

/** The record of one POST. */
export class CreateRecord {
  readonly #intent: Intent | undefined;

  constructor(
    readonly name: string,
    intent?: Intent,
  ) {
    this.#intent = intent;
  }

  /** Notes that the POST is about to be sent. */
  static open(intent: Intent): CreateRecord {
    opened += 1;
    const { content, resource } = intent;
    const name = [content, resource, process.pid, enginePort(), run, opened].join(".");
    keep(() => write("creates", name, JSON.stringify(intent)));
    return new CreateRecord(name, intent);
  }

  /** What the record says; undefined when it has ended, or its process died while it wrote it. */
  get intent(): Intent | undefined {
    if (this.#intent) return this.#intent;
    try {
      return JSON.parse(read("creates", this.name)) as Intent;
    } catch {
      return undefined;
    }
  }

  /** The answered id; undefined while the result of the POST is unknown. */
  get id(): string | undefined {
    return keep(() => read("creates", `${this.name}.id`)) || undefined;
  }

  /** Whether the POST was for this content, or for this resource. */
  isLike({ content, resource }: Intent): boolean {
    const [ofContent, ofResource] = this.name.split(".");
    return ofContent === content || (resource !== "" && ofResource === resource);
  }

  /** Whether this run has written the record. */
  get isOwn(): boolean {
    return this.name.includes(run);
  }

  /** Whether the process that has written the record may still get an answer. */
  async isLive(): Promise<boolean> {
    const [, , pid, port] = this.name.split(".").map(Number);
    if (this.isOwn || pid === process.pid) return this.isOwn;
    return isProcessAlive(pid as number) && (await isEngineAlive(port));
  }

  /** Notes the id of the created object, and claims it. The record of another's id is unanswered. */
  answer(service: string, id: string): Claim {
    keep(() => write("creates", `${this.name}.id`, id));
    const claimed = claim(service, id);
    if (claimed === "another's") keep(() => remove(`${this.name}.id`));
    return claimed;
  }

  /** Whether a later run has looked for the object in vain. The service may have made it since. */
  get wasLookedFor(): boolean {
    return keep(() => read("creates", `${this.name}.looked`)) === "yes";
  }

  /** Notes that a run has looked for the object, and that there was none. */
  noteLook(): void {
    if (!this.wasLookedFor) keep(() => write("creates", `${this.name}.looked`, "yes"));
  }

  /** How long ago the POST was sent, by the clock of this machine; infinite for an ended record. */
  get ageMs(): number {
    const file = join(folder(), "creates", this.name);
    return Date.now() - (keep(() => statSync(file, { throwIfNoEntry: false })?.mtimeMs) ?? 0);
  }

  /** Ends the record; false when a file can't be removed. */
  drop(): boolean {
    const files = ["", ".id", ".looked"].map((ending) => `${this.name}${ending}`);
    return keep(() => files.every(remove)) === true;
  }
}

/** All records, as they are now; undefined when they can't be read. */
export function records(): CreateRecord[] | undefined {
  return keep(() =>
    filesIn("creates")
      .filter((name) => !/\.(id|looked)$/.test(name))
      .map((name) => new CreateRecord(name)),
  );
}

/** The records that were there before this run: its first create asks before it opens one. */
export function recordsBefore(): CreateRecord[] {
  before ??= records() ?? [];
  return before;
}

/**
 * Whether an id is now claimed by the caller. Claimed `elsewhere`: for the same id at another base
 * URL, which may be another service, or a gateway to the same. `unknown`: no file can be kept.
 */
export type Claim = "own" | "another's" | "elsewhere" | "unknown";

/** Claims an id for a resource of this machine. */
export function claim(service: string, id: string): Claim {
  const name = hashOf(id);
  const claimed = keep((): Claim => {
    // Once in 256 claims.
    if (name.startsWith("00")) removeOld();
    try {
      write("claims", name, service);
      return "own";
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      return read("claims", name) === service ? "another's" : "elsewhere";
    }
  });
  return claimed ?? "unknown";
}

/** Notes that an error names these objects: no create keeps one of them afterwards. */
export function noteNamed(objects: { id: string }[]): void {
  for (const { id } of objects) keep(() => write("claims", `${hashOf(id)}.named`, "", "w"));
}

/** Whether an error of this machine has named this object. */
export const isNamed = (id: string): boolean => isThere(`${hashOf(id)}.named`);

/** Whether a create of this machine was answered with this id or kept it, at any base URL. */
export const isClaimed = (id: string): boolean => isThere(hashOf(id));

const isThere = (name: string) =>
  statSync(join(folder(), "claims", name), { throwIfNoEntry: false }) !== undefined;

function filesIn(kind: "creates" | "claims"): string[] {
  try {
    return readdirSync(join(folder(), kind));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** The text of a file; empty when there is none. */
function read(kind: "creates" | "claims", name: string): string {
  try {
    return readFileSync(join(folder(), kind, name), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}

function write(kind: "creates" | "claims", name: string, text: string, flag = "wx"): true {
  const inside = join(folder(), kind);
  mkdirSync(inside, { recursive: true, mode: 0o700 });
  writeFileSync(join(inside, name), text, { flag, mode: 0o600 });
  return true;
}

function remove(name: string): true {
  rmSync(join(folder(), "creates", name), { force: true });
  return true;
}

function removeOld(): void {
  for (const kind of ["creates", "claims"] as const) {
    for (const name of filesIn(kind)) {
      const file = join(folder(), kind, name);
      // Another process may have removed it, and a third have written it again.
      const found = statSync(file, { throwIfNoEntry: false });
      if (found && Date.now() - found.mtimeMs > keptMs) rmSync(file, { force: true });
    }
  }
}

/** Undefined, with one warning in a run, when a file can't be read or written. */
function keep<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    once(
      warn,
      `the record of creates can't be kept in ${folder()} (${codeOf(error)}). So this run uses no ` +
        "object of a create whose answer is lost: such a create fails",
    );
    return undefined;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
