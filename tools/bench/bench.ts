import type { ExportedResource } from "../engine";
import { assertSameSize, Competitor, record } from "./project";
import {
  type Contestant,
  contestantNames,
  type Kind,
  kinds,
  type Measured,
  phaseNames,
} from "./results";
import type { Declared, Stacks } from "./stacks";
import { measureStartup } from "./startup";

/** The delay of each answer of the service. */
export const latencyMs = 20;
const startupRuns = 11;

/** Measures the contestants; they take turns phase by phase, so that noise affects all alike. */
export class Bench {
  readonly measured: Measured[] = [];
  readonly #recordings: Partial<Record<Kind, ReturnType<typeof record>>> = {};

  constructor(
    private readonly stacks: Stacks,
    private readonly log: (line: string) => void,
  ) {}

  /** Records what this package stores, which the floor needs, and measures start-up. */
  async start() {
    const one = (kind: Kind) => this.stacks.resources(kind, 1, "create")[0] as Declared;
    const createOne = async (competitor: Competitor, kind: Kind) => {
      await competitor.declare(kind, [one(kind)]);
      await competitor.run("create", 1);
      return (await competitor.exported())[0] as ExportedResource;
    };
    for (const kind of kinds) {
      await this.#with(["ours"], 0, async ([ours]) => {
        this.#recordings[kind] = record(one(kind), await createOne(ours as Competitor, kind));
      });
    }
    return this.#with(contestantNames, 0, async (competitors) => {
      const started = [];
      for (const competitor of competitors) {
        const { inputs } = await createOne(competitor, "certificates");
        started.push({ ...competitor, text: inputs.__provider });
      }
      this.log(`start-up, ${startupRuns} runs`);
      return measureStartup(started, one("certificates").args, startupRuns);
    });
  }

  /** Measures all phases of a stack once; `run` decides who comes first. */
  async run(kind: Kind, n: number, run: number): Promise<void> {
    await this.#with(contestantNames, latencyMs, async (competitors) => {
      for (const [index, phase] of phaseNames.entries()) {
        // No property of an edge replaces it.
        if (phase === "replace" && kind === "edges") continue;
        const first = (run + index) % competitors.length;
        for (const competitor of [...competitors.slice(first), ...competitors.slice(0, first)]) {
          const { name } = competitor;
          await competitor.declare(kind, this.stacks.resources(kind, n, phase));
          const result = await competitor.run(phase, n);
          this.measured.push({ kind, n, phase, name, ...result });
          this.log(
            `${n} ${kind}, run ${run + 1}: ${phase}, ${name}: ${result.seconds.toFixed(1)} s`,
          );
        }
        if (phase === "create") await assertSameSize(competitors);
      }
    });
  }

  /** Opens the projects of the contestants for some work. */
  async #with<T>(
    names: readonly Contestant[],
    latencyMs: number,
    work: (competitors: Competitor[]) => Promise<T>,
  ): Promise<T> {
    const competitors: Competitor[] = [];
    try {
      for (const name of names) {
        competitors.push(await Competitor.open(name, latencyMs, this.#recordings));
      }
      return await work(competitors);
    } finally {
      for (const { project } of competitors) await project.close();
    }
  }
}
