/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { statusHtml } from "../../cli/html";
import { type Account, statusOf } from "../../cli/status";
import { type Browser, findChromium, type Page, startBrowser } from "../../tools/browser";
import { repository } from "../../tools/folders";
import { hostile, hostileAccount, largeAccount, now, shown, usualAccount } from "../accounts";
import { fileWith } from "../support";

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
  const widths = [360, 1280] as const;

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
    { width = 1280, theme = "light", script = true, failWithin = 14 } = {},
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
    const status = statusOf(account, now, failWithin);
    const file = pathToFileURL(fileWith(statusHtml(status), ".html")).href;
    await page.goto(file);
    return { page, complaints, requests, file };
  }

  /** The texts of the first line of the first cells in a table, as they stand. */
  const namesIn = (page: Page, part: string) =>
    page.$$eval(`table[aria-labelledby="${part}"] tbody tr:not([hidden]) td:first-child`, (cells) =>
      cells.map((cell) => cell.querySelector("bdi")?.textContent),
    );

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
        const left = await page.$eval("td + td", (td) => td.getBoundingClientRect().left);
        assert.equal(left < 100, width === 360, "a phone shows cards");
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

  it("has the certificates first, then the edges, and shows all without its script", async () => {
    const { page } = await open(await usualAccount(), { script: false });
    const headings = await page.$$eval("h2", (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(headings.slice(0, 2), ["Certificates 7", "Edges 6"]);
    const cells = await page.$$eval("#id-cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk td", (all) =>
      all.map((td) => [...td.children].map(({ textContent }) => textContent)),
    );
    assert.deepEqual(cells, [
      [
        "login.acme.example",
        "from the old authority",
        "environment: production, owner: web",
        "cert_hmeYjgq4PyCXPrkCjTJDxWNBDlk",
      ],
      ["2026-03-05, 3 days, due"],
      ["login.acme.example:443"],
    ]);
    assert.equal(await lostLinks(page), 0);
    assert.equal(await page.$eval("input", (input) => input.checkVisibility()), false);
  });

  for (const width of widths) {
    it(`has each certificate in its place on the timeline at ${width} px`, async () => {
      const { page } = await open(await usualAccount(), { width });
      /** The middle of each element, from left to right. */
      const places = async (selector: string) => {
        const found = await page.$$eval(selector, (elements) =>
          elements.map((element) => {
            const { left, width } = element.getBoundingClientRect();
            return { name: element.closest("a")?.textContent, at: left + width / 2 };
          }),
        );
        return found.sort((a, b) => a.at - b.at);
      };
      const dots = await places(".timeline use");
      const [today = 0, week = 0, month = 0, quarter = 0, year = 0] = (
        await places(".timeline .tick[y2]:not([y1])")
      ).map(({ at }) => at);
      const between = (from: number, to: number) =>
        dots.filter(({ at }) => at > from && at < to).map(({ name }) => name?.trim());
      assert.deepEqual(between(0, today), ["old.acme.example: -12 days left"]);
      assert.deepEqual(between(today, week), ["login.acme.example: 3 days left"]);
      assert.deepEqual(between(week, month), ["shop.acme.example: 20 days left"]);
      assert.deepEqual(between(month, quarter), ["login.acme.example: 80 days left"]);
      const wildcards = [
        "*.apps.acme.example: 180 days left",
        "*.apps.acme.example: 180 days left",
      ];
      assert.deepEqual(between(quarter, year), wildcards);
      assert.deepEqual(between(year, width), ["partners.acme.example: 700 days left"]);
    });
  }

  it("filters all tables with the keyboard, and says how much is left", async () => {
    const { page } = await open(await usualAccount());
    await page.keyboard.press("Tab");
    await page.keyboard.type("LOGIN new");
    assert.deepEqual(await namesIn(page, "certificates"), ["login.acme.example"]);
    assert.deepEqual(await namesIn(page, "edges"), []);
    const said = () => page.$eval("[role=status]", ({ textContent }) => textContent);
    assert.equal(await said(), "1 of 21 rows");
    const dots = await page.$$eval(".timeline a", (all) => all.filter((a) => a.checkVisibility()));
    assert.equal(dots.length, 1);
    for (let key = 0; key < 9; key++) await page.keyboard.press("Backspace");
    assert.equal((await namesIn(page, "certificates")).length, 7);
    assert.equal(await said(), "");
  });

  it("C90 shows what others wrote as text, and obeys none of it", async () => {
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
        (a) => !a.getAttribute("href")?.startsWith("#id-"),
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
    assert.equal(
      await tab.$eval("search", (one) => one.checkVisibility()),
      true,
      "its own script runs",
    );
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
