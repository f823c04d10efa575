import "reflect-metadata"; // @peculiar/x509 needs it.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import * as x509 from "@peculiar/x509";
import { makeCertificate } from "../emulator/pki";
import type { Project } from "../tools/engine";

const day = 24 * 3_600_000;

/** A certificate with its key. */
export interface Pair {
  certificatePem: string;
  privateKeyPem: string;
}

/** Writes the certificates into a project's folder; keys are kept secret. */
export async function writeCertificates(project: Project): Promise<void> {
  for (const [name, pair] of Object.entries(await certificates())) {
    project.keepSecret(`the key of ${name}`, pair.privateKeyPem);
    await project.file(`${name}.pem`, pair.certificatePem);
    await project.file(`${name}.key`, pair.privateKeyPem);
  }
}

/** What the policies judge, by name: violations and what is right. */
export async function certificates(): Promise<Record<string, Pair>> {
  const root = await makeCertificate({ commonName: "Root", isCa: true });
  const issuer = await makeCertificate({ commonName: "Intermediate", isCa: true, issuer: root });
  const app = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
  const fullChain = await makeCertificate({ ...app, issuer });
  const [leaf = ""] = fullChain.certificatePem.split(/(?<=-----END CERTIFICATE-----\n)/);
  const shop = await makeCertificate(app);
  const shopKey = createPrivateKey(shop.privateKeyPem);
  const week = new Date(Date.now() + 7 * day);
  return {
    "expires-in-a-week": await makeCertificate({ ...app, notAfter: week }),
    "rsa-1024": await signed(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey),
    sha1: await signed(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "SHA-1"),
    "leaf-alone": { ...fullChain, certificatePem: leaf },
    "full-chain": fullChain,
    "name-in-subject": await makeCertificate({ commonName: "app.example.com" }),
    wildcard: await makeCertificate({ ...app, dnsNames: ["*.example.com"] }),
    shop,
    "shop-again": await signed(shopKey),
    blog: await makeCertificate(app),
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
    notAfter: new Date(Date.now() + 365 * day),
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
