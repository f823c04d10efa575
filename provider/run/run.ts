import { isDeepStrictEqual } from "node:util";
import type { Client } from "../../client/client";
import { plainMessage } from "../../client/plain";
import type { Kind, Severity } from "../kinds/kind";
import type { Properties } from "../kinds/properties";
import {
  type ConfigReader,
  connect,
  readSettings,
  type Settings,
  unknownVariables,
} from "./connection";
import { type Show, showOnStderr } from "./log";
import { Objects } from "./objects";
import { type Connection, defaultConnection } from "./settings";

/** A resource of the program that is to be created or changed. */
export interface Planned {
  account: Account;
  kind: Kind;
  inputs: Properties;
  /** Whether it is to be created. */
  isNew: boolean;
  /** The resource's name, where the protocol says it. */
  name?: string;
  /** The properties that the program has marked as secrets, or the state has. */
  secrets: ReadonlySet<string>;
}

/** What a run knows of one object of the service. A flag that is not set is false. */
export interface Known {
  /** Whether a resource of this run has it. */
  isOwn?: boolean;
  /** The resource of the program that has it, or is to adopt it. */
  owner?: Owner;
  /** Whether a resource of the program keeps it: its diff has found no change, or its update is made. */
  isSettled?: boolean;
  /** Whether a resource of the program wants it newly. */
  hasImporter?: boolean;
  /** What has read it without a state: the resource that imports it, or a program's `get`. */
  importedBy?: string;
  /** The state that a check has read to adopt it. */
  found?: Properties;
  /** How its hostports change. */
  move?: Move;
}

/** A resource of the program. */
export interface Owner {
  /** Tells it apart: its URN, or its connection and its option `import`. */
  key: string;
  /** Its option `import`, where it has one. */
  option?: unknown;
  /** Its name, where the protocol says it. */
  name?: string;
}

/** An edge whose hostports change in this run. */
export interface Move {
  /** For messages. */
  title: string;
  /** The hostports that it has. */
  from: Set<string>;
  /** Those that it does not have yet. */
  takes: Set<string>;
}

/** What a run knows of the objects that were stored with one other base URL or key. */
export interface Stored {
  /** Whether one of them was read with the present settings: then these are those of its account. */
  isReached: boolean;
  /** Operations that may read one. */
  inFlight: Set<Promise<unknown>>;
  /** The one request that reads one. */
  request?: Promise<unknown> | undefined;
  /** The object whose error says what to do. */
  explained?: string;
}

/** What a run knows of one account, for all its operations. */
class Memory {
  /** By client: the settings of a connection may differ from those of another one. */
  readonly objects = new Map<Client, Map<string, Objects>>();
  /** By the tag in state. */
  readonly stored = new Map<unknown, Stored>();
  /** By what keeps reads from an answer: the object whose error tells it. */
  readonly failures = new Map<unknown, string>();
  /** The objects that the states of this run have. */
  readonly states = new Map<Known, { object: ManagedObject; state: Properties }>();
  /** Whether a state shows that the service is the same as before. */
  isKnown = false;
  /** Whether this run creates or adopts an object here. */
  isUsed = false;
  /** Whether this run, or its plan, has come to a create or a delete. */
  isWritten = false;
}

/** One account of the service in a run, and the client of one operation on it. */
export class Account {
  constructor(
    readonly run: Run,
    readonly connection: Connection,
    readonly settings: Settings,
    readonly client: Client,
    readonly memory: Memory,
  ) {}

  /** The account for one operation, whose requests share a deadline: see {@link Client.operation}. */
  operation(deadlineMs?: number): Account {
    const client = this.client.operation(deadlineMs, [...this.run.secrets]);
    return new Account(this.run, this.connection, this.settings, client, this.memory);
  }

  /** Tells base URL and key apart from others. State keeps it of each object that was made or read with them. */
  get tag(): string {
    return this.client.accountTag;
  }

  /** The objects of a kind. */
  objects(kind: Kind): Objects {
    const client = this.client.account;
    const ofClient = this.memory.objects.get(client) ?? new Map<string, Objects>();
    this.memory.objects.set(client, ofClient);
    const objects = ofClient.get(kind.title) ?? new Objects(client, kind);
    ofClient.set(kind.title, objects);
    return objects;
  }

