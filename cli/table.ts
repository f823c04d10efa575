import { styleText } from "node:util";
import stringWidth from "string-width";
import { plain } from "../client/plain";

/** How reports are printed. */
export interface Display {
  /** How many columns a line has. */
  width: number;
  /** Whether texts have colours and weights. */
  colour: boolean;
}

/** One line of a cell. */
export interface Line {
  text: string;
  paint?: Paint;
  /** The id of another object of the report, which the line speaks of. */
  of?: string;
  /** The whole days until an object expires; null when the date is not known. */
  daysLeft?: number | null;
}

/** The colour or weight of a line. */
export type Paint = "bold" | "dim" | "green" | "red" | "yellow";

/** A row of a table: the id of an object, and a cell for each of the other columns. */
export interface Row {
  id: string;
  cells: Line[][];
}

const gap = "  ";
/** A text in a colour or weight, if the display has them. */
export function painted(text: string, paint: Paint | undefined, { colour }: Display): string {
  // The display decides, so Node.js must not check the stream.
  return paint && colour ? styleText(paint, text, { validateStream: false }) : text;
}

/** A number and its noun: `1 edge`, `2 edges`. */
export const count = (number: number, noun: string) =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

/** A list in a sentence: `edges, certificates and tunnels`. */
export const inWords = (parts: string[]) => new Intl.ListFormat("en-GB").format(parts);

/** A cell of one line, with a text that others wrote. */
export const cell = (text: string, paint?: Paint): Line[] => [{ text: plain(text), paint }];

/** A table under its heading. */
export function section(heading: string, heads: string[], rows: Row[], display: Display): string {
  return `${painted(heading, "bold", display)}\n${table(heads, rows, display)}`;
}

/** A text in lines of at most this width, broken at spaces. */
export const wrapped = (text: string, width: number) =>
  text
    .split("\n")
    .flatMap((line) => linesOf(line, width))
    .join("\n");

/**
 * A table with the ids in the first column. When there is no room for that column, each id is
 * below the text of the next column, so that it stays in one piece and can be copied.
 *
 * @param heads The head of the ids, then one for each cell.
 */
function table([id = "", first = "", ...heads]: string[], rows: Row[], display: Display) {
  const beside = [
    [id, first, ...heads].map(heading),
    ...rows.map((row) => [[{ text: row.id }], ...row.cells]),
  ];
  const below = [
    [`${first}, ${id}`, ...heads].map(heading),
    ...rows.map(({ id, cells: [lines = [], ...cells] }) => [
      [...lines, { text: `${gap}${id}`, paint: "dim" as const }],
      ...cells,
    ]),
  ];
  const cells = roomFor(beside, display) - sum(longest(beside, items)) >= 0 ? beside : below;
  return drawn(cells, display);
}

const heading = (text: string): Line[] => [{ text, paint: "dim" }];

/** The parts of a line that stay in one piece as long as there is room: the items of a list. */
const items = ({ text }: Line) => text.split(/(?<=,) /);
const whole = ({ text }: Line) => [text];

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

/** The width of the longest part in each column. */
function longest(cells: Line[][][], parts: (line: Line) => string[]): number[] {
  const [first = []] = cells;
  return first.map((_, column) => {
    const texts = cells.flatMap((row) => (row[column] ?? []).flatMap(parts));
    return texts.reduce((most, text) => Math.max(most, stringWidth(text)), 1);
  });
}

/** The width of all columns together. */
function roomFor([first = []]: Line[][][], { width }: Display): number {
  return width - gap.length * (first.length - 1);
}

function drawn(cells: Line[][][], display: Display): string {
  const widths = columnWidths(cells, roomFor(cells, display));
  return cells.flatMap((row) => linesOfRow(row, widths, display)).join("\n");
}

/** The lines of a row: each cell is wrapped to the width of its column. */
function linesOfRow(row: Line[][], widths: number[], display: Display): string[] {
  const columns = row.map((lines, column) =>
    lines.flatMap(({ text, paint }) =>
      linesOf(text, widths[column] ?? 1).map((line) => ({ line, paint })),
    ),
  );
  const height = Math.max(1, ...columns.map(({ length }) => length));
  return Array.from({ length: height }, (_, index) => {
    let text = "";
    // The place up to which the columns before reach: a line ends with its last text.
    let missing = 0;
    for (const [column, lines] of columns.entries()) {
      const { line = "", paint } = lines[index] ?? {};
      if (line !== "") {
        text += " ".repeat(missing) + painted(line, paint, display);
        missing = 0;
      }
      missing += (widths[column] ?? 1) - stringWidth(line) + gap.length;
    }
    return text;
  });
}

/**
 * The widths of the columns: first for their longest items, then, if there is room, for their whole
 * lines. If there is no room for the items, the widest column shrinks.
 */
function columnWidths(cells: Line[][][], room: number): number[] {
  const widths = longest(cells, items);
  let spare = room - sum(widths);
  for (; spare < 0 && Math.max(...widths) > 1; spare++) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = (widths[widest] ?? 1) - 1;
  }
  return longest(cells, whole).map((wanted, column) => {
    const width = widths[column] ?? 1;
    const more = Math.max(0, Math.min(spare, wanted - width));
    spare -= more;
    return width + more;
  });
}

/** A text in lines of at most this width: broken at spaces, and inside wider words. */
function linesOf(text: string, width: number): string[] {
  if (stringWidth(text) <= width) return [text];
  // The indent of an id stays.
  const indent = text.slice(0, text.search(/[^ ]|$/));
  const lines = [""];
  let room = width - indent.length;
  for (const { part, space } of partsOf(text.trim(), room)) {
    const line = lines.at(-1) as string;
    const added = line === "" ? part : space + part;
    const columns = stringWidth(added);
    if (line === "" || columns <= room) {
      lines[lines.length - 1] = line + added;
      room -= columns;
    } else {
      lines.push(part);
      room = width - stringWidth(part);
    }
  }
  lines[0] = indent + lines[0];
  return lines;
}

/** The words of a text, or the characters of a word that is wider than a line. */
function partsOf(text: string, width: number): { part: string; space: string }[] {
  return text.split(/ +/).flatMap((word) => {
    const parts = stringWidth(word) <= width ? [word] : charactersOf(word);
    return parts.map((part, index) => ({ part, space: index === 0 ? " " : "" }));
  });
}

/** What people see as one character each: a break inside would change it. */
const charactersOf = (word: string) =>
  Array.from(segmenter.segment(word), ({ segment }) => segment);
const segmenter = new Intl.Segmenter();
