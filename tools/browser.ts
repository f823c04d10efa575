import { findProgram, pathFolders } from "./pulumi";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The program of a Chromium: `CHROME_PATH`, or the first on `PATH`. Undefined when there is none. */
export async function findChromium(): Promise<string | undefined> {
  const folders = pathFolders(process.env);
  const onPath = await Promise.all(names.map((name) => findProgram(name, folders)));
  return process.env.CHROME_PATH || onPath.find((found) => found);
}

/** Starts a browser without a window. It asks no other machine for anything by itself. */
export async function startBrowser(executablePath: string) {
  // The library is an ES module.
  const { launch } = await import("puppeteer-core");
  const quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run"];
  // Chromium refuses its sandbox to root, who runs the tests in containers.
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return launch({ executablePath, args: [...quiet, ...asRoot] });
}

/** A browser that was started. */
export type Browser = Awaited<ReturnType<typeof startBrowser>>;

/** A page of a browser. */
export type Page = Awaited<ReturnType<Browser["newPage"]>>;
