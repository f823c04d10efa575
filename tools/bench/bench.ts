import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { PulumiCli } from "../pulumi.ts";
import { type Exported, Project, sizeOf } from "./project.ts";
import { assertSameSize, type Recording, record } from "./recording.ts";
import {
  type Cell,
  type Contestant,
  contestants,
  type Kind,
  kinds,
  largestConventional,
  type Phase,
  phases,
  type Startup,
} from "./results.ts";
import { type Service, startService } from "./service.ts";
import type { Stacks } from "./stacks.ts";
import { measureStartup, type Started } from "./startup.ts";

const startupRuns = 11;

/** A contestant with a project and, as two must not meet there, a service of its own. */
interface Runner {
  name: Contestant;
  project: Project;
  service: Service;
}

/** Runs cells; whoever takes part takes turns, phase by phase, so that noise hits all alike. */
export class Bench {
  readonly #folder: string;
  readonly #cli: PulumiCli;
  readonly #stacks: Stacks;
  readonly #say: (text: string) => void;
  readonly #recordings: Partial<Record<Kind, Recording>> = {};

  constructor(folder: string, cli: PulumiCli, stacks: Stacks, say: (text: string) => void) {
    this.#folder = folder;
    this.#cli = cli;
    this.#stacks = stacks;
    this.#say = say;
  }

  /** Sees what this package stores, so that the floor can do so too, and measures start-up. */
  async record(): Promise<Startup> {
    return this.#with({ latencyMs: 0 }, contestants, async (runners) => {
      const started: Partial<Record<Contestant, Started>> = {};
      // The certificate last: start-up is measured with it.
      for (const kind of [...kinds].reverse()) {
        const resources = this.#stacks.resources(kind, 1);
        for (const { name, project, service } of runners) {
          await project.prepare(name, service.ca, this.#recordings);
          await project.declare(kind, resources);
          await project.run("create", 1);
          const [stored] = (await project.exported()) as [Exported];
          if (name === "ours" && resources[0])
            this.#recordings[kind] = record(resources[0], stored);
          started[name] = { project, text: stored.inputs.__provider };
        }
      }
      this.#say(`start-up, ${startupRuns} runs`);
      return measureStartup(started as Record<Contestant, Started>, startupRuns);
    });
  }

  /** Measures the phases of a cell once more. */
  async run(cell: Cell, measured: Phase[]): Promise<void> {
    // The conventional provider knows no limit: it fails at the first 429.
    const isFit = !cell.limit && cell.n <= largestConventional;
    const names = contestants.filter((name) => isFit || name !== "conventional");
    const needed = phases.filter(
      (phase) => (phase === "create" || measured.includes(phase)) && isOf(phase, cell.kind),
    );
    const options = { latencyMs: cell.latencyMs, requestsPerMinute: cell.limit };
    await this.#with(options, names, async (runners) => {
      for (const { name, project, service } of runners) {
        await project.prepare(name, service.ca, this.#recordings);
      }
      for (const phase of needed) {
        const turns = turned(runners, cell.runs + phases.indexOf(phase));
        for (const runner of turns) await this.#phase(cell, phase, runner, measured);
        if (phase === "create") await measureState(cell, runners);
      }
    });
    cell.runs += 1;
  }

  async #phase(cell: Cell, phase: Phase, runner: Runner, measured: Phase[]): Promise<void> {
    const { name, project, service } = runner;
    if (["create", "update", "replace"].includes(phase)) {
      const changed = measured.includes("update") && phase !== "create";
      const renewed = phase === "replace";
      const resources = this.#stacks.resources(cell.kind, cell.n, { changed, renewed });
      await project.declare(cell.kind, resources);
    }
    if (cell.limit) await service.rest();
    await service.take();
    const { seconds, peakMiB } = await project.run(phase, cell.n);
    const heard = await service.take();
    this.#say(
      `${cell.n} ${cell.kind}, ${cell.latencyMs} ms${cell.limit ? `, ${cell.limit}/min` : ""}, ` +
        `run ${cell.runs + 1}: ${phase}, ${name}: ${seconds.toFixed(1)} s`,
    );
    if (!measured.includes(phase)) return;
    const before = cell.phases[phase]?.[name];
    const peaks = [before?.peakMiB, peakMiB].filter((peak) => peak !== undefined);
    cell.phases[phase] = {
      ...cell.phases[phase],
      [name]: {
        seconds: [...(before?.seconds ?? []), seconds],
        heard,
        ...(peaks.length > 0 && { peakMiB: Math.max(...peaks) }),
      },
    };
  }

  /** The contestants with their services, for as long as the work takes. */
  async #with<T>(
    options: { latencyMs: number; requestsPerMinute?: number },
    names: readonly Contestant[],
    work: (runners: Runner[]) => Promise<T>,
  ): Promise<T> {
    await mkdir(path.join(this.#folder, "home"), { recursive: true });
    const runners: Runner[] = [];
    try {
      for (const name of names) {
        const service = await startService(options);
        // Names of one length: the engine writes the program's path into the state.
        const folder = path.join(this.#folder, name.slice(0, 4));
        const limit = options.requestsPerMinute;
        runners.push({ name, service, project: new Project(folder, this.#cli, service, limit) });
      }
      return await work(runners);
    } finally {
      for (const { service } of runners) await service.close();
    }
  }
}

/** An edge has nothing by which a program replaces it. */
function isOf(phase: Phase, kind: Kind): boolean {
  return phase !== "replace" || kind === "certificates";
}

function turned<T>(items: T[], by: number): T[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

async function measureState(cell: Cell, runners: Runner[]): Promise<void> {
  const stored = new Map<Contestant, Exported[]>();
  for (const { name, project } of runners) {
    const resources = await project.exported();
    stored.set(name, resources);
    cell.state[name] = sizeOf(resources);
  }
  assertSameSize(stored.get("ours") ?? [], stored.get("floor") ?? []);
}
