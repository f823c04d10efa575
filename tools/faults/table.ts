import { cells, kinds } from "./draw.ts";
import { outcomes } from "./judge.ts";
import { faultKinds, operations } from "./kinds.ts";
import type { Played } from "./matrix.ts";

/** A cell is trusted from so many hits on. */
export const leastHits = 5;

const titles = { tlsEdge: "TLSEdge", tlsCertificate: "TLSCertificate" };
const sum = (runs: Played[], of: (run: Played) => number) =>
  runs.reduce((total, run) => total + of(run), 0);
const hit = (runs: Played[]) => runs.filter(({ struck }) => struck > 0);

/** The cells that the fault struck too seldom to say anything. */
export function thinCells(played: Played[]): string[] {
  return cells.flatMap(({ fault, operation, kind }) => {
    const hits = hit(inCell(played, fault.title, operation, kind)).length;
    const name = `${titles[kind]}, ${operation}, ${fault.title}`;
    return hits < leastHits ? [`${name}: the fault struck in ${hits} runs of ${leastHits}`] : [];
  });
}

/** Everything about the runs, for the document. */
export function tables(played: Played[]): string {
  return [
    ...kinds.map(
      (kind) =>
        `### ${titles[kind]}\n\n${outcomeTable(played.filter((r) => r.cell.kind === kind))}`,
    ),
    dashes(),
    `### What the service had afterwards\n\n${countTable(played)}`,
  ].join("\n\n");
}

function inCell(played: Played[], fault: string, operation: string, kind?: string): Played[] {
  return played.filter(
    ({ cell }) =>
      cell.fault.title === fault && cell.operation === operation && (!kind || cell.kind === kind),
  );
}

function outcomeTable(played: Played[]): string {
  const rows = faultKinds.map((fault) => [
    fault.title,
    ...operations.map((operation) => {
      if (fault.dash?.[operation]) return "–";
      const runs = hit(inCell(played, fault.title, operation));
      return tally(runs) || "none";
    }),
  ]);
  return markdown(["Fault", ...operations], rows);
}

function tally(runs: Played[]): string {
  return outcomes
    .map((outcome) => [runs.filter((run) => run.outcome === outcome).length, outcome] as const)
    .filter(([count]) => count > 0)
    .map(([count, outcome]) => `${count} ${outcome}`)
    .join(", ");
}

function dashes(): string {
  const all = faultKinds.flatMap(({ title, dash = {} }) =>
    Object.entries(dash).map(([operation, why]) => ({ title, operation, why })),
  );
  const reasons = [...new Set(all.map(({ why }) => why))];
  const told = reasons.map((reason) => {
    const of = all.filter(({ why }) => why === reason).map(({ operation }) => operation);
    return `- ${[...new Set(of)].join(" and ")}: ${reason}`;
  });
  return `A dash stands where a fault can't strike:\n\n${told.join("\n")}`;
}

/** Objects against states, by operation; the last row is all of them. */
export function countTable(played: Played[]): string {
  const head = ["Operation", "Runs", "Struck", "Requests struck", "Objects", "In a state"];
  const counts = (name: string, runs: Played[]) => [
    name,
    runs.length,
    hit(runs).length,
    sum(runs, ({ struck }) => struck),
    sum(runs, ({ objects }) => objects),
    sum(runs, ({ held }) => held),
    sum(runs, ({ named }) => named.length),
    sum(runs, ({ silent }) => silent.length),
    sum(runs, ({ duplicates }) => duplicates),
  ];
  const used = operations.filter((one) => played.some(({ cell }) => cell.operation === one));
  const rows = used.map((operation) =>
    counts(
      operation,
      played.filter(({ cell }) => cell.operation === operation),
    ),
  );
  return markdown(
    [...head, "Left, named by an error", "Orphans", "Duplicates"],
    used.length > 1 ? [...rows, counts("all", played)] : rows,
  );
}

export function markdown(head: string[], rows: (string | number)[][]): string {
  const texts = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) =>
    Math.max(3, ...texts.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: string[]) =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [first = [], ...rest] = texts;
  return [line(first), line(widths.map((width) => "-".repeat(width))), ...rest.map(line)].join(
    "\n",
  );
}
