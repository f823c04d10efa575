/** The settings that an error may name. */
export type SettingKey = "baseUrl" | "apiKey" | "caFile" | "timeoutSeconds" | "requestsPerMinute";

/** The user's name for a setting, such as `TLSEDGE_API_KEY` or `tlsedge:apiKey`. */
export type NameOf = (key: SettingKey) => string;

/** What a `Client` needs to reach one account of the service. */
export interface ClientOptions {
  /** The URL of the service, `https:` only. It may have a path; a trailing slash is ignored. */
  baseUrl: string;
  /** The bearer key (api.md §5). It is sent only to the origin of the base URL. */
  apiKey: string;
  /** The API version to request. Default `"2"`. */
  apiVersion?: string;
  /** The header that carries the API version. Default `"Service-Version"`. */
  versionHeader?: string;
  /**
   * A PEM file of certificate authorities to trust in place of the built-in ones. A relative path starts
   * at the folder of the program.
   */
  caFile?: string;
  /**
   * Deadline of one operation in seconds, including retries but not rate-limit waits. Default 120.
   */
  timeoutSeconds?: number;
  /** How many times a failed request is retried, besides after 429. Default 8. */
  maxRetries?: number;
  /** Requests that may start in a minute; 0 for no limit. Default 120. */
  requestsPerMinute?: number;
  /** How errors name a setting. Default: as an option, such as `the option apiKey`. */
  nameOf?: NameOf;
  /**
   * Shows a message: an `info` when a list leaves out objects, and a `status` for each request that waits for a second
   * or more: at once, every 15 s, and one without a text when the wait is over.
   */
  show?: (severity: "info" | "status", text: string | undefined) => void;
  /** Cuts further secrets out of a text of the service before an error or a message shows it. */
  hide?: (text: string) => string;
  /**
   * Ends waits and reads with the signal's reason, and keeps further tries from being sent. A write in
   * flight still gets its answer.
   */
  signal?: AbortSignal | undefined;
}
