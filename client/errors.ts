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

/** The service answered with a status that is not a success. */
export class ServiceError extends Error implements Attempted {
  /** Identifies the class where several copies of this package are loaded. */
  override readonly name = "ServiceError";
  /** The HTTP method. */
  declare readonly method: string;
  /** The path, below the base URL. */
  declare readonly path: string;
  declare readonly attempts: number;
  declare readonly elapsedMs: number;
  declare readonly ambiguous: boolean;
  /** The HTTP status. */
  declare readonly status: number;
  /** The service's own code for the cause, if the answer has one. */
  declare readonly code: string | undefined;
  /** The id of the failed operation for the service's support, if the answer has one. */
  declare readonly operationId: string | undefined;

  constructor(
    reason: string,
    fields: Attempted & { status: number; code?: string; operationId?: string },
    advice: string,
  ) {
    const ids = [fields.code, fields.operationId].filter(Boolean).join(", ");
    super(
      `${fields.method} ${fields.path} failed with status ${fields.status}${effort(fields)}: ` +
        `${reason || "no reason given"}${ids && ` (${ids})`}${advice && `. ${advice}`}`,
    );
    Object.assign(this, fields);
  }
}

/** No usable answer: no connection, no answer in time, or an answer that does not match api.md. */
export class ConnectionError extends Error implements Attempted {
  /** Identifies the class where several copies of this package are loaded. */
  override readonly name = "ConnectionError";
  /** The HTTP method. */
  declare readonly method: string;
  /** The path, below the base URL. */
  declare readonly path: string;
  declare readonly attempts: number;
  declare readonly elapsedMs: number;
  /** Node's code for the cause, such as `ECONNREFUSED`, `ETIMEDOUT` or `EBADANSWER`. */
  declare readonly code: string;
  declare readonly ambiguous: boolean;
  /** In an `EBADANSWER`: the path of the unusable field, such as `tls_edges[3].id`. */
  declare readonly field: string | undefined;
  /** In an `EBADANSWER`: the known fields that are usable. */
  declare readonly usable: Record<string, unknown> | undefined;
  /** The status of the last try that got an answer, if any did. */
  declare readonly lastStatus: number | undefined;

  constructor(
    reason: string,
    fields: Attempted & {
      code: string;
      field?: string;
      usable?: Record<string, unknown>;
      lastStatus?: number;
    },
  ) {
    const last = fields.lastStatus ? ` (an earlier try got status ${fields.lastStatus})` : "";
    super(
      `${fields.method} ${fields.path} got no usable answer${effort(fields)}: ${reason}${last}`,
    );
    Object.assign(this, fields);
  }

  /** The error for an answer that does not match api.md. */
  static unusable(
    request: { method: string; path: string; attempts?: number; elapsedMs?: number },
    reason: string,
    more: { field?: string; usable?: Record<string, unknown>; ambiguous?: boolean } = {},
  ): ConnectionError {
    const fields = { attempts: 1, elapsedMs: 0, ambiguous: false, ...request, ...more };
    return new ConnectionError(reason, { ...fields, code: "EBADANSWER" });
  }
}

/** How many tries were made and how long they took, for messages. */
function effort({ attempts, elapsedMs }: Attempted): string {
  const tries = attempts > 1 ? ` after ${attempts} tries` : "";
  return elapsedMs >= 1000 ? `${tries} in ${Math.round(elapsedMs / 1000)} s` : tries;
}
