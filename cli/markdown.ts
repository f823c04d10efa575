import { plain } from "../client/plain";
import { emptyText, firstLines, sectionsOf, titleOf, totalsOf } from "./report";
import type { Status } from "./status";
import type { Line } from "./table";

/**
 * The report in Markdown (GFM), for the summary of a CI job or a comment. What others wrote gives
 * neither markup nor a link, nor does it mention a person.
 */
export function statusMarkdown(status: Status): string {
  const parts = sectionsOf(status).map((part) => {
    const rows = part.rows.map(({ id, cells }) => [escaped(id), ...cells.map(cellOf)]);
    const table = [part.heads, part.heads.map(() => "---"), ...rows].map(rowOf).join("\n");
    return `### ${titleOf(part)}\n\n${part.rows.length === 0 ? emptyText(part) : table}`;
  });
  const title = `## Status of ${escaped(plain(status.service))}`;
  const at = `Read at ${status.at}.`;
  return [title, `**${totalsOf(status)}**`, ...parts, at].join("\n\n");
}

const rowOf = (cells: string[]) => `| ${cells.join(" | ")} |`;

const cellOf = (lines: Line[]) => firstLines(lines).map(lineOf).join("<br>") || "-";

/** Urgent lines are bold: Markdown has no colours. */
const lineOf = ({ text, paint }: Line) =>
  paint === "red" ? `**${escaped(text)}**` : escaped(text);

/** Texts that can't be markup in any place: words and numbers with a few signs between them. */
const words = /^[\p{L}\p{N}]([\p{L}\p{N} ,+'()-]|\d\.\d)*$/u;

/** GitHub makes a link of `GH-12`, of the key of an issue elsewhere, and of a commit's hash. */
const reference = /\p{L}-\d|\b[0-9a-f]{7,40}\b/iu;

/**
 * A text without effect: words as they are, other texts as code. Where a code span would need its
 * own escapes, character references stand for the signs instead.
 */
function escaped(text: string): string {
  const isWords = words.test(text) && !reference.test(text);
  if (text === "" || text === "-" || isWords) return text;
  if (!/[`|\\]/.test(text) && text.trim() !== "") return `\`${text}\``;
  const signs = text.replace(/[!-/:-@[-`{-~]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<code>${signs}</code>`;
}
