import { isIP, isIPv6 } from "node:net";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import type { TunnelWire } from "../client/tunnel";
import { chainFingerprint, describeLeaf, namesCovering, parseChain } from "../provider/pem";
import {
  count,
  type Display,
  type Line,
  type Paint,
  painted,
  plain,
  type Row,
  table,
  wrapped,
} from "./table";

/** All that an account holds, as the service lists it. */
export interface Account {
  /** The host of the base URL, with its port if that is not 443. */
  service: string;
  edges: TLSEdgeWire[];
  certificates: TLSCertificateWire[];
  tunnels: TunnelWire[];
}

/** What `status --json` prints. Every field is always there; what is unset is null. */
export interface Status {
  /** When the days were counted, RFC 3339 in UTC. */
  at: string;
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** The days given with `--fail-within`. */
  failWithin: number | null;
  /** The ids of the certificates that make the exit code 2, most urgent first. */
  failing: string[];
  /** Newest first. */
  edges: EdgeStatus[];
  /** Most urgent first: those that have expired, then those with the fewest days left. */
  certificates: CertificateStatus[];
  /** Those that are online, newest first. */
  tunnels: TunnelStatus[];
  /** Edges, or certificates, that are the same but for their ids; in each list the newest first. */
  twins: Twin[][];
}

/** One of several that are the same. */
export interface Twin {
  id: string;
  /** RFC 3339 in UTC. */
  createdAt: string | null;
}

/** A TLS edge; a module that is not configured is null. */
export interface EdgeStatus {
  id: string;
  description: string | null;
  hostports: string[];
  /** The hostports for which no certificate of the account is valid now. */
  uncoveredHostports: string[];
  backend: { enabled: boolean } | null;
  ipRestriction: { enabled: boolean } | null;
  mutualTls: { enabled: boolean } | null;
  tlsTermination: {
    enabled: boolean;
    terminateAt: string | null;
    minVersion: string | null;
  } | null;
}

/** A TLS certificate, as its leaf says; as the service says when the leaf can't be parsed. */
export interface CertificateStatus {
  id: string;
  description: string | null;
  subjectCommonName: string | null;
  dnsNames: string[];
  ips: string[];
  /** RFC 3339 in UTC. */
  notBefore: string | null;
  /** RFC 3339 in UTC. */
  notAfter: string | null;
  /** Whole days, rounded down: 0 on the last day, negative once it has expired. */
  daysLeft: number | null;
}

/** A tunnel that is online. */
export interface TunnelStatus {
  id: string;
  publicUrl: string | null;
  proto: string | null;
  region: string | null;
  labels: Record<string, string> | null;
  forwardsTo: string | null;
}

const dayMs = 86_400_000;

/**
 * What can be said of an account.
 *
 * @param failWithin A certificate with fewer days left than this is named in `failing`; with 0,
 * one that has expired. Default: none is.
 */
export function statusOf(account: Account, now: Date, failWithin?: number): Status {
  const certificates = account.certificates
    .map((wire) => certificateStatus(wire, now))
    // One whose end nobody knows stands after those that have expired.
    .toSorted((a, b) => (timeOf(a.notAfter) ?? +now) - (timeOf(b.notAfter) ?? +now));
  const failing = certificates.filter(
    ({ daysLeft }) => failWithin !== undefined && daysLeft !== null && daysLeft < failWithin,
  );
  const valid = certificates.filter((certificate) => isValid(certificate, now));
  const covered = {
    names: new Set(valid.flatMap(({ dnsNames }) => dnsNames.map((name) => name.toLowerCase()))),
    addresses: new Set(valid.flatMap(({ ips }) => ips.map(canonical))),
  };
  return {
    at: now.toISOString(),
    service: account.service,
    failWithin: failWithin ?? null,
    failing: failing.map(({ id }) => id),
    edges: account.edges.map((wire) => edgeStatus(wire, covered)),
    certificates,
    tunnels: account.tunnels.map(tunnelStatus),
    twins: [...twinsOf(account.edges, contentOfEdge), ...twinsOf(account.certificates, contentOf)],
  };
}

