/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import type { Account } from "../../cli/account";
import { statusHtml } from "../../cli/html";
import { statusOf } from "../../cli/status";
import { type Browser, findChromium, type Page, startBrowser } from "../../tools/browser";
import { repository } from "../../tools/folders";
import { hostile, hostileAccount, largeAccount, now, shown, usualAccount } from "../accounts";
import { fileWith } from "../support";

describe("the page of a report", () => {
  const screenshots = path.join(repository, ".tlsedge", "screenshots");
  let browser: Browser;
  let page: Page;
  /** What the browser complained of: errors, warnings, and what a policy stopped. */
  let complaints: string[];
  /** The addresses that were asked for. */
  let requests: string[];

  before(async function () {
    const chromium = await findChromium();
    if (!chromium) return this.skip();
    mkdirSync(screenshots, { recursive: true });
    browser = await startBrowser(chromium);
  });
  after(() => browser?.close());
  afterEach(() => page?.close());

  async function open(account: Account, width = 1280, theme = "light", add = "") {
    page = await browser.newPage();
    [complaints, requests] = [[], []];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => requests.push(request.url()));
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    const html = statusHtml(statusOf(account, now, 14)).replace("</main>", `${add}</main>`);
    await page.goto(pathToFileURL(fileWith(html, ".html")).href);
  }

  /** The first texts of the first cells in a table, as they stand. */
  const namesIn = (part: string) =>
    page.$$eval(`table[aria-labelledby="${part}"] tbody tr:not([hidden]) td:first-child`, (cells) =>
      cells.map((cell) => cell.querySelector("bdi")?.textContent),
    );

  /** What stands out of the window on the right. */
  const tooWide = () =>
    page.$$eval("body *", (elements) =>
      elements
        .filter((element) => !element.closest("svg"))
        .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 0.5)
        .map(({ outerHTML }) => outerHTML.slice(0, 100)),
    );

  for (const [width, theme] of [
    [1280, "light"],
    [390, "dark"],
  ] as const) {
    it(`fits ${width} px, is accessible in ${theme} colours, and loads nothing`, async () => {
      await open(await usualAccount(), width, theme);
      await page.screenshot({
        path: path.join(screenshots, `${theme}-${width}.png`),
        fullPage: true,
      });
      await page.$$eval("details", (all) => {
        for (const details of all) details.open = true;
      });
      assert.deepEqual(await tooWide(), []);
      const left = await page.$eval("td + td", (td) => td.getBoundingClientRect().left);
      assert.equal(left < 100, width === 390, "a phone shows cards");
      const labels = await page.$$eval(".timeline text", (all) =>
        all.flatMap((one) => (one.checkVisibility() ? [one.textContent] : [])),
      );
      assert.ok(labels.includes("expired"));
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(Number(/\d+/.exec(paper)) > 128, theme === "light");
      await page.evaluate(axe.source);
      const { violations, passes } = await page.evaluate(() =>
        (window as unknown as { axe: typeof axe }).axe.run(),
      );
      const found = violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html }) => `${id}: ${html}`),
      );
      assert.deepEqual(found, []);
      assert.ok(passes.some(({ id }) => id === "color-contrast"));
      assert.deepEqual([complaints, requests.length], [[], 1]);

      // The certificates on the timeline, from left to right, between the ticks.
      const dots = await page.$$eval(".timeline use, .timeline .tick[y2]:not([y1])", (marks) =>
        marks
          .map((mark) => ({ mark, at: mark.getBoundingClientRect() }))
          .sort((a, b) => a.at.left + a.at.width / 2 - b.at.left - b.at.width / 2)
          .map(({ mark }) => mark.closest("a")?.textContent?.replace(".acme.example", "") ?? ""),
      );
      const days =
        "old: -12,,login: 3,,shop: 20,,login: 80,,*.apps: 180,*.apps: 180,,partners: 700";
      assert.equal(dots.join().replaceAll(" days left", ""), days);
    });
  }

  it("filters all tables by the words that are typed, and says how much is left", async () => {
    await open(await usualAccount());
    const headings = await page.$$eval("h2", (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(headings.slice(0, 2), ["Certificates 7", "Edges 6"]);
    const cards = () =>
      page.$$eval("h2", (all) =>
        all.filter((one) => one.checkVisibility()).map(({ textContent }) => textContent),
      );
    await page.focus("input");
    await page.keyboard.type("LOGIN new");
    const cells = await page.$$eval("main tr:not([hidden]) > td", (all) =>
      all.map((td) => [...td.children].map(({ textContent }) => textContent)),
    );
    const owned = "environment: production, owner: web";
    assert.deepEqual(cells, [
      ["login.acme.example", "from the new authority", owned, "cert_1w0jDNKHxAEVRzfLBjX8CxBJCRy"],
      ["2026-05-21, 80 days"],
      ["login.acme.example:443"],
    ]);
    const status = () => page.$eval("[role=status]", ({ textContent }) => textContent);
    assert.equal(await status(), "1 of 21 rows");
    assert.deepEqual(await cards(), ["Certificates 1 of 7"]);
    const dots = await page.$$eval(".timeline a", (all) => all.filter((a) => a.checkVisibility()));
    assert.equal(dots.length, 1);
    for (let key = 0; key < 9; key++) await page.keyboard.press("Backspace");
    assert.deepEqual([(await namesIn("certificates")).length, await status()], [7, ""]);
    assert.deepEqual(await cards(), headings);
    // Without its script the page shows all, and no filter.
    assert.match(statusHtml(statusOf(largeAccount(1), now)), /<search hidden>/);
  });

  it("C90 shows what others wrote as text, obeys none of it, and fits it in", async () => {
    await open(await hostileAccount(), 390);
    assert.deepEqual(await namesIn("edges"), hostile.map(shown));
    const found = await page.evaluate(() => [
      "hacked" in window,
      document.querySelectorAll("script, style, img, h1").length,
      [...document.querySelectorAll("a")].filter((link) => {
        const href = decodeURIComponent(link.getAttribute("href") ?? "");
        return !document.getElementById(href.slice(1));
      }).length,
    ]);
    assert.deepEqual(found, [false, 3, 0]);
    assert.deepEqual([complaints, requests.length], [[], 1]);
    for (const width of [320, 390, 900, 1280]) {
      await page.setViewport({ width, height: 800 });
      assert.deepEqual(await tooWide(), [], `at ${width} px`);
    }
  });

  it("C90 runs and loads nothing that got into it, and is not high with 300 certificates", async () => {
    const foreign = "<script>window.hacked = 1</script><img src='https://localhost:1'>";
    await open(largeAccount(300), 1280, "light", foreign);
    assert.equal(await page.evaluate(() => "hacked" in window), false);
    const isPolicy = complaints.map((text) => text.includes("Content Security Policy"));
    assert.deepEqual(isPolicy, [true, true]);
    assert.equal(await page.$eval("search", (one) => one.checkVisibility()), true);
    const height = await page.$eval(".timeline", (svg) => svg.getBoundingClientRect().height);
    assert.ok(height < 250, `${height} px`);
  });
});
