import { createPrivateKey, type KeyObject, sign, verify, type X509Certificate } from "node:crypto";

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

/** A private key in any form: Go's TLS tries each, whatever the label says. Throws if it is in none. */
function readKey(der: Buffer): KeyObject {
  for (const type of ["pkcs8", "pkcs1", "sec1"] as const) {
    try {
      return createPrivateKey({ key: der, format: "der", type });
    } catch {
      // It has another form, or none.
    }
  }
  throw new Error("No private key.");
}

/** Whether a private key is that of a certificate, and can sign. Throws if it can't be read. */
export function fits(der: Buffer, certificate: X509Certificate): boolean {
  const key = readKey(der);
  return (
    certificate.checkPrivateKey(key) &&
    verify(null, der, certificate.publicKey, sign(null, der, key))
  );
}
