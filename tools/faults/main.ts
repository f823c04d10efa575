import { parseArgs } from "node:util";
import { runTool, UsageError, wholeNumber } from "../command";
import type { Door } from "../protocol";
import { runCrashes } from "./crashes";
import { countBroken, type Numbered, runSequences, totalsOf } from "./sequences";

/** Fewer sequences prove too little for docs/performance.md. */
const defaultRuns = 1000;

const usage = `npm run test:faults [-- OPTIONS]

Makes requests fail while resources are created, read, updated and deleted, compares the objects on
the service with the states, and prints the totals for docs/performance.md. Exits with 1 when a
promise is broken.

  --only PART   only sequences (drawn) or crashes (processes that are killed at fixed points, on the
                real engine); default: both
  --runs N      how many sequences; default: ${defaultRuns}
  --seed N      decides the sequences; default: a new one, which is printed
  --run N       only sequence N of the seed, or only crash N
  --door DOOR   dynamic or plugin, for sequences and crashes; default: dynamic
  --help        prints this text`;

interface Options {
  door: Door;
  seed: number;
  runs: number;
  /** The only sequence or crash to run. */
  run?: number;
}

/** What can be run; each gives its totals and the promises that were broken. */
const parts = {
  sequences,
  crashes: ({ door, run }: Options) => runCrashes(door, run),
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      runs: { type: "string", default: String(defaultRuns) },
      seed: { type: "string", default: String(Math.trunc(Date.now() / 1000) % 1_000_000) },
      run: { type: "string" },
      door: { type: "string", default: "dynamic" },
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
    ...(values.run && { run: wholeNumber("--run", values.run, 0, 1_000_000) }),
  };
  console.log(`seed ${options.seed}`);
  let code = 0;
  for (const [part, run] of chosen) {
    const { totals, broken } = await run(options);
    for (const text of broken) console.error(`broken: ${text}`);
    for (const [row, count] of totals) console.log(`| ${row} | ${count} |`);
    console.log(`${part}: ${broken.length} promises broken`);
    if (broken.length > 0) code = 1;
  }
  return code;
}

const isDoor = (text: string): text is Door => text === "dynamic" || text === "plugin";

async function sequences({ door, seed, runs, run }: Options) {
  const started = Date.now();
  const numbers = run === undefined ? Array.from({ length: runs }, (_, n) => n) : [run];
  const results = await runSequences(seed, numbers, door);
  const broken = results.flatMap((one) =>
    one.broken.map(({ promise, text }) => `${promise}: ${text}\n  ${describe(seed, one)}`),
  );
  for (const [promise, count] of countBroken(results)) console.log(`${promise}: ${count} runs`);
  const minutes = Math.ceil((Date.now() - started) / 60_000);
  return { broken, totals: totalsOf(seed, results, minutes) };
}

/** The faults of a run, and the command that repeats it. */
function describe(seed: number, { number, struck, words, killed }: Numbered): string {
  const faults = [...struck, ...words, ...(killed ? [`${killed} killed`] : [])].join("; ");
  return `${faults}\n  npm run test:faults -- --only sequences --seed ${seed} --run ${number}`;
}

runTool(usage, main);
