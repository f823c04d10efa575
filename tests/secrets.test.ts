import assert from "node:assert/strict";
import { type CertificateOptions, makeCertificate } from "../emulator/pki";
import { Secrets } from "../tools/secrets";

const apiKey = "tlse_4bHq9ZrX2mWc7LpD3nKs8VtY";
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The places in which a text may hold a secret. */
const places: Record<string, (secret: string) => string> = {
  "in plain": (secret) => `before ${secret} after`,
  "in JSON": (secret) => JSON.stringify({ secret: JSON.stringify({ secret }) }),
  "in base64, at a multiple of three bytes": (secret) => base64(`abc${secret}def`),
  "in base64, one byte later": (secret) => base64(`abcd${secret}ef`),
  "in base64, two bytes later": (secret) => base64(`abcde${secret}f`),
  "in base64 of 76 columns": (secret) => base64(`abc${secret}`).replace(/.{76}/g, "$&\r\n"),
  "URL-encoded": (secret) => `?key=${encodeURIComponent(secret)}&more`,
  "with CRLF line breaks": (secret) => secret.replaceAll("\n", "\r\n"),
  "with escaped line breaks": (secret) => secret.replaceAll("\n", "\\n"),
  "indented, 20 columns wide": (secret) => secret.replace(/\s/g, "").replace(/.{20}/g, "$&\n    "),
  "on one line": (secret) => secret.replace(/\s+/g, " "),
  "in part": (secret) => {
    const body = secret.replace(/-----.*-----|\s/g, "");
    return body.slice(0.35 * body.length).slice(0, 20);
  },
};

describe("the search for secrets", () => {
  for (const [place, put] of Object.entries(places)) {
    it(`C50 finds the API key ${place}`, () => {
      const secrets = new Secrets();
      secrets.add("the API key", apiKey);
      assert.deepEqual(secrets.in(put(apiKey)), ["the API key"]);
    });
  }

  for (const keyType of ["ecdsa", "ed25519", "rsa"] as const) {
    const make = (options: Partial<CertificateOptions> = {}) =>
      makeCertificate({ commonName: "app.example.com", keyType, ...options });

    for (const [place, put] of Object.entries(places)) {
      it(`C50 finds a private key (${keyType}) ${place}`, async () => {
        const secrets = new Secrets();
        const { privateKeyPem } = await make();
        secrets.add("the key", privateKeyPem);
        assert.deepEqual(secrets.in(put(privateKeyPem)), ["the key"]);
      });
    }

    it(`finds no private key (${keyType}) in its certificate`, async () => {
      // Each name moves the public key to another offset in the certificate.
      for (const commonName of ["a", "ab", "abc", "abcd", "abcde"]) {
        const secrets = new Secrets();
        const { certificatePem, privateKeyPem } = await make({ commonName });
        secrets.add("the key", privateKeyPem);
        secrets.add("the API key", apiKey);
        for (const put of Object.values(places)) {
          assert.deepEqual(secrets.in(put(certificatePem)), []);
        }
      }
    });
  }

  it("refuses a secret that is too short to be searched for", () => {
    assert.throws(() => new Secrets().add("the key", "tlse_short"), /too short/);
  });
});
