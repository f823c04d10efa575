import type { Client } from "../client/client";
import type { Properties } from "./lifecycle";

/** A name by which people know an object, which an import may give in place of the id. */
export interface ImportName {
  /** The name that a text is, in the form that states have; undefined for any other text. */
  nameIn(text: string): string | undefined;
  /** The names of an object in state. */
  namesOf(state: Properties): unknown[];
  /** Finds the object. Its error lists what there is. */
  find(client: () => Client, name: string): Promise<{ id: string }>;
}

/**
 * The id of the object to import. A text that is no name is an id. Makes a request for a name alone.
 *
 * @throws LookupError when the name is that of no object or of several.
 */
export async function idToImport(
  { nameIn, find }: ImportName,
  client: Client,
  text: string,
): Promise<string> {
  const name = nameIn(text);
  return name === undefined ? text : (await find(() => client, name)).id;
}

/** Whether a text, an id or a name, names the object in a state. */
export function isNamed(
  { nameIn, namesOf }: ImportName,
  id: string,
  state: Properties,
  text: unknown,
): boolean {
  if (text === id) return true;
  const name = typeof text === "string" ? nameIn(text) : undefined;
  return name !== undefined && namesOf(state).includes(name);
}

/** What to do about two resources of a program that have one object. */
export const removeImporter =
  "remove the resource that imports it. If the stack has both already, take that one out of the state first, " +
  "with `pulumi state delete`, because its removal deletes the object";

/** The problem of two resources of a program that have one object. */
export const sharedObject = (one: string, other: string, id: string): string =>
  `the resources "${one}" and "${other}" have the same object, ${id}, which only one resource can manage: ` +
  removeImporter;
