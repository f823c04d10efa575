import * as v from "valibot";

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URI of the object on the service. */
  uri: string;
}

/** The schema of a {@link Ref}. */
export const ref: v.GenericSchema<unknown, Ref> = v.object({ id: v.string(), uri: v.string() });

/** A string that may be unset. */
export const text = v.nullish(v.string());
/** One reference or a list of them: api.md shows one, services send a list. */
export const refs = v.nullish(v.union([ref, v.array(ref)]));
/** Whether a module is applied; null means true. */
export const enabled = v.nullish(v.boolean());

/** Refuses a list, which valibot accepts as an object. */
export const noList = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(
    v.any(),
    v.check((value) => !Array.isArray(value), "is a list, not an object"),
    schema,
  );

/** A module of an edge; null when it is not configured. */
export const edgeModule = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.nullish(noList(v.object(entries)));

/** A list of strings that may be unset. */
export const texts = v.nullish(v.array(v.string()));

/** The fields that every edge and certificate has. */
export const commonFields = {
  /** Assigned by the service, opaque. */
  id: v.pipe(v.string(), v.nonEmpty("is empty")),
  /** The URI of the object on the service. */
  uri: v.string(),
  /** RFC 3339, UTC. */
  created_at: v.pipe(
    v.string(),
    v.check((time) => !Number.isNaN(Date.parse(time)), "is not a time"),
  ),
  /** For people; at most 255 bytes of UTF-8. */
  description: text,
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata: text,
};
