import { isIP, isIPv6 } from "node:net";

export interface LeafNames {
  /** The leaf's common name; empty when it has none. */
  subjectCommonName: string;
  /** The other names that the leaf is valid for. */
  subjectAlternativeNames: SubjectAlternativeNames;
}

/** The names that a certificate is valid for. */
export interface SubjectAlternativeNames {
  /** Domains, wildcards included. */
  dnsNames: string[];
  /** IP addresses. */
  ips: string[];
}

/** The names that cover a domain, in lower case: a wildcard stands for one label (RFC 6125). */
export function namesCovering(domain: string): string[] {
  const name = domain.toLowerCase();
  return [name, name.replace(/^[^.]+/, "*")];
}

/** Whether a certificate is valid for a host: a domain, which may be a wildcard, or an address. */
export function covers({ dnsNames, ips }: SubjectAlternativeNames, host: string): boolean {
  if (isIP(host)) return ips.includes(host);
  const wanted = namesCovering(host);
  return dnsNames.some((name) => wanted.includes(name.toLowerCase()));
}

/**
 * The names that a certificate shows: the common name alone when there are no others, and first where it is one of
 * them.
 */
export function namesOf({
  subjectAlternativeNames: { dnsNames, ips },
  subjectCommonName,
}: LeafNames): string[] {
  const names = [...dnsNames, ...ips];
  if (names.length === 0) return subjectCommonName ? [subjectCommonName] : [];
  const common = subjectCommonName.toLowerCase();
  return [...new Set([...names.filter((name) => name.toLowerCase() === common), ...names])];
}

/**
 * Reads an attribute from a name in Node's format: lines such as `CN=a`, with `+` between attributes
 * of one level, and a backslash before a special character. Of several values it takes the first. It does
 * not use toLegacyObject(), which crashes Node 24 on curves such as secp256k1.
 */
export function distinguishedName(text: string | undefined): (attribute: string) => string {
  const parts = (text ?? "").split(/\n| \+ /);
  return (attribute) => {
    const part = parts.find((one) => one.startsWith(`${attribute}=`)) ?? "";
    return part.slice(attribute.length + 1).replace(/\\(.)/g, "$1");
  };
}

/** An address as people write it: OpenSSL writes 2001:DB8:0:0:0:0:0:1, and a URL has 2001:db8::1 (RFC 5952). */
function shortForm(ip: string): string {
  return isIPv6(ip) ? new URL(`https://[${ip}]`).hostname.slice(1, -1) : ip;
}

/** Node writes `DNS:a.example, IP Address:127.0.0.1`, and unusual values as JSON strings. */
export function alternativeNames(text: string): SubjectAlternativeNames {
  const names: SubjectAlternativeNames = { dnsNames: [], ips: [] };
  for (const match of text.matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g)) {
    const [, kind, written = ""] = match;
    const value = written.startsWith('"') ? String(JSON.parse(written)) : written;
    if (kind === "DNS") names.dnsNames.push(value);
    if (kind === "IP Address") names.ips.push(shortForm(value));
  }
  return names;
}
