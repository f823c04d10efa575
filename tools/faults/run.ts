import { tlsCertificates } from "pulumi-tlsedge/client/tlsCertificate";
import { tlsEdges } from "pulumi-tlsedge/client/tlsEdge";
import { paths, type Sequence, type Step, type Strike } from "./draw.ts";
import {
  accused,
  type Broken,
  behind,
  isLike,
  objects,
  shared,
  unclear,
  unnamed,
  type Wire,
} from "./judge.ts";
import type { Properties } from "./protocol.ts";
import { Stack } from "./stack.ts";
import { type Stage, until } from "./stage.ts";

/** So many times a person tries again, and follows what the errors say. */
const mostUps = 5;

/** What became of a run. */
export interface Result {
  /** The faults that struck a request, by title. */
  struck: string[];
  killed: "provider" | "engine" | undefined;
  creates: number;
  /** How often an `up` was run before all was made. */
  ups: number;
  /** The objects that the creates have left, and how many of those no state has. */
  objects: number;
  named: number;
  /** The promises that were broken; none is what is wanted. */
  broken: Broken[];
}

/** Plays a run: creates under faults, what a person does then, and what comes later. */
export async function play(stage: Stage, sequence: Sequence): Promise<Result> {
  const run = new Run(stage, sequence);
  try {
    await run.create();
    await run.goOn();
  } finally {
    await Promise.all(run.stacks.map((stack) => stack.leave()));
    stage.emulator.faults.clear();
  }
  run.broken.push(...unclear(run.stacks, stage));
  return run;
}

class Run implements Result {
  readonly stacks: Stack[];
  readonly struck: string[] = [];
  killed: Result["killed"];
  ups = 1;
  objects = 0;
  named = 0;
  readonly broken: Broken[] = [];
  readonly #stage: Stage;
  readonly #sequence: Sequence;
  /** What others have in the account. */
  #others: string[] = [];
  #set: string[] = [];
  #unsure = new Set<string>();

  constructor(stage: Stage, sequence: Sequence) {
    this.#stage = stage;
    this.#sequence = sequence;
    this.stacks = sequence.programs.map((_, number) => new Stack(stage, sequence, number));
  }

  get creates(): number {
    return this.#sequence.programs.flat().length;
  }

  /** Makes everything, however often that takes, and judges what is there then. */
  async create(): Promise<void> {
    const { strikes, kill, goesOn, elders, programs } = this.#sequence;
    this.#stage.emulator.reset();
    this.#others = await makeElders(this.#stage, this.#sequence.kind, programs[0]?.[0], elders);
    this.#strike(kill ? [killing(this.#sequence.kind, kill), ...strikes] : strikes);
    await this.#up(this.stacks, kill);
    while (this.stacks.some((stack) => stack.hasFailed) && this.ups < mostUps) {
      if (!goesOn || this.ups > 1) this.#clear();
      const adopted = this.#followAdvice();
      this.ups += 1;
      await this.#up(this.stacks.filter((stack) => stack.hasFailed));
      if (adopted.length > 0) await this.#endAdoption(adopted);
    }
    this.#clear();
    this.#stuck();
    this.broken.push(...shared(this.stacks));
    await this.#judgeWhatIsLeft();
  }

  /** Updates, reads and deletes under faults; in the end the service has what the program says. */
  async goOn(): Promise<void> {
    const { steps, laterStrikes, changed } = this.#sequence;
    if (this.broken.length > 0) return;
    this.#strike(laterStrikes);
    for (const step of steps) {
      if (step === "update") {
        for (const [n, stack] of this.stacks.entries()) stack.program = changed[n] as Properties[];
      }
      await Promise.all(this.stacks.map((stack) => stack.run(step)));
      this.#takenForGone();
    }
    this.#clear();
    await (steps.includes("destroy") ? this.#destroyed() : this.#settled());
  }

  async #destroyed(): Promise<void> {
    await this.#finally("destroy");
    if (this.#own().length > 0) this.#differs(`${this.#own().length} are left after all`);
  }

  /** What a person does last finds everything as the program says, and then nothing to do. */
  async #settled(): Promise<void> {
    let last: string[] = [];
    for (const command of ["refresh", "up", "up"] as const) {
      last = await this.#finally(command);
      this.#takenForGone();
      if (command === "up") this.#judgeContent();
    }
    if (last.some((verdict) => verdict !== "same")) this.#differs(`${last} in the end`);
  }

