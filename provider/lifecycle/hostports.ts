import { ServiceError } from "../../client/errors";
import type { ServiceObject } from "../../client/fields";
import { hostportsOf, type Kind } from "../kinds/kind";
import { idAndTime } from "../kinds/state";
import type { ListItem } from "../run/list";
import type { Account } from "../run/run";
import { howToAdopt } from "./messages";

/** The pauses before a refused write is sent again, in seconds: together 20. */
const pauses = [0.3, 0.7, 1, 2, 4, 6, 6];

/**
 * Creates or updates an object. If the service refuses a hostport that another edge has, the write is sent
 * again for 20 seconds: this run, or another provider of it, may take the hostport from that edge (contract
 * C38). It never writes to that edge.
 *
 * @param id The edge that is updated; undefined for a create.
 * @throws Error that names the edge and says what to do. Other errors are thrown unchanged.
 */
export async function writeUntilFree<Wire extends ServiceObject>(
  kind: Kind,
  account: Account,
  { id, body }: { id?: string; body: object },
  send: () => Promise<Wire>,
): Promise<Wire> {
  const hostports = hostportsOf(kind, body);
  const isHolder = (wire: ListItem) =>
    wire.id !== id && !hostportsOf(kind, wire).isDisjointFrom(hostports);
  const trySend = (): Promise<Wire | ServiceError> =>
    send().catch((error) => {
      const isRefused = error instanceof ServiceError && [400, 409].includes(error.status);
      if (isRefused && hostports.size > 0) return error;
      throw error;
    });
  let answer = await trySend();
  let holder: ListItem | undefined;
  for (const seconds of pauses) {
    if (!(answer instanceof ServiceError)) return answer;
    await account.wait(seconds, `for a hostport${holder ? ` of ${holder.id}` : ""}, to send again`);
    if (!holder) {
      const reading = account.list(kind).all(performance.now());
      // Where the list can't be read, the refusal is the error.
      const objects = await reading.catch(() => Promise.reject(answer));
      holder = objects.find(isHolder);
    }
    answer = await trySend();
    // Either the hostport has become free meanwhile, or the service refuses something else.
    if (!holder) break;
  }
  if (!(answer instanceof ServiceError)) return answer;
  if (!holder) throw answer;
  const isOfStack = account.run.ownership.has(account.object(kind, holder.id).key);
  const remedies = remediesFor(holder, { isNew: !id, isOfStack });
  throw new Error(`${answer.message}. The edge ${idAndTime(holder)} serves it. ${remedies}`);
}

/**
 * What to do about an edge that has a wanted hostport, in one sentence if this stack has it, else in two.
 *
 * @param isNew Whether the resource that wants it is to be created: then it may replace that edge.
 * @param isOfStack Whether this stack is known to have that edge.
 */
export function remediesFor(
  { id }: ListItem,
  { isNew, isOfStack = false }: { isNew: boolean; isOfStack?: boolean },
): string {
  const whose = isOfStack ? "This stack has it" : "If `pulumi stack --show-ids` names it";
  const option = isNew
    ? ", or `deleteBeforeReplace` without `retainOnDelete` if this resource replaces it"
    : "";
  const otherStacks =
    ". Else remove the hostport in the stack that has that edge, or if none has it, adopt it: " +
    howToAdopt(id);
  return (
    `${whose}: set the resource option \`aliases\` if its resource was renamed${option}; else make two updates, and in ` +
    `the first, take the hostport from it and give it to no other${isOfStack ? "" : otherStacks}`
  );
}
