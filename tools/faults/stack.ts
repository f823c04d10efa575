import { isDeepStrictEqual } from "node:util";
import { CallError, type Named, type Properties, type Protocol, type Provider } from "../protocol";

export type Command = "up" | "preview" | "refresh" | "destroy";

const nothing = { id: "", inputs: {} as Properties, state: {} as Properties, isPartial: false };
/** Longer than an operation's deadline: by then a provider without an engine has ended. */
const longestOperationMs = 3000;

/** One resource, as the engine stores it and drives it. */
export class Resource {
  /** What the state has; `isPartial` says that the next `up` updates it even if no input has changed. */
  stored = nothing;
  /** The same before the last command, and the error of that command. */
  before = nothing;
  error: Error | undefined;

  /** `args` are the program's arguments; undefined when the program no longer has the resource. */
  constructor(
    readonly kind: "tlsEdge" | "tlsCertificate",
    readonly protocol: Protocol,
    public name: string,
    public args: Properties | undefined,
  ) {}

  get id(): string {
    return this.stored.id;
  }

  /** Runs a command; gives whether something has changed. Adds the description of a create. */
  async run(command: Command, provider: Provider, creates: unknown[]): Promise<boolean> {
    const { kind, id, protocol, args } = this;
    const { inputs, state } = this.stored;
    const type = `tlsedge:index:${kind.replace("tls", "TLS")}`;
    const named = { type, urn: `urn:pulumi:stack::project::${type}::${this.name}` };
    if (command === "up" || command === "preview") {
      const isImport = protocol === "plugin" && args?.__import !== undefined && !id;
      if (isImport) await this.#import(provider, named, String(args.__import));
      return args ? this.#up(command, provider, named, creates) : false;
    }
    if (!id) return false;
    if (command === "destroy") await provider.delete(named, id, state);
    const reading = command === "refresh" ? provider.read(named, id, state, inputs) : undefined;
    const found = await reading;
    this.stored = found?.id
      ? { ...this.stored, ...found, inputs: found.inputs ?? inputs }
      : nothing;
    return !isDeepStrictEqual(inputs, this.stored.inputs);
  }

  /** The engine's own import. */
  async #import(provider: Provider, named: Named, wanted: string): Promise<void> {
    const { inputs, ...found } = await provider.read(named, wanted);
    if (!found.id || !inputs) throw new Error(`there is no ${wanted}`);
    this.stored = { ...nothing, ...found, inputs };
  }

  async #up(command: Command, provider: Provider, named: Named, creates: unknown[]) {
    const { id, inputs: olds, state, isPartial } = this.stored;
    const isPlugin = this.protocol === "plugin";
    const { __import, ...args } = this.args ?? {};
    // A copy of the provider's text, not an import: every state has it, so it never changes.
    const __provider = `exports.handler = () => require("pulumi-tlsedge/provider").${this.kind}`;
    const news = isPlugin ? args : { ...this.args, __provider };
    const { inputs, failures } = await provider.check(named, olds, news);
    if (failures.length > 0) throw new Error(`the plan fails: ${failures.join("; ")}`);
    const diff = id ? await provider.diff(named, id, state, inputs, olds) : undefined;
    if (diff?.replaces.length) throw new Error(`a change of ${diff.replaces} would replace`);
    const isSame = diff?.same || (diff?.changed === false && isDeepStrictEqual(olds, inputs));
    // A dynamic provider is not asked about a create in a plan.
    if (command === "preview" && isPlugin && !id) await provider.create(named, inputs, true);
    if (command === "preview") return !isSame;
    if (isSame && !isPartial) {
      this.stored = { ...this.stored, inputs };
      return false;
    }
    if (!id) creates.push(args.description);
    const work = id
      ? provider.update(named, id, state, inputs, olds).then((found) => ({ id, state: found }))
      : provider.create(named, inputs);
    const found = await work.catch((error) => this.#fail(error, inputs));
    this.stored = { ...nothing, ...found, inputs };
    return true;
  }

  /** A failed create or update may have made a part of the resource. */
  #fail(error: unknown, inputs: Properties): never {
    if (error instanceof CallError && error.partial) {
      const { id, properties: state } = error.partial;
      this.stored = { id, inputs, state, isPartial: true };
    }
    throw error;
  }
}

/** A stack as the engine has it, and as its user sees it. */
export class Stack {
  /** The descriptions of the objects that creates were asked for. */
  readonly creates: unknown[] = [];
  #provider: Provider | undefined;
  readonly #processes: Provider[] = [];
  #errors = "";

  /** `all` has the resources of the program and of the state; `key` is for those without a connection. */
  constructor(
    readonly all: Resource[],
    readonly key: string,
  ) {}

  /** The resources of the program. */
  get resources(): Resource[] {
    return this.all.filter(({ args }) => args);
  }

  get isFinished(): boolean {
    return this.all.every(({ id, args, error }) => !error && Boolean(id) === Boolean(args));
  }

  /** Everything that is searched for secrets. */
  get output(): string {
    return this.#processes.map(({ printed, answered }) => printed + answered).join("\n");
  }

  /** What the user has read: errors, and what the processes have printed, without the debug log. */
  get messages(): string {
    const lines = this.#processes.flatMap(({ printed }) => printed.split("\n"));
    return this.#errors + lines.filter((line) => !/ pulumi-tlsedge:\w+ /.test(line)).join("\n");
  }

  /** Starts a process for the next command, unless one still runs. */
  async start(newProcess: () => Promise<Provider>): Promise<void> {
    if (this.#provider) return;
    this.#provider = await newProcess();
    this.#processes.push(this.#provider);
  }

  /** Runs a command on all resources at once, or on the last one; gives whether something has changed. */
  async run(command: Command, isTargeted: boolean): Promise<boolean> {
    const provider = this.#provider as Provider;
    const runAll = (what: Command, chosen: Resource[]) =>
      Promise.all(
        chosen.map((one) =>
          one.run(what, provider, this.creates).catch((error) => {
            one.error = error;
            this.#errors += `${error.message}\n`;
            return false;
          }),
        ),
      );
    for (const one of this.all) Object.assign(one, { error: undefined, before: one.stored });
    const changes = await runAll(command, isTargeted ? this.resources.slice(-1) : this.all);
    // Last, and only if all went well, as the engine does.
    const isEnd = command === "up" && !isTargeted && !this.all.some(({ error }) => error);
    const dropped = isEnd ? this.all.filter(({ args }) => !args) : [];
    return [...changes, ...(await runAll("destroy", dropped))].some(Boolean);
  }

  /** Ends the process as the engine does, kills it, or takes its engine away. */
  async end(victim?: "provider" | "engine"): Promise<void> {
    const provider = this.#provider;
    this.#provider = undefined;
    if (!provider || victim === "provider") return provider?.kill();
    if (victim) return provider.loseEngine(longestOperationMs);
    if (provider.hasEnded) this.#errors += "a process has ended by itself\n";
    // Only a plugin has it: it tells its last warnings then.
    if (this.all[0]?.protocol === "plugin") await provider.cancel().catch(() => undefined);
    await provider.end();
  }
}
