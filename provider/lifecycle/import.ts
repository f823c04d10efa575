import type { Kind } from "../kinds/kind";
import { LookupError } from "../kinds/lookup";
import type { ListItem } from "../run/list";
import type { Account, ManagedObject } from "../run/run";
import { type Lookup, lookups } from "./lookup";

/** The earliest reading of a list in which an import looks for a name: many share one for 30 seconds. */
export const sharedSince = () => performance.now() - 30_000;

/**
 * The id of the object to import. A text that is no name is an id. Reads the list for a name alone.
 *
 * @throws LookupError when the name is that of no object or of several. It lists what there is.
 */
export async function idToImport(
  kind: Kind,
  account: Account,
  text: string,
  since = sharedSince(),
): Promise<string> {
  const { importName } = kind;
  const name = importName?.parse(text);
  if (!importName || name === undefined) return text;
  const namesOf = (object: ListItem) => [object.id, ...namesIn(kind, object)];
  const byName = await account.list(kind).named(since, namesOf);
  if (byName.get(text)?.some(({ id }) => id === text)) return text;
  const [found, ...others] = byName.get(name) ?? [];
  if (found && others.length === 0) return found.id;
  // None or several have the name: the lookup fails, and says what there is.
  const find = lookups[`get${kind.name}`] as Lookup;
  const object = await find(() => account, { [importName.filter]: name }, { since });
  return (object as ListItem).id;
}

/** What an import takes besides the id of an object: nothing of one that can't be parsed. */
function namesIn(kind: Kind, object: ListItem): string[] {
  try {
    return kind.importName?.of(kind.toState(object)) ?? [];
  } catch {
    return [];
  }
}

/** Refuses an import that names no object: a lookup by the id throws, and says what there is. */
export async function refuseImport({ kind, account, id }: ManagedObject): Promise<void> {
  try {
    await (lookups[`get${kind.name}`] as Lookup)(() => account, { id });
  } catch (error) {
    if (!(error instanceof LookupError)) throw error;
    const also = kind.importName ? `\n\`pulumi import\` also takes: ${kind.importName.filter}` : "";
    throw new LookupError(error.message + also);
  }
}
