import type { Client } from "../client/client";
import type { Attempted } from "../client/errors";
import { listOf, pause } from "./creates/lists";
import type { Lifecycle, Properties } from "./lifecycle";

/** Until what age a service may not find an object everywhere. */
const youngMs = 120_000;
/** The seconds before each try: together a minute. */
const pauses = [0, 1, 2, 4, 8, 15, 15, 15];

/**
 * Whether a service may not yet find an object (contract C39): this run has created it, or it is
 * younger than two minutes by the service's clock.
 *
 * @param state The stored state, if there is one.
 */
export function isYoung(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  state: Properties | undefined,
): boolean {
  const ageMs = Date.now() + client.clockSkewMs - Date.parse(String(state?.createdAt));
  return ageMs < youngMs || listOf(client, lifecycle).hasMade(id);
}

/**
 * Does work on an object, and again for up to a minute while the object is young and is not found.
 *
 * @param ifFound Gives the result of the work, or undefined when the object is not found.
 * @throws Error when a young object is still not found.
 */
export async function untilFound<T>(
  lifecycle: Lifecycle,
  client: Client,
  id: string,
  state: Properties | undefined,
  work: () => Promise<T>,
  ifFound: (work: Promise<T>) => Promise<T | undefined>,
): Promise<T | undefined> {
  // Shorter when the deadline is short, as when a create looks for its object.
  const secondMs = Math.min(1000, client.deadlineMs / 120);
  for (const seconds of pauses) {
    if (seconds > 0) await pause(seconds * secondMs);
    let mayBeDone = false;
    const tried = work().catch((error: Partial<Attempted>) => {
      mayBeDone = error.ambiguous === true;
      throw error;
    });
    const found = await ifFound(tried);
    // An earlier try of a delete, whose answer was lost, has a 404 for a success.
    if (found !== undefined || mayBeDone || !isYoung(lifecycle, client, id, state)) return found;
  }
  throw new Error(
    `the service does not find the ${lifecycle.title} ${id}, which is new: it was asked for ` +
      `${pauses.length} times. A service may find a new object late, so the object stays in the ` +
      "state. If it was deleted, run the command again two minutes after its creation",
  );
}
