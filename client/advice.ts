import type { NoAnswer } from "./outcome";
import { waysToSet } from "./settings";

/** How to give an operation more time. */
export function howMuch(connection: string): string {
  return ` (${bothWays(connection, "timeoutSeconds")} sets how much)`;
}

/** Why a request got no answer, and what to do about it. */
export function explain(
  { code, message, wasSent }: NoAnswer,
  connection: string,
  mostMs: number,
): string {
  if (code === "ETIMEDOUT" && wasSent) return `no answer in time${howMuch(connection)}`;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    const caFile = bothWays(connection, "caFile");
    return `${message}. If a private authority signs for the service, name its PEM file: ${caFile}`;
  }
  if (wasSent) return message || code;
  const said = code === "ETIMEDOUT" ? "no connection in time" : message || code;
  const seconds = mostMs / 1000;
  const tried = Number.isFinite(seconds)
    ? `. Before the first write a failed connection is not tried again after ${seconds} s`
    : "";
  return `${said}${tried}. Check ${baseUrl(connection)} and the network`;
}

/** What to do about a refusal. */
export function advise(status: number, connection: string, isItem: boolean): string {
  if (status === 401 || status === 403) {
    return `Check the API key: ${waysToSet(connection, "apiKey").text}`;
  }
  if (status === 404 && !isItem) return `Check ${baseUrl(connection)} and its path`;
  if (status === 429) {
    const limit = bothWays(connection, "requestsPerMinute");
    return `The account's request limit is used up: lower ${limit}`;
  }
  if (status >= 500) return "The service fails, or what stands before it: try again later";
  if (status >= 300 && status < 400) {
    return "Redirects are not followed, as the API key must not go elsewhere: set the base URL to the final address";
  }
  return "";
}

function bothWays(connection: string, key: string): string {
  const { variable, configKey } = waysToSet(connection, key);
  return `${variable} or ${configKey}`;
}

const baseUrl = (connection: string) => `the base URL (${bothWays(connection, "baseUrl")})`;
