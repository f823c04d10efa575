import assert from "node:assert/strict";
import { createPrivateKey, type KeyObject } from "node:crypto";
import { withoutApiKey, withoutArguments, withoutPrivateKeys } from "../client/redact";
import { type MadeCertificate, makeCertificate } from "../emulator/pki";

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("what a service says of an API key", () => {
  const key = "tlse_4bHq9ZrX+mWc7LpD/w==";
  it("C4 goes on without it, each time", () => {
    assert.equal(withoutApiKey(key)(`no: ${key}, and ${key}!`), "no: [secret], and [secret]!");
  });

  it("C4 goes on without a short one, but not without one that any word may have by chance", () => {
    assert.equal(withoutApiKey("abcdefgh")("no: abcdefgh"), "no: [secret]");
    assert.equal(withoutApiKey("is no")("this is no key"), "this is no key");
    assert.equal(withoutApiKey("")("nothing"), "nothing");
  });
});

describe("what a service says of a request with a private key", () => {
  const der = (key: KeyObject, type: "pkcs1" | "sec1" | "pkcs8") =>
    key.export({ type: type as "pkcs8", format: "der" });
  const pem = (key: KeyObject, type: "pkcs1" | "sec1" | "pkcs8") =>
    key.export({ type: type as "pkcs8", format: "pem" }) as string;
  const body = (text: string) => text.replace(/-----.*-----/g, "").trim();

  const forms: Record<string, (key: KeyObject) => string> = {
    PEM: (key) => pem(key, "pkcs8"),
    "PEM in JSON": (key) => JSON.stringify({ private_key_pem: pem(key, "pkcs8") }),
    "PEM without its end": (key) => pem(key, "pkcs8").slice(0, 100),
    "PEM without its marks": (key) => body(pem(key, "pkcs8")),
    "PEM on one line": (key) => pem(key, "pkcs8").replaceAll("\n", " "),
    "lines with escaped line breaks": (key) => body(pem(key, "pkcs8")).replaceAll("\n", "\\n"),
    "base64 of PEM": (key) => base64(pem(key, "pkcs8")),
    "DER in base64": (key) => der(key, "pkcs8").toString("base64"),
    "DER in base64 for URLs": (key) => der(key, "pkcs8").toString("base64url"),
    "the type's own DER": (key) =>
      der(key, key.asymmetricKeyType === "rsa" ? "pkcs1" : "sec1").toString("base64"),
    "a JWK": (key) => `${key.export({ format: "jwk" }).d}`,
    hexadecimal: (key) => der(key, "pkcs8").toString("hex").toUpperCase(),
  };
  for (const keyType of ["ecdsa", "ed25519", "rsa"] as const) {
    let made: MadeCertificate;
    before(async () => {
      made = await makeCertificate({ commonName: "app.example.com", keyType });
    });
    for (const [form, write] of Object.entries(forms)) {
      if (keyType === "ed25519" && form === "the type's own DER") continue;
      it(`C50 goes on without the key: ${keyType}, ${form}`, () => {
        const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } = made;
        const text = write(createPrivateKey(private_key_pem));
        const said = withoutPrivateKeys({ certificate_pem, private_key_pem })(
          "msg",
          `The request had ${text}, which is wrong.`,
        );
        const rest = said.replace(/\[secret\]|private_key_pem|Buffer|\\n|[^A-Za-z0-9]/g, "");
        // Of a block without its end, nobody knows where it ends.
        assert.ok(["Therequesthadwhichiswrong", "Therequesthad"].includes(rest), "a part is left");
      });
    }
  }

  it("C50 stays as it is where it has no key: ids, codes, names, times, and what was sent", async () => {
    const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } =
      await makeCertificate({ commonName: "app.example.com" });
    const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    const open = withoutPrivateKeys({
      ...{ certificate_pem, private_key_pem },
      metadata: `{"image":"sha256:${hash}"}`,
    });
    for (const text of [
      "cert_2abcdefghijklmnopqrstuvwxyz0 and op_0123456789abcdefghijklmnopqrst",
      "123e4567-e89b-12d3-a456-426614174000",
      "ERR_TLS_CERTIFICATE_PRIVATE_KEY_DOES_NOT_MATCH_LEAF (the private key is not the leaf's)",
      "serial 054b7f9a1c3e5d7f9a1c3e5d7f9a1c3e5d7f, valid until 2026-01-01T00:00:00+00:00",
      "https://docs.example.com/errors/err_example_218, 2001:db8:0:0:0:0:0:1 and 192.0.2.1",
      "a.very-long-name-of-a-department.of-an-even-longer-company-name.example.com:443",
      `The image sha256:${hash} is in metadata`,
      certificate_pem,
    ]) {
      assert.equal(open("msg", text), text);
    }
    const long = `https://api.example.com/tls_certificates/cert_${hash}`;
    for (const name of ["id", "uri", "certificate_pem"]) assert.equal(open(name, long), long);
    assert.notEqual(open("description", long), long);
  });

  it("C50 has no private key in PEM in any field, whatever the request was", () => {
    const key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----";
    for (const name of ["id", "uri", "certificate_pem", "description"]) {
      assert.equal(withoutPrivateKeys()(name, `a ${key} b`), "a [secret] b");
    }
  });
});

describe("what a service says of the secret arguments of a program", () => {
  const open = withoutArguments([
    "s3cret.shop.test:443",
    "db.io:443",
    "bkdtg_S3CRET x",
    "edge",
    '{"owner":"alice",\n"note":"kept + (quiet)"}',
    "-----BEGIN CERTIFICATE-----\nMIIBzzCCAXWg\n-----END CERTIFICATE-----\n",
  ]);
  const said: [string, string][] = [
    ["hostport s3cret.shop.test:443 is taken", "hostport [secret] is taken"],
    ["the host S3CRET.shop.TEST, port 443", "the host [secret], port 443"],
    ["The domain db.io is reserved", "The domain [secret] is reserved"],
    ["no backend bkdtg_S3CRET x", "no backend [secret]"],
    ["bkdtg_s3cret%20x", "[secret]%20x"],
    [
      'metadata {\\"owner\\":\\"alice\\",\\n\\"note',
      'metadata {\\"[secret]\\":\\"[secret]\\",\\n\\"[secret]',
    ],
    ['"{"owner":"alice",\n"note":"kept + (quiet)"}"', '"[secret]"'],
    ["the certificate MIIBzzCCAXWg", "the certificate [secret]"],
    ["the edge edgtls_1 has it", "the [secret] edgtls_1 has it"],
  ];
  for (const [text, left] of said) {
    it(`C50 goes on without them: ${JSON.stringify(text)}`, () => {
      assert.equal(open(text), left);
    });
  }

  it("C50 stays as it is where there are none", () => {
    for (const secrets of [[], [""]]) {
      assert.equal(withoutArguments(secrets)("a.example.com:443"), "a.example.com:443");
    }
  });
});
