import * as v from "valibot";
import type { AnswerSchema, Ref, Unset } from "./answer";
import * as answers from "./answer";
import * as inputs from "./inputs";
import {
  type AnswerOf,
  answersOf,
  type BodyOf,
  bodyOf,
  type InputsOf,
  inputsOf,
  type Shown,
  stateOf,
  type Table,
} from "./table";

/** A field that only answers have. Undefined where it is unset. */
export const answered = <const Name extends string, Value>(
  answer: Name,
  schema: AnswerSchema<Value>,
) => ({ answer, schema, read: (value: Value) => (value ?? undefined) as Exclude<Value, null> });

/** A text. `""` in a request unsets it. */
export const text = <const Name extends string>(
  wire: Name,
  input: v.GenericSchema<string> = inputs.text,
) => ({
  answer: wire,
  schema: answers.text,
  read: (value: Unset<string>) => value || null,
  wire,
  input: v.optional(input),
  write: (value: string) => value,
  whenOmitted: "",
});

/** A text that a program must give, and that every answer has. */
export const required = <const Name extends string>(wire: Name) => ({
  answer: wire,
  schema: v.string(),
  read: (value: string) => value,
  wire,
  input: inputs.text,
  write: (value: string) => value,
});

/** A list of texts. */
export const list = <const Name extends string>(wire: Name, input: v.GenericSchema<string[]>) => ({
  answer: wire,
  schema: answers.texts,
  read: (value: Unset<string[]>) => value ?? [],
  wire,
  input: v.optional(input),
  write: (value: string[]) => value,
  whenOmitted: [],
});

/** One of several texts. The service may choose where a program does not, and may add texts. */
export const choice = <const Name extends string, const Texts extends string[]>(
  wire: Name,
  ...texts: Texts
) => ({
  answer: wire,
  schema: answers.text,
  read: (value: Unset<string>) => (value ?? undefined) as Texts[number] | undefined,
  wire,
  input: v.optional(inputs.choice(...texts)),
  write: (value: string) => value,
});

/** True or false. */
export const flag = <const Name extends string>(wire: Name, otherwise: boolean) => ({
  answer: wire,
  schema: v.nullish(v.boolean()),
  read: (value: Unset<boolean>) => value ?? otherwise,
  wire,
  input: v.optional(inputs.yesOrNo),
  write: (value: boolean) => value,
});

/** The id of another resource, which a program must give: `wire` in a request. In an answer, `answer` is a reference. */
export const id = <const Wire extends string, const Answer extends string>(
  wire: Wire,
  answer: Answer,
) => ({
  answer,
  schema: answers.oneRef,
  read: (value: Unset<Ref>) => value?.id ?? "",
  wire,
  input: inputs.id,
  write: (value: string) => value,
});

/** The ids of other resources, which a program must give: `wire` in a request. In an answer, `answer` has references. */
export const ids = <const Wire extends string, const Answer extends string>(
  wire: Wire,
  answer: Answer,
) => ({
  answer,
  schema: answers.refs,
  read: (value: Unset<Ref | Ref[]>) => [value ?? []].flat().map(({ id }) => id),
  wire,
  input: inputs.someIds,
  write: (value: string[]) => value,
});

/**
 * An object inside the object, with fields of its own. A request replaces it as a whole. The casts state types that
 * TypeScript can't compute: all it knows of the fields here is that they are a table.
 */
export const part = <const Name extends string, T extends Table>(wire: Name, fields: T) => ({
  answer: wire,
  schema: v.nullish<AnswerSchema<Shown<AnswerOf<T>>>>(answers.object(answersOf(fields)) as never),
  read: (value: Unset<object>) => (value ? stateOf(fields, value) : null),
  wire,
  input: v.optional<v.GenericSchema<InputsOf<T>>>(inputs.objectOf(inputsOf(fields)) as never),
  write: (value: object) => bodyOf(fields, value) as Shown<BodyOf<T>>,
  fields,
});
