import assert from "node:assert/strict";
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { mock } from "node:test";
import { inspect } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { tlsCertificates } from "../client/tlsCertificate";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  type Respond,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate as dynamicCertificate } from "../provider/dynamic";
import { expiryOf } from "../provider/tlsCertificate";
import { describeChain, formatKey, parseChain } from "../provider/values/pem";
import { TLSCertificate, type TLSCertificateArgs } from "../sdk/tlsCertificate";
import { throughBothDoors } from "./acceptance/doors";
import { pluginProvider } from "./pluginProvider";
import {
  failureOf,
  known,
  later,
  PlanFailure,
  type Properties,
  type ResourceProvider,
  Stack,
  setEnvFor,
  setMocks,
  takeRequests,
  unknown,
} from "./support";

const hour = 3_600_000;
const passphrase = "a passphrase";
const text = (key: string | Buffer) => key.toString();

/** The same key in every form that a tool may write it in. */
function forms(key: KeyObject): Record<string, string> {
  const all: Record<string, string> = {
    "PKCS#8": text(key.export({ type: "pkcs8", format: "pem" })),
  };
  if (key.asymmetricKeyType === "rsa") {
    all["PKCS#1"] = text(key.export({ type: "pkcs1", format: "pem" }));
  }
  if (key.asymmetricKeyType === "ec") {
    all.SEC1 = text(key.export({ type: "sec1", format: "pem" }));
  }
  return all;
}

const argsOf = ({ certificatePem, privateKeyPem }: MadeCertificate) => ({
  certificatePem,
  privateKeyPem,
});

const fixture = (name: string) => readFileSync(`${__dirname}/fixtures/${name}.pem`, "utf8");

const leafOnly = ({ certificatePem }: MadeCertificate) =>
  certificatePem.split(/(?<=-----END CERTIFICATE-----)/)[0] ?? "";

