import { AsyncLocalStorage } from "node:async_hooks";
import { randomInt } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";

/** The start of a stored uri, in place of the emulator's URL, which changes with the port. */
const relative = "emulator:";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A new identifier: a type prefix, an underscore and 27 random letters and digits. */
export function newId(prefix: string): string {
  const suffix = Array.from({ length: 27 }, () => alphabet[randomInt(alphabet.length)]);
  return `${prefix}_${suffix.join("")}`;
}

/** A time as the service writes it: RFC 3339, UTC, whole seconds. Default: now. */
export function timestamp(time = new Date()): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** How far the service's clocks are ahead of this machine's, in milliseconds. */
export interface Clocks {
  /** The clock of the header `Date`, which a gateway may send. */
  date: number;
  /** The clock of `created_at`. */
  createdAt: number;
}

/** Makes a file that only its owner may read, and takes the rights of others from an existing one. */
function makePrivate(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
}

/** Access to a collection for tests, without a request. */
export interface Direct<T> {
  /** All objects, newest first. */
  list(): T[];
  /** One object; undefined when it does not exist. */
  get(id: string): T | undefined;
  /** Overwrites fields without a check; null unsets a module. Throws when the id is unknown. */
  patch(id: string, fields: Partial<T>): T;
  /** Removes an object. Throws when it does not exist. */
  delete(id: string): void;
}

/** The JSON documents of one kind, newest first. */
export class Collection<T extends { id: string }> {
  readonly #store: Store;

  /** `name` is the list's name in an answer, `path` the path under which it is served. */
  constructor(
    store: Store,
    readonly name: string,
    readonly path: string,
  ) {
    this.#store = store;
  }

  /** The full URL of the list. */
  get uri(): string {
    return `${this.#store.baseUrl}${this.path}`;
  }

  /** A reference to an object. `path` is that of its kind; default: this collection's. */
  ref(id: string, path = this.path) {
    return { id, uri: `${this.#store.baseUrl}${path}/${encodeURIComponent(id)}` };
  }

  /** Stores an object as the newest one. Replaces a removed object with the same id. */
  add(document: T): T {
    const sql = "INSERT OR REPLACE INTO documents (collection, id, body) VALUES (?, ?, ?)";
    this.#store.sql(sql).run(this.#key, document.id, this.#store.encode(document));
    return document;
  }

  /** The key of the documents of the present account. */
  get #key(): string {
    return `${this.#store.account.getStore() ?? ""}${this.name}`;
  }

  get(id: string): T | undefined {
    const sql = "SELECT body FROM documents WHERE collection = ? AND id = ? AND body IS NOT NULL";
    const row = this.#store.sql(sql).get(this.#key, id);
    return row && this.#store.decode<T>(row.body);
  }

  list(): T[] {
    return this.#before(Number.MAX_SAFE_INTEGER, -1);
  }

  /** A page of objects created before `beforeId`; undefined when that id never existed. */
  page(limit: number, beforeId?: string): { items: T[]; more: boolean } | undefined {
    const seq = beforeId === undefined ? Number.MAX_SAFE_INTEGER : this.#seq(beforeId);
    if (seq === undefined) return undefined;
    const items = this.#before(seq, limit + 1);
    return { items: items.slice(0, limit), more: items.length > limit };
  }

  /** Overwrites an object, which keeps its place in the order. */
  put(document: T): T {
    const sql = "UPDATE documents SET body = ? WHERE collection = ? AND id = ?";
    this.#store.sql(sql).run(this.#store.encode(document), this.#key, document.id);
    return document;
  }

  /** Removes an object; false when there is none. Its place in the order stays, for `before_id`. */
  remove(id: string): boolean {
    const sql =
      "UPDATE documents SET body = NULL WHERE collection = ? AND id = ? AND body IS NOT NULL";
    return this.#store.sql(sql).run(this.#key, id).changes > 0;
  }

  /** The id of an object other than `except` whose list `field` has `value`, in any letter case. */
  holder(field: keyof T & string, value: string, except: string): string | undefined {
    const sql = `SELECT documents.id FROM documents, json_each(body, '$.' || ?) AS item
      WHERE collection = ? AND documents.id <> ? AND lower(item.value) = lower(?) LIMIT 1`;
    return this.#store.sql(sql).get(field, this.#key, except, value)?.id as string | undefined;
  }

  /** The access to this collection for tests. */
  direct(): Direct<T> {
    const found = (id: string): T => {
      const document = this.get(id);
      if (!document) throw new Error(`The emulator has no ${id} in ${this.name}`);
      return document;
    };
    return {
      list: () => this.list(),
      get: (id) => this.get(id),
      patch: (id, fields) => this.put({ ...found(id), ...fields }),
      delete: (id) => void this.remove(found(id).id),
    };
  }

  #seq(id: string): number | undefined {
    const sql = "SELECT seq FROM documents WHERE collection = ? AND id = ?";
    return this.#store.sql(sql).get(this.#key, id)?.seq as number | undefined;
  }

  #before(seq: number, limit: number): T[] {
    const sql = `SELECT body FROM documents
      WHERE collection = ? AND seq < ? AND body IS NOT NULL ORDER BY seq DESC LIMIT ?`;
    const rows = this.#store.sql(sql).all(this.#key, seq, limit);
    return rows.map((row) => this.#store.decode<T>(row.body));
  }
}

