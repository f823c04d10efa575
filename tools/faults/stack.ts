import type { Properties, Provider } from "../protocol";
import type { Account } from "./account";
import type { Sequence, Step } from "./draw";
import { Resource } from "./resource";

/** Longer than an operation's deadline. After this time a provider without an engine has ended. */
const longestOperationMs = 3000;

/** A stack as the engine has it: resources, and the provider process of the present command. */
export class Stack {
  readonly resources: Resource[];
  /** The program's arguments for each resource. */
  program: Properties[];
  /** For each resource the error of the last command. */
  errors: (Error | undefined)[] = [];
  /** What the user has read: errors, and what the processes have printed, without the debug log. */
  messages = "";
  /** Everything that is searched for secrets. */
  output = "";
  /** Whether a process has ended that nobody killed. */
  hasCrashed = false;
  #provider: Provider | undefined;

  constructor(
    private readonly account: Account,
    { kind, programs }: Sequence,
    number: number,
  ) {
    this.program = programs[number] ?? [];
    this.resources = this.program.map(
      (_, index) => new Resource(kind, `stack${number}-${index}`, account.door),
    );
  }

  get hasFailed(): boolean {
    return this.errors.some(Boolean);
  }

  get ids(): string[] {
    return this.resources.flatMap(({ id }) => id || []);
  }

  /** Runs a command on all resources at once; after a failure it gets a new process. */
  async run(command: "up" | Step): Promise<string[]> {
    // The engine starts a process for each command. The plugin starts fast enough to do so here
    // before a destroy: in the process of an `up`, a delete is a part of a replacement.
    const isFresh = command === "destroy" && this.account.door === "plugin";
    if (this.hasFailed || isFresh) await this.end();
    this.#provider ??= await this.account.provider();
    const work = async (one: Resource, index: number) => {
      one.provider = this.#provider;
      if (command === "refresh") return one.id ? one.refresh() : "same";
      if (command === "destroy") return one.id ? one.destroy() : "same";
      return one.up(this.program[index] as Properties);
    };
    const done = await Promise.allSettled(this.resources.map(work));
    this.errors = done.map((one) => (one.status === "rejected" ? one.reason : undefined));
    for (const error of this.errors) if (error) this.messages += `${error.message}\n`;
    return done.flatMap((one) => (one.status === "fulfilled" ? String(one.value) : []));
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
    await provider?.end();
    this.#keepOutput(provider);
  }

  /** Ends the run: a process that has not failed serves the next run. */
  async leave(): Promise<void> {
    if (!this.#provider || this.hasFailed || this.#provider.hasEnded) return this.end();
    this.#keepOutput(this.#provider);
    this.account.reuse(this.#provider);
    this.#provider = undefined;
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
    this.messages += lines.join("\n");
  }
}
