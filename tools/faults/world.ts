import { X509Certificate } from "node:crypto";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { TLSCertificateWire } from "../../client/tlsCertificate";
import type { TLSEdgeWire } from "../../client/tlsEdge";
import { type Collection, type Emulator, type Fault, startEmulator } from "../../emulator/server";
import { environment, newFolder, repository } from "../folders";
import { until } from "../processes";
import { type Properties, type Protocol, Provider } from "../protocol";
import { Secrets } from "../secrets";
import type { Drawn, Kill, Setup } from "./draw";
import { type Command, Resource, Stack } from "./stack";

/** How often the user tries `up` and follows the advice of its errors. */
const mostUps = 8;

/** What all sequences share. */
export interface Shared {
  protocol: Protocol;
  /** From it dynamic providers resolve the package. */
  folder: string;
  /** A certificate alone, and one with its chain. */
  certificates: { certificatePem: string; privateKeyPem: string }[];
}

type Wire = TLSEdgeWire & Partial<TLSCertificateWire>;

/** Ends the sequence: it has broken a promise of docs/performance.md. */
function broken(promise: string, text: string): never {
  throw new Error(`${promise}: ${text}`);
}

/** A user's stacks, the service, and what the judge knows. */
export class World {
  stacks: Stack[] = [];
  /** Whether two stacks share an object, which a message names: nothing more is promised then. */
  isOver = false;
  ups = 0;
  /** What the totals count. `named` are objects that no state had. */
  readonly counts = { "requests that met a fault": 0, kills: 0, objects: 0, named: 0 };
  /** Objects of other users. */
  #others: string[] = [];
  /** Which resource has had which object. */
  readonly #owners = new Map<string, Resource>();
  /** Objects that creates have made, and that no state has because the engine was killed. */
  readonly #unstored = new Set<string>();
  #isEdited = false;
  /** Whether the next command runs the last resource of each stack alone. */
  #isTargeted = false;
  readonly #keys: Record<string, string>;
  /** Those of the account and of another one; changes of them make no request. */
  readonly #objects: Collection<Wire>[];
  readonly #secrets = new Secrets();

  private constructor(
    private readonly setup: Setup,
    private readonly shared: Shared,
    private readonly emulator: Emulator,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    const other = emulator.addAccount();
    const all = [emulator, other].map((account) => account[`${setup.kind}s`]);
    this.#objects = all as unknown as Collection<Wire>[];
    this.#keys = { tlsedge: emulator.apiKey, second: emulator.addKey(), other: other.apiKey };
    for (const key of Object.values(this.#keys)) this.#secrets.add("an API key", key);
    for (const one of shared.certificates) this.#secrets.add("a private key", one.privateKeyPem);
  }

  static async start(setup: Setup, shared: Shared): Promise<World> {
    const emulator = await startEmulator();
    Object.assign(emulator.clocks, setup.clocks);
    const env = { ...process.env, ...(await environment(newFolder(), emulator)) };
    const world = new World(setup, shared, emulator, env);
    if (setup.older > 0) await world.#addOlder();
    world.stacks = setup.stacks.map(({ equal, hasOther }, n) => world.#stack(n, equal, hasOther));
    return world;
  }

  /** Objects of other users, an hour old, that equal the first resource. */
  async #addOlder(): Promise<void> {
    this.stacks = [this.#stack(0, this.setup.older, false, "tlsedge")];
    await this.run("up");
    const created_at = new Date(Date.now() + this.setup.clocks.createdAt - 3_600_000).toISOString();
    this.#others = this.#all.map(({ id }) => this.#objects[0]?.patch(id, { created_at }).id ?? "");
    this.#owners.clear();
    this.ups = 0;
  }

  #stack(number: number, equal: number, hasOther: boolean, key: string = this.setup.key): Stack {
    const { kind, hasChain, hasModule } = this.setup;
    const { protocol, certificates } = this.shared;
    const { certificatePem, privateKeyPem } = certificates[Number(hasChain)] ?? {};
    const ofKind = {
      tlsEdge: hasModule ? { ipRestriction: { ipPolicyIds: ["ipp_1"] } } : {},
      tlsCertificate: { certificatePem, privateKeyPem },
    }[kind];
    // A process of the plugin has one key; dynamic providers have one for each resource.
    const isOdd = (n: number) => (number + n) % 2 === 1;
    const resources = Array.from({ length: equal + Number(hasOther) }, (_, n) => {
      const connection = protocol === "dynamic" && isOdd(n) ? key : undefined;
      const description = n === equal ? `stack ${number}` : "equal";
      const hostports =
        n === equal && kind === "tlsEdge" ? [`s${number}.example.com:443`] : undefined;
      const args = { description, ...ofKind, hostports, connection };
      return new Resource(kind, protocol, `stack${number}-${n}`, args);
    });
    return new Stack(resources, protocol === "plugin" && isOdd(0) ? key : "tlsedge");
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
    return this.stacks.every((stack) => stack.isFinished);
  }

  get #messages(): string {
    return this.stacks.map(({ messages }) => messages).join("\n");
  }

  get #errors(): string {
    return this.#all.flatMap(({ error }) => error?.message ?? []).join("\n");
  }

