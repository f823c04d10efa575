import { availableParallelism } from "node:os";
import { version as pulumiSdk } from "@pulumi/pulumi/version";
import { table } from "../markdown";
import type { PulumiCli } from "../pulumi";
import { latencyMs } from "./bench";
import { drawCharts } from "./chart";
import { contestantNames, contestants, kinds, type Measured, phaseNames, phases } from "./results";

/** The measurements in Markdown; `load` is the load of the machine before them. */
export function report(all: Measured[], cli: PulumiCli, load: number): string {
  const titles = new Set(all.map(stackOf));
  const compared = new Set(all.map((one) => `${stackOf(one)} ${one.phase} ${one.name}`));
  const rows = [...titles].flatMap((title) => rowsOf(title, all));
  return `Measured on ${availableParallelism()} cores, with Node.js ${process.versions.node}, Pulumi CLI ${cli.version} and
\`@pulumi/pulumi\` ${pulumiSdk}; the service delayed each answer by ${latencyMs} ms. The load of the machine
was ${load.toFixed(1)} before: the more load, the less the times say. Runs: ${Math.floor(all.length / compared.size)}.

${table(["Seconds / processor seconds", ...Object.values(contestants)], rows, true)}`;
}

/** Creates and refreshes over the size of the stack, as an SVG: the shortest runs. */
export function charts(all: Measured[]): string {
  const sizes = [...new Set(all.map(({ n }) => n))].sort((a, b) => a - b);
  const panels = (["create", "refresh"] as const).flatMap((phase) =>
    kinds.map((kind) => ({
      title: `${phases[phase]}, ${kind}`,
      lines: contestantNames.map((name) => ({
        name: contestants[name],
        points: sizes.flatMap((n): [number, number][] => {
          const runs = all.filter(
            (one) => one.n === n && one.kind === kind && one.phase === phase && one.name === name,
          );
          return runs.length > 0 ? [[n, Math.min(...runs.map(({ seconds }) => seconds))]] : [];
        }),
      })),
    })),
  );
  return drawCharts(
    panels.filter(({ lines }) => lines.every(({ points }) => points.length > 0)),
    "seconds",
    "resources",
  );
}

const stackOf = ({ n, kind }: Measured) => `${n} ${kind}`;

/** The rows of a stack: a row for each phase, its bytes of state and its peak memory. */
function rowsOf(title: string, all: Measured[]): string[][] {
  const row = (what: string, cell: (runs: Measured[]) => string) => [
    `${title}: ${what}`,
    ...contestantNames.map((one) =>
      cell(all.filter((run) => stackOf(run) === title && run.name === one)),
    ),
  ];
  const times = phaseNames.map((phase) =>
    row(phases[phase], (runs) => {
      // The shortest run: other work of the machine can only make a run longer.
      const [least] = runs
        .filter((run) => run.phase === phase)
        .sort((a, b) => a.seconds - b.seconds);
      return least ? `${least.seconds.toFixed(2)} / ${least.processorSeconds.toFixed(2)}` : "–";
    }),
  );
  const most = (values: number[]) => Math.max(...values).toFixed(0);
  return [
    ...times,
    row("bytes of state a resource", (runs) => most(runs.map(({ bytes }) => bytes))),
    row("peak MiB of a create, all processes", (runs) => most(runs.map(({ peakMiB }) => peakMiB))),
  ];
}
