/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import MarkdownIt from "markdown-it";
import { statusHtml } from "../cli/html";
import { statusMarkdown } from "../cli/markdown";
import { statusText } from "../cli/report";
import { type Account, statusOf } from "../cli/status";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";
import { type Browser, findChromium, type Page, startBrowser } from "../tools/browser";
import { repository } from "../tools/folders";
import { fileWith, setEnv } from "./support";

const now = new Date("2026-03-01T12:00:00Z");
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000);

const edgeOf = (id: string, hostports: string[], more: Partial<TLSEdgeWire> = {}): TLSEdgeWire => ({
  id: `edgtls_${id}`,
  uri: "",
  created_at: "2025-06-01T08:00:00Z",
  hostports,
  backend: { enabled: true, backend: { id: "bkdtg_1", uri: "" } },
  tls_termination: { terminate_at: "edge", min_version: "1.2" },
  ...more,
});

async function certificateOf(
  id: string,
  days: number,
  dnsNames: string[],
  more: Partial<TLSCertificateWire> = {},
): Promise<TLSCertificateWire> {
  const { certificatePem } = await makeCertificate({
    commonName: dnsNames[0] ?? "",
    dnsNames,
    notBefore: inDays(Math.min(-30, days - 60)),
    notAfter: inDays(days + 0.5),
  });
  const at = { uri: "", created_at: "2025-12-01T08:00:00Z" };
  return { id: `cert_${id}`, ...at, certificate_pem: certificatePem, ...more };
}

const owned = (owner: string) => JSON.stringify({ environment: "production", owner });

/** An account with a case of everything that a report shows. */
async function usualAccount(): Promise<Account> {
  const wildcard = await certificateOf("KSAtuTiaGkY7DbkVWEHUvcdQhqY", 180, ["*.apps.acme.example"]);
  const apps = Array.from({ length: 12 }, (_, n) => `app-${n + 1}.apps.acme.example:443`);
  return {
    service: "api.example.com",
    edges: [
      edgeOf(
        "USFQizgvSrWsoAUIpHhirQZN1mA",
        ["shop.acme.example:443", "www.shop.acme.example:443"],
        {
          description: "the shop",
          metadata: owned("shop"),
          mutual_tls: { enabled: false },
          ip_restriction: { enabled: true },
        },
      ),
      edgeOf("UDy2qaCVVcqrGwoN2vMJlxFxYrk", apps, { metadata: owned("platform") }),
      edgeOf("8mM3ytctlqijINx241rE1nyjDfI", ["login.acme.example:443"], { metadata: owned("web") }),
      edgeOf("vo6BDMsS0SHKZ6Ae5QjekhBN5Ly", ["ssh.acme.example:22"], {
        tls_termination: { terminate_at: "upstream" },
      }),
      edgeOf("4vrCazToQoCrQV5kvOHjYx1TqYP", [
        "recommendations-experiment.eu-central.staging.internal.acme.example:8443",
      ]),
      edgeOf("XC1MiKl3z7tisaG01SNieYoUoMV", ["old.acme.example:443"], { description: "until May" }),
    ],
    certificates: [
      wildcard,
      { ...wildcard, id: "cert_MqUsmKaGj7pVXeSexc17vN8GkAW", created_at: "2025-11-30T08:00:00Z" },
      await certificateOf("7jfLWy0HEtkX8EKeSsHIlyojkBd", 20, [
        "shop.acme.example",
        ...["www", "checkout", "static", "images"].map((name) => `${name}.shop.acme.example`),
      ]),
      await certificateOf("hmeYjgq4PyCXPrkCjTJDxWNBDlk", 3, ["login.acme.example"], {
        description: "from the old authority",
        metadata: owned("web"),
      }),
      await certificateOf("1w0jDNKHxAEVRzfLBjX8CxBJCRy", 80, ["login.acme.example"], {
        description: "from the new authority",
        metadata: owned("web"),
      }),
      await certificateOf("sFGqFa4TT5Wf8kPpl19by6pPxPp", -12, ["old.acme.example"]),
      await certificateOf("2cYcLQNdsdBnbVQrXK1hYfJ0m2v", 700, ["partners.acme.example"]),
    ],
    tunnels: [
      {
        id: "tn_vqQASylWrNpgrKqIyhgqA7ya9gq",
        labels: { app: "web", env: "production" },
        region: "eu",
      },
      {
        id: "tn_0eZicljNWhN1D6jweyuKCTB9utN",
        public_url: "https://preview-142.acme.example",
        forwards_to: "http://localhost:3000",
        proto: "https",
        region: "us",
      },
    ],
  };
}

