import type { ServiceError } from "../client/errors";
import { defaultConnection } from "../client/settings";
import { knownHostports } from "./declaredHostports";
import { contentOf, isLike, type Kind } from "./kind";
import { isYoung, refuseWrite } from "./marks";
import { idAndTime, type ListItem } from "./objects";
import { hasUnknown, isObject, type Properties } from "./properties";
import type { Account, Planned, Run } from "./run";

/** A resource that the program has, for the plan. */
export type Resource = Omit<Planned, "isNew">;

/**
 * Asks the service before a resource is created or changed (contract C19): one read for each kind in
 * a run. So a plan fails when the key is refused or the service is another one. Does nothing with
 * the setting `offlinePlan`.
 *
 * @throws Error when the list can't be read.
 */
export async function planWrite(resource: Resource, isNew: boolean): Promise<void> {
  const { account, kind } = resource;
  account.memory.isUsed ||= isNew;
  if (account.settings.offlinePlan) return;
  await account
    .objects(kind)
    .newestPage()
    .catch((error) => reportOnce(account, error));
  if (isNew) await refuseWrite(account);
  account.run.planned.push({ ...resource, isNew });
}

function reportOnce({ memory }: Account, error: Partial<ServiceError>): never {
  const cause = error.status ?? error.code;
  if (memory.reported.has(cause))
    throw new Error("the service can't be asked: see the first error");
  memory.reported.add(cause);
  throw error;
}

/** Notes the inputs of a deployed resource. */
export function noteDeployed({ deployed }: Run, inputs: Properties): void {
  deployed.add(keyOf(inputs));
}

/** Equal for equal inputs: the engine gives the properties in any order. */
const keyOf = (inputs: Properties): string =>
  JSON.stringify(inputs, (_, part) =>
    isObject(part) && !Array.isArray(part) ? Object.entries(part).sort() : part,
  );

/**
 * {@link planWrite} a change that a diff has found, and says what the diff does not show. Does nothing
 * in the diff of a refresh, nor when the inputs are those of the last deployment.
 */
export async function planUpdate(resource: Resource, id: string, state: Properties): Promise<void> {
  const { account, kind, inputs } = resource;
  const { run } = account;
  if (!run.hasProgram) return;
  const remark = kind.remark?.(state, inputs);
  if (remark) run.say(remark.severity, `the ${kind.title} ${id}: ${remark.text}`, "resource");
  if (!run.deployed.has(keyOf(inputs))) await planWrite(resource, false);
}

/** Says what is known only when all resources of the run are known. */
export async function endRun(run: Run): Promise<void> {
  sayServices(run);
  for (const account of run.accounts) {
    const kinds = new Set(
      run.planned.filter((one) => one.account === account).map(({ kind }) => kind),
    );
    for (const kind of kinds) await warnOf(account, kind);
  }
}

/**
 * Says which service a run has used, where no state shows it: so a new stack that is to be made with a
 * wrong base URL is noticed.
 */
function sayServices(run: Run): void {
  for (const { connection, client, memory } of run.accounts) {
    const whose =
      typeof connection === "string"
        ? `${connection}: the service`
        : `${defaultConnection}: the service of the provider ${connection.provider}`;
    if (memory.isUsed && !memory.isKnown) run.say("info", `${whose} is ${client.baseUrl.host}`);
  }
}

/**
 * Warns of what the newest page shows. Names ids and times, and hostports that are no secrets: other
 * texts may be secrets of the program.
 */
async function warnOf(account: Account, kind: Kind): Promise<void> {
  const { run } = account;
  const page = await account.objects(kind).newestPage();
  const planned = run.planned.filter((one) => one.account === account && one.kind === kind);
  const others = page.filter(({ id }) => !account.known(kind, id).isOwn);
  const equal = equals(kind, planned, others);
  for (const other of others.filter((one) => !equal.has(one))) {
    for (const one of planned) run.say("warning", warningOfHolder(kind, one, other));
  }
  run.say("warning", warningOfEqual(kind, equal));
  if (page.isLast) run.say("warning", warningOfGone(account, kind, page));
}

function warningOfHolder(
  kind: Kind,
  { inputs, name, isSecret }: Planned,
  other: ListItem,
): string | undefined {
  const wanted = knownHostports(kind.exclusive && inputs[kind.exclusive]);
  const hostport = [...knownHostports(other.hostports)].find((one) => wanted.has(one));
  if (hostport === undefined) return undefined;
  const whose = name === undefined ? "" : `${name}: `;
  return (
    `${whose}${isSecret ? "[secret]" : hostport} is served by ${idAndTime(other)}. This update will fail, unless it ` +
    "also replaces that edge or takes the hostport from it. If a resource was renamed, set its option `aliases`. " +
    "If the edge leaves this program, make two updates: first give it `hostports: []`. If another stack has it, " +
    `remove the hostport there. If no stack has it, adopt it with the option \`import: "${other.id}"\``
  );
}

/** The objects that equal what this run creates, each with what it equals. */
function equals(kind: Kind, planned: Planned[], others: ListItem[]): Map<ListItem, Planned> {
  const created = planned
    .filter(({ isNew, inputs }) => isNew && !hasUnknown(inputs))
    .map((one) => ({ one, content: contentOf(kind, one.inputs) }));
  return new Map(
    others.flatMap((other) => {
      const content = created.length > 0 && contentOf(kind, other);
      const equal = created.find(
        ({ one, content: own }) => own === content && isLike(kind, other, one.inputs),
      );
      return equal ? [[other, equal.one] as const] : [];
    }),
  );
}

/** Names each object: after an update that was cut off, nothing else names them. */
function warningOfEqual({ title }: Kind, equal: Map<ListItem, Planned>): string | undefined {
  if (equal.size === 0) return undefined;
  const lines = [...equal].map(
    ([other, { name }]) => `\n  ${name === undefined ? "" : `${name}: `}${idAndTime(other)}`,
  );
  return (
    `each ${title} of this list equals one that this run creates:${lines.join("")}\n` +
    "If this run replaces it, this is right. If a resource was renamed, set its option `aliases`. If an update was " +
    "cut off, it may have left the object: set the resource option `import` to its id to adopt it. " +
    "`pulumi stack --show-ids` shows what other resources and stacks have"
  );
}

function warningOfGone(account: Account, kind: Kind, page: ListItem[]): string | undefined {
  const ids = new Set(page.map(({ id }) => id));
  const gone = [...account.memory.states.values()]
    .filter((one) => one.kind === kind && one.state.accountTag === account.mark)
    .filter(({ id, state }) => !ids.has(id) && !isYoung(kind, account, id, state))
    .map(({ id }) => id);
  if (gone.length === 0) return undefined;
  return `the service does not list the ${kind.title} ${gone.join(", ")} any more. Run \`pulumi refresh\``;
}
