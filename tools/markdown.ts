import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

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
