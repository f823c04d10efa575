import * as v from "valibot";
import * as answers from "./answer";
import { textUpTo } from "./inputs";
import { answered, text } from "./rows";
import { type AnswerOf, answersOf, type Table } from "./table";

/** The fields of every edge and certificate, besides the id. */
export const serviceFields = {
  /** The URI of the object on the service. */
  uri: answered("uri", v.string()),
  /** When the object was created, RFC 3339 in UTC. */
  createdAt: answered("created_at", v.string()),
  /**
   * A description for people. At most 255 bytes of UTF-8. Updates in place. An empty text is the
   * same as none.
   */
  description: text("description", textUpTo(255)),
  /**
   * Any text for machines. At most 4096 bytes of UTF-8. Updates in place. An empty text is the same
   * as none. Lookups can filter by a JSON object of texts, such as `{"owner":"web"}`, which `TLSSite`
   * writes.
   */
  metadata: text("metadata", textUpTo(4096, "a string, such as JSON")),
};

/** What every object of the service has. */
export interface Item {
  /** Assigned by the service, opaque. */
  id: string;
}

/** An edge or a certificate, with the fields that both have. */
export interface ServiceObject extends Item, AnswerOf<typeof serviceFields> {}

/** The schema of an answer with an object. The id is checked first: messages name it. */
export const itemOf = <T extends Table>(table: T) =>
  answers.object({ id: answers.id, ...answersOf(table) });
