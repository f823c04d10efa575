import fc from "fast-check";
import type { Clocks, Fault, MadeCertificate } from "../../emulator/server";
import type { Properties } from "../resource";
import type { Key } from "./account";
import type { Kind, Way } from "./resource";

/** Whether the request fails before the service has done the work, after it, or long before it. */
type Timing = "before" | "after" | "later";

/** One way in which a request fails. */
interface FaultKind {
  title: string;
  timings: Timing[];
  answer: Fault["answer"];
}

const any: Timing[] = ["before", "after", "later"];

const page = (title: string) =>
  `<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;

const status = (code: number, headers?: Record<string, string>) => ({
  status: code,
  body: page(`Error ${code}`),
  ...(headers && { headers }),
});

const retryAfter = (seconds: string) => ({ "Retry-After": seconds });

const refusal: Fault["answer"] = {
  status: 400,
  headers: { "Content-Type": "application/json" },
  body: '{"error_code":"ERR_199","status_code":400,"msg":"No."}',
};

/** Every kind of fault that is drawn. Reads do no work, so the timing does not matter for them. */
const faultKinds: FaultKind[] = [
  ...[408, 500, 503, 504, 524].map((code) => ({
    title: String(code),
    timings: any,
    answer: status(code),
  })),
  ...["0", "3600"].map((seconds) => ({
    title: `503, Retry-After: ${seconds}`,
    timings: any,
    answer: status(503, retryAfter(seconds)),
  })),
  // The service itself refuses, so it has not done the work.
  { title: "429", timings: ["before"], answer: status(429) },
  { title: "429, Retry-After: 1", timings: ["before"], answer: status(429, retryAfter("1")) },
  { title: "400", timings: ["before"], answer: refusal },
  { title: "connection reset", timings: any, answer: "reset" },
  { title: "silence", timings: any, answer: "silence" },
  {
    title: "200 with a proxy's HTML",
    timings: any,
    answer: { status: 200, body: page("Please sign in") },
  },
  // The service's own answer, so the work is done.
  { title: "half an answer", timings: ["after"], answer: "truncated" },
  { title: "an id, the rest unusable", timings: ["after"], answer: { fields: { uri: 7 } } },
  { title: "the right answer, 300 ms late", timings: ["after"], answer: { afterMs: 300 } },
];

/** The name of a fault in the document and in messages. */
function titleOf({ title, timings }: FaultKind, timing: Timing): string {
  if (timings.length === 1) return title;
  return timing === "later" ? `${title}, the work later` : `${title}, ${timing} the work`;
}

/** A fault that a run sets, with its name in the document. */
export interface DrawnFault {
  title: string;
  fault: Fault;
}

/** A command on a stack that has all its resources. */
export type Step = "update" | "refresh" | "destroy";

/**
 * What is done to a program between the first two ups: one resource gets another name, without an
 * alias or with one, in which case the old name and the same inputs go to a new resource, with which
 * alone the second up runs; the resources that are not yet created get other inputs; the resources
 * change places.
 */
type Edit = "rename" | "alias" | "edit" | "reorder";

/** A replacement of one resource of each stack, or of all. */
export interface Replacement {
  way: Way;
  at: number;
  /** Whether the program says `deleteBeforeReplace`. */
  deletesFirst: boolean;
  /** Whether each resource of dynamic providers has the option `import`, which names its own object. */
  isAdopted: boolean;
  faults: DrawnFault[];
  kill: Sequence["kill"];
}

/** What a run does; its number and the seed decide all of it. */
export interface Sequence {
  /** The name of the run, which is in its URNs and contents. */
  name: string;
  kind: Kind;
  /** The resources of each stack; each stack has provider processes of its own. */
  programs: Properties[][];
  /** How far the service's clocks are ahead, in milliseconds. */
  clocks: Clocks;
  /** The key of every second resource: it names a connection, or with the plugin a provider of its own. */
  key: Key;
  /** Whether the plugin takes over, after the first `up`, what dynamic providers have made. */
  moves: boolean;
  /** What is done to the program of the killed stack. */
  edits: Edit[];
  /** Whether the later ups have another base URL of the same service. */
  gateway: boolean;
  /** The up that runs only the last resource of each stack, as with `--target`. */
  target: 1 | 2 | undefined;
  /** How many equal objects the account has before; they are an hour old. */
  olderObjects: number;
  /** Faults of the creates, and of the lists that are read to find a lost object. */
  createFaults: DrawnFault[];
  /** Whether faults that no request has met stay for the second `up`. */
  keepsFaults: boolean;
  /**
   * A process is killed when the service has received this create of the run. Whether the service
   * does the work nevertheless, and whether a killed engine has stored what was created before in
   * this up.
   */
  kill:
    | {
        stack: number;
        skip: number;
        work: boolean | "cleared";
        victim: "provider" | "engine";
        isStored: boolean;
      }
    | undefined;
  /** What follows the creates. */
  replacement: Replacement | undefined;
  /** Whether an object that an error names is adopted; otherwise it is deleted. */
  adopts: boolean;
  /** The commands after the creates, and the faults they meet. */
  steps: Step[];
  stepFaults: DrawnFault[];
}

/** What only some runs have. */
export const words: Record<string, (sequence: Sequence) => boolean> = {
  "the service's clocks are wrong": ({ clocks }) => clocks.date !== 0 || clocks.createdAt !== 0,
  "two providers with one key": ({ key }) => key === "twin",
  "two keys of one account": ({ key }) => key === "second",
  "two accounts on one host": ({ key }) => key === "other",
  "later `up`s at another base URL": ({ gateway }) => gateway,
  "a resource renamed": ({ edits }) => edits.includes("rename"),
  "a resource renamed with an alias, its name given to another": ({ edits }) =>
    edits.includes("alias"),
  "inputs edited": ({ edits }) => edits.includes("edit"),
  "resources reordered": ({ edits }) => edits.includes("reorder"),
  "an `up` with `--target`": ({ target }) => target !== undefined,
  "a move to the plugin": ({ moves }) => moves,
  "seven creates lost": ({ programs }) => isLong(programs),
  "a taint": ({ replacement }) => replacement?.way === "taint",
  "`--target-replace`": ({ replacement }) => replacement?.way === "target",
  "`replacementTrigger`": ({ replacement }) => replacement?.way === "trigger",
  "a replacement with `import`": ({ replacement }) => replacement?.isAdopted === true,
  "`--replace '**'`": ({ replacement }) => replacement?.way === "all",
};

/** The path of each kind. */
export const paths: Record<Kind, string> = {
  tlsEdge: "/edges/tls",
  tlsCertificate: "/tls_certificates",
};

/** Draws run `number` of a seed. */
export function draw(seed: number, number: number, pool: MadeCertificate[]): Sequence {
  // A process serves many runs, so each run has a content of its own.
  const run = `run ${seed}.${number}`;
  const kind = fc.constantFrom<Kind>("tlsEdge", "tlsCertificate");
  const from = fc.noBias(kind.chain((one) => sequences(one, run, pool)));
  const [picked] = fc.sample(from, { seed: (seed * 7919 + number) | 0, numRuns: 1 });
  return picked as Sequence;
}

function sequences(kind: Kind, run: string, pool: MadeCertificate[]): fc.Arbitrary<Sequence> {
  const path = paths[kind];
  const onCreate: Target[] = [
    { method: "POST", path, weight: 3 },
    { method: "GET", path, weight: 1 },
  ];
  const creates = fc.oneof(
    { weight: 9, arbitrary: drawnFaults(onCreate) },
    { weight: 1, arbitrary: staleLists(path) },
  );
  const onReplace = drawnFaults([...onCreate, { method: "DELETE", path: `${path}/*`, weight: 2 }]);
  const steps = drawnFaults([
    { method: "PATCH", path: `${path}/*`, weight: 2 },
    { method: "DELETE", path: `${path}/*`, weight: 2 },
    { method: "GET", weight: 1 },
  ]);
  const drawn = programs(kind, run, pool).chain((programs) =>
    fc.record({
      crash: crash(programs.length),
      name: fc.constant(run),
      kind: fc.constant(kind),
      programs: fc.constant(programs),
      clocks: rarely({ date: 0, createdAt: 0 }, fc.record({ date: aheadMs, createdAt: aheadMs })),
      key: rarely<Key>("tlsedge", fc.constantFrom("twin", "twin", "second", "other")),
      moves: rarely(false, fc.constant(true)),
      gateway: rarely(false, fc.constant(true)),
      target: rarely<Sequence["target"]>(undefined, fc.constantFrom(1, 2)),
      olderObjects: fc.constantFrom(0, 0, 0, 1, 2),
      createFaults: isLong(programs)
        ? fc.constant<DrawnFault[]>([lostCreates(path)])
        : fc.array(creates, { minLength: 1, maxLength: 4, size: "max" }),
      keepsFaults: fc.boolean(),
      replacement: fc.option(
        fc.record({
          way: fc.constantFrom<Way>("taint", "target", "trigger", "all"),
          at: fc.nat(6),
          deletesFirst: rarely(false, fc.constant(true)),
          isAdopted: rarely(false, fc.constant(true)),
          faults: fc.array(onReplace, { maxLength: 3, size: "max" }),
          kill: rarely<Sequence["kill"]>(undefined, kill(programs.length)),
        }),
        { nil: undefined, freq: 3 },
      ),
      adopts: fc.boolean(),
      steps: fc.subarray<Step>(["refresh", "update", "destroy"]),
      stepFaults: fc.array(steps, { maxLength: 2, size: "max" }),
    }),
  );
  return drawn.map(({ crash, ...rest }) => ({ ...crash, ...rest }));
}

/** One stack or two; each has up to three equal resources, or seven, and perhaps one that differs. */
function programs(kind: Kind, run: string, pool: MadeCertificate[]): fc.Arbitrary<Properties[][]> {
  return fc
    .record({
      stacks: fc.constantFrom(1, 1, 1, 2, 2),
      equal: fc.tuple(counts, counts),
      others: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
      pair: fc.constantFrom(...pool),
      module: fc.boolean(),
    })
    .map(({ stacks, equal, others, pair, module }) => {
      const content = ofKind(kind, pair, module);
      return Array.from({ length: stacks }, (_, stack) => [
        ...Array.from({ length: equal[stack] ?? 1 }, () => ({ description: run, ...content })),
        ...(others[stack] ? [different(kind, `${run}, stack ${stack}`, content)] : []),
      ]);
    });
}

