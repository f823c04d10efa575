import type * as v from "valibot";
import type { FieldsOf, Optional } from "./answer";

/** A row of a resource's table: a field that answers have. Its doc comment is that of each of its forms. */
export interface Field {
  /** Its name in an answer, and what an answer may have there. */
  readonly answer: string;
  readonly schema: v.GenericSchema;
  /** Its value in state. Null is unset. */
  read(answer: never): unknown;
}

/** A field that a program may give, too. */
export interface InputField extends Field {
  /** What a program may give. */
  readonly input: v.GenericSchema;
  /** Its name in a request, and its value there. */
  readonly wire: string;
  write(input: never): unknown;
  /** What a request sends where a program gives nothing. Default: the field stays as it is. */
  readonly whenOmitted?: unknown;
}

/** The fields of an object or of a part of one, by the names that programs use. */
export type Table = Readonly<Record<string, Field>>;

/** The rows of a table that a program may give. */
type InputRows<T extends Table> = {
  [K in keyof T as T[K] extends InputField ? K : never]: Extract<T[K], InputField>;
};

/** What a program may give, all known. */
export type InputsOf<T extends Table> = FieldsOf<InputSchemas<T>>;
type InputSchemas<T extends Table> = { [K in keyof InputRows<T>]: InputRows<T>[K]["input"] };

/** What state has. */
export type StateOf<T extends Table> = Optional<{ [K in keyof T]: ReturnType<T[K]["read"]> }>;

/** The body of a request. */
export type BodyOf<T extends Table> = {
  [K in keyof InputRows<T> as InputRows<T>[K]["wire"]]?: ReturnType<InputRows<T>[K]["write"]>;
};

/** What an answer has. */
export type AnswerOf<T extends Table> = FieldsOf<AnswerSchemas<T>>;
type AnswerSchemas<T extends Table> = { [K in keyof T as T[K]["answer"]]: T[K]["schema"] };

/** The same type, which editors show by its properties. */
export type Shown<T> = T extends infer Same ? { [K in keyof Same]: Same[K] } : never;

const inputRows = (table: Table) =>
  Object.entries(table).filter((row): row is [string, InputField] => "input" in row[1]);

/** The schemas of what a program may give. */
export function inputsOf<T extends Table>(table: T): InputSchemas<T> {
  return Object.fromEntries(inputRows(table).map(([name, { input }]) => [name, input])) as never;
}

/** The schemas of what answers have. */
export function answersOf<T extends Table>(table: T): AnswerSchemas<T> {
  const rows = Object.values(table).map(({ answer, schema }) => [answer, schema]);
  return Object.fromEntries(rows);
}

/** What a request sends of some properties. */
export function bodyOf<T extends Table>(table: T, properties: object): BodyOf<T> {
  const given = properties as Record<string, unknown>;
  const parts = inputRows(table)
    .filter(([name]) => given[name] != null)
    .map(([name, { wire, write }]) => [wire, write(given[name] as never)]);
  return Object.fromEntries(parts);
}

/** What state has of an answer. */
export function stateOf<T extends Table>(table: T, answer: object): StateOf<T> {
  const found = answer as Record<string, unknown>;
  const parts = Object.entries(table)
    .map(([name, row]) => [name, row.read(found[row.answer] as never)])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(parts);
}

/** What the inputs of a program ask for, also where they are not set. */
export function wantedOf(table: Table, inputs: Record<string, unknown>): Record<string, unknown> {
  const parts = inputRows(table).map(([name, row]) => [name, inputs[name] ?? row.whenOmitted]);
  return Object.fromEntries(parts);
}

/** The names of what state has: whether each always has a value, or may be null. */
export function stateNamesOf<T extends Table>(table: T): StateNamesOf<T> {
  // A row reads what is missing in an answer as null, or as the value that stands for it.
  const formOf = ({ read }: Field) => (read(undefined as never) === null ? "nullable" : "always");
  const names = Object.entries(table).map(([name, row]) => [name, formOf(row)]);
  return Object.fromEntries(names);
}
type StateNamesOf<T extends Table> = {
  readonly [K in keyof T]: null extends ReturnType<T[K]["read"]> ? "nullable" : "always";
};