/** Those of the same content, where that is known. */
function twinsOf<Wire extends { id: string; created_at: string }>(
  wires: Wire[],
  content: (wire: Wire) => unknown[] | undefined,
): Twin[][] {
  const groups = new Map<string, Twin[]>();
  for (const wire of wires) {
    const known = content(wire);
    if (!known) continue;
    const key = JSON.stringify(known.map((part) => part || null));
    const twin = { id: wire.id, createdAt: dateOrNull(wire.created_at) };
    groups.set(key, [...(groups.get(key) ?? []), twin]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

function contentOfEdge({ hostports, description, metadata, ...rest }: TLSEdgeWire) {
  const { backend, ip_restriction, mutual_tls, tls_termination } = rest;
  // What has hostports has no twin: no two edges serve the same.
  const modules = [backend, ip_restriction, mutual_tls, tls_termination];
  return hostports?.length ? undefined : [description, metadata, ...modules];
}

function contentOf({ description, metadata, certificate_pem }: TLSCertificateWire) {
  try {
    return [description, metadata, chainFingerprint(parseChain(certificate_pem))];
  } catch {
    return undefined;
  }
}

function certificateStatus(wire: TLSCertificateWire, now: Date): CertificateStatus {
  const leaf = leafOf(wire);
  const names = leaf?.subjectAlternativeNames;
  const told = wire.subject_alternative_names;
  const notAfter = leaf?.notAfter ?? dateOrNull(wire.not_after);
  const end = timeOf(notAfter);
  return {
    id: wire.id,
    description: wire.description || null,
    subjectCommonName: leaf?.subjectCommonName || wire.subject_common_name || null,
    dnsNames: names?.dnsNames ?? told?.dns_names ?? [],
    ips: names?.ips ?? told?.ips ?? [],
    notBefore: leaf?.notBefore ?? dateOrNull(wire.not_before),
    notAfter,
    daysLeft: end === undefined ? null : Math.floor((end - now.getTime()) / dayMs),
  };
}

/** Undefined for what this Node.js can't parse: a report goes on without it. */
function leafOf({ certificate_pem }: TLSCertificateWire) {
  try {
    const [leaf] = parseChain(certificate_pem);
    return leaf && describeLeaf(leaf);
  } catch {
    return undefined;
  }
}

function timeOf(date: string | null): number | undefined {
  return date === null ? undefined : Date.parse(date);
}

function dateOrNull(date: string | null | undefined): string | null {
  return date && !Number.isNaN(Date.parse(date)) ? date : null;
}

function isValid({ notBefore, notAfter }: CertificateStatus, now: Date): boolean {
  return (timeOf(notBefore) ?? 0) <= now.getTime() && now.getTime() <= (timeOf(notAfter) ?? 0);
}

function edgeStatus(wire: TLSEdgeWire, covered: Covered): EdgeStatus {
  const hostports = wire.hostports ?? [];
  const termination = wire.tls_termination;
  const passedOn = termination?.terminate_at === "upstream" && isOn(termination);
  return {
    id: wire.id,
    description: wire.description || null,
    hostports,
    uncoveredHostports: passedOn
      ? []
      : hostports.filter((hostport) => !isCovered(hostport, covered)),
    backend: wire.backend ? { enabled: isOn(wire.backend) } : null,
    ipRestriction: wire.ip_restriction ? { enabled: isOn(wire.ip_restriction) } : null,
    mutualTls: wire.mutual_tls ? { enabled: isOn(wire.mutual_tls) } : null,
    tlsTermination: termination
      ? {
          enabled: isOn(termination),
          terminateAt: termination.terminate_at ?? null,
          minVersion: termination.min_version ?? null,
        }
      : null,
  };
}

/** A module applies unless it says that it doesn't (api.md §2.1). */
const isOn = ({ enabled }: { enabled?: boolean | null }) => enabled ?? true;

/** What the certificates that are valid now are valid for. */
interface Covered {
  names: Set<string>;
  addresses: Set<string>;
}

/** Whether a client that connects to the hostport would find a certificate for it. */
function isCovered(hostport: string, { names, addresses }: Covered): boolean {
  const host = hostport.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  if (isIP(host)) return addresses.has(canonical(host));
  return namesCovering(host).some((name) => names.has(name));
}

/** As a URL writes it: an IPv6 address can be written in many ways. */
function canonical(address: string): string {
  const url = `https://[${address}]`;
  return isIPv6(address) && URL.canParse(url) ? new URL(url).hostname : address;
}

function tunnelStatus(wire: TunnelWire): TunnelStatus {
  return {
    id: wire.id,
    publicUrl: wire.public_url || null,
    proto: wire.proto || null,
    region: wire.region || null,
    labels: wire.labels ?? null,
    forwardsTo: wire.forwards_to || null,
  };
}

/** The report for people: a table of each kind, and a line that sums up. */
export function statusText(status: Status, display: Display): string {
  const section = (title: string, heads: string[], rows: Row[]) =>
    rows.length === 0
      ? `No ${title.toLowerCase()}.`
      : `${painted(title, "bold", display)}\n${table(heads, rows, display)}`;
  const bare = status.edges.flatMap(({ id, uncoveredHostports }) =>
    uncoveredHostports.map((hostport) => ({ id, cells: [cell(hostport, "red")] })),
  );
  return [
    `Service: ${plain(status.service)}`,
    section(
      "Edges",
      ["ID", "HOSTPORTS", "BACKEND", "IP RULES", "MTLS", "TLS"],
      status.edges.map(edgeRow),
    ),
    section(
      "Certificates",
      ["ID", "NAMES", "EXPIRES", "DAYS LEFT"],
      status.certificates.map((certificate) => certificateRow(certificate, status)),
    ),
    section("Hostports without a certificate", ["EDGE", "HOSTPORT"], bare),
    ...(status.twins.length > 0
      ? [section("Twins", ["ID", "SAME AS", "MADE"], status.twins.flatMap(twinRows))]
      : []),
    section(
      "Tunnels online",
      ["ID", "URL OR LABELS", "FORWARDS TO", "PROTO", "REGION"],
      status.tunnels.map(tunnelRow),
    ),
    painted(
      wrapped(summary(status, bare.length), display.width),
      status.failing.length > 0 ? "red" : "bold",
      display,
    ),
  ].join("\n\n");
}

const cell = (text: string, paint?: Paint): Line[] => [{ text: plain(text), paint }];

function edgeRow(edge: EdgeStatus): Row {
  const hostports = edge.hostports.flatMap((hostport) =>
    cell(hostport, edge.uncoveredHostports.includes(hostport) ? "red" : undefined),
  );
  const { tlsTermination: tls } = edge;
  const versions = tls?.minVersion ? ` ${tls.minVersion}+` : "";
  return {
    id: plain(edge.id),
    cells: [
      hostports.length > 0 ? hostports : cell("none", "dim"),
      mark(edge.backend),
      mark(edge.ipRestriction),
      mark(edge.mutualTls),
      mark(tls, tls?.terminateAt ? `${tls.terminateAt}${versions}` : "on"),
    ],
  };
}

function mark(module: { enabled: boolean } | null, on = "on"): Line[] {
  if (!module) return cell("-", "dim");
  return module.enabled ? cell(on, "green") : cell("off", "yellow");
}

function certificateRow(certificate: CertificateStatus, { at, failWithin }: Status): Row {
  const { dnsNames, ips, subjectCommonName, notBefore, notAfter, daysLeft } = certificate;
  const names = [...dnsNames, ...ips].join(", ");
  const paint = urgency(daysLeft, failWithin);
  const isEarly = (timeOf(notBefore) ?? 0) > Date.parse(at);
  return {
    id: plain(certificate.id),
    cells: [
      cell(names || subjectCommonName || "-"),
      cell(notAfter?.slice(0, 10) ?? "unknown", paint),
      [
        ...cell(left(daysLeft, failWithin), paint),
        ...(isEarly ? cell(`from ${notBefore?.slice(0, 10)}`, "yellow") : []),
      ],
    ],
  };
}

/** In words too, for who sees no colour. */
function left(daysLeft: number | null, failWithin: number | null): string {
  if (daysLeft === null) return "unknown";
  if (daysLeft < 0) return "expired";
  return daysLeft < (failWithin ?? 0) ? `${daysLeft}, due` : `${daysLeft}`;
}

function urgency(daysLeft: number | null, failWithin: number | null): Paint {
  if (daysLeft === null || daysLeft < Math.max(7, failWithin ?? 0)) return "red";
  return daysLeft < 30 ? "yellow" : "green";
}

/** All but the newest, which the others are the same as. */
function twinRows([newest, ...older]: Twin[]): Row[] {
  return older.map(({ id, createdAt }) => ({
    id: plain(id),
    cells: [cell(newest?.id ?? ""), cell(createdAt ?? "unknown")],
  }));
}

function tunnelRow({ id, publicUrl, labels, forwardsTo, proto, region }: TunnelStatus): Row {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
  const addresses = [publicUrl, pairs.join(", ")].filter((text) => text !== null && text !== "");
  return {
    id: plain(id),
    cells: [
      addresses.flatMap((text) => cell(text ?? "")),
      ...[forwardsTo, proto, region].map((text) => cell(text ?? "-")),
    ],
  };
}

function summary({ edges, certificates, tunnels, failing, failWithin }: Status, bare: number) {
  const expired = certificates.filter(({ daysLeft }) => daysLeft !== null && daysLeft < 0).length;
  const noted = (text: string, number: number) => (number > 0 ? ` (${text})` : "");
  const urgent =
    failWithin === null
      ? noted(`${expired} expired`, expired)
      : noted(`${failing.length} due in ${count(failWithin, "day")}`, failing.length);
  return [
    `${count(edges.length, "edge")}${noted(`${count(bare, "hostport")} uncovered`, bare)}`,
    `${count(certificates.length, "certificate")}${urgent}`,
    count(tunnels.length, "tunnel"),
  ].join(", ");
}
