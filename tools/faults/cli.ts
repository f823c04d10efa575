import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import {
  type Emulator,
  type Fault,
  type MadeCertificate,
  startEmulator,
} from "pulumi-tlsedge-emulator";
import { change, kinds, leastRequests, pick, programs } from "./draw.ts";
import { unnamed } from "./judge.ts";
import { faultKinds, faultOf, type Operation, requestsOf } from "./kinds.ts";
import { type Declared, Project } from "./project.ts";
import type { Kind } from "./resource.ts";
import { Secrets } from "./secrets.ts";
import { behind, isLike, makeLike, objects, stranger } from "./service.ts";
import { type Elsewhere, makePool, openElsewhere } from "./stage.ts";

/** What the engine is told, and which operation that is. */
export const commands = {
  "up, from nothing": { verb: "up", operation: "create" },
  "up, with changes": { verb: "up", operation: "update" },
  refresh: { verb: "refresh", operation: "read" },
  destroy: { verb: "destroy", operation: "delete" },
  "up, adopting": { verb: "up", operation: "adopt" },
} satisfies Record<string, { verb: string; operation: Operation }>;
export type Command = keyof typeof commands;

/** How many runs go on at a time: they use the processor, too. */
const abreast = 2;
export const usualCommandLineRuns = 40;

/** A run through the command line, and what became of it. */
export interface CommandLineRun {
  number: number;
  command: Command;
  /** The faults, by title. */
  faults: string[];
  /** How many requests were struck. */
  struck: number;
  /** Whether the command failed under the faults. */
  failed: boolean;
  /** What the service had afterwards, and how much of it the state held. */
  objects: number;
  held: number;
  named: number;
  silent: string[];
  broken: string[];
}

interface Drawn {
  command: Command;
  program: Declared[];
  changed: Declared[];
  strikes: { title: string; fault: (elsewhere: string) => Fault }[];
}

/** Plays runs through the engine's command line, two at a time. */
export async function playCommandLine(
  seed: number,
  numbers: number[],
  tell: () => void,
): Promise<{ runs: CommandLineRun[]; version: string }> {
  const pool = await makePool();
  const runs: CommandLineRun[] = [];
  const rest = [...numbers];
  let version = "";
  const workers = Array.from({ length: Math.min(abreast, rest.length) }, async () => {
    const emulator = await startEmulator();
    const project = await Project.open(emulator);
    const elsewhere = await openElsewhere();
    version = project.version;
    const secrets = new Secrets(emulator.apiKey, pool);
    try {
      for (let number = rest.shift(); number !== undefined; number = rest.shift()) {
        const drawn = pick(seed, number, draws(pool));
        const stage = { emulator, project, elsewhere, secrets };
        runs.push({ number, ...(await play(stage, drawn, `run${number}`)) });
        tell();
      }
    } finally {
      elsewhere.close();
      await emulator.close();
    }
  });
  await Promise.all(workers);
  return { runs: runs.sort((a, b) => a.number - b.number), version };
}

function draws(pool: MadeCertificate[]): fc.Arbitrary<Drawn> {
  const declare = (kind: Kind) => (list: Declared["args"][]) =>
    list.map((args) => ({ kind, args }));
  const program = fc
    .tuple(...kinds.map((kind) => programs(kind, pool).map(declare(kind))))
    .map((all) => all.flat());
  const often: Command[] = ["up, from nothing", "up, from nothing", "up, with changes"];
  const command = fc.constantFrom<Command>(
    ...often,
    "up, from nothing",
    "refresh",
    "destroy",
    "up, adopting",
  );
  return fc.tuple(program, command).chain(([program, command]) =>
    fc.record({
      command: fc.constant(command),
      program: fc.constant(program),
      changed: fc.tuple(
        ...program.map(({ kind, args }, index) =>
          change(kind, args, index).map((args) => ({ kind, args })),
        ),
      ),
      strikes: fc
        .tuple(strike(program, command, true), fc.boolean(), strike(program, command, false))
        .map(([first, both, second]) => (both ? [first, second] : [first])),
    }),
  );
}

