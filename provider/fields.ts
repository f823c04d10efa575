import * as v from "valibot";

/** The fields that every resource shares, each with its documented limit (api.md §8). */
const atMostBytes = (limit: number) =>
  v.maxBytes<string, number, string>(limit, `must be at most ${limit} bytes of UTF-8`);

export const description = v.optional(v.pipe(v.string(), atMostBytes(255)));
export const metadata = v.optional(v.pipe(v.string(), atMostBytes(4096)));
/** Whether the module is applied to traffic. Default true. */
export const enabled = v.optional(v.boolean());
/** An identifier of the service, opaque. */
export const id = v.pipe(v.string(), v.nonEmpty("must not be empty"));
