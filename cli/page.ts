/** The style of the HTML report: `light-dark()` follows the reader's setting, and paper is light. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f5f6f8, #101317);
  --card: light-dark(#ffffff, #181c22);
  --ink: light-dark(#1c2024, #e8eaed);
  --dim: light-dark(#5a626c, #a3abb6);
  --rule: light-dark(#dde1e6, #2f353e);
  --red: light-dark(#b42318, #ff9389);
  --yellow: light-dark(#875500, #f2c14e);
  --green: light-dark(#17693c, #74d899);
  --link: light-dark(#0b57d0, #93b8ff);
  --late: light-dark(#fbeae8, #2d1b1b);
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body {
  margin: 0 auto;
  padding: 2rem clamp(0.75rem, 3vw, 2.5rem) 4rem;
  max-width: 90rem;
  background: var(--paper);
  color: var(--ink);
  font: 0.9375rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere;
}
h1, h2, p, ul, dl, dd, figure { margin: 0; padding: 0; }
h1 { font-size: 1.625rem; line-height: 1.25; letter-spacing: -0.01em; }
h2 { font-size: 1.125rem; margin-bottom: 0.75rem; }
ul { list-style: none; }
a {
  color: var(--link);
  text-decoration: underline 1px color-mix(in srgb, currentColor 35%, transparent);
  text-underline-offset: 0.2em;
}
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
code, dd { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 0.75rem; }
bdi { unicode-bidi: isolate; }
.port, .short { white-space: nowrap; }
.dim, .number, code { color: var(--dim); }
.bold { font-weight: 600; }
.red { color: var(--red); }
.yellow { color: var(--yellow); }
.green { color: var(--green); }
td .red, td .yellow { font-weight: 600; }
td .dim { font-weight: 400; }
.shapes { position: absolute; }
.mark { width: 0.7em; height: 0.7em; margin-right: 0.4em; overflow: visible; }
svg { fill: currentColor; }
svg use, svg text { fill: currentColor; }

.totals { margin: 0.5rem 0 0.25rem; font-size: 1.0625rem; font-weight: 500; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 1.25rem 0 1rem; }
nav a {
  display: block;
  padding: 0.4rem 0.8rem;
  border: 1px solid var(--rule);
  border-radius: 0.5rem;
  background: var(--card);
  color: var(--ink);
  text-decoration: none;
}
nav a:hover { border-color: var(--link); }
nav b { font-variant-numeric: tabular-nums; margin-left: 0.2em; }
.filter {
  position: sticky;
  top: 0;
  z-index: 1;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.25rem 0.75rem;
  margin: 0 -0.5rem;
  padding: 0.6rem 0.5rem;
  background: var(--paper);
}
.filter[hidden], tr[hidden], .timeline a[hidden] { display: none !important; }
.filter label { font-weight: 600; }
input {
  flex: 1 1 12rem;
  max-width: 24rem;
  padding: 0.35rem 0.6rem;
  border: 1px solid var(--dim);
  border-radius: 0.375rem;
  background: var(--card);
  color: inherit;
  font: inherit;
}
section {
  margin-top: 1rem;
  padding: 1.25rem clamp(0.75rem, 2vw, 1.5rem) 1rem;
  border: 1px solid var(--rule);
  border-radius: 0.75rem;
  background: var(--card);
}
.number { font-weight: 400; font-size: 0.9375rem; margin-left: 0.25em; }

table { width: 100%; border-collapse: collapse; }
th {
  padding: 0 1rem 0.4rem 0;
  border-bottom: 1px solid var(--rule);
  color: var(--dim);
  font-size: 0.75rem;
  font-weight: 600;
  letter-spacing: 0.03em;
  text-align: left;
  vertical-align: bottom;
  white-space: nowrap;
}
td { padding: 0.55rem 1rem 0.55rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; min-width: 6.5rem; }
td:first-child { min-width: 14rem; }
td:has(a) { min-width: 14rem; }
tr > :last-child { padding-right: 0; }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:target { background: color-mix(in srgb, var(--link) 12%, transparent); }
td > code { display: block; margin-top: 0.1rem; }
td[data-order] { font-variant-numeric: tabular-nums; min-width: 12rem; }
th button {
  padding: 0.1rem 0;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  letter-spacing: inherit;
  text-align: left;
  cursor: pointer;
}
th button:hover { color: var(--ink); }
th button::after { content: "\\2195" / ""; display: inline-block; width: 1.2em; text-align: center; opacity: 0.6; }
th[aria-sort] button { color: var(--ink); }
th[aria-sort] button::after { opacity: 1; }
th[aria-sort="ascending"] button::after { content: "\\2191" / ""; }
th[aria-sort="descending"] button::after { content: "\\2193" / ""; }
summary { width: fit-content; color: var(--link); font-size: 0.8125rem; cursor: pointer; }
dl { padding: 0.25rem 0; }
dt { color: var(--dim); font-size: 0.75rem; }
dd { margin-bottom: 0.3rem; }

.timeline, .bar, .scale { display: block; width: 100%; overflow: visible; }
.bar { height: 1rem; margin-top: 0.2rem; }
.scale { height: 1rem; font-size: 0.6875rem; font-weight: 400; letter-spacing: 0; }
svg text { text-anchor: middle; }
.timeline { font-size: 0.75rem; color: var(--dim); }
.timeline use { stroke: var(--card); stroke-width: 1; }
.timeline .date { font-size: 0.6875rem; }
.timeline a:hover use { stroke: var(--ink); }
.late { fill: var(--late); }
.tick, .ground { stroke: var(--rule); }
.due { stroke: var(--red); stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; margin: 0.5rem 0 1.25rem; font-size: 0.8125rem; }

@media screen and (max-width: 76rem) {
  td { min-width: 6rem; padding-right: 0.75rem; }
  td:first-child { min-width: 10rem; }
  td:has(a), td[data-order] { min-width: 9rem; }
}
@media screen and (max-width: 68rem) {
  body { padding-top: 1rem; }
  h1 { font-size: 1.375rem; }
  .timeline .date { display: none; }
  table, thead, tbody, tr, th, td { display: block; }
  thead:not(:has(button)) { display: none; }
  thead tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding-bottom: 0.5rem; font-size: 0.75rem; }
  thead tr::before { content: "Sort by"; color: var(--dim); }
  th { padding: 0; border: 0; }
  .scale { display: none; }
  tbody tr { padding: 0.75rem 0; border-top: 1px solid var(--rule); }
  td { display: grid; grid-template-columns: 6.5rem 1fr; padding: 0.15rem 0; border: 0; }
  td.empty { display: none; }
  td, td:first-child, td:has(a), td[data-order] { min-width: 0; }
  td > * { grid-column: 2; min-width: 0; }
  td::before { content: attr(data-head); grid-column: 1; grid-row: 1; color: var(--dim); font-size: 0.75rem; padding-top: 0.15rem; }
  td:first-child { display: block; font-weight: 600; }
  td:first-child::before { content: none; }
  td:first-child > * { font-weight: 400; }
  td:first-child > div { font-weight: 600; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; }
  @page { size: landscape; margin: 12mm; }
  body { padding: 0; font-size: 8pt; print-color-adjust: exact; }
  nav, .filter, summary, th button::after { display: none; }
  /* A button would be missing where the head of a table is repeated. */
  th button { display: contents; }
  section { border: 0; padding: 0; margin-top: 1.5rem; }
  tr, figure { break-inside: avoid; }
  h2 { break-after: avoid; }
  td { min-width: 6rem; padding: 0.3rem 0.75rem 0.3rem 0; line-height: 1.35; }
  td:first-child { min-width: 15rem; }
  td[data-order] { min-width: 10rem; }
  td:has(a) { min-width: 13.5rem; }
  code { font-size: 7.5pt; }
  dl { padding: 0; line-height: 1.25; }
  dl, dt, dd { display: inline; font-size: 6.5pt; }
  dt::after { content: " "; }
  dd::after { content: " \\00b7  "; }
  dd:last-child::after { content: none; }
  details::details-content { display: block; content-visibility: visible; }
}
`;

/** The script of the HTML report: it sorts by each column, and filters all tables at once. */
export const script = `
"use strict";
const tables = [...document.querySelectorAll("table")];
const texts = new Intl.Collator("en", { numeric: true });

