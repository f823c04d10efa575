import type { Client } from "../client/client";
import {
  type Created,
  hasUnknown,
  ifThere,
  type Lifecycle,
  type Problem,
  type Properties,
  perAccount,
} from "./lifecycle";

/** Where the `import` option of a resource stands among its inputs. The engine shows no such name. */
export const importKey = "__import";

/** What the resources of this process do to objects, by the kind and id of each. */
const doings = perAccount(() => ({
  /** What is to be adopted, or was, as its check has read it: no delete may take it away. */
  toAdopt: new Map<string, Properties | undefined>(),
  adopted: new Set<string>(),
  deleted: new Set<string>(),
}));

const keyOf = ({ title }: Lifecycle, id: string) => `${title} ${id}`;

const longestValue = 200;

/**
 * How old an answer may be by which something is adopted: the engine stores each before it checks
 * the next, so that hundreds take minutes. What has changed meanwhile is drift, for a refresh.
 */
const oldestMs = 600_000;

/**
 * Reads what a resource is to adopt (contract C40).
 *
 * @throws Error when there is no such thing.
 */
export async function findToAdopt(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  inputs: Properties,
): Promise<Properties> {
  const { toAdopt } = doings(client);
  const key = keyOf(lifecycle, id);
  toAdopt.set(key, undefined);
  const found = await ifThere(lifecycle, client, lifecycle.read(client, id, inputs, oldestMs));
  toAdopt.set(key, found);
  if (found) return found;
  throw new Error(
    `no ${lifecycle.title} has the id ${id}, which the import option names. If it was deleted, ` +
      "remove the option, and one is made anew; else mend the id: `npx pulumi-tlsedge status` lists them",
  );
}

/** What of an object differs from the inputs, in a table. */
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
 * Takes an object over as it is: nothing is created or changed.
 *
 * @throws Error when it differs, is gone, or is another resource's.
 */
export async function adopt(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  inputs: Properties,
): Promise<Created> {
  const { toAdopt, adopted, deleted } = doings(client);
  const key = keyOf(lifecycle, id);
  if (deleted.has(key)) {
    throw new Error(
      `the ${lifecycle.title} ${id} was deleted by this very update: remove the import option`,
    );
  }
  if (adopted.has(key)) {
    throw new Error(
      `the ${lifecycle.title} ${id} was adopted by another resource of this update: remove one of the two`,
    );
  }
  adopted.add(key);
  try {
    // Its check has read it a moment ago.
    const state = toAdopt.get(key) ?? (await findToAdopt(lifecycle, client, id, inputs));
    const [problem] = problemsOfAdoption(lifecycle, id, state, inputs);
    if (problem) throw new Error(problem.reason);
    return { id, state };
  } catch (error) {
    adopted.delete(key);
    throw error;
  }
}

/**
 * Refuses what would delete the object that a resource has adopted (contract C44), and sees to it
 * that no delete of this update does: another resource may have had the object before, and an
 * update that was cut off may have left its delete for this one.
 *
 * @throws Error that says to remove the option, or to take another name.
 */
export function keepAdopted(
  lifecycle: Lifecycle,
  client: () => Client,
  id: string,
  inputs: Properties,
  replaces: string[],
): void {
  const wanted = inputs[importKey];
  if (wanted === undefined) return;
  if (wanted !== id) {
    throw new Error(
      `the import option names ${wanted}, but this resource is the ${lifecycle.title} ${id} ` +
        "already: adopt the other one under another name, or remove the option",
    );
  }
  if (replaces.length > 0) {
    throw new Error(
      `another ${replaces.join(" and ")} replaces the ${lifecycle.title} ${id}, which the import ` +
        "option would adopt again: remove the option",
    );
  }
  const { toAdopt } = doings(client());
  const key = keyOf(lifecycle, id);
  toAdopt.set(key, toAdopt.get(key));
}

/** Whether an object must stay because a resource of this process adopts it; else it is to go. */
export function mustStay(lifecycle: Lifecycle, client: Client, id: string): boolean {
  const { toAdopt, deleted } = doings(client);
  const key = keyOf(lifecycle, id);
  if (toAdopt.has(key)) return true;
  deleted.add(key);
  return false;
}