const counts = fc.constantFrom(1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 7);

/** Whether a stack has more resources than a message with a few of them would name. */
const isLong = (programs: Properties[][]): boolean => programs.some(({ length }) => length > 6);

/** Seven creates whose objects appear when the up has ended. */
function lostCreates(path: string): DrawnFault {
  const fault = { method: "POST", path, times: 7, work: "cleared", answer: "reset" } as const;
  return { title: "seven connection resets, the work later", fault };
}

function ofKind(kind: Kind, pair: MadeCertificate, module: boolean): Properties {
  if (kind === "tlsEdge") return module ? { ipRestriction: { ipPolicyIds: ["ipp_1"] } } : {};
  return { certificatePem: pair.certificatePem, privateKeyPem: pair.privateKeyPem };
}

/** An edge has a hostport of its own, so no other edge is equal. */
function different(kind: Kind, description: string, content: Properties): Properties {
  const hostport = `${description.replaceAll(/\W+/g, "-")}.example.com:443`;
  return { description, ...content, ...(kind === "tlsEdge" && { hostports: [hostport] }) };
}

/** Other inputs of the same object: what the service need not echo as it was sent differs. */
export function edit(args: Properties): void {
  if (args.certificatePem) {
    const [leaf] = String(args.certificatePem).split(/(?<=-----END CERTIFICATE-----\n)/);
    args.certificatePem = leaf;
  } else if (args.ipRestriction) {
    delete args.ipRestriction;
  } else {
    args.ipRestriction = { ipPolicyIds: ["ipp_1"] };
  }
}

