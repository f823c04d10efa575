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
interface NoAnswer {
  status?: undefined;
  headers?: undefined;
  /** Node's code for the cause. */
  code: string;
  message: string;
  /** Whether the request may have reached the service. */
  wasSent: boolean;
}

/** The result of one try of a request. */
export type Outcome = Answer | NoAnswer;

const firstBackoffMs = 500;
const maxBackoffMs = 20_000;

const transientStatuses = new Set([408, 429, 502, 503, 504, 520, 521, 522, 523, 524]);
const transientCodes = new Set([
  ...["ECONNREFUSED", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"],
  ...["ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNABORTED"],
]);

/** Whether a status is that of a failure which may pass. */
export const isTransient = (status: number) => transientStatuses.has(status);

/** Whether the answer is a success. */
export function isSuccess(outcome: Outcome): outcome is Answer {
  return outcome.status !== undefined && outcome.status >= 200 && outcome.status < 300;
}

/**
 * Whether the service may have done a write although the answer is no success. Only a 4xx other
 * than 408 proves that the write was not done: a proxy may answer 408 or any 5xx after the service
 * has done the write.
 */
export function isLost(outcome: Outcome): boolean {
  const { status } = outcome;
  if (status === undefined) return outcome.wasSent;
  return status === 408 || status < 400 || status >= 500;
}

/** Whether to retry the request. A POST that the service may have done is never retried. */
export function canRetry(method: string, outcome: Outcome): boolean {
  const mayPass =
    outcome.status === undefined ? transientCodes.has(outcome.code) : isTransient(outcome.status);
  return mayPass && !(method === "POST" && isLost(outcome));
}

/**
 * The pause before the next try, in milliseconds: exponential backoff with full jitter, or
 * `Retry-After` if that is longer.
 */
export function pauseMs(outcome: Outcome, attempts: number, clockSkewMs: number): number {
  const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempts - 1));
  const header = outcome.headers?.["retry-after"];
  const askedMs = Number(header) * 1000 || Date.parse(String(header)) - Date.now() - clockSkewMs;
  return Math.max(Math.ceil(Math.random() * backoffMs), askedMs || 0);
}

/** What an error message needs besides the outcome and the tries. */
interface ErrorContext {
  nameOf: NameOf;
  /** Where the request was sent. */
  host: string;
  /** Whether the path names one object: then 404 means that the object is gone. */
  isItem: boolean;
  /** Makes a text of the service fit to be shown: short, plain and without secrets. */
  shown: (text: string) => string;
  /** How long a failed connection is retried, in milliseconds; infinite when there is no limit. */
  maxRetryMs: number;
}

/** The error for an outcome that is not a success. */
export function errorOf(
  outcome: Outcome,
  tries: Attempted & { lastStatus?: number },
  context: ErrorContext,
): ServiceError | ConnectionError {
  if (outcome.status === undefined) {
    // The message may quote the server, such as the names in its certificate.
    const told = { ...outcome, message: context.shown(outcome.message) };
    const reason = explain(told, context.nameOf, context.maxRetryMs);
    return new ConnectionError(reason, { ...tries, code: outcome.code });
  }
  const { lastStatus: _, ...attempted } = tries;
  const body = outcome.json as Record<string, unknown> | null | undefined;
  const details = body?.details as { operation_id?: unknown } | null | undefined;
  const shown = (value: unknown) => (typeof value === "string" ? context.shown(value) : undefined);
  const fields = {
    ...attempted,
    status: outcome.status,
    code: shown(body?.error_code),
    operationId: shown(details?.operation_id),
  };
  const advice = advise(outcome.status, context.nameOf, context.isItem, context.host);
  return new ServiceError(shown(body?.msg) ?? "", fields, advice);
}
