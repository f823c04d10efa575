import path from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  type Collection,
  type Emulator,
  type Fault,
  type MadeCertificate,
  startEmulator,
} from "../../emulator/server";
import { environment, newFolder, repository } from "../folders";
import { until } from "../processes";
import { type Protocol, Provider } from "../protocol";
import type { Properties } from "../resource";
import { Secrets } from "../secrets";
import { type Kill, lostCreates, notFound, type Run, type Setup } from "./draw";
import { Broken, isLike, judgeRequests, judgeTexts, type Wire } from "./judge";
import { type Command, type Key, type Replacement, Resource, Stack } from "./stack";

/** How often the user tries `up` and follows the advice of its errors. */
const mostUps = 8;
/** How long a provider waits for an answer: without faults, a busy machine alone keeps one back. */
const timeouts = { withFaults: "2", without: "30" };

/** What all sequences share. */
export interface Shared {
  protocol: Protocol;
  /** From it dynamic providers resolve the package. */
  folder: string;
  /** A certificate alone, and one with its chain. */
  certificates: MadeCertificate[];
}

/** A user's stacks, the service, and what the judge knows. */
export class World {
  stacks: Stack[] = [];
  /** Two processes share an object, which a message names: nothing more is promised then. */
  isOver = false;
  ups = 0;
  /** How often each command was drawn, how many faults with each answer met a request, and what they led to. */
  readonly counts: Record<string, number> = {};
  /** Objects of another user. */
  #others: string[] = [];
  /** Which resource has had which object. */
  readonly #owners = new Map<string, Resource>();
  /** Objects that were answered to creates, and that no state has because the engine was killed. */
  readonly #unstored = new Set<string>();
  /** Objects that a `destroy` has deleted; after an error a state may still have them. */
  readonly #deleted = new Set<string>();
  readonly #edited: Properties[] = [];
  /** Whether the last `up` has left something to the next one. */
  #leavesSome = false;
  /** Whether the next `up` runs the last resource of each stack alone. */
  #isTargeted = false;
  readonly #keys: Record<Key, string>;
  /** Those of the account and of another one; changes of them make no request. */
  readonly #objects: Collection<Wire>[];
  readonly #secrets = new Secrets();

  private constructor(
    private readonly setup: Setup,
    private readonly shared: Shared,
    private readonly emulator: Emulator,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    const { apiKey: own } = emulator;
    const other = emulator.addAccount();
    const all = [emulator, other].map((account) => account[`${setup.kind}s`]);
    this.#objects = all as unknown as Collection<Wire>[];
    this.#keys = { tlsedge: own, twin: own, second: emulator.addKey(), other: other.apiKey };
    for (const key of Object.values(this.#keys)) this.#secrets.add("an API key", key);
    for (const one of shared.certificates) this.#secrets.add("a private key", one.privateKeyPem);
  }

  static async start(setup: Setup, shared: Shared): Promise<World> {
    const emulator = await startEmulator();
    Object.assign(emulator.clocks, setup.clocks);
    const env = { ...process.env, ...(await environment(newFolder(), emulator)) };
    const world = new World(setup, shared, emulator, env);
    if (setup.older > 0) await world.#addOlder();
    world.stacks = setup.stacks.map(({ equal, hasOther }, number) =>
      world.#stack(number, setup.isLong && number === 0 ? 7 : equal, hasOther),
    );
    return world;
  }

  async #addOlder(): Promise<void> {
    this.stacks = [this.#stack(0, this.setup.older, false)];
    // The first `up` of the user comes later.
    this.ups = 1;
    await this.run("up");
    const created_at = new Date(Date.now() + this.setup.clocks.createdAt - 3_600_000).toISOString();
    for (const { id } of this.#all) {
      this.#accountOf(id)?.patch(id, { created_at });
      this.#others.push(id);
    }
    this.#owners.clear();
    this.ups = 0;
  }

  #stack(number: number, equal: number, hasOther: boolean): Stack {
    const { kind, hasChain, hasModule, key, moves } = this.setup;
    const { certificates, protocol } = this.shared;
    const { certificatePem, privateKeyPem } = certificates[Number(hasChain)] ?? {};
    const content = {
      tlsEdge: hasModule ? { ipRestriction: { ipPolicyIds: ["ipp_1"] } } : {},
      tlsCertificate: { certificatePem, privateKeyPem },
    }[kind];
    const different = {
      description: `stack ${number}`,
      ...(kind === "tlsEdge" && { hostports: [`s${number}.example.com:443`] }),
    };
    const resources = Array.from({ length: equal + Number(hasOther) }, (_, n) => {
      const args = { description: "equal", ...content, ...(n === equal && different) };
      // The program would name the account of a connection with an explicit provider.
      const own = (number + n) % 2 === 1 && !(moves && protocol === "plugin") ? key : "tlsedge";
      const first = moves ? "dynamic" : protocol;
      return new Resource(kind, `stack${number}`, own, first, `stack${number}-${n}`, args);
    });
    return new Stack(resources);
  }

  async #end(): Promise<void> {
    await Promise.all(this.stacks.map((stack) => stack.end()));
  }

