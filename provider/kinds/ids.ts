import type { Problem } from "./kind";
import { isObject } from "./properties";
import { quoted } from "./shape";

/** What has ids with a prefix, as the documents write them. An id is opaque: its prefix is for messages alone. */
const owners = {
  edgtls_: "a TLS edge",
  cert_: "a TLS certificate",
  tn_: "a tunnel",
  ts_: "a tunnel session",
  ep_: "an endpoint",
  bkdtg_: "a backend",
  ipp_: "an IP policy",
  ca_: "a certificate authority",
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

/** Says that no object of a kind has an id, which is `shown` to people, and what is wrong with it. */
export function noneWithId(title: string, id: string, shown = id): string {
  const owner = otherOwner(id, `a ${title}`);
  const fault = /\s/.test(id) ? "has a space or a line break" : owner && `is the id of ${owner}`;
  return `no ${title} has the id ${shown}${fault ? `, which ${fault}` : ""}`;
}

/** What a plan warns of: the ids in the inputs that are of another kind. */
export function misplacedIds(value: unknown, path: string[] = []): Problem[] {
  if (isObject(value)) {
    const below = (name: string) => (Array.isArray(value) ? path : [...path, name]);
    return Object.entries(value).flatMap(([name, part]) => misplacedIds(part, below(name)));
  }
  const own = wanted.get(String(path.at(-1)));
  const owner = own && otherOwner(String(value), own);
  const reason = `is the id of ${owner}: give the id of ${own}`;
  return owner ? [{ path: path.join("."), reason, value: quoted(value) }] : [];
}
