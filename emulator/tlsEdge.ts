import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import { labels, type Resource, readBody, strictObject, withoutUnset } from "./requests";
import type { Collection } from "./store";
import { type Made, newId, type Ref, type Unset } from "./wire";

/** A module of an edge: whether it is applied to traffic, and its fields. */
type Module<Fields> = Unset<{ enabled?: Unset<boolean> } & Fields>;

/** A TLS edge (api.md §2.1). */
export interface TLSEdgeWire extends Made {
  /** The hostports that the edge serves, each a host and a port. */
  hostports?: Unset<string[]>;
  /** The backend behind the edge. */
  backend?: Module<{ backend?: Unset<Ref> }>;
  /** Who may connect, by source address. */
  ip_restriction?: Module<{ ip_policies?: Unset<Ref | Ref[]> }>;
  /** Which authorities must sign the client certificates. */
  mutual_tls?: Module<{ certificate_authorities?: Unset<Ref | Ref[]> }>;
  /** Where TLS ends, and the lowest TLS version. */
  tls_termination?: Module<{ terminate_at?: Unset<string>; min_version?: Unset<string> }>;
}

const enabled = v.optional(v.boolean(), true);
const id = v.pipe(v.string(), v.nonEmpty());
const ids = v.optional(v.array(id), []);

const mutation = strictObject({
  ...labels,
  hostports: v.optional(v.array(v.string())),
  backend: v.optional(strictObject({ enabled, backend_id: v.optional(id) })),
  ip_restriction: v.optional(strictObject({ enabled, ip_policy_ids: ids })),
  mutual_tls: v.optional(strictObject({ enabled, certificate_authority_ids: ids })),
  tls_termination: v.optional(
    strictObject({
      enabled,
      terminate_at: v.nullish(v.picklist(["edge", "upstream"])),
      min_version: v.nullish(v.picklist(["1.0", "1.1", "1.2", "1.3"])),
    }),
  ),
});
type Mutation = v.InferOutput<typeof mutation>;

/** TLS edges (api.md §4.1). */
export const tlsEdges: Resource<TLSEdgeWire> = {
  name: "tls_edges",
  path: "/edges/tls",
  exclusive: ({ hostports }) => (hostports ?? []).map((one) => one.toLowerCase()),
  inList: withoutUnset,
  write: {
    create(c, edges) {
      const body = readBody(c, mutation);
      const blank = {
        ...edges.ref(newId("edgtls")),
        created_at: edges.service.now(),
        description: "",
        metadata: "",
        hostports: [],
        backend: null,
        ip_restriction: null,
        mutual_tls: null,
        tls_termination: null,
      };
      return edges.set(applied(edges, blank, body));
    },
    update(c, edges, id) {
      const body = readBody(c, mutation);
      return edges.set(applied(edges, edges.find(id), body));
    },
  },
};

/** Applies a body to an edge. Refuses a result that is not valid. */
function applied(edges: Collection<TLSEdgeWire>, edge: TLSEdgeWire, body: Mutation): TLSEdgeWire {
  const { backend, ip_restriction, mutual_tls, tls_termination, ...scalars } = body;
  if (body.hostports) refuseHostports(edges, edge.id, body.hostports);
  const next = { ...edge, ...scalars };
  const refs = (ids: string[], path: string) => ids.map((id) => edges.ref(id, path));
  if (backend) {
    const [ref = null] = refs(backend.backend_id ? [backend.backend_id] : [], "/backends");
    next.backend = { enabled: backend.enabled, backend: ref };
  }
  if (ip_restriction) {
    const ip_policies = refs(ip_restriction.ip_policy_ids, "/ip_policies");
    next.ip_restriction = { enabled: ip_restriction.enabled, ip_policies };
  }
  if (mutual_tls) {
    const ids = mutual_tls.certificate_authority_ids;
    const certificate_authorities = refs(ids, "/certificate_authorities");
    next.mutual_tls = { enabled: mutual_tls.enabled, certificate_authorities };
  }
  if (tls_termination) next.tls_termination = terminated(tls_termination);
  if (next.mutual_tls?.enabled && next.tls_termination?.terminate_at === "upstream") {
    throw new Refusal(
      reasons.mutualTLSUpstream,
      "mutual_tls needs tls_termination.terminate_at to be edge: upstream passes TLS through.",
    );
  }
  return next;
}

function terminated(termination: NonNullable<Mutation["tls_termination"]>) {
  const { enabled, terminate_at, min_version } = termination;
  if (terminate_at !== "upstream") {
    return { enabled, terminate_at: terminate_at ?? "edge", min_version: min_version ?? "1.2" };
  }
  if (!min_version) return { enabled, terminate_at, min_version: null };
  throw new Refusal(
    reasons.minVersionUpstream,
    "tls_termination.min_version must be null when terminate_at is upstream.",
  );
}

function refuseHostports(edges: Collection<TLSEdgeWire>, id: string, hostports: string[]): void {
  const given = new Set<string>();
  for (const hostport of hostports) {
    const key = hostport.toLowerCase();
    const shown = `The hostport ${JSON.stringify(hostport.slice(0, 300))}`;
    if (!isHostport(key)) {
      throw new Refusal(reasons.hostportMalformed, `${shown} is not host:port.`);
    }
    const holder = edges.holderOf(key, id);
    if (given.has(key)) throw new Refusal(reasons.hostportRepeated, `${shown} is given twice.`);
    if (holder) throw new Refusal(reasons.hostportTaken, `${shown} is served by ${holder}.`);
    given.add(key);
  }
}

/** Whether a text is a DNS name or a wildcard, a colon, and a port from 1 to 65535. */
function isHostport(text: string): boolean {
  const [host = "", port = "", ...rest] = text.split(":");
  const label = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?";
  const isName = new RegExp(`^(\\*\\.)?${label}(\\.${label})*$`).test(host) && host.length <= 253;
  const isPort = /^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65535;
  return isName && isPort && rest.length === 0;
}
