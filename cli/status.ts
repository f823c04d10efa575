import { isIP } from "node:net";
import { describedBy } from "../provider/kinds/tlsCertificateLookup";
import { type TLSEdgeState, tlsEdge } from "../provider/kinds/tlsEdge";
import { hostOf } from "../provider/values/hostport";
import { namesCovering } from "../provider/values/names";
import type { Account } from "./account";
import type { ObjectStatus, Stored } from "./object";
import {
  byUrgency,
  type CertificateStatus,
  certificateName,
  isDue,
  isValid,
  readCertificate,
} from "./tlsCertificate";
import { type EdgeStatus, edgeName, isPassedOn, readEdge } from "./tlsEdge";
import { readTunnel, type TunnelStatus } from "./tunnel";

/** What may give the exit code 2, beside a certificate that expires. */
export const flags = ["weak", "open", "twins"] as const;
export type Flag = (typeof flags)[number];

/** What `status --format json` prints. Every field is always present; an unset one is null. Times are RFC 3339 in UTC. */
export interface Status {
  /** When the days were counted. */
  at: string;
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** What gives the exit code 2. */
  failOn: Flag[];
  /** Within how many days a certificate gives the exit code 2; null for none. */
  failWithin: number | null;
  /** The ids of the objects that make the exit code 2: edges, then certificates. */
  failing: string[];
  /** The newest first. */
  edges: EdgeStatus[];
  /** The most urgent first. */
  certificates: CertificateStatus[];
  /** The newest first. */
  tunnels: TunnelStatus[];
  /** Groups of objects that have equal content and different ids; in each the newest first. */
  twins: Twin[][];
}

type Twin = Pick<ObjectStatus, "id" | "createdAt">;

/**
 * The status of an account.
 *
 * @param failWithin `failing` has each certificate with fewer days left than this; with 0, each expired one. It has
 * those with no known expiry date, too. Default: it has none.
 * @param failOn `failing` has the edges that are `weak` or `open`, and the `twins`, too.
 */
export function statusOf(account: Account, now: Date, failWithin?: number, failOn: Flag[] = []) {
  const { edges, certificates } = linkCertificates(
    account.edges.map((wire) =>
      readEdge({ id: wire.id, ...tlsEdge.toState(wire) } as Stored<TLSEdgeState>),
    ),
    account.certificates
      .map((wire) => readCertificate({ id: wire.id, ...describedBy(wire) }, now))
      .sort(byUrgency(now)),
    now,
  );
  const status: Status = {
    at: now.toISOString(),
    service: account.service,
    failOn,
    failWithin: failWithin ?? null,
    failing: [],
    edges,
    certificates,
    tunnels: account.tunnels.map(readTunnel),
    // Only one edge can have a hostport, and what can't be parsed can't be compared.
    twins: twinsOf([
      ...edges.filter(({ hostports }) => hostports.length === 0),
      ...certificates.filter(({ fingerprint }) => fingerprint),
    ]),
  };
  const ids = new Set(failuresOf(status).flatMap(([, objects]) => objects.map(([id]) => id)));
  const failing = [...edges, ...certificates].map(({ id }) => id).filter((id) => ids.has(id));
  return { ...status, failing };
}

/** What makes the exit code 2: the id and the name of each object, by the reason. */
export function failuresOf({ at, edges, certificates, twins, failOn, failWithin }: Status) {
  const marked = (mark: "weak" | "open") =>
    edges.filter((edge) => edge[mark]).map((edge) => [edge.id, edgeName(edge)] as const);
  const due = certificates.filter((one) => failWithin !== null && isDue(one, failWithin, at));
  const all = {
    weak: marked("weak"),
    open: marked("open"),
    // Their names are equal, too.
    twins: twins.flat().map(({ id }) => [id, id] as const),
    expiring: due.map((one) => [one.id, certificateName(one)] as const),
  };
  return [...failOn, "expiring" as const].map((reason) => [reason, all[reason]] as const);
}

/** Groups of objects that differ in nothing but their ids and ages. */
function twinsOf(objects: ObjectStatus[]): Twin[][] {
  const groups = Map.groupBy(objects, (one) => JSON.stringify({ ...one, id: "", createdAt: "" }));
  const twins = [...groups.values()].filter(({ length }) => length > 1);
  return twins.map((group) => group.map(({ id, createdAt }) => ({ id, createdAt })));
}

function add<K, T>(lists: Map<K, T[]>, key: K, value: T): void {
  if (!lists.get(key)?.push(value)) lists.set(key, [value]);
}

/** The edges with the hostports that no certificate covers, and the certificates with those that each covers. */
function linkCertificates(edges: EdgeStatus[], certificates: CertificateStatus[], now: Date) {
  const byName = new Map<string, CertificateStatus[]>();
  for (const certificate of certificates.filter((one) => isValid(one, now))) {
    const { dnsNames, ips } = certificate;
    const names = new Set([...dnsNames.map(domainKey), ...ips.map(addressKey)]);
    for (const name of names) add(byName, name, certificate);
  }
  const uncovered = new Map<EdgeStatus, string[]>();
  const served = new Map<CertificateStatus, CertificateStatus["edges"]>();
  for (const edge of edges.filter((one) => !isPassedOn(one))) {
    const covered = new Map<CertificateStatus, string[]>();
    for (const hostport of edge.hostports) {
      const found = new Set(keysOf(hostport).flatMap((key) => byName.get(key) ?? []));
      if (found.size === 0) add(uncovered, edge, hostport);
      for (const certificate of found) add(covered, certificate, hostport);
    }
    for (const [one, hostports] of covered) add(served, one, { id: edge.id, hostports });
  }
  return {
    edges: edges.map((one) => ({ ...one, uncoveredHostports: uncovered.get(one) ?? [] })),
    certificates: certificates.map((one) => ({ ...one, edges: served.get(one) ?? [] })),
  };
}

/** The names that cover a hostport, as keys: an address is no domain that is written like it. */
function keysOf(hostport: string): string[] {
  const host = hostOf(hostport);
  return isIP(host) ? [addressKey(host)] : namesCovering(host).map(domainKey);
}

const domainKey = (name: string) => `dns ${name.toLowerCase()}`;
const addressKey = (address: string) => `ip ${address}`;