/** Texts that would be markup, code or commands somewhere. */
/** GitHub would link each. */
const references = ["GH-12", "see PROJ-7", "1234abc"];
const hostile = [
  "<script>window.hacked = 1</script>",
  '"><img src=x onerror="window.hacked = 1">',
  "' onmouseover='window.hacked = 1",
  "</title></style></script><h1>x",
  "javascript:window.hacked=1",
  "&lt;b&gt; &amp;",
  "a | b \\| c \\",
  "`code` ``more`` *bold* _it_ ~~x~~ [x](http://evil.example) ![x](http://evil.example/x.png)",
  "https://evil.example www.evil.example me@evil.example @someone #1",
  "\u202egnp.exe\u2066 \u001b[31mred\u0007 a\nb\u2028c \u0000",
  "50%41 %zz",
  "half \ud83d of a character",
  ...references,
  "עברית",
  "x".repeat(255),
];

/** A text as it is shown: what a terminal would obey or hide is escaped. */
const shown = (text: string) =>
  text.replace(/[\p{C}\u2028]/gu, (sign) => {
    if (sign === "\n") return "\\n";
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });

async function hostileAccount(): Promise<Account> {
  return {
    service: `${hostile[0]}.example`,
    edges: hostile.map((text, n) =>
      edgeOf(`${n}${text}`, [text, "b.example:443"], { description: text, metadata: text }),
    ),
    certificates: hostile.map((text, n) => ({
      id: `cert_${n}${text}`,
      uri: "",
      created_at: "2025-12-01T08:00:00Z",
      certificate_pem: "",
      not_after: inDays(n).toISOString(),
      subject_common_name: text,
      subject_alternative_names: { dns_names: [text, text], ips: [] },
      serial_number: text,
      description: text,
      metadata: JSON.stringify({ owner: text }),
    })),
    tunnels: hostile.map((text, n) => ({
      id: `tn_${n}`,
      public_url: text,
      labels: { [text]: text },
    })),
  };
}

/** An account of many certificates, most of which expire in the same weeks. */
function largeAccount(size: number): Account {
  const names = Array.from({ length: size }, (_, n) => `host-${n}.fleet.acme.example`);
  return {
    service: "api.example.com",
    edges: names.map((name, n) => edgeOf(`${n}`, [`${name}:443`])),
    certificates: names.map((name, n) => ({
      id: `cert_${n}`,
      uri: "",
      created_at: "2025-12-01T08:00:00Z",
      certificate_pem: "",
      not_after: inDays(60 + (n % 30)).toISOString(),
      subject_alternative_names: { dns_names: [name], ips: [] },
    })),
    tunnels: [],
  };
}

describe("the report on a machine that is not in UTC", () => {
  const reportsIn = (TZ: string, account: Account) => {
    const undo = setEnv({ TZ });
    try {
      const status = statusOf(account, now, 14);
      const text = statusText(status, { width: 120, colour: false });
      const texts = [JSON.stringify(status), text, statusMarkdown(status), statusHtml(status)];
      return { offset: now.getTimezoneOffset(), texts };
    } finally {
      undo();
    }
  };

  for (const [TZ, offset] of [
    ["America/New_York", 300],
    ["Pacific/Auckland", -780],
  ] as const) {
    it(`says the same in ${TZ}, with the days of UTC`, async () => {
      const account = await usualAccount();
      const [utc, there] = [reportsIn("UTC", account), reportsIn(TZ, account)];
      assert.deepEqual([utc.offset, there.offset], [0, offset]);
      for (const [index, text] of there.texts.entries()) assert.equal(text, utc.texts[index]);
      // It expires at midnight, half a day after noon.
      for (const text of there.texts)
        assert.ok(text.includes(inDays(180.5).toISOString().slice(0, 10)));
    });
  }
});

