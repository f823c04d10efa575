/** A setting that an error may name. */
export type SettingKey =
  | "baseUrl"
  | "apiKey"
  | "caFile"
  | "timeoutSeconds"
  | "maxRetries"
  | "requestsPerMinute";

/** Names a setting as its user does, such as `TLSEDGE_API_KEY` or `tlsedge:apiKey`. */
export type NameOf = (key: SettingKey) => string;

/** How to give an operation more time. */
export function moreTime(nameOf: NameOf): string {
  return ` (ETIMEDOUT): ${nameOf("timeoutSeconds")} sets the deadline of an operation`;
}

/** What to check when something else than the service may have answered. */
export function notTheService(nameOf: NameOf): string {
  return (
    "If something other than the service answered, such as a proxy, check the base URL in " +
    `${nameOf("baseUrl")} and the proxy`
  );
}

/**
 * Why a request got no answer, and what to do about it.
 *
 * @param mostMs For how long the connection was tried; infinite when only the deadline limits it.
 */
export function explain(
  { code, message, wasSent }: { code: string; message: string; wasSent: boolean },
  nameOf: NameOf,
  mostMs: number,
): string {
  if (code === "ETIMEDOUT" && wasSent) return `no answer in time${moreTime(nameOf)}`;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return (
      `the service's certificate is not trusted (${code}: ${message}). If a private authority ` +
      `signs for the service, name its PEM file in ${nameOf("caFile")}`
    );
  }
  if (wasSent) return message || code;
  const said = code === "ETIMEDOUT" ? "no connection in time" : message || code;
  const seconds = mostMs / 1000;
  const tried = Number.isFinite(seconds)
    ? `. Before the first write a failed connection is not tried again after ${seconds} s`
    : "";
  return `${said}${tried}. Check the base URL in ${nameOf("baseUrl")} and the network`;
}

/** What to do about a refusal; empty when the service's own words say it. */
export function advise(status: number, nameOf: NameOf, isItem: boolean): string {
  if (status === 401 || status === 403) return `Check the API key in ${nameOf("apiKey")}`;
  if (status === 404 && !isItem) return `Check the base URL in ${nameOf("baseUrl")} and its path`;
  if (status === 429) {
    return (
      "The account's request limit is used up: wait a minute, or lower " +
      nameOf("requestsPerMinute")
    );
  }
  if (status >= 500) return "The service or a proxy before it has failed: try again later";
  if (status >= 300 && status < 400) {
    return (
      "Redirects are not followed, as the API key must not go elsewhere: set the base URL in " +
      `${nameOf("baseUrl")} to the final address`
    );
  }
  return "";
}
