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
  const { run, kind, urn, secrets, connection } = call;
  const account = run.account(connection);
  if (!account.settings.offlinePlan) {
    const reading = account.list(kind).newestPage();
    await reading.catch((error) => failOnce(account, error));
    await verifyAccount(account);
  }
  run.planned.push({ account, kind, inputs, isNew, name: nameInUrn(urn) || undefined, secrets });
}

function failOnce({ run, connection }: Account, error: Partial<ServiceError>): never {
  const cause = error.status ?? error.code;
  if (run.isFirst(`the question of ${JSON.stringify(connection)}: ${cause}`)) throw error;
  throw new Error("the service can't be asked: see the first error");
}
