import * as v from "valibot";
import type { Client } from "./client";

/**
 * Reads the root resource (api.md §4.5), whose fields are not documented: an answer shows that the
 * service is there and takes the key.
 */
export async function readRoot(client: Client): Promise<void> {
  await client.get("/", v.object({}), { isItem: false });
}
