import { Client } from "pulumi-tlsedge/client";
import { tlsEdges } from "pulumi-tlsedge/client/tlsEdge";
import { killPoints, nameOf, type Point, pathOf } from "./crashPoints.ts";
import { Project } from "./engine.ts";
import { behind, isLike, objects, type Wire } from "./judge.ts";
import { descendants, end, type Process, providerOf } from "./processes.ts";
import type { Kind } from "./resource.ts";
import { until } from "./stage.ts";

/** An engine with a program and a provider keeps about one core busy. */
const atATime = 2;
const go = ["--yes", "--skip-preview"];
const kinds: Kind[] = ["tlsCertificate", "tlsEdge"];
const kindOf = (id: string): Kind => (id.startsWith("cert_") ? "tlsCertificate" : "tlsEdge");

/** What became of a kill point. */
interface Outcome {
  point: Point;
  /** What the command did whose process was killed, or whose service was. */
  itself: string;
  /** What was run then, in this order. */
  commands: string[];
  /** Objects that no state had, and where a person reads of them. */
  left: string[];
  /** Why it is not as it should be; empty when it is. */
  wrong: string[];
}

/** Kills the engine, the provider or the service at each point, and writes what came of it. */
export async function crashes(run?: number): Promise<{ markdown: string; broken: string[] }> {
  const outcomes: Outcome[] = [];
  const rest = [...killPoints.entries()].filter(([index]) => run === undefined || index === run);
  let version = "";
  const work = async () => {
    const project = await Project.open();
    version = project.version;
    for (let next = rest.shift(); next; next = rest.shift()) {
      const [index, point] = next;
      const crash = new Crash(point, project);
      await crash.play(`p${index}`).catch(({ message }: Error) => crash.wrong.push(message));
      outcomes[index] = crash;
      const said = crash.wrong[0] ?? crash.commands.join(", ");
      console.error(`${index + 1} of ${killPoints.length}: ${nameOf(point)}: ${said}`);
    }
    await project.emulator.close();
  };
  await Promise.all(Array.from({ length: run === undefined ? atATime : 1 }, work));
  const broken = outcomes.flatMap(({ point, wrong }) =>
    wrong.map((what) => `${nameOf(point)}: ${what}`),
  );
  return { markdown: report(outcomes, version), broken };
}

/** Kills at a point, does what a person is told to do then, and judges what there is. */
class Crash implements Outcome {
  readonly point: Point;
  itself = "failed";
  readonly commands: string[] = [];
  readonly left: string[] = [];
  readonly wrong: string[] = [];
  readonly #project: Project;

  constructor(point: Point, project: Project) {
    this.point = point;
    this.#project = project;
  }

  async play(stack: string): Promise<void> {
    const project = this.#project;
    const { from, to, command } = this.point;
    await project.newStack(stack);
    if (from) await this.#wants({ ...from, description: `${stack} ${from.description}` });
    if (from) await this.#succeeds("up");
    // By its own description nothing of another point's is taken for this one's.
    const wanted = { ...to, description: `${stack} ${to.description}` };
    await this.#wants(wanted);
    if (command === "refresh") {
      for (const { id } of this.#holds()) {
        behind(project.emulator, kindOf(id)).patch(id, { description: "changed by someone" });
      }
    }
    await this.#strike();
    await this.#recover(wanted);
    await this.#judge(wanted);
    const keys = project.secrets.in(project.heard);
    this.wrong.push(...keys.map((name) => `${name} stands in what was printed or stored`));
  }

