import type { Created } from "./create";
import { differences, type Kind, type Problem } from "./kind";
import { listed } from "./log";
import { ifExists } from "./marks";
import { hasUnknown, type Properties } from "./properties";
import type { Account, Run } from "./run";

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
export async function findToAdopt(
  kind: Kind,
  account: Account,
  id: string,
  inputs: Properties,
): Promise<Properties> {
  const object = account.known(kind, id);
  object.isKept = true;
  object.isOwn = true;
  // Of an object that is adopted, nobody knows what was sent.
  const unsent = kind.replaces({}, inputs).map((name) => [name, undefined]);
  const known = { ...inputs, ...Object.fromEntries(unsent) };
  const reading = account.objects(kind).get(account.client, id);
  const found = await ifExists(
    kind,
    account,
    reading.then((wire) => kind.toState(wire, known)),
  );
  if (!found) {
    throw new Error(
      `no ${kind.title} has the id ${id}, which the import option names. If the object was ` +
        "deleted, remove the option to create a new one. If the id is wrong, correct it: " +
        "`npx --no -- pulumi-tlsedge status` lists all ids",
    );
  }
  object.found = found;
  return found;
}

/**
 * Notes whose an object is, and refuses a second resource. The program compares ids, too, because it knows
 * the names of both resources.
 *
 * @param option The `import` option; empty for a resource that has none.
 */
export function claim(kind: Kind, account: Account, id: string, option: string): void {
  const object = account.known(kind, id);
  object.owner ??= option;
  if (object.owner === option) return;
  const other = object.owner || option;
  throw new Error(
    `the ${kind.title} ${id}, which the import option ${other} names, belongs to another resource ` +
      `of this program: ${removeImporter}`,
  );
}

/** Notes that an object equals the program, so that it can be adopted; or that it is. */
export function noteAdoption({ adopted }: Run, { title }: Kind, id: string, isDone = false): void {
  adopted.set(`the ${title} ${id}`, isDone);
}

/**
 * One sentence about the objects that this plan or update adopts, because the engine shows each as a
 * create. Undefined if there are none.
 */
export function adoptions({ adopted }: Run): string | undefined {
  if (adopted.size === 0) return undefined;
  const done = [...adopted.keys()].filter((name) => adopted.get(name));
  const [verb, names] =
    done.length > 0 ? ["adopted", done] : ["will be adopted", [...adopted.keys()]];
  return `${verb} without changes: ${listed(names.sort())}`;
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
 * @param option The `import` option.
 * @throws Error when the object differs, is gone, or was adopted by another resource.
 */
export async function adopt(
  kind: Kind,
  account: Account,
  id: string,
  inputs: Properties,
  option: string,
): Promise<Created> {
  const object = account.known(kind, id);
  const title = `${kind.title} ${id}`;
  if (object.isDeleted) {
    throw new Error(`the ${title} was deleted by this update: remove the import option`);
  }
  if (object.isAdopted) {
    throw new Error(
      `the ${title} was adopted by another resource of this update: remove one of the two resources`,
    );
  }
  claim(kind, account, id, option);
  object.isAdopted = true;
  // Use the state that the check has just read, if there is one.
  const state = object.found ?? (await findToAdopt(kind, account, id, inputs));
  const [problem] = problemsOfAdoption(kind, id, state, inputs);
  if (problem) throw new Error(problem.reason);
  noteAdoption(account.run, kind, id, true);
  return { id, state };
}

/**
 * Checks a resource that is in state and still has the `import` option (contract C44). The option
 * must name the resource's own object, and no change may replace that object. Another resource may have
 * managed the object before, and an interrupted update may have left the delete of that resource to this
 * run: so nothing in this run deletes the object.
 *
 * @param isOwn Whether a value of the option names the resource's own object.
 * @throws Error that says to remove the option, or to use another resource name.
 */
export function checkImportOption(
  kind: Kind,
  account: Account,
  id: string,
  inputs: Properties,
  { replaces, isOwn }: { replaces: string[]; isOwn(wanted: unknown): boolean },
): void {
  const wanted = inputs[importKey];
  const note = (option: string) => {
    if (account.run.hasProgram) claim(kind, account, id, option);
  };
  if (wanted === undefined) {
    note("");
    return;
  }
  if (!isOwn(wanted)) {
    throw new Error(
      `the import option names ${wanted}, but this resource already manages the ${kind.title} ${id}: ` +
        `adopt ${wanted} in a resource with another name, or remove the option`,
    );
  }
  if (replaces.length > 0) {
    throw new Error(
      `a change of ${replaces.join(" and ")} replaces the ${kind.title} ${id}, but the import option would ` +
        "adopt the old object again: remove the option",
    );
  }
  note(String(wanted));
  account.known(kind, id).isKept = true;
}

/**
 * Why a delete keeps an object: another resource has it, this run has adopted it, or its resource has
 * the `import` option. Undefined when it is deleted.
 *
 * @param other The name of another resource of the program that has the object.
 */
export function whyKept(
  kind: Kind,
  account: Account,
  id: string,
  state: Properties,
  other?: string,
): string | undefined {
  const { isKept } = account.known(kind, id);
  if (other !== undefined) return `the resource "${other}" has it, too`;
  if (!isKept && state[importKey] === undefined) return undefined;
  return "a resource has it with the option `import`. To delete or replace it, remove the option and run `pulumi up` first";
}
