import { join } from "node:path";
import { defaultConnection } from "../client/settings";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import {
  defined,
  isObject,
  type Lifecycle,
  type Properties,
  unknownValue,
} from "../provider/lifecycle";
import { problemsOfShape } from "../provider/shape";
import {
  toState as certificateState,
  type TLSCertificateInputs,
  lifecycle as tlsCertificate,
} from "../provider/tlsCertificate";
import {
  toState as edgeState,
  type TLSEdgeInputs,
  lifecycle as tlsEdge,
} from "../provider/tlsEdge";
import { chainFile } from "./program";
import { count, type Display, painted, plain, table, wrapped } from "./table";

/** What of an account can be adopted. */
export interface Holdings {
  edges: TLSEdgeWire[];
  certificates: TLSCertificateWire[];
}

/** What is asked for. */
export interface Wish {
  /** The account, as a config namespace. */
  connection: string;
  /** A text that a name, the description or the id has to contain, in any letter case. */
  filter?: string;
}

/** An object that a program can say as it is. */
export interface Adoptable<Args> {
  id: string;
  /** Of its resource; no other resource of its type has it. */
  name: string;
  args: Args;
}

/** An object that no program can say, or that none should. */
export interface Skipped {
  type: "edge" | "certificate";
  id: string;
  /** Its hostports, or the names that it is valid for. */
  names: string[];
  /** Why, each after the property that it is about. */
  reasons: string[];
}

/** What becomes of an account: by name, and what is skipped by type and id. */
export interface Plan {
  edges: Adoptable<TLSEdgeInputs>[];
  certificates: Adoptable<TLSCertificateInputs>[];
  skipped: Skipped[];
  /** How many objects the filter has left out. */
  unmatched: number;
}

/** An object, before it is known whether it is asked for and whether it can be adopted. */
interface Candidate<Args> {
  type: Skipped["type"];
  wire: TLSEdgeWire | TLSCertificateWire;
  /** What people call it, the best name first. */
  names: string[];
  args: Args;
  reasons: string[];
}

const longestName = 100;

/** What `adopt --json` prints. Every field is always there; what is unset is null. */
export interface Adoption {
  /** The folder, as it was named. */
  out: string;
  /** The host of the service that was read, with its port if that is not 443. */
  service: string;
  /** The text given with `--filter`. */
  filter: string | null;
  /** By name. */
  edges: { id: string; name: string }[];
  /** By name; `file` is where its chain stands in the folder. */
  certificates: { id: string; name: string; file: string }[];
  /** Edges, then certificates, by id. */
  skipped: Skipped[];
  /** How many objects the filter has left out. */
  unmatched: number;
  /** The paths of what was written, in the folder. */
  files: string[];
}

/** What has become of an account. */
export function adoptionOf(
  { edges, certificates, skipped, unmatched }: Plan,
  read: { service: string; out: string; filter?: string; files: Map<string, string> },
): Adoption {
  return {
    out: read.out,
    service: read.service,
    filter: read.filter ?? null,
    edges: edges.map(({ id, name }) => ({ id, name })),
    certificates: certificates.map(({ id, name }) => ({ id, name, file: chainFile(name) })),
    skipped,
    unmatched,
    files: [...read.files.keys()],
  };
}

/** The same for people. */
export function adoptionText(adoption: Adoption, display: Display): string {
  const { out, edges, certificates, skipped, unmatched } = adoption;
  const rows = skipped.map(({ id, names, reasons }) => ({
    id: plain(id),
    cells: [
      [{ text: plain(names.join(", ")) || "-" }],
      reasons.map((reason) => ({ text: plain(reason) })),
    ],
  }));
  const written = `${count(edges.length, "edge")} and ${count(certificates.length, "certificate")}`;
  const others = [
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
    ...(unmatched > 0 ? [`${unmatched} left out by the filter`] : []),
  ];
  const sum = [written, ...others].join(", ");
  return [
    `Service: ${plain(adoption.service)}`,
    ...(rows.length > 0
      ? [`${painted("Skipped", "bold", display)}\n${table(["ID", "NAMES", "WHY"], rows, display)}`]
      : []),
    painted(wrapped(`${sum}.`, display.width), "bold", display),
    ...(adoption.files.length > 0
      ? [`What to do next stands in ${plain(join(out, "README.md"))}.`]
      : []),
  ].join("\n\n");
}

