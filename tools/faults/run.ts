import type { Scenario } from "./draw.ts";
import { type Asked, type Counts, count, outcomeOf, unclear } from "./judge.ts";
import { faultOf, type Operation, requestsOf } from "./kinds.ts";
import type { Failure, Properties } from "./protocol.ts";
import { Resource } from "./resource.ts";
import { behind, isLike, makeLike, objects, stranger } from "./service.ts";
import type { Stage } from "./stage.ts";

/** What became of a run. */
export interface Result extends Counts {
  outcome: ReturnType<typeof outcomeOf>;
  /** How many requests the fault struck. */
  struck: number;
  /** The promises that were broken; none is what is wanted. */
  broken: string[];
}

/** Plays a run, counts what it left, and then does what a person would do: tries again. */
export async function play(stage: Stage, scenario: Scenario): Promise<Result> {
  const { emulator, provider } = stage;
  const { kind, operation, program, changed } = scenario;
  emulator.reset();
  provider.heard = "";
  await prepareOthers(stage, scenario);
  const toAdopt = operation === "adopt" ? await prepareAdoption(stage, scenario) : [];
  const others = objects(emulator, kind);
  const resources = program.map(() => new Resource(provider, kind));
  if (operation !== "create" && operation !== "adopt")
    await all(resources, (one, n) => one.up(program[n] as Properties));
  if (operation === "read") goBehind(stage, scenario, resources);

  const wanted = (operation === "update" ? changed : program).map((args, n) => ({
    ...args,
    ...(toAdopt[n] && { __import: toAdopt[n] }),
  }));
  emulator.requests.length = 0;
  setFaults(stage, scenario);
  const errors = await all(resources, (one, n) => act(one, operation, wanted[n] as Properties));
  const faults = emulator.faults.list();
  emulator.faults.clear();

  const asked: Asked = { scenario, requests: [...emulator.requests], errors };
  const own = () =>
    objects(emulator, kind).filter(({ id }) => toAdopt.includes(id) || !isIn(others, id));
  const counts = count(scenario, own(), resources, toAdopt, errors);
  const broken = [
    ...errors.flatMap((error) => (error ? unclear(error.message, kind) : [])),
    ...counts.silent.map((id) => `${id} is left, held by no state and named by no error`),
    ...(counts.duplicates > 0 ? [`${counts.duplicates} made twice`] : []),
    ...takenForGone(scenario, resources, errors),
  ];
  for (const { id } of counts.named) behind(emulator, kind).delete(id);
  broken.push(...(await tryAgain(scenario, resources, wanted, own)));
  for (const other of others) {
    const now = objects(emulator, kind).find(({ id }) => id === other.id);
    if (JSON.stringify(now) !== JSON.stringify(other)) broken.push(`${other.id} was changed`);
  }
  broken.push(...leaks(stage, resources));
  const struck = faults.reduce((sum, fault) => sum + fault.struck, 0);
  return { ...counts, outcome: outcomeOf(asked), struck, broken };
}

/** All at once, as the engine does it; what failed, in the place of each that did. */
function all(
  resources: Resource[],
  work: (one: Resource, index: number) => Promise<unknown>,
): Promise<(Failure | Error | undefined)[]> {
  return Promise.all(
    resources.map((one, index) =>
      work(one, index).then(
        () => undefined,
        (error: Error) => error,
      ),
    ),
  );
}

function act(one: Resource, operation: Operation, args: Properties): Promise<unknown> {
  if (operation === "read") return one.refresh();
  return operation === "delete" ? one.destroy() : one.up(args);
}

/** What is there already, as the program says it; the ids. */
async function prepareAdoption(
  { emulator, caFile }: Stage,
  { kind, program }: Scenario,
): Promise<string[]> {
  const client = stranger(emulator, caFile);
  const ids: string[] = [];
  for (const args of program) ids.push(await makeLike(client, kind, args));
  return ids;
}

/** What others have in the account: it may look like the program's, but is older. */
async function prepareOthers(stage: Stage, { kind, program, before }: Scenario): Promise<void> {
  const { emulator, caFile } = stage;
  const client = stranger(emulator, caFile);
  const [first = {}] = program;
  for (let n = 0; n < before.alike + before.others; n++) {
    const description = n < before.alike ? first.description : `another's ${n}`;
    const id = await makeLike(client, kind, { ...first, hostports: undefined, description });
    const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
    if (n < before.alike) behind(emulator, kind).patch(id, { created_at: anHourAgo });
  }
}

