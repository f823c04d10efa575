import { styleText } from "node:util";
import stringWidth from "string-width";
import { plain } from "../client/plain";

export interface Display {
  /** How many columns a line has. */
  width: number;
  /** Whether texts have colours and weights. */
  colour: boolean;
}

export interface Line {
  text: string;
  paint?: Paint;
}

export type Paint = "bold" | "dim" | "green" | "red" | "yellow";

/** A row of a table: an id, and a cell for each of the other columns. */
export interface Row {
  id: string;
  cells: Line[][];
}

const gap = "  ";
/** A column gets no narrower: rather a line is wider than the display. */
const narrowest = 8;

/** How much of a text is shown: a certificate may have a hundred names. */
const mostShown = 5000;

/** A text in a colour or weight, if the display has them. */
export function painted(text: string, paint: Paint | undefined, { colour }: Display): string {
  // The display decides, so Node.js must not check the stream.
  return paint && colour ? styleText(paint, text, { validateStream: false }) : text;
}

/** A noun for a number: `edge` for 1, `edges` for any other. */
export const plural = (number: number, noun: string) => (number === 1 ? noun : `${noun}s`);

/** A number and its noun: `1 edge`, `2 edges`. */
export const count = (number: number, noun: string) => `${number} ${plural(number, noun)}`;

/** A cell of one line, with a text that others wrote. A very long one is cut. */
export const cell = (text: string, paint?: Paint): Line[] => {
  const shown = plain(text);
  return [{ text: shown.length > mostShown ? `${shown.slice(0, mostShown)}…` : shown, paint }];
};

/**
 * A table under its heading, with the ids in the first column. An id stays in one piece, so that it
 * can be copied; where there is no room, the other columns are wrapped, the widest first.
 */
export function section(heading: string, heads: string[], rows: Row[], display: Display): string {
  const head = heads.map((text): Line[] => [{ text, paint: "dim" }]);
  const table = [head, ...rows.map(({ id, cells }) => [[{ text: id }], ...cells])];
  const widths = heads.map((_, column) =>
    table
      .flatMap((row) => row[column] ?? [])
      .reduce((most, { text }) => Math.max(most, stringWidth(text)), 0),
  );
  const room = display.width - gap.length * (widths.length - 1);
  for (let over = widths.reduce((sum, width) => sum + width) - room; over > 0; over--) {
    const widest = Math.max(...widths.slice(1));
    if (widest > narrowest) widths[widths.indexOf(widest, 1)] = widest - 1;
  }
  const lines = table.flatMap((row) => linesOfRow(row, widths, display));
  return [painted(heading, "bold", display), ...lines].join("\n");
}

/** A row as lines of text: each has a piece of every cell, padded to the width of its column. */
function linesOfRow(row: Line[][], widths: number[], display: Display): string[] {
  const columns = row.map((lines, column) =>
    lines.flatMap(({ text, paint }) =>
      linesOf(text, widths[column] ?? 0).map((line) => ({ line, paint })),
    ),
  );
  const height = Math.max(...columns.map(({ length }) => length));
  return Array.from({ length: height }, (_, index) => {
    const parts = columns.map((lines, column) => {
      const { line = "", paint } = lines[index] ?? {};
      const missing = (widths[column] ?? 0) - stringWidth(line);
      return painted(line, paint, display) + " ".repeat(Math.max(0, missing));
    });
    return parts.join(gap).trimEnd();
  });
}

/** A text in lines of at most this width. */
export const wrapped = (text: string, width: number) => linesOf(text, width).join("\n");

/** A text broken at spaces; a word that is wider than a line, before its dots and colons, too. */
function linesOf(text: string, width: number): string[] {
  const lines = [""];
  const fits = (part: string) => stringWidth(part.trimEnd()) <= width;
  for (const word of text.trim().split(/(?<= )(?! )/)) {
    const parts = fits(word) ? [word] : word.split(/(?=[.:])/);
    for (const part of parts.flatMap((one) => (fits(one) ? [one] : [...one]))) {
      const line = lines.at(-1) ?? "";
      if (fits(line + part)) lines[lines.length - 1] = line + part;
      else lines.push(part);
    }
  }
  return lines.map((line) => line.trimEnd());
}