  async close(): Promise<void> {
    await this.#end();
    await this.emulator.close();
  }

  get #all(): Resource[] {
    return this.stacks.flatMap(({ all }) => all);
  }

  get isFinished(): boolean {
    return !this.#leavesSome && this.stacks.every((stack) => stack.isFinished);
  }

  get #messages(): string {
    return this.stacks.map(({ messages }) => messages).join("\n");
  }

  /** What this command has said. */
  get #news(): string {
    return this.stacks.map(({ news }) => news).join("\n");
  }

  get #errors(): string {
    return this.#all.flatMap(({ error }) => error?.message ?? []).join("\n");
  }

  /** Whether a state has an object. */
  #isHeld(id: string): boolean {
    return this.#all.some((one) => one.id === id);
  }

  /** The objects of the account that has this one. */
  #accountOf(id: string): Collection<Wire> | undefined {
    return this.#objects.find((account) => account.get(id));
  }

  #find(id: string): Wire | undefined {
    return this.#accountOf(id)?.get(id);
  }

  /** The objects of this user, and those of another one that a state has. */
  get #own(): Wire[] {
    const all = this.#objects.flatMap((account) => account.list());
    return all.filter(({ id }) => !this.#others.includes(id) || this.#isHeld(id));
  }

  /** The user deletes what an error or a warning has named. */
  #delete(id: string): void {
    this.#accountOf(id)?.delete(id);
    this.count("named");
  }

  #newProcess(how: Partial<Run>, protocol: Protocol, key: Key): Promise<Provider> {
    const { url } = this.emulator;
    const env: NodeJS.ProcessEnv = {
      ...this.env,
      // The log is searched for secrets, too.
      NODE_DEBUG: "tlsedge",
      NODE_V8_COVERAGE: "",
      NODE_COMPILE_CACHE: path.join(repository, "node_modules", ".cache", "compile"),
    };
    for (const [name, API_KEY] of Object.entries(this.#keys)) {
      const settings: Record<string, string | undefined> = {
        API_KEY,
        // The emulator's certificate fits both.
        BASE_URL: how.isAtGateway ? url.replace("localhost", "127.0.0.1") : url,
        CA_FILE: this.env.TLSEDGE_CA_FILE,
        REQUESTS_PER_MINUTE: "0",
        TIMEOUT_SECONDS: how.faults ? timeouts.withFaults : timeouts.without,
        SAME_ACCOUNT: how.sameAccount ? "1" : undefined,
      };
      for (const [setting, value] of Object.entries(settings)) {
        env[`${name.toUpperCase()}_${setting}`] = value;
      }
    }
    env.TLSEDGE_API_KEY = this.#keys[key];
    return Provider.start(this.shared.folder, env, protocol);
  }

  /** Runs a command on all stacks at once, and judges it; gives whether something has changed. */
  async run(command: Command, how: Partial<Run> = {}): Promise<boolean> {
    const isUp = command === "up";
    const isTargeted = how.isTargeted === true || (isUp && this.#isTargeted);
    if (isUp) this.#isTargeted = false;
    if (isUp) this.#leavesSome = isTargeted || this.stacks.some((stack) => stack.isTargeted);
    const newProcess = (protocol: Protocol, key: Key) => this.#newProcess(how, protocol, key);
    await Promise.all(this.stacks.map((stack) => stack.start(newProcess, command)));
    const sent = this.emulator.requests.length;
    const { kill } = how;
    this.#addFaults(command, how);
    const done = Promise.all(this.stacks.map((stack) => stack.run(command, isTargeted)));
    const killed = kill ? await this.#kill(kill, done) : [];
    const changes = await done;
    // It is not known whether a killed engine has stored these.
    const unsure = killed.map(({ id }) => id);
    const unstored = this.#restore(kill?.victim === "engine" && !kill.isStored ? killed : []);
    await this.#clearFaults();
    if (command === "destroy") this.#endDestroy();
    if (!how.keepsProcess) await this.#end();
    judgeRequests(this.emulator.requests.slice(sent), this.#all);
    for (const one of this.#all) this.#judge(one, unsure);
    // Another stack may have kept one at the same time.
    for (const id of unstored) this.#unstored.add(id);
    if (isUp) this.#endUp();
    return changes.some(Boolean);
  }

  #endDestroy(): void {
    const gone = this.#all.filter(({ before }) => !this.#find(before.id));
    for (const { before } of gone) this.#deleted.add(before.id);
  }

  count(title: string, by = 1): void {
    this.counts[title] = (this.counts[title] ?? 0) + by;
  }

  #endUp(): void {
    this.ups += 1;
    for (const { id, args } of this.#all) {
      if (!id || !args?.__import) continue;
      // Users remove the option after one `up`: the next one stores that.
      delete args.__import;
      this.#leavesSome = true;
    }
    if (this.setup.moves) for (const one of this.#all) one.protocol = this.shared.protocol;
  }

  #addFaults(command: Command, { kill, faults = [] }: Partial<Run>): void {
    const list = this.setup.kind === "tlsEdge" ? "/edges/tls" : "/tls_certificates";
    const { date, createdAt } = this.setup.clocks;
    const isLost = this.setup.isLong && this.ups === 0;
    const own = isLost ? [lostCreates] : faults;
    const all = kill ? [{ ...kill.fault, answer: "silence" } as const, ...own] : own;
    for (const fault of all) {
      const { method, answer } = fault;
      const isLate = answer === notFound;
      // With wrong clocks nobody can know that the object that is not found is new.
      if (isLate && date !== createdAt) continue;
      const isOfOne = isLate || method === "PATCH" || method === "DELETE";
      const isOfAny = !isOfOne && method === "GET" && command !== "up";
      const path = isOfOne ? `${list}/*` : list;
      this.count(titleOf(answer), 0);
      this.emulator.faults.add({ ...fault, ...(!isOfAny && { path }) });
    }
  }

  /** Removes the faults when all their work is done. */
  async #clearFaults(): Promise<void> {
    const { faults } = this.emulator;
    const met = faults.list().filter(({ hits }) => hits > 0);
    for (const { answer } of met) this.count(titleOf(answer));
    faults.clear();
    await setTimeout(met.some(({ work }) => typeof work === "object") ? 350 : 10);
  }

  /** Kills a process when a request meets the first fault, if one does; gives the stack's resources. */
  async #kill({ stack, victim }: Kill, done: Promise<unknown>): Promise<Resource[]> {
    const isMet = () => this.emulator.faults.list()[0]?.hits === 1;
    await until(isMet, done);
    const killed = isMet() && this.stacks[stack % this.stacks.length];
    if (!killed) return [];
    await killed.end(victim);
    this.count("kills");
    return killed.all;
  }

  /** As if the engine had stored nothing of the command; gives the ids that it does not know. */
  #restore(resources: Resource[]): string[] {
    return resources.flatMap((one) => {
      const { id, before, args } = one;
      one.restore();
      if (!id || id === before.id || id === args?.__import) return [];
      this.#owners.set(id, one);
      return id;
    });
  }

  /** Judges a resource after a command. */
  #judge(one: Resource, unsure: string[]): void {
    const { id, before, error, args, name, home, replacement } = one;
    const isLost = before.id !== id && this.#own.some((object) => object.id === before.id);
    if (isLost && !this.#news.includes(before.id))
      throw new Broken("gone", `${name} has lost ${before.id}`);
    if (args && id && !this.#deleted.has(id) && !this.#find(id))
      throw new Broken("gone", `${id} of ${name} was deleted`);
    // Where the old object is deleted first, the error may be that of its delete.
    const own = replacement?.deletesFirst ? replacement.old.before.id : undefined;
    const inHome = this.#all.filter((other) => other.home === home);
    // An equal create may have got, after the last look, what an error says that it may be.
    const isDoubt = error?.message.includes("or none of them");
    const has = (other: Resource) => (isDoubt ? other.before.id : [other.id, other.before.id]);
    const held = [...inHome.flatMap(has), ...this.#others];
    const isNamed = (held: string) =>
      held !== own && !unsure.includes(held) && this.#find(held) && error?.message.includes(held);
    const isUnsure = unsure.some((id) => id && error?.message.includes(id));
    if (!id && !isUnsure && error?.message.includes("is in the state"))
      throw new Broken("unstored", error.message);
    // The question for the account names an object of the state (contract C7), and so may the option `import`.
    const isAsked = /SAME_ACCOUNT|see the first error about|^GET \S+ (got|failed)/.test(
      error?.message ?? "",
    );
    if (args && !id && !args.__import && !isAsked && held.some(isNamed))
      throw new Broken("misleading", error?.message ?? "");
    if (id) this.#judgeOwner(one);
  }

  #judgeOwner(one: Resource): void {
    const { id, before, name, home } = one;
    const isTaken = before.id !== id && this.#others.includes(id);
    if (isTaken || this.#unstored.has(id)) throw new Broken("taken", `${name} has ${id}`);
    const owner = this.#owners.get(id) ?? one;
    this.#owners.set(id, one);
    // A replaced resource may have adopted its own old object.
    if (owner === one || owner.name === name) return;
    if (owner.home === home || !this.#messages.includes(id))
      throw new Broken("shared", `${name} and ${owner.name} have ${id}`);
    this.isOver = true;
  }

  /** Changes each resource, and runs `up`. */
  async update(how: Partial<Run>): Promise<void> {
    for (const { args } of this.#all) if (args) args.metadata = `${args.metadata ?? ""}+`;
    await this.run("up", how);
  }

  /** Marks what the next `up` replaces. */
  async replace(replacement: Replacement): Promise<void> {
    if (replacement.isAdopted && this.shared.protocol === "dynamic") {
      const adopt = () => {
        for (const { id, args } of this.#all) if (args) args.__import = id;
      };
      adopt();
      await this.run("up");
      adopt();
    }
    for (const stack of this.stacks) stack.replace(replacement);
  }

  /**
   * Changes a stack's program. One resource gets another name, or, with an alias, gives its name to a new one,
   * which the next `up` creates alone. What is not created gets other inputs. All resources change places.
   */
  edit(what: "rename" | "alias" | "inputs" | "reorder", number: number): void {
    const { all, resources } = this.stacks[number % this.stacks.length] as Stack;
    const editable = resources.filter(({ args }) => !args?.__import);
    // Two edges can't serve one hostport.
    const free = editable.filter(({ args }) => !args?.hostports);
    const one = free.find(({ id }) => id) ?? free[0];
    if (what === "reorder") all.reverse();
    else if (what === "inputs") {
      for (const { id, args } of editable) {
        if (id || !args) continue;
        this.#edited.push({ ...args });
        editInputs(args);
      }
    } else if (what === "rename" && one) all.push(one.successor(`${one.name}-other`));
    else if (one) {
      const { name, args } = one;
      one.name = `${name}-renamed`;
      all.push(one.successor(name));
      one.args = { ...args };
      this.#isTargeted = true;
    }
  }

  /** Adopts each object that the error of one create names, or deletes it. */
  follow(adopts: boolean): void {
    const toCreate = this.#all.filter(({ id, args }) => args && !id);
    for (const { id } of this.#own) {
      if (this.#isHeld(id) || toCreate.some(({ args }) => args?.__import === id)) continue;
      const [one, ...more] = toCreate.filter(({ error }) => error?.message.includes(id));
      if (!one?.args) continue;
      // An object does not have edited inputs, so it can't be adopted.
      if (adopts && this.#edited.length === 0 && more.length === 0 && !one.args.__import) {
        one.args.__import = id;
        this.#owners.delete(id);
        this.#unstored.delete(id);
      } else {
        this.count("objects");
        this.#delete(id);
      }
    }
  }

  /** Without faults, a few `up`s create what the program says, and then there is nothing to do. */
  async settle(): Promise<void> {
    for (let tries = 0; !this.isOver && (tries === 0 || !this.isFinished); tries++) {
      if (tries === mostUps) throw new Broken("stuck", this.#errors);
      // As errors say: two minutes later, with the setting for another key, and after a refresh.
      // A little more, because the service tells whole seconds.
      this.emulator.clocks.date += 125_000;
      this.follow(this.setup.adopts);
      const errors = this.#errors;
      const sameAccount = errors.includes("SAME_ACCOUNT=1");
      // After a `destroy` that failed, the user reads what it has deleted.
      const isHalf = this.#all.some(({ id }) => this.#deleted.has(id));
      const isRead = isHalf || errors.includes("pulumi refresh");
      if (isRead) await this.run("refresh", { sameAccount });
      if (!isRead || !this.#errors) await this.run("up", { sameAccount });
    }
    if (!this.isOver) await this.#judgeEnd();
    await this.#end();
    judgeTexts(this.stacks, (text) => this.#secrets.in(text));
  }

  /** In the end there is nothing to do, the service has what the program says, and a destroy leaves nothing. */
  async #judgeEnd(): Promise<void> {
    await this.#judgeLeft();
    for (const command of ["refresh", "up"] as const) {
      const isChanged = await this.run(command, { keepsProcess: command === "refresh" });
      if (this.#errors || isChanged)
        throw new Broken("differs", `${command}: ${isChanged} in the end ${this.#errors}`);
    }
    this.#judgeContent();
    await this.run("destroy");
    if (this.#errors || this.#own.length > 0)
      throw new Broken("differs", `destroy leaves ${this.#own.length} ${this.#errors}`);
  }

  /** Each object that no state has is named, at the latest in the next plan. */
  async #judgeLeft(): Promise<void> {
    const isLeft = ({ id }: Wire) => !this.#isHeld(id);
    if (this.#own.some(isLeft)) await this.run("preview");
    const own = this.#own;
    this.count("objects", own.length);
    for (const object of own.filter(isLeft)) {
      const { id } = object;
      const equal = this.#all.filter(({ args }) => args && isLike(args, object));
      if (!this.#messages.includes(id) && !this.#isUnknowable(object, equal)) {
        const made = own.filter((one) => equal[0]?.args && isLike(equal[0].args, one));
        const promise = made.length > equal.length ? "duplicate" : "orphan";
        throw new Broken(promise, `${id} is in no state, and nothing names it`);
      }
      this.#delete(id);
    }
  }

  /** Whether no run can know that an object was made, which equals these resources. */
  #isUnknowable(object: Wire, equal: Resource[]): boolean {
    // A plan finds objects by what the program is to create now.
    if (this.#edited.some((args) => isLike(args, object))) return true;
    // Two processes can't tell their equal objects apart: the warning of a create that keeps one is all they say.
    const hasTaken = this.#messages.includes("this create was lost");
    return hasTaken && new Set(equal.map(({ home }) => home)).size > 1;
  }

  /** The service has what the program says. */
  #judgeContent(): void {
    for (const { id, key, args = {} } of this.stacks.flatMap(({ resources }) => resources)) {
      const object = this.#objects[Number(key === "other")]?.get(id);
      if (!object || !isLike(args, object))
        throw new Broken("differs", `${id} is not what the program says`);
    }
    const left = this.#own.filter(({ id }) => !this.#isHeld(id));
    if (left.length > 0) throw new Broken("differs", `the service has ${left.length} more`);
  }
}

/** For the totals. */
function titleOf(answer: Fault["answer"]): string {
  if (typeof answer !== "object") return String(answer);
  if (!("status" in answer)) return Object.keys(answer).join();
  const { status, headers } = answer;
  const seconds = headers?.["Retry-After"];
  return seconds === undefined ? String(status) : `${status} after ${seconds} s`;
}

/** Other inputs of the same object: what the service need not echo as it was sent differs. */
function editInputs(args: Properties): void {
  const [leaf] = String(args.certificatePem).split(/(?<=-----END CERTIFICATE-----\n)/);
  if (args.certificatePem) args.certificatePem = leaf;
  else if (args.ipRestriction) delete args.ipRestriction;
  else args.ipRestriction = { ipPolicyIds: ["ipp_1"] };
}
