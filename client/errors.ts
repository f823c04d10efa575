/** The fields of every error of a request. */
export interface Attempted {
  /** The HTTP method. */
  method: string;
  /** The path, below the base URL. */
  path: string;
  /** How many times the request was sent. */
  attempts: number;
  /** How long that took, with the pauses in between, in milliseconds. */
  elapsedMs: number;
  /** Whether the service may have done this write. Never true of a GET. */
  ambiguous: boolean;
}

/** The service answered, and the answer is not a success. */
export class ServiceError extends Error implements Attempted {
  /** Tells errors apart where several copies of this package are loaded. */
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
  /** The service's own code for the cause, when it gave one. */
  declare readonly code: string | undefined;
  /** The id to quote to the service's support, when it gave one. */
  declare readonly operationId: string | undefined;

  constructor(
    said: string,
    fields: Attempted & { status: number; code?: string; operationId?: string },
    advice: string,
  ) {
    const of = [fields.code, fields.operationId].filter(Boolean).join(", ");
    super(
      `${fields.method} ${fields.path} was answered ${fields.status}${effort(fields)}: ` +
        `${said || "no reason given"}${of && ` (${of})`}${advice && `. ${advice}`}`,
    );
    Object.assign(this, fields);
  }
}

/** No usable answer: no connection, no answer in time, or an answer that is not as api.md says. */
export class ConnectionError extends Error implements Attempted {
  /** Tells errors apart where several copies of this package are loaded. */
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
  /** The status of the last try that was answered, if any was. */
  declare readonly lastStatus: number | undefined;

  constructor(
    said: string,
    fields: Attempted & {
      code: string;
      field?: string;
      usable?: Record<string, unknown>;
      lastStatus?: number;
    },
  ) {
    const last = fields.lastStatus ? ` (one before was answered ${fields.lastStatus})` : "";
    super(`${fields.method} ${fields.path} got no usable answer${effort(fields)}: ${said}${last}`);
    Object.assign(this, fields);
  }

  /** The error of an answer that is not as api.md says. */
  static unusable(
    asked: { method: string; path: string; attempts?: number; elapsedMs?: number },
    said: string,
    more: { field?: string; usable?: Record<string, unknown>; ambiguous?: boolean } = {},
  ): ConnectionError {
    const fields = { attempts: 1, elapsedMs: 0, ambiguous: false, ...asked, ...more };
    return new ConnectionError(said, { ...fields, code: "EBADANSWER" });
  }
}

/** For messages: how many tries it took, and how long. */
function effort({ attempts, elapsedMs }: Attempted): string {
  const tries = attempts > 1 ? ` after ${attempts} tries` : "";
  return elapsedMs >= 1000 ? `${tries} in ${Math.round(elapsedMs / 1000)} s` : tries;
}
