import assert from "node:assert/strict";
import { cutterOfPrivateKeys, formsOf, withoutSecrets } from "../client/redact";
import { makeCertificate } from "../emulator/pki";

/* Which secrets are cut out of the texts of a service, in which forms, and what stays as it is. */

it("C4: an API key is known as it is, in JSON, in a URL and in base64", () => {
  // In base64 it has both signs that base64 for URLs writes in another way.
  const key = 'tlse>>>???4bHq9ZrX+mWc7"LpD/w=';
  const base64 = (["base64", "base64url"] as const).map((form) => Buffer.from(key).toString(form));
  for (const form of [key, JSON.stringify({ key }), encodeURIComponent(key), ...base64]) {
    const rest = withoutSecrets(`no: ${form}, and ${form}!`, formsOf(key));
    assert.match(rest, /^no: (\{"key":")?\[secret\]\W*, and (\{"key":")?\[secret\]\W*!$/, form);
  }
});

it("C50: a secret of 8 characters or more is cut as a whole, the longest first, and no other word", () => {
  const secrets = [
    "a.example",
    "a.example.com:443",
    "example",
    "8letters",
    "",
    '{"owner":"$& \\d"}',
  ];
  for (const [text, rest] of [
    ["a.example.com:443 is taken", "[secret] is taken"],
    ["a.example, A.EXAMPLE and example", "[secret], A.EXAMPLE and example"],
    ["8letters", "[secret]"],
    ['no {"owner":"$& \\d"}: owner', "no [secret]: owner"],
  ] as const) {
    assert.equal(withoutSecrets(text, secrets), rest);
  }
});

describe("an answer", () => {
  const key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----";
  for (const [form, text, rest] of [
    ["in PEM", `a ${key} b`, "a [secret] b"],
    ["in JSON", JSON.stringify({ key }), '{"key":"[secret]"}'],
    ["without its end", `a ${key.slice(0, 40)}`, "a [secret]"],
    ["with a damaged start", `a ${key.slice(3)}`, "a [secret]"],
  ] as const) {
    it(`C50: has in no field a private key ${form}`, () => {
      assert.equal(cutterOfPrivateKeys()(text, "certificate_pem"), rest);
    });
  }

  for (const keyType of ["ecdsa", "ed25519", "rsa"] as const) {
    it(`C50: has no line of the key in the request: ${keyType}`, async () => {
      const made = await makeCertificate({ commonName: "app.example.com", keyType });
      const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } = made;
      const linesOf = (pem: string) => pem.split("\n").slice(1, -2);
      const [chain, lines] = [linesOf(certificate_pem), linesOf(private_key_pem)];
      const open = cutterOfPrivateKeys({ certificate_pem, private_key_pem });
      for (const sign of ["", " ", "\n", "\\n", '", "']) {
        const rest = open(lines.join(sign), "msg")
          .replaceAll("[secret]", "")
          .replaceAll("\\n", " ");
        // The last line may be shorter, and both have the public key.
        const left = rest.match(/[\w+/]{16,}/g) ?? [];
        assert.ok(
          left.every((one) => chain.join("").includes(one)),
          rest,
        );
        assert.ok(rest.length < lines.join(sign).length, sign);
      }
      assert.equal(open(certificate_pem, "certificate_pem"), certificate_pem);
      assert.equal(open(certificate_pem, "msg"), certificate_pem);
    });
  }

  it("C50: keeps a line that the chain of the request also has, which is public", () => {
    const [shared, own] = ["modulus+".repeat(8), "exponent".repeat(8)];
    const certificate_pem = `head${shared.slice(0, 20)}\n${shared.slice(20)}tail`;
    const open = cutterOfPrivateKeys({ certificate_pem, private_key_pem: `${shared}\n${own}` });
    assert.equal(open(`${shared} ${own}`, "msg"), `${shared} [secret]`);
    assert.equal(open(own, "certificate_pem"), own);
  });
});

it("C91: private keys are looked for in proportion to the text", () => {
  const open = cutterOfPrivateKeys({ private_key_pem: "x1".repeat(32) });
  for (const unit of [`${"x1".repeat(31)} `, "x1", "-", "BEGIN PRIVATE KEY "]) {
    const text = unit.repeat(12_000_000 / unit.length);
    const { user } = process.cpuUsage();
    open(text, "msg");
    assert.ok(process.cpuUsage({ user, system: 0 }).user < 2e6, unit);
  }
});
