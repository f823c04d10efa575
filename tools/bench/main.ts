import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { runTool, wholeNumber } from "../command";
import { writePart } from "../markdown";
import { findOrBuildPulumi } from "../pulumi";
import { Bench } from "./bench";
import { charts, report } from "./report";
import { kinds } from "./results";
import { Stacks } from "./stacks";

const usage = `npm run bench [-- OPTIONS]

Measures this package on the real engine, beside a provider that does nothing and stores the same
(the floor), a conventional dynamic provider and a stand-in for a bridged provider, which needs Go.
Writes the table in performance.md and the charts in performance.svg.

  --n LIST       sizes of the stacks (default 100,500)
  --runs N       how often each is measured (default 3)
  --minutes N    no run begins that would end later (default 25)
  --out FOLDER   where to write (default docs)
  --help         prints this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      n: { type: "string", default: "100,500" },
      runs: { type: "string", default: "3" },
      minutes: { type: "string", default: "25" },
      out: { type: "string", default: "docs" },
    },
  });
  const sizes = values.n.split(",").map((text) => wholeNumber("--n", text, 1, 10_000));
  const runs = wholeNumber("--runs", values.runs, 1, 100);
  const mostMinutes = wholeNumber("--minutes", values.minutes, 1, 6000);
  const file = path.resolve(values.out, "performance.md");
  const [load = 0] = loadavg();
  const started = performance.now();
  const minutes = () => (performance.now() - started) / 60_000;
  const log = (text: string) => console.error(`${minutes().toFixed(1).padStart(5)} min  ${text}`);
  const cli = await findOrBuildPulumi();
  const bench = new Bench(await Stacks.make(Math.max(...sizes)), log);
  await bench.prepare();
  let length = 0;
  for (let run = 0; run < runs && minutes() + length <= mostMinutes; run++) {
    const begun = minutes();
    for (const n of sizes) {
      for (const kind of kinds) {
        await bench.run(kind, n, run);
        // Write after each run, so that an interrupted benchmark leaves its results.
        const markdown = report(bench.measured, cli, load);
        await writePart(file, "Performance", "measured", markdown);
        await writeFile(file.replace(/md$/, "svg"), charts(bench.measured));
      }
    }
    length = minutes() - begun;
  }
  log(`written: ${file}`);
}

runTool(usage, main);
