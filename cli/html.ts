import { createHash } from "node:crypto";
import { plain } from "../client/plain";
import type { ObjectStatus } from "./kind";
import { script, style } from "./page";
import { emptyText, type Section, sectionsOf, titleOf, totalsOf, widened } from "./report";
import type { Status } from "./status";
import type { Line, Paint, Row } from "./table";

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
 * Without the script, everything is there to read, but not to sort and filter.
 */
export function statusHtml(status: Status): string {
  const parts = sectionsOf(status).map(widened);
  // What expires comes first: the page is for those who ask what expires when.
  const sections = [...parts.filter(hasDates), ...parts.filter((part) => !hasDates(part))];
  const service = plain(status.service);
  const allowed = [`style-src ${hashOf(style)}`, `script-src ${hashOf(script)}`];
  const policy = ["default-src 'none'", ...allowed, "base-uri 'none'", "form-action 'none'"];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Status of ${service}, ${status.at.slice(0, 10)}</title>
<style>${new Markup(style)}</style>
</head>
<body>
${shapes}
<header>
<h1>Status of ${service}</h1>
<p class="totals">${marked(status.failing.length > 0 ? "red" : undefined, "")}${totalsOf(status)}</p>
<p class="dim">Read on <time datetime="${status.at}">${status.at.slice(0, 16).replace("T", " at ")}</time> UTC.
Dates are in UTC.</p>
</header>
<nav aria-label="Parts of this page"><ul>
${sections.map((part) => html`<li>${tile(part)}</li>\n`)}</ul></nav>
<search class="filter" hidden><label for="words">Filter all tables</label>
<input id="words" type="search" autocomplete="off" spellcheck="false">
<span role="status" class="dim"></span></search>
<main>
${sections.map((part) => sectionOf(part, status))}</main>
<script>${new Markup(script)}</script>
</body>
</html>
`.text;
}

/** The source of an inline style or script in a Content-Security-Policy. */
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const anchorOf = ({ heading }: Section) => heading.replaceAll(" ", "-");
const rowAnchor = (id: string) => `id-${id}`;
const linkTo = (id: string) => `#${encodeURIComponent(rowAnchor(id))}`;

/** Shapes beside colours: not everyone sees colours. */
const marks: Partial<Record<Paint, string>> = {
  red: "M0-6 6.5 5.5h-13z",
  yellow: "M0-6 6 0 0 6-6 0z",
  green: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
};

const shapes = html`<svg width="0" height="0" class="shapes" aria-hidden="true"><defs>${Object.entries(
  marks,
).map(
  ([paint, path]) => html`<path id="mark-${paint}" class="${paint}" d="${path}"/>`,
)}</defs></svg>`;

/** A text in a colour, with the shape of the colour before it unless a bar has it. */
function marked(paint: Paint | undefined, text: Part, hasShape = true): Markup {
  if (!paint) return html`${text}`;
  const shape = html`<svg class="mark" viewBox="-7 -7 14 14" aria-hidden="true"><use href="#mark-${paint}"/></svg>`;
  return html`<span class="${paint}">${hasShape && marks[paint] ? shape : undefined}${text}</span>`;
}

function tile(part: Section): Markup {
  const { length } = part.rows;
  const number = marked(length > 0 ? part.paint : undefined, length);
  return html`<a href="#${anchorOf(part)}">${titleOf(part)} <b>${number}</b></a>`;
}

function sectionOf(part: Section, status: Status): Markup {
  const anchor = anchorOf(part);
  const times = timesOf(part);
  return html`<section aria-labelledby="${anchor}">
<h2 id="${anchor}">${titleOf(part)} <span class="number">${part.rows.length}</span></h2>
${times.length > 0 ? timeline(times, status) : undefined}${
  part.rows.length > 0 ? tableOf(part) : html`<p>${emptyText(part)}</p>`
}
</section>
`;
}

/** An object has its id below its name; a row of a problem has the id of its object as a link. */
function tableOf(part: Section): Markup {
  const { rows, objects } = part;
  const [id = "", first = "", ...others] = part.heads;
  const heads = objects ? [`${first}, ${id}`, ...others] : part.heads;
  const hasBars = hasDates(part);
  const lines = rows.map((row, index) => {
    const object = objects?.[index];
    const [head = "", ...more] = heads;
    const begin = object ? named(row, part, object) : linkedTo(row.id);
    const cells = object ? row.cells.slice(1) : row.cells;
    const anchor = object ? html` id="${rowAnchor(row.id)}"` : undefined;
    return html`<tr role="row"${anchor}><td role="cell" data-head="${head}">${begin}</td>${cells.map(
      (cell, column) => cellOf(cell, more[column] ?? "", !hasBars),
    )}</tr>\n`;
  });
  const dated = hasBars && rows[0]?.cells.findIndex(([line]) => hasDate(line));
  return html`<table role="table" aria-labelledby="${anchorOf(part)}">
<thead role="rowgroup"><tr role="row">${heads.map(
    (head, column) =>
      html`<th role="columnheader" scope="col">${head}${column === dated ? axis : undefined}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">
${lines}</tbody>
</table>`;
}

function cellOf(lines: Line[], head: string, hasShapes: boolean): Markup {
  const [line] = lines;
  const isEmpty = lines.every(({ text }) => text === "-");
  // An object with an unknown date stands between those that have expired and the others.
  const order = hasDate(line) ? html` data-order="${line.daysLeft ?? -0.5}"` : undefined;
  const bar = hasDate(line) ? barOf(line) : undefined;
  return html`<td role="cell" data-head="${head}"${order}${isEmpty ? html` class="empty"` : undefined}>${linesOf(lines, hasShapes)}${bar}</td>`;
}

/** The first cell of an object: what people call it, its id, and its details on demand. */
function named({ id, cells: [first = []] }: Row, part: Section, object: ObjectStatus): Markup {
  const { createdAt, metadata } = object;
  const details = { ...part.kind?.details?.(object), created: createdAt, metadata };
  const known = Object.entries(details).filter(([, text]) => text);
  const list = known.map(
    ([name, text]) => html`<dt>${name}</dt><dd>${bdi(plain(text ?? ""))}</dd>`,
  );
  const more = html`<details><summary>Details</summary><dl>${list}</dl></details>`;
  return html`${linesOf(first)}<code>${id}</code>${list.length > 0 ? more : undefined}`;
}

/** A text of up to this many characters, such as a date or a state, is not broken. */
const shortLength = 12;

/** A text that others wrote: its direction of writing does not change what stands beside it. */
function bdi(text: string): Markup {
  const port = /:\d{1,5}$/.exec(text)?.[0];
  if (!port) return html`<bdi>${text}</bdi>`;
  // A hostport that is too long for its line breaks before the colon, never in the port, and in the
  // host only if the host alone is too long.
  return html`<bdi>${text.slice(0, -port.length)}<wbr><span class="port">${port}</span></bdi>`;
}

const linkedTo = (id: string, text = id) => html`<a href="${linkTo(id)}">${bdi(text)}</a>`;

function linesOf(lines: Line[], hasShapes = true): Markup {
  const all = lines.map(({ text, paint, of }) => {
    const content = of === undefined ? bdi(text) : linkedTo(of, text);
    const kind = text.length <= shortLength ? html` class="short"` : undefined;
    return html`<div${kind}>${marked(paint, content, hasShapes)}</div>`;
  });
  if (all.length <= mostLines + 1) return html`${all}`;
  const rest = all.slice(mostLines);
  return html`${all.slice(0, mostLines)}<details><summary>and ${rest.length} more</summary>${rest}</details>`;
}

type DatedLine = Line & { daysLeft: number | null };

const hasDate = (line: Line | undefined): line is DatedLine => line?.daysLeft !== undefined;
const hasDates = (part: Section) => timesOf(part).length > 0;

/** The times at which the objects of a part expire. */
const timesOf = ({ rows }: Section) =>
  rows.flatMap(({ id, cells }) =>
    cells.flatMap(([line]) => {
      const name = cells[0]?.[0]?.text ?? id;
      return hasDate(line) ? [{ ...line, id, name }] : [];
    }),
  );

/** The scale of days in percent of the width: wide for what is near, the same on every page. */
const scale = [
  { days: -30, at: 2, label: "" },
  { days: 0, at: 13, label: "today" },
  { days: 7, at: 30, label: "7 days" },
  { days: 30, at: 50, label: "30 days" },
  { days: 90, at: 69, label: "90 days" },
  { days: 365, at: 88, label: "1 year" },
  { days: 1095, at: 98, label: "" },
];

/** The place of a time on the scale. What is beyond an end stands at the end. */
function placeOf(days: number | null): number {
  const day = days ?? 0;
  const next = scale.findIndex((knot) => knot.days >= day);
  const [from, to] = [scale[next - 1], scale[next]];
  if (!from || !to) return (next === 0 ? scale[0] : scale.at(-1))?.at ?? 0;
  const part = (day - from.days) / (to.days - from.days);
  return Math.round((from.at + part * (to.at - from.at)) * 10) / 10;
}

const ticks = scale.filter(({ label }) => label !== "");

const axis = html`<svg class="scale" aria-hidden="true">${ticks.map(
  ({ at, days }) => html`<text x="${at}%" y="11">${days}</text>`,
)}</svg>`;

const upright = (at: number, height: number, name = "tick") =>
  html`<line class="${name}" x1="${at}%" x2="${at}%" y2="${height}"/>`;

/** The time until an object expires, as a bar that ends with the shape of its colour. */
function barOf({ daysLeft, paint }: DatedLine): Markup {
  const [today, end] = [placeOf(0), placeOf(daysLeft)];
  const [from, width] = [Math.min(today, end), Math.abs(end - today).toFixed(1)];
  return html`<svg class="bar ${paint}" aria-hidden="true">${ticks.map(({ at }) => upright(at, 16))}
<rect x="${from}%" y="6.5" width="${width}%" height="3"/><use href="#mark-${paint}" x="${end}%" y="8"/></svg>`;
}

const dotHeight = 13;
const mostHeight = 182;
const axisHeight = 34;
/** The width of a stack of dots, in percent. */
const stackWidth = 1.5;

/** All times at once: a dot for each object, stacked where many expire together. */
function timeline(times: ReturnType<typeof timesOf>, { at, failWithin }: Status): Markup {
  const stacks = new Map<number, typeof times>();
  for (const time of times) {
    const stack = Math.round(placeOf(time.daysLeft) / stackWidth) * stackWidth;
    stacks.set(stack, stacks.get(stack) ?? []);
    stacks.get(stack)?.push(time);
  }
  const highest = Math.max(...[...stacks.values()].map(({ length }) => length));
  const step = Math.min(dotHeight, mostHeight / highest);
  const ground = Math.max(4 * dotHeight, Math.ceil(step * highest) + dotHeight);
  const dots = [...stacks].flatMap(([x, stack]) =>
    stack.map(({ id, name, daysLeft, paint }, index) => {
      const y = (ground - dotHeight / 2 - 1 - index * step).toFixed(1);
      const left = daysLeft === null ? "unknown" : `${daysLeft} days left`;
      return html`<a href="${linkTo(id)}" tabindex="-1"><title>${name}: ${left}</title><use class="${paint}" href="#mark-${paint}" x="${x}%" y="${y}"/></a>\n`;
    }),
  );
  const dateIn = (days: number) => new Date(Date.parse(at) + days * 86_400_000).toISOString();
  const labels = ticks.map(
    ({ at: x, days, label }) => html`${upright(x, ground)}
<text x="${x}%" y="${ground + 15}">${label}</text>
<text class="date" x="${x}%" y="${ground + 30}">${dateIn(days).slice(0, 10)}</text>\n`,
  );
  const due = failWithin ? upright(placeOf(failWithin), ground, "due") : undefined;
  return html`<figure>
<svg class="timeline" height="${ground + axisHeight}" aria-hidden="true">
<rect class="late" width="${placeOf(0)}%" height="${ground}"/>
<text class="date" x="${placeOf(0) / 2}%" y="${ground + 15}">expired</text>
<line class="ground" x2="100%" y1="${ground}" y2="${ground}"/>
${labels}${due}
${dots}</svg>
<figcaption>${legend(times, failWithin)}</figcaption>
</figure>
`;
}

/** What the colours of a certificate's days mean. */
const meanings: [Paint, string][] = [
  ["red", "urgent: expired, due, unknown or fewer than 7 days left"],
  ["yellow", "fewer than 30 days left"],
  ["green", "later"],
];

function legend(times: Line[], failWithin: number | null): Markup {
  const parts = meanings.map(([paint, meaning]) => {
    const { length } = times.filter((time) => time.paint === paint);
    return html`<li>${marked(paint, html`<b>${length}</b> ${meaning}`)}</li>\n`;
  });
  const due = failWithin ? html`<li>dashed line: due in ${failWithin} days</li>\n` : undefined;
  return html`<ul class="legend">
${parts}${due}</ul>`;
}
