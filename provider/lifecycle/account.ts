import { isNotFound } from "../../client/errors";
import type { Account, ManagedObject, Proof } from "../run/run";
import type { Properties } from "../values/properties";

/**
 * Whether the present settings belong to the account of the state (contract C7). State keeps a tag of the base URL and
 * the API key that an object was made or last read with. When these have changed, the first object with that tag is
 * read once in a run: a 404 may mean that the present ones belong to another account.
 */

/** Tells the run that it has an object, and that the account of the object's state is to be verified. */
export function registerObject(object: ManagedObject, state: Properties = {}): void {
  const { account } = object;
  const { memory, run } = account;
  run.ownership.add(object.key);
  // An import and a program's `get` have no state.
  if (state.uri === undefined) return;
  memory.hasStoredObject = true;
  const { accountTag } = state;
  if (accountTag === account.tag || memory.proofs.has(accountTag)) return;
  memory.proofs.set(accountTag, { object });
}

/** The present settings have reached an object: so they belong to the account of its state. */
export function markReached({ account }: ManagedObject, state: Properties = {}): void {
  const proof = account.memory.proofs.get(state.accountTag);
  if (proof) proof.verified = Promise.resolve();
}

/**
 * Proves that the present settings reach the account of each state of this run. Called before each write, and before
 * an object counts as gone.
 *
 * @throws Error when an object of the state was not found, or can't be read. The first error says what to do.
 */
export async function verifyAccount(account: Account): Promise<void> {
  if (account.settings.sameAccount) return;
  for (const proof of account.memory.proofs.values()) {
    proof.verified ??= verify(account, proof);
    await proof.verified.catch((error: Error) => {
      if (account.run.isFirst(error.message)) throw error;
      throw new Error(`nothing is written: see the first error about the ${proof.object.title}`);
    });
  }
}

async function verify(account: Account, proof: Proof): Promise<void> {
  const { kind, id, title } = proof.object;
  try {
    await kind.endpoints.get(account.client.account, id);
  } catch (error) {
    if (isNotFound(error)) throw new Error(textOfDoubt(account, title));
    // Another error proves nothing: the next write tries again.
    proof.verified = undefined;
    throw error;
  }
}

function textOfDoubt({ configuration, client }: Account, title: string): string {
  const [base, key] = [configuration.setting("baseUrl"), configuration.setting("apiKey")];
  const { variable } = configuration.setting("sameAccount");
  return (
    `the ${title} was not found at ${client.baseUrl.href}, and the state was stored with another base URL or API key. ` +
    "So either it was deleted, or the present ones belong to another account or service. This run writes nothing more. If " +
    `one is wrong, correct it in ${base.configKey} or ${base.variable}, or in ${key.configKey} or ${key.variable}. If ` +
    `both are right, run the command once with ${variable}=1 in the environment`
  );
}
