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
  const baseUrl = waysToSet(connection, "baseUrl");
  const { variable } = waysToSet(connection, "movedFrom");
  throw new Error(
    `${what} was made by the service at ${origin}, but the base URL is at ${now}, which was not ` +
      "asked for it: nothing is changed. If these are two services, correct " +
      `${baseUrl.configKey} or ${baseUrl.variable}. If the service has moved for good, run ` +
      `\`pulumi refresh --run-program\` once with ${variable}=${origin} in the environment: it ` +
      "stores the new address",
  );
}
