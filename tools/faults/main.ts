import { Option, program } from "commander";
import { wholeNumber } from "../command";
import type { Protocol } from "../protocol";
import { runCrashes } from "./crashes";
import { countBroken, type Numbered, runSequences, totalsOf } from "./sequences";

/** What can be run; each gives its totals and the promises that were broken. */
const parts = {
  sequences,
  crashes: ({ protocol, run }: Options) => runCrashes(protocol, run),
};

interface Options {
  only?: keyof typeof parts;
  protocol: Protocol;
  seed: number;
  runs: number;
  /** The only sequence or crash to run. */
  run?: number;
}

const parse = (): Options =>
  program
    .name("npm run test:faults --")
    .description(`Makes requests fail, and compares the objects on the service with the states.
Prints the totals for docs/performance.md. Exits with 1 when a promise is broken.`)
    .addOption(
      new Option(
        "--only <part>",
        "sequences are drawn; in crashes, processes are killed at fixed points, on the real engine",
      ).choices(Object.keys(parts)),
    )
    .addOption(
      new Option("--protocol <protocol>").choices(["dynamic", "plugin"]).default("dynamic"),
    )
    .option("--runs <n>", "how many sequences; fewer prove too little", wholeNumber, 1000)
    .option("--seed <n>", "decides the sequences", wholeNumber, Date.now() % 1_000_000)
    .option("--run <n>", "only sequence N of the seed, or only crash N", wholeNumber)
    .parse()
    .opts();

async function main(): Promise<void> {
  const options = parse();
  console.log(`seed ${options.seed}`);
  for (const part of options.only ? [options.only] : (["sequences", "crashes"] as const)) {
    const { totals, broken } = await parts[part](options);
    for (const text of broken) console.error(`broken: ${text}`);
    for (const [row, count] of totals) console.log(`| ${row} | ${count} |`);
    console.log(`${part}: ${broken.length} promises broken`);
    if (broken.length > 0) process.exitCode = 1;
  }
}

async function sequences({ protocol, seed, runs, run }: Options) {
  const started = Date.now();
  const numbers = run === undefined ? Array.from({ length: runs }, (_, n) => n) : [run];
  const results = await runSequences(seed, numbers, protocol);
  const broken = results.flatMap((one) =>
    one.broken.map(({ promise, text }) => `${promise}: ${text}\n  ${describe(seed, one)}`),
  );
  for (const [promise, count] of countBroken(results)) console.log(`${promise}: ${count} runs`);
  const minutes = Math.ceil((Date.now() - started) / 60_000);
  return { broken, totals: totalsOf(seed, results, minutes) };
}

/** The faults of a run, and the command that repeats it. */
function describe(seed: number, { number, metFaults, words, killed }: Numbered): string {
  const faults = [...metFaults, ...words, ...(killed ? [`${killed} killed`] : [])].join("; ");
  return `${faults}\n  npm run test:faults -- --only sequences --seed ${seed} --run ${number}`;
}

main();
