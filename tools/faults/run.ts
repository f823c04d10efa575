import { tlsCertificates } from "../../client/tlsCertificate";
import { tlsEdges } from "../../client/tlsEdge";
import { until } from "../processes";
import type { Properties } from "../protocol";
import type { Account } from "./account";
import { type DrawnFault, paths, type Sequence, type Step } from "./draw";
import {
  type Broken,
  isLike,
  misleading,
  shared,
  stored,
  unclear,
  unnamed,
  type Wire,
} from "./judge";
import { Stack } from "./stack";

/** How often the user tries `up` and follows the advice of its errors. */
const mostUps = 5;

/** The result of a run. */
export interface Result {
  /** The faults that struck a request, by title. */
  struck: string[];
  killed: "provider" | "engine" | undefined;
  /** How many resources the programs create. */
  creates: number;
  /** How many times `up` was run until everything was created. */
  ups: number;
  /** How many objects the creates have made, and how many of these no state has. */
  objects: number;
  named: number;
  broken: Broken[];
}

/** Runs a sequence: creates under faults, what the user does after them, and later commands. */
export async function runSequence(account: Account, sequence: Sequence): Promise<Result> {
  const run = new Run(account, sequence);
  try {
    await run.create();
    if (run.broken.length === 0) await run.goOn();
  } finally {
    await Promise.all(run.stacks.map((stack) => stack.leave()));
    account.emulator.faults.clear();
  }
  run.broken.push(...unclear(run.stacks, account));
  const { struck, killed, creates, ups, objects, named, broken } = run;
  return { struck, killed, creates, ups, objects, named, broken };
}

class Run implements Result {
  readonly stacks: Stack[];
  readonly struck: string[] = [];
  killed: Result["killed"];
  ups = 1;
  objects = 0;
  named = 0;
  readonly broken: Broken[] = [];
  /** Ids of objects that the account had before. */
  #others: string[] = [];
  /** Titles of the faults that are set. */
  #titles: string[] = [];
  /** Ids of which it is not known whether the killed engine has stored them. */
  #unsure = new Set<string>();

  constructor(
    private readonly account: Account,
    private readonly sequence: Sequence,
  ) {
    this.stacks = sequence.programs.map((_, number) => new Stack(account, sequence, number));
  }

  get creates(): number {
    return this.sequence.programs.flat().length;
  }

  /** Creates everything, with as many ups as that takes, and judges the objects. */
  async create(): Promise<void> {
    const { createFaults, kill, keepsFaults } = this.sequence;
    this.account.emulator.reset();
    this.#others = await makeOlderObjects(this.account, this.sequence);
    this.#setFaults(kill ? [killFault(this.sequence.kind, kill), ...createFaults] : createFaults);
    await this.#up(this.stacks, kill);
    while (this.stacks.some((stack) => stack.hasFailed) && this.ups < mostUps) {
      if (!keepsFaults || this.ups > 1) this.#clear();
      const adopted = this.#followAdvice();
      this.ups += 1;
      await this.#up(this.stacks.filter((stack) => stack.hasFailed));
      if (adopted.length > 0) await this.#endAdoption(adopted);
    }
    this.#clear();
    this.#judgeErrors();
    this.broken.push(...shared(this.stacks));
    await this.#judgeWhatIsLeft();
  }

  /** Updates, reads and deletes under faults; in the end the service has what the program says. */
  async goOn(): Promise<void> {
    const { steps, stepFaults, changed } = this.sequence;
    this.#setFaults(stepFaults);
    for (const step of steps) {
      if (step === "update") {
        for (const [n, stack] of this.stacks.entries()) stack.program = changed[n] as Properties[];
      }
      await Promise.all(this.stacks.map((stack) => stack.run(step)));
      this.#judgeGone();
    }
    this.#clear();
    await (steps.includes("destroy") ? this.#endDestroyed() : this.#endUnchanged());
  }

  async #endDestroyed(): Promise<void> {
    await this.#runWithoutFaults("destroy");
    if (this.#own().length > 0) this.#differs(`${this.#own().length} are left after all`);
  }

  async #endUnchanged(): Promise<void> {
    let verdicts: string[] = [];
    for (const command of ["refresh", "up", "up"] as const) {
      verdicts = await this.#runWithoutFaults(command);
      this.#judgeGone();
      if (command === "up") this.#judgeContent();
    }
    if (verdicts.some((verdict) => verdict !== "same")) this.#differs(`${verdicts} in the end`);
  }

