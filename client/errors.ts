/**
 * The errors of a failed request.
 *
 * @module pulumi-tlsedge/client/errors
 */

/** The fields of every error of a request. */
export interface Attempted {
  /** The HTTP method. */
  method: string;
  /** The path, below the base URL. */
  path: string;
  /** How many times the request was sent. */
  attempts: number;
  /** How long all tries took, including the pauses between them, in milliseconds. */
  elapsedMs: number;
  /** Whether the service may have done this write although the request failed. False for a GET. */
  ambiguous: boolean;
}

/** What both errors of a request have. */
export class RequestError extends Error implements Attempted {
  declare readonly method: string;
  declare readonly path: string;
  declare readonly attempts: number;
  declare readonly elapsedMs: number;
  declare readonly ambiguous: boolean;

  constructor(what: string, reason: string, fields: Attempted) {
    const { method, path, attempts, elapsedMs } = fields;
    const tries = attempts > 1 ? ` after ${attempts} tries` : "";
    const time = elapsedMs >= 1000 ? ` in ${Math.round(elapsedMs / 1000)} s` : "";
    super(`${method} ${path} ${what}${tries}${time}: ${reason}`);
    Object.assign(this, fields);
  }
}

/** The service answered with a status that is not a success. */
export class ServiceError extends RequestError {
  /** Identifies the class where several copies of this package are loaded. */
  override readonly name = "ServiceError";
  /** The HTTP status. */
  declare readonly status: number;
  /** The service's own code for the cause, if the answer has one. */
  declare readonly code: string | undefined;
  /** The id of the failed operation for the service's support, if the answer has one. */
  declare readonly operationId: string | undefined;
  /** Whether the answer is not JSON, so that something else than the service may have answered. */
  declare readonly isOther: boolean;

  constructor(
    reason: string,
    fields: Attempted & { status: number; code?: string; operationId?: string; isOther: boolean },
    advice: string,
  ) {
    const ids = [fields.code, fields.operationId].filter(Boolean).join(", ");
    const why = `${reason || "no reason given"}${ids && ` (${ids})`}${advice && `. ${advice}`}`;
    super(`failed with status ${fields.status}`, why, fields);
  }
}

/** No usable answer: no connection, no answer in time, or an answer that does not match api.md. */
export class ConnectionError extends RequestError {
  /** Identifies the class where several copies of this package are loaded. */
  override readonly name = "ConnectionError";
  /** Node's code for the cause, such as `ECONNREFUSED`, `ETIMEDOUT` or `EBADANSWER`. */
  declare readonly code: string;
  /** In an `EBADANSWER`: the path of the unusable field, such as `tls_edges[3].id`. */
  declare readonly field: string | undefined;
  /**
   * In an `EBADANSWER`: the id of the object, if the answer has one. Not named `id`: to Pulumi, an error with an
   * `id` is that of a resource that was created or updated in part, with the error's `properties` as its state.
   */
  declare readonly objectId: string | undefined;

  constructor(
    reason: string,
    fields: Attempted & { code: string; field?: string; objectId?: string },
  ) {
    super("got no usable answer", reason, fields);
  }

  /** The error for an answer that does not match api.md. */
  static unusable(
    fields: Partial<Attempted> & { path: string; field?: string; objectId?: string },
    reason: string,
  ): ConnectionError {
    const defaults = { method: "GET", attempts: 1, elapsedMs: 0, ambiguous: false };
    return new ConnectionError(reason, { ...defaults, ...fields, code: "EBADANSWER" });
  }
}

/** Whether the service answered that there is no such object. */
export const isNotFound = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.status === 404;

/** Whether the service may have created an object although the POST failed. */
export const isLostCreate = (error: unknown): error is RequestError =>
  error instanceof RequestError && error.method === "POST" && error.ambiguous;

/** Whether the service may still be at work on the request. */
export function isSlow(error: unknown): boolean {
  if (error instanceof ServiceError) return [408, 504, 524].includes(error.status);
  return error instanceof ConnectionError && error.code === "ETIMEDOUT";
}
