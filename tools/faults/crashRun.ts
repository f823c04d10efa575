import { isDeepStrictEqual } from "node:util";
import type { Account } from "./account.ts";
import { type Point, pathOf, type Wanted } from "./crashPoints.ts";
import type { Engine, State } from "./engine.ts";
import { descendants, end, type Process, providerOf } from "./processes.ts";

type Holdings = Awaited<ReturnType<Account["holds"]>>;

/** Where a point starts: what the program's certificates are, and what of the account is others'. */
export interface Start {
  chains: Record<Wanted["chain"], string>;
  bystanders: Holdings;
}

/** What became of a kill point. */
export interface Outcome {
  point: Point;
  /** What the command did whose process was killed, or whose service was. */
  itself: "was killed" | "failed" | "succeeded";
  /** What was run then, in this order. */
  commands: string[];
  /** Objects that no state holds, or that had to be deleted by hand, and where they were named. */
  left: string[];
  /** Why it is not as it should be; empty when it is. */
  wrong: string[];
}

const go = ["--yes", "--skip-preview"];

/** Kills at a point, does what a person is told to do then, and judges what there is. */
export async function crash(
  point: Point,
  engine: Engine,
  account: Account,
  start: Start,
): Promise<Outcome> {
  const started: Process[] = [];
  try {
    await engine.file("wanted.json", JSON.stringify(point.scenario.program));
    if (point.scenario.drifted) await drift(account, start.bystanders);
    const { code, output } = await strike(point, engine, account, started);
    await engine.state();
    const itself = code === null ? "was killed" : code === 0 ? "succeeded" : "failed";
    const recovery = new Recovery(point, engine, account, start, output);
    await recovery.run();
    return { point, itself, ...recovery, wrong: [...recovery.wrong, ...engine.leaks] };
  } finally {
    // Nothing tells a provider that its engine has died: it would live for ever.
    end(started);
  }
}

async function drift(account: Account, { edges, certificates }: Holdings): Promise<void> {
  const others = new Set([...edges, ...certificates].map(({ id }) => id));
  const now = await account.holds();
  for (const { id } of [...now.edges, ...now.certificates]) {
    if (!others.has(id)) await account.describe(id, "changed by someone");
  }
}

async function strike(point: Point, engine: Engine, account: Account, started: Process[]) {
  const { method, when, victim, scenario } = point;
  const answer = when === "after" ? "held" : "silence";
  await account.set({ method, path: pathOf(point), answer, work: when !== "before" });
  const command = engine.start(scenario.command, ...go);
  const tooSoon = command.done.then(({ output }) => {
    throw new Error(`the request never came\n${output}`);
  });
  await Promise.race([account.struck(), tooSoon]);
  started.push(...descendants(command.pid));
  if (victim === "emulator") {
    if (when === "after") await account.release();
    await account.kill();
    await account.restart();
  } else {
    const pid = victim === "engine" ? command.pid : providerOf(started);
    // Stopped first, so that it can make nothing of the answer.
    if (when === "after") process.kill(pid, "SIGSTOP");
    if (when === "after") await account.release();
    process.kill(pid, "SIGKILL");
  }
  return command.done;
}

/** What a person does after a crash, and what there is then. */
class Recovery {
  readonly commands: string[] = [];
  readonly left: string[] = [];
  readonly wrong: string[] = [];
  readonly #point: Point;
  readonly #engine: Engine;
  readonly #account: Account;
  readonly #start: Start;
  /** All that was printed, by what printed it. */
  readonly #said: [string, string][];

  constructor(point: Point, engine: Engine, account: Account, start: Start, output: string) {
    this.#point = point;
    this.#engine = engine;
    this.#account = account;
    this.#start = start;
    this.#said = [["the command itself", output]];
  }

  async run(): Promise<void> {
    const refreshed = await this.#pulumi("refresh", ...go);
    if (refreshed.code !== 0 && refreshed.output.includes("pulumi cancel")) {
      await this.#pulumi("cancel", "--yes");
      await this.#pulumi("refresh", ...go);
    }
    const command = this.#point.scenario.command === "destroy" ? "destroy" : "up";
    const first = await this.#pulumi(command, ...go);
    if (first.code !== 0 && command === "up") await this.#adoptNamed(first.output);
    else if (first.code !== 0) this.wrong.push(`destroy fails: ${first.output}`);
    if ((await this.#engine.state()).pending.length > 0) {
      // The engine's own advice in its warning: a refresh that nobody answers leaves creates.
      await this.#pulumi("refresh", ...go, "--clear-pending-creates");
    }
    const state = await this.#engine.state();
    const holdings = await this.#account.holds();
    await this.#judge(state, holdings);
    await this.#nameTheRest(this.#strays(state, holdings));
  }

  async #pulumi(...args: string[]) {
    const done = await this.#engine.pulumi(...args);
    const flag = args.find((arg) => arg.startsWith("--clear"));
    this.commands.push(`\`${[args[0], flag].filter(Boolean).join(" ")}\``);
    this.#said.push([`\`${args[0]}\``, done.output]);
    return done;
  }

