import * as pulumi from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { defaultConnection } from "../client/settings";
import { connect } from "../provider/connection";
import { checkConnection, stackConfig, warnOfLookups } from "./resource";

/** What every lookup may be told. */
export interface LookupArgs {
  /** The config namespace of the account. Default `tlsedge`. */
  connection?: string;
}

/** None, or several, match a lookup that is for one. */
export class LookupError extends pulumi.RunError {}

/** The client of the account that a lookup is for. */
export function connectTo({ connection = defaultConnection }: LookupArgs): Client {
  checkConnection(connection);
  warnOfLookups(connection);
  return connect(connection, stackConfig);
}

/** What matches of a listing, one page held at a time. */
export async function* matching<Wire, Result>(
  items: AsyncIterable<Wire>,
  result: (wire: Wire) => Result,
  matches: (wire: Wire) => boolean,
): AsyncGenerator<Result, void, undefined> {
  try {
    for await (const item of items) {
      if (matches(item)) yield result(item);
    }
  } catch (error) {
    throw withoutStack(error);
  }
}

/** Pulumi prints the stack of an error that is not marked so: a person is served by its message. */
function withoutStack(error: unknown): unknown {
  return error instanceof Error ? Object.assign(error, { __pulumiRunError: true }) : error;
}

const mostCandidates = 10;

/** The one that is meant: by id, else the only one of those that match. */
export async function only<Result extends { id: string }>(
  title: string,
  args: LookupArgs & { id?: string },
  ways: {
    get: (id: string) => Promise<Result>;
    list: () => AsyncIterable<Result>;
    label: (result: Result) => string;
  },
): Promise<Result> {
  const { id, connection: _, ...filter } = args;
  const empty = Object.entries({ id, ...filter }).find(([, value]) => isEmpty(value));
  if (empty) throw new LookupError(`the ${empty[0]} to look a ${title} up by is empty`);
  if (id !== undefined) return byId(title, id, ways.get);
  const asked = JSON.stringify(filter);
  if (asked === "{}") throw new LookupError(`a ${title} is looked up by id or by a filter`);
  const candidates: Result[] = [];
  let count = 0;
  for await (const candidate of ways.list()) {
    count += 1;
    if (count <= mostCandidates) candidates.push(candidate);
  }
  const [first] = candidates;
  if (!first) throw new LookupError(`no ${title} matches ${asked}`);
  if (count === 1) return first;
  const listed = candidates.map((candidate) => `\n  ${ways.label(candidate)}`);
  const rest = count - listed.length;
  throw new LookupError(
    `${count} ${title}s match ${asked}: narrow it down, or give an id:` +
      `${listed.join("")}${rest > 0 ? `\n  and ${rest} more` : ""}`,
  );
}

/** What would match anything, such as a config value that is not set. */
function isEmpty(value: unknown): boolean {
  return value === "" || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
}

async function byId<Result>(
  title: string,
  id: string,
  get: (id: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await get(id);
  } catch (error) {
    if (!(error instanceof ServiceError && error.status === 404)) throw withoutStack(error);
    throw new LookupError(`no ${title} has the id ${id}`);
  }
}
