import type { ServiceError } from "../client/errors";
import { defaultConnection } from "../client/settings";
import { knownHostports } from "./declaredHostports";
import { contentOf, isLike, type Kind } from "./kind";
import { listed } from "./log";
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
  for (const other of others.filter((one) => !equal.includes(one))) {
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
    `${whose}${isSecret ? "[secret]" : hostport} is served by ${idAndTime(other)}, which no resource of this run has. ` +
    "Remove the hostport there first, or set the resource option `aliases` if a resource was renamed"
  );
}

function equals(kind: Kind, planned: Planned[], others: ListItem[]): ListItem[] {
  const created = planned
    .filter(({ isNew, inputs }) => isNew && !hasUnknown(inputs))
    .map(({ inputs }) => ({ inputs, content: contentOf(kind, inputs) }));
  return others.filter((other) => {
    const content = created.length > 0 && contentOf(kind, other);
    return created.some((one) => one.content === content && isLike(kind, other, one.inputs));
  });
}

function warningOfEqual({ title }: Kind, others: ListItem[]): string | undefined {
  if (others.length === 0) return undefined;
  return (
    `a ${title} equals one that this run creates, and no resource of this run has it: ` +
    `${listed(others.map(idAndTime))}. If an update was cut off, set TLSEDGE_TAKE_EQUAL=1 for one \`pulumi up\`, which takes ` +
    "it. If a resource was renamed, set the resource option `aliases`. Delete it only if no stack has it " +
    "(`pulumi stack --show-ids`)"
  );
}

function warningOfGone(account: Account, kind: Kind, page: ListItem[]): string | undefined {
  const ids = new Set(page.map(({ id }) => id));
  const gone = [...account.memory.states.values()]
    .filter((one) => one.kind === kind && one.state.accountTag === account.mark)
    .filter(({ id, state }) => !ids.has(id) && !isYoung(kind, account, id, state))
    .map(({ id }) => id);
  if (gone.length === 0) return undefined;
  return `the service does not list the ${kind.title} ${listed(gone)} any more. Run \`pulumi refresh\``;
}
