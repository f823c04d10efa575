import { escapeCiCommands, plain } from "../client/plain";
import { listed } from "../provider/kinds/kind";
import { failuresOf, type Status } from "./status";
import {
  cell,
  count,
  type Display,
  type Line,
  painted,
  plural,
  type Row,
  section,
  wrapped,
} from "./table";
import {
  certificateRow,
  isDue,
  isDueByDefault,
  namesCell,
  urgentDays,
  whyUnused,
} from "./tlsCertificate";
import { disabledModules, type EdgeStatus, edgeRow, mainHostport } from "./tlsEdge";
import { tunnelRow } from "./tunnel";

/** A part of a report: a table under its heading. */
export interface Section {
  /** In lower case: `tunnels online`. */
  heading: string;
  /** The head of the ids, then one for each cell of a row. */
  heads: string[];
  rows: Row[];
  /** Whether the rows are about objects of another part. */
  isProblem?: boolean;
}

/** The parts of a report. A part that only some accounts have is left out where it has no row. */
export function sectionsOf(status: Status): Section[] {
  const { at, certificates, tunnels, twins, failOn, failWithin } = status;
  const unused = certificates.flatMap((one) => {
    const why = whyUnused(one, at);
    return why === undefined ? [] : [{ id: plain(one.id), cells: [namesCell(one), cell(why)] }];
  });
  const parts: Section[] = [
    {
      heading: "edges",
      heads: ["ID", "HOSTPORTS", "MODULES"],
      rows: grouped(status.edges).map((edge) => edgeRow(edge, failOn)),
    },
    {
      heading: "certificates",
      heads: ["ID", "NAMES", "EXPIRES", "SERVES"],
      rows: certificates.map((one) => certificateRow(one, at, failWithin ?? 0)),
    },
    {
      heading: "hostports without a certificate",
      heads: ["EDGE", "HOSTPORT"],
      rows: status.edges.flatMap(({ id, uncoveredHostports }) =>
        uncoveredHostports.map((one) => ({ id: plain(id), cells: [cell(one, "red")] })),
      ),
      isProblem: true,
    },
    {
      heading: "unused certificates",
      heads: ["ID", "NAMES", "WHY"],
      rows: unused,
      isProblem: true,
    },
    {
      heading: "twins",
      heads: ["ID", "CREATED", "SAME AS"],
      rows: twins.flatMap((group) =>
        group.map(({ id, createdAt }, index) => ({
          id: plain(id),
          cells: [cell(createdAt ?? "unknown"), cell(index === 0 ? "-" : "the one above")],
        })),
      ),
      isProblem: true,
    },
    {
      heading: "tunnels online",
      heads: ["ID", "URL OR LABELS", "FORWARDS TO", "REGION"],
      rows: tunnels.map(tunnelRow),
    },
  ];
  return parts.filter(({ heading, rows }) => rows.length > 0 || !/^(unused|twins)/.test(heading));
}

const collator = new Intl.Collator("en");

/** Edges by environment, then by owner, then by hostport; those without one come last. */
function grouped(edges: EdgeStatus[]): EdgeStatus[] {
  const compare = (a: string | null = null, b: string | null = null) =>
    Number(!a) - Number(!b) || collator.compare(a ?? "", b ?? "");
  return edges.toSorted(
    (a, b) =>
      compare(a.environment, b.environment) ||
      compare(a.owner, b.owner) ||
      compare(mainHostport(a), mainHostport(b)),
  );
}

/**
 * The numbers of objects, and what is urgent among them.
 *
 * @param link Makes a link from a number to the part with what it counts. Default: no link.
 */
export function totalsOf(
  { at, edges, certificates, tunnels, failWithin }: Status,
  link = (text: string, _heading: string) => text,
): string {
  const uncovered = edges.flatMap(({ uncoveredHostports }) => uncoveredHostports).length;
  const disabled = edges.flatMap(disabledModules).length;
  const unknown = certificates.filter(({ daysLeft }) => daysLeft === null).length;
  const within = (days: number) =>
    certificates.filter((one) => isDue(one, days, at)).length - unknown;
  const due = within(failWithin ?? 0);
  const soon = certificates.filter((one) => isDueByDefault(one, urgentDays, at)).length - unknown;
  const urgent = failWithin === null ? "expired" : `due in ${count(failWithin, "day")}`;
  const counts = (heading: string, all: string, ...notes: [number, string, heading?: string][]) => {
    const parts = notes
      .filter(([number]) => number > 0)
      .map(([number, text, part = heading]) => link(`${number} ${text}`, part));
    return link(all, heading) + (parts.length > 0 ? ` (${parts.join(", ")})` : "");
  };
  const ofEdges = counts(
    "edges",
    count(edges.length, "edge"),
    [uncovered, `${plural(uncovered, "hostport")} uncovered`, "hostports without a certificate"],
    [edges.filter(({ weak }) => weak).length, "with weak TLS", "weak edges"],
    [edges.filter(({ open }) => open).length, "open to all"],
    [disabled, `${plural(disabled, "module")} off`],
  );
  const ofCertificates = counts(
    "certificates",
    count(certificates.length, "certificate"),
    [due, urgent],
    [soon - due, `expiring in ${urgentDays} days`],
    [unknown, "with no known expiry date"],
  );
  const ofTunnels = counts("tunnels online", count(tunnels.length, "tunnel"));
  return [ofEdges, ofCertificates, ofTunnels].join(", ");
}

/** What makes the exit code 2, on one line: how many objects of each kind, and the first names. */
export function failuresText(status: Status): string {
  const parts = failuresOf(status).flatMap(([reason, objects]) => {
    const names = objects.map(([, name]) => plain(name));
    return names.length > 0 ? `${names.length} ${reason} (${listed(names)})` : [];
  });
  return `Failed: ${parts.join(", ")}`;
}

/** How many lines of a cell are shown: a wildcard certificate may serve hundreds of hostports. */
const mostLines = 10;

/** The first lines of a cell, and how many more there are. */
export function firstLines(lines: Line[]): Line[] {
  const more = lines.length - mostLines;
  return more > 0 ? [...lines.slice(0, mostLines), { text: `and ${more} more` }] : lines;
}

/** What a part says that has no row: `No edges.` */
export const emptyText = ({ heading }: Section) => `No ${heading}.`;

/** The heading of a part as a title: `Tunnels online`. */
export const titleOf = ({ heading }: Section) => heading.charAt(0).toUpperCase() + heading.slice(1);

/** The report for a terminal. It has no room for the hostports that a certificate serves. */
export function statusText(status: Status, display: Display): string {
  const parts = sectionsOf(status).map((part) => {
    if (part.rows.length === 0) return emptyText(part);
    const heads = part.heads.filter((head) => head !== "SERVES");
    const rows = part.rows.map(({ id, cells }) => ({
      id,
      cells: cells.slice(0, heads.length - 1).map(firstLines),
    }));
    return section(titleOf(part), heads, rows, display);
  });
  const paint = status.failing.length > 0 ? "red" : "bold";
  const report = [
    `Service: ${plain(status.service)}`,
    ...parts,
    painted(wrapped(totalsOf(status), display.width), paint, display),
  ];
  // A text may begin a line only now that it is wrapped.
  return escapeCiCommands(report.join("\n\n"));
}
