import type { Client } from "../client/client";
import type { ServiceObject } from "../client/fields";
import { defaultConnection } from "../client/settings";
import { refuseWrite } from "./account";
import { contextOf } from "./connection";
import { isManaged } from "./creates/createOnce";
import { hashOf } from "./creates/journal";
import { listOf } from "./creates/lists";
import { lowerCase } from "./declaredHostports";
import { isLike, type Kind } from "./kind";
import { inform, listed, once, warn } from "./log";
import { hasUnknown, isObject, type Properties } from "./properties";

/** The fields of an object that are compared with other objects. */
export interface Listed {
  id: string;
  created_at?: string;
  hostports?: string[] | null;
}

/** A resource that is to be created or changed, and the newest page of its list. */
interface Planned {
  kind: Kind;
  inputs: Properties;
  isNew: boolean;
  listed: Listed[];
}

const planned: Planned[] = [];
let isUpdate = false;
/** Whether the engine has checked a resource of the program: a refresh checks none. */
export let isProgramRun = false;

/**
 * Asks the service before a resource is created or changed (contract C19): one read for each kind in
 * a run. So a plan fails when the key is refused or the service is another one. Does nothing with
 * the setting `offlinePlan`.
 *
 * @throws Error when the list can't be read.
 */
export async function askBefore(
  kind: Kind,
  client: Client,
  inputs: Properties,
  isNew: boolean,
): Promise<void> {
  if (isNew) noteService(client, false);
  if (contextOf(client).settings?.offlinePlan) return;
  const list = listOf(client, kind);
  const listed = (await list.ask().catch(tellOnce)) as Listed[];
  if (isNew) await refuseWrite(client);
  planned.push({ kind, inputs, isNew, listed });
}

/** The failures that an error has reported already. */
const told = new WeakSet<Error>();

function tellOnce(error: Error): never {
  if (told.has(error)) throw new Error("the service can't be asked: see the first error");
  told.add(error);
  throw error;
}

/** Notes that the engine runs the program. In a refresh it does not, and its diffs ask nothing. */
export function noteProgram(): void {
  isProgramRun = true;
}

/**
 * The inputs of the last deployment. A dynamic provider's check gets them, its diff the state alone,
 * which differs from them for ever where the service has rewritten a text.
 */
const deployed = new Set<string>();

/** Notes the inputs of a deployed resource. */
export function noteDeployed(inputs: Properties): void {
  deployed.add(keyOf(inputs));
}

/** Equal for equal inputs: the engine gives the properties in any order. */
const keyOf = (inputs: Properties): string =>
  hashOf(
    JSON.stringify(inputs, (_, part) =>
      isObject(part) && !Array.isArray(part) ? Object.entries(part).sort() : part,
    ),
  );

/**
 * {@link askBefore} a change that a diff has found, and says what the diff does not show. Does nothing
 * in the diff of a refresh, nor when the inputs are those of the last deployment.
 */
export async function askBeforeUpdate(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties,
  inputs: Properties,
): Promise<void> {
  if (!isProgramRun || deployed.has(keyOf(inputs))) return;
  const remark = kind.remark?.(state, inputs);
  const line = remark && `the ${kind.title} ${id}: ${remark.text}`;
  once(remark?.severity === "warning" ? warn : inform, line, "resource");
  await askBefore(kind, client, inputs, false);
}

/** The accounts of this run: whether a state shows that the service is the same as before. */
const services = new Map<Client, boolean>();

/**
 * Notes the account of a resource.
 *
 * @param isKnown Whether the resource is in a state, which belongs to that service.
 */
export function noteService({ account }: Client, isKnown: boolean): void {
  services.set(account, isKnown || services.get(account) === true);
}

/**
 * Says at the end of a run which service it has used, where no state shows it: so a new stack that is
 * to be made with a wrong base URL is noticed. A state of another service is an error.
 */
export function tellServices(): void {
  for (const [client, isKnown] of services) {
    const { connection } = contextOf(client);
    const whose =
      typeof connection === "string"
        ? `${connection}: the service`
        : `${defaultConnection}: the service of the provider ${connection.provider}`;
    if (!isKnown) inform(`${whose} is ${client.baseUrl.host}`, "run");
  }
  services.clear();
}

/** Notes that this run is an update: it needs no warning about what it does. */
export function noteUpdate(): void {
  isUpdate = true;
}

/** Begins a run. */
export function forgetPlan(): void {
  planned.length = 0;
  isUpdate = false;
  isProgramRun = false;
  services.clear();
  deployed.clear();
}

/**
 * Warns at the end of a plan, when all resources of the program are known. Names ids and times only:
 * other texts may be secrets of the program.
 */
export function warnOfPlan(): void {
  if (isUpdate) return;
  // The resources of one kind and one account have the same list.
  for (const listed of new Set(planned.map((one) => one.listed))) {
    const ofKind = planned.filter((one) => one.listed === listed);
    const title = ofKind[0]?.kind.title ?? "";
    const others = listed.filter(({ id }) => !isManaged(id));
    const equal = equals(ofKind, others);
    const holding = holders(ofKind, others).filter((one) => !equal.includes(one));
    once(warn, warningOfHostports(title, holding));
    once(warn, warningOfEqual(title, equal));
  }
}

function holders(ofKind: Planned[], others: Listed[]): Listed[] {
  const wanted = known(ofKind.flatMap(({ inputs }) => inputs.hostports ?? []));
  return others.filter(({ hostports }) => [...known(hostports)].some((one) => wanted.has(one)));
}

function equals(ofKind: Planned[], others: Listed[]): Listed[] {
  const contentOf = (kind: Kind, object: object) => JSON.stringify(kind.key(object));
  const created = ofKind
    .filter(({ isNew, inputs }) => isNew && !hasUnknown(inputs))
    .map((one) => ({ ...one, content: contentOf(one.kind, one.inputs) }));
  return others.filter((other) => {
    const found = created[0] && contentOf(created[0].kind, other);
    return created.some(
      ({ kind, inputs, content }) =>
        content === found && isLike(kind, other as unknown as ServiceObject, inputs),
    );
  });
}

function warningOfHostports(title: string, others: Listed[]): string | undefined {
  if (others.length === 0) return undefined;
  return (
    `a ${title} that no resource of this run has serves a hostport of this program: ` +
    `${listed(others.map(named))}. Remove the hostport there first, or set the resource option \`aliases\` if a ` +
    "resource was renamed"
  );
}

function warningOfEqual(title: string, others: Listed[]): string | undefined {
  if (others.length === 0) return undefined;
  return (
    `a ${title} that is to be created exists already, and no resource of this run has it: ` +
    `${listed(others.map(named))}. Set the resource option \`aliases\` if a resource was renamed; delete it only ` +
    "if no stack has it (`pulumi stack --show-ids`)"
  );
}

/** An object by its id and creation time. Other texts may be secrets of the program. */
export function named({ id, created_at }: Pick<Listed, "id" | "created_at">): string {
  // Not as the service writes it: text in brackets is no part of a time.
  const time = new Date(created_at ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? id : `${id} (created ${time.toISOString()})`;
}

/** The known hostports, in lower case. */
function known(hostports: unknown): Set<string> {
  return lowerCase(Array.isArray(hostports) ? hostports.filter((one) => !hasUnknown(one)) : []);
}
