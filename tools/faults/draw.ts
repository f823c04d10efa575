import fc from "fast-check";
import type { Fault, MadeCertificate } from "../../emulator/server";
import type { Properties } from "../protocol";
import type { Kind } from "./resource";

/** Whether the request fails before the service has done the work, or after it. */
export type Timing = "before" | "after";

/** One way in which a request fails. */
export interface FaultKind {
  title: string;
  timings: Timing[];
  answer: Fault["answer"];
}

const both: Timing[] = ["before", "after"];

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
export const faultKinds: FaultKind[] = [
  ...[408, 500, 502, 503, 504, 520, 522, 524].map((code) => ({
    title: String(code),
    timings: both,
    answer: status(code),
  })),
  ...["0", "1", "3600"].map((seconds) => ({
    title: `503, Retry-After: ${seconds}`,
    timings: both,
    answer: status(503, retryAfter(seconds)),
  })),
  // The service itself refuses, so it has not done the work.
  { title: "429", timings: ["before"], answer: status(429) },
  { title: "429, Retry-After: 1", timings: ["before"], answer: status(429, retryAfter("1")) },
  { title: "400", timings: ["before"], answer: refusal },
  { title: "connection reset", timings: both, answer: "reset" },
  { title: "silence", timings: both, answer: "silence" },
  {
    title: "200 with a proxy's HTML",
    timings: both,
    answer: { status: 200, body: page("Please sign in") },
  },
  // The service's own answer, so the work is done.
  { title: "half an answer", timings: ["after"], answer: "truncated" },
  { title: "an id, the rest unusable", timings: ["after"], answer: { fields: { uri: 7 } } },
  { title: "the right answer, 300 ms late", timings: ["after"], answer: { afterMs: 300 } },
];

/** The name of a fault in the document and in messages. */
export function titleOf({ title, timings }: FaultKind, timing: Timing): string {
  return timings.length > 1 ? `${title}, ${timing} the work` : title;
}

/** A fault that a run sets, with its name in the document. */
export interface DrawnFault {
  title: string;
  fault: Fault;
}

/** A command on a stack that has all its resources. */
export type Step = "update" | "refresh" | "destroy";

/** What a run does; its number and the seed decide all of it. */
export interface Sequence {
  kind: Kind;
  /** The resources of each stack; each stack has provider processes of its own. */
  programs: Properties[][];
  /** The same resources, as the step `update` has them. */
  changed: Properties[][];
  /** How many equal objects the account has before; they are an hour old. */
  olderObjects: number;
  /** Faults of the creates, and of the lists that are read to find a lost object. */
  createFaults: DrawnFault[];
  /** Whether faults that no request has met stay for the second `up`. */
  keepsFaults: boolean;
  /** A process is killed when the service has received this create of the run. */
  kill: { stack: number; skip: number; work: boolean; victim: "provider" | "engine" } | undefined;
  /** Whether an object that an error names is adopted; otherwise it is deleted. */
  adopts: boolean;
  /** The commands after the creates, and the faults they meet. */
  steps: Step[];
  stepFaults: DrawnFault[];
}

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
  const creates = drawnFaults([
    { method: "POST", path: paths[kind], weight: 3 },
    { method: "GET", path: paths[kind], weight: 1 },
  ]);
  const steps = drawnFaults([
    { method: "PATCH", path: `${paths[kind]}/*`, weight: 2 },
    { method: "DELETE", path: `${paths[kind]}/*`, weight: 2 },
    { method: "GET", weight: 1 },
  ]);
  return programs(kind, run, pool).chain((programs) =>
    fc.record({
      kind: fc.constant(kind),
      programs: fc.constant(programs),
      changed: fc.constant(programs.map((program) => program.map(changed))),
      olderObjects: fc.constantFrom(0, 0, 0, 1, 2),
      createFaults: fc.array(creates, { minLength: 1, maxLength: 4, size: "max" }),
      keepsFaults: fc.boolean(),
      kill: kill(programs.length),
      adopts: fc.boolean(),
      steps: fc.subarray<Step>(["refresh", "update", "destroy"]),
      stepFaults: fc.array(steps, { maxLength: 2, size: "max" }),
    }),
  );
}

/** One stack or two; each has up to three equal resources, and perhaps one that differs. */
function programs(kind: Kind, run: string, pool: MadeCertificate[]): fc.Arbitrary<Properties[][]> {
  return fc
    .record({
      stacks: fc.constantFrom(1, 1, 1, 2, 2),
      equal: fc.array(fc.constantFrom(1, 2, 2, 3), { minLength: 2, maxLength: 2 }),
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

function ofKind(kind: Kind, pair: MadeCertificate, module: boolean): Properties {
  if (kind === "tlsEdge") return module ? { ipRestriction: { ipPolicyIds: ["ipp_1"] } } : {};
  return { certificatePem: pair.certificatePem, privateKeyPem: pair.privateKeyPem };
}

/** An edge has a hostport of its own, so no other edge is equal. */
function different(kind: Kind, description: string, content: Properties): Properties {
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

function drawnFaults(targets: Target[]): fc.Arbitrary<DrawnFault> {
  const target = fc.oneof(
    ...targets.map(({ weight, ...rest }) => ({ weight, arbitrary: fc.constant(rest) })),
  );
  const kind = fc
    .constantFrom(...faultKinds)
    .chain((one) => fc.constantFrom(...one.timings).map((timing) => ({ one, timing })));
  return fc.tuple(target, kind, fc.constantFrom(0, 0, 1, 2)).map(([on, { one, timing }, skip]) => ({
    title: on.method === "GET" ? `${one.title}, of a read` : titleOf(one, timing),
    fault: { ...on, skip, work: timing === "after" || on.method === "GET", answer: one.answer },
  }));
}