const compare = (a, b) => (typeof a === "number" ? a - b : texts.compare(a, b));

function valueOf({ dataset, textContent }) {
  return dataset.order === undefined ? textContent : Number(dataset.order);
}

function sortBy(table, th) {
  const down = th.getAttribute("aria-sort") === "ascending";
  for (const other of th.parentElement.cells) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: valueOf(row.cells[th.cellIndex]) }));
  rows.sort((a, b) => (down ? compare(b.value, a.value) : compare(a.value, b.value)));
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

for (const table of tables) {
  for (const th of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(th.firstChild);
    button.addEventListener("click", () => sortBy(table, th));
    th.prepend(button);
  }
}

const filter = document.querySelector("search");
const input = filter.querySelector("input");
const idOf = (link) => decodeURIComponent(link.getAttribute("href").slice(1));
const dots = new Map([...document.querySelectorAll(".timeline a")].map((a) => [idOf(a), a]));
const rows = tables.flatMap((table) =>
  [...table.tBodies[0].rows].map((row) => ({ row, text: row.textContent.toLowerCase() })),
);

function show() {
  const words = input.value.toLowerCase().split(/\\s+/);
  let shown = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    dots.get(row.id)?.toggleAttribute("hidden", row.hidden);
    if (!row.hidden) shown += 1;
  }
  for (const table of tables) {
    const all = [...table.tBodies[0].rows];
    const some = all.filter((row) => !row.hidden).length;
    const number = table.closest("section").querySelector(".number");
    number.textContent = some === all.length ? all.length : some + " of " + all.length;
  }
  const said = shown === rows.length ? "" : shown + " of " + rows.length + " rows";
  filter.querySelector("[role=status]").textContent = said;
}
input.addEventListener("input", show);
filter.hidden = false;
// A browser may keep the words when the page is loaded again.
show();
`;
