import type { Client } from "../../client/client";
import { ifExists } from "../account";
import { differences, type Kind, type Problem } from "../kind";
import { warn } from "../log";
import { perAccount } from "../perAccount";
import { isProgramRun } from "../plan";
import { hasUnknown, type Properties } from "../properties";
import { type Created, readState, remove } from "../resource";
import { isNotedAsAdopted, noteAdopted } from "./adoptedObjects";
import { noteManaged } from "./createOnce";
import { claim } from "./journal";

/** The input that has a resource's `import` option. Pulumi hides names that start with `__`. */
export const importKey = "__import";
/**
 * The input that has the names of the arguments that the program has marked as secrets: the engine
 * takes the marks off before it calls a dynamic provider. State has it, without those that always are.
 */
export const secretsKey = "__secrets";

/** What to do about two resources of a program that have one object. */
const removeImporter =
  "remove the resource that imports it. If the stack has both already, take that one out of the state first, " +
  "with `pulumi state delete`, because its removal deletes the object";

/** The problem of two resources of a program that have one object. */
export const sharedObject = (one: string, other: string, id: string): string =>
  `the resources "${one}" and "${other}" have the same object, ${id}, which only one resource can manage: ` +
  removeImporter;

/** What this process did with the objects of an account. {@link titleOf} gives their names. */
const objectsOf = perAccount(() => ({
  /**
   * Objects that import options name, with the state that the check has read. No delete in this run
   * deletes them.
   */
  imported: new Map<string, Properties | undefined>(),
  /** Objects that a create has adopted. */
  adopted: new Set<string>(),
  deleted: new Set<string>(),
  /** By object: the import option of the resource that has it; empty when it has none. */
  owners: new Map<string, string>(),
}));

/** The objects of {@link adoptions}: their titles, by name. A plan checks, an update adopts. */
const run = {
  checked: new Map<string, string>(),
  adopted: new Map<string, string>(),
  isUpdate: false,
};
/** How many objects {@link adoptions} names. */
const mostNamed = 5;

const titleOf = ({ title }: Kind, id: string) => `${title} ${id}`;

const maxValueLength = 200;

/**
 * Reads the object that a resource adopts (contract C40).
 *
 * @throws Error when the object does not exist.
 */
export async function findToAdopt(
  kind: Kind,
  client: Client,
  id: string,
  inputs: Properties,
): Promise<Properties> {
  const object = titleOf(kind, id);
  protect(client, object, undefined);
  noteManaged(id);
  // Of an object that is adopted, nobody knows what was sent.
  const unsent = kind.replaces({}, inputs).map((name) => [name, undefined]);
  const known = { ...inputs, ...Object.fromEntries(unsent) };
  const found = await ifExists(kind, client, readState(kind, client, id, known));
  protect(client, object, found);
  if (found) return found;
  throw new Error(
    `no ${kind.title} has the id ${id}, which the import option names. If the object was ` +
      "deleted, remove the option to create a new one. If the id is wrong, correct it: " +
      "`npx --no pulumi-tlsedge status` lists all ids",
  );
}

/**
 * Refuses to adopt what another resource of the program has. The program compares ids, too, because it
 * knows the names of both resources.
 *
 * @param wanted The import option; undefined in an update.
 */
export function refuseOwned(kind: Kind, client: Client, id: string, wanted?: string) {
  const { owners } = objectsOf(client);
  const object = titleOf(kind, id);
  const other = owners.get(object);
  if (other === "" || (other && wanted && other !== wanted)) {
    const whose = other ? `the import option ${other} of another resource` : "another resource";
    throw new Error(`the ${object} belongs to ${whose} of this program: ${removeImporter}`);
  }
  if (wanted && other === undefined) owners.set(object, wanted);
}

/** Prevents every delete of the object in this run, in this process and others. */
function protect(client: Client, object: string, found: Properties | undefined): void {
  objectsOf(client).imported.set(object, found);
  noteAdopted(object);
}

/** Notes that an object equals the program, so that it can be adopted. */
export function noteChecked(kind: Kind, id: string): void {
  run.checked.set(titleOf(kind, id), kind.title);
}

/**
 * One sentence about the objects that this plan or update adopts, because the engine shows each as a
 * create. Undefined if there are none.
 */
export function adoptions(): string | undefined {
  const objects = run.isUpdate ? run.adopted : run.checked;
  if (objects.size === 0) return undefined;
  const list = new Intl.ListFormat("en-GB");
  const verb = run.isUpdate ? (objects.size === 1 ? "is" : "are") : "will be";
  const names = [...objects.keys()].sort().map((name) => `the ${name}`);
  if (names.length <= mostNamed) return `${list.format(names)} ${verb} adopted without changes`;
  const titles = [...objects.values()];
  const kinds = [...new Set(titles)].sort().map((title) => {
    const number = titles.filter((one) => one === title).length;
    return `${number} ${title}${number === 1 ? "" : "s"}`;
  });
  return `${names.length} objects ${verb} adopted without changes: ${list.format(kinds)}`;
}

