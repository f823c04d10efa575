import * as pulumi from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { defaultConnection } from "../client/settings";
import { connect } from "../provider/connection";
import { isObject } from "../provider/lifecycle";
import { isLater, wrongForm } from "./args";
import { checkConnection, type InputOf, stackConfig, warnOfLookups } from "./resource";

/** What every lookup may be told. */
export interface LookupArgs {
  /** The config namespace of the account. Default `tlsedge`. */
  connection?: string;
}

/** None, or several, match a lookup that is for one; or its arguments are wrong. */
export class LookupError extends pulumi.RunError {}

/** What a value of a filter must be. */
type FilterType = "a string" | "an object of strings";

/** One kind of object that can be looked up. */
export interface Kind<Wire, Args extends LookupArgs, Result extends { id: string }> {
  /** For messages: "TLS edge". */
  title: string;
  /** Every filter, and what it must be. */
  filters: { [F in keyof Omit<Args, keyof LookupArgs>]-?: FilterType };
  get(client: Client, id: string): Promise<Wire>;
  /** All, newest first, page by page. */
  list(client: Client): AsyncIterable<Wire>;
  result(wire: Wire): Result;
  matches(wire: Wire, args: Args): boolean;
  /** An object in an error's list of candidates, without its id. */
  label(result: Result): string;
  /** What to call all objects when none matches and the error lists them. Default: it doesn't. */
  all?: string;
}

/** All that match, one page held at a time. */
export async function* stream<Wire, Args extends LookupArgs, Result extends { id: string }>(
  kind: Kind<Wire, Args, Result>,
  args: Args,
): AsyncGenerator<Result, void, undefined> {
  try {
    checkArgs(kind.title, kind.filters, args);
    for await (const wire of kind.list(connectTo(args))) {
      if (kind.matches(wire, args)) yield kind.result(wire);
    }
  } catch (error) {
    throw forPulumi(error);
  }
}

/**
 * The one that is meant: by id, else the only one that matches.
 *
 * @param isSecret Whether the arguments came from secrets: then an error shows no value.
 */
export async function one<Wire, Args extends LookupArgs, Result extends { id: string }>(
  kind: Kind<Wire, Args, Result>,
  args: Args & { id?: string },
  isSecret = false,
): Promise<Result> {
  try {
    checkArgs(kind.title, { id: "a string", ...kind.filters }, args);
    const { id, connection, ...filter } = args;
    const empty = Object.entries({ id, ...filter }).find(([, value]) => isEmpty(value));
    if (empty) throw new LookupError(`the ${empty[0]} to look a ${kind.title} up by is empty`);
    if (id !== undefined) return await byId(kind, args, id, isSecret);
    if (Object.values(filter).every((value) => value === undefined)) {
      throw new LookupError(`a ${kind.title} is looked up by id or by a filter`);
    }
    return await byFilter(kind, args, filter, isSecret);
  } catch (error) {
    throw forPulumi(error);
  }
}

/** {@link one} for arguments that are outputs. */
export function oneOutput<Wire, Args extends LookupArgs, Result extends { id: string }>(
  kind: Kind<Wire, Args, Result>,
  args: InputOf<Args & { id?: string }>,
): pulumi.Output<Result> {
  const given = pulumi.output(args) as pulumi.Output<Args & { id?: string }>;
  return given.apply(async (known) => one(kind, known, await pulumi.isSecret(given)));
}

async function byId<Wire, Args extends LookupArgs, Result extends { id: string }>(
  kind: Kind<Wire, Args, Result>,
  args: Args,
  id: string,
  isSecret: boolean,
): Promise<Result> {
  try {
    return kind.result(await kind.get(connectTo(args), id));
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) {
      throw new LookupError(`no ${kind.title} has the id ${isSecret ? "[secret]" : id}`);
    }
    if (isSecret && error instanceof Error) {
      error.message = error.message
        .replaceAll(encodeURIComponent(id), "[secret]")
        .replaceAll(id, "[secret]");
    }
    throw error;
  }
}

