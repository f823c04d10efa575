import assert from "node:assert/strict";
import { makeCertificate } from "../emulator/pki";
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
  "URL-encoded": (secret) => `?key=${encodeURIComponent(secret)}&more`,
  "in JSON, indented, 12 columns wide": (secret) =>
    JSON.stringify(secret.replace(/\s/g, "").replace(/.{12}/g, "$&\n    ")),
  "in part": (secret) => {
    const body = secret.replace(/-----.*-----|\s/g, "");
    return body.slice(0.35 * body.length).slice(0, 20);
  },
};

// When this search finds nothing, no other test fails: all of them search with it.
describe("the search for secrets", () => {
  it("C50 finds the API key, and private keys of each kind, in each form", async () => {
    const keys = ["ecdsa", "ed25519", "rsa"] as const;
    const made = await Promise.all(
      keys.map((keyType) => makeCertificate({ commonName: "app.example.com", keyType })),
    );
    for (const secret of [apiKey, ...made.map(({ privateKeyPem }) => privateKeyPem)]) {
      const secrets = new Secrets();
      secrets.add("the secret", secret);
      for (const [place, put] of Object.entries(places))
        assert.deepEqual(secrets.in(put(secret)), ["the secret"], place);
      for (const { certificatePem } of made) assert.deepEqual(secrets.in(certificatePem), []);
    }
    assert.throws(() => new Secrets().add("the key", "tlse_short"), /too short/);
  });
});
