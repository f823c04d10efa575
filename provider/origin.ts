import type { Client } from "../client/client";
import { type Connection, waysToSet } from "../client/settings";
import { originsOf } from "./connection";

/**
 * Refuses an object that belongs to another service: a 404 from the wrong service would make the
 * object look deleted. Accepts a stored uri that is no absolute URL, because it names no service.
 *
 * @param what The object, for the error: "the TLS edge edgtls_1".
 * @throws Error that names both services and says what to do.
 */
export function refuseOtherService(
  client: Client,
  connection: Connection,
  what: string,
  uri: unknown,
): void {
  const origin = URL.canParse(String(uri)) ? new URL(String(uri)).origin : "null";
  const { now, before } = originsOf(client);
  if (origin === "null" || origin === now || origin === before) return;
  const baseUrl = waysToSet(connection, "baseUrl");
  const { variable } = waysToSet(connection, "movedFrom");
  throw new Error(
    `${what} belongs to the service at ${origin}, but the base URL is at ${now}. Nothing was ` +
      "sent or changed. If these are two services, correct the base URL in " +
      `${baseUrl.configKey} or ${baseUrl.variable}. If the service has moved permanently, run ` +
      `\`pulumi refresh --run-program\` once with ${variable}=${origin} in the environment, ` +
      "which stores the new address",
  );
}
