import { finderOf, hostportsOf, type Kind } from "../kinds/kind";
import { idAndTime } from "../kinds/state";
import type { ListItem } from "../run/list";
import type { Account, Planned, Run } from "../run/run";
import { defaultConnection } from "../values/setting";
import { textOfAdoptions } from "./adopt";
import { remediesFor } from "./hostports";
import { howToAdopt } from "./messages";

/** Says what is known only when all resources of the run are known. */
export async function endRun(run: Run): Promise<void> {
  // Only now is it known that no other adoption follows.
  run.log("info", textOfAdoptions(run));
  logServices(run);
  for (const account of run.accounts) {
    if (account.settings.offlinePlan) continue;
    const planned = run.planned.filter((one) => one.account === account);
    for (const ofKind of Map.groupBy(planned, ({ kind }) => kind.title).values())
      await warnOfOthers(account, ofKind);
  }
}

/**
 * Says which service a run has used, where no state shows it: so a new stack that is to be made with a
 * wrong base URL is noticed.
 */
function logServices(run: Run): void {
  for (const account of run.accounts) {
    const { connection, client, memory } = account;
    const whose =
      typeof connection === "string"
        ? `${connection}: the service`
        : `${defaultConnection}: the service of the provider ${connection.provider}`;
    const isUsed = run.planned.some((one) => one.isNew && one.account === account);
    if (isUsed && !memory.hasStoredObject) run.log("info", `${whose} is ${client.baseUrl.host}`);
  }
}

/**
 * Warns of objects in the newest page that no resource of the run has: those that have a planned hostport, or equal
 * what is created. Names ids and times, and hostports that are no secrets: other texts may be secrets of the program.
 */
async function warnOfOthers(account: Account, planned: Planned[]): Promise<void> {
  const [{ kind } = {}] = planned;
  if (!kind) return;
  const { run } = account;
  const page = await account.list(kind).newestPage();
  const others = page.filter(({ id }) => !run.ownership.has(account.object(kind, id).key));
  const equal = equalObjects(kind, planned, others);
  const byHostport = new Map(
    planned.flatMap((one) => [...hostportsOf(kind, one.inputs)].map((hostport) => [hostport, one])),
  );
  // In an update, each write has told what became of its hostports.
  const holders = account.client.writes > 0 ? [] : others.filter((one) => !equal.has(one));
  for (const other of holders) run.log("warning", warningOfHolder(kind, byHostport, other));
  run.log("warning", warningOfEqual(kind, equal));
}

/** The warning of an object that has a planned hostport; undefined for another object. */
function warningOfHolder(
  kind: Kind,
  byHostport: Map<string, Planned>,
  other: ListItem,
): string | undefined {
  const hostport = [...hostportsOf(kind, other)].find((one) => byHostport.has(one));
  const planned = byHostport.get(hostport ?? "");
  if (!planned) return undefined;
  const shown = planned.secrets.has(kind.exclusive ?? "") ? "[secret]" : hostport;
  return (
    `${prefixOf(planned)}this update will fail, unless it replaces that edge: ${shown} is served by ` +
    `${idAndTime(other)}. ${remediesFor(other, planned)}`
  );
}

/** The name of the resource before a text about it, where the protocol says it. */
const prefixOf = ({ name }: Planned) => (name === undefined ? "" : `${name}: `);

/** The objects that equal what this run creates, each with what it equals. */
function equalObjects(kind: Kind, planned: Planned[], others: ListItem[]): Map<ListItem, Planned> {
  const find = finderOf(kind, others);
  const created = planned.filter(({ isNew }) => isNew);
  return new Map(created.flatMap((one) => find(one.inputs).map((other) => [other, one])));
}

/** Names each object: after an update that was cut off, nothing else names them. */
function warningOfEqual(kind: Kind, equal: Map<ListItem, Planned>): string | undefined {
  if (equal.size === 0) return undefined;
  const hostports = [...equal.keys()].flatMap((one) => [...hostportsOf(kind, one)]);
  const otherwise =
    hostports.length > 0 ? " Else this update will fail: one edge alone can serve a hostport." : "";
  const lines = [...equal].map(([other, planned]) => `\n  ${prefixOf(planned)}${idAndTime(other)}`);
  return (
    `each ${kind.title} of this list equals one that this run creates:${lines.join("")}\n` +
    "If a resource was renamed or moved to another provider, set its option `aliases`. If `pulumi stack --show-ids` has " +
    `the id and this run replaces it, this is right.${otherwise} If no stack has the id, an update that was cut off may ` +
    `have left the object: ${howToAdopt("it")}. Never import an id that a stack has: the object would be deleted with its ` +
    "resource"
  );
}
