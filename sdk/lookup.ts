import * as pulumi from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { defaultConnection } from "../client/settings";
import { connect } from "../provider/connection";
import { isObject } from "../provider/lifecycle";
import { isAsync, wrongForm } from "./args";
import { checkConnection, type InputOf, stackConfig, warnOfLookups } from "./resource";

/** The arguments that every lookup takes. */
export interface LookupArgs {
  /** The config namespace of the account. Default `tlsedge`. */
  connection?: string;
}

/** A lookup of one object has found none or several, or the arguments of a lookup are invalid. */
export class LookupError extends pulumi.RunError {}

/** The type of a filter's value. */
type FilterType = "a string" | "an object of strings";

/** One kind of object that can be looked up. */
export interface Kind<Wire, Args extends LookupArgs, Result extends { id: string }> {
  /** For messages: "TLS edge". */
  title: string;
  /** Every filter with its type. */
  filters: { [F in keyof Omit<Args, keyof LookupArgs>]-?: FilterType };
  get(client: Client, id: string): Promise<Wire>;
  /** All objects, newest first, page by page. */
  list(client: Client): AsyncIterable<Wire>;
  result(wire: Wire): Result;
  matches(wire: Wire, args: Args): boolean;
  /** Describes an object in an error's list of candidates, without its id. */
  label(result: Result): string;
  /** When no object matches, the error lists all objects below this heading. Default: no list. */
  all?: string;
}

/** All matching objects. Holds one page at a time. */
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
 * Reads one object: by id, or the only one that matches.
 *
 * @param isSecret Whether the arguments are secrets: then an error shows no value.
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
    if (empty) throw new LookupError(`the ${empty[0]} in the lookup of a ${kind.title} is empty`);
    if (id !== undefined) return await byId(kind, args, id, isSecret);
    if (Object.values(filter).every((value) => value === undefined)) {
      throw new LookupError(`the lookup of a ${kind.title} needs an id or a filter`);
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
  const shownFilter = isSecret
    ? `the filter by ${Object.keys(filter).join(", ")} ([secret])`
    : JSON.stringify(filter);
  // A label may contain a value of the filter.
  const label = (one: Result) => (isSecret ? "" : ` (${kind.label(one)})`);
  if (first) {
    throw new LookupError(
      `${matching.count} ${kind.title}s match ${shownFilter}: use a narrower filter or an id:` +
        matching.list(label),
    );
  }
  const none = `no ${kind.title} matches ${shownFilter}`;
  if (!kind.all) throw new LookupError(none);
  const available = others.count > 0 ? `${kind.all}:${others.list(label)}` : `${kind.all}: none`;
  throw new LookupError(`${none}. ${available}`);
}

const maxCandidates = 10;

/** The first few objects, and the number of all. */
class Candidates<Result extends { id: string }> {
  readonly listed: Result[] = [];
  count = 0;

  add(result: () => Result): void {
    this.count += 1;
    if (this.count <= maxCandidates) this.listed.push(result());
  }

  list(label: (result: Result) => string): string {
    const lines = this.listed.map((one) => `\n  ${one.id}${label(one)}`).join("");
    const rest = this.count - this.listed.length;
    return rest > 0 ? `${lines}\n  and ${rest} more` : lines;
  }
}

/** The client of the account that a lookup reads. */
function connectTo({ connection = defaultConnection }: LookupArgs): Client {
  checkConnection(connection);
  warnOfLookups(connection);
  return connect(connection, stackConfig);
}

/** Whether a filter is empty, such as an unset config value. It would match every object. */
function isEmpty(value: unknown): boolean {
  return value === "" || (isObject(value) && Object.keys(value).length === 0);
}

/** Refuses invalid arguments: a JavaScript program may pass anything. */
function checkArgs(title: string, filters: Record<string, FilterType>, args: unknown): void {
  const problem = problemOf({ ...filters, connection: "a string" }, args);
  if (problem) throw new LookupError(`the lookup of a ${title}: ${problem}`);
}

function problemOf(types: Record<string, FilterType>, args: unknown): string | undefined {
  if (isAsync(args)) return asyncProblem("the argument");
  const wrong = wrongForm(args, Object.keys(types), "filter");
  if (wrong) return wrong;
  for (const [name, value] of Object.entries(args as object)) {
    const type = types[name] as FilterType;
    if (isAsync(value) || (isObject(value) && Object.values(value).some(isAsync))) {
      return asyncProblem(name);
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

const asyncProblem = (name: string) =>
  `${name} is an output or a promise: use the lookup's Output form, such as getTunnelOutput`;

/** Changes an error so that Pulumi shows only its message, and Node.js prints no warning. */
function forPulumi(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Node.js would warn when a program awaits a lookup only after the lookup has failed.
  if (!process.listeners("rejectionHandled").includes(ignore)) {
    process.on("rejectionHandled", ignore);
  }
  // With this mark Pulumi prints only the message. After the program's end it prints the stack
  // trace anyway, so the stack trace is the message.
  return Object.assign(error, { __pulumiRunError: true, stack: error.message });
}

function ignore(): void {}
