import { Hono } from "hono";
import * as v from "valibot";
import { Refusal, reasons } from "./errors";
import {
  findOrRefuse,
  labels,
  readBody,
  refuseOtherMethods,
  refuseParameters,
  type Served,
  serveDelete,
  serveReads,
  strictObject,
  withoutUnset,
} from "./requests";
import { Collection, type Direct, newId, type Store } from "./store";
import type { Made, Ref, Unset } from "./wire";

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

const moduleNames = ["backend", "ip_restriction", "mutual_tls", "tls_termination"] as const;

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

const mutationBody = v.pipe(v.unknown(), v.transform(refuseNullModules), mutation);

/** The paths of the objects that an edge refers to. */
const paths = {
  backend: "/backends",
  ipPolicy: "/ip_policies",
  authority: "/certificate_authorities",
};

/** Serves TLS edges (api.md §4.1), and the delete-module operation, which is not in api.md. */
export function serveTLSEdges(store: Store): Served<Direct<TLSEdgeWire>> {
  const edges = new Collection<TLSEdgeWire>(store, "tls_edges", "/edges/tls");
  const routes = new Hono();
  serveReads(routes, edges, { list: withoutUnset });
  serveDelete(routes, edges);

  routes.post(edges.path, async (c) => {
    refuseParameters(c);
    const body = await readBody(c, mutationBody);
    const id = newId("edgtls");
    const blank: TLSEdgeWire = {
      ...edges.ref(id),
      created_at: store.now(),
      description: "",
      metadata: "",
      hostports: [],
      backend: null,
      ip_restriction: null,
      mutual_tls: null,
      tls_termination: null,
    };
    return c.json(edges.add(applied(edges, blank, body)), 201);
  });

  routes.patch(`${edges.path}/:id`, async (c) => {
    refuseParameters(c);
    const body = await readBody(c, mutationBody);
    return c.json(edges.put(applied(edges, findOrRefuse(edges, c.req.param("id")), body)));
  });

  for (const name of moduleNames) {
    const path = `${edges.path}/:id/${name}`;
    routes.delete(path, (c) => {
      refuseParameters(c);
      const edge = findOrRefuse(edges, c.req.param("id") ?? "");
      if (!edge[name]) throw new Refusal(reasons.moduleAbsent, `${edge.id} has no ${name}.`);
      edges.put({ ...edge, [name]: null });
      return c.body(null, 204);
    });
    refuseOtherMethods(routes, path, "DELETE");
  }

  refuseOtherMethods(routes, edges.path, "GET, POST");
  refuseOtherMethods(routes, `${edges.path}/:id`, "GET, PATCH, DELETE");
  return { documents: edges, routes, direct: edges.direct() };
}

/** Applies a body to an edge. Refuses a result that is not valid. */
function applied(edges: Collection<TLSEdgeWire>, edge: TLSEdgeWire, body: Mutation): TLSEdgeWire {
  const { backend, ip_restriction, mutual_tls, tls_termination, ...scalars } = body;
  if (body.hostports) refuseHostports(edges, edge.id, body.hostports);
  const next = { ...edge, ...scalars };
  if (backend) {
    const ref = backend.backend_id ? edges.ref(backend.backend_id, paths.backend) : null;
    next.backend = { enabled: backend.enabled, backend: ref };
  }
  if (ip_restriction) {
    const policies = ip_restriction.ip_policy_ids.map((id) => edges.ref(id, paths.ipPolicy));
    next.ip_restriction = { enabled: ip_restriction.enabled, ip_policies: policies };
  }
  if (mutual_tls) {
    const authorities = mutual_tls.certificate_authority_ids;
    next.mutual_tls = {
      enabled: mutual_tls.enabled,
      certificate_authorities: authorities.map((id) => edges.ref(id, paths.authority)),
    };
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
  const seen = new Set<string>();
  for (const hostport of hostports) {
    const key = hostport.toLowerCase();
    const shown = JSON.stringify(hostport.slice(0, 300));
    if (!isHostport(key)) {
      throw new Refusal(reasons.hostportMalformed, `The hostport ${shown} is not host:port.`);
    }
    if (seen.has(key)) {
      throw new Refusal(reasons.hostportRepeated, `The hostport ${shown} is given twice.`);
    }
    const holder = edges.holder("hostports", hostport, id);
    if (holder) {
      throw new Refusal(reasons.hostportTaken, `The hostport ${shown} is served by ${holder}.`);
    }
    seen.add(key);
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

/** Refuses a null module with a reason: users expect null to remove the module (api.md §4.1). */
function refuseNullModules(body: unknown): unknown {
  const named = moduleNames.find(
    (name) => (body as Record<string, unknown> | null)?.[name] === null,
  );
  if (!named) return body;
  throw new Refusal(
    reasons.moduleNull,
    `${named} must not be null: an update can't remove a module, but DELETE on its path can.`,
  );
}
