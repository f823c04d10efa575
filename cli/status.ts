import { isIP } from "node:net";
import { inputsOf, type Kind } from "../provider/kinds/kind";
import { namesCovering } from "../provider/kinds/pem";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { describedBy } from "../provider/kinds/tlsCertificateLookup";
import { type TLSEdgeState, tlsEdge } from "../provider/kinds/tlsEdge";
import type { Account } from "./account";
import type { ObjectStatus, Stored } from "./object";
import {
  byUrgency,
  type CertificateStatus,
  isDue,
  isValid,
  readCertificate,
} from "./tlsCertificate";
import { type EdgeStatus, isPassedOn, readEdge } from "./tlsEdge";
import { readTunnel, type TunnelStatus } from "./tunnel";

/** What may give the exit code 2. */
export const flags = ["weak", "open", "expiring"] as const;
export type Flag = (typeof flags)[number];

/**
 * What `status --json` prints. Every field is always present; an unset one is null. Times are RFC
 * 3339 in UTC.
 */
export interface Status {
  /** When the days were counted. */
  at: string;
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** What gives the exit code 2. */
  failOn: Flag[];
  /**
   * Within how many days a certificate is `expiring`, at most a third of its lifetime; null unless that gives
   * the exit code 2.
   */
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
 * @param failWithin `failing` has each certificate with fewer days left than this, or with less than a third of its
 * lifetime; with 0, each expired one. It has those with no known expiry date, too. Default: it has none.
 * @param failOn `failing` has the edges that are `weak` or `open`, too.
 */
export function statusOf(
  account: Account,
  now: Date,
  failWithin?: number,
  failOn: Flag[] = [],
): Status {
  const edgeStates = account.edges.map(
    (wire) => ({ id: wire.id, ...tlsEdge.toState(wire) }) as Stored<TLSEdgeState>,
  );
  const leaves = account.certificates.map((wire) => ({ id: wire.id, ...describedBy(wire) }));
  const edges = edgeStates.map(readEdge);
  const certificates = leaves.map((leaf) => readCertificate(leaf, now)).sort(byUrgency(now));
  cover(edges, certificates, now);
  const chosen = flags.filter((flag) =>
    flag === "expiring" ? failWithin !== undefined : failOn.includes(flag),
  );
  const isFailing = (edge: EdgeStatus) => chosen.some((flag) => flag !== "expiring" && edge[flag]);
  const at = now.toISOString();
  const due = certificates.filter((one) => failWithin !== undefined && isDue(one, failWithin, at));
  return {
    at,
    service: account.service,
    failOn: chosen,
    failWithin: failWithin ?? null,
    failing: [...edges.filter(isFailing), ...due].map(({ id }) => id),
    edges,
    certificates,
    tunnels: account.tunnels.map(readTunnel),
    twins: [
      // Only one edge can have a hostport, and what can't be parsed can't be compared.
      ...twinsOf(
        tlsEdge,
        edgeStates.filter(({ hostports }) => hostports.length === 0),
      ),
      ...twinsOf(
        tlsCertificate,
        leaves.filter(({ fingerprint }) => fingerprint),
      ),
    ],
  };
}

/** Adds a value to the list of a key. */
function add<K, T>(lists: Map<K, T[]>, key: K, value: T): void {
  if (!lists.get(key)?.push(value)) lists.set(key, [value]);
}

/** Groups of objects that one program would have made. */
function twinsOf(kind: Kind, states: Twin[]): Twin[][] {
  const groups = new Map<string, Twin[]>();
  for (const state of states) {
    const { id, createdAt } = state;
    add(groups, JSON.stringify(inputsOf(kind, { ...state })), { id, createdAt });
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

/** Finds which certificates a client can get that connects to a hostport. */
function cover(edges: EdgeStatus[], certificates: CertificateStatus[], now: Date): void {
  const byName = new Map<string, CertificateStatus[]>();
  for (const certificate of certificates.filter((one) => isValid(one, now))) {
    const { dnsNames, ips } = certificate;
    const names = new Set([...dnsNames.map(domainKey), ...ips.map(addressKey)]);
    for (const name of names) add(byName, name, certificate);
  }
  for (const edge of edges.filter((one) => !isPassedOn(one))) {
    const covered = new Map<CertificateStatus, string[]>();
    for (const hostport of edge.hostports) {
      const found = new Set(keysOf(hostport).flatMap((key) => byName.get(key) ?? []));
      if (found.size === 0) edge.uncoveredHostports.push(hostport);
      for (const certificate of found) add(covered, certificate, hostport);
    }
    for (const [{ edges }, hostports] of covered) edges.push({ id: edge.id, hostports });
  }
}

/** The names that cover a hostport, as keys: an address is no domain that is written like it. */
function keysOf(hostport: string): string[] {
  const host = hostport.replace(/:\d+$/, "");
  return isIP(host) ? [addressKey(host)] : namesCovering(host).map(domainKey);
}

const domainKey = (name: string) => `dns ${name.toLowerCase()}`;
const addressKey = (address: string) => `ip ${address}`;