async function byFilter<Wire, Args extends LookupArgs, Result extends { id: string }>(
  kind: Kind<Wire, Args, Result>,
  args: Args,
  filter: object,
  isSecret: boolean,
): Promise<Result> {
  const matching = new Candidates<Result>();
  const others = new Candidates<Result>();
  for await (const wire of kind.list(connectTo(args))) {
    if (kind.matches(wire, args)) matching.add(() => kind.result(wire));
    else if (kind.all) others.add(() => kind.result(wire));
  }
  const [first] = matching.listed;
  if (first && matching.count === 1) return first;
  const asked = isSecret
    ? `the filter by ${Object.keys(filter).join(", ")} ([secret])`
    : JSON.stringify(filter);
  // A label may hold what the filter asks for.
  const label = (one: Result) => (isSecret ? "" : ` (${kind.label(one)})`);
  if (first) {
    throw new LookupError(
      `${matching.count} ${kind.title}s match ${asked}: narrow it down, or give an id:` +
        matching.list(label),
    );
  }
  const none = `no ${kind.title} matches ${asked}`;
  if (!kind.all) throw new LookupError(none);
  const there = others.count > 0 ? `${kind.all}:${others.list(label)}` : `${kind.all}: none`;
  throw new LookupError(`${none}. ${there}`);
}

const mostCandidates = 10;

/** The first few objects, and how many there are. */
class Candidates<Result extends { id: string }> {
  readonly listed: Result[] = [];
  count = 0;

  add(result: () => Result): void {
    this.count += 1;
    if (this.count <= mostCandidates) this.listed.push(result());
  }

  list(label: (result: Result) => string): string {
    const lines = this.listed.map((one) => `\n  ${one.id}${label(one)}`).join("");
    const rest = this.count - this.listed.length;
    return rest > 0 ? `${lines}\n  and ${rest} more` : lines;
  }
}

/** The client of the account that a lookup is for. */
function connectTo({ connection = defaultConnection }: LookupArgs): Client {
  checkConnection(connection);
  warnOfLookups(connection);
  return connect(connection, stackConfig);
}

/** What would match anything, such as a config value that is not set. */
function isEmpty(value: unknown): boolean {
  return value === "" || (isObject(value) && Object.keys(value).length === 0);
}

/** Refuses arguments of a wrong form: a program in JavaScript may pass anything. */
function checkArgs(title: string, filters: Record<string, FilterType>, args: unknown): void {
  const problem = problemOf({ ...filters, connection: "a string" }, args);
  if (problem) throw new LookupError(`the lookup of a ${title}: ${problem}`);
}

function problemOf(types: Record<string, FilterType>, args: unknown): string | undefined {
  if (isLater(args)) return later("the argument");
  const wrong = wrongForm(args, Object.keys(types), "filter");
  if (wrong) return wrong;
  for (const [name, value] of Object.entries(args as object)) {
    const type = types[name] as FilterType;
    if (isLater(value) || (isObject(value) && Object.values(value).some(isLater))) {
      return later(name);
    }
    if (value !== undefined && !isA[type](value)) return `${name} must be ${type}`;
  }
  return undefined;
}

const isString = (value: unknown) => typeof value === "string";
const isA: Record<FilterType, (value: unknown) => boolean> = {
  "a string": isString,
  "an object of strings": (value) =>
    isObject(value) && !Array.isArray(value) && Object.values(value).every(isString),
};

const later = (name: string) =>
  `${name} is an output or a promise: use the lookup's Output form, such as getTunnelOutput`;

/** An error of which Pulumi shows the message alone, and Node.js shows nothing. */
function forPulumi(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // A program may start a lookup early and await it late. Pulumi has shown the error by then.
  if (!process.listeners("rejectionHandled").includes(ignore)) {
    process.on("rejectionHandled", ignore);
  }
  // Pulumi prints the stack of what fails after the program's end, marked so or not.
  return Object.assign(error, { __pulumiRunError: true, stack: error.message });
}

function ignore(): void {}
