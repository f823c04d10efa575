import { EventEmitter } from "node:events";
import type { Client } from "../client/client";
import { plainMessage } from "../client/plain";
import { type Connection, defaultConnection } from "../client/settings";
import { type ConfigReader, connect, overruled, readSettings, type Settings } from "./connection";
import type { Kind } from "./kind";
import { type Severity, type Show, showOnStderr } from "./log";
import { Objects } from "./objects";
import type { Properties } from "./properties";

/** A resource of the program that is to be created or changed. */
export interface Planned {
  account: Account;
  kind: Kind;
  inputs: Properties;
  /** Whether it is to be created. */
  isNew: boolean;
  /** The resource's name, where the protocol says it. */
  name?: string;
  /** Whether its hostports are a secret. */
  isSecret: boolean;
}

/** What a run knows of the objects that were stored with one other base URL or key. */
export interface Stored {
  /** Whether one of them was read with the present settings: then these are those of its account. */
  isReached: boolean;
  /** Operations that may read one. */
  inFlight: Set<Promise<unknown>>;
  /** Reads one of them, by title and id. */
  known: Map<string, () => Promise<unknown>>;
  /** The one read that looks for one. */
  asked?: Promise<unknown> | undefined;
  /** The object whose error says what to do. */
  explained?: string;
}

/** What a run knows of one account, for all its operations. */
class Memory {
  /** By client: the settings of a connection may differ from those of another one. */
  readonly objects = new Map<Client, Map<string, Objects>>();
  /** By the mark in state. */
  readonly stored = new Map<unknown, Stored>();
  /** By what keeps reads from an answer: the object whose error tells it. */
  readonly failures = new Map<unknown, string>();
  /** By id: the objects that the states of this run have. */
  readonly states = new Map<string, { kind: Kind; state: Properties }>();
  /** What has kept the question before a change from an answer, and was told. */
  readonly reported = new Set<unknown>();
  /** Whether a state shows that the service is the same as before. */
  isKnown = false;
  /** Whether this run creates or adopts an object here. */
  isUsed = false;
  /** Whether this run, or its plan, has come to a write. */
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
  operation(deadlineMs?: number, secrets?: string[]): Account {
    const client = this.client.operation(deadlineMs, secrets);
    return new Account(this.run, this.connection, this.settings, client, this.memory);
  }

  /** The mark of base URL and key, which state keeps of each object that was made or read with them. */
  get mark(): string {
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

  /** An object of the service, as the memory of a run names it. */
  object({ title }: Kind, id: string): string {
    return `${this.client.baseUrl.href} ${title} ${id}`;
  }

  /** Prevents every delete of an object in this run. */
  keep(kind: Kind, id: string): void {
    this.run.kept.add(this.object(kind, id));
  }

  /** The ids that resources of this run have at this base URL. */
  get own(): Set<string> {
    return this.run.ownAt(this.client.baseUrl.href);
  }

  /** The second of a wait: shorter when the deadline is short. */
  get secondMs(): number {
    return Math.min(1000, this.client.deadlineMs / 120);
  }
}

/** What one run of the engine knows. It owns all memory of the provider. */
export class Run {
  /** The CA files that are known to be good: each operation reads the settings. */
  readonly goodFiles = new Set<string>();
  /** When it began, by the monotonic clock. */
  readonly since = performance.now();
  /** Whether the engine has checked a resource of the program: a refresh checks none. */
  hasProgram = false;
  /** The resources that are to be created or changed. */
  readonly planned: Planned[] = [];
  /**
   * The inputs of the last deployment, as text. A dynamic provider's check gets them, its diff the state
   * alone, which differs from them for ever where the service has rewritten a text.
   */
  readonly deployed = new Set<string>();
  /** Objects that resources of this run have adopted or taken: this run deletes none of them. */
  readonly kept = new Set<string>();
  /** Objects that creates of this run have taken, with the setting `takeEqual`. */
  readonly taken = new Set<string>();
  /** By object: the resource of the program that has it. */
  readonly owners = new Map<string, string>();
  /** Objects that a check has read to be adopted, with their state. */
  readonly toAdopt = new Map<string, Properties>();
  /** Objects that creates of this run have adopted. */
  readonly adopters = new Set<string>();
  /** Objects that were read without a state: by an import, or by a program's `get`. */
  readonly imported = new Set<string>();
  /** The names of the objects that a plan or update adopts, with their titles. */
  readonly adopted = new Map<string, string>();
  /** Objects that this run has deleted. */
  readonly deleted = new Set<string>();
  /** Creates whose answer was lost and whose object was not found, by content. */
  readonly lost = new Set<string>();
  /** The lists of hostports that the program declares. */
  readonly declared = new Set<string>();
  /** By edge: the hostports that it will have. */
  readonly willServe = new Map<string, Set<string>>();
  /** The hostports that this run removes from an edge. */
  readonly givenUp = new Set<string>();
  /** By edge: the hostports that this run has given it; none when it is deleted. */
  readonly serves = new Map<string, Set<string>>();
  /** Edges whose update has failed. */
  readonly notUpdated = new Set<string>();
  /** By edge: the edges that its update waits for. */
  readonly waitsFor = new Map<string, string[]>();
  /** Emits `edge` when one of these changes. */
  readonly changes: EventEmitter = new EventEmitter().setMaxListeners(0);
  /** By connection and settings. */
  readonly #accounts = new Map<string, Account>();
  /** By base URL and key. */
  readonly #memories = new Map<string, Memory>();
  readonly #own = new Map<string, Set<string>>();
  readonly #said = new Set<string>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(
    public config?: ConfigReader,
    readonly show: Show = showOnStderr,
  ) {}

  /**
   * The account of a connection. Its operations share one client, so that all requests share its limit.
   *
   * @throws ConfigurationError that names every missing or malformed setting.
   */
  account(connection: Connection = defaultConnection): Account {
    const settings = readSettings(connection, this.config, process.env, this.goodFiles);
    const key = JSON.stringify(settings);
    const known = this.#accounts.get(key);
    if (known) return known;
    const tell = (text: string) => this.show("info", plainMessage(text), "resource");
    const client = connect(connection, this.config, process.env, tell);
    const whose = `${settings.baseUrl} ${settings.apiKey}`;
    const memory = this.#memories.get(whose) ?? new Memory();
    this.#memories.set(whose, memory);
    const account = new Account(this, connection, settings, client, memory);
    this.#accounts.set(key, account);
    return account;
  }

  get accounts(): Iterable<Account> {
    return this.#accounts.values();
  }

  /** The ids that resources of this run have at a base URL: two keys of an account share them. */
  ownAt(baseUrl: string): Set<string> {
    const own = this.#own.get(baseUrl) ?? new Set();
    this.#own.set(baseUrl, own);
    return own;
  }

  /** Shows a message, each one once. Does nothing when the text is undefined. */
  say(severity: Severity, text: string | undefined, about = "run"): void {
    if (!text || this.#said.has(`${about} ${text}`)) return;
    this.#said.add(`${about} ${text}`);
    this.show(severity, plainMessage(text), about);
  }

  /** Warns when variables differ from the stack config of a connection. */
  sayOverruled(connection: Connection): void {
    if (this.config) this.say("warning", overruled(connection, this.config, process.env));
  }

  /** Works on one thing after the other, for each key. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(key) ?? Promise.resolve()).then(work);
    this.#turns.set(key, Promise.allSettled([done]));
    return done;
  }
}
