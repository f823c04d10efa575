import { setImmediate, setTimeout } from "node:timers/promises";
import { tlsCertificates } from "../../client/tlsCertificate";
import { tlsEdges } from "../../client/tlsEdge";
import { until } from "../processes";
import type { Properties } from "../resource";
import type { Account } from "./account";
import { type DrawnFault, edit, paths, type Sequence, type Step, words } from "./draw";
import {
  type Broken,
  countCreates,
  isLike,
  messagesOf,
  misleading,
  Owners,
  resent,
  stored,
  unclear,
  unnamed,
  type Wire,
} from "./judge";
import type { Resource } from "./resource";
import { Stack } from "./stack";

/** How often the user tries `up` and follows the advice of its errors. */
const mostUps = 8;

/** The result of a run. */
export interface Result {
  /** The faults that hit a request, by title. */
  metFaults: string[];
  /** What else is rare in the run. */
  words: string[];
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
    for (const part of ["create", "replace", "goOn"] as const) {
      if (run.broken.length === 0 && !run.owners.isExcused) await run[part]();
    }
  } finally {
    await Promise.all(run.stacks.map((stack) => stack.end()));
    account.emulator.faults.clear();
  }
  run.broken.push(...unclear(run.stacks, account));
  const { metFaults, killed, creates, ups, objects, named, broken } = run;
  const said = Object.entries(words).flatMap(([word, isIn]) => (isIn(sequence) ? word : []));
  return { metFaults, words: said, killed, creates, ups, objects, named, broken };
}

class Run implements Omit<Result, "words"> {
  readonly stacks: Stack[];
  readonly owners: Owners;
  readonly metFaults: string[] = [];
  killed: Result["killed"];
  ups = 0;
  named = 0;
  readonly broken: Broken[] = [];
  /** Ids of objects that the account had before. */
  #others: string[] = [];
  /** Ids of objects that the creates have made. */
  readonly #made = new Set<string>();
  /** The faults that are set. */
  #faults: DrawnFault[] = [];
  /** Ids of which it is not known whether the killed engine has stored them. */
  #unsure = new Set<string>();

  constructor(
    private readonly account: Account,
    private readonly sequence: Sequence,
  ) {
    this.stacks = sequence.programs.map((_, number) => new Stack(account, sequence, number));
    this.owners = new Owners();
  }

  get creates(): number {
    return this.stacks.flatMap(({ program }) => program).length;
  }

  get objects(): number {
    return this.#made.size;
  }

  /** Creates everything. */
  async create(): Promise<void> {
    const { createFaults, clocks } = this.sequence;
    this.account.emulator.reset();
    Object.assign(this.account.emulator.clocks, clocks);
    this.#others = await makeOlderObjects(this.account, this.sequence);
    await this.#upUntilDone(createFaults, this.sequence);
  }

  /** Replaces what has no change. */
  async replace(): Promise<void> {
    const { replacement } = this.sequence;
    if (!replacement) return;
    const isAdopted = replacement.isAdopted && this.account.protocol === "dynamic";
    const adopted = isAdopted ? await this.#adoptOwn() : [];
    await Promise.all(this.stacks.map((stack) => stack.end()));
    for (const stack of this.stacks) stack.replace(replacement);
    await this.#upUntilDone(replacement.faults, { kill: replacement.kill });
    if (adopted.length > 0) await this.#endAdoption(adopted);
  }

