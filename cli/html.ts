import { createHash } from "node:crypto";
import { plain } from "../client/plain";
import { script, style } from "./page";
import { emptyText, type Section, sectionsOf, titleOf, totalsOf } from "./report";
import type { Status } from "./status";
import type { Line, Paint, Row } from "./table";
import { certificateName, urgencyOf } from "./tlsCertificate";

/** Text of a page, which is safe as it is: {@link html} makes it. */
class Markup {
  constructor(readonly text: string) {}
}

type Part = string | number | Markup | undefined | Part[];

/** A template for markup. Texts in it are escaped, so that they are shown as they are. */
const html = (texts: TemplateStringsArray, ...parts: Part[]) =>
  new Markup(String.raw({ raw: texts }, ...parts.map(escaped)));

function escaped(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (Array.isArray(part)) return part.map(escaped).join("");
  return String(part ?? "").replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** How many lines of a cell are shown at once: a wildcard certificate may serve hundreds. */
const mostLines = 5;

/**
 * The report as one page, which loads nothing: its policy allows its own style and script alone.
 * Without the script, everything is there to read, but not to filter.
 */
export function statusHtml(status: Status): string {
  const [edges, certificates, ...others] = sectionsOf(status) as [Section, Section, ...Section[]];
  const idsOf = (mark: "weak" | "open") =>
    new Set(status.edges.filter((edge) => edge[mark]).map(({ id }) => plain(id)));
  const [weak, open] = [idsOf("weak"), idsOf("open")];
  // Open edges come first.
  edges.rows.sort((a, b) => Number(open.has(b.id)) - Number(open.has(a.id)));
  const weakRows = edges.rows.filter(({ id }) => weak.has(id));
  const weakEdges = { ...edges, heading: "weak edges", rows: weakRows, isProblem: true };
  const link = (text: string, heading: string) =>
    html`<a href="#${anchorOf(heading)}">${text}</a>`.text;
  const allowed = [`style-src ${hashOf(style)}`, `script-src ${hashOf(script)}`];
  const policy = ["default-src 'none'", ...allowed, "base-uri 'none'", "form-action 'none'"];
  const service = plain(status.service);
  // What expires comes first, below what is weak: the page is for those who ask what expires when.
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Status of ${service}, ${status.at.slice(0, 10)}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<svg width="0" height="0" aria-hidden="true"><defs>${shapes}</defs></svg>
<header>
<h1>Status of ${service}</h1>
<p class="totals">${marked(status.failing.length > 0 ? "red" : undefined, new Markup(totalsOf(status, link)))}</p>
<p class="dim">Read on ${status.at.slice(0, 16).replace("T", " at ")} UTC. Dates are in UTC.</p>
</header>
<search hidden><label for="words">Filter all tables</label>
<input id="words" type="search" autocomplete="off" spellcheck="false">
<span role="status" class="dim"></span></search>
<main>
${weakRows.length > 0 ? sectionOf(weakEdges) : undefined}${sectionOf(certificates, timeline(status))}${[edges, ...others].map((part) => sectionOf(part))}</main>
<script>${new Markup(script)}</script>
</body>
</html>`.text;
}

/** The source of an inline style or script in a Content-Security-Policy. */
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const anchorOf = (heading: string) => heading.replaceAll(" ", "-");
const linkTo = (id: string) => `#${encodeURIComponent(`id-${id}`)}`;

/** Shapes beside colours, because not everyone sees colours; what they mean on the timeline. */
const urgencies: [Paint, string, string][] = [
  ["red", "M0-6 6.5 5.5h-13z", "urgent: expired, due, unknown or fewer than 7 days left"],
  ["yellow", "M0-6 6 0 0 6-6 0z", "fewer than 30 days left"],
  ["green", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", "in time"],
];
const shapes = urgencies.map(
  ([paint, path]) => html`<path id="mark-${paint}" class="${paint}" d="${path}"/>`,
);

/** A text in a colour. What is urgent, or in time, also has the shape that stands for it. */
function marked(paint: Paint | undefined, text: Part): Markup {
  if (!paint || paint === "dim") return html`<span class="${paint}">${text}</span>`;
  const shape = html`<svg class="mark" viewBox="-7 -7 14 14" aria-hidden="true"><use href="#mark-${paint}"/></svg>`;
  return html`<span class="${paint}">${shape}${text}</span>`;
}

function sectionOf(part: Section, chart?: Markup): Markup {
  const { heading, rows } = part;
  const anchor = anchorOf(heading);
  const [idHead = "", ...heads] = part.heads;
  const shownHeads = [`${heads[0]}, ${idHead}`, ...heads.slice(1)];
  const table = html`<table role="table" aria-labelledby="${anchor}">
<thead role="rowgroup"><tr role="row">${shownHeads.map(
    (head) => html`<th role="columnheader" scope="col">${head}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">
${rows.map((row) => rowOf(row, heads, part))}</tbody>
</table>`;
  return html`<section aria-labelledby="${anchor}">
<h2 id="${anchor}">${titleOf(part)} <span class="dim">${rows.length}</span></h2>
${chart}${rows.length > 0 ? table : html`<p>${emptyText(part)}</p>`}
</section>
`;
}

/** A row, with its id below the text of the first cell: in a problem, it is a link to the object. */
function rowOf({ id, cells }: Row, heads: string[], { isProblem }: Section): Markup {
  const code = html`<code>${isProblem ? html`<a href="${linkTo(id)}">${id}</a>` : id}</code>`;
  const drawn = cells.map(
    (lines, column) =>
      html`<td role="cell" data-head="${heads[column]}" class="${lines.length === 0 ? "empty" : ""}">${linesOf(lines)}${column === 0 ? code : undefined}</td>`,
  );
  return html`<tr role="row"${isProblem ? undefined : html` id="id-${id}"`}>${drawn}</tr>\n`;
}

/** Lines, each with a direction of writing of its own, which does not change what stands beside it. */
function linesOf(lines: Line[]): Markup {
  const all = lines.map(
    ({ text, paint }) => html`<div>${marked(paint, html`<bdi>${text}</bdi>`)}</div>`,
  );
  if (all.length <= mostLines + 1) return html`${all}`;
  const rest = all.slice(mostLines);
  return html`${all.slice(0, mostLines)}<details><summary>and ${rest.length} more</summary>${rest}</details>`;
}

/** The place of a day on the timeline, in percent of the width: wide for what is near. */
function placeOf(day: number): number {
  const place = 13 + (day < 0 ? day * 0.37 : 15 * Math.log1p(day / 4));
  return Math.round(Math.min(98, Math.max(2, place)) * 10) / 10;
}

/** The width of a stack of dots, in percent; the height of a dot, and of the highest stack, in px. */
const [stackWidth, dotHeight, mostHeight] = [1.5, 13, 182];

/** When each certificate expires: a dot for each, stacked where many expire together. */
function timeline({ certificates, at, failWithin }: Status): Markup | undefined {
  if (certificates.length === 0) return undefined;
  const heights = new Map<number, number>();
  const places = certificates.map(({ daysLeft }) => {
    const place = Math.round(placeOf(daysLeft ?? 0) / stackWidth) * stackWidth;
    const height = heights.get(place) ?? 0;
    heights.set(place, height + 1);
    return { place, height };
  });
  const highest = Math.max(...heights.values());
  const step = Math.min(dotHeight, mostHeight / highest);
  const ground = Math.max(4 * dotHeight, Math.ceil(step * highest) + dotHeight);
  const dots = certificates.map((one, index) => {
    const { place = 0, height = 0 } = places[index] ?? {};
    const y = (ground - dotHeight / 2 - 1 - height * step).toFixed(1);
    const paint = urgencyOf(one, failWithin ?? 0, at);
    const left = one.daysLeft === null ? "unknown" : `${one.daysLeft} days left`;
    return html`<a href="${linkTo(plain(one.id))}" tabindex="-1"><title>${plain(certificateName(one))}: ${left}</title><use class="${paint}" href="#mark-${paint}" x="${place}%" y="${y}"/></a>\n`;
  });
  const upright = (place: number, name: string) =>
    html`<line class="${name}" x1="${place}%" x2="${place}%" y2="${ground}"/>`;
  const dateIn = (days: number) => new Date(Date.parse(at) + days * 86_400_000).toISOString();
  const labels = [0, 7, 30, 90, 365].map(
    (days) => html`${upright(placeOf(days), "tick")}
<text x="${placeOf(days)}%" y="${ground + 15}">${days > 0 ? `${days} days` : "today"}</text>
<text class="date" x="${placeOf(days)}%" y="${ground + 30}">${dateIn(days).slice(0, 10)}</text>\n`,
  );
  const legend = urgencies.map(([paint, , meaning]) => {
    const { length } = certificates.filter((one) => urgencyOf(one, failWithin ?? 0, at) === paint);
    return html`<li>${marked(length > 0 ? paint : "dim", html`<b>${length}</b> ${meaning}`)}</li>\n`;
  });
  return html`<figure>
<svg class="timeline" height="${ground + 34}" aria-hidden="true">
<rect class="late" width="${placeOf(0)}%" height="${ground}"/>
<text x="${placeOf(0) / 2}%" y="${ground + 30}">expired</text>
<line class="tick" x2="100%" y1="${ground}" y2="${ground}"/>
${labels}${failWithin ? upright(placeOf(failWithin), "due") : undefined}
${dots}</svg>
<figcaption><ul>
${legend}${failWithin ? html`<li>dashed line: due in ${failWithin} days</li>\n` : undefined}</ul></figcaption>
</figure>
`;
}
