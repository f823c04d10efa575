import * as v from "valibot";
import type { SchemaOf } from "./answer";

/** A value that may be null or missing in an answer. */
export type Unset<T> = T | null | undefined;

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URI of the object on the service. */
  uri: string;
}

/** The fields of every edge and certificate. */
export interface ServiceObject extends Ref {
  /** When the service created the object, RFC 3339 in UTC. */
  created_at: string;
  /** For people; at most 255 bytes of UTF-8. */
  description?: Unset<string>;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: Unset<string>;
}

/** A schema for each field of a type, and for no other. */
export type EntriesOf<Wire> = { [Field in keyof Wire]-?: v.GenericSchema<unknown, Wire[Field]> };

/** The schema of an answer. */
export const answer = <Wire>(entries: EntriesOf<Wire>) =>
  v.object(entries as unknown as v.ObjectEntries) as unknown as SchemaOf<Wire>;

/** The schema of an object in an answer; the object may be unset. */
export const part = <Wire>(entries: EntriesOf<Wire>) => v.nullish(noList(answer(entries)));

/** Refuses a list, which valibot accepts as an object. */
export const noList = <Wire>(schema: v.GenericSchema<unknown, Wire>) =>
  v.pipe(
    v.any(),
    v.check((value) => !Array.isArray(value), "is a list, not an object"),
    schema,
  );

/** The schema of a {@link Ref}. */
export const ref = answer<Ref>({ id: v.string(), uri: v.string() });
/** A string that may be unset. */
export const text = v.nullish(v.string());
/** A list of strings that may be unset. */
export const texts = v.nullish(v.array(v.string()));
/** One reference or a list of them: api.md shows one, services send a list. */
export const refs = v.nullish(v.union([ref, v.array(ref)]));
/** Whether a module is applied; null means true. */
export const enabled = v.nullish(v.boolean());

/** The schemas of the fields that every edge and certificate has. */
export const serviceObject: EntriesOf<ServiceObject> = {
  id: v.pipe(v.string(), v.nonEmpty("is empty"), v.maxLength(1000, "is too long")),
  uri: v.string(),
  created_at: v.pipe(
    v.string(),
    v.check((time) => !Number.isNaN(Date.parse(time)), "is not a time"),
  ),
  description: text,
  metadata: text,
};
