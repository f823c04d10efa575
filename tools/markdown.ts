import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { repository } from "./folders";

/** A table with aligned columns; `numbers` aligns all columns but the first to the right. */
export function table(head: string[], rows: string[][], numbers = false): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isRight = (column: number) => numbers && column > 0;
  const cell = (text: string, column: number) =>
    isRight(column) ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
  const rule = widths.map((width, column) =>
    isRight(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  return [head, rule, ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");
}

/**
 * Writes one generated part of a document: replaces the text between the comments `NAME: begin` and
 * `NAME: end`, and keeps all other text. If the part is missing, it is added at the end. If the
 * document is missing, it begins with `title`.
 */
export async function writePart(
  file: string,
  title: string,
  name: string,
  markdown: string,
): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => `# ${title}\n`);
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const isThere = from >= 0 && to > from;
  const before = isThere ? text.slice(0, from) : `${text.trimEnd()}\n\n`;
  const after = isThere ? text.slice(to + end.length) : "\n";
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${before}${begin}\n\n${markdown.trim()}\n\n${end}${after}`);
}

/**
 * Writes one column of the table of a generated part, and keeps its other columns and rows.
 *
 * @param heads The head of each column; the first is that of the names of the rows.
 * @param column The head of the column to write.
 * @param cells The name of each row, and its cell in that column.
 */
export async function writeColumn(
  file: string,
  title: string,
  name: string,
  heads: string[],
  column: string,
  cells: [string, string][],
): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => "");
  const part = text.split(`<!-- ${name}: begin -->`)[1]?.split(`<!-- ${name}: end -->`)[0] ?? "";
  const lines = part.split("\n").filter((line) => line.startsWith("|"));
  const rows = new Map<string, string[]>();
  for (const line of lines.slice(2)) {
    const [row = "", ...others] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    rows.set(row, others);
  }
  for (const [row, cell] of cells) {
    const others = rows.get(row) ?? heads.slice(1).map(() => "–");
    rows.set(row, others.with(heads.indexOf(column) - 1, cell));
  }
  const all = [...rows].map(([row, others]) => [row, ...others]);
  await writePart(file, title, name, table(heads, all, true));
}

/**
 * The programs in a language that a page of the documentation shows, in their order.
 *
 * @param page The file of the page in `docs/`; `guide.md#Lookups` is one section of it.
 */
export async function programsIn(page: string, language: string): Promise<string[]> {
  const [file = "", title] = page.split("#");
  const whole = await readFile(path.join(repository, "docs", file), "utf8");
  const sections = whole.split(/^## /m);
  const text = title ? (sections.find((part) => part.startsWith(`${title}\n`)) ?? "") : whole;
  const blocks = text.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return [...blocks].filter(([, name]) => name === language).map(([, , program = ""]) => program);
}
