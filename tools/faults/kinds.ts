import fc from "fast-check";
import type { Fault } from "pulumi-tlsedge-emulator";
import type { Kind } from "./resource.ts";
import { paths } from "./service.ts";

export const operations = ["create", "read", "update", "delete", "adopt"] as const;
export type Operation = (typeof operations)[number];

const requests: Record<Operation, { method: Fault["method"]; suffix?: string }> = {
  create: { method: "POST", suffix: "" },
  // What is read is asked for by itself or with the list.
  read: { method: "GET" },
  update: { method: "PATCH", suffix: "/*" },
  delete: { method: "DELETE", suffix: "/*" },
  adopt: { method: "GET" },
};

/** The requests that an operation is made of, when nothing goes wrong. */
export function requestsOf(operation: Operation, kind: Kind): Pick<Fault, "method" | "path"> {
  const { method, suffix } = requests[operation];
  return suffix === undefined ? { method } : { method, path: `${paths[kind]}${suffix}` };
}

type Answer = Fault["answer"];
/** Where whoever is redirected would be heard is known only in the run. */
export type DrawnAnswer = Answer | ((elsewhere: string) => Answer);

/** A fault of a kind, as the emulator is told it. */
export function faultOf({ work }: FaultKind, answer: DrawnAnswer, elsewhere: string): Fault {
  return {
    // Where the answer needs the work, the emulator does it; nothing is said against it.
    ...(work ? { work } : {}),
    answer: typeof answer === "function" ? answer(elsewhere) : answer,
  };
}

/** One row of the table. */
export interface FaultKind {
  title: string;
  answer(kind: Kind): fc.Arbitrary<DrawnAnswer>;
  /** Whether the service does what is asked before it fails. */
  work: boolean;
  /** Needs a deadline that is over soon. */
  hasty?: boolean;
  /** Why an operation can't meet it. */
  dash?: Partial<Record<Operation, string>>;
}

const html = fc
  .constantFrom("Bad gateway", "Service unavailable", "upstream timed out")
  .map(
    (title) => `<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`,
  );

const gateway = (status: number) => () => html.map((body): Answer => ({ status, body }));

const onlyReads = "It only reads, and so does no work: it is counted under _before the work_.";
const noWork = { read: onlyReads, adopt: onlyReads };
const noBody = { delete: "The answer to a delete has no body (204)." };

/** Values that no field of this kind may have; of the service's own or of an object. */
const wrong: Record<Kind, Record<string, unknown[]>> = {
  tlsEdge: {
    id: [7, null, {}, ["edgtls_1"], ""],
    uri: [false, 3],
    created_at: [5, {}],
    description: [9, ["d"]],
    hostports: ["app.example.com:443", [1], { a: 1 }],
    backend: ["bkdtg_1", { enabled: "yes", backend: 4 }],
    ip_restriction: [{ enabled: true, ip_policies: "ipp_1" }, 1],
    mutual_tls: [true, { enabled: true, certificate_authorities: [3] }],
    tls_termination: ["edge", { enabled: 1, terminate_at: 7, min_version: [] }],
  },
  tlsCertificate: {
    id: [7, null, {}, ["cert_1"], ""],
    uri: [false, 3],
    created_at: [5, {}],
    metadata: [9, ["m"]],
    certificate_pem: [null, 7, "no PEM at all", {}],
    subject_alternative_names: ["a.example.com", { dns_names: "a.example.com" }],
    not_after: [1, {}],
    key_usages: ["digitalSignature", 5],
    private_key_type: [2, []],
  },
};

const wrongFields = (kind: Kind) =>
  fc
    .constantFrom(...Object.keys(wrong[kind]))
    .chain((field) => fc.constantFrom(...(wrong[kind][field] ?? [])).map((value) => [field, value]))
    .map(([field, value]): Answer => ({ fields: { [field as string]: value } }));

const moreFields = () =>
  fc
    .dictionary(fc.stringMatching(/^[a-z]{4,12}_added$/), fc.jsonValue({ maxDepth: 2 }), {
      minKeys: 1,
      maxKeys: 4,
    })
    .map((fields): Answer => ({ fields }));

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();

/** Later, by seconds or by the clock: an hour is past every deadline. */
const retryAfter = fc
  .constantFrom(
    () => "1",
    () => "2",
    () => inSeconds(2),
    () => "3600",
    () => inSeconds(3600),
  )
  .map((write) => ({ "Retry-After": write() }));

/** The rows of the table, in its order. */
export const faultKinds: FaultKind[] = [
  { title: "reset before the work", work: false, answer: () => fc.constant("reset") },
  { title: "reset after the work", work: true, answer: () => fc.constant("reset"), dash: noWork },
  {
    title: "silence before the work",
    work: false,
    hasty: true,
    answer: () => fc.constant("silence"),
  },
  {
    title: "silence after the work",
    work: true,
    hasty: true,
    answer: () => fc.constant("silence"),
    dash: noWork,
  },
  { title: "half of the JSON", work: true, answer: () => fc.constant("truncated"), dash: noBody },
  {
    title: "429 with Retry-After",
    work: false,
    answer: () => retryAfter.map((headers) => ({ status: 429, headers })),
  },
  {
    title: "429 without Retry-After",
    work: false,
    answer: () => html.map((body) => ({ status: 429, body })),
  },
  ...[502, 503, 504].flatMap((status): FaultKind[] => [
    { title: `${status} with HTML before the work`, work: false, answer: gateway(status) },
    {
      title: `${status} with HTML after the work`,
      work: true,
      answer: gateway(status),
      dash: noWork,
    },
  ]),
  {
    title: "503 with Retry-After",
    work: false,
    answer: () => retryAfter.map((headers) => ({ status: 503, headers })),
  },
  { title: "a field of the wrong type", work: true, answer: wrongFields, dash: noBody },
  { title: "unknown fields", work: true, answer: moreFields, dash: noBody },
  {
    title: "401 half-way",
    work: false,
    answer: () =>
      fc.constant({
        status: 401,
        headers: { "Content-Type": "application/json" },
        body: '{"error_code":"ERR_105","status_code":401,"msg":"The key was revoked."}',
      }),
  },
  {
    title: "redirect to another origin",
    work: false,
    answer: () =>
      fc
        .record({ status: fc.constantFrom(301, 302, 303, 307, 308), tls: fc.boolean() })
        .map(({ status, tls }) => (elsewhere) => ({
          status,
          headers: { Location: `${tls ? "https" : "http"}://${elsewhere}/edges/tls` },
        })),
  },
];
