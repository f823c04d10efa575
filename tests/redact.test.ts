import assert from "node:assert/strict";
import { createPrivateKey, type KeyObject } from "node:crypto";
import { withoutApiKey, withoutArguments, withoutPrivateKeys } from "../client/redact";
import { makeCertificate } from "../emulator/pki";

/* Which secrets are cut out of the texts of a service, in which forms, and what stays as it is. */

it("C4: a text is shown without the API key, unless any word may have the key by chance", () => {
  // In base64 it has both signs that base64 for URLs writes in another way.
  const key = "tlse>>>???4bHq9ZrX+mWc7LpD/w=";
  const json = JSON.stringify(key);
  const forms = [
    key,
    json.replaceAll("/", "\\/"),
    json.replace(/[+=]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
    encodeURIComponent(key),
    encodeURIComponent(key).toLowerCase(),
    ...(["hex", "base64", "base64url"] as const).map((form) => Buffer.from(key).toString(form)),
  ];
  for (const form of forms) {
    const rest = withoutApiKey(key)(`no: ${form}, and ${form}!`).replace(/[\\"=]/g, "");
    assert.equal(rest, "no: [secret], and [secret]!", form);
  }
  assert.equal(withoutApiKey("abcdefgh")("no: abcdefgh"), "no: [secret]");
  assert.equal(withoutApiKey("is no")("this is no key"), "this is no key");
  assert.equal(withoutApiKey("")("nothing"), "nothing");
});

describe("an answer to a request with a private key", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }) as string;
  const der = (key: KeyObject) => key.export({ type: "pkcs8", format: "der" });
  const hex = (key: KeyObject) => der(key).toString("hex").match(/../g) ?? [];
  const rows = (key: KeyObject, length: number) =>
    der(key)
      .toString("base64")
      .match(new RegExp(`.{1,${length}}`, "g")) ?? [];
  const body = (key: KeyObject) => pem(key).replace(/-----.*-----/g, "");
  const forms: Record<string, (key: KeyObject) => string> = {
    PEM: pem,
    "PEM in JSON": (key) => JSON.stringify({ private_key_pem: pem(key) }),
    "PEM in a URL": (key) => encodeURIComponent(pem(key)),
    "PEM without its end": (key) => pem(key).slice(0, 100),
    "PEM without its marks": (key) => body(key).trim(),
    "PEM on one line": (key) => pem(key).replaceAll("\n", " "),
    "lines with escaped line breaks": (key) => body(key).trim().replaceAll("\n", "\\n"),
    "base64 of PEM": (key) => base64(pem(key)),
    "DER in base64": (key) => der(key).toString("base64"),
    "DER in base64 for URLs": (key) => der(key).toString("base64url"),
    "a JWK": (key) => `${key.export({ format: "jwk" }).d}`,
    hexadecimal: (key) => der(key).toString("hex").toUpperCase(),
    "hexadecimal with colons": (key) => hex(key).join(":"),
    "hexadecimal in groups": (key) =>
      `${der(key)
        .toString("hex")
        .match(/.{1,4}/g)
        ?.join(" ")}`,
    "hexadecimal as in C": (key) => `{ ${hex(key).map((byte) => `0x${byte}`)} }`,
    "hexadecimal as in Python": (key) => `b'\\x${hex(key).join("\\x")}'`,
    "numbers as in Go": (key) => `[${[...der(key)].join(" ")}]`,
    "numbers as in Java": (key) => `[${[...new Int8Array(der(key))].join(", ")}]`,
    "one number": (key) => `${BigInt(`0x${der(key).toString("hex")}`)}`,
    "base64 in short lines": (key) => rows(key, 16).join("\n"),
    "base64 in a list": (key) => JSON.stringify(rows(key, 16)),
  };
  for (const keyType of ["ecdsa", "ed25519", "rsa"] as const) {
    it(`C50: is shown without the key in any form: ${keyType}`, async () => {
      const made = await makeCertificate({ commonName: "app.example.com", keyType });
      const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } = made;
      const open = withoutPrivateKeys({ certificate_pem, private_key_pem });
      for (const [form, write] of Object.entries(forms)) {
        const text = write(createPrivateKey(private_key_pem));
        const rest = open(`The request had ${text}, which is wrong.`, "msg")
          .replace(/\[secret\]|private_key_pem|\\n|[^A-Za-z0-9]/g, "")
          // Of a block without its end, nobody knows where it ends.
          .replace(/whichiswrong$/, "");
        // A row by itself may be a word: the last one is short.
        assert.match(rest, /^Therequesthad\w{0,16}$/, form);
      }
    });
  }

  it("C50: is shown as it is where it has no key", async () => {
    const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } =
      await makeCertificate({ commonName: "app.example.com" });
    const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    const metadata = `{"image":"sha256:${hash}"}`;
    const open = withoutPrivateKeys({ certificate_pem, private_key_pem, metadata });
    for (const text of [
      "cert_2abcdefghijklmnopqrstuvwxyz0 and op_0123456789abcdefghijklmnopqrst",
      "123e4567-e89b-12d3-a456-426614174000",
      "ERR_TLS_CERTIFICATE_PRIVATE_KEY_DOES_NOT_MATCH_LEAF (the private key is not the leaf's)",
      "serial 054b7f9a1c3e5d7f9a1c3e5d7f9a1c3e5d7f, valid until 2026-01-01T00:00:00+00:00",
      "https://docs.example.com/errors/err_example_218, 2001:db8:0:0:0:0:0:1 and 192.0.2.1",
      `The image sha256:${hash} is in metadata`,
      certificate_pem,
    ]) {
      assert.equal(open(text, "msg"), text);
    }
    const id = `cert_${hash.replace("9", "8")}`;
    const uri = `https://api.example.com/tls_certificates/${id}`;
    for (const name of ["id", "certificate_pem"]) assert.equal(open(uri, name), uri);
    for (const name of ["uri", "description"]) assert.notEqual(open(uri, name), uri);
    // The answer says which id it is.
    assert.equal(withoutPrivateKeys({ private_key_pem }, { id })(uri, "uri"), uri);
  });
});

