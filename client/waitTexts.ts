import type { Account } from "./account";
import type { Outcome } from "./outcome";
import type { ShowTurn, ShowWait } from "./pace";
import type { Request } from "./transport";

// The cause stands first in each text: a terminal of 100 columns shows about 30 characters of it.

/** Shows the wait until a request may start. */
export const showTurn =
  (account: Account): ShowTurn =>
  (seconds, isRefused) => {
    const limit = isRefused
      ? "(429): the account's limit of requests is used up"
      : `(own limit): ${account.pace.requestsPerMinute} requests a minute by ${account.nameOf("requestsPerMinute")}`;
    showWait(account, seconds, `waits ${seconds} s ${limit}`);
  };

/** Shows the pause before another try, and its cause. The path is one that may be shown. */
export function showRetry(
  account: Account,
  { method, isItem, path }: Pick<Request, "method" | "isItem" | "path">,
  outcome: Outcome,
  retries: number,
): ShowWait {
  const cause = outcome.code ? `no answer (${outcome.code})` : outcome.status;
  const name = isItem ? path.slice(path.lastIndexOf("/") + 1) : path.split("?", 1)[0];
  const more = `(${retries} of ${account.maxRetries}): ${method} ${name}`;
  return (seconds) => showWait(account, seconds, `${cause}, tries again in ${seconds} s ${more}`);
}

const showWait = (account: Account, seconds: number | undefined, text: string) =>
  account.options.show?.("status", seconds === undefined ? undefined : text);