describe("the report in Markdown", () => {
  // As GitHub reads it: tables, links without brackets, HTML.
  const markdown = new MarkdownIt({ html: true, linkify: true });
  it("has the parts of the report for people, with owners and what each certificate serves", async () => {
    const report = statusMarkdown(statusOf(await usualAccount(), now, 14));
    assert.deepEqual(report.match(/^#.*$/gm), [
      "## Status of `api.example.com`",
      "### Edges",
      "### Certificates",
      "### Hostports without a certificate",
      "### Unused certificates",
      "### Twins",
      "### Tunnels online",
    ]);
    assert.ok(
      report.includes("\n**6 edges (2 hostports uncovered), 7 certificates (2 due in 14 days)"),
    );
    const row = (id: string) => report.split("\n").find((line) => line.includes(`| \`${id}\` |`));
    assert.equal(
      row("cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk"),
      "| `cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk` | `login.acme.example` | **2026-03-05** | **3, due** " +
        "| `login.acme.example:443` | production<br>web | from the old authority |",
    );
    assert.match(row("cert_KSAtuTiaGkY7DbkVWEHUvcdQhqY") ?? "", /<br>and 2 more \| - \| - \|$/);
    assert.ok(markdown.render(report).includes("<th>SERVES</th>"));
  });

  it("is inert, whatever others wrote", async () => {
    const status = statusOf(await hostileAccount(), now);
    const page = markdown.render(statusMarkdown(status));
    const tags = new Set([...page.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag));
    const ours = ["h2", "h3", "p", "strong", "code", "br"];
    const table = ["table", "thead", "tbody", "tr", "th", "td"];
    assert.deepEqual([...tags].sort(), [...ours, ...table].sort());
    const cells = [...page.matchAll(/<td>(.*?)<\/td>/g)].map(([, cell = ""]) =>
      decoded(cell).trim(),
    );
    for (const text of hostile) assert.ok(cells.includes(shown(text).trim()), shown(text));
    for (const text of references) assert.ok(page.includes(`<code>${text}</code>`), text);
    const rows = page.split("<tbody>").map((table) => table.split("<tr>").length - 1);
    // The edges, then the certificates; the first part has the head of the edges alone.
    assert.deepEqual(rows.slice(0, 3), [1, hostile.length + 1, hostile.length + 1]);
  });

  /** The text of a cell as it is read. */
  const decoded = (cell: string) =>
    cell
      .replace(/<[^>]*>/g, "")
      .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
      .replace(
        /&(lt|gt|quot|amp);/g,
        (_, name) => ({ lt: "<", gt: ">", quot: '"' })[name as string] ?? "&",
      );

  it("says what is missing", () => {
    const status = statusOf({ service: "api.example.com" }, now);
    const report = statusMarkdown(status);
    for (const what of ["edges", "certificates", "hostports", "tunnels"]) {
      assert.match(report, new RegExp(`^No ${what}`, "m"));
    }
    assert.doesNotMatch(report, /\|/);
  });
});

