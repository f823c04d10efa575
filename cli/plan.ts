import { defaultConnection } from "../client/settings";
import { isObject, type Lifecycle, type Properties, unknownValue } from "../provider/lifecycle";
import { problemsOfShape } from "../provider/values/shape";
import type { Candidate, Lists, Wire } from "./kind";
import { type AnyAdoptableKind, adoptableKinds } from "./kinds";
import { environmentsOf } from "./otherStacks";

export type EachKind = (typeof adoptableKinds)[number];

/** An object that a program can adopt. */
export interface Adoptable {
  id: string;
  /** The name of its resource, unique among the resources of its type. */
  name: string;
  args: Properties;
}

/** An object that no program can adopt, or that none should. */
export interface Skipped {
  /** The noun of its kind: `edge` or `certificate`. */
  type: string;
  id: string;
  /** Its hostports, or the names that it is valid for. */
  names: string[];
  /** The stack that manages it, as `project/stack`; null if no given stack does. */
  stack: string | null;
  /** Why it is skipped. A reason begins with the property at fault, if there is one. */
  reasons: string[];
}

/** The objects of each kind to adopt, by name, and the objects to skip. */
export interface Plan extends Record<EachKind["key"], Adoptable[]> {
  /** In the order of the kinds, then by id. */
  skipped: Skipped[];
  /** How many objects the filter has left out. */
  unmatched: number;
  /** The number of objects to adopt, by the environment that their metadata name. */
  environments: Record<string, number>;
}

/** An object of the account, and the reasons why it can't be adopted. */
type Judged = Candidate &
  Pick<Skipped, "stack" | "reasons"> & { kind: AnyAdoptableKind; wire: Wire };

const longestName = 100;
const noProgram =
  "a program can't set this text: it holds an invalid character, or it is the text that Pulumi " +
  "uses for unknown values";

/** Calls `part` for each kind; gives the results by the key of the kind. */
export function byKey<T>(part: (kind: AnyAdoptableKind) => T): Record<EachKind["key"], T> {
  const parts = adoptableKinds.map((kind) => [kind.key, part(kind)]);
  return Object.fromEntries(parts);
}

/**
 * Decides what to adopt and under which names. The order of the lists makes no difference.
 *
 * @param connection The account, as a config namespace.
 * @param filter A text that a name, the description or the id must contain, in any letter case.
 * @param managed The stacks that manage objects, by the id of the object: such objects are skipped.
 */
export function planOf(
  account: Lists<EachKind>,
  {
    connection,
    filter = "",
    managed = new Map(),
  }: { connection: string; filter?: string; managed?: ReadonlyMap<string, string> },
): Plan {
  const now = new Date();
  const settings = connection === defaultConnection ? {} : { connection };
  const all = adoptableKinds.flatMap((kind: AnyAdoptableKind) =>
    distinct(account[kind.key] ?? []).map((wire): Judged => {
      const candidate = kind.adoption.candidate(wire);
      const adopted = { ...candidate, args: { ...settings, ...candidate.args } };
      const stack = managed.get(wire.id) ?? null;
      const reasons =
        stack === null
          ? reasonsAgainst(kind.adoption.lifecycle, adopted, now)
          : [`in the stack ${stack}`];
      return { ...adopted, kind, wire, stack, reasons };
    }),
  );
  const text = filter.toLowerCase();
  const wanted = all.filter(({ wire: { id, description }, names }) =>
    [id, description ?? "", ...names].some((one) => one.toLowerCase().includes(text)),
  );
  const plan = byKey(({ key }) => named(wanted.filter(({ kind }) => kind.key === key)));
  return {
    ...plan,
    skipped: wanted
      .filter(({ reasons }) => reasons.length > 0)
      .map(({ kind, wire, names, stack, reasons }) => {
        return { type: kind.noun, id: wire.id, names, stack, reasons };
      }),
    unmatched: all.length - wanted.length,
    environments: environmentsOf(Object.values(plan).flat()),
  };
}

/** Each object once, by id: a list that changes while it is read can contain an object twice. */
function distinct(wires: Wire[]): Wire[] {
  const byId = new Map(wires.map((wire) => [wire.id, wire]));
  return [...byId.values()].sort((a, b) => compare(a.id, b.id));
}

/** Why an adoption would fail: the provider's own check decides. */
function reasonsAgainst(lifecycle: Lifecycle, { args, state, reason }: Candidate, now: Date) {
  if (reason) return [reason];
  const lost = Object.keys(args).filter((property) => !survives(args[property]));
  if (lost.length > 0) return lost.map((property) => `${property}: ${noProgram}`);
  const { inputs, problems } = lifecycle.check(args, lifecycle.inputsOf(state), now);
  const found = [...problemsOfShape(lifecycle, args), ...problems];
  if (found.length > 0) return found.map(({ path, reason }) => `${path}: ${reason}`);
  return lifecycle
    .differences(state, inputs)
    .map(({ property }) => `${property}: no input gives this value, so an update would change it`);
}

/** Whether the engine keeps a value unchanged. It changes a text that has half of a character. */
function survives(value: unknown): boolean {
  if (typeof value === "string") return value !== unknownValue && !/\p{Surrogate}/u.test(value);
  return !isObject(value) || Object.values(value).every(survives);
}

/**
 * Names the objects that can be adopted. If several have the same name, all but the oldest get a
 * number.
 */
function named(objects: Judged[]): Adoptable[] {
  const adoptable = objects
    .filter(({ reasons }) => reasons.length === 0)
    .map((one) => ({ ...one, base: resourceName(one) }))
    .sort((a, b) => madeAt(a) - madeAt(b) || compare(a.wire.id, b.wire.id));
  const names = unique(adoptable.map(({ base }) => base));
  return adoptable
    .map(({ wire, args }, index) => ({ id: wire.id, name: names[index] as string, args }))
    .sort((a, b) => compare(a.name, b.name));
}

/** The names, each once: to all but the first of equal ones, a number is added. */
export function unique(names: string[], separator = "-"): string[] {
  const taken = new Set(names);
  const numbers = new Map<string, number>();
  return names.map((base) => {
    let number = numbers.get(base) ?? 0;
    do number += 1;
    while (number > 1 && taken.has(`${base}${separator}${number}`));
    numbers.set(base, number);
    return number === 1 ? base : `${base}${separator}${number}`;
  });
}

const madeAt = ({ wire }: Judged) => Date.parse(wire.created_at ?? "");

function resourceName({ kind, name }: Judged): string {
  const safe = slug(name);
  // The program looks up private keys by this name in a JavaScript object, which inherits names
  // such as `constructor`.
  const isTaken = safe === "" || safe in {} || device.test(safe);
  return isTaken ? slug(`${kind.noun} ${safe}`) : safe;
}

/** The names of devices on Windows: there, no file can have such a name, whatever its ending. */
const device = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/;

/** A name that files, URNs and config allow: letters, digits and `.`, `-` and `_`. */
function slug(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/^\*\./, "wildcard.")
    .replace(/[^a-z0-9._-]+/g, "-")
    .slice(0, longestName)
    .replace(/^[.-]+|[.-]+$/g, "");
}

/** Orders texts by their characters, so that the language of the machine makes no difference. */
export const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