throughBothDoors("a TLS certificate", (door) => {
  let tlsCertificate = dynamicCertificate as ResourceProvider;
  let close = () => {};
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond;
  let stack: Stack;
  let root: MadeCertificate;
  let intermediate: MadeCertificate;
  let leaf: MadeCertificate;
  let rsa: MadeCertificate;
  let ed25519: MadeCertificate;
  let expired: MadeCertificate;
  /** What every good program says. */
  let args: { certificatePem: string; privateKeyPem: string };

  before(async () => {
    emulator = await startEmulator({ respond: (body, request) => respond(body, request) });
    restore = setEnvFor(emulator);
    if (door === "plugin") {
      ({ provider: tlsCertificate, close } = await pluginProvider("TLSCertificate"));
    }
    root = await makeCertificate({ commonName: "root", isCa: true });
    intermediate = await makeCertificate({ commonName: "between", isCa: true, issuer: root });
    leaf = await makeCertificate({
      commonName: "app.example.com",
      organization: "Acme, Inc.",
      organizationalUnit: "Web",
      locality: "Zürich",
      province: "ZH",
      country: "CH",
      dnsNames: ["app.example.com", "*.app.example.com"],
      ips: ["192.0.2.1"],
      issuer: intermediate,
      notBefore: new Date("2026-01-02T03:04:05Z"),
      notAfter: new Date("2999-01-02T03:04:05Z"),
    });
    rsa = await makeCertificate({ commonName: "rsa.example.com", keyType: "rsa" });
    ed25519 = await makeCertificate({ commonName: "ed.example.com", keyType: "ed25519" });
    expired = await makeCertificate({
      commonName: "old.example.com",
      notBefore: new Date(Date.now() - 2 * hour),
      notAfter: new Date(Date.now() - hour),
    });
    args = argsOf(leaf);
  });
  beforeEach(() => {
    emulator.reset();
    respond = (body) => body;
    stack = new Stack(tlsCertificate);
  });
  after(() => {
    close();
    restore();
    return emulator.close();
  });

  const heard = () => takeRequests(emulator);
  const methods = () => heard().map(({ method }) => method);

  /** What a plan knows of a certificate that is to be created. */
  async function planned(inputs: Properties): Promise<Properties> {
    const checked = await stack.check(inputs);
    assert.deepEqual(checked.failures, []);
    return tlsCertificate.planned?.(checked.inputs) ?? checked.inputs;
  }

  /** What is wrong: no failure names a property or holds a line of what was passed. */
  async function reasons(inputs: Properties, olds: Properties = {}): Promise<string[]> {
    const { failures } = await stack.check(inputs, olds);
    const lines = Object.values(inputs).flatMap((value) => String(value).split(/\r?\n/));
    for (const { property, reason } of failures) {
      assert.equal(property, "");
      for (const line of lines.filter(({ length }) => length > 20)) {
        assert.ok(!reason.includes(line), reason);
      }
    }
    assert.deepEqual(emulator.requests, []);
    return failures.map(({ reason }) => reason);
  }

  describe("its inputs", () => {
    /** The two certificates of the chain, its leaf first. */
    const blocks = (pem: string) => pem.split(/(?<=-----END CERTIFICATE-----\n)/);
    const encrypted = (type: "pkcs8" | "sec1") => {
      const how = { format: "pem", cipher: "aes-256-cbc", passphrase } as const;
      const key = createPrivateKey(leaf.privateKeyPem);
      return text(type === "pkcs8" ? key.export({ type, ...how }) : key.export({ type, ...how }));
    };

    const cutOff = (pem: string) => pem.trimEnd().slice(0, -60);
    const broken = (pem: string) => pem.replace(/\n.{20}/, "\n");
    const inBase64 = (pem: string) => Buffer.from(pem).toString("base64");
    const bytes = (pem: string) => Buffer.from(pem.replace(/-----.*?-----/g, ""), "base64");
    const utf16 = (pem: string) => Buffer.from(`\ufeff${pem}`, "utf16le").toString("utf8");
    const lineBreaks = (as: string) => (pem: string) => pem.replaceAll("\n", as);
    /** A key with another character at a place, which is still base64. */
    const wrongAt = (place: number) => (pem: string) => {
      const at = /[A-Za-z]/.exec(pem.slice(place))?.index ?? 0;
      const other = pem[place + at] === "A" ? "B" : "A";
      return pem.slice(0, place + at) + other + pem.slice(place + at + 1);
    };
    const evenExponent = (pem: string) => {
      const hex = new X509Certificate(pem).raw.toString("hex").replace("0203010001", "0203010002");
      return new X509Certificate(Buffer.from(hex, "hex")).toString();
    };
    const relabelled = (from: string, to: string) => (pem: string) => pem.replaceAll(from, to);
    const [chain, key] = ["certificatePem", "privateKeyPem"] as const;
    type Bad = [kind: string, path: string, change: (right: string) => unknown, said: RegExp];
    const bad: Bad[] = [
      ["no certificate", chain, () => undefined, /missing/],
      ["no key", key, () => undefined, /missing/],
      ["an encrypted PKCS#8 key", key, () => encrypted("pkcs8"), /encrypted/],
      ["an encrypted SEC1 key", key, () => encrypted("sec1"), /encrypted/],
      ["another certificate's key", key, () => rsa.privateKeyPem, /not the key/],
      [
        "the issuer's key",
        key,
        () => intermediate.privateKeyPem,
        /not the key.*It is the key of certificate 2/,
      ],
      ["a key that is no PEM", key, () => "hunter2 ".repeat(9), /PEM/],
      ["a key that can't be parsed", key, broken, /parsed/],
      ["two keys", key, (pem) => pem + rsa.privateKeyPem, /more than one/],
      ["an EC key with one wrong character", key, wrongAt(80), /damaged: its parts/],
      ["an EC key of another version", key, wrongAt(72), /damaged: its parts/],
      ...Object.entries({
        "four hyphens": relabelled("-----", "----"),
        "the hyphens of a word processor": relabelled("-----", "—–"),
        "no BEGIN line": relabelled("-----BEGIN CERTIFICATE-----\n", ""),
      }).map(
        ([what, change]): Bad => [
          `a chain with ${what} in its second block`,
          chain,
          (pem) => blocks(pem)[0] + change(blocks(pem)[1] ?? ""),
          /lines of PEM outside its complete blocks \(1\)/,
        ],
      ),
      ["a chain on another curve", chain, () => secp256k1, /P-224, P-256, P-384 or P-521/],
      [
        "a chain with a compressed key",
        chain,
        () => fixture("compressedKey"),
        /certificate 1 has a key that .* uncompressed/,
      ],
      [
        "an RSA key with an even exponent",
        chain,
        () => evenExponent(rsa.certificatePem),
        /RSA with an exponent/,
      ],
      ["a base64 text of PKCS#12", chain, () => `MIILHwIBAzCC${"A".repeat(200)}`, /PKCS#12/],
      [
        "PKCS#7 of openssl",
        chain,
        relabelled("CERTIFICATE", "PKCS #7 SIGNED DATA"),
        /openssl pkcs7/,
      ],
      ["a web page", chain, () => "<!DOCTYPE html><html>404</html>", /web page/],
      ["a public key of SSH", key, () => "ssh-ed25519 AAAAC3Nza me@example", /public key/],
      ["a key of PuTTY", key, () => "PuTTY-User-Key-File-3: ssh-rsa\n", /puttygen/],
      [
        "a root before the intermediate",
        chain,
        (pem) => blocks(pem)[0] + root.certificatePem + blocks(pem)[1],
        /certificate 3 signed certificate 1, but certificate 2 comes/,
      ],
      [
        "a second root",
        chain,
        (pem) => pem + root.certificatePem + rsa.certificatePem,
        /certificate 3 has signed itself.* remove/,
      ],
      ["a chain that is cut off in its second block", chain, cutOff, /cut off/],
      ["a key that is cut off", key, cutOff, /cut off/],
      ["a chain that is no PEM", chain, () => "garbage", /PEM/],
      ["a certificate that can't be parsed", chain, broken, /certificate 1 /],
      ["a key among the certificates", chain, (pem) => pem + leaf.privateKeyPem, /PRIVATE KEY/],
      ["a path", chain, () => "./certs/app.pem", /path of a file/],
      ["a path of Windows", chain, () => "C:\\app.crt", /path of/],
      ["a path of a key", key, () => "/run/app.key", /chainFile/],
      ...[chain, key].flatMap((name): Bad[] => [
        [
          `${name} without its first and last line`,
          name,
          (pem) => pem.replace(/-----.*\n/g, ""),
          /BEGIN line/,
        ],
        [`${name} in base64`, name, inBase64, /decode it/],
        [`${name} with hyphens of a word processor`, name, relabelled("--", "–"), /five hyphens/],
        [`${name} as DER`, name, (pem) => bytes(pem).toString("utf8"), /binary, such as DER/],
        [
          `${name} as DER in Latin 1`,
          name,
          (pem) => bytes(pem).toString("latin1"),
          /binary, such as DER/,
        ],
        [`${name} in UTF-16`, name, utf16, /UTF-16.*UTF-8/],
        [`${name} with \\n for its line breaks`, name, lineBreaks("\\n"), /backslash and an n/],
        [
          `${name} with \\r\\n for its line breaks`,
          name,
          lineBreaks("\\r\\n"),
          /backslash and an n/,
        ],
        [
          `${name} with an invisible character`,
          name,
          (pem) => pem.replace("-----\n", "-----\u200b\n"),
          /invisible characters/,
        ],
        [`${name} with spaces for its line breaks`, name, lineBreaks(" "), /breaks are lost/],
        [`${name} with the line breaks of an old Mac`, name, lineBreaks("\r"), /are lost/],
        [`${name} without line breaks`, name, lineBreaks(""), /breaks are lost/],
        [`${name} indented`, name, (pem) => pem.replace(/^/gm, "  "), /spaces before/],
        [
          `${name} as the name of an output`,
          name,
          () => "Calling [toString] on an [Output<T>]",
          /interpolate/,
        ],
      ]),
      [
        "a certificate request",
        chain,
        relabelled("CERTIFICATE", "CERTIFICATE REQUEST"),
        /\(CSR\): give the certificate/,
      ],
      ["PKCS#7", chain, relabelled("CERTIFICATE", "PKCS7"), /openssl pkcs7/],
      [
        "a certificate with openssl's trust",
        chain,
        relabelled("CERT", "TRUSTED CERT"),
        /openssl x509/,
      ],
      ["a public key", key, relabelled("PRIVATE", "PUBLIC"), /holds a public key/],
      ["a key of OpenSSH", key, () => openSsh, /ssh-keygen/],
      [
        "the leaf twice",
        chain,
        (pem) => blocks(pem)[0] + pem,
        /certificate 2 is the same as certificate 1/,
      ],
      [
        "the leaf after its issuer",
        chain,
        (pem) => blocks(pem).reverse().join(""),
        /certificate 1 signed certificate 2, .* reverse order/,
      ],
      [
        "another number of days",
        "renewBeforeDays",
        () => "21",
        /is a string, but must be a number, without quotes/,
      ],
      [
        "a stranger in the chain",
        chain,
        (pem) => pem + rsa.certificatePem,
        /certificate 3 did not sign certificate 2/,
      ],
      ["a misspelt property", "privateKey", () => "x", /privateKeyPem/],
      ["a wrong type", "description", () => ["x"], /string/],
    ];
    for (const [kind, path, change, said] of bad) {
      it(`C11 ${kind} is refused at plan time, and nothing else is complained of`, async () => {
        const right = (args as Properties)[path];
        const [reason = "", ...more] = await reasons({ ...args, [path]: change(String(right)) });
        assert.equal(reason.split(": ")[0], path);
        assert.match(reason, said);
        assert.deepEqual(more, []);
      });
    }

    if (door === "dynamic")
      it("C10 C11 a key of another certificate is told whose key is needed, unless that is secret", async () => {
        const many = await makeCertificate({
          commonName: "a0",
          dnsNames: Array.from({ length: 6 }, (_, n) => `a${n}.example.com`),
        });
        const named = async (pem: string, ...secrets: string[]) =>
          (
            await reasons({
              certificatePem: pem,
              privateKeyPem: rsa.privateKeyPem,
              __secrets: secrets,
            })
          ).join();
        const names = /is for app\.example\.com, \*\.app\.example\.com, 192\.0\.2\.1 \(serial/;
        assert.match(await named(leaf.certificatePem, "privateKeyPem"), names);
        assert.match(await named(many.certificatePem), /, a4\.example\.com and 1 more \(serial/);
        assert.match(await named(intermediate.certificatePem), /is for between \(serial/);
        const hidden = await named(leaf.certificatePem, "certificatePem");
        assert.match(hidden, /not the key of the leaf certificate\. Give the key/);
        assert.doesNotMatch(hidden, /example|serial/);
      });

    it("C11 an authority's chain in place of the leaf's is told as that", async () => {
      const [reason = "", ...more] = await reasons({
        ...args,
        certificatePem: intermediate.certificatePem,
      });
      assert.match(reason, /^privateKeyPem: .*leaf first \(fullchain\.pem/);
      assert.deepEqual(more, []);
    });

    it("C15 a misspelt key is told as that, and not as missing, too", async () => {
      const { certificatePem, privateKeyPem } = args;
      const [reason = "", ...more] = await reasons({ certificatePem, privateKey: privateKeyPem });
      assert.match(reason, /^privateKey: .*privateKeyPem\?$/);
      assert.deepEqual(more, []);
    });

    it("C11 swapped certificate and key each get a message of their own", async () => {
      const swapped = {
        certificatePem: leaf.privateKeyPem,
        privateKeyPem: leaf.certificatePem,
      };
      const found = await reasons(swapped);
      assert.equal(found.length, 2);
      for (const reason of found) assert.match(reason, /swapped/);
    });

    it("C11 rsa, ecdsa and ed25519 keys pass in each of their encodings", async () => {
      for (const made of [rsa, leaf, ed25519]) {
        for (const privateKeyPem of Object.values(forms(createPrivateKey(made.privateKeyPem)))) {
          assert.deepEqual(await reasons({ ...argsOf(made), privateKeyPem }), []);
        }
      }
    });

    for (const keyType of ["rsa", "ecdsa", "ed25519"] as const)
      it(`C11 one wrong character of a key (${keyType}) is found, or makes no other key of it`, async () => {
        const made = { rsa, ecdsa: leaf, ed25519 }[keyType];
        const step = keyType === "rsa" ? 73 : 11;
        for (let place = 30; place < made.privateKeyPem.length - 30; place += step) {
          const privateKeyPem = wrongAt(place)(made.privateKeyPem);
          const [reason] = await reasons({ ...argsOf(made), privateKeyPem });
          if (!reason) assert.equal(formatKey(privateKeyPem), made.privateKeyPem, `at ${place}`);
        }
      });

    it("C11 an expired leaf that is there already passes; in a new certificate or a changed chain it fails", async () => {
      const [first = "", ...others] = await reasons(argsOf(expired));
      assert.match(first, /^certificatePem: .*expired/);
      assert.deepEqual(others, []);
      const { inputs } = await stack.check(argsOf(expired), {});
      assert.deepEqual(await reasons(argsOf(expired), inputs), []);
      const { inputs: valid } = await stack.check(args, {});
      const [reason = "", ...more] = await reasons(argsOf(expired), valid);
      assert.match(reason, /^certificatePem: .*expired/);
      assert.deepEqual(more, []);
    });

    /** What a plan warns of: a dynamic provider's program does, because it can name the resource. */
    async function warnings(args: Properties): Promise<string[]> {
      if (door === "plugin") {
        const { provider, close } = await pluginProvider("TLSCertificate");
        const told = mock.method(console, "error", () => {});
        // In a replacement, the engine checks twice.
        for (let times = 0; times < 2; times++) await new Stack(provider).check(args, {});
        told.mock.restore();
        close();
        return told.mock.calls.map((call) => String(call.arguments).replace(/^warning: /, ""));
      }
      const told = mock.method(pulumi.log, "warn", async () => {});
      const undo = setMocks({
        call: () => ({}),
        newResource: ({ name, inputs }) => ({ id: name, state: inputs }),
      });
      await known(new TLSCertificate("a", args as unknown as TLSCertificateArgs).certificatePem);
      await new Promise(setImmediate);
      undo();
      told.mock.restore();
      return told.mock.calls.map((call) => String(call.arguments[0]));
    }

    it("C11 an expired intermediate, a date to come and what Go refuses are warned of", async () => {
      const ca = { isCa: true, issuer: await makeCertificate({ commonName: "root", isCa: true }) };
      const day = (days: number) => new Date(Date.now() + days * 24 * hour);
      const past = { notBefore: day(-9), notAfter: day(-1) };
      const future = { notBefore: day(8), notAfter: day(9) };
      for (const [ofIssuer, ofLeaf, ...said] of [
        [past, {}, /^certificate 2 of the chain expired on .*Z, so clients may refuse/],
        [future, {}, /^certificate 2 of the chain is not valid before .*Z, so clients may refuse/],
        [
          past,
          future,
          /^the leaf certificate is not valid before .*Z, so/,
          /^certificate 2 .*expired/,
        ],
        [{}, { notAfter: day(4) }, /^the leaf certificate expires on .* in 3 days/],
      ] as const) {
        const issuer = await makeCertificate({ commonName: "between", ...ca, ...ofIssuer });
        const leaf = await makeCertificate({ commonName: "a.example", issuer, ...ofLeaf });
        const found = await warnings({ ...argsOf(leaf), renewBeforeDays: 5 });
        assert.equal(found.length, said.length, found.join("\n"));
        for (const [index, text] of said.entries()) assert.match(found[index] ?? "", text);
      }
      const [odd = "", ...more] = await warnings({ certificatePem: fixture("refusedByGo") });
      for (const part of ["serial number", "DNS name", "authority information", "key identifier"]) {
        assert.ok(odd.includes(part), odd);
      }
      assert.deepEqual(more, []);
      assert.deepEqual(await warnings(args), []);
    });

    describe("that is to be renewed", () => {
      const now = new Date("2030-01-01T00:00:00Z");
      /** What is warned of a leaf with so many days left, and an hour. */
      const warning = (days: number, renewBeforeDays?: number) =>
        expiryOf(
          new Date(now.getTime() + days * 24 * hour + hour).toISOString(),
          renewBeforeDays,
          now,
        );

      it("is warned of within renewBeforeDays, with the date, the days left and what to do", () => {
        const text = warning(10, 11) ?? "";
        for (const part of ["2030-01-11T01:00:00", "10 days", "pulumi up"]) {
          assert.ok(text.includes(part), text);
        }
        assert.match(warning(1, 30) ?? "", /in 25 hours/);
        assert.match(warning(-1) ?? "", /expired/);
      });

      it("is not warned of before, or when nothing was said", () => {
        assert.equal(warning(10, 10), undefined);
        assert.equal(warning(10), undefined);
      });

      it("keeps renewBeforeDays out of requests, and through a refresh that finds drift", async () => {
        await stack.up(args);
        heard();
        assert.equal(await stack.up({ ...args, renewBeforeDays: 30 }), "update");
        assert.deepEqual(methods(), ["GET"]);
        emulator.tlsCertificates.patch(stack.id, { description: "by hand" });
        assert.equal(await stack.refresh(), "drifted");
        assert.equal(stack.inputs.renewBeforeDays, 30);
      });
    });

    it("C37 what ignoreChanges gives back of an earlier check is no stray", async () => {
      const { inputs } = await stack.check(args);
      assert.deepEqual(await reasons({ ...inputs, description: "new" }, inputs), []);
      // Written by a program, it is.
      const [reason = ""] = await reasons({ ...args, notAfter: "2030-01-01T00:00:00Z" });
      assert.ok(reason.startsWith("notAfter: "), reason);
    });

    if (door === "dynamic") {
      it("C83 C14 say what follows from the chain that is given, not from the one before", async () => {
        const { inputs: olds } = await stack.check(args, {});
        const { inputs } = await stack.check(argsOf(rsa), olds);
        const { serialNumber } = new X509Certificate(rsa.certificatePem);
        assert.equal(String(inputs.serialNumber).replaceAll(":", "").toUpperCase(), serialNumber);
        assert.notEqual(inputs.chainFingerprint, olds.chainFingerprint);
      });
    }

    it("C11 a missing key is refused only when the certificate or its chain is new", async () => {
      const { privateKeyPem: _, ...keyless } = args;
      const { inputs } = await stack.check(args, {});
      assert.deepEqual(await reasons(keyless, inputs), []);
      const { inputs: others } = await stack.check(argsOf(rsa), {});
      assert.equal((await reasons(keyless, others)).length, 1);
    });

    it("C10 description and metadata are limited in bytes", async () => {
      const at = { description: "é".repeat(127), metadata: "é".repeat(2048) };
      assert.deepEqual(await reasons({ ...args, ...at }), []);
      const over = { description: "é".repeat(128), metadata: `${at.metadata}x` };
      const paths = (await reasons({ ...args, ...over })).map((reason) => reason.split(": ")[0]);
      assert.deepEqual(paths, ["description", "metadata"]);
    });

    it("C13 unknown values pass, and what is known beside them is checked", async () => {
      const hidden = { certificatePem: unknown, privateKeyPem: unknown };
      for (const known of [
        {},
        { certificatePem: args.certificatePem },
        { privateKeyPem: args.privateKeyPem },
      ]) {
        assert.deepEqual(await reasons({ ...hidden, ...known, description: unknown }), []);
      }
      assert.equal((await reasons({ ...hidden, privateKeyPem: "no key" })).length, 1);
      assert.equal((await reasons({ ...hidden, certificatePem: "no chain" })).length, 1);
    });

    it("C14 the plan knows what follows from the leaf, as the service will say it", async () => {
      const known = await planned(args);
      const parsed = new X509Certificate(leaf.certificatePem);
      const expected = {
        subjectCommonName: "app.example.com",
        subjectAlternativeNames: {
          dnsNames: ["app.example.com", "*.app.example.com"],
          ips: ["192.0.2.1"],
        },
        issuerCommonName: "between",
        serialNumber: parsed.serialNumber.toLowerCase(),
        notBefore: "2026-01-02T03:04:05Z",
        notAfter: "2999-01-02T03:04:05Z",
        privateKeyType: "ecdsa",
        fingerprint: parsed.fingerprint256.replaceAll(":", "").toLowerCase(),
        subjectOrganization: "Acme, Inc.",
        subjectOrganizationalUnit: "Web",
        subjectLocality: "Zürich",
        subjectProvince: "ZH",
        subjectCountry: "CH",
      };
      for (const [property, value] of Object.entries(expected)) {
        assert.deepEqual(known[property], value, property);
      }
      await stack.up(args);
      const { props } = await stack.get(stack.id);
      for (const [property, value] of Object.entries(expected)) {
        assert.deepEqual(props?.[property], value, property);
      }
      const key = parsed.publicKey.export({ type: "spki", format: "der" });
      assert.equal(props?.publicKeyFingerprint, createHash("sha256").update(key).digest("hex"));
      const wire = emulator.tlsCertificates.get(stack.id);
      assert.equal(wire?.serial_number, expected.serialNumber);
      assert.equal(wire?.not_after, expected.notAfter);
      assert.deepEqual(wire?.subject_alternative_names?.dns_names, [
        "app.example.com",
        "*.app.example.com",
      ]);
      assert.deepEqual(stack.state.keyUsages, wire?.key_usages);
      assert.deepEqual(stack.state.extendedKeyUsages, wire?.extended_key_usages);
    });

    it("C14 a leaf on a curve that ends Node 24's own parser of names is described", () => {
      const described = describeChain(parseChain(secp256k1));
      assert.equal(described.privateKeyType, "ecdsa");
      assert.equal(described.subjectCommonName, "odd.example.com");
      assert.equal(described.subjectLocality, "Zürich");
      // As it stands in the certificate, the space at its end included.
      assert.equal(described.subjectOrganization, "Acme, Inc. ");
    });

    it("C14 names with escapes, and with several attributes at one level, are read", () => {
      const described = describeChain([new X509Certificate(escapes)]);
      assert.equal(described.subjectCommonName, "a");
      assert.equal(described.subjectOrganization, "b");
      assert.equal(described.subjectOrganizationalUnit, " #x;y");
      assert.equal(described.subjectLocality, "new\nline");
      assert.equal(described.issuerCommonName, "a");
    });

    it("C14 a leaf that names nobody has empty fields, which a plan knows", async () => {
      const known = await planned(argsOf(ed25519));
      assert.equal(known.subjectOrganization, "");
      assert.deepEqual(known.subjectAlternativeNames, { dnsNames: [], ips: [] });
      assert.equal(known.privateKeyType, "ed25519");
    });
  });

  describe("what changes", () => {
    it("C20 description and metadata update in place, and are sent alone", async () => {
      await stack.up({ ...args, description: "a", metadata: "m" });
      heard();
      assert.equal(await stack.up({ ...args, description: "b", metadata: "m" }), "update");
      assert.equal(await stack.up(args), "update");
      assert.deepEqual(heard(), [
        { method: "PATCH", body: { description: "b" } },
        { method: "PATCH", body: { description: "", metadata: "" } },
      ]);
    });

    it("C20 another chain replaces: a new leaf, or the same leaf with less behind it", async () => {
      await stack.up(args);
      for (const news of [argsOf(rsa), { ...args, certificatePem: leafOnly(leaf) }]) {
        const { verdict, replaces } = await stack.preview(news);
        assert.equal(verdict, "replace");
        assert.deepEqual(replaces, ["certificatePem"]);
      }
    });

    describe("where the service answers with another chain of the same leaf", () => {
      /** The chain with the root, which the program has. */
      let chain: string;
      const answerWith = (certificate_pem: string) => {
        const fields = { certificate_pem };
        for (const path of ["/tls_certificates", "/tls_certificates/*"]) {
          emulator.faults.add({ path, times: 100, answer: { fields } });
        }
      };
      const withoutRoot = () => answerWith(leaf.certificatePem);
      beforeEach(() => {
        chain = leaf.certificatePem + root.certificatePem;
      });

      for (const [what, isSent] of [
        ["without its root", true],
        ["with a root that was not sent", false],
      ] as const) {
        it(`C20 C25 ${what}, the chain that was sent is no change, after a refresh and an update too`, async () => {
          const [sent, answered] = isSent
            ? [chain, leaf.certificatePem]
            : [leaf.certificatePem, chain];
          const news = { ...args, certificatePem: sent };
          answerWith(answered);
          await stack.up(news);
          assert.equal(stack.state.certificatePem, answered);
          assert.equal(await stack.up(news), "same");
          assert.equal(await stack.refresh(), "same");
          assert.equal(await stack.up(news), "same");
          assert.equal(await stack.up({ ...news, description: "d" }), "update");
          assert.equal(await stack.up({ ...news, description: "d" }), "same");
          assert.deepEqual(methods(), ["POST", "GET", "PATCH"]);
          const service = { ...args, certificatePem: answered, description: "d" };
          assert.equal((await stack.preview(service)).verdict, "same");
        });

        it(`C20 C25 one that begins to answer ${what} causes no request and no new certificate`, async () => {
          const [sent, answered] = isSent
            ? [chain, leaf.certificatePem]
            : [leaf.certificatePem, chain];
          const news = { ...args, certificatePem: sent };
          await stack.up(news);
          answerWith(answered);
          assert.equal(await stack.refresh(), "drifted");
          heard();
          const { inputs } = await stack.check(news);
          assert.notEqual((await stack.diff(inputs)).verdict, "replace");
          assert.deepEqual(methods(), []);
        });
      }

      it("C20 a program that adds to the chain replaces", async () => {
        withoutRoot();
        await stack.up(args);
        const { replaces } = await stack.preview({ ...args, certificatePem: chain });
        assert.deepEqual(replaces, ["certificatePem"]);
      });

      it("C20 another chain that begins like the one that was sent replaces", async () => {
        withoutRoot();
        await stack.up({ ...args, certificatePem: chain });
        for (const certificatePem of [chain + root.certificatePem, leafOnly(leaf)]) {
          assert.equal((await stack.preview({ ...args, certificatePem })).verdict, "replace");
        }
      });

      it("C20 an answer with another leaf is another chain", async () => {
        const fields = { certificate_pem: rsa.certificatePem };
        emulator.faults.add({ method: "POST", answer: { fields } });
        await stack.up({ ...args, certificatePem: chain });
        assert.equal((await stack.preview({ ...args, certificatePem: chain })).verdict, "replace");
      });

      if (door === "dynamic")
        it("C40 what was sent for an object that is adopted is not known", async () => {
          withoutRoot();
          await stack.up({ ...args, certificatePem: chain });
          const adopting = new Stack(tlsCertificate).up({
            certificatePem: chain,
            __import: stack.id,
          });
          assert.match((await failureOf(adopting, PlanFailure)).message, /certificatePem: /);
        });
    });

    it("C13 a chain not known yet is a replacement; a description is only a change", async () => {
      await stack.up(args);
      const hidden = { certificatePem: unknown, privateKeyPem: unknown };
      assert.deepEqual((await stack.preview(hidden)).replaces, ["certificatePem"]);
      assert.equal((await stack.preview({ ...args, description: unknown })).verdict, "update");
    });

    const reformatted: [string, (pem: string) => string][] = [
      ["CRLF", (pem) => pem.replaceAll("\n", "\r\n")],
      ["blank lines", (pem) => `\n\n${pem.replaceAll("-----\n-----", "-----\n\n\n-----")}\n\n`],
      ["comments", (pem) => pem.replaceAll("-----BEGIN", "# subject: CN=x\n-----BEGIN")],
      ["blank lines between all lines", (pem) => pem.replaceAll("\n", "\n\n")],
      [
        "what openssl writes around it",
        (pem) =>
          `Bag Attributes\n  friendlyName: a\nsubject=/CN=a\n\nissuer=/O=b\n======================================================\n${pem}`,
      ],
      ["no trailing newline", (pem) => pem.trimEnd()],
    ];
    for (const [kind, reformat] of reformatted) {
      it(`C21 a chain and key with ${kind} are no change`, async () => {
        await stack.up(args);
        const kept = stack.inputs;
        heard();
        const news = {
          certificatePem: reformat(args.certificatePem),
          privateKeyPem: reformat(args.privateKeyPem),
        };
        assert.notEqual(news.certificatePem, args.certificatePem);
        assert.equal(await stack.up(news), "same");
        assert.deepEqual(stack.inputs, kept);
        assert.deepEqual(methods(), []);
      });
    }

    it("C11 C21 only the key is sent, in one form, whatever its text looks like, and that text is no change", async () => {
      const key = createPrivateKey(leaf.privateKeyPem);
      const pkcs8 = text(key.export({ type: "pkcs8", format: "pem" }));
      const sec1 = text(key.export({ type: "sec1", format: "pem" }));
      const create = mock.method(tlsCertificates, "create");
      const bag = "Bag Attributes\n    localKeyID: 54 69 6D 65\nKey Attributes: <No Attributes>\n";
      const parameters =
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
      for (const privateKeyPem of [
        `\ufeff${pkcs8}`,
        `${bag}${pkcs8}subject=CN = app.example.com\n${leafOnly(leaf)}`,
        parameters + sec1,
        sec1.replaceAll("EC PRIVATE", "PRIVATE"),
        pkcs8.replaceAll("\n", "\r\n \t\r\n"),
      ]) {
        const managed = new Stack(tlsCertificate);
        assert.equal(await managed.up({ ...args, privateKeyPem }), "create");
        assert.equal(create.mock.calls.at(-1)?.arguments[1].private_key_pem, pkcs8);
        heard();
        const kept = managed.inputs;
        for (const again of [privateKeyPem, pkcs8, sec1]) {
          assert.equal(await managed.up({ ...args, privateKeyPem: again }), "same");
          assert.deepEqual(managed.inputs, kept);
        }
        assert.deepEqual(methods(), []);
        await managed.destroy();
        heard();
      }
      create.mock.restore();
    });

    it("C21 a key in another encoding that still matches is no change", async () => {
      for (const made of [leaf, rsa]) {
        const managed = new Stack(tlsCertificate);
        await managed.up(argsOf(made));
        const kept = managed.inputs;
        for (const privateKeyPem of Object.values(forms(createPrivateKey(made.privateKeyPem)))) {
          assert.equal(await managed.up({ ...argsOf(made), privateKeyPem }), "same");
          assert.deepEqual(managed.inputs, kept);
        }
      }
      assert.deepEqual(methods(), ["POST", "POST"]);
    });
  });

  describe("its life", () => {
    it("C30 is one request for each step, and C25 none when nothing changed", async () => {
      await stack.up({ ...args, description: "a", metadata: "m" });
      await stack.up({ ...args, description: "a", metadata: "m" });
      assert.equal(await stack.refresh(), "same");
      await stack.up(args);
      await stack.destroy();
      assert.deepEqual(methods(), ["POST", "GET", "PATCH", "DELETE"]);
      assert.deepEqual(emulator.tlsCertificates.list(), []);
    });

    it("C50 the key is in no output, neither is it in an error", async () => {
      await stack.up(args);
      const body = args.privateKeyPem.split("\n")[1] ?? "";
      assert.ok(!JSON.stringify(stack.state).includes(body));
      assert.equal("privateKeyPem" in stack.state, false);
      const { id } = stack;
      await later(emulator);
      emulator.tlsCertificates.delete(id);
      const error = await failureOf(stack.up({ ...args, description: "b" }), Error);
      assert.ok(!inspect(error, { depth: Number.POSITIVE_INFINITY }).includes(body));
    });

    it("C50 the key does not come into the state, where the service answers with it", async () => {
      const der = createPrivateKey(args.privateKeyPem).export({ type: "sec1", format: "der" });
      const quoting = {
        metadata: `key: ${der.toString("hex")}`,
        issued_at: `2026 (${der.toString("base64")})`,
        key_usages: [der.toString("base64url")],
      };
      respond = (body, { method }) =>
        method === "POST" ? { ...(body as object), ...quoting } : body;
      const description = `commit ${"9f86d081".repeat(8)}`;
      await stack.up({ ...args, description, metadata: "m" });
      const { metadata, issuedAt, keyUsages } = stack.state;
      assert.deepEqual(
        [metadata, issuedAt, keyUsages],
        ["key: [secret]", "2026 ([secret])", ["[secret]"]],
      );
      assert.equal(stack.state.description, description, "what was sent, and is no key");
      // In an answer to another request only PEM is known for a key.
      respond = (body) => ({ ...(body as object), metadata: args.privateKeyPem });
      await stack.refresh();
      assert.equal(stack.state.metadata, "[secret]\n");
      respond = (body) => body;
      await stack.up({ ...args, description, metadata: "m" });
      assert.equal(stack.state.metadata, "m");
    });

    it("C53 holds all that the service holds but the key, each in its place", async () => {
      await stack.up({ ...args, description: "for people", metadata: "for machines" });
      const { accountTag, __provider: _, ...state } = stack.state;
      assert.match(String(accountTag), /^[0-9a-f]{16}$/);
      const [wire] = emulator.tlsCertificates.list();
      assert.ok(wire);
      const names = wire.subject_alternative_names;
      assert.deepEqual(
        { ...state, publicKeyFingerprint: "", chainFingerprint: "", fingerprint: "" },
        {
          ...{ uri: wire.uri, createdAt: wire.created_at, issuedAt: null },
          ...{ description: "for people", metadata: "for machines" },
          ...{ renewBeforeDays: null, ...(door === "dynamic" && { connection: "tlsedge" }) },
          certificatePem: state.certificatePem,
          subjectCommonName: wire.subject_common_name,
          subjectAlternativeNames: { dnsNames: names?.dns_names, ips: names?.ips },
          issuerCommonName: wire.issuer_common_name,
          serialNumber: wire.serial_number?.toLowerCase(),
          ...{ notBefore: wire.not_before, notAfter: wire.not_after },
          ...{ keyUsages: wire.key_usages, extendedKeyUsages: wire.extended_key_usages },
          privateKeyType: wire.private_key_type,
          subjectOrganization: wire.subject_organization,
          subjectOrganizationalUnit: wire.subject_organizational_unit,
          subjectLocality: wire.subject_locality,
          subjectProvince: wire.subject_province,
          subjectCountry: wire.subject_country,
          ...{ publicKeyFingerprint: "", chainFingerprint: "", fingerprint: "" },
        },
      );
    });

    it("C31 an update of something else does not hide what has drifted", async () => {
      await stack.up({ ...args, description: "a" });
      emulator.tlsCertificates.patch(stack.id, { description: "by hand" });
      assert.equal(await stack.up({ ...args, description: "a", metadata: "m" }), "update");
      assert.equal(await stack.refresh(), "drifted");
      assert.equal(await stack.up({ ...args, description: "a", metadata: "m" }), "update");
      assert.equal(emulator.tlsCertificates.get(stack.id)?.description, "a");
    });

    for (const fields of [{ description: "by hand" }, { metadata: "by hand" }]) {
      const [property = ""] = Object.keys(fields);
      it(`C31 drift in ${property} is found with all inputs, and up puts it right`, async () => {
        await stack.up({ ...args, description: "a", metadata: "m" });
        const { privateKeyPem, ...inputs } = stack.inputs;
        emulator.tlsCertificates.patch(stack.id, fields);
        assert.equal(await stack.refresh(), "drifted");
        // A dynamic provider is not told the key.
        const told = { ...inputs, ...fields, ...(door === "plugin" && { privateKeyPem }) };
        assert.deepEqual(stack.inputs, told);
        heard();
        assert.equal(await stack.up({ ...args, description: "a", metadata: "m" }), "update");
        const [{ method, body } = { method: "", body: {} }] = heard();
        assert.equal(method, "PATCH");
        assert.deepEqual(Object.keys(body as object), [property]);
        assert.equal(stack.inputs.privateKeyPem, args.privateKeyPem);
        assert.equal(await stack.refresh(), "same");
      });
    }

    it("C31 another chain under the same id is drift, and a replacement", async () => {
      await stack.up(args);
      emulator.tlsCertificates.patch(stack.id, { certificate_pem: rsa.certificatePem });
      assert.equal(await stack.refresh(), "drifted");
      assert.equal((await stack.preview(args)).verdict, "replace");
    });

    it("C31 a certificate removed behind the engine's back is gone, and made anew", async () => {
      await stack.up(args);
      await later(emulator);
      emulator.tlsCertificates.delete(stack.id);
      assert.equal(await stack.refresh(), "gone");
      assert.equal(await stack.up(args), "create");
    });

    it("C32 deleting what is gone succeeds; updating it names pulumi refresh", async () => {
      await stack.up(args);
      await later(emulator);
      emulator.tlsCertificates.delete(stack.id);
      const error = await failureOf(stack.up({ ...args, description: "b" }), Error);
      assert.match(error.message, /pulumi refresh/);
      await stack.destroy();
    });

    it("C35 an update that has nothing to send reads instead", async () => {
      await stack.up(args);
      heard();
      await tlsCertificate.update(stack.id, stack.state, stack.inputs, stack.inputs);
      assert.deepEqual(methods(), ["GET"]);
    });

    if (door === "dynamic")
      it("C43 a read that knows the id alone tells the chain too, and no inputs", async () => {
        await stack.up(args);
        const { props, inputs } = await stack.get(stack.id);
        assert.equal(inputs, undefined);
        assert.equal(props?.subjectCommonName, "app.example.com");
        const { raw } = new X509Certificate(String(props?.certificatePem));
        assert.deepEqual(raw, new X509Certificate(args.certificatePem).raw);
        const missing = await failureOf(stack.get("cert_none"), Error);
        assert.ok(missing.message.includes("cert_none"));
      });
  });
});

/** Made once: Web Crypto knows no such curve. */
const secp256k1 = `-----BEGIN CERTIFICATE-----
MIICSjCCAfCgAwIBAgIULqJU38w8dMLMlNBE/G1NFVbsonYwCgYIKoZIzj0EAwIw
bTELMAkGA1UEBhMCQ0gxCzAJBgNVBAgMAlpIMRAwDgYDVQQHDAdaw7xyaWNoMRQw
EgYDVQQKDAtBY21lLCBJbmMuIDEPMA0GA1UECwwGU2Vjb25kMRgwFgYDVQQDDA9v
ZGQuZXhhbXBsZS5jb20wIBcNMjYxMTIxMTcyMDM5WhgPMjEyNjEwMjgxNzIwMzla
MG0xCzAJBgNVBAYTAkNIMQswCQYDVQQIDAJaSDEQMA4GA1UEBwwHWsO8cmljaDEU
MBIGA1UECgwLQWNtZSwgSW5jLiAxDzANBgNVBAsMBlNlY29uZDEYMBYGA1UEAwwP
b2RkLmV4YW1wbGUuY29tMFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEyWpkWF/RBXUO
ttQ0LkxVzxlWuSITI0lNSlcZT0pTu/5CZpI8HoqCxC+lPIcIDquKe2WWiI+FnWiI
caMuttS8jaNvMG0wHQYDVR0OBBYEFNQCJd7JEXtFjAjIaWnsYzstywFnMB8GA1Ud
IwQYMBaAFNQCJd7JEXtFjAjIaWnsYzstywFnMA8GA1UdEwEB/wQFMAMBAf8wGgYD
VR0RBBMwEYIPb2RkLmV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIQDJBqJI
piEhBjHELCttAGKOISlisbl/bBpyxfPIIxotfAIgfawKEk9s7knGcLCfr7kiNVSi
XfCVW7PaJpCgLrgNN84=
-----END CERTIFICATE-----
`;

/** The start of such a key, which is enough. */
const openSsh = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB
-----END OPENSSH PRIVATE KEY-----
`;

/** CN=a + O=b, OU=" #x;y", and L with a line break. */
const escapes = `-----BEGIN CERTIFICATE-----
MIIDUzCCAjugAwIBAgIUX1SdyFgFve0HnPM2Be2sw5x5TDAwDQYJKoZIhvcNAQEL
BQAwOTEUMAgGA1UEAwwBYTAIBgNVBAoMAWIxDjAMBgNVBAsMBSAjeDt5MREwDwYD
VQQHDAhuZXcKbGluZTAeFw0yNjExMjExNzIwMzlaFw0yNjExMjMxNzIwMzlaMDkx
FDAIBgNVBAMMAWEwCAYDVQQKDAFiMQ4wDAYDVQQLDAUgI3g7eTERMA8GA1UEBwwI
bmV3CmxpbmUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQCWA6IVo7r7
5vRWuR6P5mz3IUDbMjOgUq5MW3jG0JowW83KF/1H0KDz8jntDaWd0mLzggnQDGae
DKxla8xzemfg9UODkzGNe3pm/sht3OBIxTF9zV/UakQr2n9Gf/Tj3P3AH/0CLFPP
1sFaGP3BmcBACSi8ClKdKEfPEHLtMRkeKQdu56GTzvQcciEJZ9raLMfu1S+LdKZB
aegG2SFhJrcWnpwLef7GW7Uyp6ewdoo5w3j+/PBu6vmLArd2hW8Ov147LYPYPtFD
UKXug9wYF5sCSPtNc4YazPUu9MeIZqVMMzsDTm+fO7qi1mjKhPPFkMKS7Ymky5H6
PPrnCzw4RJDTAgMBAAGjUzBRMB0GA1UdDgQWBBQ5RRSbOq9lL7UI8H+xPjR2hVYv
pDAfBgNVHSMEGDAWgBQ5RRSbOq9lL7UI8H+xPjR2hVYvpDAPBgNVHRMBAf8EBTAD
AQH/MA0GCSqGSIb3DQEBCwUAA4IBAQA0LURiN14aD0iFnUK24izJA5Rm+i7BRO6X
KA0R7LgR2IJUJgzJJfsgt2qeqzxk0PB+c9dbfJpVSQjO1SYFINjqCPnoKPvPy24G
n6IadAZl/6tb4534nNn5MmqC24xkXNlnAMcrMO3Xb0YShKl2lyXBjNXJG9Lfjv+x
E66BPVM33WvdLwulWXiqGb2aREz2b5ePy+qqKBisxuAo4Ggn2DUsQHbQ/olsTkFJ
guncfFP9qhSjehhqCQwPjKwNpUX0GnXfYibr7wG3xX5VbltVbESEKRWNGUum9OfP
dtQD/hrCU0WbWZMp01o8Pk2f/TwJ9GCuT/OtfaOJCBclicJ/A8Ll
-----END CERTIFICATE-----
`;