function goBehind({ emulator }: Stage, { kind, behind: what }: Scenario, resources: Resource[]) {
  resources.forEach(({ id }, index) => {
    if (what[index] === "changed") behind(emulator, kind).patch(id, { description: "drifted" });
    if (what[index] === "deleted") behind(emulator, kind).delete(id);
  });
}

/** The fault strikes requests of the operation's own kind; perhaps all others after them, too. */
function setFaults({ emulator, elsewhere }: Stage, scenario: Scenario): void {
  const { kind, operation, fault, strikes, answer } = scenario;
  const { alsoElse, ...often } = strikes;
  emulator.faults.add({
    ...(alsoElse ? {} : requestsOf(operation, kind)),
    ...often,
    ...faultOf(fault, answer, elsewhere.host),
  });
}

/** A fault never makes what is there look deleted. */
function takenForGone(
  { operation, behind }: Scenario,
  resources: Resource[],
  errors: (Error | undefined)[],
): string[] {
  if (operation !== "read") return [];
  return resources.flatMap(({ id }, index) =>
    !id && !errors[index] && behind[index] !== "deleted" ? ["one was taken for gone"] : [],
  );
}

/** The same once more, with no fault: then the service has what the states hold, and no more. */
async function tryAgain(
  { kind, operation, refreshes }: Scenario,
  resources: Resource[],
  wanted: Properties[],
  own: () => ReturnType<typeof objects>,
): Promise<string[]> {
  const broken: string[] = [];
  const never = (errors: (Error | undefined)[], what: string) => {
    for (const error of errors) if (error) broken.push(`${what} failed: ${error.message}`);
  };
  const existing = resources.filter(({ id }) => id);
  if (operation === "delete") {
    never(await all(existing, (one) => one.destroy()), "deleting again");
    return own().length > 0 ? [...broken, `${own().length} are left after all`] : broken;
  }
  // Only a read tells what became of what was changed behind the engine's back.
  if (refreshes || operation === "read") {
    never(await all(existing, (one) => one.refresh()), "a refresh");
  }
  never(await all(resources, (one, n) => one.up(wanted[n] as Properties)), "another up");
  const held = new Set(resources.map(({ id }) => id));
  const found = own();
  if (held.size !== resources.length) broken.push("two states hold the same object");
  if (found.length !== held.size || found.some(({ id }) => !held.has(id))) {
    broken.push(`the service has ${found.length} objects, the states hold ${held.size}`);
  }
  resources.forEach(({ id }, n) => {
    const object = found.find((one) => one.id === id);
    if (!object || !isLike(kind, wanted[n] as Properties, object)) broken.push(`${id} differs`);
  });
  const verdicts: string[] = [];
  never(
    await all(resources, async (one, n) => {
      // Once adopted, the option that says so makes no difference (contract C41).
      const { __import, ...args } = wanted[n] as Properties;
      verdicts.push(await one.refresh(), await one.up(args));
    }),
    "looking again",
  );
  if (verdicts.some((verdict) => verdict !== "same")) broken.push(`in the end: ${verdicts}`);
  return broken;
}

/** No key where none may stand, and none sent elsewhere (contract C4, C50). */
function leaks({ provider, secrets, elsewhere }: Stage, resources: Resource[]): string[] {
  const states = resources.map(({ state }) => JSON.stringify(state)).join("\n");
  return [
    ...secrets.in(provider.heard).map((name) => `${name} stands in what the provider said`),
    ...secrets.in(states).map((name) => `${name} stands in the outputs of a state`),
    ...(elsewhere.takeConnections() > 0 ? ["a request went to another origin"] : []),
    ...(/^\s+at .+:\d+:\d+\)?$/m.test(provider.heard) ? ["the provider printed a stack"] : []),
    ...(provider.hasEnded ? ["the provider's process ended"] : []),
  ];
}

function isIn(others: { id: string }[], wanted: string): boolean {
  return others.some(({ id }) => id === wanted);
}
