import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { Refusal, reasons } from "./errors";
import type { MadeCertificate } from "./pki";
import { timestamp } from "./wire";

/** How far the service's clocks are ahead of this machine's, in milliseconds. */
export interface Clocks {
  /** The clock of the header `Date`, which a gateway may send. */
  date: number;
  /** The clock of `created_at`. */
  createdAt: number;
}

/** What all accounts share. */
export class Service {
  /** Known when the server listens. */
  url = "";
  readonly clocks: Clocks = { date: 0, createdAt: 0 };
  /** The ids of all objects, deleted ones too. */
  readonly ids = new Set<string>();

  /** The time of a create. */
  now(): string {
    return timestamp(new Date(Date.now() + this.clocks.createdAt));
  }
}

/** What every object has. */
export type Stored = { id: string };

/** A change: the name of a list, an id, and the object; without one it was deleted. */
type Change = [list: string, id: string, object?: Stored];

/** The objects of one kind in an account, to read and change without a request. */
export class Collection<T extends Stored> {
  /** In the order of their creation. A deleted one keeps its place, for `before_id`. */
  readonly #objects = new Map<string, T | undefined>();
  /** The ids of those that have a value which requests give to one alone. */
  readonly #holders = new Map<string, Set<string>>();

  /** @internal The name of their list. */
  readonly name: string;
  readonly #path: string;

  /** @internal */
  constructor(
    /** @internal */ readonly service: Service,
    private readonly kind: { name: string; path: string; exclusive?(object: T): string[] },
    private readonly keep?: (...change: Change) => void,
  ) {
    this.name = kind.name;
    this.#path = kind.path;
  }

  /** All objects, newest first. */
  list(): T[] {
    return [...this.#objects.values()].flatMap((object) => object ?? []).reverse();
  }

  /** One object; undefined when it does not exist. */
  get(id: string): T | undefined {
    return this.#objects.get(id);
  }

  /** Overwrites fields without a check; null unsets a module. Throws when the id is unknown. */
  patch(id: string, fields: Partial<T>): T {
    return this.set({ ...this.find(id), ...fields });
  }

  /** Removes an object. Throws when it does not exist. */
  delete(id: string): void {
    this.put(this.find(id).id);
  }

  /** @internal Stores an object. */
  set(object: T): T {
    this.put(object.id, object);
    return object;
  }

  /** @internal Stores an object, or that there is none with this id any more. */
  put(id: string, object?: T): void {
    this.load(id, object);
    this.keep?.(this.name, id, object);
  }

  /** @internal The same for a change that is kept already. */
  load(id: string, object?: T): void {
    // What is created once more is the newest.
    const before = this.get(id);
    if (!before) this.#objects.delete(id);
    this.#objects.set(id, object);
    const valuesOf = (one?: T) => (one && this.kind.exclusive?.(one)) ?? [];
    for (const value of valuesOf(before)) this.#holders.get(value)?.delete(id);
    for (const value of valuesOf(object))
      this.#holders.set(value, (this.#holders.get(value) ?? new Set()).add(id));
    this.service.ids.add(id);
  }

  /** @internal A reference to an object. `path` is that of its kind. */
  ref(id: string, path = this.#path) {
    return { id, uri: `${this.service.url}${path}/${encodeURIComponent(id)}` };
  }

  /** @internal An object, or the refusal of a request. */
  find(id: string): T {
    const object = this.get(id);
    if (object) return object;
    throw new Refusal(reasons.notFound, `There is no ${id} in ${this.name}.`);
  }

  /** @internal The id of another object that has an exclusive value. */
  holderOf(value: string, id: string): string | undefined {
    return [...(this.#holders.get(value) ?? [])].find((one) => one !== id);
  }

  /** @internal The objects that are older than `beforeId`, newest first. */
  before(beforeId: string): T[] {
    const ids = [...this.#objects.keys()];
    const place = ids.indexOf(beforeId);
    if (place < 0) {
      throw new Refusal(reasons.beforeIdUnknown, "before_id was never an id in this list.");
    }
    const older = ids.slice(0, place).reverse();
    return older.flatMap((id) => this.get(id) ?? []);
  }

  /** @internal Forgets every object, deleted ones too. */
  clear(): void {
    this.#objects.clear();
    this.#holders.clear();
  }
}

/** What the next start needs beside the objects. */
export interface Settings {
  url: string;
  apiKey: string;
  ca: MadeCertificate;
}

/** A file that keeps settings and objects for the next start: a line of JSON for each change. */
export class DataFile {
  /** What the file has; undefined when it is new. */
  readonly settings?: Settings;
  /** The last change of each object, in the order of their creation. */
  readonly #changes = new Map<string, Change>();

  /** Throws when the file has something else. */
  constructor(readonly file: string) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (text === "") return;
    try {
      // A line that was cut off counts for nothing.
      const [settings = "", ...lines] = text.split("\n").slice(0, -1);
      this.settings = JSON.parse(settings);
      const changes: Change[] = lines.map((line) => JSON.parse(line));
      for (const change of changes) this.#changes.set(change[1], change);
    } catch (cause) {
      throw new Error(`${file} has no data of the emulator: delete it.`, { cause });
    }
  }

  /** The changes for a service at this URL, with which each uri begins; undefined in a new file. */
  changes(url: string): Change[] | undefined {
    if (!this.settings) return undefined;
    // Within a text, JSON escapes the quotes.
    const old = `"uri":"${this.settings.url}/`;
    const text = JSON.stringify([...this.#changes.values()]);
    return JSON.parse(text.replaceAll(old, `"uri":"${url}/`));
  }

  /** Begins the file anew, at once. It has the CA's key, so only its owner may read it. */
  begin(settings: Settings, changes: Change[] = []): void {
    const next = `${this.file}.new`;
    const lines = [settings, ...changes].map((line) => `${JSON.stringify(line)}\n`);
    // An existing file would keep its rights.
    rmSync(next, { force: true });
    writeFileSync(next, lines.join(""), { mode: 0o600, flush: true });
    renameSync(next, this.file);
  }

  readonly keep = (...change: Change) => appendFileSync(this.file, `${JSON.stringify(change)}\n`);
}
