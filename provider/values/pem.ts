import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import type { NamesOf } from "../state";
import { whyDamaged, whyNoBlock } from "./notPem";

/** A PEM text is invalid. The message never quotes the text. */
export class PemError extends Error {
  override readonly name = "PemError";
}

/** A chain of 100 certificates with large keys has half of this. */
const maxLength = 256 * 1024;

/**
 * The blocks of a PEM text, found in one pass: the service may send any text.
 *
 * @throws PemError when the text is too long, or a block has no end.
 */
function blocksOf(text: string): { label: string; pem: string }[] {
  if (text.length > maxLength) throw new PemError(`is longer than ${maxLength / 1024} kB`);
  const blocks: { label: string; pem: string }[] = [];
  const begin = /-----BEGIN ([A-Z0-9 ]+)-----/g;
  for (let match = begin.exec(text); match; match = begin.exec(text)) {
    const [, label = ""] = match;
    const end = `-----END ${label}-----`;
    const at = text.indexOf(end, begin.lastIndex);
    if (at < 0) break;
    begin.lastIndex = at + end.length;
    blocks.push({ label, pem: text.slice(match.index, begin.lastIndex) });
  }
  if (blocks.length === text.split("-----BEGIN ").length - 1) return blocks;
  throw new PemError(
    `has a block without an END line (complete blocks: ${blocks.length}): is the text cut off?`,
  );
}

/**
 * The certificates of a PEM chain, in the order of the text.
 *
 * @throws PemError when there is none, or one can't be parsed.
 */
export function parseChain(text: string): X509Certificate[] {
  const blocks = blocksOf(text);
  const found = blocks.map(({ label }) => label);
  if (!found.includes("CERTIFICATE")) {
    if (found.some((label) => label.endsWith("PRIVATE KEY"))) {
      throw new PemError(
        "holds a private key, not a certificate. Are certificatePem and privateKeyPem swapped?",
      );
    }
    throw new PemError(whyNoBlock(text, "certificate"));
  }
  const other = found.find((label) => label !== "CERTIFICATE");
  if (other) throw new PemError(`holds a ${other} block: give certificates only, leaf first`);
  return blocks.map(({ pem }, index) => {
    const certificate = `certificate ${index + 1}`;
    try {
      const parsed = new X509Certificate(pem);
      // Node.js parses a date only when it is read.
      const { validFrom, validTo } = parsed;
      if (!Number.isNaN(Date.parse(validFrom) + Date.parse(validTo))) return parsed;
    } catch {
      throw new PemError(`${certificate} can't be parsed: ${whyDamaged(text)}`);
    }
    throw new PemError(`${certificate} has a date that can't be read`);
  });
}

/**
 * The certificates of a PEM chain, leaf first, each signed by the next.
 *
 * @throws PemError when the chain can't be parsed or is out of order.
 */
export function parseOrderedChain(text: string): X509Certificate[] {
  const chain = parseChain(text);
  chain.forEach((certificate, index) => {
    const issuer = chain[index + 1];
    if (issuer && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey))) {
      throw new PemError(whyNotSigned(certificate, issuer, index + 1));
    }
  });
  return chain;
}

function whyNotSigned(certificate: X509Certificate, next: X509Certificate, number: number): string {
  const [one, other] = [`certificate ${number}`, `certificate ${number + 1}`];
  if (next.fingerprint256 === certificate.fingerprint256) {
    return `${other} is the same as ${one}: remove one of them`;
  }
  const advice = "the leaf comes first, then each certificate's issuer";
  return next.checkIssued(certificate)
    ? `${one} signed ${other}, so they are in reverse order: ${advice}`
    : `${other} did not sign ${one}: ${advice}. If the issuer is missing, add it between them`;
}

