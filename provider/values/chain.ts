import { createHash, type KeyObject, X509Certificate } from "node:crypto";
import { alternativeNames, distinguishedName, type LeafNames } from "./names";
import { type Pem, PemError, parsePem } from "./pem";
import { adviceOnDamage } from "./pemAdvice";
import type { StateNames } from "./properties";

/** What state holds of a chain, a row for each property: how it is read. Null is unset. */
const properties = {
  /** The leaf's common name; empty when it has none. */
  subjectCommonName: ({ subject }: Chain) => subject("CN"),
  /** The other names that the leaf is valid for. */
  subjectAlternativeNames: ({ leaf }: Chain) => alternativeNames(leaf.subjectAltName ?? ""),
  /** The common name of the leaf's issuer; empty when it has none. */
  issuerCommonName: ({ leaf }: Chain) => distinguishedName(leaf.issuer)("CN"),
  /** The leaf's serial number, lower-case hex. */
  serialNumber: ({ serialNumber }: Chain) => serialNumber,
  /** Start of validity, RFC 3339 in UTC. */
  notBefore: ({ validity }: Chain) => validity.notBefore,
  /** End of validity, RFC 3339 in UTC. */
  notAfter: ({ validity }: Chain) => validity.notAfter,
  /** `rsa`, `ecdsa` or `ed25519`; unset for another kind of key. */
  privateKeyType: ({ keyType }: Chain) => keyType ?? null,
  /** The organization in the leaf's subject; empty when absent. */
  subjectOrganization: ({ subject }: Chain) => subject("O"),
  /** The organizational unit in the leaf's subject; empty when absent. */
  subjectOrganizationalUnit: ({ subject }: Chain) => subject("OU"),
  /** The locality, such as a city, in the leaf's subject; empty when absent. */
  subjectLocality: ({ subject }: Chain) => subject("L"),
  /** The state or province in the leaf's subject; empty when absent. */
  subjectProvince: ({ subject }: Chain) => subject("ST"),
  /** The country in the leaf's subject; empty when absent. */
  subjectCountry: ({ subject }: Chain) => subject("C"),
  /** SHA-256 of the leaf, lower-case hex. */
  fingerprint: ({ leafFingerprint }: Chain) => leafFingerprint,
  /**
   * SHA-256 of the leaf's public key (SPKI), lower-case hex: equal for all leaves with one key in one
   * form. The key of a curve has two forms, compressed and uncompressed. Unset for a kind of key that
   * Node.js does not support.
   */
  publicKeyFingerprint: ({ leaf }: Chain) => {
    const key = publicKey(leaf);
    return key ? sha256(key.export({ type: "spki", format: "der" })) : null;
  },
  /** SHA-256 over the decoded chain in order, lower-case hex: differs for any other chain. */
  chainFingerprint: ({ fingerprint }: Chain) => fingerprint,
};
type Rows = typeof properties;

export type ChainState = { [Name in keyof Rows]: ReturnType<Rows[Name]> };

const nullable: {
  [Name in keyof Rows as null extends ChainState[Name] ? Name : never]: "nullable";
} = { privateKeyType: "nullable", publicKeyFingerprint: "nullable" };
const always = Object.keys(properties).map((name) => [name, "always"]);
/** The names of {@link ChainState}. */
export const chainNames: StateNames = { ...Object.fromEntries(always), ...nullable };

/** A certificate chain, leaf first, that was parsed once. What it says is found out when it is asked. */
export class Chain {
  #fingerprint: string | undefined;
  #subject: ((attribute: string) => string) | undefined;

  private constructor(readonly certificates: readonly X509Certificate[]) {}

  /**
   * The chain in a PEM text, in the order of the text.
   *
   * @throws PemError when there is none, or a certificate can't be parsed.
   */
  static parse(text: string): Chain {
    return new Chain(certificatesIn(parsePem(text, "certificate"), text));
  }

  /**
   * The chain in a PEM text, leaf first, each certificate signed by the next.
   *
   * @throws PemError when it can't be parsed, is out of order, or has a part that is damaged.
   */
  static parseOrdered(text: string): Chain {
    const pem = parsePem(text, "certificate");
    const chain = new Chain(certificatesIn(pem, text));
    refuseOutside(pem);
    if (!chain.keyType) {
      throw new PemError("certificate 1 has a key that is not RSA, ECDSA or Ed25519");
    }
    refuseDisorder(chain.certificates);
    return chain;
  }

  get leaf(): X509Certificate {
    return this.certificates[0] as X509Certificate;
  }

  /** The form that state has: blocks only, 64 columns, LF. */
  get pem(): string {
    return this.certificates.join("");
  }

  /** SHA-256 over the whole decoded chain, in order, as lower-case hex. */
  get fingerprint(): string {
    this.#fingerprint ??= sha256(...this.certificates.map(({ raw }) => raw));
    return this.#fingerprint;
  }

  /** SHA-256 of the leaf, as lower-case hex. */
  get leafFingerprint(): string {
    return this.leaf.fingerprint256.replaceAll(":", "").toLowerCase();
  }

  get subject(): (attribute: string) => string {
    this.#subject ??= distinguishedName(this.leaf.subject);
    return this.#subject;
  }

  get names(): LeafNames {
    return {
      subjectCommonName: properties.subjectCommonName(this),
      subjectAlternativeNames: properties.subjectAlternativeNames(this),
    };
  }

  get serialNumber(): string {
    return this.leaf.serialNumber.toLowerCase();
  }

