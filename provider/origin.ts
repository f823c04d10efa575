import type { Client } from "../client/client";
import { waysToSet } from "../client/settings";
import { contextOf, isOwnOrigin } from "./connection";
import { perAccount } from "./lifecycle";

/** The other origins that an error of this process has explained, each with the object of the error. */
const explainedOf = perAccount(() => new Map<string, string>());

/**
 * Refuses an object that belongs to another service: a 404 from the wrong service would make the
 * object look deleted. Accepts a stored uri that is no absolute URL, because it names no service.
 *
 * @param what The object, for the error: "the TLS edge edgtls_1".
 * @throws Error that names both services. The first one says what to do, and the others name its object.
 */
export function refuseOtherService(client: Client, what: string, uri: unknown): void {
  const origin = URL.canParse(String(uri)) ? new URL(String(uri)).origin : "null";
  const { connection, settings } = contextOf(client);
  const baseUrl = client.baseUrl.href;
  if (origin === "null" || isOwnOrigin(origin, settings ?? { baseUrl })) return;
  // A person may paste it into a shell. The host of a service has no other characters.
  const whose = `${what} belongs to the service at ${origin.replace(/[^\w.:/[\]-]/g, "_")}`;
  const explained = explainedOf(client).get(origin);
  if (explained) throw new Error(`${whose}, too: see the error of ${explained}`);
  explainedOf(client).set(origin, what);
  const { configKey, variable } = waysToSet(connection, "baseUrl");
  const accepted = waysToSet(connection, "acceptedOrigins");
  throw new Error(
    `${whose}, but the base URL is at ${client.baseUrl.origin}. Nothing was sent or changed. ` +
      `If these are two services, correct the base URL in ${configKey} or ${variable}. If they are one, which has moved or ` +
      `has a gateway before it, accept that origin in ${accepted.configKey} or ${accepted.variable}`,
  );
}
