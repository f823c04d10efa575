import type { Client } from "../client/client";
import { waysToSet } from "../client/settings";
import { originsOf } from "./connection";

/**
 * Refuses to ask one service for what another one has made: its 404 would be taken for gone. A
 * stored uri that is no absolute URL names no service, and is let through.
 *
 * @param what The object, for the error: "the TLS edge edgtls_1".
 * @throws Error that names both services and says what to do.
 */
export function refuseOtherService(
  client: Client,
  connection: string,
  what: string,
  uri: unknown,
): void {
  const origin = URL.canParse(String(uri)) ? new URL(String(uri)).origin : "null";
  const { now, before } = originsOf(client);
  if (origin === "null" || origin === now || origin === before) return;
  const { variable, configKey } = waysToSet(connection, "movedFrom");
  const { variable: baseUrl, configKey: baseUrlKey } = waysToSet(connection, "baseUrl");
  throw new Error(
    `${what} belongs to the service at ${origin}, but the base URL is at ${now}: it was not asked ` +
      `for, and stays in the state. If these are two services, correct ${baseUrlKey} or ${baseUrl}. ` +
      `If the service has moved for good, run \`pulumi refresh\` once with ${variable}=${origin} in ` +
      `the environment (${configKey} in stack config is the same)`,
  );
}
