import { availableParallelism } from "node:os";
import { version as pulumiSdk } from "@pulumi/pulumi/version";
import { table } from "../markdown";
import type { PulumiCli } from "../pulumi";
import { latencyMs } from "./bench";
import { drawCharts } from "./chart";
import {
  type Contestant,
  contestantNames,
  contestants,
  kinds,
  type Measured,
  type Phase,
  phaseNames,
  phases,
  type Startup,
} from "./results";

/** The measurements in Markdown; `load` is the load of the machine before them. */
export function report(all: Measured[], startup: Startup, cli: PulumiCli, load: number): string {
  const titles = new Set(all.map(({ n, kind }) => `${n} ${kind}`));
  const parts = [...titles].map((title) => {
    return section(
      title,
      all.filter(({ n, kind }) => `${n} ${kind}` === title),
    );
  });
  return `Measured on ${availableParallelism()} cores, with Node.js ${process.versions.node}, Pulumi CLI ${cli.version} and
\`@pulumi/pulumi\` ${pulumiSdk}; the service delayed each answer by ${latencyMs} ms. The load of the machine
was ${load.toFixed(1)} before: the more load, the less the times say.

${parts.join("\n\n")}

${startupSection(startup)}`;
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

function section(title: string, all: Measured[]): string {
  const of = (phase: Phase, name: Contestant) =>
    all.filter((one) => one.phase === phase && one.name === name);
  const seconds = (phase: Phase, name: Contestant) => of(phase, name).map((one) => one.seconds);
  const measured = phaseNames.filter((phase) => of(phase, "ours").length > 0);
  const tableOf = (what: string, cell: (phase: Phase, name: Contestant) => string) =>
    table(
      [what, ...Object.values(contestants)],
      measured.map((phase) => [phases[phase], ...contestantNames.map((name) => cell(phase, name))]),
      true,
    );
  const ratios = measured.map((phase) => [
    phases[phase],
    ratio(seconds(phase, "ours"), seconds(phase, "floor")),
    ratio(seconds(phase, "ours"), seconds(phase, "conventional")),
    ratio(seconds(phase, "plugin"), seconds(phase, "ours")),
    ratio(seconds(phase, "plugin"), seconds(phase, "conventional")),
  ]);
  const processor = (phase: Phase, name: Contestant) =>
    of(phase, name).map((one) => one.processorSeconds);
  const state = contestantNames.map((name) => {
    const [whole = 0, inputs = 0, outputs = 0] = of("create", name)[0]?.bytes ?? [];
    const bytes = [whole, inputs, outputs, whole - inputs - outputs];
    return [contestants[name], ...bytes.map((count) => count.toFixed(0))];
  });
  const head = ["Bytes of state a resource", "Exported", "Inputs", "Outputs", "Rest"];
  return [
    `## ${title}`,
    `Runs: ${of("create", "ours").length}.`,
    tableOf("Seconds", (phase, name) => shortest(seconds(phase, name), 2)),
    table(
      ["Time", "Ours ÷ floor", "Ours ÷ conventional", "Plugin ÷ ours", "Plugin ÷ conventional"],
      ratios,
      true,
    ),
    tableOf("Processor seconds", (phase, name) => shortest(processor(phase, name), 2)),
    tableOf("Requests", (phase, name) => requestsOf(of(phase, name).at(-1))),
    table(head, state, true),
    tableOf("Peak memory of the provider, MiB", (phase, name) =>
      Math.max(...of(phase, name).map(({ peakMiB }) => peakMiB)).toFixed(0),
    ),
  ].join("\n\n");
}

function requestsOf(measured: Measured | undefined): string {
  const counts = Object.entries(measured?.requests ?? {});
  return counts.map(([kind, count]) => `${count} ${kind}`).join(", ") || "none";
}

/** The shortest run and the median; of one run its value. */
function shortest(values: number[], digits: number): string {
  if (values.length === 1) return (values[0] ?? 0).toFixed(digits);
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
  return `${sorted[0]?.toFixed(digits)} / ${median.toFixed(digits)}`;
}

/** The ratio of the shortest runs: other work of the machine can only make a run longer. */
function ratio(a: number[], b: number[] = []): string {
  return (Math.min(...a) / Math.min(...b)).toFixed(2);
}

function startupSection(startup: Startup): string {
  const titles: Record<string, string> = contestants;
  const rows = Object.entries(startup).flatMap(([what, runs]) =>
    Object.entries(runs).map(([name, ms]) => [
      `${what}, ${titles[name]?.toLowerCase() ?? name}`,
      shortest(ms, 1),
      ratio(ms, runs.floor ?? runs["@pulumi/pulumi"]),
    ]),
  );
  const head = ["Milliseconds in fresh processes", "Shortest / median", "÷ floor or Pulumi"];
  return `## Start-up\n\n${table(head, rows, true)}`;
}
