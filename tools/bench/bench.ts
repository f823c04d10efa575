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

/** The delay of each answer of the service. */
export const latencyMs = 20;

/** Measures the contestants; they take turns phase by phase, so that noise affects all alike. */
export class Bench {
  readonly measured: Measured[] = [];
  readonly #recordings: Partial<Record<Kind, ReturnType<typeof record>>> = {};

  constructor(
    private readonly stacks: Stacks,
    private readonly log: (line: string) => void,
  ) {}

  /** Records what this package stores, which the floor needs. */
  async prepare(): Promise<void> {
    for (const kind of kinds) {
      const one = this.stacks.resources(kind, 1, "create")[0] as Declared;
      await this.#with(["ours"], 0, async (competitors) => {
        const [ours] = competitors as [Competitor];
        await ours.declare(kind, [one]);
        await ours.run("create", 1);
        const [stored] = await ours.exported();
        this.#recordings[kind] = record(one, stored as ExportedResource);
      });
    }
  }

  /** Measures all phases of a stack once; `run` decides who comes first. */
  async run(kind: Kind, n: number, run: number): Promise<void> {
    await this.#with(contestantNames, latencyMs, async (competitors) => {
      for (const [index, phase] of phaseNames.entries()) {
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
  async #with(
    names: readonly Contestant[],
    latencyMs: number,
    work: (competitors: Competitor[]) => Promise<void>,
  ): Promise<void> {
    const competitors: Competitor[] = [];
    try {
      for (const name of names) {
        competitors.push(await Competitor.open(name, latencyMs, this.#recordings));
      }
      await work(competitors);
    } finally {
      for (const { project } of competitors) await project.close();
    }
  }
}
