import path from "node:path";
import { parseArgs } from "node:util";
import { runTool, UsageError, wholeNumber } from "../command";
import { repository } from "../folders";
import { writePart } from "../markdown";
import type { Door } from "../protocol";
import { runCrashes } from "./crashes";
import { countBroken, type Numbered, runSequences, sequencesPart } from "./sequences";

const defaultRuns = "1000";

const usage = `npm run test:faults [-- OPTIONS]

Makes requests fail while resources are created, read, updated and deleted, compares the objects on
the service with the states, and writes docs/reliability.md. Exits with 1 when a promise is broken.

  --only PART   only sequences (drawn) or crashes (processes that are killed at fixed points, on the
                real engine); default: both
  --runs N      how many sequences; default: ${defaultRuns}
  --seed N      decides the sequences; default: a new one, which is printed
  --run N       only sequence N of the seed, or only crash N; writes nothing
  --door DOOR   dynamic or plugin, for sequences and crashes; default: dynamic
  --package DIR runs the sequences with the package and the plugin of another checkout, installed and
                built; writes nothing
  --check       writes nothing
  --help        prints this text`;

interface Options {
  door: Door;
  seed: number;
  runs: number;
  /** The only sequence or crash to run. */
  run?: number;
  /** The checkout that is run; default: this one. */
  folder?: string;
}

/** The parts of the document; each gives its Markdown and the promises that were broken. */
const parts = {
  sequences,
  crashes: ({ door, run }: Options) => runCrashes(door, run),
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      runs: { type: "string", default: defaultRuns },
      seed: { type: "string", default: String(Math.trunc(Date.now() / 1000) % 1_000_000) },
      run: { type: "string" },
      door: { type: "string", default: "dynamic" },
      package: { type: "string" },
      check: { type: "boolean", default: false },
    },
  });
  const chosen = Object.entries(parts).filter(([part]) => !values.only || part === values.only);
  const names = Object.keys(parts).join(" or ");
  if (chosen.length === 0) throw new UsageError(`--only takes ${names}`);
  if (!isDoor(values.door)) throw new UsageError("--door takes dynamic or plugin");
  const options: Options = {
    door: values.door,
    seed: wholeNumber("--seed", values.seed, 0, 999_999_999),
    runs: wholeNumber("--runs", values.runs, 1, 1_000_000),
    ...(values.package && { folder: path.resolve(values.package) }),
    ...(values.run && { run: wholeNumber("--run", values.run, 0, 1_000_000) }),
  };
  console.log(`seed ${options.seed}`);
  let code = 0;
  for (const [part, run] of chosen) {
    const { markdown, broken } = await run(options);
    for (const text of broken) console.error(`broken: ${text}`);
    console.log(`${part}: ${broken.length} promises broken`);
    if (broken.length > 0) code = 1;
    if (values.check || options.run !== undefined || options.folder) continue;
    const file = path.join(repository, "docs", "reliability.md");
    const name = values.door === "plugin" ? `${part} of the plugin` : part;
    await writePart(file, "Reliability", name, markdown);
  }
  return code;
}

const isDoor = (text: string): text is Door => ["dynamic", "plugin"].includes(text);

async function sequences({ door, seed, runs, run, folder }: Options) {
  const started = Date.now();
  const numbers = run === undefined ? Array.from({ length: runs }, (_, n) => n) : [run];
  const results = await runSequences(seed, numbers, door, folder);
  const broken = results.flatMap((one) =>
    one.broken.map(({ promise, text }) => `${promise}: ${text}\n  ${describe(seed, one)}`),
  );
  const breaking = results.filter((one) => one.broken.length > 0).length;
  console.log(`${results.length} sequences, ${breaking} of them broke a promise`);
  for (const [promise, count] of countBroken(results)) console.log(`${promise}: ${count} runs`);
  console.log(`at most ${Math.max(...results.map(({ ups }) => ups))} ups until all was created`);
  const minutes = Math.ceil((Date.now() - started) / 60_000);
  return { broken, markdown: sequencesPart(seed, results, minutes, door) };
}

/** The faults of a run, and the command that repeats it. */
function describe(seed: number, { number, struck, words, killed }: Numbered): string {
  const faults = [...struck, ...words, ...(killed ? [`${killed} killed`] : [])].join("; ");
  return `${faults}\n  npm run test:faults -- --only sequences --seed ${seed} --run ${number}`;
}

runTool(usage, main);