/** The chain in the form that state has: blocks only, 64 columns, LF. */
export function formatChain(chain: X509Certificate[]): string {
  return chain
    .map(({ raw }) => {
      const body = raw.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
      return `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
    })
    .join("");
}

/**
 * The private key in PEM text: PKCS#8, PKCS#1 or SEC1, not encrypted.
 *
 * @throws PemError when there is none.
 */
export function parseKey(text: string): KeyObject {
  const found = blocksOf(text).map(({ label }) => label);
  const keys = found.filter((label) => label.endsWith("PRIVATE KEY"));
  if (keys.length === 0) {
    if (found.includes("CERTIFICATE")) {
      throw new PemError(
        "holds a certificate, not a private key. Are certificatePem and privateKeyPem swapped?",
      );
    }
    throw new PemError(whyNoBlock(text, "private key"));
  }
  if (keys.length > 1) throw new PemError("holds more than one private key");
  if (keys[0] === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:.*ENCRYPTED/m.test(text)) {
    throw new PemError("is encrypted: give the decrypted key (`openssl pkey -in …`)");
  }
  try {
    return createPrivateKey(text);
  } catch {
    const isOpenSsh = keys[0] === "OPENSSH PRIVATE KEY";
    throw new PemError(
      isOpenSsh
        ? "is in the format of OpenSSH: convert it with `ssh-keygen -p -m PKCS8 -f …`"
        : `can't be parsed: ${whyDamaged(text)}`,
    );
  }
}

/** `rsa`, `ecdsa` or `ed25519` (api.md §2.2), or undefined for a key that the service refuses. */
export function keyType(leaf: X509Certificate): string | undefined {
  const type = publicKey(leaf)?.asymmetricKeyType as string;
  return { rsa: "rsa", ec: "ecdsa", ed25519: "ed25519" }[type];
}

/** Undefined for a kind of key that this Node.js does not support. */
function publicKey(leaf: X509Certificate): KeyObject | undefined {
  try {
    return leaf.publicKey;
  } catch {
    return undefined;
  }
}

/** SHA-256 of the public key (SPKI, DER) as lower-case hex; a compressed key has another one. */
function publicKeyFingerprint(leaf: X509Certificate): string | undefined {
  const der = publicKey(leaf)?.export({ type: "spki", format: "der" });
  return der && createHash("sha256").update(der).digest("hex");
}

/** SHA-256 over the whole decoded chain, in order, as lower-case hex. */
export function chainFingerprint(chain: X509Certificate[]): string {
  const hash = createHash("sha256");
  for (const { raw } of chain) hash.update(raw);
  return hash.digest("hex");
}

/** The names that a certificate is valid for, besides its common name. */
export interface SubjectAlternativeNames {
  /** Domains, wildcards included. */
  dnsNames: string[];
  /** IP addresses. */
  ips: string[];
}

/** What a chain says, as state holds it; null is unset. */
export interface ChainState {
  /** The leaf's common name; empty when it has none. */
  subjectCommonName: string;
  /** The other names that the leaf is valid for. */
  subjectAlternativeNames: SubjectAlternativeNames;
  /** The common name of the leaf's issuer; empty when it has none. */
  issuerCommonName: string;
  /** The leaf's serial number, lower-case hex. */
  serialNumber: string;
  /** Start of validity, RFC 3339 in UTC. */
  notBefore: string;
  /** End of validity, RFC 3339 in UTC. */
  notAfter: string;
  /** `rsa`, `ecdsa` or `ed25519`; unset for another kind of key. */
  privateKeyType: string | null;
  /** The organization in the leaf's subject; empty when absent. */
  subjectOrganization: string;
  /** The organizational unit in the leaf's subject; empty when absent. */
  subjectOrganizationalUnit: string;
  /** The locality, such as a city, in the leaf's subject; empty when absent. */
  subjectLocality: string;
  /** The state or province in the leaf's subject; empty when absent. */
  subjectProvince: string;
  /** The country in the leaf's subject; empty when absent. */
  subjectCountry: string;
  /** SHA-256 of the leaf, lower-case hex. */
  fingerprint: string;
  /**
   * SHA-256 of the leaf's public key (SPKI), lower-case hex: equal for all leaves with one key in one
   * form. The key of a curve has two forms, compressed and uncompressed. Unset for a kind of key that
   * Node.js does not support.
   */
  publicKeyFingerprint: string | null;
  /** SHA-256 over the decoded chain in order, lower-case hex: differs for any other chain. */
  chainFingerprint: string;
}

