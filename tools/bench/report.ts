import {
  type Cell,
  type Contestant,
  contestants,
  type Kind,
  kinds,
  largestConventional,
  type Measured,
  min,
  type Phase,
  phases,
  type Results,
} from "./results.ts";
import { startupTables } from "./startupReport.ts";
import { both, columns, missing, ratio, table, times } from "./tables.ts";

const titles: Record<Phase, string> = {
  create: "create",
  preview: "preview, nothing to do",
  refresh: "refresh",
  update: "update of all",
  replace: "one replaced",
  destroy: "destroy",
};
/** The results as the page that people read. */
export function report(results: Results): string {
  const { machine, commands, startup, cells } = results;
  const measured = cells.filter(({ runs }) => runs > 0);
  return `# Performance

Measured on ${machine.cores} cores, with Node.js ${machine.node}, Pulumi CLI ${machine.pulumiCli} and
\`@pulumi/pulumi\` ${machine.pulumiSdk}, by

${table(
  ["Command", "Load of the machine before"],
  commands.map(({ line, load }) => [`\`${line}\``, load.toFixed(1)]),
)}

The more load, the less the times say. The numbers are in [performance.json](performance.json), too.

Three programs declare the same, in plain JavaScript, and take turns phase by phase:

- **This package**, against the emulator in a process of its own.
- **The floor**: a dynamic provider that checks nothing, makes no request and stores the same
  state, to the byte. What it costs is the engine's; what this package costs beyond it is ours.
- **Conventional**: what people write today, a class that Pulumi serializes into the state, with
  axios, a GET after each POST, no limit of its own and no retries. Up to ${largestConventional}
  resources, as it takes long.

Certificates have a chain of two, keys on P-256 and a description; edges have all four modules. They
are measured in stacks of their own. Times are seconds of the whole command, the shortest run and
then the median; ratios are of the shortest, as what else a machine does can only lengthen a run.
Requests are those of the last run. Bytes are as \`pulumi stack export\` prints them. Peak memory is
the kernel's high-water mark of the provider's process, which Linux alone tells.

${measured.map(section).join("\n\n")}

${unmeasured(cells)}${growth(measured)}## Start-up

${startupTables(startup)}

<!-- Made by \`npm run bench\`: any change here is lost. -->
`;
}

function section(cell: Cell): string {
  const measured = phases.filter((phase) => cell.phases[phase]);
  const parts = [`## ${titleOf(cell)}`, `${cell.runs === 1 ? "One run" : `${cell.runs} runs`}.`];
  parts.push(timesOf(cell, measured), requests(cell, measured));
  if (cell.limit) parts.push(underLimit(cell, measured));
  parts.push(state(cell), memory(cell, measured));
  return parts.join("\n\n");
}

/** Said, so that nobody looks for it. */
function unmeasured(cells: Cell[]): string {
  const left = cells.filter(({ runs }) => runs === 0).map(titleOf);
  return left.length > 0 ? `Not measured, as the time was over: ${left.join("; ")}.\n\n` : "";
}

function titleOf({ kind, n, latencyMs, limit }: Cell): string {
  const rate = limit ? `, ${limit} requests a minute` : "";
  return `${n} ${n === 1 ? kind.slice(0, -1) : kind}, ${latencyMs} ms${rate}`;
}

function taking(cell: Cell): Contestant[] {
  return contestants.filter((name) => cell.state[name]);
}

function timesOf(cell: Cell, measured: Phase[]): string {
  const names = taking(cell);
  const others = names.filter((name) => name !== "ours");
  return table(
    [
      "Phase",
      ...names.map((name) => columns[name]),
      ...others.map((name) => `÷ ${columns[name].toLowerCase()}`),
    ],
    measured.map((phase) => {
      const of = cell.phases[phase] ?? {};
      const ratios = others.map((name) => ratio(of.ours?.seconds, of[name]?.seconds));
      return [titles[phase], ...names.map((name) => both(of[name])), ...ratios];
    }),
  );
}

function requests(cell: Cell, measured: Phase[]): string {
  const names = taking(cell).filter((name) => name !== "floor");
  const said = (heard: Measured["heard"]) =>
    Object.entries(heard?.requests ?? {})
      .map(([kind, count]) => `${count} ${kind === "429" ? "answered 429" : kind}`)
      .join(", ") || "none";
  return table(
    ["Requests", ...names.map((name) => columns[name])],
    measured.map((phase) => [
      titles[phase],
      ...names.map((name) => said(cell.phases[phase]?.[name]?.heard)),
    ]),
  );
}

