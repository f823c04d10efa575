import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { Chain } from "./chain";
import { PemError, parsePem } from "./pem";
import { adviceOnDamage } from "./pemAdvice";

export class PrivateKey {
  readonly #key: KeyObject;

  private constructor(key: KeyObject) {
    this.#key = key;
  }

  /**
   * The private key in a PEM text: PKCS#8, PKCS#1 or SEC1, not encrypted.
   *
   * @throws PemError when there is none.
   */
  static parse(text: string): PrivateKey {
    const { blocks } = parsePem(text, "private key");
    const [key, ...more] = blocks.filter(({ label }) => label.endsWith("PRIVATE KEY"));
    if (more.length > 0)
      throw new PemError("holds more than one private key: keep that of the leaf");
    // Whatever the label says, as Go and OpenSSL do.
    for (const type of ["pkcs8", "pkcs1", "sec1"] as const) {
      try {
        return new PrivateKey(createPrivateKey({ key: key?.der as Buffer, format: "der", type }));
      } catch {
        // It may have another form.
      }
    }
    throw new PemError(adviceOnDamage(text));
  }

  /** Whether it signs for its own public key. Most damaged RSA keys do: the service refuses them. */
  canSign(): boolean {
    try {
      const data = Buffer.alloc(32);
      return verify(null, data, createPublicKey(this.#key), sign(null, data, this.#key));
    } catch {
      return false;
    }
  }

  belongsTo({ leaf }: Chain): boolean {
    return leaf.checkPrivateKey(this.#key);
  }

  /** The form that is sent: PKCS#8 alone, without what stands beside it in the text. */
  toPkcs8(): string {
    return String(this.#key.export({ type: "pkcs8", format: "pem" }));
  }
}
