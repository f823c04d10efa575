import fc from "fast-check";
import type { Fault, MadeCertificate } from "pulumi-tlsedge-emulator";
import {
  type DrawnAnswer,
  type FaultKind,
  faultKinds,
  type Operation,
  operations,
} from "./kinds.ts";
import type { Properties } from "./protocol.ts";
import type { Kind } from "./resource.ts";

/** One place of the table. */
export interface Cell {
  fault: FaultKind;
  operation: Operation;
  kind: Kind;
}

/** Everything that a run does, as its number and the seed decide it. */
export interface Scenario extends Cell {
  /** What the program has: some of them may be the same. */
  program: Properties[];
  /** What an update makes of them. */
  changed: Properties[];
  /** What happened to each behind the engine's back, before a read. */
  behind: ("nothing" | "changed" | "deleted")[];
  /** How many objects of others, some of them the same as the program's but older, are there. */
  before: { others: number; alike: number };
  /** Where and how often the fault strikes. */
  strikes: Pick<Fault, "skip" | "times"> & { alsoElse: boolean };
  /** Whether a refresh comes before the second try. */
  refreshes: boolean;
  answer: DrawnAnswer;
}

export const kinds: Kind[] = ["tlsEdge", "tlsCertificate"];

/** The places of the table where a fault can strike. */
export const cells: Cell[] = faultKinds.flatMap((fault) =>
  operations
    .filter((operation) => !fault.dash?.[operation])
    .flatMap((operation) => kinds.map((kind) => ({ fault, operation, kind }))),
);

/** The variables of the connection that gives up soon begin with TLSEDGE_HASTY_. */
export const hastyConnection = "tlsedge-hasty";

/** The cell of a run: each comes once before any comes again. */
export function cellOf(seed: number, number: number): Cell {
  const shuffled = fc.shuffledSubarray(cells, { minLength: cells.length });
  const [order = []] = fc.sample(shuffled, { seed, numRuns: 1 });
  return order[number % order.length] as Cell;
}

/** What run `number` of a seed does. */
export function draw(seed: number, number: number, pool: MadeCertificate[]): Scenario {
  return pick(seed, number, scenarios(cellOf(seed, number), pool));
}

/** What a seed makes of run `number`. */
export function pick<T>(seed: number, number: number, from: fc.Arbitrary<T>): T {
  const [picked] = fc.sample(fc.noBias(from), { seed: (seed * 31 + number) | 0, numRuns: 1 });
  return picked as T;
}

/** What a program may say of the resources of a kind, `count` of them. */
export function programs(
  kind: Kind,
  pool: MadeCertificate[],
  connection?: string,
): fc.Arbitrary<Properties[]> {
  const one = (index: number) => (kind === "tlsEdge" ? edge(index) : certificate(pool));
  const different = fc
    .integer({ min: 1, max: 3 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => one(index))));
  return fc
    .record({ different, twins: fc.constantFrom(0, 0, 1, 2) })
    .map(({ different: [first = {}, ...rest], twins }) => {
      // No two edges can serve a hostport.
      const twin = twins > 0 ? { ...first, hostports: undefined } : first;
      return [...Array.from({ length: twins + 1 }, () => twin), ...rest];
    })
    .map((all) => all.map((args) => ({ ...args, ...(connection && { connection }) })));
}

function scenarios(cell: Cell, pool: MadeCertificate[]): fc.Arbitrary<Scenario> {
  const { fault, operation, kind } = cell;
  const connection = fault.hasty ? hastyConnection : undefined;
  // Each silence takes all the time there is.
  const times = fault.hasty ? [1, 1, 2] : [1, 1, 1, 1, 2, 2, 3, 99];
  return programs(kind, pool, connection).chain((program) => {
    const behind = fc.constantFrom("nothing" as const, "changed" as const, "deleted" as const);
    return fc.record({
      fault: fc.constant(fault),
      operation: fc.constant(operation),
      kind: fc.constant(kind),
      program: fc.constant(program),
      changed: fc.tuple(...program.map((args, index) => change(kind, args, index))),
      behind: fc.tuple(...program.map(() => behind)),
      before: fc.record({
        others: fc.integer({ min: 0, max: 4 }),
        alike: fc.constantFrom(0, 1, 2),
      }),
      strikes: fc.record({
        skip: fc.integer({ min: 0, max: leastRequests(operation, program.length) - 1 }),
        times: fc.constantFrom(...times),
        alsoElse: fc.boolean(),
      }),
      refreshes: fc.boolean(),
      answer: fault.answer(kind),
    });
  });
}

