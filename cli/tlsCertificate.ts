import { plain } from "../client/plain";
import { type TLSCertificateWire, tlsCertificates } from "../client/tlsCertificate";
import { defined } from "../provider/lifecycle";
import { lifecycle, toState } from "../provider/tlsCertificate";
import { describedBy } from "../provider/tlsCertificateLookup";
import type { AdoptableKind, Candidate, ObjectStatus, Reading, Report, ServedEdge } from "./kind";
import { cell, count, type Paint } from "./table";

/**
 * A TLS certificate as `status --json` prints it: with the values of its leaf or, if the leaf can't
 * be parsed, of the service's answer.
 */
export interface CertificateStatus extends ObjectStatus {
  description: string | null;
  createdAt: string;
  metadata: string | null;
  subjectCommonName: string | null;
  dnsNames: string[];
  ips: string[];
  notBefore: string | null;
  notAfter: string | null;
  /** 0 on the last day, negative once it has expired. */
  daysLeft: number | null;
  /** Lower-case hex. */
  serialNumber: string | null;
  /** SHA-256 of the leaf, lower-case hex; null when it can't be parsed. */
  fingerprint: string | null;
  edges: ServedEdge[];
}

const dayMs = 86_400_000;

type CertificateKind = AdoptableKind<"certificates", TLSCertificateWire, CertificateStatus>;

/** TLS certificates. */
export const certificateKind: CertificateKind = {
  key: "certificates",
  noun: "certificate",
  heading: "certificates",
  list: tlsCertificates.list,
  read,
  // Most urgent first. Certificates with an unknown expiry date come after the expired ones.
  order: (a, b, now) => (timeOf(a.notAfter) || +now) - (timeOf(b.notAfter) || +now),
  heads: ["ID", "NAMES", "EXPIRES", "DAYS LEFT"],
  row(certificate, report) {
    const { id, notBefore, notAfter, daysLeft } = certificate;
    const [text, paint] = urgency(certificate, report);
    const early = isEarly(certificate, report) ? cell(`from ${dayOf(notBefore)}`, "yellow") : [];
    return {
      id: plain(id),
      cells: [
        cell(namesOf(certificate)),
        cell(dayOf(notAfter), paint),
        [{ text, paint, daysLeft }, ...early],
      ],
    };
  },
  columns: ({ edges }) => ({
    SERVES: edges.flatMap(({ id, hostports }) =>
      hostports.map((hostport) => ({ text: plain(hostport), of: plain(id) })),
    ),
  }),
  details: ({ subjectCommonName, serialNumber, fingerprint, notBefore }) => ({
    "common name": subjectCommonName,
    "serial number": serialNumber,
    "SHA-256 fingerprint": fingerprint,
    "valid from": notBefore,
  }),
  unused(certificate, report) {
    const { edges, notAfter, notBefore, daysLeft } = certificate;
    if (edges.length > 0) return undefined;
    if (daysLeft === null) return "its expiry date is not known";
    if (daysLeft < 0) return `expired on ${dayOf(notAfter)}`;
    if (isEarly(certificate, report)) return `not valid before ${dayOf(notBefore)}`;
    return "covers no hostport that needs a certificate";
  },
  note(certificates, { failing, failWithin }) {
    const expired = certificates.filter(({ daysLeft }) => (daysLeft ?? 0) < 0);
    const unknown = certificates.filter(({ daysLeft }) => daysLeft === null);
    const due = failWithin === null ? 0 : failing.length - unknown.length;
    const noted = [
      failWithin === null && expired.length > 0 && `${expired.length} expired`,
      due > 0 && `${due} due in ${count(failWithin ?? 0, "day")}`,
      unknown.length > 0 && `${unknown.length} with no known expiry date`,
    ];
    return noted.filter(Boolean).join(", ") || undefined;
  },
  adoption: { className: "TLSCertificate", lifecycle, candidate },
};

function read(wire: TLSCertificateWire, now: Date): Reading<CertificateStatus> {
  const leaf = describedBy(wire);
  const { subjectAlternativeNames, chainFingerprint: chain } = leaf;
  const notAfter = dateOrNull(leaf.notAfter);
  const { description, metadata } = wire;
  const status: CertificateStatus = {
    id: wire.id,
    description: description || null,
    createdAt: wire.created_at,
    metadata: metadata || null,
    subjectCommonName: leaf.subjectCommonName || wire.subject_common_name || null,
    ...subjectAlternativeNames,
    notBefore: dateOrNull(leaf.notBefore),
    notAfter,
    daysLeft: notAfter === null ? null : Math.floor((timeOf(notAfter) - +now) / dayMs),
    serialNumber: leaf.serialNumber || null,
    fingerprint: leaf.fingerprint,
    edges: [],
  };
  return {
    status,
    validFor: isValid(status, now) ? subjectAlternativeNames : undefined,
    twinContent: chain ? { description, metadata, chain } : undefined,
  };
}

function dateOrNull(date: string): string | null {
  return !Number.isNaN(Date.parse(date)) ? date : null;
}

/** A date in ms. NaN for an unknown date: it is neither before nor after any time. */
const timeOf = (date: string | null) => Date.parse(date ?? "");

function isValid({ notBefore, notAfter }: CertificateStatus, now: Date): boolean {
  return !(timeOf(notBefore) > +now) && +now <= timeOf(notAfter);
}

const isEarly = ({ notBefore }: CertificateStatus, { at }: Report) =>
  timeOf(notBefore) > timeOf(at);

const dayOf = (date: string | null) => date?.slice(0, 10) ?? "unknown";

const namesOf = ({ dnsNames, ips, subjectCommonName }: CertificateStatus) =>
  [...dnsNames, ...ips].join(", ") || subjectCommonName || "-";

/** How urgent a renewal is, in words and as a colour: not everyone sees colours. */
function urgency({ daysLeft }: CertificateStatus, { failWithin }: Report): [string, Paint] {
  if (daysLeft === null) return ["unknown", "red"];
  if (daysLeft < 0) return ["expired", "red"];
  if (daysLeft < (failWithin ?? 0)) return [`${daysLeft}, due`, "red"];
  if (daysLeft < 7) return [`${daysLeft}`, "red"];
  return [`${daysLeft}`, daysLeft < 30 ? "yellow" : "green"];
}

function candidate(wire: TLSCertificateWire): Candidate {
  const { subjectCommonName, subjectAlternativeNames } = describedBy(wire);
  const { dnsNames, ips } = subjectAlternativeNames;
  const all = new Set([subjectCommonName, ...dnsNames, ...ips]);
  const names = [...all].filter((name) => name !== "");
  const name = names[0] ?? "";
  try {
    const state = toState(wire);
    const { certificatePem, description, metadata } = state;
    const reason = wire.issued_at
      ? "the service issued it, and renews it itself: read it with TLSCertificate.get"
      : undefined;
    return { names, name, args: defined({ certificatePem, description, metadata }), state, reason };
  } catch (error) {
    return { names, name, args: {}, state: {}, reason: (error as Error).message };
  }
}
