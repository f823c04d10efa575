import * as v from "valibot";
import { unseen } from "./plain";

/** The schema of an answer that is read as a `Wire`. */
export type AnswerSchema<Wire = unknown> = v.GenericSchema<unknown, Wire>;

/** A value that may be null or missing in an answer. */
export type Unset<T> = T | null | undefined;

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URI of the object on the service. */
  uri: string;
}

/** Properties that may be undefined may be missing. Keeps their comments, as valibot's own types do not. */
export type Optional<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: T[K];
};

/** What an object with these fields holds. */
export type FieldsOf<E extends v.ObjectEntries> = Optional<{
  [Name in keyof E]: v.InferOutput<E[Name]>;
}>;

/** The schema of an object in an answer: its known fields. Others are ignored (api.md §9). */
export const object = <Entries extends v.ObjectEntries>(
  entries: Entries,
): AnswerSchema<FieldsOf<Entries>> => noList(v.object(entries)) as never;

/** Refuses a list, which valibot accepts as an object. */
export const noList = <Wire>(schema: AnswerSchema<Wire>): AnswerSchema<Wire> =>
  v.pipe(
    v.any(),
    v.check((value) => !Array.isArray(value), "is a list"),
    schema,
  );

/** A string that may be unset. */
export const text = v.nullish(v.string());
/** A list of strings that may be unset. */
export const texts = v.nullish(v.array(v.string()));
const ref: AnswerSchema<Ref> = object({ id: v.string(), uri: v.string() });
/** A reference that may be unset. */
export const oneRef = v.nullish(ref);
/** One reference or a list of them: api.md shows one, services send a list. */
export const refs = v.nullish(v.union([ref, v.array(ref)]));

/** The id of an object, which messages name. */
export const id = v.pipe(
  v.string(),
  v.nonEmpty("is empty"),
  v.maxLength(1000, "is too long"),
  v.check((text) => text.search(unseen) < 0, "has control or invisible characters"),
);

/** Why an answer can't be used. Never contains the invalid value, which may be a secret. */
export interface Unusable {
  /** The path of the invalid field, such as `hostports[1]`; empty when no single field is wrong. */
  field: string;
  /** What is wrong with the field. */
  reason: string;
  /** The id of the object, unless the id itself is wrong. */
  objectId?: string;
}

/** Checks an answer. Returns its known fields, or why it can't be used. */
export function readAnswer<Wire>(
  schema: AnswerSchema<Wire>,
  value: unknown,
): { answer: Wire } | { unusable: Unusable } {
  const { success, output, issues } = v.safeParse(schema, value, { abortEarly: true });
  if (success) return { answer: output };
  const [issue] = issues;
  const field = pathOf(issue);
  const reason = issue.kind === "validation" ? issue.message : `is ${typeOf(issue.input)}`;
  if (field === "" || field === "id") return { unusable: { field, reason } };
  // The id is checked first: when another field is wrong, it is right.
  return { unusable: { field, reason, objectId: (value as { id: string }).id } };
}

/** The path of the field that an issue is about, such as `hostports[1]` or `backend.enabled`. */
export function pathOf(issue: v.BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce<string>((path, { key }) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return path ? `${path}.${key}` : String(key);
  }, "");
}

/** The type of a value, in words. */
export function typeOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
