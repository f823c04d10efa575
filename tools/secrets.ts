import { createPrivateKey } from "node:crypto";

/** A text contains a secret when it has this many characters of it in a row. */
const partLength = 16;

/** How texts are compared: as they are, and without line breaks, indentation and escapes. */
const views = [String, (text: string) => text.replace(/\\[nrt]/g, "").replace(/[^A-Za-z0-9]/g, "")];

/** Searches texts for parts of secrets: in plain, in base64 at any offset, or URL-encoded. */
export class Secrets {
  readonly #names = new Map<string, string>();

  /**
   * Adds a secret. Of a private key in PEM, only the private numbers are secret: its public key is
   * in certificates, too.
   *
   * @throws Error when the secret is too short to be searched for.
   */
  add(name: string, secret: string): void {
    const forms = textsOf(secret).flatMap((text) => [
      text,
      encodeURIComponent(text),
      ...inBase64(Buffer.from(text)),
    ]);
    const parts = views.flatMap((view) => forms.map(view)).flatMap(partsOf);
    if (parts.length === 0) throw new Error(`${name} is too short to be searched for`);
    for (const part of parts) this.#names.set(part, name);
  }

  /** The names of the secrets that a text contains a part of. */
  in(text: string): string[] {
    const found = new Set<string>();
    for (const view of views.map((one) => one(text))) {
      for (let at = 0; at + partLength <= view.length; at++) {
        const name = this.#names.get(view.slice(at, at + partLength));
        if (name) found.add(name);
      }
    }
    return [...found];
  }
}

function textsOf(secret: string): string[] {
  try {
    const { d, p, q, dp, dq, qi } = createPrivateKey(secret).export({ format: "jwk" });
    const numbers = [d, p, q, dp, dq, qi].flatMap((number) => number ?? []);
    return numbers.flatMap((number) => inBase64(Buffer.from(number, "base64url")));
  } catch {
    // Not a key, or an encrypted or damaged one.
    const [, body = secret] = secret.split(/-----[A-Z ]+-----/);
    return [body.trim()];
  }
}

/**
 * The bytes in base64, at each offset in a group of three bytes, without the characters that depend
 * on other bytes.
 */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].map((zeros) =>
    Buffer.concat([Buffer.alloc(zeros), bytes])
      .toString("base64")
      .slice(4, -4),
  );
}

function partsOf(form: string): string[] {
  const count = Math.max(0, form.length - partLength + 1);
  return Array.from({ length: count }, (_, at) => form.slice(at, at + partLength));
}
