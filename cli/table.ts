import { stripVTControlCharacters, styleText } from "node:util";
import Table from "cli-table3";
import stringWidth from "string-width";

/** What a terminal can show. */
export interface Display {
  /** Columns that a line may take. */
  width: number;
  /** Whether colours and weights are wanted. */
  colour: boolean;
}

/** One line of a cell. */
export interface Line {
  text: string;
  paint?: Paint;
}

/** How a line looks where colours are wanted. */
export type Paint = "bold" | "dim" | "green" | "red" | "yellow";

/** One object of a table: its id, and the cells that say something of it. */
export interface Row {
  id: string;
  cells: Line[][];
}

const gap = "  ";
/** The library takes time with the square of the rows. */
const rowsAtOnce = 100;

const none = { "top-left": "", "top-right": "", "bottom-left": "", "bottom-right": "" };
const noBorders = {
  ...none,
  ...{ top: "", "top-mid": "", bottom: "", "bottom-mid": "", left: "", "left-mid": "" },
  ...{ mid: "", "mid-mid": "", right: "", "right-mid": "", middle: gap },
};

/** A text in a colour, where colours are wanted. */
export function painted(text: string, paint: Paint | undefined, { colour }: Display): string {
  // Whether they are is settled already, so the stream is not asked again.
  return paint && colour ? styleText(paint, text, { validateStream: false }) : text;
}

/** On one line and without the escape sequences that a terminal would obey: others wrote it. */
export function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\p{Cf}/gu, "");
}

/** JSON without what JSON allows and a terminal may obey, or hide: others wrote the strings. */
export function inert(value: unknown, indent?: number): string {
  const escaped = (hidden: string) =>
    hidden.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.stringify(value, null, indent).replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** A number of things, in words. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** A text over as many lines as it takes, broken at spaces. */
export function wrapped(text: string, width: number): string {
  return text.replace(new RegExp(`(.{1,${width}})(?: |$)`, "g"), "$1\n").trimEnd();
}

/**
 * A table whose first column is the id. Where there is no room for that, the ids stand below what
 * the next column says, so that they can still be copied whole.
 *
 * @param heads The heading of the ids, then one for each cell.
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

/** Lines are broken between the items of a list, and elsewhere only when they have to be. */
const items = ({ text }: Line) => text.split(/(?<=,) /);
const whole = ({ text }: Line) => [text];

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

/** How wide the longest part in each column is. */
function longest(cells: Line[][][], parts: (line: Line) => string[]): number[] {
  const [first = []] = cells;
  return first.map((_, column) => {
    const texts = cells.flatMap((row) => (row[column] ?? []).flatMap(parts));
    return texts.reduce((most, text) => Math.max(most, stringWidth(text)), 1);
  });
}

/** The characters that all columns have together. */
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

/** As wide as the longest items, then as the lines; the widest gives way when there is no room. */
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

/** What is seen as one character, and so is not broken. */
const characters = new Intl.Segmenter();

/** Words that take more columns than a line has, in pieces: the library would cut them off. */
function broken(text: string, width: number): string {
  return text.replace(/\S+/g, (word, start: number) => {
    // Nothing but the indent of an id stands before a word on the same line.
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
