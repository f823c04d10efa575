import "reflect-metadata"; // @peculiar/x509 needs it.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import * as x509 from "@peculiar/x509";
import { makeCertificate } from "../emulator/pki";

/** A certificate with its key. */
export interface Pair {
  certificatePem: string;
  privateKeyPem: string;
}

/** An authority below a root: what it issues has a chain. Valid for longer than what it issues. */
export const makeIssuer = async () => {
  const notAfter = new Date(Date.now() + 5 * 365 * 24 * 3_600_000);
  const root = await makeCertificate({ commonName: "Root", isCa: true, notAfter });
  return makeCertificate({ commonName: "CA", isCa: true, issuer: root, notAfter });
};

/** Long enough valid that only the given days say when it is due. */
const notBefore = new Date(0);

/** What the policies judge, by name: `shop-again` has the key of `shop`. */
export async function certificates(): Promise<
  Record<"weak" | "wildcard" | "shop" | "shop-again", Pair>
> {
  const commonName = "app.example.com";
  const issuer = await makeIssuer();
  const ca = { key: createPrivateKey(issuer.privateKeyPem), name: "CN=CA" };
  const issued = async (key: KeyObject) => {
    const { certificatePem, privateKeyPem } = await signed(key, "SHA-256", ca);
    return { certificatePem: certificatePem + issuer.certificatePem, privateKeyPem };
  };
  const shop = await makeCertificate({ commonName, dnsNames: [commonName], issuer });
  return {
    weak: await issued(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey),
    wildcard: await makeCertificate({ commonName, dnsNames: ["*.example.com"], issuer, notBefore }),
    shop,
    "shop-again": await issued(createPrivateKey(shop.privateKeyPem)),
  };
}

/** The extensions of a server's certificate. */
const ofServer = [
  new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
  new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "app.example.com" }]),
];

/**
 * A certificate for any key, a weak one too. By default the key signs it; `spki` is another public
 * key to certify, as DER.
 */
export async function signed(
  key: KeyObject,
  hash = "SHA-256",
  signer = { key, name: "CN=app.example.com" },
  spki = createPublicKey(key.export({ type: "pkcs8", format: "pem" })).export({
    type: "spki",
    format: "der",
  }),
  extensions: x509.Extension[] = ofServer,
): Promise<Pair> {
  const algorithm =
    signer.key.asymmetricKeyType === "rsa"
      ? { name: "RSASSA-PKCS1-v1_5", hash }
      : { name: "ECDSA", namedCurve: "P-256", hash };
  const certificate = await x509.X509CertificateGenerator.create({
    subject: "CN=app.example.com",
    issuer: signer.name,
    notBefore,
    notAfter: new Date(Date.now() + 365 * 24 * 3_600_000),
    publicKey: new x509.PublicKey(spki),
    signingKey: signer.key.toCryptoKey(algorithm, false, ["sign"]),
    signingAlgorithm: algorithm,
    extensions,
  });
  return {
    certificatePem: `${certificate.toString("pem")}\n`,
    privateKeyPem: String(key.export({ type: "pkcs8", format: "pem" })),
  };
}
