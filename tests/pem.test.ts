import assert from "node:assert/strict";
import { createHash, type X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type MadeCertificate, makeCertificate } from "../emulator/server";
import {
  chainFingerprint,
  covers,
  describeChain,
  formatChain,
  namesCovering,
  PemError,
  parseChain,
  parseKey,
  parseOrderedChain,
} from "../provider/values/pem";
import { setEnv } from "./support";

const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");

describe("PEM text", () => {
  let leaf: MadeCertificate;
  before(async () => {
    const root = await makeCertificate({ commonName: "root", isCa: true });
    const issuer = await makeCertificate({ commonName: "Issuing CA", isCa: true, issuer: root });
    leaf = await makeCertificate({
      commonName: "app.example.com",
      organization: "Acme, Inc.",
      organizationalUnit: "Web",
      locality: "Köln",
      province: "NRW",
      country: "DE",
      dnsNames: ["app.example.com", "*.Sub.example.com"],
      ips: ["10.0.0.1", "2001:db8::1"],
      notBefore: new Date("2026-03-08T06:30:00Z"),
      notAfter: new Date("2036-11-02T05:59:59Z"),
      issuer,
    });
  });

  it("C14 each field of the leaf is told in its own place", () => {
    const [certificate, issuer] = parseChain(leaf.certificatePem);
    assert.ok(certificate && issuer);
    const spki = certificate.publicKey.export({ type: "spki", format: "der" });
    assert.deepEqual(describeChain([certificate, issuer]), {
      subjectCommonName: "app.example.com",
      subjectAlternativeNames: {
        dnsNames: ["app.example.com", "*.Sub.example.com"],
        ips: ["10.0.0.1", "2001:db8::1"],
      },
      issuerCommonName: "Issuing CA",
      serialNumber: certificate.serialNumber.toLowerCase(),
      notBefore: "2026-03-08T06:30:00Z",
      notAfter: "2036-11-02T05:59:59Z",
      privateKeyType: "ecdsa",
      fingerprint: sha256(certificate.raw),
      subjectOrganization: "Acme, Inc.",
      subjectOrganizationalUnit: "Web",
      subjectLocality: "Köln",
      subjectProvince: "NRW",
      subjectCountry: "DE",
      publicKeyFingerprint: sha256(spki),
      chainFingerprint: sha256(Buffer.concat([certificate.raw, issuer.raw])),
    });
  });

  it("C14 a name with a comma is one name", async () => {
    const { certificatePem } = await makeCertificate({ commonName: "a", dnsNames: ["a,b", "c"] });
    const { subjectAlternativeNames } = describeChain(parseChain(certificatePem));
    assert.deepEqual(subjectAlternativeNames.dnsNames, ["a,b", "c"]);
  });

  it("C14 of several names, an old date and a mapped address, what Go's crypto/x509 reads is told", () => {
    const pem = readFileSync(`${__dirname}/fixtures/unusualNames.pem`, "utf8");
    const described = describeChain(parseChain(pem));
    assert.equal(described.subjectCommonName, "last");
    assert.equal(described.issuerCommonName, "last");
    assert.equal(described.subjectOrganization, "O1");
    assert.equal(described.notBefore, "0001-01-01T00:00:00Z");
    assert.deepEqual(described.subjectAlternativeNames.ips, ["192.0.2.10", "::c000:20a"]);
  });

  for (const TZ of ["America/New_York", "Asia/Kathmandu", "Pacific/Auckland"]) {
    it(`C14 dates are in UTC on a machine in ${TZ}`, () => {
      const undo = setEnv({ TZ });
      try {
        const { notBefore, notAfter } = describeChain(parseChain(leaf.certificatePem));
        assert.deepEqual(
          { notBefore, notAfter, local: new Date(2026, 0, 1).getUTCHours() !== 0 },
          { notBefore: "2026-03-08T06:30:00Z", notAfter: "2036-11-02T05:59:59Z", local: true },
        );
      } finally {
        undo();
      }
    });
  }

  it("C21 a chain has one form: 64 columns, LF, nothing around the blocks", () => {
    const pem = formatChain(parseChain(leaf.certificatePem));
    const lines = pem.split("\n");
    assert.equal(lines.pop(), "");
    const ends = lines.filter((line) => line.startsWith("-----"));
    const [begin, end] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];
    assert.deepEqual(ends, [begin, end, begin, end]);
    const bodies = lines.filter((line) => !line.startsWith("-----"));
    assert.ok(bodies.every((line) => line.length > 0 && line.length <= 64));
    assert.equal(bodies[0]?.length, 64);
    const odd = `# leaf\r\n\r\n${pem.replaceAll("\n", "\r\n")}\r\n# end`;
    assert.equal(formatChain(parseChain(odd)), pem);
  });

  it("C20 another order of the same certificates is another chain", () => {
    const chain = parseChain(leaf.certificatePem);
    assert.notEqual(chainFingerprint(chain), chainFingerprint(chain.toReversed()));
    assert.notEqual(chainFingerprint(chain), chainFingerprint(chain.slice(0, 1)));
  });

  it("C11 a certificate of the same issuer's name and another key did not sign it", async () => {
    const [certificate] = parseChain(leaf.certificatePem);
    const twin = await makeCertificate({ commonName: "Issuing CA", isCa: true });
    const chain = formatChain([certificate as X509Certificate]) + twin.certificatePem;
    assert.throws(() => parseOrderedChain(chain), PemError);
    assert.equal(parseOrderedChain(leaf.certificatePem).length, 2);
  });

  it("C11 what is not whole, not alone or encrypted is refused", () => {
    const { certificatePem, privateKeyPem } = leaf;
    const cutOff = certificatePem.trimEnd().slice(0, -30);
    for (const text of ["", "text", cutOff, privateKeyPem, certificatePem + privateKeyPem]) {
      assert.throws(() => parseChain(text), PemError);
    }
    assert.throws(() => parseChain(certificatePem + privateKeyPem), /PRIVATE KEY block/);
    const header = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n";
    const legacy = `${header}DEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n`;
    for (const text of ["", certificatePem, privateKeyPem + privateKeyPem, legacy]) {
      assert.throws(() => parseKey(text), PemError);
    }
    assert.throws(() => parseKey(legacy), /encrypted/);
    // Beside the parameters of its curve, as openssl writes it, a key is found.
    const parameters =
      "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    assert.equal(parseKey(parameters + privateKeyPem).asymmetricKeyType, "ec");
  });

  it("C91 a text of more than 256 kB is refused, and is not quoted", () => {
    const begin = "-----BEGIN CERTIFICATE-----\n";
    for (const parse of [parseChain, parseKey]) {
      assert.throws(() => parse(begin.repeat(10_000)), /^PemError: is longer than 256 kB$/);
    }
    for (const parse of [parseChain, parseKey]) {
      assert.throws(() => parse("é".repeat(140 * 1024)), /longer than 256 kB/);
    }
    const long = `${leaf.certificatePem}${"-".repeat(250 * 1024)}`;
    assert.equal(parseChain(long).length, 2);
  });

  it("C11 a date that can't be read is a PemError, in any certificate of a chain", () => {
    const [certificate, issuer] = parseChain(leaf.certificatePem);
    assert.ok(certificate && issuer);
    const pem = (der: Buffer) =>
      `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
    // Month 99: Node.js parses the certificate, and fails only when the date is read.
    for (const [from, to] of [
      ["260308063000Z", "269908063000Z"],
      ["361102055959Z", "369902055959Z"],
    ] as const) {
      const hex = (text: string) => Buffer.from(text).toString("hex");
      const changed = certificate.raw.toString("hex").replace(hex(from), hex(to));
      const broken = pem(Buffer.from(changed, "hex"));
      assert.throws(() => parseChain(broken), PemError);
      assert.throws(() => parseChain(formatChain([issuer]) + broken), /2 has a date/);
    }
  });

  it("C61 a name is covered by itself and by a wildcard of one label", () => {
    assert.deepEqual(namesCovering("A.B.example"), ["a.b.example", "*.b.example"]);
    const names = { dnsNames: ["*.EXAMPLE.com"], ips: ["10.0.0.1"] };
    assert.ok(covers(names, "A.example.com"));
    assert.ok(covers(names, "10.0.0.1"));
    // An address is no domain: no DNS name covers it.
    assert.ok(!covers({ dnsNames: ["10.0.0.1", "*.0.0.1"], ips: [] }, "10.0.0.1"));
    for (const host of ["example.com", "a.b.example.com", "10.0.0.2", "a.example.org"]) {
      assert.ok(!covers(names, host), host);
    }
  });
});
