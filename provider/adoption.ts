import type { Client } from "../client/client";
import {
  type Created,
  hasUnknown,
  ifThere,
  type Lifecycle,
  type Problem,
  type Properties,
} from "./lifecycle";

/** Where the `import` option of a resource stands among its inputs. The engine shows no such name. */
export const importKey = "__import";

interface Found {
  state: Properties;
  inputs: Properties;
}

/** What a resource of this process is to adopt, as its check has read it: no delete may take it away. */
const toAdopt = new Map<string, Found | undefined>();
/** What a resource of this process has adopted. */
const adopted = new Set<string>();
/** What this process has deleted. */
const deleted = new Set<string>();

const longestValue = 200;

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
): Promise<Found> {
  toAdopt.set(id, undefined);
  const found = await ifThere(lifecycle, client, lifecycle.read(client, id, inputs));
  toAdopt.set(id, found);
  if (found) return found;
  throw new Error(`no ${lifecycle.title} has the id ${id}, which the import option names`);
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
  if (value === undefined || value === "") return "none";
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
  if (deleted.has(id)) {
    throw new Error(
      `the ${lifecycle.title} ${id} was deleted by this very update: remove the import option`,
    );
  }
  if (adopted.has(id)) {
    throw new Error(`the ${lifecycle.title} ${id} was adopted by another resource of this update`);
  }
  adopted.add(id);
  try {
    // Its check has read it a moment ago.
    const { state } = toAdopt.get(id) ?? (await findToAdopt(lifecycle, client, id, inputs));
    const [problem] = problemsOfAdoption(lifecycle, id, state, inputs);
    if (problem) throw new Error(problem.reason);
    return { id, state };
  } catch (error) {
    adopted.delete(id);
    throw error;
  }
}

/**
 * Refuses what would delete the object that a resource has adopted (contract C44).
 *
 * @throws Error that says to remove the option, or to take another name.
 */
export function refuseToReplace(
  lifecycle: Lifecycle,
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
}

/** Whether an object must stay because a resource of this process adopts it; else it is to go. */
export function mustStay(id: string): boolean {
  if (toAdopt.has(id)) return true;
  deleted.add(id);
  return false;
}
