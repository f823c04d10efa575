/** What every error of a request says of that request. */
export interface Attempted {
  /** The HTTP method. */
  method: string;
  /** The path, below the base URL. */
  path: string;
  /** How many times the request was sent. */
  attempts: number;
  /** Whether the service may have done what was asked. */
  ambiguous: boolean;
}

/** The service answered, and the answer is not a success. */
export class ServiceError extends Error implements Attempted {
  /** For those who tell errors apart across copies of this package. */
  override readonly name = "ServiceError";
  /** The HTTP method. */
  declare readonly method: string;
  /** The path, below the base URL. */
  declare readonly path: string;
  declare readonly attempts: number;
  declare readonly ambiguous: boolean;
  /** The HTTP status. */
  declare readonly status: number;
  /** The service's own code for the cause, when it gave one. */
  declare readonly code: string | undefined;
  /** What to quote to the service's support, when it gave one. */
  declare readonly operationId: string | undefined;

  constructor(
    said: string,
    fields: Attempted & { status: number; code?: string; operationId?: string },
  ) {
    const of = [fields.code, fields.operationId].filter(Boolean).join(", ");
    const tries = fields.attempts > 1 ? ` after ${fields.attempts} tries` : "";
    super(
      `${fields.method} ${fields.path} was answered ${fields.status}${tries}: ` +
        `${said || "no reason given"}${of && ` (${of})`}${advice(fields.status)}`,
    );
    Object.assign(this, fields);
  }
}

/** No answer that can be used: no connection, no answer in time, or one that is not JSON. */
export class ConnectionError extends Error implements Attempted {
  /** For those who tell errors apart across copies of this package. */
  override readonly name = "ConnectionError";
  /** The HTTP method. */
  declare readonly method: string;
  /** The path, below the base URL. */
  declare readonly path: string;
  declare readonly attempts: number;
  /** Node's code for the cause, such as `ECONNREFUSED`, `ETIMEDOUT` or `EBADANSWER`. */
  declare readonly code: string;
  declare readonly ambiguous: boolean;

  constructor(said: string, fields: Attempted & { code: string }) {
    const tries = fields.attempts > 1 ? ` after ${fields.attempts} tries` : "";
    super(`${fields.method} ${fields.path} got no usable answer${tries}: ${said}`);
    Object.assign(this, fields);
  }
}

function advice(status: number): string {
  if (status === 401 || status === 403) {
    return (
      ". Check the API key: TLSEDGE_API_KEY in the environment, or " +
      "`pulumi config set --secret tlsedge:apiKey`"
    );
  }
  if (status === 429) {
    return ". The account's request limit is used up: lower tlsedge:requestsPerMinute";
  }
  if (status >= 300 && status < 400) {
    return ". Redirects are not followed, so that the API key stays where it belongs: set the base URL to the final address";
  }
  return "";
}
