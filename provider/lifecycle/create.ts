import type { Page } from "../../client/endpoints";
import { ConnectionError, isLostCreate, isSlow } from "../../client/errors";
import { plainMessage } from "../../client/plain";
import { contentOf, finderOf, type Kind, storedState } from "../kinds/kind";
import { cancelSignal } from "../run/engine";
import { type ListItem, newerThan } from "../run/list";
import type { Account } from "../run/run";
import type { Properties } from "../values/properties";
import { verifyAccount } from "./account";
import { adopt } from "./adopt";
import { begin, type Call } from "./call";
import { writeUntilFree } from "./hostports";
import { howToAdopt } from "./messages";
import { planWrite } from "./plan";

/** The result of a create. */
export interface Created {
  id: string;
  state: Properties;
  /** Why the object, which is in the state, is not complete. The next update completes it. */
  problem?: string;
}

/**
 * Creates the object of a resource, or adopts the one that exists.
 *
 * @param imports The option `import`: the id or the name of an object.
 * @throws Error when it is not known what the POST has created. Other errors are thrown unchanged.
 */
export async function create(call: Call, inputs: Properties, imports?: unknown): Promise<Created> {
  const { protocol, kind } = call;
  if (protocol.plansCreate) await planWrite(call, inputs, true);
  const account = begin(call, inputs);
  // What can fail comes before the POST: after it, the object must get into the state.
  const { tag } = account;
  const { id, state, problem }: Created = await (typeof imports === "string"
    ? adopt(call, account, imports, inputs)
    : createObject(call, account, inputs));
  const stored = storedState(kind, tag, state, inputs);
  if (!problem) return { id, state: stored };
  const text = `the ${kind.title} ${id} was created and is in the state, but ${problem}. The next \`pulumi up\` completes it`;
  return { id, state: stored, problem: plainMessage(text) };
}

/** How old the newest page may be that says what was there before a POST. */
const baselineAgeMs = 30_000;
/** A create that waits longer for its turn has no such page: another run may have made an equal object meanwhile. */
const staleMs = 60_000;
/** The seconds before each look for the object of a lost answer. The last one counts for later looks, too. */
const pauses = [1, 4, 10];

/**
 * Creates one object with one POST (contract C33, C35, C36). An answer with an id is enough: the rest can be read later.
 */
async function createObject(
  { kind, urn }: Call,
  account: Account,
  inputs: Properties,
): Promise<Created> {
  await verifyAccount(account);
  const list = account.list(kind);
  // Without this page the create goes on. Then the object of a lost answer can't be known.
  const before = await list.newestPage(baselineAgeMs).catch(() => undefined);
  const readAt = performance.now();
  const body = kind.toBody(inputs);
  const post = () => kind.endpoints.create(account.client, body);
  const mine = { inputs };
  list.unanswered.add(mine);
  let problem: string | undefined;
  const wire = await writeUntilFree(kind, account, { body }, post).catch((error) => {
    if (error instanceof ConnectionError && error.objectId) {
      problem = error.message;
      return { id: error.objectId, uri: "", created_at: "" };
    }
    if (isLostCreate(error)) {
      const isStale = performance.now() - readAt - error.elapsedMs > staleMs;
      return findLost(kind, account, inputs, { error, before: isStale ? undefined : before });
    }
    list.unanswered.delete(mine);
    throw error;
  });
  list.unanswered.delete(mine);
  const { id } = wire;
  const { key } = account.object(kind, id);
  if (account.run.ownership.has(key)) {
    throw new Error(
      `the service answered the create of this ${kind.title} with ${id}, which belongs ` +
        "to another resource: find out with `pulumi stack --show-ids` which resource has it",
    );
  }
  account.run.ownership.claim(key, urn);
  try {
    return { id, state: kind.toState(wire, inputs), ...(problem && { problem }) };
  } catch (error) {
    // The object exists, so state must have it. The next update completes the rest.
    const state = kind.toState({ ...wire, ...body }, inputs);
    return { id, state, problem: problem ?? (error as Error).message };
  }
}

/**
 * The object of a POST whose answer is lost: the service may have created it, so the POST is not sent again. It is the
 * only object, in two looks in a row, that was not there before, equals the inputs and belongs to no resource of this
 * run. While another create of this run with equal inputs has no answer, none is taken.
 *
 * @param before The newest page before the POST; undefined when it could not be read.
 */
async function findLost(
  kind: Kind,
  account: Account,
  inputs: Properties,
  { error, before }: { error: Error; before: Page<ListItem> | undefined },
): Promise<ListItem> {
  const { run } = account;
  const list = account.list(kind);
  const content = contentOf(kind, inputs);
  const isEqual = (create: { inputs: Properties }) => contentOf(kind, create.inputs) === content;
  const isFree = ({ id }: ListItem) => !run.ownership.has(account.object(kind, id).key);
  let seen: ListItem[] = [];
  let failure = "";
  // After a timeout, the service may still be at work.
  const isAtWork = () => isSlow(error) && account.client.leftMs > 0;
  for (let look = 0; look < pauses.length || isAtWork(); look++) {
    const seconds = pauses[Math.min(look, pauses.length - 1)] as number;
    try {
      await account.wait(seconds, "(answer lost) to look for what this create has made");
      const page = await list.newestPage(account.waitUnitMs / 2);
      const earlier = seen;
      seen = finderOf(kind, newerThan(before, page).filter(isFree))(inputs);
      failure = "";
      const [one] = seen;
      const isSame = seen.length === 1 && earlier.length === 1 && one?.id === earlier[0]?.id;
      const equalCreates = [...list.unanswered].filter(isEqual);
      if (!before || !one || !isSame || equalCreates.length > 1) continue;
      const warning =
        `the answer to this create was lost. ${one.id} is new and has the content of this resource, so this resource ` +
        "keeps it. If another run or another provider creates equal objects in this account at the same time, check " +
        `with \`pulumi stack --show-ids\` that no other resource and no other stack has ${one.id}`;
      run.log("warning", warning, "resource");
      return one;
    } catch (cause) {
      seen = [];
      failure = `, and the list can't be read (${(cause as Error).message})`;
      if (cancelSignal.aborted) break;
    }
  }
  // Meanwhile the answer to another create may have named one of them.
  const stillFree = seen.filter(isFree);
  const ids = stillFree.map(({ id }) => id).join(", ");
  const found = ids
    ? `It may be one of these objects with the same content, or none of them: ${ids}. `
    : "So far the list shows no new object with this content. ";
  throw new Error(
    `${error.message}. The service may have created this ${kind.title} nevertheless${failure}. ` +
      `${failure ? "" : found}Run \`pulumi preview\`: it warns of each equal object that no resource has. ` +
      `To keep one instead of creating another, ${howToAdopt("its id")}`,
  );
}
