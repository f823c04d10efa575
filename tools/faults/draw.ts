import fc from "fast-check";
import type { Fault } from "../../emulator/server";

type Value<Drawn> = Drawn extends fc.Arbitrary<infer T> ? T : never;
type Answer = Fault["answer"];
type Work = Fault["work"];

const oneOf = fc.constantFrom;
/** Mostly the first value. */
const rarely = <T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: oneOf(...others) },
  );
/** Right, or wrong by seconds or hours. */
const aheadMs = oneOf(0, 4000, -4000, 10_800_000, -10_800_000);
const rightClocks = fc.constant({ date: 0, createdAt: 0 });

/** What stays the same in a sequence. */
export type Setup = Value<typeof setups>;
export const setups = fc.record({
  kind: oneOf("tlsEdge" as const, "tlsCertificate" as const),
  stacks: fc.array(
    // Resources with the same inputs, and perhaps one that differs.
    fc.record({ equal: oneOf(1, 2, 2, 3), hasOther: fc.boolean() }),
    { minLength: 1, maxLength: 2, size: "max" },
  ),
  hasChain: fc.boolean(),
  hasModule: fc.boolean(),
  /** The key of every second resource, or with the plugin of the second stack. */
  key: rarely<"tlsedge" | "second" | "other">("tlsedge", "second", "other"),
  clocks: fc.oneof(
    { weight: 5, arbitrary: rightClocks },
    { weight: 1, arbitrary: fc.record({ date: aheadMs, createdAt: aheadMs }) },
  ),
  /** How many objects of other users equal the first resource. */
  older: oneOf(0, 0, 0, 1, 2),
  /** Whether the user adopts what an error names, in the end; otherwise it is deleted. */
  adopts: fc.boolean(),
});

const page = (title: string) => `<html><body><h1>${title}</h1></body></html>`;
const status = (code: number, headers = {}): Answer => ({
  status: code,
  headers,
  body: page("No"),
});
const refusal = {
  status: 400,
  headers: { "Content-Type": "application/json" },
  body: '{"error_code":"ERR_199","status_code":400,"msg":"No."}',
};
const retryAfter = (seconds: number) => ({ "Retry-After": String(seconds) });

/** The service may do the work before the answer, soon, when all is over, or never. */
const anyWork = oneOf<Work[]>(false, true, { afterMs: 300 }, "cleared");
const anyAnswer = oneOf<Answer[]>(
  ...[408, 500, 503, 504, 524].map((code) => status(code)),
  ...[0, 3600].map((seconds) => status(503, retryAfter(seconds))),
  "reset",
  "silence",
  { status: 200, body: page("Please sign in") },
);
/** The service itself refuses, so it has not done the work, or answers, so it has. */
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

/** A process is killed during a request that gets no answer. */
export interface Kill {
  stack: number;
  victim: "provider" | "engine";
  /** Whether a killed engine has stored what the command did before. */
  isStored: boolean;
  fault: Omit<Fault, "answer">;
}

/** How a command runs. */
export interface Drawn {
  faults: Fault[];
  kill: Kill | undefined;
  /** Only the last resource runs. */
  isTargeted: boolean;
  takesEqual: boolean;
  /** At another base URL of the same service. */
  isAtGateway: boolean;
  /** As the error of an object that another key has made says. */
  sameAccount?: boolean;
  /** Whether the next command runs in the same process. */
  keepsProcess?: boolean;
}

/** `methods` are those of the requests that meet faults, the first one that during which a process is killed. */
export function drawn(mostFaults: number, ...methods: NonNullable<Fault["method"]>[]) {
  const method = oneOf(...methods);
  const skip = oneOf(0, 0, 1, 2);
  const any = fc
    .tuple(method, skip, failure)
    // Reads do no work.
    .map(([method, skip, one]) => ({
      method,
      skip,
      ...one,
      ...(method === "GET" && { work: true }),
    }));
  // A list lacks what was just made, or a new object is not found yet.
  const times = oneOf(1, 2);
  const late: fc.Arbitrary<Fault> = methods.includes("POST")
    ? fc.record({ method: oneOf("GET"), skip: fc.nat(1), times, answer: oneOf("stale") })
    : fc.record({ method, times, answer: fc.constant(status(404)), work: fc.constant(false) });
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
  return fc.record<Drawn>({
    faults: fc.array(fault, { maxLength: mostFaults, size: "max" }),
    kill: fc.option(kill, { freq: 2, nil: undefined }),
    isTargeted: rarely(false, true),
    takesEqual: rarely(false, true),
    isAtGateway: rarely(false, true),
  });
}