/** Mostly the first value. */
function rarely<T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  const arbitrary = fc.constant(usual);
  return fc.oneof({ weight: 5, arbitrary }, { weight: 1, arbitrary: other });
}

/** A clock that is right, or wrong by seconds or hours. */
const aheadMs = fc.constantFrom(0, 4000, -4000, 10_800_000, -10_800_000);

function kill(stacks: number): fc.Arbitrary<NonNullable<Sequence["kill"]>> {
  return fc.record({
    stack: fc.nat(stacks - 1),
    skip: fc.nat(2),
    work: fc.constantFrom<boolean | "cleared">(true, false, "cleared"),
    victim: fc.constantFrom<"provider" | "engine">("provider", "engine"),
    isStored: fc.boolean(),
  });
}

/** Nothing, a kill, or a kill and what is done to the program after it. */
function crash(stacks: number): fc.Arbitrary<Pick<Sequence, "kill" | "edits">> {
  const all: Edit[] = ["rename", "alias", "edit", "reorder"];
  const edits = fc.subarray(all, { minLength: 1, maxLength: 2 });
  const none = fc.constant<Edit[]>([]);
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ kill: fc.constant(undefined), edits: none }) },
    { weight: 1, arbitrary: fc.record({ kill: kill(stacks), edits: none }) },
    { weight: 2, arbitrary: fc.record({ kill: kill(stacks), edits }) },
  );
}

/** Lists that lack what this run has made: the first one, or the first two. */
function staleLists(path: string): fc.Arbitrary<DrawnFault> {
  const fault = { method: "GET", path, answer: "stale" } as const;
  return fc.tuple(fc.nat(1), fc.constantFrom(1, 2)).map(([skip, times]) => ({
    title: "a list without what was just made",
    fault: { ...fault, skip, times },
  }));
}

type Target = Pick<Fault, "method" | "path"> & { weight: number };

function drawnFaults(targets: Target[]): fc.Arbitrary<DrawnFault> {
  const target = fc.oneof(
    ...targets.map(({ weight, ...rest }) => ({ weight, arbitrary: fc.constant(rest) })),
  );
  const kind = fc
    .constantFrom(...faultKinds)
    .chain((one) => fc.constantFrom(...one.timings).map((timing) => ({ one, timing })));
  const skips = fc.constantFrom(0, 0, 1, 2);
  // Soon enough to be found by a look, or only when the up has ended.
  const later = fc.constantFrom<Fault["work"]>({ afterMs: 300 }, "cleared", "cleared");
  return fc.tuple(target, kind, skips, later).map(([on, { one, timing }, skip, late]) => {
    const { answer } = one;
    if (on.method === "GET") {
      return { title: `${one.title}, of a read`, fault: { ...on, skip, work: true, answer } };
    }
    const work = timing === "later" ? late : timing === "after";
    return { title: titleOf(one, timing), fault: { ...on, skip, work, answer } };
  });
}
