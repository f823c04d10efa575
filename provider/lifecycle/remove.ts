import type { ManagedObject } from "../run/run";
import { nameInUrn, type Properties } from "../values/properties";
import { registerObject, verifyAccount } from "./account";
import { begin, type Call } from "./call";
import { ifInAccount } from "./read";

/**
 * Deletes an object. Succeeds when the object is gone. Keeps what another resource of this run has or adopts, with a
 * warning.
 *
 * @param isAdopted Whether the state says that its resource has adopted it (contract C44).
 */
export async function remove(
  call: Call,
  id: string,
  state: Properties,
  isAdopted = false,
): Promise<void> {
  const { kind, run, urn } = call;
  const account = begin(call, state);
  const object = account.object(kind, id);
  registerObject(object, state);
  const why = whyKept(object, isAdopted, urn);
  if (why !== undefined) {
    run.log("warning", `the ${object.title} stays on the service, because ${why}`, "resource");
    return;
  }
  await verifyAccount(account);
  await ifInAccount(object, state, async () => {
    await kind.endpoints.delete(account.client, id);
    return true;
  });
}

/**
 * Why a delete keeps an object; undefined when it deletes it. The process that deletes what was replaced may not know
 * of the resource that has adopted the object again: so the state says that it is adopted.
 */
function whyKept(
  { account, id, key }: ManagedObject,
  isAdopted: boolean,
  urn: string,
): string | undefined {
  const { adoptions, ownership } = account.run;
  if (adoptions.has(key)) return "a resource of this update adopts it";
  if (isAdopted) {
    return (
      "its resource has the option `import` in the state. To delete or replace it, first remove the option and run " +
      "`pulumi up`. If the stack has the resource no more, first adopt the object again: set the resource option " +
      `\`import\` to ${id}`
    );
  }
  const owner = ownership.ownerOf(key);
  const isOfOther = owner && urn && owner !== urn;
  return isOfOther ? `the resource "${nameInUrn(owner)}" has it, too` : undefined;
}
