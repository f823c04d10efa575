import { advise, explain, type NameOf } from "./advice";
import { type Attempted, ConnectionError, ServiceError } from "./errors";

/** The service's answer to one try of a request. */
export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  /** The body: null when it is empty, undefined when it is not JSON. */
  json: unknown;
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
}

/** What came of one try of a request. */
export type Outcome = Answer | NoAnswer;

const firstBackoffMs = 500;
const longestBackoffMs = 20_000;
const longestReason = 1000;

const transientStatuses = new Set([408, 429, 502, 503, 504, 520, 521, 522, 523, 524]);
const transientCodes = new Set([
  ...["ECONNREFUSED", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"],
  ...["ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNABORTED"],
]);

/** Whether the answer is a success. */
export function isSuccess(outcome: Outcome): outcome is Answer {
  return outcome.status !== undefined && outcome.status >= 200 && outcome.status < 300;
}

/**
 * Whether a write may have been done, although its answer is not a success. Only 429 and the other
 * 4xx say that it was not: a proxy may answer 408 or any 5xx after the service has done the work.
 */
export function isLost(outcome: Outcome): boolean {
  const { status } = outcome;
  if (status === undefined) return outcome.wasSent;
  return status === 408 || status < 400 || status >= 500;
}

/** Whether to send the request again. A POST that may have been done is never sent again. */
export function canRetry(method: string, outcome: Outcome): boolean {
  const isTransient =
    outcome.status === undefined
      ? transientCodes.has(outcome.code)
      : transientStatuses.has(outcome.status);
  return isTransient && !(method === "POST" && isLost(outcome));
}

/**
 * The pause before the next try, in milliseconds: exponential backoff with full jitter, or
 * `Retry-After` where that is longer.
 */
export function pauseMs(outcome: Outcome, attempts: number, clockSkewMs: number): number {
  const backoffMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempts - 1));
  const header = outcome.headers?.["retry-after"];
  const askedMs = Number(header) * 1000 || Date.parse(String(header)) - Date.now() - clockSkewMs;
  return Math.max(Math.ceil(Math.random() * backoffMs), askedMs || 0);
}

/** What an error message needs beside the outcome. */
interface Asked {
  nameOf: NameOf;
  /** Whether the path names one object: then 404 means that the object is gone. */
  isItem: boolean;
  /** Removes secrets from what the service says. */
  redact: (said: string) => string;
  /** How long a connection is retried, in milliseconds; infinite when only the deadline ends it. */
  mostMs: number;
}

/** The error that an outcome becomes. */
export function errorOf(
  outcome: Outcome,
  asked: Attempted & { lastStatus?: number },
  from: Asked,
): ServiceError | ConnectionError {
  if (outcome.status === undefined) {
    const mostMs = canRetry(asked.method, outcome) ? from.mostMs : Number.POSITIVE_INFINITY;
    const said = explain(outcome, from.nameOf, mostMs);
    return new ConnectionError(said, { ...asked, code: outcome.code });
  }
  const { lastStatus: _, ...attempted } = asked;
  const body = outcome.json as Record<string, unknown> | null | undefined;
  const details = body?.details as { operation_id?: unknown } | null | undefined;
  // Redacted before it is cut: a cut may leave a part of a key, too short to be found.
  const said = (value: unknown) =>
    typeof value === "string" ? from.redact(value).slice(0, longestReason) : undefined;
  const fields = {
    ...attempted,
    status: outcome.status,
    code: said(body?.error_code),
    operationId: said(details?.operation_id),
  };
  const advice = advise(outcome.status, from.nameOf, from.isItem);
  return new ServiceError(said(body?.msg) ?? "", fields, advice);
}
