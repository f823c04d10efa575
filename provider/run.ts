import { isDeepStrictEqual } from "node:util";
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

/** What a run knows of one object of the service. What is missing does not hold. */
export interface KnownObject {
  /** Whether a resource of this run has it. */
  isOwn?: boolean;
  /** Its resource in the program, by `import` option or URN; empty for one that has no such option. */
  owner?: string;
  /** Whether a resource has adopted or taken it: this run does not delete it. */
  isKept?: boolean;
  /** Whether its resource in the program has a change that is not made yet: it may be replaced. */
  isToChange?: boolean;
  /** Whether a create has taken it, with the setting `takeEqual`. */
  isTaken?: boolean;
  /** Whether it was read without a state: by an import, or by a program's `get`. */
  isImported?: boolean;
  /** The state that a check has read to adopt it. */
  found?: Properties;
  /** Whether a create has adopted it. */
  isAdopted?: boolean;
  /** Whether this run has deleted it. */
  isDeleted?: boolean;
  /** Of an edge: the hostports that it will have, by its diff. */
  willServe?: Set<string>;
  /** Of an edge: the hostports that this run has given it; none when it is deleted. */
  serves?: Set<string>;
  /** Of an edge: whether its update has failed. */
  isNotUpdated?: boolean;
  /** Of an edge: the edges that its update waits for. */
  waitsFor?: KnownObject[];
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
  /** By the mark in state. */
  readonly stored = new Map<unknown, Stored>();
  /** By what keeps reads from an answer: the object whose error tells it. */
  readonly failures = new Map<unknown, string>();
  /** The objects that the states of this run have. */
  readonly states = new Map<KnownObject, { kind: Kind; id: string; state: Properties }>();
  /** What has kept the question before a change from an answer, and was told. */
  readonly reported = new Set<unknown>();
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

  /** What this run knows of an object. Two keys of one account share it. */
  known({ title }: Kind, id: string): KnownObject {
    return this.run.known(`${this.client.baseUrl.href} ${title} ${id}`);
  }

  /** The second of a wait: shorter when the deadline is short. */
  get secondMs(): number {
    return Math.min(1000, this.client.deadlineMs / 120);
  }
}

/** What one run of the engine knows. It owns all memory of the provider. */
export class Run {
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
  /** The objects that this run adopts: whether a create has done it. */
  readonly adopted = new Map<string, boolean>();
  /** Creates whose answer was lost and whose object was not found, by content. */
  readonly lost = new Set<string>();
  /** The lists of hostports that the program declares. */
  readonly declared = new Set<string>();
  /** The hostports that this run removes from an edge. */
  readonly givenUp = new Set<string>();
  /** Connections with equal settings share one. */
  readonly accounts: Account[] = [];
  readonly #accounts = new Map<Connection, Account>();
  /** By base URL and key. */
  readonly #memories = new Map<string, Memory>();
  readonly #objects = new Map<string, KnownObject>();
  readonly #shown = new Set<string>();
  readonly #compared = new Set<Connection>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(
    public config?: ConfigReader,
    readonly show: Show = showOnStderr,
  ) {}

  /**
   * The account of a connection, whose settings are read once in a run. Its operations share one client, so that
   * all requests share its limit.
   *
   * @throws ConfigurationError that names every missing or malformed setting.
   */
  account(connection: Connection = defaultConnection): Account {
    const account = this.#accounts.get(connection) ?? this.accountNow(connection);
    this.#accounts.set(connection, account);
    return account;
  }

  /** {@link account} by the present settings: a process may run several programs, each with its own. */
  accountNow(connection: Connection): Account {
    const { config } = this;
    const settings = readSettings(connection, config, process.env);
    const same = this.accounts.find((one) => isDeepStrictEqual(one.settings, settings));
    if (same) return same;
    const tell = (text: string) => this.show("info", plainMessage(text), "resource");
    const client = connect(connection, config, process.env, tell, settings);
    const whose = `${settings.baseUrl} ${settings.apiKey}`;
    const memory = this.#memories.get(whose) ?? new Memory();
    this.#memories.set(whose, memory);
    const account = new Account(this, connection, settings, client, memory);
    this.accounts.push(account);
    return account;
  }

  known(object: string): KnownObject {
    const known = this.#objects.get(object) ?? {};
    this.#objects.set(object, known);
    return known;
  }

  /** Shows a message, each one once. Does nothing when the text is undefined. */
  say(severity: Severity, text: string | undefined, about = "run"): void {
    if (!text || this.#shown.has(`${about} ${text}`)) return;
    this.#shown.add(`${about} ${text}`);
    this.show(severity, plainMessage(text), about);
  }

  /** Warns when variables differ from the stack config of a connection, which is looked at once in a run. */
  sayOverruled(connection: Connection): void {
    if (!this.config || this.#compared.has(connection)) return;
    this.#compared.add(connection);
    this.say("warning", overruled(connection, this.config, process.env));
  }

  /** Works on one thing after the other, for each key. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(key) ?? Promise.resolve()).then(work);
    this.#turns.set(key, Promise.allSettled([done]));
    return done;
  }
}
