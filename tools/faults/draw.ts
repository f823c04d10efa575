import * as fc from "fast-check";
import type { Fault } from "../../emulator/server";
import type { Key, Replacement } from "./stack";

type Value<Drawn> = Drawn extends fc.Arbitrary<infer T> ? T : never;
type Answer = Fault["answer"];
type Work = Fault["work"];

const oneOf = fc.constantFrom;
/** Mostly the first value. */
const rarely = <const T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: oneOf(...others) },
  );

/** A clock that is right, or wrong by seconds or hours. */
const aheadMs = oneOf(0, 4000, -4000, 10_800_000, -10_800_000);
const rightClocks = fc.constant({ date: 0, createdAt: 0 });

/** What stays the same in a sequence. */
export type Setup = Value<typeof setups>;
export const setups = fc.record({
  kind: oneOf("tlsEdge" as const, "tlsCertificate" as const),
  /** Each has provider processes of its own, some equal resources, and perhaps one that differs. */
  stacks: fc.array(fc.record({ equal: oneOf(1, 2, 2, 3), hasOther: fc.boolean() }), {
    ...{ minLength: 1, maxLength: 2, size: "max" },
  }),
  /** Whether the first stack has seven resources, more than some messages name, whose creates are lost. */
  isLong: rarely(false, true, false),
  hasChain: fc.boolean(),
  hasModule: fc.boolean(),
  /** The key of every second resource: it names a connection, or with the plugin a provider of its own. */
  key: rarely<Key>("tlsedge", "twin", "twin", "second", "other"),
  /** Whether the plugin takes over, after the first `up`, what dynamic providers have made. */
  moves: rarely(false, true),
  clocks: fc.oneof(
    { weight: 5, arbitrary: rightClocks },
    { weight: 1, arbitrary: fc.record({ date: aheadMs, createdAt: aheadMs }) },
  ),
  /** How many objects of another user, an hour old, equal the first resource. */
  older: oneOf(0, 0, 0, 1, 2),
  /** Whether the user adopts what an error names, in the end; otherwise it is deleted. */
  adopts: fc.boolean(),
});

const page = (title: string) => `<html><body><h1>${title}</h1></body></html>`;
const status = (code: number, headers = {}): Answer => ({
  ...{ status: code, headers, body: page(`Error ${code}`) },
});
const retryAfter = (seconds: number) => ({ "Retry-After": String(seconds) });
const refusal: Answer = {
  status: 400,
  headers: { "Content-Type": "application/json" },
  body: '{"error_code":"ERR_199","status_code":400,"msg":"No."}',
};

/** Of these the service may do the work before the answer, soon, when the command has ended, or never. */
const anyAnswer = oneOf<Answer[]>(
  ...[408, 500, 503, 504, 524].map((code) => status(code)),
  ...[0, 3600].map((seconds) => status(503, retryAfter(seconds))),
  "reset",
  "silence",
  { status: 200, body: page("Please sign in") },
);
const anyWork = oneOf<Work[]>(false, true, { afterMs: 300 }, "cleared");
/** With these the service itself refuses, so it has not done the work, or answers, so it has. */
const ownAnswer = oneOf<Pick<Fault, "answer" | "work">[]>(
  { answer: status(429), work: false },
  { answer: status(429, retryAfter(1)), work: false },
  { answer: refusal, work: false },
  { answer: "truncated" },
  { answer: { fields: { uri: 7 } } },
  { answer: { afterMs: 300 } },
);
const failure = fc.oneof(
  { weight: 10, arbitrary: fc.record({ answer: anyAnswer, work: anyWork }) },
  { weight: 6, arbitrary: ownAnswer },
);

/** The creates of seven resources, whose objects appear when the command has ended. */
export const lostCreates: Fault = { method: "POST", times: 7, work: "cleared", answer: "reset" };
/** A new object is not found yet. */
export const notFound = { status: 404 };

/** A process is killed during a request that gets no answer. */
export interface Kill {
  stack: number;
  victim: "provider" | "engine";
  /** Whether a killed engine has stored what the command did before. */
  isStored: boolean;
  fault: Omit<Fault, "answer">;
}

/** How a command runs. */
export interface Run {
  faults: Fault[];
  kill: Kill | undefined;
  /** Only the last resource of each stack runs. */
  isTargeted: boolean;
  /** At another base URL of the same service. */
  isAtGateway: boolean;
  /** As the error of an object that another key has made says. */
  sameAccount: boolean;
  /** Whether the next command runs in the same process. */
  keepsProcess: boolean;
}

/**
 * Draws how a command runs. `methods` are those of the requests that meet faults; a process is killed during
 * one of the first.
 */
export function runs(
  mostFaults: number,
  ...methods: NonNullable<Fault["method"]>[]
): fc.Arbitrary<Partial<Run>> {
  const method = oneOf(...methods);
  const any = fc
    .tuple(method, oneOf(0, 0, 1, 2), failure)
    // A read does no work, so that its timing does not matter.
    .map(([method, skip, { answer, work }]): Fault => {
      return { method, skip, answer, work: method === "GET" || work };
    });
  // A list lacks what was just made, or a new object is not found yet.
  const times = oneOf(1, 2);
  const late: fc.Arbitrary<Fault> = methods.includes("POST")
    ? fc.record({ method: oneOf("GET"), skip: fc.nat(1), times, answer: oneOf("stale") })
    : fc.record({ method, times, answer: oneOf(notFound), work: oneOf(false) });
  const weight = methods.includes("POST") ? 9 : 3;
  const fault = fc.oneof({ weight, arbitrary: any }, { weight: 1, arbitrary: late });
  const kill: fc.Arbitrary<Kill> = fc.record({
    stack: fc.nat(1),
    victim: oneOf("provider", "engine"),
    isStored: fc.boolean(),
    fault: fc.record({
      method: fc.constant(methods[0]),
      skip: fc.nat(2),
      work: oneOf<Work[]>(false, true, "cleared"),
    }),
  });
  return fc.record({
    faults: fc.array(fault, { minLength: 1, maxLength: mostFaults, size: "max" }),
    kill: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: kill },
    ),
    isTargeted: rarely(false, true),
    isAtGateway: rarely(false, true),
  });
}

/** What is done to the program of a stack: see `World.edit`. */
export const edits = fc.record({
  what: oneOf("rename" as const, "alias" as const, "inputs" as const, "reorder" as const),
  stack: fc.nat(1),
});

/** A replacement of what has no change. */
export const replacements = fc.record<Replacement>({
  way: oneOf("taint", "target", "trigger", "all"),
  at: fc.nat(6),
  deletesFirst: rarely(false, true),
  isAdopted: rarely(false, true),
});