/**
 * One problem with a table of the differences between object and inputs; none when they agree. It
 * shows neither value of a secret argument: the object may have the same secret, or a part of it.
 */
export function problemsOfAdoption(
  kind: Kind,
  id: string,
  found: Properties,
  inputs: Properties,
): Problem[] {
  const secrets = (inputs[secretsKey] ?? []) as string[];
  const rows = differences(kind, found, inputs)
    .filter(({ wanted }) => !hasUnknown(wanted))
    .map(({ property, ...values }) => {
      const [wanted, there] = [values.wanted, values.found].map((value) =>
        shown(value, secrets.includes(property)),
      );
      return `\n  ${property}: ${wanted} / ${there}`;
    });
  if (rows.length === 0) return [];
  const reason =
    `the ${kind.title} ${id} is not adopted, because it differs from the program ` +
    `(property: wanted / found):${rows.join("")}\n` +
    "To adopt it, write the found values into the program, and change them in the next update";
  return [{ path: "", reason }];
}

function shown(value: unknown, isSecret: boolean): string {
  if (value === undefined || value === null || value === "") return "none";
  if (isSecret) return "[secret]";
  const text = JSON.stringify(value);
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
}

/**
 * Adopts an object without changes: sends no write.
 *
 * @throws Error when the object differs, is gone, or was adopted by another resource.
 */
export async function adopt(
  kind: Kind,
  client: Client,
  id: string,
  inputs: Properties,
): Promise<Created> {
  run.isUpdate = true;
  const { imported, adopted, deleted } = objectsOf(client);
  const object = titleOf(kind, id);
  if (deleted.has(object)) {
    throw new Error(`the ${object} was deleted by this update: remove the import option`);
  }
  if (adopted.has(object)) {
    throw new Error(
      `the ${object} was adopted by another resource of this update: remove one of the two ` +
        "resources",
    );
  }
  refuseOwned(kind, client, id);
  adopted.add(object);
  try {
    // Use the state that the check has just read, if there is one.
    const state = imported.get(object) ?? (await findToAdopt(kind, client, id, inputs));
    const [problem] = problemsOfAdoption(kind, id, state, inputs);
    if (problem) throw new Error(problem.reason);
    run.adopted.set(object, kind.title);
    claim(client.baseUrl.href, id);
    return { id, state };
  } catch (error) {
    adopted.delete(object);
    throw error;
  }
}

/**
 * Checks a resource that is in state and still has the `import` option (contract C44). The option
 * must name the resource's own object, and no change may replace that object. Then prevents every
 * delete of the object in this run. Another resource may have managed the object before, and an
 * interrupted update may have left the delete of that resource to this run.
 *
 * @param isOwn Whether a value of the option names the resource's own object.
 * @throws Error that says to remove the option, or to use another resource name.
 */
export function checkImportOption(
  kind: Kind,
  client: () => Client,
  id: string,
  inputs: Properties,
  replaces: string[],
  isOwn: (wanted: unknown) => boolean,
): void {
  const wanted = inputs[importKey];
  const object = titleOf(kind, id);
  if (wanted === undefined) {
    if (isProgramRun) objectsOf(client()).owners.set(object, "");
    return;
  }
  if (!isOwn(wanted)) {
    throw new Error(
      `the import option names ${wanted}, but this resource already manages the ${object}: ` +
        `adopt ${wanted} in a resource with another name, or remove the option`,
    );
  }
  if (replaces.length > 0) {
    throw new Error(
      `a change of ${replaces.join(" and ")} replaces the ${object}, but the import option would ` +
        "adopt the old object again: remove the option",
    );
  }
  const service = client();
  if (isProgramRun) refuseOwned(kind, service, id);
  protect(service, object, objectsOf(service).imported.get(object));
}

/** Deletes an object, unless a resource of this run adopts it: then warns and keeps the object. */
export async function deleteUnlessAdopted(
  kind: Kind,
  client: Client,
  id: string,
  state: Properties,
): Promise<void> {
  const { imported, deleted } = objectsOf(client);
  const object = titleOf(kind, id);
  if (imported.has(object) || isNotedAsAdopted(object)) {
    warn(
      `the ${object} stays on the service, because a resource adopts it with the ` +
        "import option. To replace it with a new object, remove the option",
    );
    return;
  }
  await remove(kind, client, id, state);
  deleted.add(object);
}
