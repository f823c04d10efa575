import "reflect-metadata"; // @peculiar/x509 needs it.
import assert from "node:assert/strict";
import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as x509 from "@peculiar/x509";
import { type MadeCertificate, makeCertificate } from "../emulator/server";
import { problemsOfShape } from "../provider/kinds/shape";
import { expiryOf, tlsCertificate } from "../provider/kinds/tlsCertificate";
import { textsOf } from "../provider/lifecycle/messages";
import { Chain } from "../provider/values/chain";
import { covers } from "../provider/values/names";
import { PrivateKey } from "../provider/values/privateKey";
import { signed } from "./policyCases";
import { type Properties, setEnv, unknown } from "./support";

/** What a plan says of a chain and its key, and what it knows from them. */
describe("the inputs of a TLS certificate", () => {
  let root: MadeCertificate;
  let intermediate: MadeCertificate;
  let leaf: MadeCertificate;
  let rsa: MadeCertificate;
  let ed25519: MadeCertificate;
  let expired: MadeCertificate;
  before(async () => {
    root = await makeCertificate({ commonName: "root", isCa: true });
    intermediate = await makeCertificate({ commonName: "between", isCa: true, issuer: root });
    leaf = await makeCertificate({
      commonName: "app.example.com",
      ...{ dnsNames, ips: ["10.0.0.1", "2001:db8::1"] },
      notBefore: new Date("2026-03-08T06:30:00Z"),
      notAfter: new Date("2036-11-02T05:59:59Z"),
      issuer: intermediate,
    });
    rsa = await makeCertificate({ commonName: "rsa.example.com", keyType: "rsa" });
    ed25519 = await makeCertificate({ commonName: "ed.example.com", keyType: "ed25519" });
    const past = { notBefore: inDays(-2), notAfter: inDays(-1) };
    expired = await makeCertificate({ commonName: "old.example.com", ...past });
  });

  const check = (news: Properties, olds?: Properties) =>
    tlsCertificate.check(news, olds, new Date());

  /** What is wrong, as the engine shows it. No line of what was passed is in it. */
  function reasons(news: Properties, olds?: Properties, secret = ""): string[] {
    const problems = [...problemsOfShape(tlsCertificate, news), ...check(news, olds).problems];
    const texts = textsOf(problems, (property) => property === secret);
    const lines = Object.values(news).flatMap((value) => String(value).split(/\r?\n/));
    for (const line of lines.filter(({ length }) => length > 20)) {
      assert.ok(!texts.join("\n").includes(line), texts.join("\n"));
    }
    return texts;
  }

  it("C10 C11 C50 the certificate that a key does not fit is named, also where it is marked as a secret", async () => {
    const names = Array.from({ length: 6 }, (_, n) => `a${n}.example.com`);
    const many = await makeCertificate({ commonName: "a0", dnsNames: names });
    const reason = ({ certificatePem }: MadeCertificate, secret = "") =>
      reasons({ ...argsOf(rsa), certificatePem }, undefined, secret).join();
    assert.match(reason(leaf), /: app\.example\.com, \*\.Sub\.example\.com, 10\.0\.0\.1, 2001:db8/);
    assert.match(reason(many), /, a4\.example\.com and 1 more \(serial/);
    assert.equal(reason(leaf, "certificatePem"), reason(leaf));
  });

  it("C11 C37 of a chain or a key that changes alone, `ignoreChanges` is named; of a new pair, and of both, it is not", () => {
    const olds = check(argsOf(rsa)).inputs;
    const { certificatePem, privateKeyPem } = argsOf(leaf);
    const { certificatePem: other } = argsOf(ed25519);
    const said = (news: Properties, before?: Properties) =>
      reasons({ ...olds, ...news }, before).join();
    for (const alone of [{ certificatePem }, { privateKeyPem }])
      assert.match(said(alone, olds), /does not fit privateKeyPem.*`ignoreChanges`/);
    const { privateKeyPem: _, ...adopted } = olds;
    for (const [news, before] of [
      [{ certificatePem }],
      [{ certificatePem: other, privateKeyPem }, olds],
      [{ privateKeyPem }, adopted],
    ] as [Properties, Properties?][])
      assert.match(said(news, before), /does not fit privateKeyPem(?!.*ignoreChanges)/);
  });

  it("C11 a swapped certificate and key each get a message of their own", () => {
    const { certificatePem, privateKeyPem } = argsOf(leaf);
    const found = reasons({ certificatePem: privateKeyPem, privateKeyPem: certificatePem });
    assert.equal(found.length, 2);
    for (const reason of found) assert.match(reason, /swapped/);
  });

  it("C11 only a new certificate, or a changed chain, needs a key and may not have expired", () => {
    const old = check(argsOf(expired)).inputs;
    const { inputs: valid } = check(argsOf(leaf));
    const { certificatePem } = expired;
    const isExpired = /^certificatePem: [^,]*expired on [^,]*$/;
    assert.match(reasons(argsOf(expired)).join(), isExpired);
    assert.match(reasons(argsOf(expired), valid).join(), isExpired);
    assert.match(reasons({ certificatePem }).join(), /privateKeyPem: is missing/);
    assert.match(reasons({ certificatePem }, valid).join(), /privateKeyPem: is missing/);
    assert.deepEqual(reasons(argsOf(expired), old), []);
    assert.match(
      check(argsOf(expired), old).warnings?.join("\n") ?? "",
      /^the leaf .* expired .*$/,
    );
    assert.deepEqual(reasons({ certificatePem }, old), []);
  });

  it("C13 unknown values pass, and what is known beside them is checked", () => {
    const hidden = { certificatePem: unknown, privateKeyPem: unknown };
    const { certificatePem, privateKeyPem } = argsOf(leaf);
    for (const known of [{ description: unknown }, { certificatePem }, { privateKeyPem }]) {
      assert.deepEqual(reasons({ ...hidden, ...known }), [], Object.keys(known).join());
    }
    for (const known of [{ privateKeyPem: "no key" }, { certificatePem: "no chain" }]) {
      assert.equal(reasons({ ...hidden, ...known }).length, 1, Object.keys(known).join());
    }
  });

  it("C11 an expired intermediate, and a date to come are warned of", async () => {
    const past = { notBefore: inDays(-9), notAfter: inDays(-1) };
    const future = { notBefore: inDays(8), notAfter: inDays(9) };
    /** What is warned of a chain whose issuer and leaf have these dates. */
    const warnings = async (ofIssuer: object, ofLeaf: object, renewBeforeDays: unknown = 5) => {
      const ca = { commonName: "between", isCa: true, issuer: root, ...ofIssuer };
      const issuer = await makeCertificate(ca);
      const chain = await makeCertificate({ commonName: "a.example", issuer, ...ofLeaf });
      return (check({ ...argsOf(chain), renewBeforeDays }).warnings ?? []).join("\n");
    };
    assert.match(
      await warnings(past, {}),
      /^certificate 2 of the chain expired on .*Z, so client.*$/,
    );
    const notYet =
      /^the leaf certificate is not valid before .*Z, so.*\ncertificate 2 .*expired.*$/;
    assert.match(await warnings(past, future), notYet);
    const soon = /^the leaf certificate expires on .* in 3 days.*$/;
    const due = { notBefore: inDays(-20), notAfter: inDays(4) };
    assert.match(await warnings({}, due), soon);
    assert.equal(await warnings({}, due, unknown), "");
    assert.equal(await warnings({}, {}), "");
    assert.match(await warnings(future, {}), /^certificate 2 .* is not valid before .*$/);
  });

  it("C11 a leaf alone is warned of if it says where its issuer's certificate is: the intermediate is missing", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const issuer = { key: createPrivateKey(intermediate.privateKeyPem), name: "CN=between" };
    const warnings = async (signer: typeof issuer | undefined, place: string, more = "") => {
      const access = new x509.AuthorityInfoAccessExtension({ [place]: "http://ca.example/" });
      const made = await signed(privateKey, "SHA-256", signer, undefined, [access]);
      return Chain.parse(made.certificatePem + more)
        .warnings(new Date())
        .join();
    };
    assert.match(await warnings(issuer, "caIssuers"), /intermediate.*fullchain\.pem/);
    assert.equal(await warnings(issuer, "caIssuers", intermediate.certificatePem), "");
    assert.equal(await warnings(undefined, "caIssuers"), "");
    assert.equal(await warnings(issuer, "ocsp"), "");
  });

  it("a renewal is warned of within renewBeforeDays, with the date, the time left and what to do", () => {
    const now = new Date("2030-01-01T00:00:00Z");
    const inDays = (days: number) => new Date(now.getTime() + days * day).toISOString();
    /** What is warned of a leaf with so many days left, and an hour. */
    const warning = (days: number, renewBeforeDays?: number) => {
      const dates = { notBefore: inDays(days - 90), notAfter: inDays(days + 1 / 24) };
      return expiryOf(dates, renewBeforeDays, now);
    };
    assert.match(warning(10, 11) ?? "", /2030-01-11T01:00:00.*10 days.*pulumi up/);
    assert.match(warning(1, 30) ?? "", /in 25 hours/);
    assert.match(warning(-1) ?? "", /expired/);
    assert.equal(warning(10, 10), undefined);
    assert.match(warning(20) ?? "", /20 days \(renewBeforeDays: 21, or a third/);
    assert.equal(warning(21), undefined);
  });

  it("C14 C20 fingerprints are those of the leaf, of its key and of the chain in its order", () => {
    const chain = Chain.parse(leaf.certificatePem);
    const [certificate, issuer] = chain.certificates as [X509Certificate, X509Certificate];
    const spki = certificate.publicKey.export({ type: "spki", format: "der" });
    const { fingerprint, publicKeyFingerprint, chainFingerprint } = chain.toState();
    assert.equal(fingerprint, sha256(certificate.raw));
    assert.equal(publicKeyFingerprint, sha256(spki));
    assert.equal(chainFingerprint, sha256(Buffer.concat([certificate.raw, issuer.raw])));
  });

  const described = (pem: string) => {
    const { subjectAlternativeNames, ...fields } = Chain.parse(pem).toState();
    return { ...fields, ...subjectAlternativeNames } as Properties;
  };
  it("C14 a leaf with unusual names is described", async () => {
    const comma = await makeCertificate({ commonName: "a", dnsNames: ["a,b"] });
    const rows: [what: string, pem: string, fields: Properties][] = [
      [
        // It ends Node 24's own parser of names; the space at the end belongs to the name.
        "the curve secp256k1",
        fixture("secp256k1"),
        { subjectCommonName: "odd.example.com", subjectOrganization: "Acme, Inc. " },
      ],
      [
        "escapes, and several attributes at one level",
        fixture("escapes"),
        { subjectCommonName: "a", subjectOrganization: "b", subjectOrganizationalUnit: " #x;y" },
      ],
      ["a comma in a name", comma.certificatePem, { dnsNames: ["a,b"] }],
      [
        "no names",
        ed25519.certificatePem,
        { subjectOrganization: "", dnsNames: [], ips: [], privateKeyType: "ed25519" },
      ],
    ];
    for (const [what, pem, fields] of rows) {
      const found = described(pem);
      for (const [field, value] of Object.entries(fields)) {
        assert.deepEqual(found[field], value, `${field}: ${what}`);
      }
    }
  });

  it("C14 dates are in UTC on a machine in any zone", () => {
    for (const TZ of ["America/New_York", "Asia/Kathmandu", "Pacific/Auckland"]) {
      const undo = setEnv({ TZ });
      assert.notEqual(new Date(2026, 0, 1).getUTCHours(), 0, TZ);
      const { notBefore, notAfter } = described(leaf.certificatePem);
      undo();
      const inUTC = ["2026-03-08T06:30:00Z", "2036-11-02T05:59:59Z"];
      assert.deepEqual([notBefore, notAfter], inUTC, TZ);
    }
  });

  it("C91 a text of more than 256 kB is refused, and is not quoted", () => {
    for (const parse of [Chain.parse, PrivateKey.parse]) {
      const begins = "-----BEGIN CERTIFICATE-----\n".repeat(10_000);
      assert.throws(() => parse(begins), /^PemError: is longer than 256 kB$/, parse.name);
      assert.throws(() => parse("é".repeat(140 * 1024)), /longer than 256 kB/, parse.name);
    }
    const long = `${leaf.certificatePem}${"-".repeat(250 * 1024)}`;
    assert.equal(Chain.parse(long).certificates.length, 2);
  });

  it("a name covers its host in any letter case, and a wildcard one more label", () => {
    const names = { dnsNames: ["app.example.com", "*.Sub.example.com"], ips: ["10.0.0.1"] };
    const covered = ["APP.example.com", "a.sub.example.com", "*.sub.example.com", "10.0.0.1"];
    const others = ["cn", "sub.example.com", "a.b.sub.example.com", "10.0.0.2"];
    const hosts = [...covered, ...others];
    assert.deepEqual(
      hosts.filter((host) => covers(names, host)),
      covered,
    );
  });

  it("an address covers itself, and no name covers an address", () => {
    assert.ok(covers({ dnsNames: [], ips: ["10.0.0.1"] }, "10.0.0.1"));
    assert.ok(!covers({ dnsNames: ["10.0.0.1", "*.0.0.1"], ips: ["10.0.0.2"] }, "10.0.0.1"));
  });

  const [chain, key] = ["certificatePem", "privateKeyPem"] as const;
  const replaced = (from: string, to: string) => (pem: string) => pem.replaceAll(from, to);
  const cutOff = (pem: string) => pem.trimEnd().slice(0, -60);
  const broken = (pem: string) => pem.replace(/\n.{20}/, "\n");
  const bytes = (pem: string) =>
    Buffer.from(pem.replace(/-----.*?-----/g, ""), "base64").toString("utf8");
  const encrypted = (type: "pkcs8" | "sec1") => (pem: string) => {
    const options = { type: type as "pkcs8", format: "pem", cipher: "aes-256-cbc" } as const;
    return String(createPrivateKey(pem).export({ ...options, passphrase: "x" }));
  };
  const keyOfX25519 = () =>
    leafWith((hex) => hex.replace("06032b6570032100", "06032b656e032100"))(ed25519.certificatePem);
  const second = (change: (pem: string) => string) => (pem: string) =>
    blocks(pem)[0] + change(blocks(pem)[1] ?? "");
  /** A chain whose leaf has other bytes, in hex. */
  const leafWith = (change: (hex: string) => string) => (pem: string) => {
    const [first, ...others] = blocks(pem);
    const hex = change(new X509Certificate(String(first)).raw.toString("hex"));
    const body = Buffer.from(hex, "hex").toString("base64");
    return `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n${others.join("")}`;
  };
  const otherEnd = (hex: string) => hex.slice(0, -1) + (hex.endsWith("0") ? "1" : "0");
  const hexOf = (text: string) => Buffer.from(text).toString("hex");
  const noMonth = leafWith((hex) => hex.replace(hexOf("361102055959Z"), hexOf("369902055959Z")));
  /** A chain whose second certificate has a public key that is no point of its curve. */
  const noPoint = (pem: string) => {
    const [first, issuer = ""] = blocks(pem);
    const other = (hex: string) =>
      hex.replace(/(?<=2a8648ce3d03010703420004.{20})./, (sign) => (sign === "0" ? "1" : "0"));
    return first + leafWith(other)(issuer);
  };
  const outside = /lines of PEM outside its complete blocks \(1\)/;

  /** What is wrong with a text, and what is said of it: by the property that is blamed. */
  type Bad = [what: string, change: (right: string) => unknown, reason: RegExp];
  const bad: Record<string, Bad[]> = {
    [chain]: [
      ["missing", () => undefined, /missing/],
      ["no second BEGIN", second(replaced("-----BEGIN CERTIFICATE-----\n", "")), outside],
      ["a point beside the curve in its second block", noPoint, /2 did not sign certificate 1/],
      ["an X25519 key", keyOfX25519, /certificate 1 has a key that is not RSA, ECDSA or Ed25519/],
      ["PKCS#7", replaced("CERTIFICATE", "PKCS7"), /openssl pkcs7/],
      ["a certificate request", replaced("CERTIFICATE", "CERTIFICATE REQUEST"), /\(CSR\): give/],
      ["no PEM", () => "garbage", /holds no PEM certificate/],
      ["cut off in its second block", cutOff, /cut off/],
      ["a stray character", (pem) => pem.replace(/\n.{9}/, "$&!"), /certificate 1 can't be parsed/],
      ["a wrong signature", leafWith(otherEnd), /2 did not sign certificate 1/],
      ["with a key in it", (pem) => pem + leaf.privateKeyPem, /PRIVATE KEY block/],
      ["a revocation list", replaced("CERTIFICATE", "X509 CRL"), /revocation list: give/],
      ["an ARN", () => "arn:aws:acm:eu-west-1:1:certificate/1", /certificate in AWS: give/],
      ["a path", () => "./certs/app", /path of a file/],
      ["a path of Windows", () => "C:\\certs\\app", /path of/],
      ["an end in month 99", noMonth, /1 has a date/],
      ["reversed", (pem) => blocks(pem).reverse().join(""), /2 did not sign .* leaf comes first/],
      ["with a stranger", (pem) => pem + rsa.certificatePem, /3 did not.* remove certificate 3,/],
      [
        "with two strangers",
        (pem) => pem + rsa.certificatePem + ed25519.certificatePem,
        /3 did not .* leaf comes first/,
      ],
      ["another leaf", () => rsa.certificatePem, /^certificatePem: rsa\.example\.com \(serial/],
      ["an authority's", () => intermediate.certificatePem, /leaf first \(fullchain\.pem/],
    ],
    [key]: [
      ["missing", () => undefined, /missing/],
      ["encrypted PKCS#8", encrypted("pkcs8"), /encrypted/],
      ["encrypted SEC1", encrypted("sec1"), /encrypted/],
      ["no PEM", () => "hunter2 ".repeat(9), /holds no PEM private key/],
      ["no PEM, in base64", (pem) => pem.replace(/-----.*\n/g, ""), /holds no PEM private key/],
      ["damaged", broken, /parsed/],
      ["two keys", (pem) => pem + rsa.privateKeyPem, /more than one/],
      ["one wrong character", wrong, /damaged: it can't sign/],
      ["a public key of SSH", () => "ssh-ed25519 AAAAC3Nza me@example", /public key/],
      ["a public key", replaced("PRIVATE", "PUBLIC"), /holds a public key/],
      ["a key of OpenSSH", () => openSsh, /ssh-keygen/],
      ["cut off", cutOff, /cut off/],
      ["a path", () => "app.key", /chainFile/],
    ],
  };
  const ofBoth: Bad[] = [
    ["empty", () => "", /is empty/],
    ["as DER", bytes, /binary, such as DER/],
    ["in UTF-16", (pem) => Buffer.from(`\ufeff${pem}`, "utf16le").toString(), /UTF-16.*UTF-8/],
    ["with \\n for line breaks", replaced("\n", "\\n"), /lost its line breaks.* a backslash/],
    ["without line breaks", replaced("\n", ""), /lost its line breaks/],
  ];
  bad[chain]?.push(...ofBoth);
  bad[key]?.push(...ofBoth);
  for (const [property, rows] of Object.entries(bad)) {
    for (const [what, change, expected] of rows) {
      it(`C11 ${property}, ${what}, is refused, and nothing else is complained of`, () => {
        const args: Properties = argsOf(leaf);
        const news = { ...args, [property]: change(String(args[property])) };
        const [reason = "", ...more] = reasons(news);
        assert.equal(reason.split(": ")[0], property);
        assert.match(reason, expected);
        assert.deepEqual(more, []);
      });
    }
  }
});

const day = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * day);
const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
const fixture = (name: string) => readFileSync(`${__dirname}/fixtures/${name}.pem`, "utf8");
const argsOf = ({ certificatePem, privateKeyPem }: MadeCertificate) => ({
  certificatePem,
  privateKeyPem,
});
const dnsNames = ["app.example.com", "*.Sub.example.com"];
/** The certificates of a chain. */
const blocks = (pem: string) => pem.split(/(?<=-----END CERTIFICATE-----\n)/);

const openSsh =
  "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n";

/** A key of which one character is another, which is still base64. */
function wrong(pem: string): string {
  return pem.replace(/(?<=\n.{50})./, (one) => (one === "A" ? "B" : "A"));
}