  /** On a very busy machine a command may fail without a fault: it runs up to three times. */
  async #runWithoutFaults(command: "up" | Step): Promise<string[]> {
    let done: string[][] = [];
    for (let tries = 0; tries < 3; tries++) {
      done = await Promise.all(this.stacks.map((stack) => stack.run(command)));
      if (!this.stacks.some((stack) => stack.hasFailed)) break;
    }
    this.#judgeErrors();
    return done.flat();
  }

  async #up(stacks: Stack[], kill?: Sequence["kill"]): Promise<void> {
    const heldBefore = this.#held();
    const done = Promise.all(stacks.map((stack) => stack.run("up")));
    if (kill) await this.#killDuring(done, kill);
    await done;
    // The engine may have stored an answer that came just before it was killed, or not.
    if (this.killed && kill) this.#unsure = new Set(this.stacks[kill.stack]?.ids);
    this.broken.push(...misleading(stacks, heldBefore, this.#others, this.#unsure));
  }

  /** Kills a process when the fault of the kill strikes, if it does. */
  async #killDuring(up: Promise<unknown>, { stack, victim }: NonNullable<Sequence["kill"]>) {
    const { faults } = this.account.emulator;
    await until(() => faults.list()[0]?.struck === 1, up);
    if (faults.list()[0]?.struck !== 1) return;
    this.killed = victim;
    await this.stacks[stack]?.kill(victim);
  }

  /** Adopts an object that the error of one resource names; deletes it otherwise. */
  #followAdvice(): Properties[] {
    const { kind, adopts } = this.sequence;
    const adopted: Properties[] = [];
    const held = this.#held();
    const failed = this.stacks.flatMap(({ errors, resources, program }) =>
      errors.flatMap((error, index) => {
        const args = program[index] as Properties;
        return error && !resources[index]?.id ? [{ message: error.message, args }] : [];
      }),
    );
    for (const { id } of this.#own()) {
      const [first, ...more] = failed.filter(({ message }) => message.includes(id));
      if (held.has(id) || !first) continue;
      if (adopts && more.length === 0 && first.args.__import === undefined) {
        first.args.__import = id;
        adopted.push(first.args);
      } else {
        this.objects += 1;
        this.named += 1;
        stored(this.account.emulator, kind).delete(id);
      }
    }
    return adopted;
  }

  /** Removes the import option after one up, as users do; each command has a process of its own. */
  async #endAdoption(adopted: Properties[]): Promise<void> {
    for (const args of adopted) delete args.__import;
    await Promise.all(this.stacks.map((stack) => stack.end()));
    await this.#up(this.stacks);
  }

  async #judgeWhatIsLeft(): Promise<void> {
    const { emulator } = this.account;
    const all = this.#own();
    const held = this.#held();
    const left = all.filter(({ id }) => !held.has(id));
    // The last output of a process may come after its answer.
    if (left.length > 0) await Promise.all(this.stacks.map((stack) => stack.end()));
    const broken = unnamed(this.stacks, left, all);
    this.broken.push(...broken);
    this.objects += all.length;
    this.named += left.length - broken.length;
    for (const { id } of left) stored(emulator, this.sequence.kind).delete(id);
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

  #judgeGone(): void {
    if (this.sequence.steps.includes("destroy")) return;
    const lost = this.stacks.flatMap(({ resources }) => resources).filter(({ id }) => !id);
    if (lost.length > 0) this.broken.push({ promise: "gone", text: `${lost.length} of them` });
  }

  #judgeErrors(): void {
    for (const error of this.stacks.flatMap(({ errors }) => errors)) {
      if (error) this.broken.push({ promise: "stuck", text: error.message });
    }
  }

  #differs(text: string): void {
    this.broken.push({ promise: "differs", text });
  }

  /** The ids in all states. */
  #held(): Set<string> {
    return new Set(this.stacks.flatMap((stack) => stack.ids));
  }

  /** The objects that this run has made. */
  #own(): Wire[] {
    const all: Wire[] = stored(this.account.emulator, this.sequence.kind).list();
    return all.filter(({ id }) => !this.#others.includes(id));
  }

  #setFaults(faults: DrawnFault[]): void {
    this.#titles = faults.map(({ title }) => title);
    this.account.emulator.faults.add(...faults.map(({ fault }) => fault));
  }

  /** Removes the faults, and keeps the titles of those that have struck. */
  #clear(): void {
    const struck = this.account.emulator.faults.list().map((fault) => fault.struck > 0);
    this.struck.push(...this.#titles.filter((_, index) => struck[index]));
    this.#titles = [];
    this.account.emulator.faults.clear();
  }
}

/** The request during which a process is killed: it gets no answer. */
function killFault(
  kind: Sequence["kind"],
  { skip, work }: NonNullable<Sequence["kill"]>,
): DrawnFault {
  const fault = { method: "POST", path: paths[kind], skip, work, answer: "silence" } as const;
  return { title: `no answer, ${work ? "after" : "before"} the work, and a process killed`, fault };
}

/** Creates objects equal to the first resource of the run, as another user did an hour ago. */
async function makeOlderObjects(
  account: Account,
  { kind, programs, olderObjects }: Sequence,
): Promise<string[]> {
  const { description, certificatePem, privateKeyPem } = programs[0]?.[0] ?? {};
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const labels = { description: String(description) };
  const certificate_pem = String(certificatePem);
  const private_key_pem = String(privateKeyPem);
  const ids: string[] = [];
  const client = account.otherUser();
  for (let n = 0; n < olderObjects; n++) {
    const { id } =
      kind === "tlsEdge"
        ? await tlsEdges.create(client, labels)
        : await tlsCertificates.create(client, { ...labels, certificate_pem, private_key_pem });
    stored(account.emulator, kind).patch(id, { created_at: anHourAgo });
    ids.push(id);
  }
  return ids;
}
