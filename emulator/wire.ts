import { randomInt } from "node:crypto";

/** A value that may be null or missing in an answer. */
export type Unset<T> = T | null | undefined;

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** The URI of the object on the service. */
  uri: string;
}

/** The fields of every object that the service has created. */
export interface Made extends Ref {
  /** RFC 3339, UTC. */
  created_at: string;
  /** For people; at most 255 bytes of UTF-8. */
  description?: Unset<string>;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: Unset<string>;
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A new identifier: a type prefix, an underscore and 27 random letters and digits. */
export function newId(prefix: string): string {
  const suffix = Array.from({ length: 27 }, () => alphabet[randomInt(alphabet.length)]);
  return `${prefix}_${suffix.join("")}`;
}

/** A time as the service writes it: RFC 3339, UTC, whole seconds. */
export function timestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