  /** The objects of the account that are neither the state's nor other people's. */
  #strays({ resources }: State, { edges, certificates }: Holdings): string[] {
    const { bystanders } = this.#start;
    const known = [...resources, ...bystanders.edges, ...bystanders.certificates];
    const ids = new Set(known.map(({ id }) => id));
    return [...edges, ...certificates].map(({ id }) => id).filter((id) => !ids.has(id));
  }

  /**
   * An error that names an object says to adopt it, or to delete it: the latter where a replacement
   * was cut off, as the state then has the resource by its old id.
   */
  async #adoptNamed(said: string): Promise<void> {
    const state = await this.#engine.state();
    const strays = this.#strays(state, await this.#account.holds());
    const named = strays.filter((id) => said.includes(id));
    const isNew = named.filter(
      (id) => !state.resources.some(({ urn }) => urn.endsWith(kindOf(id))),
    );
    for (const id of named.filter((one) => !isNew.includes(one))) {
      await this.#account.remove(id);
      this.commands.push("delete it");
      this.left.push(`nothing: one ${kindOf(id)}, named by the error of \`up\`, was deleted`);
    }
    const adopted = Object.fromEntries(isNew.map((id) => [kindOf(id), id]));
    const wanted = this.#point.scenario.program;
    await this.#engine.file("wanted.json", JSON.stringify({ ...wanted, adopted }));
    const { code, output } = await this.#pulumi("up", ...go);
    // As a person would leave it: the option is for once.
    await this.#engine.file("wanted.json", JSON.stringify(wanted));
    if (code !== 0) this.wrong.push(`up fails: ${output}`);
    if (isNew.length > 0) this.commands[this.commands.length - 1] += " with `import`";
    for (const id of isNew) {
      this.left.push(`nothing: one ${kindOf(id)}, named by the error of \`up\`, was adopted`);
    }
  }

  async #judge({ resources, pending }: State, holdings: Holdings): Promise<void> {
    const { scenario } = this.#point;
    const expected =
      scenario.command === "destroy" ? [] : [wantedOf(scenario.program, this.#start)];
    const ids = new Set(resources.map(({ id }) => id));
    const edge = holdings.edges.find(({ id }) => ids.has(id));
    const certificate = holdings.certificates.find(({ id }) => ids.has(id));
    const found = edge && certificate ? [foundOf(edge, certificate)] : [];
    if (!isDeepStrictEqual(found, expected) || resources.length !== expected.length * 2) {
      const ours = resources.map(({ urn, id }) => [urn, id]);
      this.wrong.push(
        `the state has ${JSON.stringify(ours)}, the service ${JSON.stringify(found)}`,
      );
    }
    if (pending.length > 0) this.wrong.push("the state has operations that are pending");
    if (this.#others(holdings) !== this.#others(this.#start.bystanders)) {
      this.wrong.push("what is others' has changed");
    }
    if (scenario.command === "destroy") return;
    const again = await this.#engine.pulumi("up", ...go, "--refresh", "--expect-no-changes");
    if (again.code !== 0) this.wrong.push(`up again changes: ${again.output}`);
  }

  /** The account's objects that are other people's, but for the port in their URIs. */
  #others({ edges, certificates }: Holdings): string {
    const { bystanders } = this.#start;
    const ids = new Set([...bystanders.edges, ...bystanders.certificates].map(({ id }) => id));
    const found = [...edges, ...certificates].filter(({ id }) => ids.has(id));
    return JSON.stringify(found).replaceAll(/localhost:\d+/g, "localhost");
  }

  /** Where a person hears of what can't be undone: in what was printed, or by looking. */
  async #nameTheRest(strays: string[]): Promise<void> {
    if (strays.length === 0) return;
    const cli = ["node_modules/pulumi-tlsedge/dist/cli/main.js", "status", "--json"];
    const { output } = await this.#engine.run(process.execPath, cli).done;
    const { twins } = JSON.parse(output) as { twins: { id: string }[][] };
    for (const id of strays) {
      const kind = kindOf(id);
      const pending = `::${kind}, interrupted while creating`;
      const where = this.#said.filter(([, text]) => text.includes(id)).map(([name]) => name);
      const warned = this.#said.filter(([, text]) => text.includes(pending)).map(([name]) => name);
      where.push(
        ...new Set(warned.map((name) => `the engine's warning in ${name}, without its id`)),
      );
      if (twins.flat().some((twin) => twin.id === id)) where.push("`status`, as a twin");
      this.left.push(`one ${kind}, named by ${where.join(" and by ")}`);
      if (where.length === 0) this.wrong.push(`one ${kind} is left and named nowhere`);
    }
  }
}

const kindOf = (id: string) => (id.startsWith("cert_") ? "certificate" : "edge");

function wantedOf({ description, chain, restricted }: Wanted, { chains }: Start) {
  return { descriptions: [description, description], chain: chains[chain].trim(), restricted };
}

function foundOf(edge: Holdings["edges"][number], certificate: Holdings["certificates"][number]) {
  return {
    descriptions: [edge.description, certificate.description],
    chain: certificate.certificate_pem.trim(),
    restricted: Boolean(edge.ip_restriction),
  };
}
