import type { Problem } from "./kind";
import { isObject } from "./properties";
import { pathTo, quoted } from "./shape";

/**
 * What has ids with a prefix, as the emulator gives them. An id is opaque (api.md §2): its prefix makes a message
 * clearer, and decides nothing.
 */
const owners = {
  edgtls_: "a TLS edge",
  cert_: "a TLS certificate",
  tn_: "a tunnel",
  ts_: "a tunnel session",
  ep_: "an endpoint",
  bkdtg_: "a backend",
};

/** What the ids in a property are of. */
const wanted = new Map([
  ["backendId", "a backend"],
  ["ipPolicyIds", "an IP policy"],
  ["certificateAuthorityIds", "a certificate authority"],
]);

/** What an id is of; undefined if it is not known to be of another kind than this one. */
const otherOwner = (id: string, own: string) =>
  Object.entries(owners).find(([prefix, owner]) => id.startsWith(prefix) && owner !== own)?.[1];

/**
 * Says that no object of a kind has an id, and which kind has such ids.
 *
 * @param shown The id for people.
 */
export function noneWithId(title: string, id: string, shown = id): string {
  const owner = otherOwner(id, `a ${title}`);
  return `no ${title} has the id ${shown}${owner ? `, which is the id of ${owner}` : ""}`;
}

/** What a plan warns of: the ids in the inputs that are of another kind. */
export function misplacedIds(value: unknown, path = "", own?: string): Problem[] {
  if (own && typeof value === "string") {
    const owner = otherOwner(value, own);
    const reason = `is the id of ${owner}: give the id of ${own}`;
    return owner ? [{ path, reason, value: quoted(value) }] : [];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    misplacedIds(part, pathTo(value, path, name), wanted.get(name) ?? own),
  );
}
