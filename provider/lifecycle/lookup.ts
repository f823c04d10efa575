import { isNotFound } from "../../client/errors";
import type { Item } from "../../client/fields";
import { lookupKinds } from "../kinds/kinds";
import {
  type Choice,
  checkFindAllArgs,
  checkFindOneArgs,
  chosen,
  filterIn,
  LookupError,
  type LookupKind,
  noneWith,
} from "../kinds/lookup";
import type { Account } from "../run/run";

/** What depends on who calls a lookup. */
export interface LookupOptions {
  /** Whether the arguments are secrets: then an error shows no value. */
  isSecret?: boolean;
  /** Gives the answer of the plugin's function in place of the service: the mocks of a unit test. */
  mockAnswer?(): Promise<object>;
  /**
   * When the reading of the list that it takes has begun at the earliest, by the monotonic clock: all lookups may share
   * one. Default: when this process has last written.
   */
  since?: number | undefined;
}

/**
 * Looks up objects.
 *
 * @param account Gives the account. Called once the arguments are checked.
 * @throws LookupError
 */
export type Lookup = (
  account: () => Account,
  args: object,
  options?: LookupOptions,
) => Promise<object>;

function findAll(kind: LookupKind): Lookup {
  return async (account, args, options = {}) => {
    checkFindAllArgs(kind, args);
    if (options.mockAnswer) return listIn(await options.mockAnswer());
    const filter = filterIn(kind, args);
    const all = await allOf(kind, account(), kind.isReadAfresh ? performance.now() : options.since);
    return all.filter((wire) => kind.matches(wire, filter)).map(kind.result);
  };
}

function findOne(kind: LookupKind): Lookup {
  return async (account, args: Choice, options = {}) => {
    checkFindOneArgs(kind, args);
    if (options.mockAnswer) return options.mockAnswer();
    const { isSecret = false, since } = options;
    const from = account();
    if (args.id !== undefined) return getById(kind, from, args.id, isSecret);
    const askedAt = performance.now();
    const filter = filterIn(kind, args);
    let all = await allOf(kind, from, kind.isReadAfresh ? askedAt : since);
    // Another process may have made it since.
    if (!all.some((wire) => kind.matches(wire, filter))) all = await allOf(kind, from, askedAt);
    return chosen(kind, all, args, isSecret);
  };
}

async function getById(
  kind: LookupKind,
  account: Account,
  id: string,
  isSecret: boolean,
): Promise<Item> {
  try {
    return kind.result(await kind.get(account.client, id));
  } catch (error) {
    if (isNotFound(error)) {
      const { value: newest } = await kind.pages(account.client).next();
      throw noneWith(kind, id, newest ?? [], isSecret);
    }
    if (isSecret && error instanceof Error) {
      error.message = error.message
        .replaceAll(encodeURIComponent(id), "[secret]")
        .replaceAll(id, "[secret]");
    }
    throw error;
  }
}

/** The list in the answer of a function of the plugin: its only property. */
function listIn(answer: object): object[] {
  const list = Object.values(answer).find(Array.isArray);
  if (list) return list;
  throw new LookupError(
    "the mock of a lookup that gives a list must give an object with the list, such as { tunnels: [] }",
  );
}

/** All objects of a kind, newest first, from a reading that lookups share. */
function allOf(
  kind: LookupKind,
  account: Account,
  since = account.client.lastWriteAt,
): Promise<Item[]> {
  // Tunnels lack fields that the type of a list's objects has: only lookups read their list.
  return account.list({ title: kind.title, endpoints: kind as never }).all(since);
}

export const lookups: Readonly<Record<string, Lookup>> = Object.fromEntries(
  lookupKinds.flatMap(([one, all, kind]) => [
    [`get${one}`, findOne(kind)],
    [`get${all}`, findAll(kind)],
  ]),
);
