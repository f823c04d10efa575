import { Option, program } from "commander";
import * as fc from "fast-check";
import { makeCertificate } from "../../emulator/server";
import { wholeNumber } from "../command";
import { linkModules, newFolder } from "../folders";
import type { Protocol } from "../protocol";
import { edits, replacements, runs as runsOf, setups } from "./draw";
import type { Command } from "./stack";
import { type Shared, World } from "./world";

interface Options {
  protocol: Protocol;
  seed: number;
  runs: number;
  shrink: number;
  path?: string;
}

const options: Options = program
  .name("npm run test:faults --")
  .description(`Draws sequences of commands in which requests fail and processes are killed, and compares the objects on
the service with the states. Prints what breaks a promise, made smaller, and exits with 1.`)
  .addOption(new Option("--protocol <protocol>").choices(["dynamic", "plugin"]).default("dynamic"))
  .option("--runs <n>", "how many sequences; fewer prove too little", wholeNumber, 300)
  .option("--seed <n>", "of the first; the next one has the next", wholeNumber, Date.now() % 1e6)
  .option("--shrink <minutes>", "how long a failing sequence is made smaller", wholeNumber, 3)
  .option("--path <path>", "with --runs 1: the smaller sequence that a failure has printed")
  .parse()
  .opts();

/** How many sequences run at a time: they spend most of their time waiting. */
const parallel = 6;
/** The commands that were drawn, the faults that met a request, and what they led to. */
const counts: Record<string, number> = {};

/** What decides whether a command is possible. */
type Seen = Pick<World, "isOver" | "isFinished">;

/** A command, with what it does to the world. Some are possible only when the program is deployed. */
const command = <T>(
  name: string,
  values: fc.Arbitrary<T>,
  run: (world: World, value: T) => unknown,
  needsAll = false,
): fc.Arbitrary<fc.AsyncCommand<Seen, World>> =>
  values.map((value) => ({
    check: ({ isOver, isFinished }) => !isOver && (isFinished || !needsAll),
    run: async (_, world) => {
      world.count(name);
      await run(world, value);
    },
    toString: () => `${name} ${JSON.stringify(value, (key, part) => (key === "body" ? "" : part))}`,
  }));
const engine = (name: Command, ...drawn: Parameters<typeof runsOf>) =>
  command(name, runsOf(...drawn), (world, how) => world.run(name, how));

const up = engine("up", 4, "POST", "POST", "POST", "GET", "DELETE");
const edit = command("edit", edits, (world, { what, stack }) => world.edit(what, stack));
const changes = runsOf(2, "PATCH", "PATCH", "GET");
const replace = command("replace", replacements, (world, how) => world.replace(how), true);
const update = command("update", changes, (world, how) => world.update(how), true);
const commands = [
  ...[up, up, up, up, edit, edit, replace, replace, update, update],
  engine("preview", 1, "GET"),
  engine("refresh", 2, "GET"),
  engine("destroy", 2, "DELETE", "GET"),
  command("follow", fc.boolean(), (world, adopts) => world.follow(adopts)),
];

/** Gives what is broken, and how to repeat it. */
async function runOne(shared: Shared, seed: number): Promise<string | undefined> {
  const { protocol, shrink, path: paths = "" } = options;
  const [path, replayPath] = paths.split(",");
  let shrinksUntil = Number.POSITIVE_INFINITY;
  const replay = replayPath && { replayPath };
  const more = fc.commands(commands, { maxCommands: 6, size: "max", ...replay });
  const property = fc.asyncProperty(setups, up, more, async (setup, first, more) => {
    if (Date.now() > shrinksUntil) return;
    const world = await World.start(setup, shared);
    try {
      await fc.asyncModelRun(() => ({ model: world, real: world }), [first, ...more]);
      await world.settle();
    } catch (error) {
      shrinksUntil = Math.min(shrinksUntil, Date.now() + shrink * 60_000);
      throw error;
    } finally {
      await world.close();
      for (const [title, count] of Object.entries(world.counts))
        counts[title] = (counts[title] ?? 0) + count;
    }
  });
  const how = { seed, numRuns: 1, unbiased: true, ...(path && { path }) };
  const found = await fc.check(property, how);
  if (!found.failed) return undefined;
  const [setup, first, rest] = found.counterexample ?? [];
  const place = `${found.counterexamplePath},${/replayPath="(.+)"/.exec(String(rest))?.[1]}`;
  const again = `--protocol ${protocol} --runs 1 --seed ${seed} --path ${place}`;
  return [found.errorInstance, JSON.stringify(setup), first, rest, again].join("\n");
}

async function main(): Promise<void> {
  const { protocol, seed, runs } = options;
  const since = Date.now();
  const folder = newFolder();
  await linkModules(folder);
  const issuer = await makeCertificate({ commonName: "Faults CA", isCa: true });
  const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
  const certificates = [await makeCertificate(leaf), await makeCertificate({ ...leaf, issuer })];
  const rest = Array.from({ length: runs }, (_, n) => seed + n);
  let broken = 0;
  const work = async () => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
      const found = await runOne({ protocol, folder, certificates }, one);
      if (found) console.error(`broken: ${found}\n`);
      broken += Number(found !== undefined);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, runs) }, work));
  const minutes = Math.ceil((Date.now() - since) / 60_000);
  console.log(`${runs} sequences from seed ${seed}, ${broken} broken, ${minutes} minutes`);
  const sorted = Object.entries(counts).toSorted();
  console.log(`drawn and met: ${sorted.map(([title, count]) => `${title} ${count}×`).join(", ")}`);
  if (broken) process.exitCode = 1;
}

main();
