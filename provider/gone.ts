import type { Client } from "../client/client";
import { perAccount } from "./lifecycle";
import { once, warn } from "./messages";

/** How many reads and deletes are in flight, found their object, or did not find it. */
const countsOf = perAccount(() => ({ inFlight: 0, found: 0, gone: 0 }));

/**
 * Counts the result of a read or a delete. With the key of another account, every object looks
 * deleted. So this function warns about the key when at least two objects were gone, none was
 * found, and no read or delete is in flight.
 *
 * @param work Resolves to undefined when the object is gone.
 */
export async function warnIfAllGone<T>(
  client: Client,
  work: Promise<T | undefined>,
): Promise<T | undefined> {
  const counts = countsOf(client);
  counts.inFlight += 1;
  try {
    const found = await work;
    counts[found === undefined ? "gone" : "found"] += 1;
    return found;
  } finally {
    counts.inFlight -= 1;
    const { inFlight, found, gone } = counts;
    if (inFlight === 0 && found === 0 && gone >= 2) {
      once(
        warn,
        `none of the resources was found at ${client.baseUrl.host}. Check that the ` +
          "API key belongs to the right account: with the key of another account all resources " +
          "look deleted, and the next `pulumi up` creates them again",
      );
    }
  }
}
