import { plain, withoutCommands } from "../client/plain";
import type { ObjectStatus } from "./kind";
import { type AnyKind, adoptableKinds, kinds } from "./kinds";
import { objectsOf, type Status, type Twins } from "./status";
import {
  cell,
  count,
  type Display,
  type Line,
  type Paint,
  painted,
  type Row,
  section,
  wrapped,
} from "./table";

/** A part of a report: a table under its heading. */
export interface Section {
  /** In lower case: `tunnels online`. */
  heading: string;
  /** The head of the ids, then one for each cell of a row. */
  heads: string[];
  rows: Row[];
  /** The objects of the rows, in the same order. Undefined when rows speak of other objects. */
  objects?: ObjectStatus[];
  /** The kind of the objects. */
  kind?: AnyKind;
  /** How bad it is that there are rows. */
  paint?: Paint;
}

/**
 * The parts of a report: the kinds that a program can adopt, the problems found among them, and the
 * other kinds. A part that only some accounts have is left out where it has no row.
 */
export function sectionsOf(status: Status): Section[] {
  const ofKind = (kind: AnyKind): Section => {
    const { heading, heads } = kind;
    const objects = grouped(kind, status[kind.key]);
    const rows = objects.map((one) => kind.row(one, status));
    return { heading, heads, rows, objects, kind };
  };
  const uncovered = objectsOf(status).flatMap(({ id, uncoveredHostports = [] }) =>
    uncoveredHostports.map((hostport) => ({ id: plain(id), cells: [cell(hostport, "red")] })),
  );
  const problems: Section[] = [
    {
      heading: "hostports without a certificate",
      heads: ["EDGE", "HOSTPORT"],
      rows: uncovered,
      paint: "red",
    },
    ...kinds.flatMap((kind: AnyKind) => unusedOf(kind, status)),
    { heading: "twins", heads: ["ID", "SAME AS", "CREATED"], rows: status.twins.flatMap(twinRows) },
  ];
  return [
    ...adoptableKinds.map(ofKind),
    ...problems.filter(({ rows, paint }) => paint === "red" || rows.length > 0),
    ...kinds.filter((kind) => !("adoption" in kind)).map(ofKind),
  ];
}

/**
 * Objects by environment, then by owner; those without one come last. A kind that has an order of
 * its own, such as the most urgent first, keeps it.
 */
function grouped({ order }: AnyKind, objects: ObjectStatus[]): ObjectStatus[] {
  const compare = (a: string | null | undefined, b: string | null | undefined) =>
    Number(!a) - Number(!b) || collator.compare(a ?? "", b ?? "");
  if (order) return objects;
  return objects.toSorted(
    (a, b) => compare(a.environment, b.environment) || compare(a.owner, b.owner),
  );
}

const collator = new Intl.Collator("en");

function unusedOf(
  { key, heading, heads: [id = "", first = ""], ...kind }: AnyKind,
  status: Status,
) {
  const rows = status[key].flatMap((one: ObjectStatus) => {
    const why = kind.unused?.(one, status);
    const { id, cells } = kind.row(one, status);
    return why === undefined ? [] : [{ id, cells: [cells[0] ?? [], cell(why)] }];
  });
  return { heading: `unused ${heading}`, heads: [id, first, "WHY"], rows };
}

/** A row for each older twin of a group. It names the newest twin, too. */
function twinRows([newest, ...older]: Twins): Row[] {
  return older.map(({ id, createdAt }) => ({
    id: plain(id),
    cells: [
      [{ text: plain(newest?.id ?? ""), of: plain(newest?.id ?? "") }],
      cell(createdAt ?? "unknown"),
    ],
  }));
}

/** The numbers of objects, and what is urgent among them. */
export function totalsOf(status: Status): string {
  const totals = kinds.map(({ key, noun, note }: AnyKind) => {
    const noted = note?.(status[key], status);
    return `${count(status[key].length, noun)}${noted ? ` (${noted})` : ""}`;
  });
  return totals.join(", ");
}

/** What a part says that has no row: `No edges.` */
export const emptyText = ({ heading }: Section) => `No ${heading}.`;

/** The heading of a part as a title: `Tunnels online`. */
export const titleOf = ({ heading }: Section) => heading.charAt(0).toUpperCase() + heading.slice(1);

/**
 * A part with the columns that HTML and Markdown have room for: those of its kind, then whose an
 * object is, and its description. A column without a text is left out.
 */
export function widened(part: Section): Section {
  const { kind, objects = [] } = part;
  const textOf = (text: string | null | undefined) => (text ? cell(text) : []);
  const columns = objects.map((object): Record<string, Line[]> => {
    const { environment, owner } = object;
    return {
      ...kind?.columns?.(object),
      // One column, so that there is room. Sorted by it, a table is grouped.
      "ENVIRONMENT, OWNER": owner || environment ? [environment ?? "-", owner].flatMap(textOf) : [],
      DESCRIPTION: textOf(object.description),
    };
  });
  const heads = Object.keys(columns[0] ?? {}).filter((head) =>
    columns.some(({ [head]: lines = [] }) => lines.length > 0),
  );
  const cellsOf = (index: number) =>
    heads.map((head) => {
      const lines = columns[index]?.[head] ?? [];
      return lines.length > 0 ? lines : cell("-", "dim");
    });
  const rows = part.rows.map(({ id, cells }, index) => ({
    id,
    cells: [...cells, ...cellsOf(index)],
  }));
  return { ...part, heads: [...part.heads, ...heads], rows };
}

/** The report for a terminal. */
export function statusText(status: Status, display: Display): string {
  const parts = sectionsOf(status).map((part) =>
    part.rows.length === 0
      ? emptyText(part)
      : section(titleOf(part), part.heads, described(part), display),
  );
  const paint = status.failing.length > 0 ? "red" : "bold";
  const report = [
    `Service: ${plain(status.service)}`,
    ...parts,
    painted(wrapped(totalsOf(status), display.width), paint, display),
  ];
  // A text may begin a line only now that it is wrapped.
  return withoutCommands(report.join("\n\n"));
}

/**
 * The rows of a part, each with whose its object is and what it uses below its first text. Those that
 * begin with equal texts have a description, too.
 */
function described(part: Section): Row[] {
  const { rows, objects = [], kind } = part;
  const firstOf = ({ cells }: Row) => JSON.stringify(cells[0]);
  const times = new Map<string, number>();
  for (const row of rows) times.set(firstOf(row), (times.get(firstOf(row)) ?? 0) + 1);
  return rows.map((row, index) => {
    const { id, cells } = row;
    const [first = [], ...rest] = cells;
    const object = objects[index];
    if (!object) return row;
    const description = times.get(firstOf(row)) === 1 ? undefined : object.description;
    const { environment, owner } = object;
    const people = Object.entries({ environment, owner }).filter(([, text]) => text);
    const texts = [description ?? "", ...people.map(([name, text]) => `${name}: ${text}`)];
    const about = texts.filter(Boolean).join(", ");
    const used = (kind?.uses?.(object) ?? []).map((line) => ({ ...line, paint: "dim" as const }));
    return { id, cells: [[...first, ...(about ? cell(about, "dim") : []), ...used], ...rest] };
  });
}
