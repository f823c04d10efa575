import type { Fault } from "pulumi-tlsedge-emulator";

/** Whether the service does what is asked before it, or what stands before it, fails. */
export type Timing = "before" | "after";

/** One way in which a request fails. */
export interface FaultKind {
  title: string;
  timings: Timing[];
  answer: Fault["answer"];
}

const both: Timing[] = ["before", "after"];
/** The service itself says this, so it has not done what was asked. */
const refusals: Timing[] = ["before"];
/** Such an answer tells of work that was done. */
const successes: Timing[] = ["after"];

const page = (title: string) =>
  `<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;

const status = (code: number, headers?: Record<string, string>) => ({
  status: code,
  body: page(`Error ${code}`),
  ...(headers && { headers }),
});

const later = (seconds: string) => ({ "Retry-After": seconds });

const refusal: Fault["answer"] = {
  status: 400,
  headers: { "Content-Type": "application/json" },
  body: '{"error_code":"ERR_199","status_code":400,"msg":"No."}',
};

/** Every kind of fault that is drawn. Reads do no work: for them the timing says nothing. */
export const faultKinds: FaultKind[] = [
  ...[408, 500, 502, 503, 504, 520, 522, 524].map((code) => ({
    title: String(code),
    timings: both,
    answer: status(code),
  })),
  { title: "503, Retry-After: 0", timings: both, answer: status(503, later("0")) },
  { title: "503, Retry-After: 1", timings: both, answer: status(503, later("1")) },
  { title: "503, Retry-After: 3600", timings: both, answer: status(503, later("3600")) },
  { title: "429", timings: refusals, answer: status(429) },
  { title: "429, Retry-After: 1", timings: refusals, answer: status(429, later("1")) },
  { title: "400", timings: refusals, answer: refusal },
  { title: "connection reset", timings: both, answer: "reset" },
  { title: "silence", timings: both, answer: "silence" },
  {
    title: "200 with a proxy's HTML",
    timings: both,
    answer: { status: 200, body: page("Please sign in") },
  },
  { title: "half an answer", timings: successes, answer: "truncated" },
  { title: "an id, the rest unusable", timings: successes, answer: { fields: { uri: 7 } } },
  { title: "the right answer, 300 ms late", timings: successes, answer: { afterMs: 300 } },
];

/** How a document and a message name a fault. */
export function nameOf({ title, timings }: FaultKind, timing: Timing): string {
  return timings.length > 1 ? `${title}, ${timing} the work` : title;
}
