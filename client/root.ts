import type { Client } from "./client";
import { object } from "./fields";

/**
 * Reads the root resource (api.md §4.5), whose fields are not documented: an answer shows that the
 * service is there and takes the key.
 */
export async function readRoot(client: Client): Promise<void> {
  await client.get("/", object({}), { isItem: false });
}
