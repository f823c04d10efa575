import type { serviceFields } from "../../client/fields";
import type { StateOf } from "../../client/table";

/** What state holds of every object of the service; null is unset. */
export interface ServiceState extends StateOf<typeof serviceFields> {}

/** What state stores of the account. */
export interface AccountState {
  /** 16 hex characters: equal for all objects made or last read with the same base URL and API key. */
  accountTag: string | null;
}

/** An object that a lookup has found: its id and its state, without the properties that are unset. */
export type Found<State> = {
  /** Assigned by the service, opaque. */
  id: string;
} & { [Name in keyof State as null extends State[Name] ? never : Name]: State[Name] } & {
  [Name in keyof State as null extends State[Name] ? Name : never]?: NonNullable<State[Name]>;
};

/** An object for messages: its id and creation time alone, because its other texts may be secrets of a program. */
export function idAndTime(wire: { id: string; created_at?: unknown }): string {
  // The service's own text is not shown: `Date` also parses a time with any text in round brackets.
  const time = new Date(String(wire.created_at));
  return Number.isNaN(time.getTime()) ? wire.id : `${wire.id} (created ${time.toISOString()})`;
}
