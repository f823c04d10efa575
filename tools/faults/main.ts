import { version } from "@pulumi/pulumi/version";
import { Option, program } from "commander";
import { wholeNumber } from "../command";
import { runCrashes } from "./crashes";
import { type Options, runSequences } from "./sequences";

const parts = { sequences: runSequences, crashes: runCrashes };

const { only, ...options }: Options & { only?: keyof typeof parts } = program
  .name("npm run test:faults --")
  .description(`Makes requests fail, and compares the objects on the service with the states.
Prints the totals for docs/performance.md, and for a promise that is broken how to repeat it.`)
  .addOption(
    new Option(
      "--only <part>",
      "sequences are drawn; crashes kill at fixed points of the real engine",
    ).choices(Object.keys(parts)),
  )
  .addOption(new Option("--protocol <name>").choices(["dynamic", "plugin"]).default("dynamic"))
  .option("--runs <n>", "how many sequences; fewer prove too little", wholeNumber, 300)
  .option("--seed <n>", "of the first; the next one has the next", wholeNumber, Date.now() % 1e6)
  .option("--shrink <minutes>", "how long a failing sequence is made smaller", wholeNumber, 3)
  .option("--path <path>", "with --runs 1: the smaller sequence that a failure has printed")
  .parse()
  .opts();

async function main(): Promise<void> {
  for (const part of only ? [only] : (["sequences", "crashes"] as const)) {
    const since = Date.now();
    const { broken, totals } = await parts[part](options);
    const minutes = ((Date.now() - since) / 60_000).toFixed(1);
    for (const text of broken) console.error(`broken: ${text}\n`);
    const versions = { "@pulumi/pulumi": version, "Node.js": process.versions.node };
    const rows = { ...totals, broken: broken.length, seed: options.seed, minutes, ...versions };
    for (const [row, count] of Object.entries(rows)) console.log(`| ${row} | ${count} |`);
    if (broken.length > 0) process.exitCode = 1;
  }
}

main();