/** How well the limit is used: all of it from the first request to the last would be 100 %. */
function underLimit(cell: Cell, measured: Phase[]): string {
  const limit = cell.limit as number;
  const rows = measured.flatMap((phase) => {
    const heard = cell.phases[phase]?.ours?.heard;
    if (!heard) return [];
    const { "429": refused = 0, ...kinds } = heard.requests;
    const admitted = Object.values(kinds).reduce((sum, count) => sum + count, 0);
    // A rolling minute admits the first lot at once: so long it takes at the very least.
    const least = Math.floor((admitted - 1) / limit) * 60;
    const rate = admitted / (heard.seconds / 60);
    const share = least > 0 ? `${Math.round((rate / limit) * 100)} %` : "fits into one minute";
    return [[titles[phase], admitted, refused, heard.seconds.toFixed(1), least, share].map(String)];
  });
  const note =
    "Requests a minute, from the first to the last, against the limit; above 100 % as the first\n" +
    "minute's lot may go at once. The conventional provider fails at the first 429.";
  const head = ["Limit", "Admitted", "Refused", "Seconds", "At least", "Share used"];
  return `${table(head, rows)}\n\n${note}`;
}

function state(cell: Cell): string {
  const row = (name: Contestant) => {
    const size = cell.state[name];
    const rest = size && size.whole - size.inputs - size.outputs;
    return [columns[name], size?.whole, size?.inputs, size?.outputs, rest].map((bytes) =>
      typeof bytes === "number" ? String(Math.round(bytes)) : String(bytes),
    );
  };
  return table(
    ["Bytes of state a resource", "Exported", "Inputs", "Outputs", "The engine's own"],
    taking(cell).map(row),
  );
}

function memory(cell: Cell, measured: Phase[]): string {
  const names = taking(cell);
  return table(
    ["Peak memory of the provider, MiB", ...names.map((name) => columns[name])],
    measured.map((phase) => [
      titles[phase],
      ...names.map((name) => cell.phases[phase]?.[name]?.peakMiB?.toFixed(0) ?? missing),
    ]),
  );
}

/** From the smallest stack to the largest: the floor's part is the engine's, the rest is ours. */
function growth(cells: Cell[]): string {
  const parts = kinds.flatMap((kind) => growthOf(kind, cells));
  if (parts.length === 0) return "";
  return `## How it grows

Seconds of the shortest runs. The engine's part is the floor's; ours is what is beyond it. It can be
below zero: few runs leave noise.

${parts.join("\n\n")}

`;
}

function growthOf(kind: Kind, cells: Cell[]): string[] {
  const free = cells.filter((cell) => cell.kind === kind && !cell.limit);
  const latencies = [...new Set(free.map(({ latencyMs }) => latencyMs))];
  return latencies.flatMap((latencyMs) => {
    const sorted = free
      .filter((cell) => cell.latencyMs === latencyMs && cell.n >= 100)
      .sort((a, b) => a.n - b.n);
    const [small, large] = [sorted[0], sorted.at(-1)];
    if (!small || !large || small === large) return [];
    const rows = phases.flatMap((phase) => {
      const [a, b] = [partsOf(small, phase), partsOf(large, phase)];
      if (!a || !b) return [];
      const engine = [a.engine.toFixed(1), b.engine.toFixed(1), times(b.engine / a.engine)];
      return [[titles[phase], ...engine, a.ours.toFixed(1), b.ours.toFixed(1)]];
    });
    const head = [`${kind}, ${latencyMs} ms`];
    for (const part of ["Engine", "Ours"]) {
      head.push(`${part}, ${small.n}`, `${part}, ${large.n}`);
      if (part === "Engine") head.push("Grows");
    }
    return [table(head, rows)];
  });
}

function partsOf(cell: Cell, phase: Phase) {
  const { ours, floor } = cell.phases[phase] ?? {};
  if (!ours || !floor) return undefined;
  const engine = min(floor.seconds);
  return { engine, ours: min(ours.seconds) - engine };
}
