import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
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
import { describeChain, parseChain } from "../provider/values/pem";
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
const text = (key: string | Buffer) => key.toString();
const argsOf = ({ certificatePem, privateKeyPem }: MadeCertificate) => ({
  certificatePem,
  privateKeyPem,
});

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

  it("C11 C50 a plan with a swapped certificate and key fails, and shows neither", async () => {
    const { certificatePem, privateKeyPem } = args;
    const swapped = { certificatePem: privateKeyPem, privateKeyPem: certificatePem };
    const found = await reasons(swapped);
    assert.equal(found.length, 2);
    for (const reason of found) assert.match(reason, /swapped/);
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

  it("C11 a plan warns of each doubt about a chain, once", async () => {
    const day = (days: number) => new Date(Date.now() + days * 24 * hour);
    const past = { notBefore: day(-9), notAfter: day(-1) };
    const issuer = await makeCertificate({ commonName: "old", isCa: true, issuer: root, ...past });
    const made = await makeCertificate({ commonName: "a", issuer, notAfter: day(4) });
    const [first = "", second = "", ...more] = await warnings({
      ...argsOf(made),
      renewBeforeDays: 5,
    });
    assert.match(first, /^the leaf certificate expires on .* in 3 days/);
    assert.match(second, /^certificate 2 of the chain expired/);
    assert.deepEqual(more, []);
    assert.deepEqual(await warnings(args), []);
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

  it("C37 what ignoreChanges gives back of an earlier check is no stray", async () => {
    const { inputs } = await stack.check(args);
    assert.deepEqual(await reasons({ ...inputs, description: "new" }, inputs), []);
    // Written by a program, it is.
    const [reason = ""] = await reasons({ ...args, notAfter: "2030-01-01T00:00:00Z" });
    assert.ok(reason.startsWith("notAfter: "), reason);
  });

  if (door === "dynamic")
    it("C83 C14 say what follows from the chain that is given, not from the one before", async () => {
      const { inputs: olds } = await stack.check(args, {});
      const { inputs } = await stack.check(argsOf(rsa), olds);
      const { serialNumber } = new X509Certificate(rsa.certificatePem);
      assert.equal(inputs.serialNumber, serialNumber.toLowerCase());
      assert.notEqual(inputs.chainFingerprint, olds.chainFingerprint);
    });

  it("C14 the plan knows what follows from the leaf, as the service will say it", async () => {
    const checked = await stack.check(args);
    assert.deepEqual(checked.failures, []);
    const planned = (await tlsCertificate.planned?.(checked.inputs)) ?? checked.inputs;
    await stack.up(args);
    const derived = Object.keys(describeChain(parseChain(args.certificatePem)));
    for (const name of derived) assert.deepEqual(planned[name], stack.state[name], name);
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
      beforeEach(() => {
        chain = leaf.certificatePem + root.certificatePem;
      });

      for (const isSent of [true, false]) {
        const what = isSent ? "without its root" : "with a root that was not sent";
        const pems = () => (isSent ? [chain, leaf.certificatePem] : [leaf.certificatePem, chain]);

        it(`C20 C25 ${what}, the chain that was sent is no change, after a refresh and an update too`, async () => {
          const [sent = "", answered = ""] = pems();
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
          const [sent = "", answered = ""] = pems();
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

      it("C20 any other chain than the one that was sent replaces", async () => {
        const short = leaf.certificatePem;
        for (const [sent, answered, now] of [
          [short, short, chain],
          [chain, short, chain + root.certificatePem],
          [chain, short, leafOnly(leaf)],
          [chain, rsa.certificatePem, chain],
        ] as const) {
          emulator.reset();
          stack = new Stack(tlsCertificate);
          answerWith(answered);
          await stack.up({ ...args, certificatePem: sent });
          const { replaces } = await stack.preview({ ...args, certificatePem: now });
          assert.deepEqual(replaces, ["certificatePem"]);
        }
      });

      if (door === "dynamic")
        it("C40 what was sent for an object that is adopted is not known", async () => {
          answerWith(leaf.certificatePem);
          await stack.up({ ...args, certificatePem: chain });
          const inputs = { certificatePem: chain, __import: stack.id };
          const adopting = new Stack(tlsCertificate).up(inputs);
          assert.match((await failureOf(adopting, PlanFailure)).message, /certificatePem: /);
        });
    });

    it("C13 a chain not known yet is a replacement; a description is only a change", async () => {
      await stack.up(args);
      const hidden = { certificatePem: unknown, privateKeyPem: unknown };
      assert.deepEqual((await stack.preview(hidden)).replaces, ["certificatePem"]);
      assert.equal((await stack.preview({ ...args, description: unknown })).verdict, "update");
    });

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
