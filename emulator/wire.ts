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