  /** Each resource gets the option `import` for its own object. */
  async #adoptOwn(): Promise<Properties[]> {
    const adopted = this.stacks.flatMap(({ program, resources }) =>
      program.map((args, index) => Object.assign(args, { __import: resources[index]?.id })),
    );
    await this.#up(this.stacks);
    return adopted;
  }

  /** Runs as many ups as it takes, and judges the objects. */
  async #upUntilDone(faults: DrawnFault[], words: Partial<Sequence>): Promise<void> {
    const { kill, edits = [], target, keepsFaults } = words;
    this.#setFaults(kill ? [killFault(this.sequence.kind, kill), ...faults] : faults);
    const left = await this.#up(this.stacks, target === 1, kill);
    let ups = 1;
    await this.#edit(words);
    let unfinished = edits.length > 0 ? this.stacks : this.#unfinished();
    while (unfinished.length > 0 && ups < mostUps) {
      const adopted = this.#followAdvice();
      if (keepsFaults && ups === 1) this.#setFaults(left);
      ups += 1;
      if (unfinished.some(({ dropped }) => dropped.length > 0)) this.#waitTwoMinutes();
      // Another command has another process.
      await Promise.all(unfinished.map((stack) => stack.end()));
      for (const stack of unfinished) stack.goOn(this.sequence);
      await this.#up(unfinished, ups === target || (ups === 2 && edits.includes("alias")));
      if (adopted.length > 0) await this.#endAdoption(adopted);
      unfinished = this.#unfinished();
    }
    this.ups += ups;
    this.#judgeErrors();
    await this.#judgeWhatIsLeft();
  }

  #unfinished(): Stack[] {
    return this.stacks.filter((stack) => stack.isUnfinished);
  }

  /** Does what the sequence says between the first two ups. */
  async #edit({ edits = [], kill, moves }: Partial<Sequence>): Promise<void> {
    const stack = this.stacks[kill?.stack ?? 0] as Stack;
    const { program, resources, errors } = stack;
    if (edits.includes("rename")) stack.rename(false);
    if (edits.includes("alias")) stack.rename(true);
    if (edits.includes("edit")) program.filter((_, n) => !resources[n]?.id).forEach(edit);
    if (edits.includes("reorder")) for (const list of [program, resources, errors]) list.reverse();
    if (!moves || this.account.protocol !== "plugin") return;
    for (const one of this.stacks.flatMap((stack) => stack.resources)) one.protocol = "plugin";
  }

  /** Updates, reads and deletes under faults; in the end the service has what the program says. */
  async goOn(): Promise<void> {
    const { steps, stepFaults } = this.sequence;
    this.#setFaults(stepFaults);
    for (const step of steps) {
      if (step === "update") {
        for (const args of this.stacks.flatMap(({ program }) => program)) args.metadata = "changed";
      }
      await Promise.all(this.stacks.map((stack) => stack.run(step)));
      if (step !== "destroy") this.#judgeGone();
    }
    await this.#clear();
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

  /**
   * On a very busy machine a command may fail without a fault: it runs up to three times. Each time is two
   * minutes later, as the error of a new object that is not found says.
   */
  async #runWithoutFaults(command: "up" | Step): Promise<string[]> {
    let done: string[][] = [];
    for (let tries = 0; tries < 3; tries++) {
      done = await Promise.all(this.stacks.map((stack) => stack.run(command)));
      if (!this.stacks.some((stack) => stack.hasFailed)) break;
      this.#waitTwoMinutes();
    }
    this.#judgeErrors();
    return done.flat();
  }

  #waitTwoMinutes(): void {
    this.account.emulator.clocks.date += 120_000;
  }

  /** Gives the faults that no request has met. */
  async #up(stacks: Stack[], isTargeted = false, kill?: Sequence["kill"]): Promise<DrawnFault[]> {
    const { requests } = this.account.emulator;
    const [sentBefore, createsBefore] = [requests.length, countCreates(stacks)];
    const heldBefore = this.#held();
    const done = Promise.all(stacks.map((stack) => stack.run("up", isTargeted)));
    const isKilled = kill && (await this.#killDuring(done, kill));
    await done;
    if (isKilled) this.#forget(this.stacks[kill.stack] as Stack, kill, heldBefore);
    const left = await this.#clear();
    const held = new Map([...heldBefore, ...this.#held()]);
    this.broken.push(
      ...misleading(stacks, held, this.#others, this.#unsure),
      ...resent(requests.slice(sentBefore), createsBefore, countCreates(stacks)),
    );
    // The warnings of a run come at its end.
    await Promise.all(stacks.map((stack) => stack.end()));
    const all = this.stacks.flatMap((stack) => stack.all);
    this.broken.push(...this.owners.judge(all, messagesOf(this.stacks)));
    this.#judgeDeleted();
    return left;
  }

  /** A killed engine may have stored the answers that came before, or not. */
  #forget(
    stack: Stack,
    { isStored, victim }: NonNullable<Sequence["kill"]>,
    heldBefore: Map<string, Resource>,
  ): void {
    this.#unsure = new Set(stack.ids);
    for (const resource of isStored || victim === "provider" ? [] : stack.resources) {
      if (!resource.id || heldBefore.has(resource.id)) continue;
      this.owners.unstored.add(resource.id);
      resource.forget();
    }
  }

  /** Kills a process when the fault of the kill hits a request, if it does. */
  async #killDuring(up: Promise<unknown>, { stack, victim }: NonNullable<Sequence["kill"]>) {
    const { faults } = this.account.emulator;
    await until(() => faults.list()[0]?.hits === 1, up);
    if (faults.list()[0]?.hits !== 1) return false;
    this.killed = victim;
    await this.stacks[stack]?.kill(victim);
    return true;
  }

  /** Adopts an object that the error of one resource names; deletes it otherwise. */
  #followAdvice(): Properties[] {
    // An object does not have edited inputs, so it can't be adopted.
    const adopts = this.sequence.adopts && !this.sequence.edits.includes("edit");
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
        this.owners.release(id);
        adopted.push(first.args);
      } else {
        this.#made.add(id);
        this.named += 1;
        this.#delete(id);
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
    const all = this.#own();
    const held = this.#held();
    const left = all.filter(({ id }) => !held.has(id));
    // The next plan names what was cut off.
    for (const stack of left.length > 0 ? this.stacks : []) await stack.plan();
    const knowable = left.filter((object) => !this.#isUnknowable(object));
    const broken = unnamed(this.stacks, knowable, all);
    this.broken.push(...broken);
    for (const { id } of all) this.#made.add(id);
    this.named += left.length - broken.length;
    for (const { id } of left) this.#delete(id);
  }

  /** Whether no run can know that an object was made. */
  #isUnknowable(object: Wire): boolean {
    const having = this.stacks.flatMap(({ program, resources }) =>
      resources.filter((_, n) => isLike(program[n] as Properties, object)),
    );
    // A plan finds objects by what the program is to create now.
    const isEdited = this.sequence.edits.includes("edit");
    if (isEdited && (having.length === 0 || this.killed)) return true;
    // Two processes can't tell their equal objects apart: the warning of a create that keeps one is all they say.
    const hasTaken = messagesOf(this.stacks).includes("this create was lost");
    return hasTaken && new Set(having.map(({ home }) => home)).size > 1;
  }

  #judgeContent(): void {
    const own = this.#own();
    const { kind } = this.sequence;
    for (const stack of this.stacks) {
      for (const [index, { id, key }] of stack.resources.entries()) {
        const { emulator, other } = this.account;
        const object = stored(key === "other" ? other : emulator, kind).get(id);
        const args = stack.program[index] as Properties;
        if (!object || !isLike(args, object)) this.#differs(`${id} is not what the program says`);
      }
    }
    if (own.length !== this.creates) this.#differs(`${own.length} objects, not ${this.creates}`);
  }

  #judgeGone(): void {
    const lost = this.stacks.flatMap(({ resources }) => resources).filter(({ id }) => !id);
    if (lost.length > 0) this.broken.push({ promise: "gone", text: `${lost.length} of them` });
    this.#judgeDeleted();
  }

  /** What a resource of the program has must be there, and what a command has deleted must not. */
  #judgeDeleted(): void {
    const own = this.#own().map(({ id }) => id);
    for (const { id, name } of this.stacks.flatMap(({ resources }) => resources)) {
      const text = `${id} of ${name} was deleted`;
      if (id && !own.includes(id)) this.broken.push({ promise: "gone", text });
    }
    const held = this.#held();
    for (const id of own.filter((one) => this.owners.hasLost(one) && !held.has(one))) {
      this.#differs(`${id} was to be deleted, and is left`);
    }
  }

  #judgeErrors(): void {
    for (const error of this.stacks.flatMap(({ errors }) => errors)) {
      if (error) this.broken.push({ promise: "stuck", text: error.message });
    }
  }

  #differs(text: string): void {
    this.broken.push({ promise: "differs", text });
  }

  /** The ids in all states, and who has them. */
  #held(): Map<string, Resource> {
    const all = this.stacks.flatMap((stack) => stack.all);
    return new Map(all.flatMap((one) => (one.id ? [[one.id, one]] : [])));
  }

  /** The objects that this run has made or taken, in both accounts. */
  #own(): Wire[] {
    const held = this.#held();
    return this.#accounts
      .flatMap((one) => stored(one, this.sequence.kind).list())
      .filter(({ id }) => !this.#others.includes(id) || held.has(id));
  }

  get #accounts() {
    return [this.account.emulator, this.account.other] as const;
  }

  #delete(id: string): void {
    for (const one of this.#accounts) {
      const objects = stored(one, this.sequence.kind);
      if (objects.get(id)) objects.delete(id);
    }
  }

  #setFaults(faults: DrawnFault[]): void {
    this.#faults = faults;
    this.account.emulator.faults.add(...faults.map(({ fault }) => fault));
  }

  /**
   * Removes the faults when all their work is done, and keeps the titles of those that have hit a request.
   * Gives the others.
   */
  async #clear(): Promise<DrawnFault[]> {
    const { faults } = this.account.emulator;
    const areHit = faults.list().map(({ hits }) => hits > 0);
    const met = this.#faults.filter((_, index) => areHit[index]);
    const left = this.#faults.filter((_, index) => !areHit[index]);
    this.metFaults.push(...met.map(({ title }) => title));
    faults.clear();
    // The timer of the work has begun before this one.
    for (const { fault } of met) {
      if (typeof fault.work === "object") await setTimeout(fault.work.afterMs);
    }
    await setImmediate();
    this.#faults = [];
    return left;
  }
}

/** The request during which a process is killed: it gets no answer. */
function killFault(
  kind: Sequence["kind"],
  { skip, work }: NonNullable<Sequence["kill"]>,
): DrawnFault {
  const fault = { method: "POST", path: paths[kind], skip, work, answer: "silence" } as const;
  return { title: `no answer, work ${work}, and a process killed`, fault };
}

/** Creates objects equal to the first resource of the run, as another user did an hour ago. */
async function makeOlderObjects(
  account: Account,
  { kind, programs, olderObjects, clocks }: Sequence,
): Promise<string[]> {
  const { description, certificatePem, privateKeyPem } = programs[0]?.[0] ?? {};
  const anHourAgo = new Date(Date.now() + clocks.createdAt - 3_600_000).toISOString();
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
