import { appendFile, cp, mkdir } from "node:fs/promises";
import path from "node:path";
import { linkModules, newFolder } from "./folders.ts";
import { playAll } from "./sequences.ts";

/**
 * A folder from which a copy of the built package is found that sees nothing in the lists of the
 * service, and so makes again what was lost. There is no such option in the product, on purpose.
 */
async function blind(): Promise<string> {
  const folder = await newFolder();
  // Outside of the program's folder, for what the copy itself depends on.
  await linkModules(folder);
  const program = path.join(folder, "program");
  const copy = path.join(program, "node_modules", "pulumi-tlsedge");
  await mkdir(copy, { recursive: true });
  for (const name of ["dist", "package.json"]) {
    await cp(path.join(process.cwd(), name), path.join(copy, name), { recursive: true });
  }
  for (const kind of ["tlsEdge", "tlsCertificate"]) {
    const nothing = `\nexports.${kind}s.list = async function* () {};\n`;
    await appendFile(path.join(copy, "dist", "client", `${kind}.js`), nothing);
  }
  return program;
}

/** Runs that can't fail show nothing: the copy must break promises. A test runs this file. */
async function main(): Promise<void> {
  const numbers = Array.from({ length: 24 }, (_, number) => number);
  const folder = await blind();
  const played = await playAll({ seed: 1, numbers, folder, tell: () => undefined });
  const broken = new Set(played.flatMap((run) => run.broken.map(({ promise }) => promise)));
  console.log(JSON.stringify([...broken]));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
