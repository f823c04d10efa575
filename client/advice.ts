import { proxyVariable } from "./proxy";

/** The settings that an error may name. */
export type SettingKey = "baseUrl" | "apiKey" | "caFile" | "timeoutSeconds" | "requestsPerMinute";

/** The user's name for a setting, such as `TLSEDGE_API_KEY` or `tlsedge:apiKey`. */
export type NameOf = (key: SettingKey) => string;

/** Names the setting that gives an operation more time. */
export function moreTime(nameOf: NameOf): string {
  return ` (ETIMEDOUT): ${nameOf("timeoutSeconds")} sets the deadline of an operation`;
}

/** What to check when a proxy, not the service, may have answered. */
export function notTheService(nameOf: NameOf): string {
  return (
    "If something other than the service answered, such as a proxy, check the base URL in " +
    `${nameOf("baseUrl")} and the proxy`
  );
}

/**
 * Why a request got no answer, and what to do.
 *
 * @param maxRetryMs How long a failed connection is retried, in milliseconds; may be infinite.
 */
export function explain(
  { code, message, wasSent }: { code: string; message: string; wasSent: boolean },
  nameOf: NameOf,
  maxRetryMs: number,
): string {
  if (code === "ETIMEDOUT" && wasSent) return `no answer in time${moreTime(nameOf)}`;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return (
      `the service's certificate is not trusted (${code}: ${message}). If a private authority ` +
      `signed it, give that authority's PEM file in ${nameOf("caFile")}`
    );
  }
  if (wasSent || code === "EPROXY") return message || code;
  const reason = code === "ETIMEDOUT" ? "no connection in time" : message || code;
  const seconds = maxRetryMs / 1000;
  const limit = Number.isFinite(seconds)
    ? `. Before the first write, a failed connection is retried for at most ${seconds} s`
    : "";
  const proxy = proxyVariable();
  const network = proxy
    ? `, the network and the proxy in ${proxy} (http:// or https://)`
    : " and the network";
  return `${reason}${limit}. Check the base URL in ${nameOf("baseUrl")}${network}`;
}

/**
 * What to do about an error status; empty when the service's own message is enough.
 *
 * @param host The service that answered: the key may be one of another service.
 */
export function advise(status: number, nameOf: NameOf, isItem: boolean, host: string): string {
  if (status === 401 || status === 403) {
    return `Check the API key in ${nameOf("apiKey")} (the service is ${host})`;
  }
  if (status === 404 && !isItem) return `Check the base URL in ${nameOf("baseUrl")} and its path`;
  if (status === 429) {
    return (
      "The account's request limit is used up: wait a minute, or lower " +
      nameOf("requestsPerMinute")
    );
  }
  if (status >= 500) return "The service, or a proxy before it, failed: try again later";
  if (status >= 300 && status < 400) {
    return (
      "Redirects are not followed, because they could send the API key to another server: set " +
      `the base URL in ${nameOf("baseUrl")} to the final address`
    );
  }
  return "";
}
