import type { ServiceError } from "../../client/errors";
import type { Account } from "../run/run";
import { nameInUrn, type Properties } from "../values/properties";
import { verifyAccount } from "./account";
import type { Call } from "./call";

/**
 * Asks the service before a resource is created or changed (contract C7, C19): one read for each kind in
 * a run. So a plan fails when the key is refused or the service is another one. Asks nothing with
 * the setting `offlinePlan`.
 *
 * @param isNew Whether it is created.
 * @throws Error when the list can't be read, or the present settings may belong to another account.
 */
export async function planWrite(call: Call, inputs: Properties, isNew: boolean): Promise<void> {
  const { run, kind, urn, name = nameInUrn(urn) || undefined, secrets, connection } = call;
  const account = run.account(connection);
  if (!account.settings.offlinePlan) {
    const reading = account.list(kind).newestPage();
    await reading.catch((error) => failOnce(account, error));
    await verifyAccount(account);
  }
  run.planned.push({ account, kind, inputs, isNew, name, secrets });
}

/** The engine shows the error beside the resource that is planned first, though it is about all of the account. */
function failOnce({ run, connection }: Account, cause: Error & Partial<ServiceError>): never {
  const reason = cause.status ?? cause.code;
  if (run.isFirst(`the question of ${JSON.stringify(connection)}: ${reason}`))
    throw new Error(`no resource of this account can be changed: ${cause.message}`, { cause });
  throw new Error("the service can't be asked: see the first error");
}
