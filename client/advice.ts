import { waysToSet } from "./settings";

/** Codes of connections that were never there. */
export const refused = new Set(["ECONNREFUSED", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"]);

/** How to give an operation more time. */
export function howMuch(connection: string): string {
  const { variable, configKey } = waysToSet(connection, "timeoutSeconds");
  return ` (${variable} or ${configKey} sets how much)`;
}

/** Why a request got no answer, and what to do about it. */
export function explain(code: string, message: string, connection: string): string {
  const nameOf = (key: string) => {
    const { variable, configKey } = waysToSet(connection, key);
    return `${variable} or ${configKey}`;
  };
  if (code === "ETIMEDOUT") return `no answer in time${howMuch(connection)}`;
  if (code === "ENOTFOUND" || refused.has(code)) {
    return `${message || code}. Check the base URL (${nameOf("baseUrl")}) and the network`;
  }
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) {
    return `${message}. If a private authority signs for the service, name its PEM file: ${nameOf("caFile")}`;
  }
  return message || code;
}

/** What to do about a refusal. */
export function advise(status: number, connection: string): string {
  if (status === 401 || status === 403) {
    return `Check the API key: ${waysToSet(connection, "apiKey").text}`;
  }
  if (status === 429) {
    const { variable, configKey } = waysToSet(connection, "requestsPerMinute");
    return `The account's request limit is used up: lower ${variable} or ${configKey}`;
  }
  if (status >= 500) return "The service fails, or what stands before it: try again later";
  if (status >= 300 && status < 400) {
    return "Redirects are not followed, so that the API key stays where it belongs: set the base URL to the final address";
  }
  return "";
}
