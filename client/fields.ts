import * as v from "valibot";
import type { AnswerSchema } from "./answer";
import { unseen } from "./plain";

/** A value that may be null or missing in an answer. */
export type Unset<T> = T | null | undefined;

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URI of the object on the service. */
  uri: string;
}

/** What an answer with these fields holds. valibot's own type loses the comments of the fields. */
export type FieldsOf<E extends v.ObjectEntries> = {
  [Name in keyof E as undefined extends v.InferOutput<E[Name]> ? never : Name]: v.InferOutput<
    E[Name]
  >;
} & {
  [Name in keyof E as undefined extends v.InferOutput<E[Name]> ? Name : never]?: v.InferOutput<
    E[Name]
  >;
};

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

/** The fields of every edge and certificate. */
export const serviceObject = {
  /** Assigned by the service, opaque. */
  id,
  /** The URI of the object on the service. */
  uri: v.string(),
  /** When the service created the object, RFC 3339 in UTC. */
  created_at: v.string(),
  /** For people; at most 255 bytes of UTF-8. */
  description: text,
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata: text,
};

/** An edge or a certificate, with the fields that both have. */
export interface ServiceObject extends FieldsOf<typeof serviceObject> {}
