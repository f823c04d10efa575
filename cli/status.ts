import { isIP, isIPv6 } from "node:net";
import { objectIn } from "../provider/lookup";
import { namesCovering } from "../provider/values/pem";
import type { Lists, ObjectStatus, Reading, Report, ServedEdge, Statuses } from "./kind";
import { type AnyKind, kinds } from "./kinds";

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

/** Objects that have equal content, the newest first. */
export type Twins = Status["twins"][number];

/**
 * The status of an account.
 *
 * @param failWithin `failing` names each certificate with fewer days left than this; with 0, each
 * expired one. It names those with no known expiry date, too. Default: it names none.
 */
export function statusOf(account: Account, now: Date, failWithin?: number): Status {
  const listed = kinds.map((kind: AnyKind) => ({
    kind,
    readings: (account[kind.key] ?? []).map((wire) => kind.read(wire, now)),
  }));
  const served = servedIn(listed.flatMap(({ readings }) => readings));
  const statuses = Object.fromEntries(
    listed.map(({ kind, readings }) => {
      const { order = () => 0 } = kind;
      const all = readings.map((reading) => ({
        ...reading.status,
        ...served(reading),
        ...("adoption" in kind && peopleOf(reading.status)),
      }));
      return [kind.key, all.sort((a, b) => order(a, b, now))];
    }),
  ) as Statuses<EachKind>;
  // An unknown date is no proof that nothing expires.
  const isDue = ({ daysLeft }: ObjectStatus) =>
    failWithin !== undefined &&
    daysLeft !== undefined &&
    (daysLeft === null || daysLeft < failWithin);
  const failing = objectsOf(statuses).filter(isDue);
  return {
    at: now.toISOString(),
    service: account.service,
    failWithin: failWithin ?? null,
    failing: failing.map(({ id }) => id),
    ...statuses,
    twins: listed.flatMap(({ readings }) => twinsOf(readings)),
  };
}

/** Whose an object is: by its metadata, if they are JSON as `TLSSite` writes it. */
function peopleOf({ metadata }: ObjectStatus) {
  const found = objectIn(metadata ?? "");
  const textOf = (name: string) => {
    const value = found.get(name);
    return typeof value === "string" && value !== "" ? value : null;
  };
  return { environment: textOf("environment"), owner: textOf("owner") };
}

/** The objects of all kinds. */
export function objectsOf(statuses: Statuses<EachKind>): ObjectStatus[] {
  return kinds.flatMap((kind: AnyKind): ObjectStatus[] => statuses[kind.key]);
}

/** Adds a value to the list of a key. */
function add<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

type AnyReading = Reading<ObjectStatus>;

function twinsOf(readings: AnyReading[]): Twins[] {
  const groups = new Map<string, Twins>();
  for (const { status, twinContent } of readings) {
    if (!twinContent) continue;
    // An empty text is the same as none.
    const key = JSON.stringify(Object.entries(twinContent).filter(([, value]) => value));
    const twin = { id: status.id, createdAt: status.createdAt ?? null };
    add(groups, key, twin);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

/**
 * Finds which certificates a client can get that connects to a hostport.
 *
 * @returns The part of a status that other objects decide.
 */
function servedIn(readings: AnyReading[]) {
  const byName = new Map<string, Set<string>>();
  for (const { status, validFor = { dnsNames: [], ips: [] } } of readings) {
    for (const name of [...validFor.dnsNames.map(domainKey), ...validFor.ips.map(addressKey)]) {
      byName.set(name, (byName.get(name) ?? new Set()).add(status.id));
    }
  }
  const certificatesOf = (hostport: string) =>
    new Set(keysOf(hostport).flatMap((key) => [...(byName.get(key) ?? [])]));
  const served = new Map<string, ServedEdge[]>();
  for (const { status, needs = [] } of readings) {
    const covered = new Map<string, string[]>();
    for (const hostport of needs) {
      for (const id of certificatesOf(hostport)) add(covered, id, hostport);
    }
    for (const [id, hostports] of covered) add(served, id, { id: status.id, hostports });
  }
  return ({ status, needs }: AnyReading): Partial<ObjectStatus> => ({
    ...(needs && { uncoveredHostports: needs.filter((one) => certificatesOf(one).size === 0) }),
    ...(status.edges && { edges: served.get(status.id) ?? [] }),
  });
}

/** The names that cover a hostport, as keys: an address is no domain that is written like it. */
function keysOf(hostport: string): string[] {
  const host = hostport.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return isIP(host) ? [addressKey(host)] : namesCovering(host).map(domainKey);
}

const domainKey = (name: string) => `dns ${name.toLowerCase()}`;
const addressKey = (address: string) => `ip ${canonical(address)}`;

/** An address in the form that a URL has. One IPv6 address can be written in many ways. */
function canonical(address: string): string {
  const url = `https://[${address}]`;
  return isIPv6(address) && URL.canParse(url) ? new URL(url).hostname : address;
}
