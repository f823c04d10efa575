import type { Protocol, Provider } from "../protocol";
import { Resource as Kept, type Properties, type ResourceProvider } from "../resource";

/**
 * The key of a resource, by its namespace of config: the account's own, the same one under another name, the
 * account's second one, or another account's.
 */
export type Key = "tlsedge" | "twin" | "second" | "other";

export type Command = "up" | "preview" | "refresh" | "destroy";

/** Longer than an operation's deadline: by then a provider without an engine has ended. */
const longestOperationMs = 3000;

/** A replacement of one resource of each stack, or of all. */
export interface Replacement {
  /**
   * By a taint or `--replace`, where the engine asks for no diff and checks without the old inputs; by
   * `--target-replace`, which leaves the other resources out; by a `replacementTrigger`, where a check with the old
   * inputs comes first; by `--replace '**'`, where another process deletes the old objects.
   */
  way: "taint" | "target" | "trigger" | "all";
  /** Which resource. */
  at: number;
  /** Whether the program says `deleteBeforeReplace`. */
  deletesFirst: boolean;
  /** Whether each resource of dynamic providers has the option `import`, which names its own object. */
  isAdopted: boolean;
}

/** One resource of a stack. */
export class Resource extends Kept {
  /** The processes that get the calls. */
  readonly providers = {} as Record<Protocol, Provider>;
  /** How it is replaced, as long as it has no object of its own. */
  replaces: (Pick<Replacement, "way" | "deletesFirst"> & { old: Resource }) | undefined;
  /** Whether a process of its own deletes it. */
  isApart = false;
  /** Of the last command. */
  error: Error | undefined;
  creates = 0;
  /** Reads and deletes go to what has written the state. */
  #writer: Protocol;
  /** What was stored before the last command. */
  before: ReturnType<Resource["snapshot"]>;

  /**
   * @param name Unique among those of all stacks, but for a replaced one.
   * @param args The program's arguments; undefined when the program no longer has the resource.
   */
  constructor(
    readonly kind: "tlsEdge" | "tlsCertificate",
    readonly stack: string,
    readonly key: Key,
    public protocol: Protocol,
    public name: string,
    public args: Properties | undefined,
  ) {
    super();
    this.#writer = protocol;
    this.before = this.snapshot();
  }

  /** One that takes its place in the program. */
  successor(name = this.name): Resource {
    const { kind, stack, key, protocol, args } = this;
    this.args = undefined;
    return new Resource(kind, stack, key, protocol, name, args);
  }

  /** Those of one home are in one process, which knows them all. The plugin has a process for each provider. */
  get home(): string {
    return this.protocol === "plugin" ? `${this.stack} ${this.key}` : this.stack;
  }

  get replacement(): Resource["replaces"] {
    return this.id ? undefined : this.replaces;
  }

  get protocols(): Protocol[] {
    return this.id ? [this.#writer, this.protocol] : [this.protocol];
  }

  protected get provider(): ResourceProvider {
    return this.#providerOf(this.protocol);
  }

  protected override get writer(): ResourceProvider {
    return this.#providerOf(this.#writer);
  }

  #providerOf(protocol: Protocol): ResourceProvider {
    const type = `tlsedge:index:${this.kind.replace("tls", "TLS")}`;
    const urn = `urn:pulumi:stack::project::${type}::${this.name}`;
    return this.providers[protocol].resource({ type, urn });
  }

  /** A command begins. */
  begin(): void {
    Object.assign(this, { error: undefined, creates: 0, before: this.snapshot() });
  }

  snapshot() {
    const { id, state: outs, inputs, isPartial } = this;
    return { id, outs, inputs, isPartial, writer: this.#writer };
  }

  /** As if the engine had stored nothing of the command. */
  restore(): void {
    const { id, outs, inputs, isPartial, writer } = this.before;
    this.keep({ id, outs }, inputs, isPartial);
    this.#writer = writer;
  }

  protected override keep(...kept: Parameters<Kept["keep"]>): void {
    super.keep(...kept);
    this.#writer = this.protocol;
  }

  async run(command: Command): Promise<unknown> {
    const { args } = this;
    if (command === "refresh") return this.id && (await this.refresh()) !== "same";
    if (command === "destroy") return this.id && this.destroy();
    if (!args) return false;
    if (command === "preview") return this.preview(args);
    if (!this.id && this.protocol === "plugin" && args.__import) await this.#import(args);
    return (await this.up(args)) !== "same";
  }

  /** The engine's own import. */
  async #import({ __import }: Properties): Promise<void> {
    const { id, props, inputs } = await this.provider.read(String(__import));
    if (!id || !inputs) throw new Error(`there is no ${__import}`);
    this.keep({ id, outs: props }, inputs);
  }

  /** In a replacement by a trigger, the old inputs are told first. */
  override async check({ __import, ...args }: Properties) {
    const connection = this.key === "tlsedge" ? {} : { connection: this.key };
    // A copy of the provider's text, not an import: every state has it, so it never changes.
    const __provider = `exports.handler = () => require("pulumi-tlsedge/provider").${this.kind}`;
    const hidden = { ...connection, ...(__import ? { __import } : {}), __provider };
    const news = this.protocol === "plugin" ? args : { ...args, ...hidden };
    const { way, old } = this.replacement ?? {};
    if (way === "trigger" && old?.id) await super.check(news, old.inputs);
    return super.check(news);
  }

