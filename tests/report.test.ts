import assert from "node:assert/strict";
import MarkdownIt from "markdown-it";
import { statusHtml } from "../cli/html";
import { statusMarkdown } from "../cli/markdown";
import { statusText } from "../cli/report";
import { statusOf } from "../cli/status";
import {
  certificateWire,
  edgeWire,
  hostile,
  hostileAccount,
  inDays,
  now,
  references,
  shown,
  usualAccount,
} from "./accounts";
import { setEnv } from "./support";

it("a report has the days of UTC, also on a machine that is not in UTC", async () => {
  const account = await usualAccount();
  const reportsIn = (TZ: string) => {
    const undo = setEnv({ TZ });
    const status = statusOf(account, now, 14);
    const text = statusText(status, { width: 120, colour: false });
    const texts = [JSON.stringify(status), text, statusMarkdown(status), statusHtml(status)];
    const offset = now.getTimezoneOffset();
    undo();
    return { offset, texts };
  };
  const [utc, auckland] = [reportsIn("UTC"), reportsIn("Pacific/Auckland")];
  assert.deepEqual([utc.offset, auckland.offset], [0, -780]);
  assert.deepEqual(auckland.texts, utc.texts);
  // It expires at midnight, half a day after noon.
  const day = inDays(180.5).toISOString().slice(0, 10);
  for (const text of utc.texts) assert.ok(text.includes(day));
});

it("a report in HTML has certificates above edges, and only what there is has a colour", () => {
  const certificates = [certificateWire({ not_after: inDays(90).toISOString() })];
  const account = { service: "api.example.com", edges: [edgeWire()], certificates, tunnels: [] };
  const page = statusHtml(statusOf(account, now));
  assert.deepEqual(page.match(/(?<=<tr role="row" id="id-)\w+/g), ["cert_1", "edgtls_1"]);
  const legend = [...page.matchAll(/<li><span class="(\w+)">.*?<b>(\d)/g)];
  const colours = legend.map(([, paint, number]) => `${paint} ${number}`);
  assert.deepEqual(colours, ["dim 0", "dim 0", "green 1"]);
});

describe("statusMarkdown", () => {
  // As GitHub reads it: tables, links without brackets, HTML.
  const markdown = new MarkdownIt({ html: true, linkify: true });
  it("the Markdown has the parts of the text, with owners and what each certificate serves", async () => {
    const report = statusMarkdown(statusOf(await usualAccount(), now, 14));
    const headings = report.match(/^#.*$/gm)?.join("; ");
    const problems = "Hostports without a certificate; ### Unused certificates";
    const all = `### Edges; ### Certificates; ### ${problems}; ### Tunnels online`;
    assert.equal(headings, `## Status of \`api.example.com\`; ${all}`);
    const totals =
      /^\*\*6 edges \(2 hostports uncovered, 5 open to all, 1 module off\), 7 certificates \(2 due in 14/m;
    assert.match(report, totals);
    const row = (id: string) => report.split("\n").find((line) => line.includes(`| \`${id}\` |`));
    assert.equal(
      row("cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk"),
      "| `cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk` | `login.acme.example`<br>from the old authority<br>" +
        "`environment: production, owner: web` | **2026-03-05, 3 days, due** | `login.acme.example:443` |",
    );
    assert.match(row("cert_KSAtuTiaGkY7DbkVWEHUvcdQhqY") ?? "", /<br>and 2 more \|$/);
    const text = statusText(statusOf(await usualAccount(), now), { width: 120, colour: false });
    assert.match(text, /\n +app-9\.apps\.acme\.example:443\n +and 3 more\n/);
    assert.ok(markdown.render(report).includes("<th>SERVES</th>"));
  });

  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', amp: "&" };
  const decode = (html: string) => html.replace(/&(\w+);/g, (_, name) => signs[name] ?? name);
  it("C90: texts of others are whole in the Markdown, and make no reference and no row", async () => {
    const status = statusOf(await hostileAccount(), now);
    const page = markdown.render(statusMarkdown(status));
    for (const text of references) assert.ok(page.includes(`<code>${text}</code>`), text);
    const lines = decode(page.replace(/<[^>]*>/g, "\n")).split("\n");
    for (const text of hostile) assert.ok(lines.includes(shown(text)), text);
    const rows = page.split("<tbody>").map((table) => table.split("<tr>").length - 1);
    // The edges, then the certificates; the first part has the head of the edges alone.
    assert.deepEqual(rows.slice(0, 3), [1, hostile.length + 1, hostile.length + 1]);
  });

  it("the Markdown says what is missing", () => {
    const nothing = { edges: [], certificates: [], tunnels: [] };
    const report = statusMarkdown(statusOf({ service: "api.example.com", ...nothing }, now));
    assert.deepEqual(report.match(/^No \w+|\|/gm), [
      ...["No edges", "No certificates", "No hostports", "No tunnels"],
    ]);
  });
});
