import type { MadeCertificate } from "pulumi-tlsedge-emulator";

/** Searches texts for keys: as they are, in base64 and URL-encoded (contract C50). */
export class Secrets {
  readonly #parts = new Map<string, string>();

  constructor(apiKey: string, pool: MadeCertificate[]) {
    this.#add("the API key", apiKey);
    pool.forEach(({ privateKeyPem }, index) => {
      // Of a PEM block, each line of its body: how its line breaks are escaped must not matter.
      const lines = privateKeyPem.split("\n").filter((line) => /^[\w+/=]{16,}$/.test(line));
      for (const line of lines) this.#add(`private key ${index + 1}`, line);
      this.#add(`private key ${index + 1}`, privateKeyPem);
    });
  }

  /** The secrets that stand in a text, by name. */
  in(text: string): string[] {
    const found = [...this.#parts].filter(([part]) => text.includes(part));
    return [...new Set(found.map(([, name]) => name))];
  }

  #add(name: string, secret: string): void {
    this.#parts.set(encodeURIComponent(secret), `${name}, URL-encoded`);
    this.#parts.set(secret, name);
    // In base64 a text looks different at each place in a group of three bytes.
    for (const shift of [0, 1, 2]) {
      const encoded = Buffer.from(`${"-".repeat(shift)}${secret}`).toString("base64");
      this.#parts.set(encoded.slice(4, -4), `${name} in base64`);
    }
  }
}