/** So many requests come in any case: a fault that lets fewer go by does strike. */
export function leastRequests(operation: Operation, resources: number): number {
  // What is read together shares the pages of a list.
  return operation === "read" || operation === "adopt" ? 1 : resources;
}

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const labels = {
  description: fc.option(text, { nil: undefined }),
  metadata: fc.option(
    fc
      .dictionary(fc.stringMatching(/^[a-z]{1,8}$/), text, { maxKeys: 3 })
      .map((value) => JSON.stringify(value)),
    { nil: undefined },
  ),
};

function edge(index: number): fc.Arbitrary<Properties> {
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const enabled = fc.constantFrom(undefined, true, false);
  const id = (prefix: string) => fc.stringMatching(/^[a-zA-Z0-9]{4,12}$/).map((s) => prefix + s);
  const ids = (prefix: string) => fc.uniqueArray(id(prefix), { minLength: 1, maxLength: 3 });
  const host = fc.stringMatching(/^[a-z]{1,8}$/);
  return fc
    .record({
      ...labels,
      hostports: fc.uniqueArray(
        fc
          .tuple(host, fc.integer({ min: 1, max: 65535 }))
          .map(([name, port]) => `${name}.r${index}.example.com:${port}`),
        { maxLength: 3 },
      ),
      backend: maybe(fc.record({ enabled, backendId: id("bkdtg_") })),
      ipRestriction: maybe(fc.record({ enabled, ipPolicyIds: ids("ipp_") })),
      mutualTls: maybe(fc.record({ enabled, certificateAuthorityIds: ids("ca_") })),
      tlsTermination: maybe(
        fc.record({
          enabled,
          terminateAt: fc.constantFrom(undefined, "edge", "upstream"),
          minVersion: fc.constantFrom(undefined, "1.2", "1.3"),
        }),
      ),
      onModuleRemoval: fc.constantFrom(undefined, "disable", "delete"),
    })
    .map(valid);
}

/** With `upstream` the service never sees the traffic: then neither of these is valid. */
function valid(args: Properties): Properties {
  const termination = args.tlsTermination as { terminateAt?: string } | undefined;
  if (termination?.terminateAt !== "upstream") return args;
  return {
    ...args,
    mutualTls: undefined,
    tlsTermination: { ...termination, minVersion: undefined },
  };
}

function certificate(pool: MadeCertificate[]): fc.Arbitrary<Properties> {
  return fc
    .record({ ...labels, pair: fc.constantFrom(...pool) })
    .map(({ pair: { certificatePem, privateKeyPem }, ...rest }) => ({
      ...rest,
      certificatePem,
      privateKeyPem,
    }));
}

/** The same resource with at least another description, so that there is something to update. */
export function change(kind: Kind, args: Properties, index: number): fc.Arbitrary<Properties> {
  const description = text.map((said) => `changed ${said}`);
  const rest = kind === "tlsEdge" ? edge(index) : fc.record({ metadata: labels.metadata });
  // A termination that is taken away stays, switched off: what it forbids stays forbidden.
  const left = (given: Properties) => given.tlsTermination ?? args.tlsTermination;
  return fc
    .tuple(rest, description)
    .map(([given, description]) => ({ ...args, ...given, description }))
    .map((args) => ({
      ...args,
      mutualTls: valid({ ...args, tlsTermination: left(args) }).mutualTls,
    }));
}