  /** When the leaf is valid. */
  get validity(): { notBefore: string; notAfter: string } {
    const [start, end] = datesOf(this.leaf);
    return { notBefore: timestamp(start), notAfter: timestamp(end) };
  }

  /** `rsa`, `ecdsa` or `ed25519` (api.md §2.2), or undefined for a key that the service refuses. */
  get keyType(): string | undefined {
    const type = publicKey(this.leaf)?.asymmetricKeyType as string;
    return { rsa: "rsa", ec: "ecdsa", ed25519: "ed25519" }[type];
  }

  /** What a plan warns of, besides the expiry of the leaf. */
  warnings(now: Date): string[] {
    const rejected = "so clients may refuse the connection";
    const warnings: string[] = [];
    if (this.#lacksIntermediate) {
      const missing = `the intermediate certificate is missing: the chain has the leaf alone, ${rejected}`;
      warnings.push(`${missing}. Give the whole chain (fullchain.pem of certbot, not cert.pem)`);
    }
    for (const [index, certificate] of this.certificates.entries()) {
      const [start, end] = datesOf(certificate);
      const one = index === 0 ? "the leaf certificate" : `certificate ${index + 1} of the chain`;
      const advice = "ask the authority for its present intermediates";
      if (start > now) warnings.push(`${one} is not valid before ${timestamp(start)}, ${rejected}`);
      if (index > 0 && end <= now)
        warnings.push(`${one} expired on ${timestamp(end)}, ${rejected}: ${advice}`);
    }
    return warnings;
  }

  /**
   * Whether the intermediate is probably missing: one certificate, not self-signed, that gives its issuer's URL (AIA).
   * Private authorities often give none, and their clients may need no intermediate.
   */
  get #lacksIntermediate(): boolean {
    const { leaf } = this;
    const namesIssuer = /^CA Issuers - /m.test(leaf.infoAccess ?? "");
    return this.certificates.length === 1 && namesIssuer && !leaf.checkIssued(leaf);
  }

  toState(): ChainState {
    const state = Object.entries(properties).map(([name, read]) => [name, read(this)]);
    return Object.fromEntries(state);
  }
}

/**
 * The certificates in a PEM text as bytes, which are not parsed: equal for the same chain in another form.
 *
 * @throws PemError when there is none, or a block is damaged.
 */
export function chainBytes(text: string): Buffer {
  const ders = parsePem(text, "certificate").blocks.map(({ der }) => der);
  if (ders.some(({ length }) => length === 0)) throw new PemError(adviceOnDamage(text));
  return Buffer.concat(ders);
}

function certificatesIn({ blocks }: Pem, text: string): X509Certificate[] {
  return blocks.map(({ label, der }, index) => {
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
      throw new PemError(adviceOnDamage(text, certificate));
    }
    throw new PemError(`${certificate} has a date that can't be read`);
  });
}

const lineOfBase64 = /^[A-Za-z0-9+/]{40,}={0,2}\s*?$/m;

/** Throws when a line of PEM stands outside the blocks, because a damaged block would be left out. */
function refuseOutside({ blocks, outside }: Pem): void {
  if (!lineOfBase64.test(outside)) return;
  throw new PemError(
    `has lines of PEM outside its complete blocks (${blocks.length}): ` +
      "is a BEGIN or END line lost or damaged? Copy the whole file again",
  );
}

/** Throws when a certificate is not signed by the next one. */
function refuseDisorder(chain: readonly X509Certificate[]): void {
  const place = firstOutOfOrder(chain);
  if (place < 0) return;
  const fault = `certificate ${place + 1} did not sign certificate ${place}`;
  // Such as a root after its cross-signed form.
  const isExtra = place > 1 && firstOutOfOrder(chain.toSpliced(place, 1)) < 0;
  throw new PemError(
    isExtra
      ? `${fault}, and the others are in order: remove certificate ${place + 1}, or add what is missing between the two`
      : `${fault}: the leaf comes first, then each certificate's issuer. Correct the order, add what is missing and ` +
          "remove what is twice",
  );
}

/** The index of the first certificate that did not sign the one before it; -1 for a chain in order. */
function firstOutOfOrder(chain: readonly X509Certificate[]): number {
  return chain.findIndex(
    (one, index) => index > 0 && !isSigned(chain[index - 1] as X509Certificate, one),
  );
}

function isSigned(certificate: X509Certificate, issuer: X509Certificate): boolean {
  const key = publicKey(issuer);
  return key !== undefined && certificate.checkIssued(issuer) && certificate.verify(key);
}

/** Undefined for a kind of key that this Node.js does not support. */
function publicKey(leaf: X509Certificate): KeyObject | undefined {
  try {
    return leaf.publicKey;
  } catch {
    return undefined;
  }
}

function sha256(...parts: Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

function datesOf({ validFrom, validTo }: X509Certificate): [start: Date, end: Date] {
  return [new Date(validFrom), new Date(validTo)];
}

function timestamp(date: Date): string {
  return date.toISOString().replace(".000Z", "Z");
}

/**
 * The SHA-256 fingerprint that a text is, as outputs have it; undefined for any other text. Colons,
 * as OpenSSL writes them, and capital letters are accepted.
 */
export function fingerprintIn(text: string): string | undefined {
  const hex = text.replaceAll(":", "").toLowerCase();
  return /^[0-9a-f]{64}$/.test(hex) ? hex : undefined;
}
