import type { Ref } from "../../client/fields";
import { defined, isObject, type Properties } from "../lifecycle";

/** A field of a module: its name in a request, and how it is read from an answer. */
export interface ModuleField {
  sent: string;
  read(answered: Properties): unknown;
}

/** A module of an edge: its name on the wire, and its fields by their names in a program. */
export interface Module {
  wire: string;
  fields: Record<string, ModuleField>;
  /** What happens to an edge that loses the module, if a plan warns of it: "traffic ends". */
  loss?: string;
}

/** A text with the same name in requests and answers. */
export const textField = (name: string): ModuleField => ({
  sent: name,
  read: (answered) => answered[name],
});

/** An id in requests, a reference in answers (api.md §2.1). */
export const idField = (sent: string, reference: string): ModuleField => ({
  sent,
  read: (answered) => idsIn(answered[reference])[0] ?? "",
});

/** A list of ids in requests; in answers a reference or a list of them (api.md §2.1). */
export const idsField = (sent: string, references: string): ModuleField => ({
  sent,
  read: (answered) => idsIn(answered[references]),
});

const idsIn = (refs: unknown) => [(refs ?? []) as Ref | Ref[]].flat().map(({ id }) => id);

/** A module in the body of a create or an update. Undefined fields are omitted from the JSON. */
export function bodyOf({ fields }: Module, given: Properties): Properties {
  const sent = Object.entries(fields).map(([field, { sent }]) => [sent, given[field]]);
  return { enabled: given.enabled, ...Object.fromEntries(sent) };
}

/** A module in state; null when it is not configured. */
export function stateOf({ fields }: Module, answered: unknown): Properties | null {
  if (!isObject(answered)) return null;
  const read = Object.entries(fields).map(([field, { read }]) => [field, read(answered)]);
  return defined({ enabled: answered.enabled ?? true, ...Object.fromEntries(read) });
}