  /** One object of this account. */
  object(kind: Kind, id: string): ManagedObject {
    return new ManagedObject(kind, this, id);
  }

  /** The second of a wait: shorter when the deadline is short. */
  get waitUnitMs(): number {
    return Math.min(1000, this.client.deadlineMs / 120);
  }
}

/** One object of the service in a run. */
export class ManagedObject {
  constructor(
    readonly kind: Kind,
    readonly account: Account,
    readonly id: string,
  ) {}

  /** For messages: the kind and the id. */
  get title(): string {
    return `${this.kind.title} ${this.id}`;
  }

  /** What this run knows of it. Two keys of one account share it. */
  get known(): Known {
    const { run, client } = this.account;
    return run.known(`${client.baseUrl.href} ${this.title}`);
  }
}

/** What one run of the engine knows. It owns all memory of the provider. */
export class Run {
  /**
   * The resources of the program that were checked, as the protocol tells them, and whether the check has found
   * the inputs of the last deployment. A refresh checks none.
   */
  readonly checked = new Map<string, boolean>();
  /** The texts that the program has marked as secrets. The service may quote those of other resources. */
  readonly secrets = new Set<string>();
  /** The resources that are to be created or changed. */
  readonly planned: Planned[] = [];
  /** The objects that this run adopts: for messages, and whether a create has done it. */
  readonly adopted = new Map<Known, { title: string; isDone: boolean }>();
  /** Creates whose answer was lost and whose object was not found, by content. */
  readonly lost = new Set<string>();
  /** The edges whose hostports change, by the base URL and each hostport that they have now. */
  readonly moves = new Map<string, Move>();
  /** Connections with equal settings share one. */
  readonly accounts: Account[] = [];
  readonly #accounts = new Map<Connection, Account>();
  /** By base URL and key. */
  readonly #memories = new Map<string, Memory>();
  readonly #objects = new Map<string, Known>();
  readonly #said = new Set<string>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(
    public config?: ConfigReader,
    public show: Show = showOnStderr(),
  ) {}

  /**
   * The account of a connection, whose settings are read once in a run. Its operations share one client, so that
   * all requests share its limit.
   *
   * @throws ConfigurationError that names every missing or malformed setting.
   */
  account(connection: Connection = defaultConnection): Account {
    const account = this.#accounts.get(connection) ?? this.accountNow(connection);
    if (this.#accounts.size === 0) this.log("warning", unknownVariables(process.env));
    this.#accounts.set(connection, account);
    return account;
  }

  /** {@link account} by the present settings: a process may run several programs, each with its own. */
  accountNow(connection: Connection): Account {
    const { config } = this;
    const settings = readSettings(connection, config, process.env);
    const same = this.accounts.find((one) => isDeepStrictEqual(one.settings, settings));
    if (same) return same;
    const show = (severity: "info" | "status", text: string) =>
      this.show(severity, plainMessage(text), "resource");
    const client = connect(connection, config, process.env, show, settings);
    const whose = `${settings.baseUrl} ${settings.apiKey}`;
    const memory = this.#memories.get(whose) ?? new Memory();
    this.#memories.set(whose, memory);
    const account = new Account(this, connection, settings, client, memory);
    this.accounts.push(account);
    return account;
  }

  /** Notes a resource that was checked. In a replacement, the engine checks it once more, without old inputs. */
  noteChecked(resource: string, isUnchanged = false): void {
    this.checked.set(resource, isUnchanged || this.checked.get(resource) === true);
  }

  known(object: string): Known {
    const known = this.#objects.get(object) ?? {};
    this.#objects.set(object, known);
    return known;
  }

  /** Whether this is asked for the first time in this run: what is said once has a key. */
  once(key: string): boolean {
    const isFirst = !this.#said.has(key);
    this.#said.add(key);
    return isFirst;
  }

  /** Shows a message, each one once. Does nothing when the text is undefined. */
  log(severity: Severity, text: string | undefined, about = "run"): void {
    if (text && this.once(`${about} ${text}`)) this.show(severity, plainMessage(text), about);
  }

  /** Works on one thing after the other, for each key. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(key) ?? Promise.resolve()).then(work);
    this.#turns.set(key, Promise.allSettled([done]));
    return done;
  }
}
