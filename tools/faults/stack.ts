import type { Protocol, Provider } from "../protocol";
import type { Properties } from "../resource";
import type { Account, Settings } from "./account";
import type { Replacement, Sequence, Step } from "./draw";
import { Resource } from "./resource";

/** Longer than an operation's deadline. After this time a provider without an engine has ended. */
const longestOperationMs = 3000;

/** A stack as the engine has it: resources, and the provider processes of the present command. */
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
  /** By what they are for. */
  readonly #providers = new Map<string, Provider>();
  /** What a later command adds to the settings. */
  #settings: Settings = {};

  constructor(
    private readonly account: Account,
    { name, kind, programs, key, moves }: Sequence,
    number: number,
  ) {
    const isMoved = moves && account.protocol === "plugin";
    const protocol = isMoved ? "dynamic" : account.protocol;
    const label = `${name.replaceAll(/\W+/g, "-")}-stack${number}`;
    this.program = programs[number] ?? [];
    this.resources = this.program.map((_, n) => {
      // The program would name the account of a connection with an explicit provider.
      const own = (number + n) % 2 === 1 && !isMoved ? key : "tlsedge";
      return new Resource(kind, `${label}-${n}`, protocol, own, label);
    });
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

  /** Runs a command on all resources at once, or on some; a failed process is not kept. */
  async run(command: "up" | Step, isTargeted = false): Promise<string[]> {
    // The engine starts a process for each command, which takes time. Before a destroy it is done here, too: in the
    // process of an `up`, a delete is a part of a replacement.
    if (this.hasFailed || command === "destroy") await this.end();
    await this.#start();
    const targets = isTargeted
      ? this.resources.slice(-1)
      : this.resources.filter(({ replacement }) => replacement?.way === "target");
    const isAll = targets.length === 0;
    const done = await Promise.allSettled(
      this.all.map(async (one, index) => {
        if (!isAll && !targets.includes(one)) return [];
        if (command === "refresh") return one.id ? one.refresh() : "same";
        if (command === "destroy") return one.id ? one.destroy() : "same";
        const args = this.program[index];
        return args ? one.up(args) : [];
      }),
    );
    this.#keepErrors(done);
    // Last, and only if all went well, as the engine does.
    if (command === "up" && !this.hasFailed) {
      const old = targets.map(({ replaces }) => replaces?.old);
      const last = this.dropped.filter((one) => one.id && (isAll || old.includes(one)));
      this.#keepErrors(await Promise.allSettled(last.map((one) => one.destroy())));
    }
    this.dropped.splice(0, Number.POSITIVE_INFINITY, ...this.dropped.filter(({ id }) => id));
    return done.flatMap((one) => (one.status === "fulfilled" ? (one.value ?? []) : []));
  }

  /** `pulumi preview`, whose warnings the user reads. */
  async plan(): Promise<void> {
    await this.end();
    await this.#start();
    const plans = this.resources.map((one, index) => one.preview(this.program[index] ?? {}));
    for (const plan of await Promise.allSettled(plans)) {
      if (plan.status === "rejected") this.messages += `${plan.reason.message}\n`;
    }
    await this.end();
  }

  /** The user goes on after a command that has failed, perhaps with other settings. */
  goOn({ gateway }: Sequence): void {
    const sameAccount = this.errors.some((error) => error?.message.includes("SAME_ACCOUNT=1"));
    this.#settings = { gateway, sameAccount };
  }

  /** Gives a resource another name, without an alias or with one; see `Edit`. */
  rename(hasAlias: boolean): void {
    // Two edges can't serve one hostport.
    const free = [...this.resources.keys()].filter((n) => !this.program[n]?.hostports);
    const index = free.find((n) => this.resources[n]?.id) ?? free[0] ?? 0;
    const one = this.resources[index] as Resource;
    const { name } = one;
    const args = this.program[index] as Properties;
    if (hasAlias) {
      one.name = `${name}-renamed`;
      this.resources.push(one.another(name));
      this.program.push({ ...args });
    } else {
      this.resources[index] = one.another(`${name}-other`);
      if (one.id) this.dropped.push(one);
    }
  }

  /** The next commands replace one resource, or all; the old objects are deleted last, or first. */
  replace({ way, at, deletesFirst }: Replacement): void {
    for (const [index, old] of this.resources.entries()) {
      if (way !== "all" && index !== at % this.resources.length) continue;
      old.isApart = way === "all";
      const one = old.another();
      // Two edges can't serve one hostport.
      const isFirst = deletesFirst || this.program[index]?.hostports !== undefined;
      one.replaces = { way, deletesFirst: isFirst, old };
      this.resources[index] = one;
      this.dropped.push(old);
    }
  }

  /** Kills the processes, or takes their engine away. */
  async kill(victim: "provider" | "engine"): Promise<void> {
    await this.#endEach(async (provider) => {
      await (victim === "engine" ? provider.loseEngine(longestOperationMs) : provider.kill());
    });
  }

  /** Ends the processes, so that their output is complete. */
  async end(): Promise<void> {
    await this.#endEach(async (provider, label) => {
      this.hasCrashed ||= provider.hasEnded;
      // As the engine does at the end of each run: the plugin then tells its last warnings.
      if (label.startsWith("plugin")) await provider.cancel().catch(() => undefined);
      await provider.end();
    });
  }

  async #start(): Promise<void> {
    for (const one of this.all) {
      for (const protocol of one.protocols) {
        one.providers[protocol] = await this.#process(one, protocol);
      }
    }
  }

  /** A dynamic provider finds the key of each resource; a process of the plugin has one. */
  async #process({ key, isApart }: Resource, protocol: Protocol): Promise<Provider> {
    const own = protocol === "plugin" ? key : "tlsedge";
    const label = `${protocol} ${own} ${isApart}`;
    const provider =
      this.#providers.get(label) ?? (await this.account.provider(protocol, own, this.#settings));
    this.#providers.set(label, provider);
    return provider;
  }

  #keepErrors(done: PromiseSettledResult<unknown>[]): void {
    this.errors = done.map((one) => (one.status === "rejected" ? one.reason : undefined));
    for (const error of this.errors) if (error) this.messages += `${error.message}\n`;
  }

  async #endEach(end: (provider: Provider, label: string) => Promise<void>): Promise<void> {
    const all = [...this.#providers];
    this.#providers.clear();
    await Promise.all(all.map(([label, provider]) => end(provider, label)));
    for (const [, provider] of all) this.#keepOutput(provider);
  }

  #keepOutput(provider: Provider): void {
    this.output += provider.printed + provider.answered;
    const lines = provider.printed.split("\n").filter((line) => !/ pulumi-tlsedge:\w+ /.test(line));
    this.messages += `${lines.join("\n")}\n`;
  }
}
