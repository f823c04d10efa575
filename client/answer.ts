import {
  type BaseIssue,
  type GenericSchema,
  type InferOutput,
  type ObjectEntries,
  type ObjectSchema,
  safeParse,
} from "valibot";

/** The schema of an answer: its known fields. Other fields are ignored (api.md §9). */
export type AnswerSchema = ObjectSchema<ObjectEntries, undefined>;

/** The schema of an answer that is read as a `Wire`. */
export type SchemaOf<Wire> = AnswerSchema & GenericSchema<unknown, Wire>;

/** An answer that can't be used. Never contains the invalid value, which may be a secret. */
export interface Unusable {
  /** The path of the invalid field, such as `hostports[1]`; empty when no single field is wrong. */
  field: string;
  /** What is wrong with the field. */
  reason: string;
  /** The valid known fields. */
  usable: Record<string, unknown>;
}

/** Checks an answer. Returns its known fields, or why it can't be used. */
export function readAnswer<Schema extends AnswerSchema>(
  schema: Schema,
  value: unknown,
): { answer: InferOutput<Schema> } | { unusable: Unusable } {
  // valibot accepts a list as an object.
  if (Array.isArray(value)) return { unusable: { field: "", reason: "is a list", usable: {} } };
  const result = safeParse(schema, value, { abortEarly: true });
  if (result.success) return { answer: result.output };
  const [issue] = result.issues;
  return {
    unusable: { field: pathOf(issue), reason: reasonOf(issue), usable: usableOf(schema, value) },
  };
}

function reasonOf(issue: BaseIssue<unknown>): string {
  if (issue.kind === "validation") return issue.message;
  return issue.input === undefined
    ? "is missing"
    : `is ${typeOf(issue.input)}, not ${expectedType(issue)}`;
}

function usableOf(schema: AnswerSchema, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(schema.entries).flatMap(([name, entry]) => {
      const field = (value as Record<string, unknown>)[name];
      const { success, output } = safeParse(entry, field, { abortEarly: true });
      return success && output !== undefined ? [[name, output]] : [];
    }),
  );
}

/** The path of the field that an issue is about, such as `hostports[1]` or `backend.enabled`. */
export function pathOf(issue: BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce<string>((path, { key }) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return path ? `${path}.${key}` : String(key);
  }, "");
}

/** The type of a value, in words. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The expected type in words, without null and undefined. */
function expectedType({ expected }: BaseIssue<unknown>): string {
  return (expected ?? "")
    .replace(/[()]| \| null| \| undefined/g, "")
    .replace(/^[a-z]/, "a $&")
    .replace("Object", "an object")
    .replace("Array", "a list")
    .replace(" | ", " or ");
}
