import { type Contestant, type Measured, median, min } from "./results.ts";

/** What the contestants are called at the head of a column. */
export const columns: Record<Contestant, string> = {
  ours: "This package",
  floor: "Floor",
  conventional: "Conventional",
};

/** For what was not measured. */
export const missing = "–";

export function milliseconds(runs: number[]): string[] {
  return [min(runs).toFixed(1), median(runs).toFixed(1)];
}

/** The shortest run and the median; they are one when there was one run. */
export function both(measured: Measured | undefined): string {
  if (!measured) return missing;
  const { seconds } = measured;
  const shortest = min(seconds).toFixed(2);
  return seconds.length > 1 ? `${shortest} / ${median(seconds).toFixed(2)}` : shortest;
}

/** Of the shortest runs. */
export function ratio(a: number[] | undefined, b: number[] | undefined): string {
  return a && b ? (min(a) / min(b)).toFixed(2) : missing;
}

export function times(factor: number): string {
  return `× ${factor.toFixed(1)}`;
}

/** Columns of one width, numbers to the right, as the formatter of Markdown writes them. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const padded = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: string[]) => `| ${cells.map(padded).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}
