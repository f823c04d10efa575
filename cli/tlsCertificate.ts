import { plain } from "../client/plain";
import { defaultDays, isDueWithin, tlsCertificate } from "../provider/kinds/tlsCertificate";
import type { describedBy } from "../provider/kinds/tlsCertificateLookup";
import { aboutLines, type ObjectStatus, objectStatus, type Stored } from "./object";
import { cell, count, type Line, type Paint, type Row } from "./table";

/**
 * A TLS certificate as `status --format json` prints it: with the values of its leaf or, if the leaf can't
 * be parsed, of the service's answer.
 */
export interface CertificateStatus extends ObjectStatus {
  subjectCommonName: string | null;
  dnsNames: string[];
  ips: string[];
  notBefore: string | null;
  notAfter: string | null;
  /** Whole days, rounded down: 0 on the last day, negative once it has expired. */
  daysLeft: number | null;
  /** Lower-case hex. */
  serialNumber: string | null;
  /** SHA-256 of the leaf, lower-case hex; null when it can't be parsed. */
  fingerprint: string | null;
  /**
   * The edges that it is valid for now, each with the hostports that it covers, in the order of the
   * edge. When several certificates cover a hostport, each of them has it: the service chooses one.
   */
  edges: { id: string; hostports: string[] }[];
}

const dayMs = 86_400_000;

/** With fewer days left, a certificate is urgent. */
export const urgentDays = 7;

/** Reads a certificate, as one that serves no edge. */
export function readCertificate(
  leaf: Stored<ReturnType<typeof describedBy>>,
  now: Date,
): CertificateStatus {
  const notAfter = dateOrNull(leaf.notAfter);
  return {
    ...objectStatus(leaf),
    subjectCommonName: leaf.subjectCommonName || null,
    ...leaf.subjectAlternativeNames,
    notBefore: dateOrNull(leaf.notBefore),
    notAfter,
    daysLeft: notAfter === null ? null : Math.floor((timeOf(notAfter) - +now) / dayMs),
    serialNumber: leaf.serialNumber || null,
    fingerprint: leaf.fingerprint,
    edges: [],
  };
}

/** Most urgent first. Certificates with an unknown expiry date come after the expired ones. */
export const byUrgency = (now: Date) => (a: CertificateStatus, b: CertificateStatus) =>
  (timeOf(a.notAfter) || +now) - (timeOf(b.notAfter) || +now);

/** A row with the names, the expiry date and the hostports that it covers. */
export function certificateRow(certificate: CertificateStatus, at: string, limit: number): Row {
  const { id, notBefore, edges } = certificate;
  const expires = expiry(certificate, limit, at);
  const early = isEarly(certificate, at) ? cell(`valid from ${dayOf(notBefore)}`, "yellow") : [];
  const served = edges.flatMap(({ hostports }) => hostports.flatMap((one) => cell(one)));
  return { id: plain(id), cells: [namesCell(certificate), [...expires, ...early], served] };
}

/** The names, and what it is for. */
export const namesCell = (certificate: CertificateStatus) => [
  ...cell(namesOf(certificate).join(", ") || "-"),
  ...aboutLines(certificate),
];

/** Why a certificate is of no use now; undefined for one that is used. */
export function whyUnused(certificate: CertificateStatus, at: string): string | undefined {
  const { edges, notAfter, notBefore, daysLeft } = certificate;
  if (edges.length > 0) return undefined;
  if (daysLeft === null) return "its expiry date is not known";
  if (daysLeft < 0) return `expired on ${dayOf(notAfter)}`;
  if (isEarly(certificate, at)) return `not valid before ${dayOf(notBefore)}`;
  return "covers no hostport that needs a certificate";
}

/** {@link isDueWithin}. An unknown date is no proof that nothing expires. */
export const isDue = ({ notAfter }: CertificateStatus, days: number, at: string) =>
  notAfter === null || isDueWithin(days, { notAfter }, new Date(at));

/** {@link isDue}, for a number of ours. */
export const isDueByDefault = (certificate: CertificateStatus, days: number, at: string) => {
  const { notBefore, notAfter } = certificate;
  return notAfter === null || isDue(certificate, defaultDays(days, { notBefore, notAfter }), at);
};

const dateOrNull = (date: string) => (Number.isNaN(Date.parse(date)) ? null : date);

/** A date in ms. NaN for an unknown date: it is neither before nor after any time. */
const timeOf = (date: string | null) => Date.parse(date ?? "");

export const isValid = ({ notBefore, notAfter }: CertificateStatus, now: Date) =>
  !(timeOf(notBefore) > +now) && +now <= timeOf(notAfter);

const isEarly = ({ notBefore }: CertificateStatus, at: string) => timeOf(notBefore) > timeOf(at);

const dayOf = (date: string | null) => date?.slice(0, 10) ?? "unknown";

const namesOf = ({ dnsNames, ips, subjectCommonName }: CertificateStatus) =>
  tlsCertificate.names({
    subjectCommonName: subjectCommonName ?? "",
    subjectAlternativeNames: { dnsNames, ips },
  });

/** The first of its names, or its id. */
export const certificateName = (certificate: CertificateStatus) =>
  namesOf(certificate)[0] ?? certificate.id;

/** How urgent a certificate is, as a colour. */
export function urgencyOf(certificate: CertificateStatus, limit: number, at: string): Paint {
  if (isDue(certificate, limit, at) || isDueByDefault(certificate, urgentDays, at)) return "red";
  return isDueByDefault(certificate, 30, at) ? "yellow" : "green";
}

/** The date, and how urgent it is in words, too: not everyone sees colours. */
function expiry(certificate: CertificateStatus, limit: number, at: string): Line[] {
  const { notAfter, daysLeft } = certificate;
  const due = isDue(certificate, limit, at) ? ", due" : "";
  const days = daysLeft !== null && (daysLeft < 0 ? "expired" : `${count(daysLeft, "day")}${due}`);
  const text = [dayOf(notAfter), days].filter(Boolean).join(", ");
  return cell(text, urgencyOf(certificate, limit, at));
}
