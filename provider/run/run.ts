import { isDeepStrictEqual } from "node:util";
import type { Client } from "../../client/client";
import type { ClientOptions } from "../../client/options";
import { pause, type ShowWait } from "../../client/pace";
import { plainMessage } from "../../client/plain";
import { withoutSecrets } from "../../client/redact";
import type { Kind, Severity } from "../kinds/kind";
import type { Properties } from "../values/properties";
import { type ConfigReader, type Connection, defaultConnection } from "../values/setting";
import { Configuration, connect, type Settings, unknownVariables } from "./connection";
import { DeclaredHostports } from "./declaredHostports";
import { cancelSignal } from "./engine";
import { List, type Listed } from "./list";
import { type Show, showOnStderr } from "./log";
import { Ownership } from "./ownership";

/** A resource of the program that is to be created or changed. */
export interface Planned {
  account: Account;
  kind: Kind;
  inputs: Properties;
  /** Whether it is to be created. */
  isNew: boolean;
  /** The resource's name, where the protocol says it. */
  name?: string | undefined;
  /** The properties that the program has marked as secrets, or the state has. */
  secrets: ReadonlySet<string>;
}

/** An object that a resource adopts. */
export interface Adoption {
  /** For messages. */
  title: string;
  /** The state that was read. */
  state: Properties;
  /** Whether the object equals the program. */
  isAdoptable: boolean;
  /** Whether a create has adopted it. */
  isDone: boolean;
}

/** The question whether the present settings reach the account that a tag of the state stands for. */
export interface Proof {
  /** The first object of this run with the tag. */
  object: ManagedObject;
  /** Settles with the one request that reads it. */
  verified?: Promise<void> | undefined;
}

/** What a run knows of one account, for all its operations. */
class Memory {
  /** By the title of their kind. */
  readonly lists = new Map<string, List>();
  /** By the tag in state: of all tags but the account's own. */
  readonly proofs = new Map<unknown, Proof>();
  /** The hostports of the program's edges. */
  readonly declared = new DeclaredHostports();
  /** Whether a state has an object of it. */
  hasStoredObject = false;
}

/** One account of the service in a run, and the client of one operation on it. */
export class Account {
  constructor(
    readonly run: Run,
    readonly configuration: Configuration,
    readonly client: Client,
    readonly memory: Memory,
  ) {}

  get connection(): Connection {
    return this.configuration.connection;
  }

  get settings(): Settings {
    return this.configuration.settings;
  }

  /** The account for one operation, whose requests share a deadline: see {@link Client.operation}. */
  operation(deadlineMs?: number, hidesTexts?: boolean): Account {
    const client = this.client.operation(deadlineMs, hidesTexts);
    return new Account(this.run, this.configuration, client, this.memory);
  }

  /** Tells base URL and key apart from others. State keeps it of each object that was made or read with them. */
  get tag(): string {
    return this.client.accountTag;
  }

  list(kind: Listed): List {
    const { lists } = this.memory;
    const list = lists.get(kind.title) ?? new List(this.client.account, kind);
    lists.set(kind.title, list);
    return list;
  }

  object(kind: Kind, id: string): ManagedObject {
    return new ManagedObject(kind, this, id);
  }

  /** The second of a wait: shorter when the deadline is short. */
  get waitUnitMs(): number {
    return Math.min(1000, this.client.deadlineMs / 120);
  }

  /**
   * Waits some seconds. The row of the resource says so.
   *
   * @param what What it waits for: "for the hostport of edgtls_1".
   * @throws Error when the update is cancelled.
   */
  wait(seconds: number, what: string): Promise<void> {
    const show: ShowWait = (left) =>
      this.run.show("status", left === undefined ? left : `waits ${left} s ${what}`, "resource");
    return pause(seconds * this.waitUnitMs, cancelSignal, show);
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

  /** Tells the object apart in a run. Two keys of one account share it. */
  get key(): string {
    return `${this.account.client.baseUrl.href} ${this.title}`;
  }
}

/** What one run of the engine knows. It owns all memory of the provider. */
export class Run {
  /** The URNs of the resources of the program: of those that were checked. A refresh checks none. */
  readonly #ofProgram = new Set<string>();
  readonly ownership = new Ownership();
  /** The texts that the program has marked as secrets: no text of the service shows one as a whole. */
  readonly secrets = new Set<string>();
  /** The resources that are to be created or changed. */
  readonly planned: Planned[] = [];
  /** The objects that this run adopts, by {@link ManagedObject.key}. */
  readonly adoptions = new Map<string, Adoption>();
  /** One for each connection. Those with equal settings share a client. */
  readonly accounts: Account[] = [];
  readonly #said = new Set<string>();

  constructor(
    public config?: ConfigReader,
    public show: Show = showOnStderr(),
  ) {}

  /** The settings of a connection. Those of an account are read once in a run. */
  configuration(connection: Connection = defaultConnection): Configuration {
    return this.#existing(connection)?.configuration ?? new Configuration(connection, this.config);
  }

  #existing(connection: Connection): Account | undefined {
    return this.accounts.find((one) => one.connection === connection);
  }

  /**
   * The account of a connection. Its operations share one client, so that all requests share its limit.
   *
   * @throws ConfigurationError that names every missing or malformed setting.
   */
  account(connection: Connection = defaultConnection): Account {
    if (this.accounts.length === 0) this.log("warning", unknownVariables(process.env));
    return this.#existing(connection) ?? this.accountOf(this.configuration(connection));
  }

  /** {@link account} by its settings: a process may run several programs, each with its own. */
  accountOf(configuration: Configuration): Account {
    const { accounts } = this;
    const { connection, settings } = configuration;
    const withSettings = accounts.filter((one) => isDeepStrictEqual(one.settings, settings));
    const existing = withSettings.find((one) => one.connection === connection);
    if (existing) return existing;
    const show: ClientOptions["show"] = (severity, text) =>
      this.show(severity, text && plainMessage(text), "resource");
    const hide = (text: string) => withoutSecrets(text, this.secrets);
    const client = withSettings[0]?.client ?? connect(configuration, { show, hide });
    const withKey = accounts.find(
      (one) => one.settings.baseUrl === settings.baseUrl && one.settings.apiKey === settings.apiKey,
    );
    const account = new Account(this, configuration, client, withKey?.memory ?? new Memory());
    accounts.push(account);
    return account;
  }

  /**
   * The program has the resource, because the engine checks it.
   *
   * @param urn Empty in the first call of a dynamic provider's process.
   */
  markAsOfProgram(urn: string): void {
    this.#ofProgram.add(urn);
  }

  /** Whether the program has the resource. The first check without a URN was that of the first resource asked for. */
  isOfProgram(urn: string): boolean {
    if (!this.#ofProgram.has(urn) && this.#ofProgram.delete("")) this.#ofProgram.add(urn);
    return this.#ofProgram.has(urn);
  }

  /** Whether this is asked for the first time in this run: what is said once has a key. */
  isFirst(key: string): boolean {
    const isFirst = !this.#said.has(key);
    this.#said.add(key);
    return isFirst;
  }

  /** Shows a message, each one once. Does nothing when the text is undefined. */
  log(severity: Severity, text: string | undefined, about = "run"): void {
    if (text && this.isFirst(`${about} ${text}`)) this.show(severity, plainMessage(text), about);
  }
}
