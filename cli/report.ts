import { plain, withoutCommands } from "../client/plain";
import { listed } from "../provider/kinds/kind";
import type { Status } from "./status";
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
  certificateName,
  certificateRow,
  isDue,
  namesCell,
  urgentDays,
  whyUnused,
} from "./tlsCertificate";
import { disabledModules, type EdgeStatus, edgeName, edgeRow } from "./tlsEdge";
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

/** The parts of a report. Unused certificates are a part only where there are some. */
export function sectionsOf(status: Status): Section[] {
  const { at, certificates, tunnels, failOn, failWithin } = status;
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
      heading: "tunnels online",
      heads: ["ID", "URL OR LABELS", "FORWARDS TO", "REGION"],
      rows: tunnels.map(tunnelRow),
    },
  ];
  return parts.filter(({ heading, rows }) => rows.length > 0 || !heading.startsWith("unused"));
}

const collator = new Intl.Collator("en");

/** Edges by environment, then by owner; those without one come last. */
function grouped(edges: EdgeStatus[]): EdgeStatus[] {
  const compare = (a: string | null, b: string | null) =>
    Number(!a) - Number(!b) || collator.compare(a ?? "", b ?? "");
  return edges.toSorted(
    (a, b) => compare(a.environment, b.environment) || compare(a.owner, b.owner),
  );
}

/** The numbers of objects, and what is urgent among them. */
export function totalsOf({ at, edges, certificates, tunnels, failWithin }: Status): string {
  const uncovered = edges.flatMap(({ uncoveredHostports }) => uncoveredHostports).length;
  const disabled = edges.flatMap(disabledModules).length;
  const unknown = certificates.filter(({ daysLeft }) => daysLeft === null).length;
  const within = (days: number) =>
    certificates.filter((one) => isDue(one, days, at)).length - unknown;
  const due = within(failWithin ?? 0);
  const urgent = failWithin === null ? "expired" : `due in ${count(failWithin, "day")}`;
  const counts = (all: string, ...notes: [number, string][]) => {
    const parts = notes.filter(([number]) => number > 0).map((note) => note.join(" "));
    return all + (parts.length > 0 ? ` (${parts.join(", ")})` : "");
  };
  const ofEdges = counts(
    count(edges.length, "edge"),
    [uncovered, `${plural(uncovered, "hostport")} uncovered`],
    [edges.filter(({ weak }) => weak).length, "with weak TLS"],
    [edges.filter(({ open }) => open).length, "open to all"],
    [disabled, `${plural(disabled, "module")} off`],
  );
  const ofCertificates = counts(
    count(certificates.length, "certificate"),
    [due, urgent],
    [within(urgentDays) - due, `expiring in ${urgentDays} days`],
    [unknown, "with no known expiry date"],
  );
  return [ofEdges, ofCertificates, count(tunnels.length, "tunnel")].join(", ");
}

/** What makes the exit code 2, on one line: how many objects of each kind, and the first names. */
export function failuresText({ failing, failOn, edges, certificates }: Status): string {
  const due = certificates.filter(({ id }) => failing.includes(id)).map(certificateName);
  const groups = [
    ...failOn.map((flag) => [flag, edges.filter((edge) => edge[flag]).map(edgeName)] as const),
    ["expiring", due] as const,
  ];
  const parts = groups.flatMap(([what, names]) =>
    names.length > 0 ? `${names.length} ${what} (${listed(names.map(plain))})` : [],
  );
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
  return withoutCommands(report.join("\n\n"));
}
