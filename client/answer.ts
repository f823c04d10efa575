import { type BaseIssue, type GenericSchema, safeParse } from "valibot";

/** The schema of an answer that is read as a `Wire`. */
export type AnswerSchema<Wire = unknown> = GenericSchema<unknown, Wire>;

/** Why an answer can't be used. Never contains the invalid value, which may be a secret. */
export interface Unusable {
  /** The path of the invalid field, such as `hostports[1]`; empty when no single field is wrong. */
  field: string;
  /** What is wrong with the field. */
  reason: string;
}

/** Checks an answer. Returns its known fields, or why it can't be used. */
export function readAnswer<Wire>(
  schema: AnswerSchema<Wire>,
  value: unknown,
): { answer: Wire } | { unusable: Unusable } {
  const { success, output, issues } = safeParse(schema, value, { abortEarly: true });
  if (success) return { answer: output };
  const [issue] = issues;
  const reason = issue.kind === "validation" ? issue.message : `is ${typeOf(issue.input)}`;
  return { unusable: { field: pathOf(issue), reason } };
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
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
