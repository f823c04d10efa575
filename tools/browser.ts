import { accessSync, constants } from "node:fs";
import path from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The program of a Chromium: `CHROME_PATH`, or the first on `PATH`. Undefined when there is none. */
export function findChromium(): string | undefined {
  const { CHROME_PATH, PATH = "" } = process.env;
  const folders = PATH.split(path.delimiter).filter(Boolean);
  const onPath = folders.flatMap((folder) => names.map((name) => path.join(folder, name)));
  return CHROME_PATH || onPath.find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
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