it("C91: private keys are looked for in proportion to the text", () => {
  const open = withoutPrivateKeys({ private_key_pem: "k", certificate_pem: "x2".repeat(100_000) });
  const secondsOf = (text: string) => {
    const { user } = process.cpuUsage();
    open(text, "msg");
    return process.cpuUsage({ user, system: 0 }).user / 1e6;
  };
  for (const unit of [`${"x1".repeat(21)} `, "x1", "-", "/", "a/", "BEGIN PRIVATE KEY "]) {
    const text = unit.repeat(12_000_000 / unit.length);
    assert.ok(secondsOf(text) < 2, unit);
  }
});

it("C50: no field of any answer has a private key in PEM", () => {
  const key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----";
  assert.equal(withoutPrivateKeys()(`a ${key} b`, "id"), "a [secret] b");
});

it("C50: a text is shown without the secret arguments of a program, and words of them", () => {
  const open = withoutArguments([
    "s3cret.shop.test:443",
    "db.io:443",
    "bkdtg_S3CRET x",
    "edge",
    '{"owner":"alice",\n"note":"kept + (quiet)"}',
    JSON.stringify({ note: "vault\npassw0rd" }),
    "-----BEGIN CERTIFICATE-----\nMIIBzzCCAXWg\n-----END CERTIFICATE-----\n",
  ]);
  const texts = {
    "hostport s3cret.shop.test:443 is taken": "hostport [secret] is taken",
    "the host S3CRET.shop.TEST, port 443": "the host [secret], port 443",
    "The domain db.io is reserved": "The domain [secret] is reserved",
    "no backend bkdtg_S3CRET x": "no backend [secret]",
    "bkdtg_s3cret%20x": "[secret]%20x",
    'metadata {\\"owner\\":\\"alice\\",\\n\\"note':
      'metadata {\\"[secret]\\":\\"[secret]\\",\\n\\"[secret]',
    'data \\nalice, \\"{"owner":"alice",\n"note":"kept + (quiet)"}"':
      'data \\n[secret], \\"[secret]"',
    "the certificate MIIBzzCCAXWg": "the certificate [secret]",
    "the word passw0rd is not allowed": "the word [secret] is not allowed",
    "the edge edgtls_1 has it": "the [secret] edgtls_1 has it",
  };
  for (const [text, left] of Object.entries(texts)) assert.equal(open(text), left);
  assert.equal(withoutArguments([""])("a.example.com:443"), "a.example.com:443");
});
