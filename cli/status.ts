import { isIP, isIPv6 } from "node:net";
import { namesCovering } from "../provider/pem";
import type { Lists, ObjectStatus, Report, Statuses, Wire } from "./kind";
import { type AnyKind, adoptableKinds, kinds } from "./kinds";
import { cell, count, type Display, painted, plain, type Row, section, wrapped } from "./table";

type EachKind = (typeof kinds)[number];

/** All that an account holds, as the service lists it. */
export interface Account extends Lists<EachKind> {
  /** The host of the base URL, with its port if that is not 443. */
  service: string;
}

/**
 * What `status --json` prints: these fields and a list for each kind. Every field is always
 * present; an unset one is null. Times are RFC 3339 in UTC.
 */
export interface Status extends Report, Statuses<EachKind> {
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** Groups of objects that have equal content and different ids; in each the newest first. */
  twins: { id: string; createdAt: string | null }[][];
}

type Twins = Status["twins"][number];

/**
 * The status of an account.
 *
 * @param failWithin `failing` names each certificate with fewer days left than this; with 0, each
 * expired one. Default: it names none.
 */
export function statusOf(account: Account, now: Date, failWithin?: number): Status {
  const listed = kinds.map((kind: AnyKind) => ({ kind, wires: account[kind.key] ?? [] }));
  const valid = listed.flatMap(({ kind, wires }) => kind.validNames?.(wires, now) ?? []);
  const isCovered = coverageOf(valid);
  const statuses = Object.fromEntries(
    listed.map(({ kind, wires }) => [kind.key, kind.status(wires, now, isCovered)]),
  ) as Statuses<EachKind>;
  const failing = objectsOf(statuses).filter(
    ({ daysLeft }) => failWithin !== undefined && (daysLeft ?? failWithin) < failWithin,
  );
  return {
    at: now.toISOString(),
    service: account.service,
    failWithin: failWithin ?? null,
    failing: failing.map(({ id }) => id),
    ...statuses,
    twins: listed.flatMap(({ kind, wires }) => twinsOf(kind, wires)),
  };
}

/** The objects of all kinds. */
function objectsOf(statuses: Statuses<EachKind>): ObjectStatus[] {
  return kinds.flatMap((kind: AnyKind): ObjectStatus[] => statuses[kind.key]);
}

function twinsOf(kind: AnyKind, wires: Wire[]): Twins[] {
  const groups = new Map<string, Twins>();
  for (const wire of wires) {
    const content = kind.twinContent?.(wire);
    if (!content) continue;
    // An empty text is the same as none.
    const key = JSON.stringify(Object.entries(content).filter(([, value]) => value));
    const twin = { id: wire.id, createdAt: wire.created_at ?? null };
    groups.set(key, [...(groups.get(key) ?? []), twin]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

/** Decides whether a client that connects to a hostport gets a certificate for its host. */
function coverageOf(valid: { dnsNames: string[]; ips: string[] }[]) {
  const names = new Set(
    valid.flatMap(({ dnsNames }) => dnsNames.map((name) => name.toLowerCase())),
  );
  const addresses = new Set(valid.flatMap(({ ips }) => ips.map(canonical)));
  return (hostport: string) => {
    const host = hostport.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
    if (isIP(host)) return addresses.has(canonical(host));
    return namesCovering(host).some((name) => names.has(name));
  };
}

/** An address in the form that a URL has. One IPv6 address can be written in many ways. */
function canonical(address: string): string {
  const url = `https://[${address}]`;
  return isIPv6(address) && URL.canParse(url) ? new URL(url).hostname : address;
}

/**
 * The report for people: the kinds that a program can adopt, the problems found among them, the
 * other kinds, and a line of totals.
 */
export function statusText(status: Status, display: Display): string {
  const part = (heading: string, heads: string[], rows: Row[]) =>
    rows.length === 0
      ? `No ${heading}.`
      : section(heading.charAt(0).toUpperCase() + heading.slice(1), heads, rows, display);
  const partOf = ({ key, heading, heads, row }: AnyKind) => {
    const rows = status[key].map((one) => row(one, status));
    return part(heading, heads, rows);
  };
  const uncovered = objectsOf(status).flatMap(({ id, uncoveredHostports = [] }) =>
    uncoveredHostports.map((hostport) => ({ id, cells: [cell(hostport, "red")] })),
  );
  const twins = status.twins.flatMap(twinRows);
  const totals = kinds.map(({ key, noun, note }: AnyKind) => {
    const noted = note?.(status[key], status);
    return `${count(status[key].length, noun)}${noted ? ` (${noted})` : ""}`;
  });
  const paint = status.failing.length > 0 ? "red" : "bold";
  return [
    `Service: ${plain(status.service)}`,
    ...adoptableKinds.map(partOf),
    part("hostports without a certificate", ["EDGE", "HOSTPORT"], uncovered),
    ...(twins.length > 0 ? [part("twins", ["ID", "SAME AS", "MADE"], twins)] : []),
    ...kinds.filter((kind) => !("adoption" in kind)).map(partOf),
    painted(wrapped(totals.join(", "), display.width), paint, display),
  ].join("\n\n");
}

/** A row for each older twin of a group. It names the newest twin, too. */
function twinRows([newest, ...older]: Twins): Row[] {
  return older.map(({ id, createdAt }) => ({
    id: plain(id),
    cells: [cell(newest?.id ?? ""), cell(createdAt ?? "unknown")],
  }));
}
