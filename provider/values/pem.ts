import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
  X509Certificate,
} from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import { adviceOnMissingBlock, adviceOnText } from "./pemAdvice";
import type { NamesOf } from "./properties";

/** A PEM text is invalid. The message never quotes the text. */
export class PemError extends Error {
  override readonly name = "PemError";
}

/** A chain of 100 certificates with large keys has half of this. */
const maxBytes = 256 * 1024;

/**
 * The blocks of a PEM text, without bytes where they are damaged, and the text outside the blocks.
 *
 * @throws PemError when the text is too long, or a block has no end.
 */
function split(text: string) {
  if (Buffer.byteLength(text) > maxBytes) {
    throw new PemError(`is longer than ${maxBytes / 1024} kB`);
  }
  const [outside = "", ...parts] = text.split("-----BEGIN ");
  const blocks = parts.map((part) => {
    // Within a part, so that the work is in proportion to the text, which may be of the service.
    const found = /^([A-Z0-9 #]+)-----(.*?)-----END \1-----(.*)$/s.exec(part);
    if (!found) throw new PemError("has a block without an END line: is the text cut off?");
    const [, label = "", body = "", after = ""] = found;
    return { label, der: decoded(body), after };
  });
  return { blocks, outside: [outside, ...blocks.map(({ after }) => after)].join("\n") };
}
type Split = ReturnType<typeof split>;

/** The bytes of a block, as Go reads them: in lines of any length, between which lines may be blank. */
function decoded(body: string): Buffer {
  const lines = /^[ \t]*\r?\n([\s\S]*)\n$/.exec(body)?.[1] ?? "";
  const base64 = lines.replace(/[ \t\r\n]+/g, "");
  const isWhole = /^[A-Za-z0-9+/]*={0,2}$/.test(base64) && base64.length % 4 === 0;
  return Buffer.from(isWhole ? base64 : "", "base64");
}

const lineOfBase64 = /^[A-Za-z0-9+/]{40,}={0,2}\s*?$/m;

/** Throws when a line of PEM stands outside the blocks, because a damaged block would be left out. */
function refuseOutside({ blocks, outside }: Split): void {
  if (!lineOfBase64.test(outside)) return;
  throw new PemError(
    `has lines of PEM outside its complete blocks (${blocks.length}): ` +
      "is a BEGIN or END line lost or damaged? Copy the whole file again",
  );
}

/** Throws where a text has no block of the kind that is wanted. */
function refuseWithout(wanted: Label, { blocks }: Split, text: string): void {
  const has = (kind: Label) => blocks.some(({ label }) => label.endsWith(kind.toUpperCase()));
  if (has(wanted)) return;
  const other = wanted === "certificate" ? "private key" : "certificate";
  if (!has(other)) throw new PemError(adviceOnMissingBlock(text, wanted));
  throw new PemError(
    `holds a ${other}, not a ${wanted}. Are certificatePem and privateKeyPem swapped?`,
  );
}
type Label = "certificate" | "private key";

/** The last chains that were parsed: one operation asks many times for two or three of them. */
const lastChains: { text: string; chain: X509Certificate[] }[] = [];
const mostLastChains = 4;

/**
 * The certificates of a PEM chain, in the order of the text.
 *
 * @throws PemError when there is none, or one can't be parsed.
 */
export function parseChain(text: string): X509Certificate[] {
  const known = lastChains.find((last) => last.text === text);
  if (known) return known.chain;
  const chain = chainIn(text);
  if (lastChains.push({ text, chain }) > mostLastChains) lastChains.shift();
  return chain;
}

function chainIn(text: string): X509Certificate[] {
  const found = split(text);
  refuseWithout("certificate", found, text);
  return found.blocks.map(({ label, der }, index) => {
    if (label !== "CERTIFICATE") {
      throw new PemError(`holds a ${label} block: give CERTIFICATE blocks only, leaf first`);
    }
    const certificate = `certificate ${index + 1}`;
    try {
      const parsed = new X509Certificate(der);
      // Node.js parses a date only when it is read.
      const [start, end] = datesOf(parsed);
      if (!Number.isNaN(Number(start) + Number(end))) return parsed;
    } catch {
      throw new PemError(adviceOnText(text, `${certificate} can't be parsed: ${damaged}`));
    }
    throw new PemError(`${certificate} has a date that can't be read`);
  });
}
const damaged = "the text is damaged. Copy the whole file again";

/**
 * The certificates of a PEM chain, leaf first, each signed by the next.
 *
 * @throws PemError when the chain can't be parsed, is out of order, or has a part that is damaged.
 */
export function parseOrderedChain(text: string): X509Certificate[] {
  const chain = parseChain(text);
  refuseOutside(split(text));
  if (!keyType(chain[0] as X509Certificate)) {
    throw new PemError("certificate 1 has a key that is not RSA, ECDSA or Ed25519");
  }
  chain.slice(1).forEach((issuer, index) => {
    if (isSigned(chain[index] as X509Certificate, issuer)) return;
    throw new PemError(
      `certificate ${index + 2} did not sign certificate ${index + 1}: the leaf comes first, then each ` +
        "certificate's issuer. Correct the order, add what is missing and remove what is twice",
    );
  });
  return chain;
}

function isSigned(certificate: X509Certificate, issuer: X509Certificate): boolean {
  const key = publicKey(issuer);
  return key !== undefined && certificate.checkIssued(issuer) && certificate.verify(key);
}

/** The chain in the form that state has: blocks only, 64 columns, LF. */
export function formatChain(chain: X509Certificate[]): string {
  return chain.join("");
}

/**
 * The private key in PEM text: PKCS#8, PKCS#1 or SEC1, not encrypted.
 *
 * @throws PemError when there is none.
 */
export function parseKey(text: string): KeyObject {
  const found = split(text);
  refuseWithout("private key", found, text);
  const [key, ...more] = found.blocks.filter(({ label }) => label.endsWith("PRIVATE KEY"));
  if (more.length > 0) throw new PemError("holds more than one private key: keep that of the leaf");
  // Whatever the label says, as Go and OpenSSL do.
  for (const type of ["pkcs8", "pkcs1", "sec1"] as const) {
    try {
      return createPrivateKey({ key: key?.der as Buffer, format: "der", type });
    } catch {
      // It may have another form.
    }
  }
  throw new PemError(adviceOnText(text, `can't be parsed: ${damaged}`));
}

/**
 * The private key in the form that is sent: PKCS#8 alone, without what stands beside it in the text.
 *
 * @throws PemError when there is none.
 */
export function formatKey(text: string): string {
  return String(parseKey(text).export({ type: "pkcs8", format: "pem" }));
}

/** Whether a private key signs for its own public key. Most damaged RSA keys do: the service refuses them. */
export function canSign(key: KeyObject): boolean {
  try {
    const data = Buffer.alloc(32);
    return verify(null, data, createPublicKey(key), sign(null, data, key));
  } catch {
    return false;
  }
}

/** `rsa`, `ecdsa` or `ed25519` (api.md §2.2), or undefined for a key that the service refuses. */
function keyType(leaf: X509Certificate): string | undefined {
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

const spki = (key: KeyObject) => key.export({ type: "spki", format: "der" });

/** SHA-256 of the public key (SPKI, DER) as lower-case hex; a compressed key has another one. */
function publicKeyFingerprint(leaf: X509Certificate): string | undefined {
  const key = publicKey(leaf);
  return key && createHash("sha256").update(spki(key)).digest("hex");
}

/** SHA-256 over the whole decoded chain, in order, as lower-case hex. */
export function chainFingerprint(chain: X509Certificate[]): string {
  const hash = createHash("sha256");
  for (const { raw } of chain) hash.update(raw);
  return hash.digest("hex");
}

/** The names that a certificate is valid for. */
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
    ...validityOf(chain),
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

/** When the leaf is valid, as {@link ChainState} has it. */
export function validityOf([leaf]: X509Certificate[]): Pick<ChainState, "notBefore" | "notAfter"> {
  const [start, end] = datesOf(leaf as X509Certificate);
  return { notBefore: timestamp(start), notAfter: timestamp(end) };
}

/** What a plan warns of in a chain, besides the expiry of its leaf. */
export function chainWarnings(chain: X509Certificate[], now: Date): string[] {
  return chain.flatMap((certificate, index) => {
    const [start, end] = datesOf(certificate);
    const one = index === 0 ? "the leaf certificate" : `certificate ${index + 1} of the chain`;
    const rejected = "so clients may refuse the connection";
    return [
      start > now && `${one} is not valid before ${timestamp(start)}, ${rejected}`,
      index > 0 &&
        end <= now &&
        `${one} expired on ${timestamp(end)}, ${rejected}: ask the authority for its present intermediates`,
    ].filter((doubt) => doubt !== false);
  });
}

function datesOf({ validFrom, validTo }: X509Certificate): [start: Date, end: Date] {
  return [new Date(validFrom), new Date(validTo)];
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
 * Reads an attribute from a name in Node's format: lines such as `CN=a`, with `+` between attributes
 * of one level, and a backslash before a special character. Of several values it takes the first. It does
 * not use toLegacyObject(), which crashes Node 24 on curves such as secp256k1.
 */
function distinguishedName(text: string | undefined): (attribute: string) => string {
  const parts = (text ?? "").split(/\n| \+ /);
  return (attribute) => {
    const part = parts.find((one) => one.startsWith(`${attribute}=`)) ?? "";
    return part.slice(attribute.length + 1).replace(/\\(.)/g, "$1");
  };
}

function timestamp(date: Date): string {
  return date.toISOString().replace(".000Z", "Z");
}

/** The short form of an IPv6 address (RFC 5952), as in a URL. */
function shortest(address: string): string {
  return new URL(`https://[${address}]`).hostname.slice(1, -1);
}

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