  protected override async write(inputs: Properties): Promise<void> {
    const { old, deletesFirst } = this.replacement ?? {};
    if (deletesFirst && old?.id) await old.destroy();
    if (!this.id) this.creates += 1;
    await super.write(inputs);
  }

  async destroy(): Promise<true> {
    await this.leave();
    this.forget();
    return true;
  }
}

/** A stack as the engine has it, and as its user sees it. */
export class Stack {
  /** Everything that is searched for secrets. */
  output = "";
  /** What the user has read: errors, and what the processes have printed, without the debug log. */
  messages = "";
  /** How many characters of them are older than the last command. */
  #told = 0;
  /** By what they are for. */
  readonly #providers = new Map<string, Provider>();

  /** `all` has the resources of the program and of the state. */
  constructor(readonly all: Resource[]) {}

  /** The resources of the program. */
  get resources(): Resource[] {
    return this.all.filter(({ args }) => args);
  }

  /** What the user has read since the last command began. */
  get news(): string {
    return this.messages.slice(this.#told);
  }

  get isFinished(): boolean {
    return this.all.every(({ id, args, error }) => !error && Boolean(id) === Boolean(args));
  }

  get #targets(): Resource[] {
    return this.resources.filter(({ replacement }) => replacement?.way === "target");
  }

  /** Whether the next `up` leaves resources out. */
  get isTargeted(): boolean {
    return this.#targets.length > 0;
  }

  /** The next commands replace one resource, or all; the old objects are deleted last, or first. */
  replace({ way, at, deletesFirst }: Replacement): void {
    for (const [index, old] of this.resources.entries()) {
      if (way !== "all" && index !== at % this.resources.length) continue;
      old.isApart = way === "all";
      // Two edges can't serve one hostport.
      const isFirst = deletesFirst || old.args?.hostports !== undefined;
      const one = old.successor();
      one.replaces = { way, deletesFirst: isFirst, old };
      this.all.splice(this.all.indexOf(old), 1, one);
      this.all.push(old);
    }
  }

  /** Starts the processes of the next command, unless they still run. */
  async start(
    newProcess: (protocol: Protocol, key: Key) => Promise<Provider>,
    command: Command,
  ): Promise<void> {
    // In the process of an `up`, a delete is a part of a replacement.
    if (command === "destroy") await this.end();
    for (const one of this.all) {
      for (const protocol of one.protocols) {
        // A dynamic provider finds the key of each resource.
        const key = protocol === "plugin" ? one.key : "tlsedge";
        const label = `${protocol} ${key} ${one.isApart}`;
        const provider = this.#providers.get(label) ?? (await newProcess(protocol, key));
        this.#providers.set(label, provider);
        one.providers[protocol] = provider;
      }
    }
  }

  /** Runs a command on all resources at once, or on some; gives whether something has changed. */
  async run(command: Command, isTargeted: boolean): Promise<boolean> {
    for (const one of this.all) one.begin();
    this.#told = this.messages.length;
    const targeted = isTargeted ? this.resources.slice(-1) : this.#targets;
    const chosen = targeted.length > 0 ? targeted : this.all;
    const done = await this.#runAll(command, chosen);
    // Last, and only if all went well, as the engine does.
    if (command !== "up" || this.all.some(({ error }) => error)) return done;
    const old = targeted.map(({ replaces }) => replaces?.old);
    const isLast = (one: Resource) => chosen === this.all || old.includes(one);
    const last = this.all.filter((one) => !one.args && isLast(one));
    const deleted = await this.#runAll("destroy", last);
    return done || deleted;
  }

  async #runAll(command: Command, chosen: Resource[]): Promise<boolean> {
    const run = async (one: Resource) => {
      try {
        return await one.run(command);
      } catch (error) {
        one.error = error as Error;
        this.messages += `${one.error.message}\n`;
        return false;
      }
    };
    return (await Promise.all(chosen.map(run))).some(Boolean);
  }

  /** Ends the processes as the engine does, kills them, or takes their engine away; their output is complete then. */
  async end(victim?: "provider" | "engine"): Promise<void> {
    const all = [...this.#providers];
    this.#providers.clear();
    const ends = all.map(async ([label, provider]) => {
      if (victim === "engine") return provider.loseEngine(longestOperationMs);
      if (victim === "provider") return provider.kill();
      if (provider.hasEnded) this.messages += "a process has ended by itself\n";
      // The plugin then tells its last warnings.
      if (label.startsWith("plugin")) await provider.cancel().catch(() => undefined);
      await provider.end();
    });
    await Promise.all(ends);
    for (const [, { printed, answered }] of all) {
      this.output += printed + answered;
      const lines = printed.split("\n").filter((line) => !/ pulumi-tlsedge:\w+ /.test(line));
      this.messages += `${lines.join("\n")}\n`;
    }
  }
}
