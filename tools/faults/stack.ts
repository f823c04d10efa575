import type { Properties, Provider } from "../protocol";
import type { Account, Key, Settings } from "./account";
import type { Sequence, Step } from "./draw";
import { Resource } from "./resource";

/** Longer than an operation's deadline. After this time a provider without an engine has ended. */
const longestOperationMs = 3000;

/** A stack as the engine has it: resources, and the provider process of the present command. */
export class Stack {
  /** The program's resources. */
  readonly resources: Resource[];
  /** What the state still has, and the program no longer declares. */
  readonly dropped: Resource[] = [];
  /** The program's arguments for each resource. */
  program: Properties[];
  /** For each resource the error of the last command, then those of the dropped ones. */
  errors: (Error | undefined)[] = [];
  /** What the user has read: errors, and what the processes have printed, without the debug log. */
  messages = "";
  /** Everything that is searched for secrets. */
  output = "";
  /** Whether a process has ended that nobody killed. */
  hasCrashed = false;
  #provider: Provider | undefined;
  readonly #key: Key;
  /** What a later command adds to the settings. */
  #settings: Settings = {};

  constructor(
    private readonly account: Account,
    { name, kind, programs, key }: Sequence,
    number: number,
  ) {
    const { protocol } = account;
    // A process of the plugin has one key; dynamic providers have one for each resource.
    this.#key = protocol === "plugin" && number % 2 === 1 ? key : "tlsedge";
    this.program = (programs[number] ?? []).map((args, index) =>
      protocol === "dynamic" && (number + index) % 2 === 1 ? { ...args, connection: key } : args,
    );
    const label = `${name.replaceAll(/\W+/g, "-")}-stack${number}`;
    this.resources = this.program.map((_, n) => new Resource(kind, `${label}-${n}`, protocol));
  }

  get hasFailed(): boolean {
    return this.errors.some(Boolean);
  }

  /** Whether another `up` has something to do. */
  get isUnfinished(): boolean {
    return this.hasFailed || this.dropped.length > 0 || this.resources.some(({ id }) => !id);
  }

  get all(): Resource[] {
    return [...this.resources, ...this.dropped];
  }

  get ids(): string[] {
    return this.all.flatMap(({ id }) => id || []);
  }

  /** Whether a resource of the program belongs to the other account. */
  isOfOther(index: number): boolean {
    return (this.program[index]?.connection ?? this.#key) === "other";
  }

  /** Runs a command on all resources at once, or on the last one; a failed process is not kept. */
  async run(command: "up" | Step, isTargeted = false): Promise<string[]> {
    // The engine starts a process for each command. The plugin starts fast enough to do so here
    // before a destroy: in the process of an `up`, a delete is a part of a replacement.
    const isFresh = command === "destroy" && this.account.protocol === "plugin";
    if (this.hasFailed || isFresh) await this.end();
    await this.#start();
    const done = await Promise.allSettled(
      this.all.map(async (one, index) => {
        if (isTargeted && index !== this.resources.length - 1) return [];
        if (command === "refresh") return one.id ? one.refresh() : "same";
        if (command === "destroy") return one.id ? one.destroy() : "same";
        const args = this.program[index];
        return args ? one.up(args) : [];
      }),
    );
    this.#keepErrors(done);
    // Last, and only if all went well, as the engine does.
    if (command === "up" && !isTargeted && !this.hasFailed) {
      this.#keepErrors(await Promise.allSettled(this.dropped.map((one) => one.destroy())));
    }
    this.dropped.splice(0, Number.POSITIVE_INFINITY, ...this.dropped.filter(({ id }) => id));
    return done.flatMap((one) => (one.status === "fulfilled" ? (one.value ?? []) : []));
  }

  /** `pulumi preview`, whose warnings the user reads. */
  async plan(): Promise<void> {
    await this.end();
    await this.#start();
    const plans = this.resources.map((one, index) => one.plan(this.program[index] ?? {}));
    for (const plan of await Promise.allSettled(plans)) {
      if (plan.status === "rejected") this.messages += `${plan.reason.message}\n`;
    }
    await this.end();
  }

  /** The user goes on after a command that has failed, perhaps with other settings. */
  goOn({ gateway }: Sequence): void {
    this.#settings = { gateway };
  }

  /** Gives a resource another name, without an alias or with one; see `Edit`. */
  rename(hasAlias: boolean): void {
    // Two edges can't serve one hostport.
    const free = [...this.resources.keys()].filter((n) => !this.program[n]?.hostports);
    const index = free.find((n) => this.resources[n]?.id) ?? free[0] ?? 0;
    const one = this.resources[index] as Resource;
    const { kind, name, protocol } = one;
    const args = this.program[index] as Properties;
    const named = (name: string) => new Resource(kind, name, protocol);
    if (hasAlias) {
      one.name = `${name}-renamed`;
      this.resources.push(named(name));
      this.program.push({ ...args });
    } else {
      this.resources[index] = named(`${name}-other`);
      if (one.id) this.dropped.push(one);
    }
  }

  /** Kills the process, or takes its engine away. */
  async kill(victim: "provider" | "engine"): Promise<void> {
    const provider = this.#take();
    await (victim === "engine" ? provider?.loseEngine(longestOperationMs) : provider?.kill());
    this.#keepOutput(provider);
  }

  /** Ends the process, so that its output is complete. */
  async end(): Promise<void> {
    const provider = this.#take();
    this.hasCrashed ||= provider?.hasEnded ?? false;
    // As the engine does at the end of each run: the plugin then tells its last warnings.
    if (this.account.protocol === "plugin") await provider?.cancel().catch(() => undefined);
    await provider?.end();
    this.#keepOutput(provider);
  }

  async #start(): Promise<void> {
    this.#provider ??= await this.account.provider(this.#key, this.#settings);
    for (const one of this.all) one.provider = this.#provider;
  }

  #keepErrors(done: PromiseSettledResult<unknown>[]): void {
    this.errors = done.map((one) => (one.status === "rejected" ? one.reason : undefined));
    for (const error of this.errors) if (error) this.messages += `${error.message}\n`;
  }

  #take(): Provider | undefined {
    const provider = this.#provider;
    this.#provider = undefined;
    return provider;
  }

  #keepOutput(provider: Provider | undefined): void {
    if (!provider) return;
    this.output += provider.printed + provider.answered;
    const lines = provider.printed.split("\n").filter((line) => !/ pulumi-tlsedge:\w+ /.test(line));
    this.messages += `${lines.join("\n")}\n`;
  }
}
