import type { Client } from "../client/client";
import { isNotedAsAdopted, noteAdopted } from "./adoptedObjects";
import { noteManaged } from "./createOnce";
import { counted } from "./gone";
import {
  type Created,
  hasUnknown,
  ifThere,
  type Lifecycle,
  type Problem,
  type Properties,
  perAccount,
} from "./lifecycle";

/** The input that holds the `import` option of a resource. The engine shows no such name. */
export const importKey = "__import";

/** What the resources of this process do with the objects of an account, each by {@link nameOf}. */
const objectsOf = perAccount(() => ({
  /** Those that import options name, and what the check has read of each: none is deleted. */
  imported: new Map<string, Properties | undefined>(),
  /** Those that creates have adopted. */
  adopted: new Set<string>(),
  deleted: new Set<string>(),
}));

const nameOf = ({ title }: Lifecycle, id: string) => `${title} ${id}`;

const longestValue = 200;

/**
 * How old an answer may be for an adoption. The engine stores each resource before it checks the
 * next, so hundreds take minutes. What has changed meanwhile is drift, which a refresh finds.
 */
const oldestMs = 600_000;

/**
 * Reads the object that a resource is to adopt (contract C40).
 *
 * @throws Error when there is none.
 */
export async function findToAdopt(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  inputs: Properties,
): Promise<Properties> {
  const object = nameOf(lifecycle, id);
  keep(client, object, undefined);
  noteManaged(id);
  const found = await ifThere(lifecycle, client, lifecycle.read(client, id, inputs, oldestMs));
  keep(client, object, found);
  if (found) return found;
  throw new Error(
    `no ${lifecycle.title} has the id ${id}, which the import option names. If it was deleted, ` +
      "remove the option to create a new one. If the id is wrong, correct it: `npx pulumi-tlsedge status` lists all",
  );
}

/** From now on no delete of this run takes the object away, in this process or another one. */
function keep(client: Client, object: string, found: Properties | undefined): void {
  objectsOf(client).imported.set(object, found);
  noteAdopted(object);
}

/** The properties in which an object differs from the inputs, in a table; none when it does not. */
export function problemsOfAdoption(
  lifecycle: Lifecycle,
  id: string,
  found: Properties,
  inputs: Properties,
): Problem[] {
  const rows = lifecycle
    .differences(found, inputs)
    .filter(({ wanted }) => !hasUnknown(wanted))
    .map((row) => `\n  ${row.property}: ${shown(row.wanted)} / ${shown(row.found)}`);
  if (rows.length === 0) return [];
  const reason =
    `the ${lifecycle.title} ${id} is not adopted, as it differs from the program ` +
    `(property: wanted / found):${rows.join("")}\n` +
    "Write what was found into the program to adopt it, and change it in the next update";
  return [{ path: "", reason }];
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === "") return "none";
  const text = JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

/**
 * Adopts an object as it is: nothing is created or changed.
 *
 * @throws Error when it differs, is gone, or is another resource's.
 */
export async function adopt(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  inputs: Properties,
): Promise<Created> {
  const { imported, adopted, deleted } = objectsOf(client);
  const object = nameOf(lifecycle, id);
  if (deleted.has(object)) {
    throw new Error(`the ${object} was deleted by this very update: remove the import option`);
  }
  if (adopted.has(object)) {
    throw new Error(
      `the ${object} was adopted by another resource of this update: remove one of the two`,
    );
  }
  adopted.add(object);
  try {
    // Its check has read it a moment ago.
    const state = imported.get(object) ?? (await findToAdopt(lifecycle, client, id, inputs));
    const [problem] = problemsOfAdoption(lifecycle, id, state, inputs);
    if (problem) throw new Error(problem.reason);
    return { id, state };
  } catch (error) {
    adopted.delete(object);
    throw error;
  }
}

/**
 * Checks a resource that is in state and whose import option is still set (contract C44): the option
 * must name the resource's own object, and nothing may replace it. Then keeps the object from the
 * deletes of this run: another resource may have had it before, and an update that was cut off may
 * have left its delete for this one.
 *
 * @throws Error that says to remove the option, or to take another name.
 */
export function checkImportOption(
  lifecycle: Lifecycle,
  client: () => Client,
  id: string,
  inputs: Properties,
  replaces: string[],
): void {
  const wanted = inputs[importKey];
  if (wanted === undefined) return;
  const object = nameOf(lifecycle, id);
  if (wanted !== id) {
    throw new Error(
      `the import option names ${wanted}, but this resource is the ${object} ` +
        "already: adopt the other one under another name, or remove the option",
    );
  }
  if (replaces.length > 0) {
    throw new Error(
      `another ${replaces.join(" and ")} replaces the ${object}, which the import ` +
        "option would adopt again: remove the option",
    );
  }
  const service = client();
  keep(service, object, objectsOf(service).imported.get(object));
}

/** Deletes an object, unless a resource of this run adopts it: then it stays, with a warning. */
export async function deleteUnlessAdopted(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
): Promise<void> {
  const { imported, deleted } = objectsOf(client);
  const object = nameOf(lifecycle, id);
  if (imported.has(object) || isNotedAsAdopted(object)) {
    console.error(
      `warning: the ${object} stays on the service, as a resource adopts it by the ` +
        "import option. To replace it with a new one, remove the option",
    );
    return;
  }
  const deletion = lifecycle.delete(client, id).then(() => true);
  await counted(client, ifThere(lifecycle, client, deletion));
  deleted.add(object);
}
