import fc from "fast-check";
import type { Fault, MadeCertificate } from "pulumi-tlsedge-emulator";
import { faultKinds, nameOf } from "./kinds.ts";
import type { Properties } from "./protocol.ts";
import type { Kind } from "./resource.ts";

/** A fault, and which request of a run meets it. */
export interface Strike {
  title: string;
  fault: Fault;
}

/** What is done with a stack once all of it is made. */
export type Step = "update" | "refresh" | "destroy";

/** Everything that a run does, as its number and the seed decide it. */
export interface Sequence {
  kind: Kind;
  /** The resources of each stack; each stack has provider processes of its own. */
  programs: Properties[][];
  /** What an update makes of them. */
  changed: Properties[][];
  /** How many objects of others have the same content, but are an hour older. */
  elders: number;
  /** What strikes the creates, and the looks for what was lost. */
  strikes: Strike[];
  /** Whether the strikes that are left go on in the next `up`. */
  goesOn: boolean;
  /** A process is killed when a create of the run has come to the service. */
  kill: { stack: number; skip: number; work: boolean; victim: "provider" | "engine" } | undefined;
  /** Whether an object that an error names is adopted; else it is deleted. */
  adopts: boolean;
  /** What comes after the creates, and what strikes it. */
  steps: Step[];
  laterStrikes: Strike[];
}

/** Where the service has the objects of a kind. */
export const paths: Record<Kind, string> = {
  tlsEdge: "/edges/tls",
  tlsCertificate: "/tls_certificates",
};

/** What run `number` of a seed does. */
export function draw(seed: number, number: number, pool: MadeCertificate[]): Sequence {
  // By its own content each run is new to a process that has played others.
  const run = `run ${seed}.${number}`;
  const kind = fc.constantFrom<Kind>("tlsEdge", "tlsCertificate");
  const from = fc.noBias(kind.chain((one) => sequences(one, run, pool)));
  const [picked] = fc.sample(from, { seed: (seed * 7919 + number) | 0, numRuns: 1 });
  return picked as Sequence;
}

function sequences(kind: Kind, run: string, pool: MadeCertificate[]): fc.Arbitrary<Sequence> {
  const creates = strikesOn([
    { method: "POST", path: paths[kind], weight: 3 },
    { method: "GET", path: paths[kind], weight: 1 },
  ]);
  const later = strikesOn([
    { method: "PATCH", path: `${paths[kind]}/*`, weight: 2 },
    { method: "DELETE", path: `${paths[kind]}/*`, weight: 2 },
    { method: "GET", weight: 1 },
  ]);
  return programs(kind, run, pool).chain((programs) =>
    fc.record({
      kind: fc.constant(kind),
      programs: fc.constant(programs),
      changed: fc.constant(programs.map((program) => program.map(changed))),
      elders: fc.constantFrom(0, 0, 0, 1, 2),
      strikes: fc.array(creates, { minLength: 1, maxLength: 4, size: "max" }),
      goesOn: fc.boolean(),
      kill: kill(programs.length),
      adopts: fc.boolean(),
      steps: fc.subarray<Step>(["refresh", "update", "destroy"]),
      laterStrikes: fc.array(later, { maxLength: 2, size: "max" }),
    }),
  );
}

/** One process or two; up to three equal creates in each, and perhaps another that is alone. */
function programs(kind: Kind, run: string, pool: MadeCertificate[]): fc.Arbitrary<Properties[][]> {
  return fc
    .record({
      processes: fc.constantFrom(1, 1, 1, 2, 2),
      equal: fc.array(fc.constantFrom(1, 2, 2, 3), { minLength: 2, maxLength: 2 }),
      others: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
      pair: fc.constantFrom(...pool),
      module: fc.boolean(),
    })
    .map(({ processes, equal, others, pair, module }) => {
      const content = ofKind(kind, pair, module);
      return Array.from({ length: processes }, (_, stack) => [
        ...Array.from({ length: equal[stack] ?? 1 }, () => ({ description: run, ...content })),
        ...(others[stack] ? [alone(kind, `${run}, stack ${stack}`, content)] : []),
      ]);
    });
}

function ofKind(kind: Kind, pair: MadeCertificate, module: boolean): Properties {
  if (kind === "tlsEdge") return module ? { ipRestriction: { ipPolicyIds: ["ipp_1"] } } : {};
  return { certificatePem: pair.certificatePem, privateKeyPem: pair.privateKeyPem };
}

/** Where an edge serves nobody else does, so no two of them are equal. */
function alone(kind: Kind, description: string, content: Properties): Properties {
  const hostport = `${description.replaceAll(/\W+/g, "-")}.example.com:443`;
  return { description, ...content, ...(kind === "tlsEdge" && { hostports: [hostport] }) };
}

function changed(args: Properties): Properties {
  return { ...args, metadata: "changed" };
}

function kill(stacks: number): fc.Arbitrary<Sequence["kill"]> {
  const drawn = fc.record({
    stack: fc.nat(stacks - 1),
    skip: fc.nat(2),
    work: fc.boolean(),
    victim: fc.constantFrom<"provider" | "engine">("provider", "provider", "provider", "engine"),
  });
  return fc.oneof(
    { weight: 7, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: drawn },
  );
}

type Target = Pick<Fault, "method" | "path"> & { weight: number };

function strikesOn(targets: Target[]): fc.Arbitrary<Strike> {
  const target = fc.oneof(
    ...targets.map(({ weight, ...rest }) => ({ weight, arbitrary: fc.constant(rest) })),
  );
  const kind = fc
    .constantFrom(...faultKinds)
    .chain((one) => fc.constantFrom(...one.timings).map((timing) => ({ one, timing })));
  return fc.tuple(target, kind, fc.constantFrom(0, 0, 1, 2)).map(([on, { one, timing }, skip]) => ({
    title: on.method === "GET" ? `${one.title}, of a read` : nameOf(one, timing),
    fault: { ...on, skip, work: timing === "after" || on.method === "GET", answer: one.answer },
  }));
}