/** Decides what is adopted and under which names: the same for the same objects, however listed. */
export function planOf({ edges, certificates }: Holdings, { connection, filter }: Wish): Plan {
  const now = new Date();
  const settings = connection === defaultConnection ? {} : { connection };
  const all = {
    edges: distinct(edges).map((wire) => edgeCandidate(wire, settings, now)),
    certificates: distinct(certificates).map((wire) => certificateCandidate(wire, settings, now)),
  };
  const wanted = {
    edges: all.edges.filter((candidate) => matches(candidate, filter)),
    certificates: all.certificates.filter((candidate) => matches(candidate, filter)),
  };
  const chosen = [...wanted.edges, ...wanted.certificates];
  return {
    edges: named(wanted.edges, edgeName),
    certificates: named(wanted.certificates, (text) => text),
    skipped: chosen.filter(({ reasons }) => reasons.length > 0).map(skippedOf),
    unmatched: all.edges.length + all.certificates.length - chosen.length,
  };
}

/** A list that changes while it is read can show an object twice. */
function distinct<Wire extends { id: string }>(wires: Wire[]): Wire[] {
  const byId = new Map(wires.map((wire) => [wire.id, wire]));
  return [...byId.values()].sort((a, b) => compare(a.id, b.id));
}

function skippedOf({ type, wire, names, reasons }: Candidate<unknown>): Skipped {
  return { type, id: wire.id, names, reasons };
}

function matches({ wire, names }: Candidate<unknown>, filter = ""): boolean {
  const text = filter.toLowerCase();
  return [wire.id, wire.description ?? "", ...names].some((said) =>
    said.toLowerCase().includes(text),
  );
}

function edgeCandidate(wire: TLSEdgeWire, settings: Properties, now: Date) {
  const inputs: TLSEdgeInputs = tlsEdge.inputsOf(edgeState(wire));
  const { description, metadata, hostports = [], ...modules } = inputs;
  const args = {
    ...settings,
    ...defined({ description, hostports: hostports.length > 0 ? hostports : undefined }),
    ...Object.fromEntries(
      Object.entries(modules)
        .filter(([, part]) => !isOffAndEmpty(part))
        .map(([name, part]) => [name, brief(part)]),
    ),
    ...defined({ metadata }),
  } as TLSEdgeInputs;
  return {
    type: "edge" as const,
    wire,
    names: hostports.toSorted((a, b) => a.length - b.length || compare(a, b)),
    args,
    reasons: reasonsAgainst(tlsEdge, args, edgeState(wire, args), now),
  };
}

/** A disabled module with an empty list is left out: the schema refuses an empty list. */
function isOffAndEmpty(part: unknown): boolean {
  const { enabled, ...rest } = part as Properties;
  const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
  return enabled === false && Object.values(rest).some(isEmpty);
}

/** A module without what goes without saying: nothing, and that it is applied. */
function brief(part: unknown): Properties {
  const said = ([key, value]: [string, unknown]) =>
    value !== "" && !(key === "enabled" && value === true);
  return Object.fromEntries(Object.entries(part as Properties).filter(said));
}

