/** A line of a panel: points of x and y, in the order of x. */
interface Line {
  name: string;
  points: [x: number, y: number][];
}

/** One chart of a picture. Both axes begin at 0. */
export interface Panel {
  title: string;
  lines: Line[];
}

const panelWidth = 420;
const panelHeight = 270;
/** The room around the plot of a panel: the names of the lines stand on its right. */
const margin = { top: 40, right: 118, bottom: 34, left: 44 };
const plotWidth = panelWidth - margin.left - margin.right;
const plotHeight = panelHeight - margin.top - margin.bottom;
const columns = 2;
const labelHeight = 15;

const style = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 13px }
  .grid { stroke: #d0d7de }
  polyline { fill: none; stroke-width: 2 }
  .c0 { stroke: #0969da; fill: #0969da } .c1 { stroke: #8250df; fill: #8250df }
  .c2 { stroke: #57606a; fill: #57606a } .c3 { stroke: #bc4c00; fill: #bc4c00 }
  .c4 { stroke: #1a7f37; fill: #1a7f37 }
  text.c0, text.c1, text.c2, text.c3, text.c4 { stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .grid { stroke: #30363d }
    .c0 { stroke: #58a6ff; fill: #58a6ff } .c1 { stroke: #bc8cff; fill: #bc8cff }
    .c2 { stroke: #8b949e; fill: #8b949e } .c3 { stroke: #f0883e; fill: #f0883e }
    .c4 { stroke: #3fb950; fill: #3fb950 }
  }`;

/**
 * Line charts side by side, as an SVG that follows the reader's light or dark theme.
 *
 * @param unit What the y axis counts: `seconds`.
 * @param across What the x axis counts: `resources`.
 */
export function drawCharts(panels: Panel[], unit: string, across: string): string {
  const rows = Math.ceil(panels.length / columns);
  const [width, height] = [panelWidth * columns, panelHeight * rows];
  const drawn = panels.map((panel, index) => {
    const [x, y] = [(index % columns) * panelWidth, Math.floor(index / columns) * panelHeight];
    return `<g transform="translate(${x} ${y})">\n${drawPanel(panel, unit, across)}\n</g>`;
  });
  const titles = panels.map(({ title }) => title).join("; ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${titles}">
<style>${style}
</style>
${drawn.join("\n")}
</svg>
`;
}

function drawPanel({ title, lines }: Panel, unit: string, across: string): string {
  const all = lines.flatMap(({ points }) => points);
  const most = [Math.max(...all.map(([x]) => x)), ceiling(Math.max(...all.map(([, y]) => y)))];
  const [mostX = 1, mostY = 1] = most;
  const left = (x: number) => round(margin.left + (x / mostX) * plotWidth);
  const top = (y: number) => round(margin.top + plotHeight - (y / mostY) * plotHeight);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const y = top(part * mostY);
    return `<line class="grid" x1="${margin.left}" x2="${left(mostX)}" y1="${y}" y2="${y}"/>
<text x="${margin.left - 6}" y="${y + 4}" text-anchor="end">${round(part * mostY)}</text>`;
  });
  const sizes = [...new Set(all.map(([x]) => x))].map(
    (x) => `<text x="${left(x)}" y="${top(0) + 18}" text-anchor="middle">${x}</text>`,
  );
  const labels = labelPlaces(lines.map(({ points }) => top(points.at(-1)?.[1] ?? 0)));
  const drawn = lines.map(({ name, points }, index) => {
    const places = points.map(([x, y]) => [left(x), top(y)]);
    const dots = places.map(([x, y]) => `<circle class="c${index}" cx="${x}" cy="${y}" r="3"/>`);
    return `<polyline class="c${index}" points="${places.join(" ")}" style="fill: none"/>
${dots.join("")}
<text class="c${index}" x="${left(mostX) + 8}" y="${(labels[index] ?? 0) + 4}">${name}</text>`;
  });
  return [
    `<text class="title" x="${margin.left}" y="20">${title}, ${unit} by ${across}</text>`,
    ...grid,
    ...sizes,
    ...drawn,
  ].join("\n");
}

/** The next number with one digit and zeros that is not below: 63 gives 80, as a scale has it. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / power / 2) * 2 * power;
}

const round = (value: number) => Math.round(value * 100) / 100;

/** Moves labels down until none covers another. */
function labelPlaces(wanted: number[]): number[] {
  const places = [...wanted];
  const order = wanted.map((_, index) => index).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  for (const [rank, index] of order.entries()) {
    const above = places[order[rank - 1] ?? -1];
    if (above !== undefined) places[index] = Math.max(places[index] ?? 0, above + labelHeight);
  }
  return places;
}