  #wants(wanted: object): Promise<void> {
    return this.#project.file("wanted.json", JSON.stringify(wanted));
  }

  async #strike(): Promise<void> {
    const project = this.#project;
    const { method, when, victim, command } = this.point;
    const answer = when === "after" ? "held" : "silence";
    const { faults } = project.emulator;
    faults.add({ method, path: pathOf(this.point), answer, work: when !== "before" });
    const running = project.start(command, ...go);
    const started: Process[] = [];
    try {
      await until(() => faults.list()[0]?.struck === 1, running.done);
      if (faults.list()[0]?.struck !== 1) {
        throw new Error(`the request never came: ${(await running.done).output}`);
      }
      started.push(...descendants(running.pid));
      const pid = victim === "engine" ? running.pid : providerOf(started);
      // Stopped first, so that it can make nothing of the answer.
      if (when === "after" && victim !== "emulator") process.kill(pid, "SIGSTOP");
      if (when === "after") await this.#release();
      if (victim === "emulator") await project.restart();
      else process.kill(pid, "SIGKILL");
      const { code } = await running.done;
      this.itself = code === null ? "was killed" : code === 0 ? "succeeded" : "failed";
    } finally {
      end(started);
      project.emulator.faults.clear();
    }
  }

  /** Lets the held answer go: it is on its way when this settles. */
  async #release(): Promise<void> {
    const { url: baseUrl, apiKey, faults } = this.#project.emulator;
    faults.clear();
    // An answer is written in the turn after it was let go, and this is answered later than that.
    const caFile = this.#project.caFile;
    await tlsEdges.list(new Client({ baseUrl, apiKey, caFile })).next();
  }

  async #pulumi(...args: string[]) {
    const flag = args.find((arg) => arg.startsWith("--clear"));
    this.commands.push(`\`${[args[0], flag].filter(Boolean).join(" ")}\``);
    return this.#project.pulumi(...args);
  }

  async #succeeds(command: string): Promise<void> {
    const { code, output } = await this.#project.pulumi(command, ...go);
    if (code !== 0) throw new Error(`${command} fails: ${output}`);
  }

  async #recover(wanted: object): Promise<void> {
    const refreshed = await this.#pulumi("refresh", ...go);
    if (refreshed.code !== 0 && refreshed.output.includes("pulumi cancel")) {
      await this.#pulumi("cancel", "--yes");
      await this.#pulumi("refresh", ...go);
    }
    const command = this.point.command === "destroy" ? "destroy" : "up";
    const first = await this.#pulumi(command, ...go);
    if (first.code !== 0 && command === "up") await this.#followAdvice(first.output, wanted);
    else if (first.code !== 0) this.wrong.push(`destroy fails: ${first.output}`);
    if ((await this.#project.state()).pending.length > 0) {
      // The engine's own advice in its warning: a refresh that nobody answers leaves creates.
      await this.#pulumi("refresh", ...go, "--clear-pending-creates");
    }
  }

  /** What the error names is adopted, or deleted where the state has the resource by its old id. */
  async #followAdvice(said: string, wanted: object): Promise<void> {
    const { resources } = await this.#project.state();
    const adopted: Partial<Record<Kind, string>> = {};
    for (const id of await this.#strays()) {
      const kind = kindOf(id);
      if (!said.includes(id)) continue;
      const isReplacement = resources.some(({ urn }) => urn.endsWith(`::${kind}`));
      this.left.push(`one, which \`up\` named, was ${isReplacement ? "deleted" : "adopted"}`);
      if (isReplacement) behind(this.#project.emulator, kind).delete(id);
      else adopted[kind] = id;
    }
    await this.#wants({ ...wanted, adopted });
    const { code, output } = await this.#pulumi("up", ...go);
    if (code !== 0) this.wrong.push(`up fails: ${output}`);
    // As a person would leave it: the option is for once.
    await this.#wants(wanted);
  }

  #holds(): Wire[] {
    return kinds.flatMap((kind) => objects(this.#project.emulator, kind));
  }

  async #strays(): Promise<string[]> {
    const known = (await this.#project.state()).resources.map(({ id }) => id);
    return this.#holds().flatMap(({ id }) => (known.includes(id) ? [] : id));
  }

  async #judge(wanted: Point["to"]): Promise<void> {
    const { command } = this.point;
    const { resources, pending } = await this.#project.state();
    const held = this.#holds().filter(({ id }) => resources.some((one) => one.id === id));
    const { description, chain, restricted } = wanted;
    const programs = {
      tlsCertificate: { description, ...this.#project.chains[chain] },
      tlsEdge: {
        description,
        hostports: ["app.example:443"],
        ...(restricted && { ipRestriction: { ipPolicyIds: ["ipp_1"] } }),
      },
    };
    const right = held.filter((object) => isLike(programs[kindOf(object.id)], object)).length;
    const count = command === "destroy" ? 0 : kinds.length;
    if (right !== count || resources.length !== count) {
      this.wrong.push(`${resources.length} in the state, ${right} of them as the program says`);
    }
    if (pending.length > 0) this.wrong.push("the state has operations that are pending");
    for (const id of await this.#strays()) {
      const warns = this.#project.heard.includes(`::${kindOf(id)}, interrupted while creating`);
      if (this.#project.heard.includes(id)) this.left.push("one, named");
      else if (warns) this.left.push("one, which the engine's warning speaks of without its id");
      else this.wrong.push(`${id} is left and named nowhere`);
    }
    if (command === "destroy") return;
    const again = await this.#project.pulumi("up", ...go, "--refresh", "--expect-no-changes");
    if (again.code !== 0) this.wrong.push(`up again changes: ${again.output}`);
  }
}

function report(outcomes: Outcome[], version: string): string {
  const rows = outcomes.map(({ point, itself, commands, left, wrong }) => {
    const { title, kind, method, when, victim, command } = point;
    const request = `\`${method}\` of the ${kind === "tlsEdge" ? "edge" : "certificate"}`;
    const converged = wrong.length === 0 ? "yes" : "**no**";
    const then = [`\`${command}\` ${itself}`, commands.join(", "), converged];
    return `| ${[title, request, when, victim, ...then, left.join("; ") || "nothing"].join(" | ")} |`;
  });
  const head = "What is done | Request | When | Killed | It | Then | Converged | Left over";
  return [
    `${outcomes.length} kill points, on Pulumi ${version}.`,
    "",
    `| ${head} |`,
    `|${" --- |".repeat(8)}`,
    ...rows,
  ].join("\n");
}
