import type { Client } from "../client/client";
import { waysToSet } from "../client/settings";
import { contextOf, isOwnOrigin } from "./connection";
import { perAccount } from "./perAccount";

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
  const { connection } = contextOf(client);
  if (origin === "null" || isOwn(client, origin)) return;
  const whose = `${what} belongs to the service at ${shown(origin)}`;
  const explained = explainedOf(client).get(origin);
  if (explained) throw new Error(`${whose}, too: see the error of ${explained}`);
  explainedOf(client).set(origin, what);
  const { configKey, variable } = waysToSet(connection, "baseUrl");
  const accepted = waysToSet(connection, "acceptedOrigins");
  throw new Error(
    `${whose}, but the base URL is at ${client.baseUrl.origin}. Nothing was done to it. ` +
      `If these are two services, correct the base URL in ${configKey} or ${variable}. If they are one, which has moved or ` +
      `has a gateway before it, accept that origin in ${accepted.configKey} or ${accepted.variable}`,
  );
}

/**
 * Refuses a write while this run has seen an object of another service in state.
 *
 * @throws Error that names the object.
 */
export function refuseOtherServices(client: Client): void {
  for (const [origin, what] of explainedOf(client)) {
    if (isOwn(client, origin)) continue;
    throw new Error(
      `no write is sent: ${what} belongs to the service at ${shown(origin)}: see its error`,
    );
  }
}

/** A person may paste it into a shell. The host of a service has no other characters. */
const shown = (origin: string) => origin.replace(/[^\w.:/[\]-]/g, "_");

function isOwn(client: Client, origin: string): boolean {
  return isOwnOrigin(origin, contextOf(client).settings ?? { baseUrl: client.baseUrl.href });
}
