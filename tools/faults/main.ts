import { parseArgs } from "node:util";
import { playCommandLine, usualCommandLineRuns } from "./cli.ts";
import { withoutReconciliation } from "./control.ts";
import { crashes } from "./crashes.ts";
import { type Part, parts, writePart } from "./document.ts";
import { cellOf } from "./draw.ts";
import { linkModules, newFolder } from "./folders.ts";
import { type Played, playAll, usualRuns } from "./matrix.ts";
import { commandLinePart, matrixPart } from "./report.ts";
import { thinCells } from "./table.ts";

const usage = `npm run test:faults [-- OPTIONS]

Lets faults strike the service while resources are made, read, updated and deleted, counts what is
left, and writes docs/reliability.md. Exits with 1 when a promise is broken.

  --only PART   only matrix (the provider over its protocol), cli (the engine) or crashes (what
                is killed, at fixed points); default: all
  --runs N      how many runs; default: ${usualRuns} of the matrix, ${usualCommandLineRuns} of the cli
  --seed N      what decides the runs; default: a new one, which is printed
  --run N       run number N of the seed alone, and write nothing
  --check       write nothing
  --help        this text`;

/** What the command line says. */
interface Options {
  seed: number;
  runs?: number;
  run?: number;
  writes: boolean;
}

/** What a part found: its place in the document, and what was broken. */
interface Found {
  markdown: string;
  broken: string[];
}

const makers: Record<Part, (options: Options) => Promise<Found>> = { matrix, cli, crashes: killed };

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
    runs: wholeNumber("runs", values.runs),
    run: wholeNumber("run", values.run),
    writes: !values.check && values.run === undefined,
  };
  console.log(`seed ${options.seed}`);
  let code = 0;
  for (const part of chosen) {
    const { markdown, broken } = await makers[part](options);
    for (const promise of broken) console.error(`broken: ${promise}`);
    if (broken.length > 0) code = 1;
    if (options.writes) await writePart(part, markdown);
  }
  return code;
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} takes a whole number`);
  return Number(text);
}

async function matrix({ seed, runs = usualRuns, run, writes }: Options): Promise<Found> {
  const started = Date.now();
  const numbers = run === undefined ? Array.from({ length: runs }, (_, n) => n) : [run];
  const product = await newFolder();
  await linkModules(product);
  const told = progress("matrix", numbers.length);
  const played = await playAll({ seed, numbers, folder: product, tell: told });
  const creates = numbers.filter((number) => cellOf(seed, number).operation === "create");
  const tell = progress("with reconciliation switched off", creates.length);
  const folder = await withoutReconciliation();
  const control = await playAll({ seed, numbers: creates, folder, tell });
  const broken = [
    ...played.flatMap((one) =>
      one.broken.map((text) => `${text}\n  ${repeat("matrix", seed, one)}`),
    ),
    ...(writes ? thinCells(played) : []),
    ...controlShows(played, control),
  ];
  console.log(`matrix: ${played.length} runs, ${broken.length} promises broken`);
  return { broken, markdown: matrixPart(seed, played, control, minutes(started)) };
}

async function cli({ seed, runs = usualCommandLineRuns, run }: Options): Promise<Found> {
  const started = Date.now();
  const numbers = run === undefined ? Array.from({ length: runs }, (_, n) => n) : [run];
  const played = await playCommandLine(seed, numbers, progress("cli", numbers.length));
  const broken = played.runs.flatMap((one) =>
    one.broken.map((text) => `${text}\n  ${repeat("cli", seed, one)}`),
  );
  console.log(`cli: ${played.runs.length} runs, ${broken.length} promises broken`);
  return { broken, markdown: commandLinePart(seed, played, minutes(started)) };
}

/** No seed decides these: their points are fixed. */
async function killed(): Promise<Found> {
  const { markdown, broken } = await crashes();
  console.log(`crashes: ${broken.length} promises broken`);
  return { broken, markdown: `## Crashes\n\n${markdown}` };
}

/** Runs that can't fail would show nothing: where the product found something, it must be missed. */
function controlShows(played: Played[], control: Played[]): string[] {
  const seen = control.filter(({ duplicates, silent }) => duplicates + silent.length > 0);
  console.log(
    `with reconciliation switched off: ${control.length} runs, ${seen.length} left what nobody wants`,
  );
  if (seen.length > 0 || played.every(({ outcome }) => outcome !== "adopted")) return [];
  return ["with reconciliation switched off nothing was made twice: these runs show nothing"];
}

function repeat(part: Part, seed: number, { number }: { number: number }): string {
  return `npm run test:faults -- --only ${part} --seed ${seed} --run ${number}`;
}

function progress(what: string, all: number): () => void {
  let done = 0;
  return () => {
    done += 1;
    if (!process.stderr.isTTY) return;
    process.stderr.write(`\r${what}: ${done} of ${all}${done === all ? "\n" : ""}`);
  };
}

function minutes(started: number): string {
  return `${Math.ceil((Date.now() - started) / 60_000)} minutes`;
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