/** The names of {@link ChainState}. */
export const chainNames: NamesOf<ChainState> = {
  subjectCommonName: "always",
  subjectAlternativeNames: "always",
  issuerCommonName: "always",
  serialNumber: "always",
  notBefore: "always",
  notAfter: "always",
  privateKeyType: "nullable",
  subjectOrganization: "always",
  subjectOrganizationalUnit: "always",
  subjectLocality: "always",
  subjectProvince: "always",
  subjectCountry: "always",
  fingerprint: "always",
  publicKeyFingerprint: "nullable",
  chainFingerprint: "always",
};

/**
 * The SHA-256 fingerprint that a text is, as outputs have it; undefined for any other text. Colons,
 * as OpenSSL writes them, and capital letters are accepted.
 */
export function fingerprintIn(text: string): string | undefined {
  const hex = text.replaceAll(":", "").toLowerCase();
  return /^[0-9a-f]{64}$/.test(hex) ? hex : undefined;
}

/** What a chain says: of its leaf, and the fingerprints of the leaf's key and of the chain. */
export function describeChain(chain: X509Certificate[]): ChainState {
  const leaf = chain[0] as X509Certificate;
  const subject = distinguishedName(leaf.subject);
  return {
    subjectCommonName: subject("CN"),
    subjectAlternativeNames: alternativeNames(leaf.subjectAltName ?? ""),
    issuerCommonName: distinguishedName(leaf.issuer)("CN"),
    serialNumber: leaf.serialNumber.toLowerCase(),
    notBefore: timestamp(leaf.validFrom),
    notAfter: endOf(chain),
    privateKeyType: keyType(leaf) ?? null,
    subjectOrganization: subject("O"),
    subjectOrganizationalUnit: subject("OU"),
    subjectLocality: subject("L"),
    subjectProvince: subject("ST"),
    subjectCountry: subject("C"),
    fingerprint: leaf.fingerprint256.replaceAll(":", "").toLowerCase(),
    publicKeyFingerprint: publicKeyFingerprint(leaf) ?? null,
    chainFingerprint: chainFingerprint(chain),
  };
}

/** When the leaf expires, as {@link ChainState} has it. */
export function endOf([leaf]: X509Certificate[]): string {
  return timestamp((leaf as X509Certificate).validTo);
}

/** What is wrong when an issuer of the chain has expired; undefined when none has. */
export function expiredIssuer(chain: X509Certificate[], now: Date): string | undefined {
  const index = chain.findIndex(({ validTo }, at) => at > 0 && Date.parse(validTo) <= Number(now));
  const issuer = chain[index];
  if (!issuer) return undefined;
  return (
    `certificate ${index + 1} of the chain expired on ${timestamp(issuer.validTo)}, so clients may ` +
    "refuse the connection: ask the authority for its present intermediates"
  );
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
 * Reads the first value of an attribute from a name in Node's format: lines such as `CN=a`, with
 * `+` between attributes of one level, escaped as in RFC 2253. It does not use toLegacyObject(),
 * which crashes Node 24 on curves such as secp256k1.
 */
function distinguishedName(text: string | undefined): (attribute: string) => string {
  const parts = (text ?? "").split(/\n| \+ /);
  return (attribute) => {
    const part = parts.find((one) => one.startsWith(`${attribute}=`)) ?? "";
    const plain = (_: string, hex: string | undefined, as: string) =>
      hex ? String.fromCharCode(Number.parseInt(hex, 16)) : as;
    return part.slice(attribute.length + 1).replace(/\\(?:([0-9A-F]{2})|(.))/g, plain);
  };
}

function timestamp(date: string): string {
  return new Date(date).toISOString().replace(".000Z", "Z");
}

/** The short form of an IPv6 address (RFC 5952), as in a URL. */
const shortest = (address: string) => new URL(`https://[${address}]`).hostname.slice(1, -1);

/** Node writes `DNS:a.example, IP Address:127.0.0.1`, and unusual values as JSON strings. */
function alternativeNames(text: string): SubjectAlternativeNames {
  const names: SubjectAlternativeNames = { dnsNames: [], ips: [] };
  for (const match of text.matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g)) {
    const [, kind, written = ""] = match;
    const value = written.startsWith('"') ? String(JSON.parse(written)) : written;
    if (kind === "DNS") names.dnsNames.push(value);
    // OpenSSL writes IPv6 in full and in capitals: 2001:DB8:0:0:0:0:0:1.
    if (kind === "IP Address") names.ips.push(isIPv6(value) ? shortest(value) : value);
  }
  return names;
}