/** The emulator's data, in one SQLite table; in memory without a file. */
export class Store {
  /** The emulator's URL; empty until it listens. */
  baseUrl = "";
  /** The account that a request or a direct access is for: a prefix; empty for the first account. */
  readonly account = new AsyncLocalStorage<string>();
  /** How far the service's clocks are ahead. */
  readonly clocks: Clocks = { date: 0, createdAt: 0 };
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #settings = new Collection<{ id: string; value: unknown }>(this, "settings", "");

  /** Throws when `file` is not a SQLite database or can't be written. */
  constructor(file?: string) {
    // The file holds the CA's private key and the API key, so only its owner may read it.
    if (file !== undefined) makePrivate(file);
    this.#database = openDatabase(file ?? ":memory:");
    this.#database.exec(`PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS documents (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, id TEXT NOT NULL,
        body TEXT, UNIQUE (collection, id));
      CREATE INDEX IF NOT EXISTS newest ON documents (collection, seq)`);
  }

  /** A value stored for the next start. `reset` does not remove it. */
  setting<V>(name: string): V | undefined {
    return this.#settings.get(name)?.value as V | undefined;
  }

  /** Stores a value for the next start. */
  save(name: string, value: unknown): void {
    const write = this.#settings.get(name) ? "put" : "add";
    this.#settings[write]({ id: name, value });
  }

  /** The time of a create, by the service's clock. */
  now(): string {
    return timestamp(new Date(Date.now() + this.clocks.createdAt));
  }

  /** The ids of all objects, deleted ones included. */
  ids(): Set<unknown> {
    return new Set(
      this.sql("SELECT id FROM documents")
        .all()
        .map(({ id }) => id),
    );
  }

  /** Removes every object, deleted ones and their ids included. */
  clear(): void {
    this.sql("DELETE FROM documents WHERE collection <> 'settings'").run();
  }

  close(): void {
    this.#database.close();
  }

  /** A prepared statement, prepared once. */
  sql(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? this.#database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  /** A document as it is stored. */
  encode(document: object): string {
    const own = `${this.baseUrl}/`;
    return JSON.stringify(document, (key, value: unknown) =>
      key === "uri" && typeof value === "string" && value.startsWith(own)
        ? `${relative}${value.slice(this.baseUrl.length)}`
        : value,
    );
  }

  /** A document as it is served. */
  decode<T>(body: unknown): T {
    return JSON.parse(String(body), (key, value: unknown) =>
      key === "uri" && typeof value === "string" && value.startsWith(relative)
        ? `${this.baseUrl}${value.slice(relative.length)}`
        : value,
    );
  }
}

/** Opens a database. Suppresses only the warning that node:sqlite is experimental. */
function openDatabase(location: string): DatabaseSync {
  const warn = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith("SQLite is an experimental")) {
      Reflect.apply(warn, process, [warning, ...rest]);
    }
  };
  try {
    const sqlite = process.getBuiltinModule("node:sqlite");
    if (!sqlite) throw new Error(`The emulator needs Node 22.13 or newer, not ${process.version}`);
    return new sqlite.DatabaseSync(location);
  } finally {
    process.emitWarning = warn;
  }
}
