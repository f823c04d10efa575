/** What may be null in an answer, or left out of it. */
export type Unset<T> = T | null | undefined;

/** A reference to another resource of the service (api.md §2.1). */
export interface Ref {
  /** Assigned by the service, opaque. */
  id: string;
  /** Where the service serves it. */
  uri: string;
}

/** What the service tells of anything that it has made. */
export interface Made extends Ref {
  /** RFC 3339, UTC. */
  created_at: string;
  /** For people; at most 255 bytes of UTF-8. */
  description?: Unset<string>;
  /** For machines; at most 4096 bytes of UTF-8. */
  metadata?: Unset<string>;
}
