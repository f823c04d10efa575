import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { linkModules, newFolder } from "./folders.ts";

/** Where a create looks for what a lost request has made: the one place, and what replaces it. */
const looking = /const found = await this\.#lookFor\([^;]*\);/;
const notLooking = "const found = undefined;";

/**
 * A folder from which a copy of the built package is found that never looks for what a lost create
 * has made, but asks again. There is no such option in the product, on purpose.
 */
export async function withoutReconciliation(): Promise<string> {
  const folder = await newFolder();
  // Outside of the program's folder, for what the copy itself depends on.
  await linkModules(folder);
  const program = path.join(folder, "program");
  const copy = path.join(program, "node_modules", "pulumi-tlsedge");
  await mkdir(copy, { recursive: true });
  for (const name of ["dist", "package.json"]) {
    await cp(path.join(process.cwd(), name), path.join(copy, name), { recursive: true });
  }
  await patch(path.join(copy, "dist", "provider", "createOnce.js"));
  return program;
}

async function patch(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  if (text.split(looking).length !== 2) {
    throw new Error("createOnce does not look for what was lost where it did: mend control.ts");
  }
  await writeFile(file, text.replace(looking, notLooking));
}
