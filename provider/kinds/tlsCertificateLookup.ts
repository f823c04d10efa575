import { stateOf } from "../../client/table";
import { fields, type TLSCertificateWire, tlsCertificates } from "../../client/tlsCertificate";
import { fingerprintIn } from "../values/chain";
import { covers } from "../values/names";
import { defined } from "../values/properties";
import { type LookupKind, matchesObject, type ObjectFilter, objectFilters } from "./lookup";
import type { Found } from "./state";
import { type TLSCertificateState, tlsCertificate } from "./tlsCertificate";

/**
 * The result of a certificate lookup; unset fields are undefined. If the chain can't be parsed
 * here, the fields have the service's own values, and the fingerprints are undefined.
 */
export interface GetTLSCertificateResult extends Found<Described> {}

/** A chain that can't be parsed has no fingerprints. */
type Described = {
  [Name in keyof TLSCertificateState]:
    | TLSCertificateState[Name]
    | (Name extends "fingerprint" | "chainFingerprint" ? null : never);
};

export interface TLSCertificateFilter extends ObjectFilter {
  /** Only certificates valid for this domain; a wildcard covers one label (RFC 6125). */
  domain?: string | undefined;
  /**
   * Only certificates whose leaf has this SHA-256 fingerprint in hex, in any letter case; colons are
   * accepted. A certificate that was uploaded twice is two.
   */
  fingerprint?: string | undefined;
}

export interface TLSCertificateListFilter extends TLSCertificateFilter {
  /**
   * Only certificates that expire, or have expired, before this time, in RFC 3339. Not those with no
   * known expiry date.
   */
  expiresBefore?: string | undefined;
}

const dnsNamesOf = ({ subject_alternative_names: names }: TLSCertificateWire) =>
  names?.dns_names ?? [];

export const lookup: LookupKind<
  TLSCertificateWire,
  TLSCertificateListFilter,
  GetTLSCertificateResult
> = {
  title: "TLS certificate",
  filters: {
    domain: "a domain without a port",
    fingerprint: "a SHA-256 fingerprint in hex",
    expiresBefore: "an RFC 3339 time, such as 2027-01-31T00:00:00Z",
    ...objectFilters,
  },
  listOnlyFilters: ["expiresBefore"],
  texts: (wire) => ({ domain: dnsNamesOf(wire) }),
  ...tlsCertificates,
  recency: (wire) => Date.parse(describedBy(wire).notBefore) || 0,
  result: (wire) =>
    defined({ id: wire.id, ...describedBy(wire) }) as unknown as GetTLSCertificateResult,
  matches: (wire, { domain, fingerprint, expiresBefore, ...filter }) =>
    (domain === undefined || covers({ dnsNames: dnsNamesOf(wire), ips: [] }, domain)) &&
    matchesObject(wire, filter) &&
    (fingerprint === undefined || describedBy(wire).fingerprint === fingerprintIn(fingerprint)) &&
    (expiresBefore === undefined ||
      Date.parse(describedBy(wire).notAfter) < Date.parse(expiresBefore)),
};

/** Many lookups judge the certificates of one reading: each is parsed once. */
const described = new WeakMap<TLSCertificateWire, Described>();

/** What a certificate says: by its chain or, if this Node.js can't parse it, by the service's answer. */
export function describedBy(wire: TLSCertificateWire): Described {
  const known = described.get(wire) ?? describe(wire);
  described.set(wire, known);
  return known;
}

function describe(wire: TLSCertificateWire): Described {
  try {
    return tlsCertificate.toState(wire) as unknown as Described;
  } catch {
    // A certificate that this Node.js can't parse must not make the whole lookup fail.
    const unknown = { fingerprint: null, publicKeyFingerprint: null, chainFingerprint: null };
    return { ...stateOf(fields, wire), ...unknown };
  }
}
