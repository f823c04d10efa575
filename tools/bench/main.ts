import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { version as pulumiSdk } from "@pulumi/pulumi/version.js";
import { findOrBuildPulumi, type PulumiCli } from "../pulumi.ts";
import { Bench } from "./bench.ts";
import { report } from "./report.ts";
import { type Cell, type Kind, kinds, type Phase, phases, type Results } from "./results.ts";
import { makeStacks } from "./stacks.ts";

const usage = `npm run bench [-- OPTIONS]

Measures this package on the real engine, beside a provider that does nothing and stores the same
(the floor) and a conventional dynamic provider, and writes performance.md and performance.json.

  --n LIST         sizes of the stack (default 100,500)
  --latency LIST   milliseconds by which the service is late (default 20)
  --limit LIST     requests a minute that the service admits, or none (default none)
  --kinds LIST     of ${kinds.join(", ")} (default both)
  --phases LIST    of ${phases.join(", ")}
                   (default all; under a limit create, refresh)
  --runs N         how often each is measured (default 3)
  --minutes N      begin no run of which it is known that it would end later (default 22)
  --out FOLDER     where to write (default docs)
  --add            go on from what is written there: more sizes, or more runs of the same
  --help           print this

The create runs in any case. The whole grid, for hours:
  npm run bench -- --n 1,100,500,1000 --latency 0,20,100 --limit none,120 --minutes 600`;

class UsageError extends Error {}

const defaults = {
  n: "100,500",
  latency: "20",
  limit: "none",
  kinds: kinds.join(","),
  phases: "",
  runs: "3",
  minutes: "22",
  out: "docs",
};

function readCommand() {
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const { values } = parseArgs({
    options: {
      n: text(defaults.n),
      latency: text(defaults.latency),
      limit: text(defaults.limit),
      kinds: text(defaults.kinds),
      phases: text(defaults.phases),
      runs: text(defaults.runs),
      minutes: text(defaults.minutes),
      out: text(defaults.out),
      add: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  const given = Object.keys(defaults) as (keyof typeof defaults)[];
  const said = given
    // Where the results went says nothing of them.
    .filter((name) => name !== "out" && values[name] !== defaults[name])
    .map((name) => `--${name} ${values[name]}`)
    .concat(values.add ? ["--add"] : []);
  return {
    help: values.help,
    /** As a person would repeat it. */
    line: ["npm run bench", ...(said.length > 0 ? ["--", ...said] : [])].join(" "),
    sizes: values.n.split(",").map((text) => whole("--n", text, 1, 10_000)),
    latencies: values.latency.split(",").map((text) => whole("--latency", text, 0, 10_000)),
    limits: values.limit
      .split(",")
      .map((text) => (text === "none" ? undefined : whole("--limit", text, 1, 1_000_000))),
    kinds: among<Kind>("--kinds", kinds, values.kinds),
    phases: values.phases ? among("--phases", phases, values.phases) : undefined,
    runs: whole("--runs", values.runs, 1, 100),
    minutes: whole("--minutes", values.minutes, 1, 6000),
    out: path.resolve(values.out),
    add: values.add,
  };
}

function whole(option: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${option} takes whole numbers from ${least} to ${most}, not "${text}"`);
}

/** Named by a person, in the order in which they run. */
function among<T extends string>(option: string, known: readonly T[], text: string): T[] {
  const named = text.split(",");
  const stray = named.find((name) => !known.some((other) => other === name));
  if (stray !== undefined)
    throw new UsageError(`${option} knows no "${stray}": ${known.join(", ")}`);
  return known.filter((name) => named.includes(name));
}

/** Under a limit the phases with a request for each resource are all alike: one is measured. */
function phasesUnder(limit: number | undefined, asked: Phase[] | undefined): Phase[] {
  return asked ?? (limit ? ["create", "refresh"] : [...phases]);
}

async function main(): Promise<void> {
  const command = readCommand();
  if (command.help) return console.log(usage);
  const cli = await findOrBuildPulumi();
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "tlsedge-bench-")));
  const started = performance.now();
  const minutes = () => (performance.now() - started) / 60_000;
  const say = (text: string) => console.error(`${minutes().toFixed(1).padStart(5)} min  ${text}`);
  try {
    const machine = describe(cli);
    const before = command.add ? await readResults(command.out, machine) : undefined;
    const [load = 0] = loadavg();
    const commands = [...(before?.commands ?? []), { line: command.line, load }];
    const stacks = await makeStacks(Math.max(...command.sizes));
    const bench = new Bench(folder, cli, stacks, say);
    const startup = await bench.record();
    const asked = cellsOf(command);
    const known = new Map((before?.cells ?? []).map((cell) => [keyOf(cell), cell]));
    const cells = asked.map((cell) => known.get(keyOf(cell)) ?? cell);
    const all = [...new Set([...known.values(), ...cells])].sort(byPlace);
    const results: Results = { machine, commands, startup, cells: all };
    const lengths = new Map<Cell, number>();
    for (const cell of Array(command.runs).fill(cells).flat() as Cell[]) {
      const begun = minutes();
      if (begun + (lengths.get(cell) ?? 0) > command.minutes) continue;
      await bench.run(cell, phasesUnder(cell.limit, command.phases));
      lengths.set(cell, minutes() - begun);
      // After each, so that what was measured is there whatever comes.
      await write(command.out, results);
    }
    say(`written: ${path.join(command.out, "performance.md")}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function cellsOf({ sizes, latencies, limits, kinds }: ReturnType<typeof readCommand>): Cell[] {
  const unmeasured = () => ({ runs: 0, phases: {}, state: {} });
  return sizes.flatMap((n) =>
    latencies.flatMap((latencyMs) =>
      limits.flatMap((limit) =>
        kinds.map((kind) => ({ kind, n, latencyMs, limit, ...unmeasured() })),
      ),
    ),
  );
}

/** Nothing that names the machine. */
function describe(cli: PulumiCli): Results["machine"] {
  const node = process.version.slice(1);
  return { cores: availableParallelism(), node, pulumiCli: cli.version, pulumiSdk };
}

async function readResults(folder: string, machine: Results["machine"]): Promise<Results> {
  const file = path.join(folder, "performance.json");
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) throw new UsageError(`--add: there is no ${file} to go on from`);
  const results = JSON.parse(text) as Results;
  if (isDeepStrictEqual(results.machine, machine)) return results;
  throw new UsageError(`--add: ${file} is of another machine or of other versions`);
}

function keyOf({ kind, n, latencyMs, limit }: Cell): string {
  return [kind, n, latencyMs, limit].join();
}

/** What a person reads first: no limit, small stacks, little latency. */
function byPlace(a: Cell, b: Cell): number {
  return (
    (a.limit ?? 0) - (b.limit ?? 0) ||
    a.n - b.n ||
    a.latencyMs - b.latencyMs ||
    kinds.indexOf(a.kind) - kinds.indexOf(b.kind)
  );
}

async function write(folder: string, results: Results): Promise<void> {
  const rounded = (_key: string, value: unknown) =>
    typeof value === "number" ? Math.round(value * 1000) / 1000 : value;
  const json = JSON.stringify(results, rounded, 2);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "performance.json"), `${json}\n`);
  await writeFile(path.join(folder, "performance.md"), report(results));
}

main().catch((error: unknown) => {
  const isUsage =
    error instanceof UsageError ||
    String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS_");
  console.error(error instanceof Error ? error.message : error);
  if (isUsage) console.error(`\n${usage}`);
  process.exitCode = isUsage ? 2 : 1;
});
