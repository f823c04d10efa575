import assert from "node:assert/strict";
import { redactor, secretsOfPem } from "../client/redact";

const redact = (text: string, secrets: string[]) => redactor(secrets)(text);

describe("what a service says", () => {
  const key = "tlse_4bHq9ZrX2mWc7LpD";
  // Lines so short, and with such signs, that URL-encoding leaves no long part of them as it is.
  const lines = ["ab+cd/ef", "Gh+Ij/kl", "mN+oP/qR", "12+34/56"];
  const pem = `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
  const secrets = [key, ...secretsOfPem(pem)];
  const block = lines.join("\n");

  it("C4 C50 goes on without a key that is quoted as it is", () => {
    assert.equal(redact(`no: ${key}, ${key}!`, secrets), "no: [secret], [secret]!");
    assert.equal(redact(`no: ${block}.`, secrets), "no: [secret].");
    assert.equal(redact("no: abcdefgh", ["abcdefgh"]), "no: [secret]");
  });

  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const encoded = (sign: string) => `%${sign.charCodeAt(0).toString(16)}`;
  const quoted: [string, string][] = [
    ["its beginning", key.slice(0, 16)],
    ["its end", key.slice(-16)],
    ["spaces in it", key.replace(/(.{7})/g, "$1 ")],
    ["a line break in it", `${key.slice(0, 8)}\n${key.slice(8)}`],
    ["base64", base64(key)],
    ["base64 of a text that it ends", base64(`key: ${key}`)],
    ["base64 of a text that has it inside", base64(`ke: ${key} and more`)],
    ["base64 of a text that it begins", base64(`${key} and more`)],
    ["a PEM block without its line breaks", lines.join("")],
    ["a PEM block with others", lines.join("\r\n\t")],
    ["two lines of a PEM block", lines.slice(1, 3).join("\n")],
    ["a PEM block in base64", base64(pem)],
    ["a PEM block, URL-encoded", encodeURIComponent(block)],
    ["a PEM block without its line breaks, URL-encoded", encodeURIComponent(lines.join(""))],
    ["other letters", key.toUpperCase()],
    ["hexadecimal", Buffer.from(key).toString("hex")],
    ["hexadecimal in capitals", Buffer.from(pem).toString("hex").toUpperCase()],
    ["base64 for URLs", Buffer.from(block).toString("base64url")],
    ["every character URL-encoded", [...key].map((sign) => encoded(sign)).join("")],
    ["every character URL-encoded twice", encodeURIComponent([...key].map(encoded).join(""))],
    ["a character that nobody sees in it", [...key].join("\u200b")],
    ["such a character, escaped", [...key].join("\\u200b")],
    ["line breaks, escaped", lines.join("\\n")],
    ["slashes, escaped", block.replaceAll("/", "\\/")],
  ];
  for (const [what, text] of quoted) {
    it(`C4 C50 is left out when it quotes a key: ${what}`, () => {
      for (const said of [text, `the request had ${text}, which is wrong`]) {
        assert.equal(redact(said, secrets), redact(key.slice(0, 16), secrets));
      }
    });
  }

  it("C4 is left out when it quotes a short key with a space in it, or in base64", () => {
    assert.doesNotMatch(redact("no: abcd efgh", ["abcdefgh"]), /abcd/);
    for (const short of ["abcdefgh", "abcdefghi", "short.key.1"]) {
      for (const before of ["", "x", "xx"]) {
        const [alone, inside] = [base64(before + short), base64(`${before}${short} and more`)];
        for (const quoted of [alone, alone.replace(/=+$/, ""), inside]) {
          assert.notEqual(redact(`no: ${quoted}`, [short]), `no: ${quoted}`);
        }
      }
    }
  });

  it("stays as it is when it quotes no key", () => {
    const said = "-----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY----- is no key of tlse_";
    for (const known of [secrets, [], ["", "is no", "PRIVATE"]]) {
      assert.equal(redact(said, known), said);
    }
  });
});
