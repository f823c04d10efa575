import type { Client } from "../client/client";
import { tellOnce } from "./connection";
import { perAccount } from "./lifecycle";

/** What this process has looked for in an account, and what came of it. */
const looks = perAccount(() => ({ underWay: 0, found: 0, gone: 0 }));

/**
 * Counts what is looked for. With the key of another account of the same service everything is
 * gone, as it would be if it were deleted: so a person is asked about the key once two things or
 * more were looked for, none was found, and no other is being looked for.
 *
 * @param work Gives undefined for what is gone.
 */
export async function counted<T>(
  client: Client,
  work: Promise<T | undefined>,
): Promise<T | undefined> {
  const account = looks(client);
  account.underWay += 1;
  try {
    const found = await work;
    account[found === undefined ? "gone" : "found"] += 1;
    return found;
  } finally {
    account.underWay -= 1;
    const { underWay, found, gone } = account;
    if (underWay === 0 && found === 0 && gone >= 2) {
      tellOnce(
        `warning: none of the resources was found at ${client.baseUrl.host}. Is this the API ` +
          "key of the right account? With another account's key all of them look deleted, and " +
          "the next `pulumi up` would make it again",
      );
    }
  }
}
