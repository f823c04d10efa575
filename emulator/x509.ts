import "reflect-metadata";
import { isAscii } from "node:buffer";
import { createPrivateKey, type KeyObject, sign, verify, type X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { timestamp } from "./wire";

/** The blocks that Go's `pem.Decode` finds. It passes over a broken block as over other text. */
export function findBlocks(text: string): { label: string; headers: string; der: Buffer }[] {
  const pieces = `\n${text}`.split("\n-----END ");
  return pieces.slice(1).flatMap((after, index) => {
    const before = `${pieces[index]}\n`;
    const block = before.slice(Math.max(0, before.lastIndexOf("-----BEGIN ") - 1));
    const [, label, headers = "", body = ""] =
      /^\n-----BEGIN (.*)-----[ \t]*\r?\n((?:[^:\n]*:.*\n)*)([^:]*)$/.exec(block) ?? [];
    const base64 = body.replace(/[ \t\r\n]/g, "");
    const isBase64 = base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64);
    const end = `${label}-----`;
    const isEnded = after.startsWith(end) && /^[ \t]*(\r?\n|$)/.test(after.slice(end.length));
    if (label === undefined || !isBase64 || !isEnded) return [];
    return [{ label, headers, der: Buffer.from(base64, "base64") }];
  });
}

/** How the public keys start that Go's TLS reads, in hex. Points must not be compressed. */
const keyStarts = {
  rsa: /^30(82.{4}|81..|..)300d06092a864886f70d010101050003/,
  ecdsa:
    /^30(81..|..)30..06072a8648ce3d0201(06082a8648ce3d030107|06052b8104002[123])03(81..|..)0004/,
  ed25519: /^302a300506032b6570032100/,
};

/** `rsa`, `ecdsa` on P-224, P-256, P-384 or P-521, or `ed25519`; undefined for another key. */
export function keyTypeOf({ publicKey }: x509.X509Certificate): string | undefined {
  const hex = Buffer.from(publicKey.rawData).toString("hex");
  return Object.entries(keyStarts).find(([, start]) => start.test(hex))?.[0];
}

/** Both key identifiers, and the addresses of the authority. */
const neverCritical = ["2.5.29.14", "2.5.29.35", "1.3.6.1.5.5.7.1.1"];

/** Throws for a certificate that Go's `crypto/x509` refuses though others read it. */
export function refuseAsGo({ serialNumber }: X509Certificate, parsed: x509.X509Certificate): void {
  const { extensions } = parsed;
  const ids = extensions.map(({ type }) => type);
  const texts = alternativeNames(parsed).filter(({ type }) => /dns|email|url/.test(type));
  const isRefused =
    serialNumber.startsWith("-") ||
    new Set(ids).size < ids.length ||
    extensions.some(({ critical, type }) => critical && neverCritical.includes(type)) ||
    !texts.every(({ value }) => isAscii(Buffer.from(value)));
  if (isRefused) throw new Error("Go refuses its serial number, its extensions or its names.");
}

export function alternativeNames(certificate: x509.X509Certificate): readonly x509.GeneralName[] {
  return certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
}

/** An address as Go prints it: an IPv4 address in IPv6 as IPv4. */
export function ipOf(address: string): string {
  const mapped = /^::ffff:(\w+):(\w+)$/.exec(address);
  const words = mapped?.slice(1).map((word) => Number.parseInt(word, 16));
  return words?.flatMap((word) => [word >> 8, word & 255]).join(".") ?? address;
}

/** A date of a certificate. The library reads the years 0 to 99 as 1900 to 1999. */
export function timeOf({ rawData }: x509.X509Certificate, date: Date): string {
  const time = timestamp(date);
  const early = `00${time.slice(2)}`;
  return Buffer.from(rawData).includes(early.replace(/[-:T]/g, "")) ? early : time;
}

/** How a key starts to write out its curve in place of the curve's name: the id of prime fields. */
const writtenOut = Buffer.from("06072a8648ce3d0101", "hex");

/** A private key in any form: Go's TLS tries each, whatever the label says. Throws if it is in none. */
function readKey(der: Buffer): KeyObject {
  for (const type of ["pkcs8", "pkcs1", "sec1"] as const) {
    try {
      if (!der.includes(writtenOut)) return createPrivateKey({ key: der, format: "der", type });
    } catch {
      // It has another form, or none.
    }
  }
  throw new Error("No private key.");
}

/** Whether a private key is that of a certificate and not damaged. Throws if it can't be read. */
export function fits(der: Buffer, certificate: X509Certificate): boolean {
  const key = readKey(der);
  const { publicKey } = certificate;
  if (key.asymmetricKeyType !== publicKey.asymmetricKeyType) return false;
  if (key.asymmetricKeyType === "rsa") return certificate.checkPrivateKey(key) && isConsistent(key);
  return verify(null, der, publicKey, sign(null, der, key));
}

/** Whether the numbers of an RSA key fit together: OpenSSL signs without the primes if they don't. */
function isConsistent(key: KeyObject): boolean {
  const jwk = key.export({ format: "jwk" });
  const number = (name: "n" | "e" | "d" | "p" | "q" | "dp" | "dq" | "qi") =>
    BigInt(`0x${Buffer.from(jwk[name] ?? "", "base64url").toString("hex")}`);
  const [p, q] = [number("p"), number("q")];
  const isInverse = (power: bigint, prime: bigint) =>
    number("d") % (prime - 1n) === power && (number("e") * power) % (prime - 1n) === 1n;
  return (
    p * q === number("n") &&
    isInverse(number("dp"), p) &&
    isInverse(number("dq"), q) &&
    (number("qi") * q) % p === 1n
  );
}
