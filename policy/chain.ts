import "reflect-metadata"; // @peculiar/x509 needs it.
import { type KeyObject, X509Certificate as NodeCertificate } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
} from "@peculiar/x509";

/**
 * A certificate of a chain. Node.js reads the key, the dates and the signature, as in the provider.
 * The library reads what Node.js 22 does not tell, such as the signature algorithm. A certificate
 * that only one of the two can read is unreadable.
 */
export class Certificate extends X509Certificate {
  readonly key: KeyObject;
  readonly begins: Date;
  readonly expires: Date;
  /** The name or the OID of the signature's hash; of the algorithm when it has no other hash. */
  readonly signedWith: string;
  readonly #node: NodeCertificate;

  /** @throws Error when a policy could not read a part. */
  constructor(der: ArrayBuffer) {
    super(der);
    this.#node = new NodeCertificate(Buffer.from(der));
    this.key = this.#node.publicKey;
    this.begins = dateOf(this.#node.validFrom);
    this.expires = dateOf(this.#node.validTo);
    // RFC 5280, 4.1.1.2: nothing signs the second copy of the algorithm, so it must equal the first.
    const { signatureAlgorithm, tbsCertificate } = this.asn;
    if (!tbsCertificate.signature.isEqual(signatureAlgorithm)) {
      throw new Error("the signature algorithms differ");
    }
    const { name, hash } = this.signatureAlgorithm as { name: string; hash?: { name: string } };
    this.signedWith = hash?.name ?? name;
  }

  /**
   * The same text for the same key. Of a point on a curve it is the first coordinate, because a
   * certificate may leave out the second one.
   */
  get keyIdentity(): string {
    const { subjectPublicKey } = this.asn.tbsCertificate.subjectPublicKeyInfo;
    const bits = Buffer.from(subjectPublicKey);
    if (this.key.asymmetricKeyType !== "ec") return bits.toString("hex");
    // SEC 1, 2.3.3: a byte 2 or 3 and one coordinate, or another byte and both.
    const isCompressed = bits[0] === 2 || bits[0] === 3;
    return bits.subarray(1, isCompressed ? undefined : (bits.length + 1) / 2).toString("hex");
  }

  /** What makes it no certificate of a server: an end of a sentence about it each. */
  get serverFaults(): string[] {
    const { usages = [] } = this.getExtension(ExtendedKeyUsageExtension) ?? {};
    const names = this.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
    return [
      this.getExtension(BasicConstraintsExtension)?.ca && "it is an authority's certificate",
      !usages.includes(ExtendedKeyUsage.serverAuth) && "its extended key usages lack serverAuth",
      !names.some(({ type }) => type === "dns" || type === "ip") &&
        "its subject alternative names have no host name or address",
    ].filter((fault) => typeof fault === "string");
  }

  signsItself(): boolean {
    return this.subject === this.issuer && this.#node.verify(this.key);
  }
}

/** JavaScript would read a year below 100, which Node.js writes with fewer digits, as 2045 or 1945. */
function dateOf(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime()) || !/\d{4} GMT$/.test(text)) {
    throw new Error("the date can't be read");
  }
  return date;
}

type Chain = [Certificate, ...Certificate[]];

/** What was read, by PEM text: several policies judge the same chain. */
const chains = new Map<string, Chain | undefined>();

/** The certificates of a chain, leaf first; undefined when one of them can't be read. */
export function readChain(pem: string): Chain | undefined {
  if (!chains.has(pem)) chains.set(pem, parseChain(pem));
  return chains.get(pem);
}

function parseChain(pem: string): Chain | undefined {
  try {
    const [leaf, ...issuers] = PemConverter.decode(pem).map((der) => new Certificate(der));
    return leaf && [leaf, ...issuers];
  } catch {
    return undefined;
  }
}

/** The violation of every policy that would have to read the chain: silence would let it pass. */
export function unread(name: string): string {
  return (
    `The chain of the TLS certificate "${name}" can't be read, so this policy can't judge it. ` +
    "Have the certificate issued again. If an earlier version of pulumi-tlsedge wrote its state, " +
    "run `pulumi refresh` first."
  );
}
