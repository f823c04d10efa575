/** The style of the HTML report: `light-dark()` follows the reader's setting. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f5f6f8, #101317); --card: light-dark(#ffffff, #181c22);
  --ink: light-dark(#1c2024, #e8eaed); --dim: light-dark(#5a626c, #a3abb6);
  --rule: light-dark(#dde1e6, #2f353e); --link: light-dark(#0b57d0, #93b8ff);
  --red: light-dark(#b42318, #ff9389); --yellow: light-dark(#875500, #f2c14e);
  --green: light-dark(#17693c, #74d899); --late: light-dark(#fbeae8, #2d1b1b);
}
* { box-sizing: border-box; margin: 0; }
html { scroll-padding-top: 4rem; }
body {
  margin: 0 auto; padding: 1rem clamp(0.75rem, 3vw, 2.5rem) 4rem; max-width: 90rem; overflow-wrap: anywhere;
  background: var(--paper); color: var(--ink); font: 0.9375rem/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.125rem; margin-bottom: 0.75rem; }
ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; font-size: 0.8125rem; }
a { color: var(--link); }
code { display: block; font: 0.75rem/1.6 ui-monospace, Menlo, Consolas, monospace; }
.dim, code, th { color: var(--dim); font-weight: 400; }
.red { color: var(--red); } .yellow { color: var(--yellow); } .green { color: var(--green); }
td .red, td .yellow { font-weight: 600; }
svg { fill: currentColor; overflow: visible; }
.mark { width: 0.7em; height: 0.7em; margin-right: 0.4em; }
.totals { margin: 0.4rem 0 0.2rem; font-size: 1.0625rem; font-weight: 500; }
.totals a { color: inherit; }
search { position: sticky; top: 0; padding: 0.6rem 0; background: var(--paper); }
[hidden] { display: none !important; }
input { padding: 0.35rem 0.6rem; border: 1px solid var(--dim); background: var(--card); color: inherit; font: inherit; }
section { margin-top: 1rem; padding: 1.25rem clamp(0.75rem, 2vw, 1.25rem); border-radius: 0.75rem; background: var(--card); }
table { width: 100%; table-layout: fixed; border-collapse: collapse; }
th { padding: 0 1rem 0.4rem 0; font-size: 0.75rem; text-align: left; }
td { padding: 0.55rem 1rem 0.55rem 0; border-top: 1px solid var(--rule); vertical-align: top; }
tr:target { background: color-mix(in srgb, var(--link) 12%, transparent); }
summary { width: fit-content; color: var(--link); cursor: pointer; }
.timeline { display: block; width: 100%; font-size: 0.75rem; color: var(--dim); text-anchor: middle; }
.timeline use { stroke: var(--card); } .late { fill: var(--late); } .tick { stroke: var(--rule); }
.due { stroke: var(--red); stroke-dasharray: 4 3; }
figure ul { margin: 0.5rem 0 1.25rem; }
@media (max-width: 60rem) {
  .date, thead { display: none; }
  table, tbody, tr { display: block; }
  tr { padding: 0.6rem 0; border-top: 1px solid var(--rule); }
  td { display: grid; grid-template-columns: 5rem 1fr; padding: 0.15rem 0; border: 0; }
  td.empty { display: none; }
  td > * { grid-column: 2; min-width: 0; }
  td::before { content: attr(data-head); grid-area: 1 / 1; color: var(--dim); font-size: 0.75rem; }
  td:first-child { display: block; }
  td:first-child::before { content: none; }
}
`;

/** The script of the HTML report: it filters all tables at once. */
export const script = `
"use strict";
const filter = document.querySelector("search");
const input = filter.querySelector("input");
const idOf = (link) => decodeURIComponent(link.getAttribute("href").slice(1));
const dots = new Map([...document.querySelectorAll(".timeline a")].map((a) => [idOf(a), a]));
const rows = [...document.querySelectorAll("tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);
function show() {
  const words = input.value.toLowerCase().split(/\\s+/);
  for (const [row, text] of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    dots.get(row.id)?.toggleAttribute("hidden", row.hidden);
  }
  for (const card of document.querySelectorAll("section")) {
    const [all, hidden] = ["tbody tr", "tbody tr[hidden]"].map((some) => card.querySelectorAll(some).length);
    card.querySelector("h2 span").textContent = hidden ? all - hidden + " of " + all : all;
    card.hidden = input.value !== "" && hidden === all;
  }
  const shown = rows.filter(([row]) => !row.hidden).length + " of " + rows.length + " rows";
  filter.querySelector("[role=status]").textContent = input.value && shown;
}
input.addEventListener("input", show);
filter.hidden = false;
// A browser may keep the words when the page is loaded again.
show();
`;
