import { differences, type Kind, noneWithId, type Problem } from "../kinds/kind";
import { lookups } from "../kinds/kinds";
import { type Lookup, LookupError } from "../kinds/lookup";
import { hasUnknown, type Properties } from "../kinds/properties";
import type { Account, Known, ManagedObject, Run } from "../run/run";
import type { Created } from "./create";
import { ifExists } from "./gone";
import { claim, noteImporter } from "./owners";

/** How old the list may be in which an import looks for a name: many share one. */
const listAgeMs = 30_000;

/**
 * The id of the object to import. A text that is no name is an id. Reads the list for a name alone.
 *
 * @throws LookupError when the name is that of no object or of several. It lists what there is.
 */
export async function idToImport(kind: Kind, account: Account, text: string): Promise<string> {
  const { importName } = kind;
  const name = importName?.in(text);
  if (!importName || name === undefined) return text;
  const { items } = await account.objects(kind).list(performance.now() - listAgeMs);
  if (items.some(({ id }) => id === text)) return text;
  const find = lookups[`get${kind.name}`] as Lookup<Properties, { id: string }>;
  const options = { objects: items };
  return (await find(() => account.client, { [importName.filter]: name }, options)).id;
}

/**
 * Says that an import names no object.
 *
 * @throws LookupError with what an import takes, and what there is.
 */
export async function refuseImport({ kind, account, id }: ManagedObject): Promise<void> {
  try {
    await (lookups[`get${kind.name}`] as Lookup<Properties, object>)(() => account.client, { id });
  } catch (error) {
    if (!(error instanceof LookupError)) throw error;
    const also = kind.importName ? `\n\`pulumi import\` also takes: ${kind.importName.filter}` : "";
    throw new LookupError(error.message + also);
  }
}

/** What to do about two resources of a program that have one object. */
const removeImporter =
  "remove the resource that imports it. If the stack has both already, take that one out of the state first, " +
  "with `pulumi state delete`, because its removal deletes the object";

/** The problem of two resources of a program that have one object. */
export const sharedObject = (
  one: string,
  other: string,
  id: string,
  advice = removeImporter,
): string =>
  `the resources "${one}" and "${other}" have the same object, ${id}, which only one resource can manage: ` +
  advice;

const maxValueLength = 200;

/**
 * Reads the object that a resource adopts (contract C40).
 *
 * @throws Error when the object does not exist.
 */
export async function findToAdopt(object: ManagedObject, inputs: Properties): Promise<Properties> {
  const { kind, account, id } = object;
  noteImporter(object);
  // An adopted object was not created by us, so its chain is compared as a whole.
  const unsent = kind.replaces({}, inputs).map((name) => [name, undefined]);
  const sent = { ...inputs, ...Object.fromEntries(unsent) };
  const reading = account.objects(kind).get(account.client, id);
  const found = await ifExists(
    object,
    reading.then((wire) => kind.toState(wire, sent)),
  );
  if (!found) {
    throw new Error(
      `${noneWithId(kind.title, id)}. The import option names it. If the object was deleted, ` +
        "remove the option to create a new one. If the id is wrong, correct it: " +
        "`npx --no -- pulumi-tlsedge status` lists all ids",
    );
  }
  object.known.found = found;
  return found;
}

/**
 * Claims an object for a resource that has it or is to adopt it, by its connection and its `import` option, which
 * it may not have. The program compares ids, too, because it knows the names of both resources.
 *
 * @throws Error when another resource of the program has the object.
 */
export function claimByOption(object: ManagedObject, connection: string, option: unknown): void {
  const other = claim(object, { key: `${connection} ${option}`, option });
  if (!other) return;
  throw new Error(
    `the ${object.title}, which the import option ${other.option ?? option} names, belongs to another resource ` +
      `of this program: ${removeImporter}`,
  );
}

/**
 * Notes that an object, which a check or an adoption has read, equals the program, so that it can be adopted; or
 * that it is. Where the program has a secret, the object's name may be a part of it.
 */
export function noteAdoption(
  { kind, account, id, known }: ManagedObject,
  secrets: readonly string[],
  isDone = false,
): void {
  const isSecret = secrets.some((name) => !kind.secrets?.includes(name));
  const [name] = isSecret || !known.found ? [] : kind.names(known.found);
  const title = `${kind.title} ${name ?? id}`;
  account.run.adopted.set(known, { title, isDone: isDone || isAdopted(account.run, known) });
}

const isAdopted = ({ adopted }: Run, known: Known) => adopted.get(known)?.isDone === true;

/**
 * The objects that this plan or update adopts, because the engine shows each as a create. Undefined if there
 * are none. How many creates the engine shows in all, a provider can't know: other packages have some, too.
 */
export function adoptions({ adopted }: Run): string | undefined {
  if (adopted.size === 0) return undefined;
  const all = [...adopted.values()];
  const done = all.filter(({ isDone }) => isDone);
  const plan = all.length === 1 ? "adopts" : "adopt";
  const [verb, which] = done.length > 0 ? ["adopted", done] : [plan, all];
  const names = which.map(({ title }) => `\n  ${title}`).sort();
  return `${which.length} of the creates ${verb} what exists, without a write:${names.join("")}`;
}

/**
 * One problem with a table of the differences between object and inputs; none when they agree. It
 * shows neither value of a secret argument: the object may have the same secret, or a part of it.
 */
export function problemsOfAdoption(
  { kind, title }: ManagedObject,
  found: Properties,
  inputs: Properties,
  secrets: readonly string[],
): Problem[] {
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
    `the ${title} is not adopted, because it differs from the program ` +
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
 * @throws Error when the object differs, or is gone.
 */
export async function adopt(
  object: ManagedObject,
  inputs: Properties,
  secrets: readonly string[],
): Promise<Created> {
  if (isAdopted(object.account.run, object.known)) {
    throw new Error(
      `the ${object.title} was adopted by another resource of this update: remove one of the two resources`,
    );
  }
  // The check has just read it, unless the option came by another way.
  const state = object.known.found ?? (await findToAdopt(object, inputs));
  const [problem] = problemsOfAdoption(object, state, inputs, secrets);
  if (problem) throw new Error(problem.reason);
  noteAdoption(object, secrets, true);
  return { id: object.id, state };
}

/**
 * Checks a resource that is in state and still has the `import` option (contract C44). The option must name
 * the resource's own object, and no change may replace that object.
 *
 * @param isOwn Whether the option names the resource's own object.
 * @param replaces The changes that replace it.
 * @throws Error that says to remove the option, or to use another resource name.
 */
export function checkImportOption(
  { title }: ManagedObject,
  option: unknown,
  isOwn: boolean,
  replaces: readonly string[],
): void {
  if (option === undefined) return;
  if (!isOwn) {
    throw new Error(
      `the import option names ${option}, but this resource already manages the ${title}: ` +
        `adopt ${option} in a resource with another name, or remove the option. If that object is deleted, first take ` +
        "the resource out of the state with `pulumi state delete`",
    );
  }
  if (replaces.length === 0) return;
  throw new Error(
    `a change of ${replaces.join(" and ")} replaces the ${title}, but the import option would ` +
      "adopt the old object again: remove the option",
  );
}