  /** Whether a state has an object. */
  #isHeld(id: string): boolean {
    return this.#all.some((one) => one.id === id);
  }

  /** The objects of this user, and those of others that a state has. */
  get #own(): Wire[] {
    const all = this.#objects.flatMap((account) => account.list());
    return all.filter(({ id }) => !this.#others.includes(id) || this.#isHeld(id));
  }

  #delete(id: string): void {
    this.#objects.find((account) => account.get(id))?.delete(id);
  }

  #newProcess(key: string, how: Partial<Drawn>): Promise<Provider> {
    const { url } = this.emulator;
    const settings: Record<string, string | undefined> = {
      // The emulator's certificate fits both.
      BASE_URL: how.isAtGateway ? url.replace("localhost", "127.0.0.1") : url,
      CA_FILE: this.env.TLSEDGE_CA_FILE,
      REQUESTS_PER_MINUTE: "0",
      TIMEOUT_SECONDS: "2",
      TAKE_EQUAL: how.takesEqual ? "1" : undefined,
      SAME_ACCOUNT: how.sameAccount ? "1" : undefined,
    };
    const env: NodeJS.ProcessEnv = {
      ...this.env,
      // The log is searched for secrets, too.
      NODE_DEBUG: "tlsedge",
      NODE_V8_COVERAGE: "",
      NODE_COMPILE_CACHE: path.join(repository, "node_modules", ".cache", "compile"),
    };
    for (const [name, API_KEY] of Object.entries(this.#keys)) {
      for (const [setting, value] of Object.entries({ ...settings, API_KEY })) {
        env[`${name.toUpperCase()}_${setting}`] = value;
      }
    }
    env.TLSEDGE_API_KEY = this.#keys[key];
    return Provider.start(this.shared.folder, env, this.shared.protocol);
  }

  /** Runs a command on all stacks at once, and judges it; gives whether something has changed. */
  async run(command: Command, how: Partial<Drawn> = {}): Promise<boolean> {
    const { kill, faults = [], takesEqual = false } = how;
    const isTargeted = how.isTargeted === true || this.#isTargeted;
    this.#isTargeted = false;
    if (command === "up") this.ups += 1;
    if (takesEqual) this.#unstored.clear();
    const starts = this.stacks.map((one) => one.start(() => this.#newProcess(one.key, how)));
    await Promise.all(starts);
    const sent = this.emulator.requests.length;
    this.#addFaults(command, kill ? [{ ...kill.fault, answer: "silence" }, ...faults] : faults);
    const done = Promise.all(this.stacks.map((stack) => stack.run(command, isTargeted)));
    const killed = kill ? await this.#kill(kill, done) : [];
    const changes = await done;
    // It is not known whether a killed engine has stored these.
    const unsure = killed.map(({ id }) => id);
    const unstored = this.#restore(kill?.victim === "engine" && !kill.isStored ? killed : []);
    await this.#clearFaults();
    if (!how.keepsProcess) await this.#end();
    this.#judgeRequests(sent);
    for (const one of this.#all) this.#judge(one, unsure, takesEqual);
    // Another stack may have kept one at the same time.
    for (const id of takesEqual ? [] : unstored) this.#unstored.add(id);
    // Users remove the import option after one `up`.
    for (const { id, args } of this.#all) if (id) delete args?.__import;
    return changes.some(Boolean);
  }

  #addFaults(command: Command, faults: Fault[]): void {
    const list = this.setup.kind === "tlsEdge" ? "/edges/tls" : "/tls_certificates";
    const { date, createdAt } = this.setup.clocks;
    for (const fault of faults) {
      const { method, answer } = fault;
      // With wrong clocks nobody can know that the object that is not found is new.
      const isLate = typeof answer === "object" && "status" in answer && answer.status === 404;
      if (isLate && date !== createdAt) continue;
      const isOfOne = isLate || method === "PATCH" || method === "DELETE";
      const path = isOfOne ? `${list}/*` : list;
      const isOfAny = !isOfOne && method === "GET" && command !== "up";
      this.emulator.faults.add({ ...fault, ...(!isOfAny && { path }) });
    }
  }

  /** Removes the faults when all their work is done. */
  async #clearFaults(): Promise<void> {
    const { faults } = this.emulator;
    const struck = faults.list().filter((one) => one.struck > 0);
    this.counts["requests that met a fault"] += struck.length;
    faults.clear();
    await setTimeout(struck.some(({ work }) => typeof work === "object") ? 350 : 10);
  }

  /** Kills a process when a request meets the first fault, if one does; gives the stack's resources. */
  async #kill({ stack, victim }: Kill, done: Promise<unknown>): Promise<Resource[]> {
    const hasStruck = () => this.emulator.faults.list()[0]?.struck === 1;
    await until(hasStruck, done);
    const killed = hasStruck() && this.stacks[stack % this.stacks.length];
    if (!killed) return [];
    await killed.end(victim);
    this.counts.kills += 1;
    return killed.all;
  }

  /** As if the engine had stored nothing of the command; gives the ids that it does not know. */
  #restore(resources: Resource[]): string[] {
    return resources.flatMap((one) => {
      const { id, before, args } = one;
      one.stored = before;
      if (!id || id === before.id || id === args?.__import) return [];
      this.#owners.set(id, one);
      return id;
    });
  }

  /** A create sends one POST; a refused one may be sent again. */
  #judgeRequests(since: number): void {
    const isRefused = (status: number) => status >= 400 && status < 500 && status !== 408;
    const posts = this.emulator.requests
      .slice(since)
      .filter(({ method, status }) => method === "POST" && !isRefused(status))
      .map(({ body }) => (body as Properties).description);
    const creates = this.stacks.flatMap((stack) => stack.creates.splice(0));
    for (const one of posts) {
      const count = (all: unknown[]) => all.filter((other) => other === one).length;
      if (count(posts) > count(creates)) broken("resent", `${count(posts)}, not ${count(creates)}`);
    }
  }

  /** Judges a resource after a command. */
  #judge(one: Resource, unsure: string[], takesEqual: boolean): void {
    const { id, before, error, args, name } = one;
    const { all, messages } = this.stacks.find((stack) => stack.all.includes(one)) as Stack;
    const isLost = before.id !== id && this.#own.some((object) => object.id === before.id);
    if (isLost && !messages.includes(before.id)) broken("gone", `${name} has lost ${before.id}`);
    const held = [...all.flatMap((other) => [other.id, other.before.id]), ...this.#others];
    const named = held.find(
      (held) => held && !unsure.includes(held) && error?.message.includes(held),
    );
    if (args && !id && named) broken("misleading", String(error));
    if (!id) return;
    const owner = this.#owners.get(id) ?? one;
    this.#owners.set(id, one);
    const isTaken = !takesEqual && before.id !== id && this.#others.includes(id);
    if (isTaken || this.#unstored.has(id)) broken("taken", `${name} has ${id}`);
    // With `takeEqual` a resource may take the object of one that the program no longer has.
    if (owner === one || (takesEqual && !owner.args)) return;
    const isNamed = this.#messages.includes(id);
    if (all.includes(owner) || !isNamed) broken("shared", `${name} and ${owner.name}: ${id}`);
    this.isOver = true;
  }

  /** Changes each resource, and runs `up`. */
  async update(how: Drawn): Promise<void> {
    for (const { args } of this.#all) if (args) args.metadata = `${args.metadata ?? ""}+`;
    await this.run("up", how);
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
      this.#isEdited = true;
      for (const { id, args } of editable) if (!id && args) editInputs(args);
    } else if (one) {
      const isAlias = what === "alias";
      const name = isAlias ? one.name : `${one.name}-other`;
      all.push(new Resource(one.kind, one.protocol, name, { ...one.args }));
      if (isAlias) one.name += "-renamed";
      else one.args = undefined;
      this.#isTargeted = isAlias;
    }
  }

  /** Adopts each object that the error of one create names, or deletes it. */
  follow(adopts: boolean): void {
    const toCreate = this.#all.filter(({ id, args }) => args && !id);
    for (const { id } of this.#own) {
      if (this.#isHeld(id) || toCreate.some(({ args }) => args?.__import === id)) continue;
      const [one, ...more] = toCreate.filter(({ error }) => error?.message.includes(id));
      if (!one?.args) continue;
      if (adopts && !this.#isEdited && more.length === 0 && !one.args.__import) {
        one.args.__import = id;
        this.#owners.delete(id);
        this.#unstored.delete(id);
      } else {
        this.counts.objects += 1;
        this.counts.named += 1;
        this.#delete(id);
      }
    }
  }

  /** Without faults, a few `up`s create what the program says, and then there is nothing to do. */
  async settle(): Promise<void> {
    for (let tries = 0; !this.isOver && (tries === 0 || !this.isFinished); tries++) {
      if (tries === mostUps) broken("stuck", this.#errors);
      // As errors say: two minutes later, with the setting for another key, and after a refresh.
      this.emulator.clocks.date += 120_000;
      this.follow(this.setup.adopts);
      const sameAccount = this.#errors.includes("_SAME_ACCOUNT=1");
      await this.run("refresh", { sameAccount, keepsProcess: true });
      if (this.#errors) await this.#end();
      else await this.run("up", { sameAccount });
    }
    if (this.isOver) return;
    this.#judgeLeft();
    const changes = [await this.run("refresh", { keepsProcess: true }), await this.run("up")];
    if (this.#errors || changes.some(Boolean))
      broken("differs", `${changes} again ${this.#errors}`);
    this.#judgeContent();
  }

  /** The service has what the program says. */
  #judgeContent(): void {
    for (const { key, resources } of this.stacks) {
      for (const { id, args = {} } of resources) {
        const object = this.#objects[Number((args.connection ?? key) === "other")]?.get(id);
        if (!object || !isLike(args, object)) broken("differs", `${id} is not as the program says`);
      }
    }
    const left = this.#own.filter(({ id }) => !this.#isHeld(id));
    if (left.length > 0) broken("differs", `the service has ${left.length} more`);
  }

  /** Each object that no state has is named; the user deletes it. */
  #judgeLeft(): void {
    const own = this.#own;
    this.counts.objects += own.length;
    for (const object of own.filter(({ id }) => !this.#isHeld(id))) {
      const { id } = object;
      if (this.#messages.includes(id)) this.counts.named += 1;
      else if (!this.#isUnknowable(object)) {
        const equal = this.#all.filter(({ args }) => args && isLike(args, object));
        const made = own.filter((one) => equal[0]?.args && isLike(equal[0].args, one));
        broken(made.length > equal.length ? "duplicate" : "orphan", `nothing names ${id}`);
      }
      this.#delete(id);
    }
  }

  /** Whether no run can know of an object. */
  #isUnknowable(object: Wire): boolean {
    const having = this.stacks.filter(({ resources }) =>
      resources.some(({ args }) => args && isLike(args, object)),
    );
    // A plan finds objects by what the program is to create now.
    if (this.#isEdited && (having.length === 0 || this.counts.kills > 0)) return true;
    // Two stacks can't tell their equal objects apart: the warning of a create that keeps one is all they say.
    return having.length > 1 && this.#messages.includes("this create was lost");
  }

  /** No message is nonsense, and nothing holds a key. */
  judgeTexts(): void {
    const nonsense =
      /TypeError|Cannot read|is not a function|\[object |\bNaN\b|\n\s+at .+:\d+:\d+|ended by itself/;
    const found = this.stacks.flatMap(({ all, output }) =>
      this.#secrets.in(output + JSON.stringify(all.map(({ stored }) => stored.state))),
    );
    if (found.length > 0) broken("leak", found.join());
    const [line] = nonsense.exec(this.#messages) ?? [];
    if (line) broken("clear", line);
  }
}

/** Whether an object has the content that a program's arguments ask for. Uses no provider code. */
function isLike(args: Properties, object: Wire): boolean {
  const leaf = (pem: unknown) => pem && new X509Certificate(String(pem)).fingerprint256;
  const refs = [object.ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
  const { ipPolicyIds = [] } = (args.ipRestriction ?? {}) as { ipPolicyIds?: string[] };
  return isDeepStrictEqual(
    [
      args.description,
      args.metadata ?? "",
      leaf(args.certificatePem),
      ipPolicyIds,
      args.hostports ?? [],
    ],
    [
      object.description,
      object.metadata ?? "",
      leaf(object.certificate_pem),
      refs,
      object.hostports ?? [],
    ],
  );
}

/** Other inputs of the same object: what the service need not echo as it was sent differs. */
function editInputs(args: Properties): void {
  const [leaf] = String(args.certificatePem).split(/(?<=-----END CERTIFICATE-----\n)/);
  if (args.certificatePem) args.certificatePem = leaf;
  else args.ipRestriction = args.ipRestriction ? undefined : { ipPolicyIds: ["ipp_1"] };
}
