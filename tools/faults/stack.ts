import type { Sequence, Step } from "./draw.ts";
import type { Properties, Provider } from "./protocol.ts";
import { Resource } from "./resource.ts";
import type { Stage } from "./stage.ts";

/** Longer than an operation may take: then a provider has nothing left to do. */
const patienceMs = 3000;

/** A stack as the engine has it: resources, and the provider process of the present command. */
export class Stack {
  readonly resources: Resource[];
  /** What the program says of each resource. */
  program: Properties[];
  /** What each resource's part of the last command failed with. */
  errors: (Error | undefined)[] = [];
  /** All that a person has read so far: errors, and what the processes have printed. */
  said = "";
  /** Everything in which no secret may stand. */
  heard = "";
  /** A process that ended though nobody killed it. */
  hasCrashed = false;
  readonly #stage: Stage;
  #process: Provider | undefined;

  constructor(stage: Stage, { kind, programs }: Sequence, number: number) {
    this.#stage = stage;
    this.program = programs[number] ?? [];
    this.resources = this.program.map(() => new Resource(kind));
  }

  get hasFailed(): boolean {
    return this.errors.some(Boolean);
  }

  get ids(): string[] {
    return this.resources.flatMap(({ id }) => id || []);
  }

  /** Runs a command on all resources at once; one that follows a failure has a new process. */
  async run(command: "up" | Step): Promise<string[]> {
    if (this.hasFailed) await this.end();
    this.#process ??= await this.#stage.process();
    const work = async (one: Resource, index: number) => {
      one.provider = this.#process;
      if (command === "refresh") return one.id ? one.refresh() : "same";
      if (command === "destroy") return one.id ? one.destroy() : "same";
      return one.up(this.program[index] as Properties);
    };
    const done = await Promise.allSettled(this.resources.map(work));
    this.errors = done.map((one) => (one.status === "rejected" ? one.reason : undefined));
    for (const error of this.errors) if (error) this.said += `${error.message}\n`;
    return done.flatMap((one) => (one.status === "fulfilled" ? String(one.value) : []));
  }

  /** Kills the process, or takes its engine away. */
  async kill(victim: "provider" | "engine"): Promise<void> {
    const killed = this.#process;
    this.#process = undefined;
    await (victim === "engine" ? killed?.orphan(patienceMs) : killed?.close());
    this.#hear(killed);
  }

  /** Ends the process, so that all it has printed is there. */
  async end(): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    this.hasCrashed ||= ended?.hasEnded ?? false;
    await ended?.end();
    this.#hear(ended);
  }

  /** A process that has not failed goes on to another run. */
  async leave(): Promise<void> {
    const left = this.#process;
    if (!left || this.hasFailed || left.hasEnded) return this.end();
    this.#hear(left);
    this.#process = undefined;
    this.#stage.reuse(left);
  }

  #hear(provider: Provider | undefined): void {
    if (!provider) return;
    this.heard += provider.printed + provider.answered;
    // A debug log is not what a person reads.
    const lines = provider.printed.split("\n").filter((line) => !/ pulumi-tlsedge:\w+ /.test(line));
    this.said += lines.join("\n");
  }
}
