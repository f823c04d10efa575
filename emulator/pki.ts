import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

const hour = 3_600_000;
const year = 365 * 24 * hour;

const algorithms = {
  ecdsa: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ed25519: { name: "Ed25519" },
  rsa: {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
};

/** The options of `makeCertificate`. */
export interface CertificateOptions {
  commonName: string;
  organization?: string;
  organizationalUnit?: string;
  locality?: string;
  province?: string;
  /** Two letters. */
  country?: string;
  /** The DNS names of the certificate, wildcards included. Default: none. */
  dnsNames?: string[];
  /** The IPv4 and IPv6 addresses of the certificate. Default: none. */
  ips?: string[];
  /** Default `ecdsa` (P-256); `rsa` has 2048 bits. */
  keyType?: "ecdsa" | "ed25519" | "rsa";
  /** Default: an hour ago. */
  notBefore?: Date;
  /** Default: a year from now. */
  notAfter?: Date;
  /** The certificate that signs this one. Default: a self-signed certificate. */
  issuer?: MadeCertificate;
  /** Whether the certificate may sign others. Default false. */
  isCa?: boolean;
}

/** A certificate and its key, as plain data that JSON can store. */
export interface MadeCertificate {
  /** The certificate, then its issuers in order, without the root. */
  certificatePem: string;
  /** The certificate's private key, PKCS#8, unencrypted. */
  privateKeyPem: string;
  keyType: "ecdsa" | "ed25519" | "rsa";
}

/**
 * Makes a key and a certificate for tests and examples: a root, an intermediate or a leaf.
 * Throws when the issuer's PEM can't be read.
 */
export async function makeCertificate(options: CertificateOptions): Promise<MadeCertificate> {
  const { issuer, isCa = false, keyType = "ecdsa" } = options;
  const { subtle } = webcrypto;
  const generated = await subtle.generateKey(algorithms[keyType], true, ["sign", "verify"]);
  const keys = generated as webcrypto.CryptoKeyPair;
  const decode = (pem: string) => x509.PemConverter.decodeFirst(pem);
  const signer = issuer && {
    certificate: new x509.X509Certificate(decode(issuer.certificatePem)),
    key: await subtle.importKey(
      "pkcs8",
      decode(issuer.privateKeyPem),
      algorithms[issuer.keyType],
      false,
      ["sign"],
    ),
  };
  const subject = subjectOf(options);
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: signer?.certificate.subjectName ?? subject,
    publicKey: keys.publicKey,
    signingKey: signer?.key ?? keys.privateKey,
    signingAlgorithm: algorithms[issuer?.keyType ?? keyType],
    notBefore: options.notBefore ?? new Date(Date.now() - hour),
    notAfter: options.notAfter ?? new Date(Date.now() + year),
    extensions: [
      ...usages(isCa),
      ...names(options),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(
        signer?.certificate.publicKey ?? keys.publicKey,
      ),
    ],
  });
  const isRoot = !signer || signer.certificate.subject === signer.certificate.issuer;
  const privateKey = await subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificatePem: `${certificate.toString("pem")}\n${isRoot ? "" : issuer?.certificatePem}`,
    privateKeyPem: `${x509.PemConverter.encode(privateKey, "PRIVATE KEY")}\n`,
    keyType,
  };
}

/** Makes the emulator's CA. Valid for ten years, so that a stored CA can stay trusted. */
export function makeAuthority(): Promise<MadeCertificate> {
  return makeCertificate({
    commonName: "pulumi-tlsedge-emulator CA",
    isCa: true,
    notAfter: new Date(Date.now() + 10 * year),
  });
}

/** Makes the emulator's server certificate, for every name of loopback. */
export function makeServerCertificate(issuer: MadeCertificate): Promise<MadeCertificate> {
  return makeCertificate({
    commonName: "localhost",
    dnsNames: ["localhost"],
    ips: ["127.0.0.1", "::1"],
    issuer,
  });
}

function subjectOf(options: CertificateOptions): x509.JsonName {
  const { commonName, organization, organizationalUnit, locality, province, country } = options;
  const parts = { CN: commonName, O: organization, OU: organizationalUnit, L: locality };
  return Object.entries({ ...parts, ST: province, C: country }).flatMap(([name, value]) =>
    value ? [{ [name]: [value] }] : [],
  );
}

function usages(isCa: boolean): x509.Extension[] {
  const { cRLSign, digitalSignature, keyCertSign } = x509.KeyUsageFlags;
  const basic = new x509.BasicConstraintsExtension(isCa, undefined, true);
  if (isCa) return [basic, new x509.KeyUsagesExtension(keyCertSign | cRLSign, true)];
  return [
    basic,
    new x509.KeyUsagesExtension(digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
  ];
}

function names({ dnsNames = [], ips = [] }: CertificateOptions): x509.Extension[] {
  const dns = dnsNames.map((value) => ({ type: "dns" as const, value }));
  const all = [...dns, ...ips.map((value) => ({ type: "ip" as const, value }))];
  return all.length > 0 ? [new x509.SubjectAlternativeNameExtension(all)] : [];
}