/** A fault that strikes one of the command's own requests, or any that comes. */
function strike(program: Declared[], command: Command, own: boolean) {
  const { operation } = commands[command];
  const possible = faultKinds.filter(({ dash }) => !dash?.[operation]);
  return fc.tuple(fc.constantFrom(...possible), fc.constantFrom(...kinds)).chain(([kind, of]) => {
    const count = program.filter(({ kind }) => kind === of).length;
    const passing = own ? leastRequests(operation, count) - 1 : 6;
    return fc
      .record({
        skip: fc.nat(passing),
        times: fc.constantFrom(1, 1, 2, 3),
        answer: kind.answer(of),
      })
      .map(({ answer, ...often }) => ({
        title: kind.title,
        fault: (elsewhere: string): Fault => ({
          ...(own ? requestsOf(operation, of) : {}),
          ...often,
          ...faultOf(kind, answer, elsewhere),
        }),
      }));
  });
}

interface Played {
  emulator: Emulator;
  project: Project;
  elsewhere: Elsewhere;
  secrets: Secrets;
}

async function play(
  { emulator, project, elsewhere, secrets }: Played,
  { command, program, changed, strikes }: Drawn,
  stack: string,
): Promise<Omit<CommandLineRun, "number">> {
  const { verb, operation } = commands[command];
  const broken: string[] = [];
  const succeed = async (verb: string, declared: Declared[]) => {
    const { code, output } = await project.run(verb, declared);
    if (code !== 0) broken.push(`${verb} without a fault failed:\n${output}`);
  };
  emulator.reset();
  project.printed = "";
  await project.newStack(stack);
  if (!["create", "adopt"].includes(operation)) await succeed("up", program);
  const toAdopt: string[] = [];
  if (operation === "adopt") {
    const client = stranger(emulator, project.caFile);
    for (const { kind, args } of program) toAdopt.push(await makeLike(client, kind, args));
  }

  const wanted =
    operation === "update" ? changed : program.map((one, n) => ({ ...one, adopted: toAdopt[n] }));
  emulator.faults.add(...strikes.map(({ fault }) => fault(elsewhere.host)));
  const { code, output } = await project.run(verb, wanted);
  const struck = emulator.faults.list().reduce((sum, fault) => sum + fault.struck, 0);
  emulator.faults.clear();

  const own = () =>
    kinds.flatMap((kind) => objects(emulator, kind).map((object) => ({ kind, object })));
  const held = await project.ids();
  const found = own();
  const left = found.filter(({ object }) => ![...held, ...toAdopt].includes(object.id));
  const silent = unnamed(
    left.map(({ object }) => object),
    diagnostics(output),
  );
  broken.push(...silent.map((id) => `${id} is left, held by no state and named by no error`));
  for (const { kind, object } of left) behind(emulator, kind).delete(object.id);

  if (code !== 0) await succeed(verb, wanted);
  const ids = own().map(({ object }) => object.id);
  if (!isDeepStrictEqual(ids.sort(), (await project.ids()).sort())) {
    broken.push(`the service has ${ids}, the state holds ${await project.ids()}`);
  }
  if (operation !== "delete") broken.push(...differences(wanted, own()));
  for (const [where, text] of [
    ["the console", project.printed],
    ["the state", await project.stored()],
  ] as const) {
    broken.push(...secrets.in(text).map((name) => `${name} stands in ${where}`));
  }
  if (elsewhere.takeConnections() > 0) broken.push("a request went to another origin");
  return {
    ...{ command, faults: strikes.map(({ title }) => title), struck, failed: code !== 0 },
    ...{ objects: found.length, held: held.length, named: left.length - silent.length },
    ...{ silent, broken },
  };
}

/** What the engine says of each resource that failed: it prints that at the end, once for each. */
function diagnostics(output: string): string[] {
  return output.slice(output.lastIndexOf("Diagnostics:")).split(/^ {2}\S/m);
}

/** Each resource is one object, and each object is one resource's. */
function differences(
  wanted: Declared[],
  found: { kind: Kind; object: ReturnType<typeof objects>[number] }[],
): string[] {
  const rest = [...found];
  const missing = wanted.flatMap(({ kind, args }, index) => {
    const place = rest.findIndex((one) => one.kind === kind && isLike(kind, args, one.object));
    if (place < 0) return [`the service has no r${index}`];
    rest.splice(place, 1);
    return [];
  });
  return [...missing, ...rest.map(({ object }) => `${object.id} is one too many`)];
}
