import "reflect-metadata"; // @peculiar/x509 needs it.
import { type KeyObject, X509Certificate as NodeCertificate } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type GeneralName,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
} from "@peculiar/x509";

/**
 * A certificate of a chain. Node.js reads the key and the signature, as in the provider, the library
 * what Node.js 22 does not tell. A certificate that only one of the two can read is unreadable.
 */
export class Certificate extends X509Certificate {
  readonly key: KeyObject;
  /** The name or the OID of the signature's hash; of the algorithm when it has no other hash. */
  readonly signedWith: string;
  readonly #node: NodeCertificate;

  /** @throws Error when a policy could not read a part. */
  constructor(der: ArrayBuffer) {
    super(der);
    this.#node = new NodeCertificate(Buffer.from(der));
    this.key = this.#node.publicKey;
    // RFC 5280, 4.1.1.2: nothing signs the second copy of the algorithm, so it must equal the first.
    const { signatureAlgorithm, tbsCertificate } = this.asn;
    if (!tbsCertificate.signature.isEqual(signatureAlgorithm)) {
      throw new Error("the signature algorithms differ");
    }
    const { name, hash } = this.signatureAlgorithm as { name: string; hash?: { name: string } };
    this.signedWith = hash?.name ?? name;
  }

  /** The host names and addresses that it is valid for. */
  get hosts(): readonly GeneralName[] {
    const names = this.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
    return names.filter(({ type }) => type === "dns" || type === "ip");
  }

  /** Whether it may sign others. */
  get isAuthority(): boolean {
    return this.getExtension(BasicConstraintsExtension)?.ca === true;
  }

  /** What makes it no certificate of a server: an end of a sentence about it each. */
  get serverFaults(): string[] {
    const { usages = [] } = this.getExtension(ExtendedKeyUsageExtension) ?? {};
    return [
      this.isAuthority && "it is an authority's certificate",
      !usages.includes(ExtendedKeyUsage.serverAuth) && "its extended key usages lack serverAuth",
      this.hosts.length === 0 && "its subject alternative names have no host name or address",
    ].filter((fault) => typeof fault === "string");
  }

  signsItself(): boolean {
    return this.subject === this.issuer && this.#node.verify(this.key);
  }
}

type Chain = [Certificate, ...Certificate[]];

/** The certificates of a chain, leaf first; undefined when one of them can't be read. */
export function readChain(pem: string): Chain | undefined {
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
    "Have the certificate issued again."
  );
}