  /** Without a fault a command succeeds, though not at once on a machine that is very busy. */
  async #finally(command: "up" | Step): Promise<string[]> {
    let done: string[][] = [];
    for (let tries = 0; tries < 3; tries++) {
      done = await Promise.all(this.stacks.map((stack) => stack.run(command)));
      if (!this.stacks.some((stack) => stack.hasFailed)) break;
    }
    this.#stuck();
    return done.flat();
  }

  async #up(stacks: Stack[], kill?: Sequence["kill"]): Promise<void> {
    const heldBefore = new Set(this.stacks.flatMap((stack) => stack.ids));
    const done = Promise.all(stacks.map((stack) => stack.run("up")));
    if (kill) await this.#killDuring(done, kill);
    await done;
    // Nobody knows whether an engine has stored what a process answered just before it was killed.
    if (this.killed && kill) this.#unsure = new Set(this.stacks[kill.stack]?.ids);
    this.broken.push(...accused(stacks, heldBefore, this.#others, this.#unsure));
  }

  /** Kills a process when its point is reached, if ever. */
  async #killDuring(up: Promise<unknown>, { stack, victim }: NonNullable<Sequence["kill"]>) {
    const { faults } = this.#stage.emulator;
    await until(() => faults.list()[0]?.struck === 1, up);
    if (faults.list()[0]?.struck !== 1) return;
    this.killed = victim;
    await this.stacks[stack]?.kill(victim);
  }

  /** What an error names is deleted, or adopted where it is the error of one resource alone. */
  #followAdvice(): Properties[] {
    const { kind, adopts } = this.#sequence;
    const adopted: Properties[] = [];
    const held = new Set(this.stacks.flatMap((stack) => stack.ids));
    const failed = this.stacks.flatMap(({ errors, resources, program }) =>
      errors.flatMap((error, index) => {
        const args = program[index] as Properties;
        return error && !resources[index]?.id ? [{ said: error.message, args }] : [];
      }),
    );
    for (const { id } of this.#own()) {
      const [first, ...more] = failed.filter(({ said }) => said.includes(id));
      if (held.has(id) || !first) continue;
      if (adopts && more.length === 0 && first.args.__import === undefined) {
        first.args.__import = id;
        adopted.push(first.args);
      } else {
        this.objects += 1;
        this.named += 1;
        behind(this.#stage.emulator, kind).delete(id);
      }
    }
    return adopted;
  }

  /** The option that adopts is for once; each command of the engine's has a process of its own. */
  async #endAdoption(adopted: Properties[]): Promise<void> {
    for (const args of adopted) delete args.__import;
    await Promise.all(this.stacks.map((stack) => stack.end()));
    await this.#up(this.stacks);
  }

  async #judgeWhatIsLeft(): Promise<void> {
    const { emulator } = this.#stage;
    const all = this.#own();
    const held = new Set(this.stacks.flatMap((stack) => stack.ids));
    const left = all.filter(({ id }) => !held.has(id));
    if (unnamed(this.stacks, left, all).length > 0 || left.length > 0) {
      // What a process prints last may come after its answer.
      await Promise.all(this.stacks.map((stack) => stack.end()));
    }
    const broken = unnamed(this.stacks, left, all);
    this.broken.push(...broken);
    this.objects += all.length;
    this.named += left.length - broken.length;
    for (const { id } of left) behind(emulator, this.#sequence.kind).delete(id);
  }

  #judgeContent(): void {
    const own = this.#own();
    for (const stack of this.stacks) {
      for (const [index, { id }] of stack.resources.entries()) {
        const object = own.find((one) => one.id === id);
        const args = stack.program[index] as Properties;
        if (!object || !isLike(args, object)) this.#differs(`${id} is not what the program says`);
      }
    }
    if (own.length !== this.creates) this.#differs(`${own.length} objects, not ${this.creates}`);
  }

  #takenForGone(): void {
    if (this.#sequence.steps.includes("destroy")) return;
    const lost = this.stacks.flatMap(({ resources }) => resources).filter(({ id }) => !id);
    if (lost.length > 0) this.broken.push({ promise: "gone", text: `${lost.length} of them` });
  }

  #stuck(): void {
    for (const error of this.stacks.flatMap(({ errors }) => errors)) {
      if (error) this.broken.push({ promise: "stuck", text: error.message });
    }
  }

  #differs(text: string): void {
    this.broken.push({ promise: "differs", text });
  }

  /** The objects of this run: all but those of others. */
  #own(): Wire[] {
    const all = objects(this.#stage.emulator, this.#sequence.kind);
    return all.filter(({ id }) => !this.#others.includes(id));
  }

  #strike(strikes: Strike[]): void {
    this.#set = strikes.map(({ title }) => title);
    this.#stage.emulator.faults.add(...strikes.map(({ fault }) => fault));
  }

  #clear(): void {
    const struck = this.#stage.emulator.faults.list().map((fault) => fault.struck > 0);
    this.struck.push(...this.#set.filter((_, index) => struck[index]));
    this.#set = [];
    this.#stage.emulator.faults.clear();
  }
}

/** The request that is under way when a process is killed: it is never answered. */
function killing(kind: Sequence["kind"], { skip, work }: NonNullable<Sequence["kill"]>): Strike {
  const fault = { method: "POST", path: paths[kind], skip, work, answer: "silence" } as const;
  return { title: `no answer, ${work ? "after" : "before"} the work, and a process killed`, fault };
}

/** Someone else has made the same, an hour ago. */
async function makeElders(
  stage: Stage,
  kind: Sequence["kind"],
  { description, certificatePem, privateKeyPem }: Properties = {},
  count: number,
): Promise<string[]> {
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const ids: string[] = [];
  const stranger = stage.stranger();
  for (let n = 0; n < count; n++) {
    const labels = { description: String(description) };
    const pair = {
      certificate_pem: String(certificatePem),
      private_key_pem: String(privateKeyPem),
    };
    const made =
      kind === "tlsEdge"
        ? await tlsEdges.create(stranger, labels)
        : await tlsCertificates.create(stranger, { ...labels, ...pair });
    behind(stage.emulator, kind).patch(made.id, { created_at: anHourAgo });
    ids.push(made.id);
  }
  return ids;
}
