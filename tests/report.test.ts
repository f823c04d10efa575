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

it("a report in HTML has weak edges above certificates, and edges that are open to all above others", () => {
  const restricted = { ip_restriction: { enabled: true } };
  const weak = { tls_termination: { min_version: "1.0" } };
  const edges = [restricted, {}, { ...restricted, ...weak }, weak].map((modules, n) =>
    edgeWire({ id: `edgtls_${n}`, ...modules }),
  );
  const certificates = [certificateWire({ not_after: inDays(90).toISOString() })];
  const account = { service: "api.example.com", edges, certificates, tunnels: [] };
  const page = statusHtml(statusOf(account, now));
  const ids = page.match(/(?<=<tr role="row" id="id-|<code><a href="#id-)\w+/g) ?? [];
  const names = ids.slice(0, 7).join().replaceAll("edgtls_", "");
  assert.equal(names, "3,2,cert_1,1,3,0,2");
  // Each number is a link to the part that has what it counts, and only what there is has a colour.
  const links = [...page.matchAll(/<a href="#([a-z-]+)">(\d.*?)<\/a>/g)];
  const all = "edges: 4 edges; weak-edges: 2 with weak TLS; edges: 2 open to all; ";
  assert.equal(
    links.map(([, anchor, text]) => `${anchor}: ${text}`).join("; "),
    `${all}certificates: 1 certificate; tunnels-online: 0 tunnels`,
  );
  for (const [, anchor] of links) assert.ok(page.includes(`<h2 id="${anchor}">`), anchor);
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
    const problems = "Hostports without a certificate; ### Unused certificates; ### Twins";
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