describe("the page of a report", () => {
  const screenshots = path.join(repository, ".tlsedge", "screenshots");
  let browser: Browser;

  before(async function () {
    const chromium = await findChromium();
    if (!chromium) {
      console.log("    Skipped: there is no Chromium on PATH, nor in CHROME_PATH.");
      return this.skip();
    }
    mkdirSync(screenshots, { recursive: true });
    const page = statusHtml(statusOf(await usualAccount(), now, 14));
    writeFileSync(path.join(screenshots, "report.html"), page);
    browser = await startBrowser(chromium);
  });
  after(() => browser?.close());

  const themes = ["light", "dark"] as const;
  const widths = [360, 1280];

  interface Opened {
    page: Page;
    /** What a browser complained of: errors, warnings, and what a policy stopped. */
    complaints: string[];
    /** The addresses that were asked for. */
    requests: string[];
  }

  let opened: Page[] = [];
  afterEach(async () => {
    for (const page of opened) await page.close();
    opened = [];
  });

  async function open(
    account: Account,
    { width = 1280, theme = "light", script = true, failWithin = 14, stacks = {} } = {},
  ): Promise<Opened & { file: string }> {
    const page = await browser.newPage();
    opened.push(page);
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(dialog.message());
      void dialog.dismiss();
    });
    page.on("request", (request) => requests.push(request.url()));
    await page.setJavaScriptEnabled(script);
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    const managed = new Map(Object.entries<string>(stacks));
    const exports = managed.size > 0 ? { files: ["prod.json"], managed } : undefined;
    const status = statusOf(account, now, failWithin, exports);
    const file = pathToFileURL(fileWith(statusHtml(status), ".html")).href;
    await page.goto(file);
    return { page, complaints, requests, file };
  }

  /** The texts of the first line of the first cells in a table, as they stand. */
  const namesIn = (page: Page, part: string) =>
    page.$$eval(`table[aria-labelledby="${part}"] tbody tr:not([hidden]) td:first-child`, (cells) =>
      cells.map((cell) => cell.querySelector("bdi")?.textContent),
    );

  /** Presses a key until an element has the focus. */
  async function reach(page: Page, selector: string): Promise<void> {
    for (let presses = 0; presses < 200; presses++) {
      await page.keyboard.press("Tab");
      if (await page.$eval(selector, (element) => element === document.activeElement)) return;
    }
    assert.fail(`no way to ${selector} with Tab`);
  }

  /** How many links lead nowhere. */
  const lostLinks = (page: Page) =>
    page.$$eval("a", (links) => {
      const idOf = (link: Element) => decodeURIComponent(link.getAttribute("href")?.slice(1) ?? "");
      return links.filter((link) => !document.getElementById(idOf(link))).length;
    });

  /** What stands out of the window on the right. */
  const tooWide = (page: Page) =>
    page.$$eval("body *", (elements) =>
      elements
        .filter((element) => !element.closest("svg"))
        .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 0.5)
        .map(({ outerHTML }) => outerHTML.slice(0, 100)),
    );

  for (const theme of themes) {
    for (const width of widths) {
      it(`is complete and accessible at ${width} px, ${theme}, and asks for nothing else`, async () => {
        const { page, complaints, requests, file } = await open(await usualAccount(), {
          width,
          theme,
          stacks: { cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk: "the-shop/production" },
        });
        await page.screenshot({
          path: path.join(screenshots, `${theme}-${width}.png`),
          fullPage: true,
        });
        assert.deepEqual(requests, [file]);
        await page.$$eval("details", (all) => {
          for (const details of all) details.open = true;
        });
        assert.deepEqual(await tooWide(page), []);
        const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const [red = 0] = (back.match(/\d+/g) ?? []).map(Number);
        assert.equal(red > 128, theme === "light");
        await page.evaluate(axe.source);
        const { violations, passes } = await page.evaluate(() =>
          (window as unknown as { axe: typeof axe }).axe.run(),
        );
        const found = violations.flatMap(({ id, nodes }) =>
          nodes.map(({ html }) => `${id}: ${html}`),
        );
        assert.deepEqual(found, []);
        assert.ok(passes.some(({ id }) => id === "color-contrast"));
        assert.deepEqual(complaints, []);
      });
    }
  }

  it("has the certificates first, each with its edges, details and days on the timeline", async () => {
    const { page } = await open(await usualAccount());
    const heading = await page.$eval("h2", ({ textContent }) => textContent);
    assert.equal(heading, "Certificates 7");
    const row = await page.$eval("#id-cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk", (tr) => ({
      cells: [...tr.querySelectorAll("td")].slice(1).map((td) => td.textContent?.trim()),
      details: [...tr.querySelectorAll("dt")].map(({ textContent }) => textContent),
      links: [...tr.querySelectorAll("a")].map(({ hash }) => hash),
      order: tr.querySelector("[data-order]")?.getAttribute("data-order"),
    }));
    assert.deepEqual(row.cells, [
      "2026-03-05",
      "3, due",
      "login.acme.example:443",
      "productionweb",
      "from the old authority",
    ]);
    assert.deepEqual(row.details, [
      "common name",
      "serial number",
      "SHA-256 fingerprint",
      "valid from",
      "created",
      "metadata",
    ]);
    assert.deepEqual(row.links, ["#id-edgtls_8mM3ytctlqijINx241rE1nyjDfI"]);
    assert.equal(row.order, "3");
    assert.equal(await lostLinks(page), 0);
  });

  for (const width of widths) {
    it(`has each certificate in its place on the timeline at ${width} px`, async () => {
      const { page } = await open(await usualAccount(), { width });
      /** The middle of each element across the chart, in percent of the chart. */
      const places = (selector: string) =>
        page.$$eval(selector, (elements) => {
          const middle = (box: DOMRect) => box.left + box.width / 2;
          return elements.map((element) => {
            const chart = (element.closest("svg") as Element).getBoundingClientRect();
            const name = element.closest("a")?.querySelector("title")?.textContent;
            const at = ((middle(element.getBoundingClientRect()) - chart.left) / chart.width) * 100;
            return { name, at };
          });
        });
      const dots = (await places(".timeline use")).sort((a, b) => a.at - b.at);
      const [today = 0, week = 0, month = 0, quarter = 0, year = 0] = (
        await places(".timeline .tick")
      ).map(({ at }) => at);
      const between = (from: number, to: number) =>
        dots.filter(({ at }) => at > from && at < to).map(({ name }) => name);
      assert.deepEqual(between(0, today), ["old.acme.example: -12 days left"]);
      assert.deepEqual(between(today, week), ["login.acme.example: 3 days left"]);
      assert.match(between(week, month).join(), /^shop\.acme\.example, .*: 20 days left$/);
      assert.deepEqual(between(month, quarter), ["login.acme.example: 80 days left"]);
      assert.deepEqual(between(quarter, year), [
        "*.apps.acme.example: 180 days left",
        "*.apps.acme.example: 180 days left",
      ]);
      assert.deepEqual(between(year, 100), ["partners.acme.example: 700 days left"]);
      // The bars have the same scale.
      const ends = (await places(".bar use")).map(({ at }) => at).sort((a, b) => a - b);
      for (const [index, { at }] of dots.entries()) {
        assert.ok(Math.abs(at - (ends[index] ?? 0)) < 2, `${at} and ${ends[index]}`);
      }
    });
  }

  it("breaks a hostport before its colon, and never in the port", async () => {
    for (const width of [320, 700, 1100, 1280]) {
      const { page } = await open(await usualAccount(), { width });
      const broken = await page.$$eval(".port", (ports) =>
        ports.filter((port) => port.getClientRects().length > 1).map((port) => port.textContent),
      );
      assert.deepEqual(broken, []);
      assert.ok((await page.$$(".port")).length > 20);
      assert.deepEqual(await tooWide(page), []);
    }
  });

  it("sorts by a column with the keyboard, there and back", async () => {
    const { page } = await open(await usualAccount());
    const head = `table[aria-labelledby="certificates"] th:nth-child(1)`;
    const first = await namesIn(page, "certificates");
    assert.equal(first[0], "old.acme.example");
    await reach(page, `${head} button`);
    await page.keyboard.press("Enter");
    const ascending = await namesIn(page, "certificates");
    assert.deepEqual(ascending, first.toSorted());
    assert.notDeepEqual(ascending, first);
    assert.equal(await page.$eval(head, (th) => th.getAttribute("aria-sort")), "ascending");
    await page.keyboard.press("Space");
    assert.deepEqual(await namesIn(page, "certificates"), first.toSorted().reverse());
    assert.equal(await page.$eval(head, (th) => th.getAttribute("aria-sort")), "descending");
    // By number: as texts, 180 would stand before 20.
    await reach(page, `table[aria-labelledby="certificates"] th:nth-child(3) button`);
    await page.keyboard.press("Enter");
    assert.deepEqual(await namesIn(page, "certificates"), first);
    assert.equal((await page.$$("[aria-sort]")).length, 1);
  });

  it("filters all tables with the keyboard, and says how much is left", async () => {
    const { page } = await open(await usualAccount());
    await reach(page, "#words");
    await page.keyboard.type("LOGIN new");
    assert.deepEqual(await namesIn(page, "certificates"), ["login.acme.example"]);
    assert.deepEqual(await namesIn(page, "edges"), []);
    const said = () => page.$eval("[role=status]", ({ textContent }) => textContent);
    assert.equal(await said(), "1 of 20 rows");
    assert.equal(await page.$eval("#certificates .number", (it) => it.textContent), "1 of 7");
    const dots = await page.$$eval(
      ".timeline a",
      (all) => all.filter((a) => a.checkVisibility()).length,
    );
    assert.equal(dots, 1);
    for (let key = 0; key < 9; key++) await page.keyboard.press("Backspace");
    assert.equal((await namesIn(page, "certificates")).length, 7);
    assert.equal(await said(), "");
  });

  it("shows everything without its script, but nothing that needs it", async () => {
    const { page } = await open(await usualAccount(), { script: false });
    assert.equal((await namesIn(page, "certificates")).length, 7);
    const useless = await page.$$eval("button, input, label", (all) =>
      all.filter((one) => one.checkVisibility()).map(({ outerHTML }) => outerHTML),
    );
    assert.deepEqual(useless, []);
  });

  it("prints on light paper, with the details that are closed on the screen", async () => {
    const { page } = await open(await usualAccount(), { theme: "dark" });
    const state = () =>
      page.evaluate(() => ({
        paper: getComputedStyle(document.body).backgroundColor,
        details: document.querySelector("dl")?.checkVisibility({ contentVisibilityAuto: true }),
        filter: document.querySelector("#words")?.checkVisibility(),
      }));
    assert.deepEqual((await state()).filter, true);
    assert.deepEqual((await state()).details, false);
    await page.emulateMediaType("print");
    assert.deepEqual(await state(), { paper: "rgb(255, 255, 255)", details: true, filter: false });
    const pdf = Buffer.from(
      await page.pdf({
        format: "A4",
        preferCSSPageSize: true,
        path: path.join(screenshots, "print.pdf"),
      }),
    );
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    assert.ok((pdf.toString("latin1").match(/\/Type ?\/Page\b/g) ?? []).length >= 1);
    assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
  });

  it("shows what others wrote as text, and obeys none of it", async () => {
    const { page, complaints, requests } = await open(await hostileAccount());
    const found = await page.evaluate(() => ({
      hacked: "hacked" in window,
      scripts: document.scripts.length,
      styles: document.querySelectorAll("style").length,
      images: document.images.length,
      titles: document.querySelectorAll("h1").length,
      handlers: [...document.querySelectorAll("*")].filter((element) =>
        element.getAttributeNames().some((name) => name.startsWith("on")),
      ).length,
      outside: [...document.querySelectorAll("a")].filter(
        (a) => !a.getAttribute("href")?.startsWith("#id-") && !a.closest("nav"),
      ).length,
    }));
    assert.deepEqual(found, {
      hacked: false,
      scripts: 1,
      styles: 1,
      images: 0,
      titles: 1,
      handlers: 0,
      outside: 0,
    });
    assert.deepEqual(await namesIn(page, "edges"), hostile.map(shown));
    assert.deepEqual(complaints, []);
    assert.equal(requests.length, 1);
    for (const width of [320, 360, 800, 900, 1100, 1220, 2000]) {
      await page.setViewport({ width, height: 800 });
      assert.deepEqual(await tooWide(page), [], `at ${width} px`);
    }
    // A link leads to its object, whatever the id is.
    assert.equal(await lostLinks(page), 0);
  });

  it("lets no other script run, not even one that got into it", async () => {
    const page = statusHtml(statusOf(largeAccount(1), now));
    const broken = page.replace("</main>", "<script>window.hacked = 1</script></main>");
    assert.notEqual(broken, page);
    const tab = await browser.newPage();
    opened.push(tab);
    await tab.goto(pathToFileURL(fileWith(broken, ".html")).href);
    assert.equal(await tab.evaluate(() => "hacked" in window), false);
    assert.ok(await tab.$("th button"), "its own script runs");
  });

  it("takes 300 certificates in less than a megabyte", async () => {
    const { page, complaints } = await open(largeAccount(300), { width: 360 });
    await page.screenshot({ path: path.join(screenshots, "large-360.png") });
    await page.setViewport({ width: 1280, height: 800 });
    await page.screenshot({ path: path.join(screenshots, "large-1280.png") });
    assert.equal((await namesIn(page, "certificates")).length, 300);
    const size = statusHtml(statusOf(largeAccount(300), now)).length;
    assert.ok(size < 1_000_000, `${size} characters`);
    const height = await page.$eval(".timeline", (svg) => svg.getBoundingClientRect().height);
    assert.ok(height < 250, `${height} px`);
    await page.focus("#words");
    await page.keyboard.type("host-299.");
    assert.equal((await namesIn(page, "certificates")).join(), "host-299.fleet.acme.example");
    assert.deepEqual(complaints, []);
  });
});
