import path from "node:path";
import { tlsEdges } from "../../client/tlsEdge";
import type { MadeCertificate } from "../../emulator/server";
import { Project } from "../engine";
import { newFolder } from "../folders";
import { providerOf } from "../processes";
import type { Protocol } from "../protocol";
import { killPoints, type Point, pathOf, titleOf } from "./crashPoints";
import { isLike, stored, type Wire } from "./judge";
import type { Kind } from "./resource";

/** An engine with a program and a provider needs about one core. */
const parallel = 2;
const go = ["--yes", "--skip-preview"];
const kinds: Kind[] = ["tlsCertificate", "tlsEdge"];
const kindOf = (id: string): Kind => (id.startsWith("cert_") ? "tlsCertificate" : "tlsEdge");

/** Reads the arguments of its resources from files, so that the program contains no key. */
const program = `
const read = (name) => readFileSync(name, "utf8");
const { description, chain, restricted, imports } = JSON.parse(read("wanted.json"));
const certificate = new tlsedge.TLSCertificate("tlsCertificate", {
  description,
  certificatePem: read(chain + "/fullchain.pem"),
  privateKeyPem: read(chain + "/privkey.pem"),
}, { import: imports?.tlsCertificate });
// One after the other, so that the requests come in the same order each time.
new tlsedge.TLSEdge("tlsEdge", {
  description,
  hostports: ["app.example:443"],
  ipRestriction: restricted ? { ipPolicyIds: ["ipp_1"] } : undefined,
  onModuleRemoval: "replace",
}, { dependsOn: certificate, import: imports?.tlsEdge });`;

type Chains = Record<Point["to"]["chain"], MadeCertificate>;

/** Kills the engine, the provider or the emulator at each point, or at one of them alone. */
export async function runCrashes(
  protocol: Protocol,
  run?: number,
): Promise<{ totals: [string, string][]; broken: string[] }> {
  const outcomes: Crash[] = [];
  const rest = [...killPoints.entries()].filter(([index]) => run === undefined || index === run);
  let version = "";
  const work = async () => {
    const dataFile = path.join(newFolder(), "account.jsonl");
    const limits = { TLSEDGE_TIMEOUT_SECONDS: "60", TLSEDGE_REQUESTS_PER_MINUTE: "0" };
    const project = await Project.create({ dataFile }, limits, protocol);
    version = project.cli.version;
    await project.program(program);
    const chains = {
      first: await project.certificate("first", { commonName: "first.example" }),
      second: await project.certificate("second", { commonName: "second.example" }),
    };
    for (let next = rest.shift(); next; next = rest.shift()) {
      const [index, point] = next;
      const crash = new Crash(point, project, chains);
      await crash.run(`p${index}`).catch(({ message }: Error) => crash.wrong.push(message));
      outcomes[index] = crash;
      const result = crash.wrong[0] ?? crash.commands.join(", ");
      console.error(`${index + 1} of ${killPoints.length}: ${titleOf(point)}: ${result}`);
    }
    await project.close();
  };
  await Promise.all(Array.from({ length: run === undefined ? parallel : 1 }, work));
  // If only one point runs, the array has holes.
  const all = Object.values(outcomes);
  const broken = all.flatMap(({ point, wrong }) =>
    wrong.map((what) => `${titleOf(point)}: ${what}`),
  );
  return { totals: totalsOf(all, version), broken };
}

/** Kills at a point, follows the documented advice, and judges the result. */
class Crash {
  /** The commands after that command. */
  readonly commands: string[] = [];
  /** Objects that no state had, and where the user reads of them. */
  readonly left: string[] = [];
  /** Each difference from the expected result. */
  readonly wrong: string[] = [];
  /** What the commands have printed since the kill. */
  #output = "";

  constructor(
    readonly point: Point,
    private readonly project: Project,
    private readonly chains: Chains,
  ) {}

  async run(stack: string): Promise<void> {
    const { emulator } = this.project;
    const { from, to, command } = this.point;
    emulator.reset();
    await this.project.select(stack);
    if (from) {
      await this.#declare({ ...from, description: `${stack} ${from.description}` });
      await this.project.up();
    }
    // Each point has its own description, so an object of another point can't match.
    const wanted = { ...to, description: `${stack} ${to.description}` };
    await this.#declare(wanted);
    if (command === "refresh") {
      for (const { id } of this.#objects()) {
        stored(emulator, kindOf(id)).patch(id, { description: "changed by someone" });
      }
    }
    await this.#kill();
    // The user comes back two minutes later: until then an object that is not found may be new (contract C39).
    this.project.emulator.clocks.date += 120_000;
    await this.#recover(wanted);
    await this.#judge(wanted);
  }

