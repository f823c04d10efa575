/** The service's answer to one try of a request. */
export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  /** The body: null when it is empty, undefined when it is not JSON. */
  json: unknown;
  /** The beginning of a body that is not JSON. */
  text?: string | undefined;
  code?: undefined;
}

/** Why one try of a request got no answer, or only a part of one. */
export interface NoAnswer {
  status?: undefined;
  headers?: undefined;
  /** Node's code for the cause. */
  code: string;
  message: string;
  /** Whether the request may have reached the service. */
  wasSent: boolean;
  /** The TLS alert by which the other side has ended the connection (RFC 8446, section 6). */
  alert?: number | undefined;
  /** Whether the connection to the proxy failed, before one to the service was tried. */
  isOfProxy?: boolean;
}

/** The result of one try of a request. */
export type Outcome = Answer | NoAnswer;

/** An operation whose deadline is over before the request. */
export const tooLate: NoAnswer = { code: "ETIMEDOUT", message: "", wasSent: true };

/** The answer to a request that the service would refuse for its rate until after its deadline. */
export const refusedFor = (ms: number): Answer => ({
  status: 429,
  headers: { "retry-after": Math.ceil(ms / 1000) },
  json: null,
});

const firstBackoffMs = 500;
const maxBackoffMs = 20_000;

/** The statuses and Node's codes of failures that may pass; 429 is the matter of `Pace`. */
const transient = new Set<number | string>([
  ...[408, 502, 503, 504, 520, 521, 522, 523, 524],
  ...["ECONNREFUSED", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"],
  ...["ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNABORTED"],
]);

/** Whether the answer is a success. */
export function isSuccess(outcome: Outcome): outcome is Answer {
  return outcome.status !== undefined && outcome.status >= 200 && outcome.status < 300;
}

/** Whether the request may have reached the service. */
export function mayHaveArrived(outcome: Outcome): boolean {
  return outcome.status !== undefined || outcome.wasSent;
}

/**
 * Whether the service may have done a write although the answer is no success. Only a 4xx other
 * than 408 proves that the write was not done: a proxy may answer 408 or any 5xx after the service
 * has done the write.
 */
export function mayBeDone(outcome: Outcome): boolean {
  const { status } = outcome;
  if (status === undefined) return outcome.wasSent;
  return status === 408 || status < 400 || status >= 500;
}

/** The TLS alert for what the two sides do not share: before TLS 1.3, also for a certificate of the client. */
export const handshakeFailure = 40;
/** The TLS alerts about the other side's certificate. The client has none. */
const certificateAlerts = [42, 43, 44, 45, 46, 48, 49, 116];

/** Whether the server wants a certificate of the client: then it has taken no request. */
export const wantsCertificate = (alert: number | undefined): boolean =>
  certificateAlerts.includes(Number(alert));

/** The TLS alert that a message of OpenSSL names: no field of an error has it. */
export function alertIn(message: string): number | undefined {
  const [, alert] = /SSL alert number (\d+)/.exec(message) ?? [];
  return alert ? Number(alert) : undefined;
}

/** Whether to retry the request. A POST that the service may have done is never retried. */
export function canRetry(method: string, outcome: Outcome): boolean {
  const mayPass = transient.has(outcome.code ?? outcome.status);
  return mayPass && !(method === "POST" && mayBeDone(outcome));
}

/**
 * The pause before the next try, in milliseconds: exponential backoff with full jitter, or what the service asks for if
 * that is longer.
 */
export function pauseMs(outcome: Outcome, retries: number, clockSkewMs: number): number {
  const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (retries - 1));
  return Math.max(Math.ceil(Math.random() * backoffMs), askedMs(outcome, clockSkewMs) ?? 0);
}

/** A number above is a time since 1970, in seconds or in milliseconds, as some services give it. */
const leastEpoch = 1_000_000_000;
const leastEpochMs = 1_000_000_000_000;

/**
 * How long the service asks to wait, in milliseconds: `Retry-After`, and after 429 also the reset of its limit, in seconds
 * or as a time. Undefined where it does not say.
 */
export function askedMs(outcome: Outcome, clockSkewMs: number): number | undefined {
  const { headers = {}, status } = outcome;
  // Services tell the reset with each answer.
  const resets = status === 429 ? ["ratelimit-reset", "x-ratelimit-reset"] : [];
  const names = ["retry-after", ...resets];
  const text = String(names.map((name) => headers[name]).find((value) => value !== undefined));
  // Not a number where the text is a date, or there is none.
  const number = Number(/^\s*([\d.]+)\s*s?\s*$/.exec(text)?.[1]);
  const isDuration = number <= leastEpoch;
  const epochMs = number > leastEpochMs ? number : number * 1000;
  const time = Number.isNaN(number) ? Date.parse(text) : epochMs;
  const ms = isDuration ? number * 1000 : time - Date.now() - clockSkewMs;
  return ms > 0 ? ms : undefined;
}
