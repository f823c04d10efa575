import type { ServiceObject } from "../../client/fields";
import type { NamesOf } from "../values/properties";

/** What state holds of every object of the service; null is unset. */
export interface ServiceState {
  /** The URI of the object on the service. */
  uri: string;
  /** When the object was created, RFC 3339 in UTC. */
  createdAt: string;
  /** The description for people; may be unset. */
  description: string | null;
  /** The text for machines; may be unset. */
  metadata: string | null;
}

/** What state stores of the account. */
export interface AccountState {
  /** 16 hex characters: equal for all objects made or last read with the same base URL and API key. */
  accountTag: string | null;
}

/** The names of {@link ServiceState}. */
export const serviceNames: NamesOf<ServiceState> = {
  uri: "always",
  createdAt: "always",
  description: "nullable",
  metadata: "nullable",
};

/** What an answer says of every object. */
export function serviceState(wire: ServiceObject): ServiceState {
  return {
    uri: wire.uri,
    createdAt: wire.created_at,
    description: wire.description || null,
    metadata: wire.metadata || null,
  };
}

/** An object that a lookup has found: its id and its state, without the properties that are unset. */
export type Found<State> = {
  /** Assigned by the service, opaque. */
  id: string;
} & { [Name in keyof State as null extends State[Name] ? never : Name]: State[Name] } & {
  [Name in keyof State as null extends State[Name] ? Name : never]?: NonNullable<State[Name]>;
};

/** An object by its id and creation time. Other texts may be secrets of a program. */
export function idAndTime(wire: { id: string; created_at?: unknown }): string {
  // Not as the service writes it: text in brackets is no part of a time.
  const time = new Date(String(wire.created_at));
  return Number.isNaN(time.getTime()) ? wire.id : `${wire.id} (created ${time.toISOString()})`;
}
