import { stripVTControlCharacters, styleText } from "node:util";
import Table from "cli-table3";
import stringWidth from "string-width";

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
/** How many rows the library draws at once: its time grows with their square. */
const rowsAtOnce = 100;

const none = { "top-left": "", "top-right": "", "bottom-left": "", "bottom-right": "" };
const noBorders = {
  ...none,
  ...{ top: "", "top-mid": "", bottom: "", "bottom-mid": "", left: "", "left-mid": "" },
  ...{ mid: "", "mid-mid": "", right: "", "right-mid": "", middle: gap },
};

/** A text in a colour or weight, if the display has them. */
export function painted(text: string, paint: Paint | undefined, { colour }: Display): string {
  // The display decides, so Node.js must not check the stream.
  return paint && colour ? styleText(paint, text, { validateStream: false }) : text;
}

/** A text that others wrote, on one line and without escape sequences, which a terminal obeys. */
export function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\p{Cf}/gu, "");
}

/** JSON whose control and invisible characters are escaped: a terminal would obey or hide them. */
export function inert(value: unknown, indent?: number): string {
  const escaped = (hidden: string) =>
    hidden.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.stringify(value, null, indent).replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
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
export function wrapped(text: string, width: number): string {
  return text.replace(new RegExp(`(.{1,${width}})(?: |$)`, "g"), "$1\n").trimEnd();
}

/**
 * A table with the ids in the first column. When there is no room for that column, each id is
 * below the text of the next column, so that it stays in one piece and can be copied.
 *
 * @param heads The head of the ids, then one for each cell.
 */
export function table([id = "", first = "", ...heads]: string[], rows: Row[], display: Display) {
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
  const style = { "padding-left": 0, "padding-right": 0, head: [], border: [] };
  const texts = cells.map((row) =>
    row.map((lines, column) =>
      lines
        .map(({ text, paint }) => painted(broken(text, widths[column] ?? 1), paint, display))
        .join("\n"),
    ),
  );
  const parts: string[] = [];
  for (let row = 0; row < texts.length; row += rowsAtOnce) {
    const part = new Table({ chars: noBorders, style, colWidths: widths, wordWrap: true });
    part.push(...texts.slice(row, row + rowsAtOnce));
    parts.push(part.toString());
  }
  return parts.join("\n").replace(/ +$/gm, "");
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

/** Finds what people see as one character: a break inside would change it. */
const characters = new Intl.Segmenter();

/** Breaks words that are wider than the column into pieces: the library would cut them off. */
function broken(text: string, width: number): string {
  return text.replace(/\S+/g, (word, start: number) => {
    // Before such a word, a line has at most the indent of an id.
    const indent = start === gap.length && text.startsWith(gap) ? start : 0;
    return indent + stringWidth(word) <= width ? word : pieces(word, width - indent, width);
  });
}

function pieces(word: string, first: number, width: number): string {
  let text = "";
  let room = Math.max(1, first);
  for (const { segment } of characters.segment(word)) {
    const columns = stringWidth(segment);
    if (columns > room && text !== "") {
      text += "\n";
      room = width;
    }
    text += segment;
    room -= columns;
  }
  return text;
}
