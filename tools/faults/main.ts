import { parseArgs } from "node:util";
import { playCases } from "./cases.ts";
import { crashes } from "./crashes.ts";
import { type Part, parts, sequencesPart, writePart } from "./document.ts";
import { linkModules, newFolder } from "./folders.ts";
import { type Played, playAll } from "./sequences.ts";

const usualRuns = 1000;

const usage = `npm run test:faults [-- OPTIONS]

Lets faults strike the service while resources are made, read, updated and deleted, compares what
the service has with what the states hold, and writes docs/reliability.md. Exits with 1 when a
promise is broken.

  --only PART   only sequences (drawn), cases (fixed) or crashes (what is killed at fixed points,
                on the real engine); default: all
  --runs N      how many sequences; default: ${usualRuns}
  --seed N      what decides the sequences; default: a new one, which is printed
  --run N       sequence N of the seed, or crash N, alone; writes nothing
  --check       writes nothing
  --help        this text`;

/** What the command line says. */
interface Options {
  seed: number;
  runs: number;
  run?: number;
}

/** What a part found: its place in the document, and what was broken. */
interface Found {
  markdown: string;
  broken: string[];
}

const makers: Record<Part, (options: Options) => Promise<Found>> = {
  sequences,
  async cases() {
    const { markdown, broken } = await playCases(await program());
    return { markdown: `## Cases\n\n${markdown}`, broken };
  },
  async crashes({ run }) {
    const { markdown, broken } = await crashes(run);
    return { markdown: `## Crashes\n\n${markdown}`, broken };
  },
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      runs: { type: "string" },
      seed: { type: "string" },
      run: { type: "string" },
      check: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const chosen = parts.filter((part) => !values.only || part === values.only);
  if (chosen.length === 0) throw new Error(`--only takes ${parts.join(" or ")}`);
  const options: Options = {
    seed: wholeNumber("seed", values.seed) ?? Math.trunc(Date.now() / 1000) % 1_000_000,
    runs: wholeNumber("runs", values.runs) ?? usualRuns,
    run: wholeNumber("run", values.run),
  };
  console.log(`seed ${options.seed}`);
  let code = 0;
  for (const part of chosen) {
    const { markdown, broken } = await makers[part](options);
    for (const promise of broken) console.error(`broken: ${promise}`);
    console.log(`${part}: ${broken.length} promises broken`);
    if (broken.length > 0) code = 1;
    if (!values.check && options.run === undefined) await writePart(part, markdown);
  }
  return code;
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} takes a whole number`);
  return Number(text);
}

async function sequences({ seed, runs, run }: Options): Promise<Found> {
  const started = Date.now();
  const numbers = run === undefined ? Array.from({ length: runs }, (_, n) => n) : [run];
  let done = 0;
  const tell = () => {
    done += 1;
    if (!process.stderr.isTTY) return;
    process.stderr.write(`\r${done} of ${numbers.length}${done === numbers.length ? "\n" : ""}`);
  };
  const played = await playAll({ seed, numbers, folder: await program(), tell });
  const broken = played.flatMap((one) =>
    one.broken.map(({ promise, text }) => `${promise}: ${text}\n  ${told(seed, one)}`),
  );
  console.log(
    `${played.length} sequences, ${played.filter((one) => one.broken.length > 0).length} of them broke a promise`,
  );
  const minutes = Math.ceil((Date.now() - started) / 60_000);
  return { broken, markdown: sequencesPart(seed, played, minutes) };
}

/** What struck a run, and how to repeat it. */
function told(seed: number, { number, struck, killed }: Played): string {
  const met = [...struck, ...(killed ? [`${killed} killed`] : [])].join("; ");
  return `${met}\n  npm run test:faults -- --only sequences --seed ${seed} --run ${number}`;
}

/** A folder from which the built package is found. */
async function program(): Promise<string> {
  const folder = await newFolder();
  await linkModules(folder);
  return folder;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
