import { differences, hiddenArguments, noneWithId, type Problem } from "../kinds/kind";
import type { Account, Adoption, ManagedObject, Run } from "../run/run";
import { hasUnknown, type Properties } from "../values/properties";
import type { Call } from "./call";
import { claim } from "./claim";
import { idToImport } from "./import";
import { ifExists } from "./read";

/**
 * The object that the option `import` names: read once in a run (contract C40). The resource claims it, and this run
 * deletes it no more.
 *
 * @throws Error when the object does not exist.
 */
export async function findToAdopt(
  { kind, urn }: Call,
  account: Account,
  name: string,
  inputs: Properties,
): Promise<{ object: ManagedObject; adoption: Adoption }> {
  const object = account.object(kind, await idToImport(kind, account, name));
  claim(object, urn);
  const { adoptions } = account.run;
  const { id, title, key } = object;
  const earlier = adoptions.get(key);
  if (earlier) return { object, adoption: earlier };
  // The chain of the inputs was not sent to make this object: so it is no `known` input of the state.
  const unsent = kind.replaces({}, inputs).map((property) => [property, undefined]);
  const known = { ...inputs, ...Object.fromEntries(unsent) };
  const read = async () => kind.toState(await account.list(kind).get(account.client, id), known);
  const state = await ifExists(object, read());
  if (!state) {
    throw new Error(
      `${noneWithId(kind.title, id)}. The import option names it. If the object was deleted, ` +
        "remove the option to create a new one. If the id is wrong, correct it: " +
        "`npx --no -- pulumi-tlsedge status` lists all ids",
    );
  }
  const adoption = { title, state, isAdoptable: false, isDone: false };
  adoptions.set(key, adoption);
  return { object, adoption };
}

/** Marks that the object equals the program. */
export function markAdoptable(
  { kind, id }: ManagedObject,
  adoption: Adoption,
  secrets: Iterable<string>,
): void {
  adoption.isAdoptable = true;
  // Where the program has a secret, the object's name may be a part of it.
  const hasSecret = hiddenArguments(kind, secrets).length > 0;
  const [name = id] = hasSecret ? [] : kind.names(adoption.state);
  adoption.title = `${kind.title} ${name}`;
}

/**
 * The objects that this plan or update adopts, because the engine shows each as a create. Undefined if there
 * are none. How many creates the engine shows in all, a provider can't know: other packages have some, too.
 */
export function textOfAdoptions({ adoptions }: Run): string | undefined {
  const all = [...adoptions.values()].filter(({ isAdoptable }) => isAdoptable);
  if (all.length === 0) return undefined;
  const done = all.filter(({ isDone }) => isDone);
  const plan = all.length === 1 ? "adopts" : "adopt";
  const [verb, which] = done.length > 0 ? ["adopted", done] : [plan, all];
  const names = which.map(({ title }) => `\n  ${title}`).sort();
  return `${which.length} of the creates ${verb} what exists, without a write:${names.join("")}`;
}

const maxValueLength = 200;

/**
 * One problem with a table of the differences between object and inputs; none when they agree. It
 * shows neither value of a secret argument: the object may have the same secret, or a part of it.
 */
export function differencesOf(
  { kind, title }: ManagedObject,
  state: Properties,
  inputs: Properties,
  secrets: Iterable<string>,
): Problem[] {
  const hidden = hiddenArguments(kind, secrets);
  const rows = differences(kind, state, inputs)
    .filter(({ wanted }) => !hasUnknown(wanted))
    .map(({ property, wanted, found }) => {
      const textOf = (value: unknown) => valueText(value, hidden.includes(property));
      return `\n  ${property}: ${textOf(wanted)} / ${textOf(found)}`;
    });
  if (rows.length === 0) return [];
  const reason =
    `the ${title} is not adopted, because it differs from the program ` +
    `(property: wanted / found):${rows.join("")}\n` +
    "To adopt it, write the found values into the program, and change them in the next update";
  return [{ path: "", reason }];
}

function valueText(value: unknown, isSecret: boolean): string {
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
  call: Call,
  account: Account,
  name: string,
  inputs: Properties,
): Promise<{ id: string; state: Properties }> {
  const { secrets } = call;
  const { object, adoption } = await findToAdopt(call, account, name, inputs);
  const { state } = adoption;
  if (adoption.isDone) {
    throw new Error(
      `the ${adoption.title} was adopted by another resource of this update: remove one of the two resources`,
    );
  }
  const [problem] = differencesOf(object, state, inputs, secrets);
  if (problem) throw new Error(problem.reason);
  markAdoptable(object, adoption, secrets);
  adoption.isDone = true;
  return { id: object.id, state };
}
