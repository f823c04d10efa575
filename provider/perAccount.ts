import type { Client } from "../client/client";

/** What {@link perAccount} keeps. */
const memories: Map<string, unknown>[] = [];

/** Forgets what this process knows of all accounts: a run begins. */
export function forgetAccounts(): void {
  for (const memory of memories) memory.clear();
}

/** One value for each account in this run. All clients of the account share it. */
export function perAccount<T>(make: () => T): (client: Client) => T {
  const all = new Map<string, T>();
  memories.push(all);
  return ({ fingerprint }) => {
    const own = all.get(fingerprint) ?? make();
    all.set(fingerprint, own);
    return own;
  };
}
