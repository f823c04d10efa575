import type { Kind } from "../kinds/kind";
import { LookupError } from "../kinds/lookup";
import type { Account, ManagedObject } from "../run/run";
import type { Properties } from "../values/properties";
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