  #declare(wanted: object): Promise<void> {
    return this.project.file("wanted.json", JSON.stringify(wanted));
  }

  async #kill(): Promise<void> {
    const { method, when, victim, command } = this.point;
    const answer = when === "after" ? "held" : "silence";
    const fault = { method, path: pathOf(this.point), answer, work: when !== "before" } as const;
    const act = async (engine: number, started: Parameters<typeof providerOf>[0]) => {
      const pid = victim === "engine" ? engine : providerOf(started);
      // A stopped process does not read the answer.
      if (when === "after" && victim !== "emulator") process.kill(pid, "SIGSTOP");
      if (when === "after") await this.#release();
      if (victim === "emulator") await this.project.restartEmulator();
      else process.kill(pid, "SIGKILL");
    };
    const { output } = await this.project.onFault(fault, [command], act);
    this.#output += output;
  }

  /** Releases the held answer; it has been sent when this settles. */
  async #release(): Promise<void> {
    this.project.emulator.faults.clear();
    // The answer is sent in the event loop's next turn; the answer to this list comes later.
    await tlsEdges.list(this.project.newClient()).next();
  }

  async #pulumi(...args: string[]) {
    const flag = args.find((arg) => arg.startsWith("--clear"));
    this.commands.push(`\`${[args[0], flag].filter(Boolean).join(" ")}\``);
    const printed = await this.project.pulumi(...args);
    this.#output += printed.output;
    return printed;
  }

  async #recover(wanted: object): Promise<void> {
    const refreshed = await this.#pulumi("refresh", ...go);
    if (refreshed.code !== 0 && refreshed.output.includes("pulumi cancel")) {
      await this.#pulumi("cancel", "--yes");
      await this.#pulumi("refresh", ...go);
    }
    const command = this.point.command === "destroy" ? "destroy" : "up";
    // As the guide says: what equals a resource to be created is from the update that was cut off.
    const plan = await this.#pulumi("preview");
    if (command === "up") await this.#declare({ ...wanted, imports: await this.#adoptable(plan) });
    const { code, output } = await this.#pulumi(command, ...go);
    if (code !== 0) this.wrong.push(`${command} fails: ${output}`);
    if ((await this.project.state()).pending.length > 0) {
      // The advice of the engine's own warning: without a terminal a refresh keeps pending creates.
      await this.#pulumi("refresh", ...go, "--clear-pending-creates");
    }
  }

  #objects(): Wire[] {
    return kinds.flatMap((kind): Wire[] => stored(this.project.emulator, kind).list());
  }

  /** The objects that a plan names and that a resource without an object can adopt, by the resource. */
  async #adoptable({ output }: { output: string }): Promise<Record<string, string>> {
    const { resources } = await this.project.state();
    const named = (await this.#unmanaged()).filter((id) => output.includes(id));
    // Providers have ids, too, and so has what is deleted before it is replaced.
    const live = this.#objects().filter(({ id }) => resources.some((one) => one.id === id));
    const adoptable = named.filter((id) => !live.some((own) => kindOf(own.id) === kindOf(id)));
    return Object.fromEntries(adoptable.map((id) => [kindOf(id), id]));
  }

  /** The ids of objects that are not in the state. */
  async #unmanaged(): Promise<string[]> {
    const known = (await this.project.state()).resources.map(({ id }) => id);
    return this.#objects().flatMap(({ id }) => (known.includes(id) ? [] : id));
  }

  async #judge({ description, chain, restricted }: Point["to"]): Promise<void> {
    const { command } = this.point;
    const state = await this.project.state();
    const resources = state.resources.filter(({ type }) => type.includes("tlsedge:"));
    const programs = {
      tlsCertificate: { description, ...this.chains[chain] },
      tlsEdge: {
        description,
        hostports: ["app.example:443"],
        ...(restricted && { ipRestriction: { ipPolicyIds: ["ipp_1"] } }),
      },
    };
    const right = this.#objects().filter(
      (object) =>
        resources.some(({ id }) => id === object.id) && isLike(programs[kindOf(object.id)], object),
    );
    const count = command === "destroy" ? 0 : kinds.length;
    if (right.length !== count || resources.length !== count) {
      const found = `${resources.length} in the state, ${right.length} of them`;
      this.wrong.push(`${found} as the program says`);
    }
    if (state.pending.length > 0) this.wrong.push("the state has pending operations");
    for (const id of await this.#unmanaged()) {
      const warns = this.#output.includes(`::${kindOf(id)}, interrupted while creating`);
      if (this.#output.includes(id)) this.left.push("one, named");
      else if (warns) this.left.push("one, in the engine's warning without its id");
      else this.wrong.push(`${id} is left and named nowhere`);
    }
    if (command === "destroy") return;
    const again = await this.project.pulumi("up", ...go, "--refresh", "--expect-no-changes");
    if (again.code !== 0) this.wrong.push(`up again changes: ${again.output}`);
  }
}

/** The totals for the document, by row. */
function totalsOf(outcomes: Crash[], version: string): [string, string][] {
  const converged = outcomes.filter(({ wrong }) => wrong.length === 0);
  const left = outcomes.flatMap((one) => one.left).filter((text) => text.startsWith("one, "));
  return [
    ["Kill points", String(outcomes.length)],
    ["Kill points that converged", String(converged.length)],
    ["Objects left over there, all named", String(left.length)],
    ["Pulumi CLI", version],
  ];
}
