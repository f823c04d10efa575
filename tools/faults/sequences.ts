import fc from "fast-check";
import { makeCertificate } from "../../emulator/server";
import { linkModules, newFolder } from "../folders";
import type { Protocol } from "../protocol";
import { type Drawn, drawn, setups } from "./draw";
import { type Shared, World } from "./world";

/** How many sequences run at a time: they spend most of their time waiting. */
const parallel = 6;

/** What decides whether a command is possible. */
type Seen = Pick<World, "ups" | "isOver" | "isFinished">;

/** A command, with what it does to the world, and when it is possible. */
const command = <T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  run: (world: World, value: T) => unknown,
  isPossible: (world: Seen) => boolean = (world) => world.ups > 0,
): fc.Arbitrary<fc.AsyncCommand<Seen, World>> =>
  arbitrary.map((value) => ({
    check: (world) => !world.isOver && isPossible(world),
    run: async (_, world) => void (await run(world, value)),
    toString: () => `${name} ${JSON.stringify(value, (key, part) => (key === "body" ? "" : part))}`,
  }));

const on = (name: "up" | "preview" | "refresh" | "destroy") => (world: World, how: Drawn) =>
  world.run(name, how);
const up = command("up", drawn(4, "POST", "POST", "POST", "GET"), on("up"), () => true);
const what = fc.constantFrom(
  "rename" as const,
  "alias" as const,
  "inputs" as const,
  "reorder" as const,
);
const edit = command("edit", fc.record({ what, stack: fc.nat(1) }), (world, { what, stack }) =>
  world.edit(what, stack),
);
const commands = [
  ...[up, up, up, up, edit, edit, edit],
  command("preview", drawn(1, "GET"), on("preview")),
  command("refresh", drawn(2, "GET"), on("refresh")),
  command("destroy", drawn(2, "DELETE", "GET"), on("destroy")),
  command(
    "update",
    drawn(2, "PATCH", "PATCH", "GET"),
    (world, how) => world.update(how),
    (world) => world.isFinished,
  ),
  command("follow", fc.boolean(), (world, adopts) => world.follow(adopts)),
];

export interface Options {
  protocol: Protocol;
  /** Sequence N has the seed `seed + N`. */
  seed: number;
  runs: number;
  /** For how many minutes a sequence that fails is made smaller. */
  shrink: number;
  /** Fast-check's path to a smaller sequence, a comma, and its path of the commands. */
  path?: string;
}

/** Gives the broken promises and the totals. A dynamic provider resolves the package from the folder `program`. */
export async function runSequences(options: Options, program?: string) {
  const { protocol, seed, runs } = options;
  const folder = program ?? newFolder();
  if (!program) await linkModules(folder);
  const issuer = await makeCertificate({ commonName: "Faults CA", isCa: true });
  const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
  const certificates = [await makeCertificate(leaf), await makeCertificate({ ...leaf, issuer })];
  const totals: Record<string, number> = { sequences: runs };
  const broken: string[] = [];
  const rest = Array.from({ length: runs }, (_, n) => seed + n);
  const work = async () => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
      const found = await runSequence({ protocol, folder, certificates }, options, one, totals);
      if (found) broken.push(found);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, runs) }, work));
  return { broken, totals };
}

/** Gives what is broken, and how to repeat it. */
async function runSequence(
  shared: Shared,
  { shrink, path: paths = "" }: Options,
  seed: number,
  totals: Record<string, number>,
): Promise<string | undefined> {
  const [path, replayPath] = paths.split(",");
  let shrinksUntil = Number.POSITIVE_INFINITY;
  const more = fc.commands(commands, { maxCommands: 6, size: "max", replayPath });
  const property = fc.asyncProperty(setups, up, more, async (setup, first, more) => {
    if (Date.now() > shrinksUntil) return;
    const world = await World.start(setup, shared);
    try {
      await fc.asyncModelRun(() => ({ model: world, real: world }), [first, ...more]);
      await world.settle();
      world.judgeTexts();
    } catch (error) {
      shrinksUntil = Math.min(shrinksUntil, Date.now() + shrink * 60_000);
      throw error;
    } finally {
      await world.close();
      const counts = Object.entries(world.counts);
      for (const [name, count] of counts) totals[name] = (totals[name] ?? 0) + count;
    }
  });
  const found = await fc.check(property, { seed, numRuns: 1, unbiased: true, path });
  if (!found.failed) return undefined;
  const [setup, first, rest] = found.counterexample ?? [];
  const replay = /replayPath="(.+)"/.exec(String(rest))?.[1];
  const again = `--runs 1 --seed ${seed} --path ${found.counterexamplePath},${replay}`;
  return [found.errorInstance, JSON.stringify(setup), first, rest, again].join("\n");
}
