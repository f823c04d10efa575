/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// What only a browser can show of the HTML report.
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

  /** What a reader sees of some elements. */
  const visible = (selector: string) =>
    page.$$eval(selector, (all) =>
      all.flatMap((one) => (one.checkVisibility() ? [one.textContent] : [])),
    );

  /** What stands out of the window on the right. */
  const tooWide = () =>
    page.$$eval("body *:not(svg *)", (all) =>
      all
        .filter((one) => one.getBoundingClientRect().right > window.innerWidth + 0.5)
        .map(({ outerHTML }) => outerHTML.slice(0, 100)),
    );

  for (const [width, theme] of [
    [1280, "light"],
    [390, "dark"],
  ] as const) {
    it(`fits ${width} px, is accessible in ${theme} colours, and loads nothing`, async () => {
      await open(await usualAccount(), width, theme);
      const file = path.join(screenshots, `${theme}-${width}.png`);
      await page.screenshot({ path: file, fullPage: true });
      await page.$$eval("details", (all) => {
        for (const details of all) details.open = true;
      });
      assert.deepEqual(await tooWide(), []);
      const left = await page.$eval("td + td", (td) => td.getBoundingClientRect().left);
      assert.equal(left < 100, width === 390, "a phone shows cards");
      assert.ok((await visible(".timeline text")).includes("expired"));
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(Number(/\d+/.exec(paper)) > 128, theme === "light");
      await page.evaluate(axe.source);
      const { violations, passes } = await page.evaluate(() =>
        (window as unknown as { axe: typeof axe }).axe.run(),
      );
      assert.deepEqual(violations, []);
      assert.ok(passes.some(({ id }) => id === "color-contrast"));
      assert.deepEqual([complaints, requests.length], [[], 1]);
    });
  }

  it("has the certificates on a timeline, by the days that they have left", async () => {
    await open(await usualAccount());
    // From left to right; between them the ticks of today and of 7, 30, 90 and 365 days.
    const marks = await page.$$eval(".timeline use, .timeline .tick[y2]:not([y1])", (all) =>
      all
        .map((mark) => ({ mark, at: mark.getBoundingClientRect() }))
        .sort((a, b) => a.at.left + a.at.width / 2 - b.at.left - b.at.width / 2)
        .map(({ mark }) => mark.closest("a")?.textContent?.replace(".acme.example", "") ?? ""),
    );
    const days = "old: -12,,login: 3,,shop: 20,,login: 80,,*.apps: 180,*.apps: 180,,partners: 700";
    assert.equal(marks.join().replaceAll(" days left", ""), days);
  });

  it("filters all tables by the words that are typed, and says how much is left", async () => {
    await open(await usualAccount());
    const headings = await visible("h2");
    assert.deepEqual(headings.slice(0, 2), ["Certificates 7", "Edges 6"]);
    await page.focus("input");
    await page.keyboard.type("LOGIN new");
    assert.deepEqual(await visible("main tbody tr td:first-child bdi"), [
      ...["login.acme.example", "from the new authority", "environment: production, owner: web"],
    ]);
    assert.deepEqual(await visible("h2, [role=status]"), ["1 of 21 rows", "Certificates 1 of 7"]);
    assert.equal((await visible(".timeline a")).length, 1);
    for (let key = 0; key < 9; key++) await page.keyboard.press("Backspace");
    assert.deepEqual(await visible("h2, [role=status]"), ["", ...headings]);
    assert.equal((await visible("main tbody tr")).length, 21);
  });

  it("C90 shows what others wrote as text, obeys none of it, and fits it in", async () => {
    await open(await hostileAccount(), 390);
    const firsts = await page.$$eval("[aria-labelledby=edges] td:first-child", (cells) =>
      cells.map((cell) => cell.querySelector("bdi")?.textContent),
    );
    assert.deepEqual(firsts.sort(), hostile.map(shown).sort());
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

  it("C90 runs and loads nothing that got into it", async () => {
    const foreign = "<script>window.hacked = 1</script><img src='https://localhost:1'>";
    await open(largeAccount(1), 1280, "light", foreign);
    assert.equal(await page.evaluate(() => "hacked" in window), false);
    const isPolicy = complaints.map((text) => text.includes("Content Security Policy"));
    assert.deepEqual(isPolicy, [true, true]);
    // Without its script the page shows all, and no filter.
    assert.match(statusHtml(statusOf(largeAccount(1), now)), /<search hidden>/);
    assert.equal((await visible("search")).length, 1);
  });

  it("is not high with 300 certificates", async () => {
    await open(largeAccount(300));
    const height = await page.$eval(".timeline", (svg) => svg.getBoundingClientRect().height);
    assert.ok(height < 250, `${height} px`);
  });
});
