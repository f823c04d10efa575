import { differences, hiddenArguments, type Kind, noneWithId, type Problem } from "../kinds/kind";
import { LookupError } from "../kinds/lookup";
import type { Account, ManagedObject, Run } from "../run/run";
import { hasUnknown, nameInUrn, type Properties } from "../values/properties";
import type { Created } from "./create";
import { ifExists } from "./gone";
import { type Lookup, lookups } from "./lookup";

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
  const since = performance.now() - listAgeMs;
  const items = await account.list(kind).all(since);
  if (items.some(({ id }) => id === text)) return text;
  const find = lookups[`get${kind.name}`] as Lookup<Properties, { id: string }>;
  return (await find(() => account, { [importName.filter]: name }, { since })).id;
}

/**
 * Says that an import names no object.
 *
 * @throws LookupError with what an import takes, and what there is.
 */
export async function refuseImport({ kind, account, id }: ManagedObject): Promise<void> {
  try {
    await (lookups[`get${kind.name}`] as Lookup<Properties, object>)(() => account, { id });
  } catch (error) {
    if (!(error instanceof LookupError)) throw error;
    const also = kind.importName ? `\n\`pulumi import\` also takes: ${kind.importName.filter}` : "";
    throw new LookupError(error.message + also);
  }
}

/** The problem of two resources of a program that have one object. */
export const sharedObject = (one: string, other: string, id: string): string =>
  `the resources "${one}" and "${other}" have the same object, ${id}, which only one resource can manage: ` +
  "remove one from the program, and run `pulumi up` without --target: the object stays";

/**
 * Claims an object for a resource of the program that has it or is to adopt it.
 *
 * @param urn Empty where the protocol does not tell it.
 * @throws Error when another resource of the program has the object.
 */
export function claim({ account, id, key }: ManagedObject, urn: string): void {
  const { ownership } = account.run;
  const owner = ownership.ownerOf(key);
  if (owner && urn && owner !== urn)
    throw new Error(sharedObject(nameInUrn(owner), nameInUrn(urn), id));
  ownership.claim(key, urn);
}

const maxValueLength = 200;

/**
 * Reads the object that a resource adopts (contract C40). From then on, this run deletes it no more.
 *
 * @throws Error when the object does not exist.
 */
export async function findToAdopt(object: ManagedObject, inputs: Properties): Promise<Properties> {
  const { kind, account, id, title, key } = object;
  // An adopted object was not created by us, so its chain is compared as a whole.
  const unsent = kind.replaces({}, inputs).map((name) => [name, undefined]);
  const sent = { ...inputs, ...Object.fromEntries(unsent) };
  const reading = account.list(kind).get(account.client, id);
  const state = await ifExists(
    object,
    reading.then((wire) => kind.toState(wire, sent)),
  );
  if (!state) {
    throw new Error(
      `${noneWithId(kind.title, id)}. The import option names it. If the object was deleted, ` +
        "remove the option to create a new one. If the id is wrong, correct it: " +
        "`npx --no -- pulumi-tlsedge status` lists all ids",
    );
  }
  const { adoptions } = account.run;
  adoptions.set(key, adoptions.get(key) ?? { title, state, isEqual: false, isDone: false });
  return state;
}

/**
 * Notes that an object, which a check or an adoption has read, equals the program, so that it can be adopted. Where the
 * program has a secret, the object's name may be a part of it.
 */
export function noteAdoption(
  { kind, account, id, key }: ManagedObject,
  secrets: readonly string[],
): void {
  const adoption = account.run.adoptions.get(key);
  if (!adoption) return;
  adoption.isEqual = true;
  const isSecret = hiddenArguments(kind, secrets).length > 0;
  const [name = id] = isSecret ? [] : kind.names(adoption.state);
  adoption.title = `${kind.title} ${name}`;
}

/**
 * The objects that this plan or update adopts, because the engine shows each as a create. Undefined if there
 * are none. How many creates the engine shows in all, a provider can't know: other packages have some, too.
 */
export function textOfAdoptions({ adoptions }: Run): string | undefined {
  const all = [...adoptions.values()].filter(({ isEqual }) => isEqual);
  if (all.length === 0) return undefined;
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
  const hidden = hiddenArguments(kind, secrets);
  const rows = differences(kind, found, inputs)
    .filter(({ wanted }) => !hasUnknown(wanted))
    .map(({ property, ...values }) => {
      const [wanted, there] = [values.wanted, values.found].map((value) =>
        shown(value, hidden.includes(property)),
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
  const { id, key, title, account } = object;
  const { adoptions } = account.run;
  // The check has just read it, unless the option came by another way.
  const state = adoptions.get(key)?.state ?? (await findToAdopt(object, inputs));
  const adoption = adoptions.get(key);
  if (adoption?.isDone) {
    throw new Error(
      `the ${title} was adopted by another resource of this update: remove one of the two resources`,
    );
  }
  const [problem] = problemsOfAdoption(object, state, inputs, secrets);
  if (problem) throw new Error(problem.reason);
  noteAdoption(object, secrets);
  if (adoption) adoption.isDone = true;
  return { id, state };
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
