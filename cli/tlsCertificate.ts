import type { X509Certificate } from "node:crypto";
import { type TLSCertificateWire, tlsCertificates } from "../client/tlsCertificate";
import { defined } from "../provider/lifecycle";
import { chainFingerprint, describeLeaf, parseChain } from "../provider/pem";
import { lifecycle, toState } from "../provider/tlsCertificate";
import type { AdoptableKind, Candidate, ObjectStatus, OwnFile, Report } from "./kind";
import { cell, count, type Paint, plain } from "./table";

/**
 * A TLS certificate as `status --json` prints it: with the values of its leaf or, if the leaf can't
 * be parsed, of the service's answer.
 */
export interface CertificateStatus extends ObjectStatus {
  description: string | null;
  subjectCommonName: string | null;
  dnsNames: string[];
  ips: string[];
  notBefore: string | null;
  notAfter: string | null;
  /** 0 on the last day, negative once it has expired. */
  daysLeft: number | null;
}

const dayMs = 86_400_000;

/** The chain of each certificate. */
const file: OwnFile = {
  property: "certificatePem",
  path: (name) => `certificates/${name}.pem`,
  code: `/** Private keys in PEM, by the name of the certificate. The service never returns them. */
const keys = new pulumi.Config().getSecretObject<Record<string, string>>("keys");
const key = (name: string) => keys?.apply((all) => all[name]);
const chain = (name: string) => read(\`certificates/\${name}.pem\`);`,
  args: (name) => ({ certificatePem: `chain(${name})`, privateKeyPem: `key(${name})` }),
  readme: (name) => `The service never returns a private key, and you need none until \
a chain changes. To set one now,
which changes nothing:

\`\`\`sh
pulumi config set --secret --path 'keys["${name}"]' < key.pem
\`\`\``,
  pluginReadme: `The service never returns a private key, so the program has none: it needs none \
until a chain
changes. To give one earlier, read it from a secret of the stack's config, which changes nothing at
the service.`,
};

type CertificateKind = AdoptableKind<"certificates", TLSCertificateWire, CertificateStatus>;

/** TLS certificates. */
export const certificateKind: CertificateKind = {
  key: "certificates",
  noun: "certificate",
  heading: "certificates",
  list: tlsCertificates.list,
  // Most urgent first. Certificates with an unknown expiry date come after the expired ones.
  status: (wires, now) =>
    wires
      .map((wire) => certificateStatus(wire, now))
      .sort((a, b) => (timeOf(a.notAfter) || +now) - (timeOf(b.notAfter) || +now)),
  heads: ["ID", "NAMES", "EXPIRES", "DAYS LEFT"],
  row(certificate, report) {
    const { id, dnsNames, ips, subjectCommonName, notBefore, notAfter } = certificate;
    const [text, paint] = urgency(certificate, report);
    const isEarly = timeOf(notBefore) > timeOf(report.at);
    const early = isEarly ? cell(`from ${notBefore?.slice(0, 10)}`, "yellow") : [];
    return {
      id: plain(id),
      cells: [
        cell([...dnsNames, ...ips].join(", ") || subjectCommonName || "-"),
        cell(notAfter?.slice(0, 10) ?? "unknown", paint),
        [...cell(text, paint), ...early],
      ],
    };
  },
  note(certificates, { failing, failWithin }) {
    const expired = certificates.filter(({ daysLeft }) => (daysLeft ?? 0) < 0);
    if (failWithin === null) return expired.length > 0 ? `${expired.length} expired` : undefined;
    return failing.length > 0 ? `${failing.length} due in ${count(failWithin, "day")}` : undefined;
  },
  twinContent({ description, metadata, certificate_pem }) {
    try {
      return { description, metadata, chain: chainFingerprint(parseChain(certificate_pem)) };
    } catch {
      return undefined;
    }
  },
  validNames: (wires, now) =>
    wires.map((wire) => certificateStatus(wire, now)).filter((one) => isValid(one, now)),
  adoption: { className: "TLSCertificate", lifecycle, candidate, file },
};

function certificateStatus(wire: TLSCertificateWire, now: Date): CertificateStatus {
  const { subjectCommonName, subjectAlternativeNames, notBefore, notAfter } = leafOf(wire);
  return {
    id: wire.id,
    description: wire.description || null,
    subjectCommonName: subjectCommonName || wire.subject_common_name || null,
    ...subjectAlternativeNames,
    notBefore,
    notAfter,
    daysLeft: notAfter === null ? null : Math.floor((timeOf(notAfter) - +now) / dayMs),
  };
}

/** Values of the leaf or, if this Node.js can't parse the chain, of the service's answer. */
function leafOf(wire: TLSCertificateWire) {
  try {
    return describeLeaf(parseChain(wire.certificate_pem)[0] as X509Certificate);
  } catch {
    const { dns_names, ips } = wire.subject_alternative_names ?? {};
    return {
      subjectCommonName: wire.subject_common_name ?? "",
      subjectAlternativeNames: { dnsNames: dns_names ?? [], ips: ips ?? [] },
      notBefore: dateOrNull(wire.not_before),
      notAfter: dateOrNull(wire.not_after),
    };
  }
}

function dateOrNull(date: string | null | undefined): string | null {
  return date && !Number.isNaN(Date.parse(date)) ? date : null;
}

/** A date in ms. NaN for an unknown date: it is neither before nor after any time. */
const timeOf = (date: string | null) => Date.parse(date ?? "");

function isValid({ notBefore, notAfter }: CertificateStatus, now: Date): boolean {
  return !(timeOf(notBefore) > +now) && +now <= timeOf(notAfter);
}

/** How urgent a renewal is, in words and as a colour: not everyone sees colours. */
function urgency({ daysLeft }: CertificateStatus, { failWithin }: Report): [string, Paint] {
  if (daysLeft === null) return ["unknown", "red"];
  if (daysLeft < 0) return ["expired", "red"];
  if (daysLeft < (failWithin ?? 0)) return [`${daysLeft}, due`, "red"];
  if (daysLeft < 7) return [`${daysLeft}`, "red"];
  return [`${daysLeft}`, daysLeft < 30 ? "yellow" : "green"];
}

function candidate(wire: TLSCertificateWire): Candidate {
  const { subjectCommonName, subjectAlternativeNames } = leafOf(wire);
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