function certificateCandidate(
  wire: TLSCertificateWire,
  settings: Properties,
  now: Date,
): Candidate<TLSCertificateInputs> {
  const { description, metadata, issued_at } = wire;
  const texts = defined({
    description: description || undefined,
    metadata: metadata || undefined,
  });
  const told = { type: "certificate" as const, wire };
  try {
    const found = certificateState(wire);
    const args = { ...settings, certificatePem: found.certificatePem, ...texts };
    const names = namesOf(found.subjectCommonName, found.subjectAlternativeNames);
    const reasons = issued_at
      ? ["the service issued it, and renews it itself: read it with TLSCertificate.get"]
      : reasonsAgainst(tlsCertificate, args, found, now);
    return { ...told, names, args, reasons };
  } catch (error) {
    // What can't be read can't be adopted either, whatever else the service tells of it.
    const { dns_names, ips } = wire.subject_alternative_names ?? {};
    const names = namesOf(wire.subject_common_name ?? "", {
      dnsNames: dns_names ?? [],
      ips: ips ?? [],
    });
    const args = { certificatePem: wire.certificate_pem };
    return { ...told, names, args, reasons: [(error as Error).message] };
  }
}

function namesOf(commonName: string, { dnsNames, ips }: { dnsNames: string[]; ips: string[] }) {
  return [...new Set([commonName, ...dnsNames, ...ips])].filter((name) => name !== "");
}

/** Why an adoption with these arguments would fail: asked of the provider's own check. */
function reasonsAgainst(
  lifecycle: Lifecycle,
  args: Properties,
  found: Properties,
  now: Date,
): string[] {
  const lost = Object.keys(args).filter((property) => !survives(args[property]));
  if (lost.length > 0) return lost.map((property) => `${property}: no program can pass it on`);
  const { inputs, problems } = lifecycle.check(args, lifecycle.inputsOf(found), now);
  const reasons = [...problemsOfShape(lifecycle, args), ...problems].map(
    ({ path, reason }) => `${path}: ${reason}`,
  );
  if (reasons.length > 0) return reasons;
  return lifecycle
    .differences(found, inputs)
    .map(({ property }) => `${property}: would be changed by what a program can say of it`);
}

/** Whether the engine would pass a value on as it is: half a character it would not. */
function survives(value: unknown): boolean {
  if (typeof value === "string") return value !== unknownValue && !/\p{Surrogate}/u.test(value);
  return !isObject(value) || Object.values(value).every(survives);
}

/** The oldest of those that would be called the same is, the others are counted. */
function named<Args>(
  candidates: Candidate<Args>[],
  short: (name: string) => string,
): Adoptable<Args>[] {
  const adoptable = candidates
    .filter(({ reasons }) => reasons.length === 0)
    .map((candidate) => ({ ...candidate, base: slug(short, candidate) }))
    .sort((a, b) => madeAt(a) - madeAt(b) || compare(a.wire.id, b.wire.id));
  const taken = new Set(adoptable.map(({ base }) => base));
  const numbers = new Map<string, number>();
  const free = (base: string) => {
    let number = numbers.get(base) ?? 0;
    do number += 1;
    while (number > 1 && taken.has(`${base}-${number}`));
    numbers.set(base, number);
    return number === 1 ? base : `${base}-${number}`;
  };
  return adoptable
    .map(({ base, wire, args }) => ({ id: wire.id, name: free(base), args }))
    .sort((a, b) => compare(a.name, b.name));
}

const madeAt = ({ wire }: Candidate<unknown>) => Date.parse(wire.created_at);

/** A hostport without the port that goes without saying. */
const edgeName = (hostport: string) => hostport.replace(/:443$/, "");

/** A name that files, URNs and config can have: of letters, digits and `.`, `-` and `_`. */
function slug(short: (name: string) => string, { type, names }: Candidate<unknown>): string {
  const name = short(names[0] ?? "")
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/^\*\./, "wildcard.")
    .replace(/[^a-z0-9._-]+/g, "-")
    .slice(0, longestName)
    .replace(/^[.-]+|[.-]+$/g, "");
  // The program looks up keys by name, and every object has a `constructor`.
  return name === "" || name in {} ? [type, name].filter(Boolean).join("-") : name;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
