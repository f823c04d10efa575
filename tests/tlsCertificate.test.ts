import assert from "node:assert/strict";
import crypto, { createPrivateKey, X509Certificate } from "node:crypto";
import { mock } from "node:test";
import { tlsCertificates } from "../client/tlsCertificate";
import { type MadeCertificate, makeCertificate } from "../emulator/server";
import { tlsCertificate } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import { Chain } from "../provider/values/chain";
import {
  deployed,
  failureOf,
  makePair,
  PlanFailure,
  type Properties,
  takeMethods,
  takeRequests,
  unknown,
  useEmulator,
} from "./support";

type Pair = Awaited<ReturnType<typeof makePair>>;

const leafOnly = ({ certificatePem }: Pair) =>
  certificatePem.split(/(?<=-----END CERTIFICATE-----)/)[0] ?? "";

/** What a certificate replaces, what its state holds, and where its key does not stand. */
describe("a TLS certificate", () => {
  const emulator = useEmulator();
  let root: MadeCertificate;
  let rsa: Pair;
  /** What every good program says. */
  let args: Pair;

  before(async () => {
    root = await makeCertificate({ commonName: "root", isCa: true });
    const issuer = await makeCertificate({ commonName: "between", isCa: true, issuer: root });
    args = await makePair({
      commonName: "app.example.com",
      ...{ organization: "Acme, Inc.", organizationalUnit: "Web" },
      ...{ locality: "Zürich", province: "ZH", country: "CH" },
      dnsNames: ["app.example.com", "*.app.example.com"],
      ips: ["192.0.2.1"],
      issuer,
      notBefore: new Date("2026-01-02T03:04:05Z"),
      notAfter: new Date("2999-01-02T03:04:05Z"),
    });
    rsa = await makePair({ commonName: "rsa.example.com", keyType: "rsa" });
  });

  const methods = () => takeMethods(emulator);
  const deploy = (args: Properties) => deployed(tlsCertificate, args);

  it("C14: a plan knows what follows from the leaf, as the service says it, of a new chain too", async () => {
    const stack = await deploy(rsa);
    const { inputs } = await stack.check(args);
    const { state } = await deploy(args);
    for (const name of Object.keys(Chain.parse(args.certificatePem).toState())) {
      assert.deepEqual(inputs[name], state[name], name);
    }
  });

  describe("what changes", () => {
    describe("where the service answers with another chain of the same leaf", () => {
      const answerWith = (certificate_pem: string) => {
        for (const path of ["/tls_certificates", "/tls_certificates/*"]) {
          emulator.faults.add({ path, times: 100, answer: { fields: { certificate_pem } } });
        }
      };
      /** The chain without the root, and with it. */
      let short: string;
      let chain: string;
      before(() => {
        short = args.certificatePem;
        chain = short + root.certificatePem;
      });

      it("C20 C25: the chain that was sent is no change where the service has it without its root, or with one that was not sent", async () => {
        for (const [sent = "", answered = ""] of [
          [chain, short],
          [short, chain],
        ]) {
          emulator.reset();
          const news = { ...args, certificatePem: sent };
          answerWith(answered);
          beginRun();
          const stack = await deploy(news);
          assert.equal(stack.state.certificatePem, answered);
          // States have this name.
          assert.ok(stack.state.__sentChainFingerprint);
          assert.equal(await stack.up(news), "same");
          assert.equal(await stack.refresh(), "same");
          const changed = { ...news, description: "d" };
          assert.equal(await stack.up(changed), "update");
          assert.equal(await stack.up(changed), "same");
          assert.deepEqual(methods(), ["GET", "POST", "GET", "PATCH"]);
          const service = { ...changed, certificatePem: answered };
          assert.equal((await stack.preview(service)).verdict, "same");
        }
      });

      it("C20: any other chain than the one that was sent replaces", async () => {
        for (const [sent, answered, now] of [
          [short, short, chain],
          [short, short, leafOnly(args)],
          [chain, short, chain + root.certificatePem],
          [chain, short, leafOnly(args)],
          [chain, rsa.certificatePem, chain],
        ] as const) {
          emulator.reset();
          answerWith(answered);
          const stack = await deploy({ ...args, certificatePem: sent });
          const { replaces } = await stack.preview({ ...args, certificatePem: now });
          assert.deepEqual(replaces, ["certificatePem"]);
        }
      });

      it("C40: a chain that an import shares the leaf with is compared as a whole", async () => {
        answerWith(short);
        const { id } = await deploy({ ...args, certificatePem: chain });
        beginRun();
        const adopting = deploy({ certificatePem: chain, __import: id });
        assert.match((await failureOf(adopting, PlanFailure)).message, /certificatePem: /);
      });
    });

    it("a renewal makes six hashes at most, and parses the key once a call", async () => {
      const stack = await deployed(tlsCertificate, args);
      const [hash, key] = (["createHash", "createPrivateKey"] as const).map((name) => {
        const counted = mock.method(crypto, name).mock;
        // The emulator parses keys, too.
        return () =>
          counted.calls.filter(({ stack }) => stack.stack?.includes("/provider/values/")).length;
      }) as [() => number, () => number];
      assert.deepEqual([(await stack.preview(rsa)).verdict, key()], ["replace", 1]);
      // The engine checks what replaces again, as one that is not there.
      await deployed(tlsCertificate, rsa);
      assert.equal(key(), 3);
      await stack.leave();
      assert.ok(hash() <= 6, `${hash()} hashes`);
    });

    it("C13: a chain that is not known yet replaces, an unknown description or key is only a change", async () => {
      const stack = await deploy(args);
      const hidden = { certificatePem: unknown, privateKeyPem: unknown };
      assert.deepEqual((await stack.preview(hidden)).replaces, ["certificatePem"]);
      for (const name of ["description", "metadata", "privateKeyPem"]) {
        assert.equal((await stack.preview({ ...args, [name]: unknown })).verdict, "update");
      }
      assert.ok(!JSON.stringify(emulator.requests).includes(unknown));
    });

    it("C11 C21: chain and key are sent alone and in one form, whatever their texts look like, and that is no change", async () => {
      const key = createPrivateKey(args.privateKeyPem);
      const [pkcs8, sec1] = (["pkcs8", "sec1"] as const).map((type) =>
        String(key.export({ type, format: "pem" })),
      ) as [string, string];
      const create = mock.method(tlsCertificates, "create");
      const bag = "Bag Attributes\n    localKeyID: 54 69 6D 65\nKey Attributes: <No Attributes>\n";
      const parameters =
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
      for (const privateKeyPem of [
        `\ufeff${pkcs8}`,
        `${bag}${pkcs8}subject=CN = app.example.com\n${leafOnly(args)}`,
        parameters + sec1,
        sec1.replaceAll("EC PRIVATE", "PRIVATE"),
        pkcs8.replaceAll("\n", "\r\n \t\r\n"),
      ]) {
        const certificatePem = `${bag}${args.certificatePem}`;
        const stack = await deploy({ certificatePem, privateKeyPem });
        const sent = create.mock.calls.at(-1)?.arguments[1];
        assert.equal(sent?.certificate_pem, args.certificatePem);
        assert.equal(sent?.private_key_pem, pkcs8);
        methods();
        const { inputs } = stack;
        for (const again of [privateKeyPem, pkcs8, sec1]) {
          assert.equal(await stack.up({ ...args, privateKeyPem: again }), "same");
          assert.deepEqual(stack.inputs, inputs);
        }
        assert.deepEqual(methods(), []);
        await stack.destroy();
      }
    });
  });

  describe("its life", () => {
    it("C50: a private key does not come into the state where the service answers with it", async () => {
      const body = args.privateKeyPem.replace(/-----.*-----/g, "").trim();
      const quoting = { metadata: `key: ${body}`, key_usages: [body] };
      emulator.respond = (one, { method }) =>
        method === "POST" ? { ...(one as object), ...quoting } : one;
      const stack = await deploy({ ...args, metadata: "m" });
      const { metadata, keyUsages } = stack.state;
      for (const line of body.split("\n").slice(0, 2))
        assert.ok(!JSON.stringify([metadata, keyUsages]).includes(line));
      assert.match(String(metadata), /^key: \[secret\]/);
    });

    it("C50: a chain is no secret, also where the program marks it: the service's reason is shown", async () => {
      const answer = { status: 400, body: '{"msg":"no more certificates"}' };
      emulator.faults.add({ method: "POST", answer });
      const failed = deploy({ ...args, __secrets: ["certificatePem", "privateKeyPem"] });
      assert.match((await failureOf(failed, Error)).message, /no more certificates/);
    });

    it("C50 C53: the state of a certificate holds all that the service holds but the key, each in its place", async () => {
      const stack = await deploy({ ...args, description: "for people", metadata: "for machines" });
      const { accountTag: _, certificatePem, __provider, ...state } = stack.state;
      assert.equal(certificatePem, args.certificatePem);
      const wire = emulator.tlsCertificates.get(stack.id);
      assert.ok(wire);
      const { id, certificate_pem, serial_number, subject_alternative_names, ...others } = wire;
      const camel = (name: string) => name.replace(/_(.)/g, (_, sign) => sign.toUpperCase());
      const hashes = { publicKeyFingerprint: "", chainFingerprint: "", fingerprint: "" };
      assert.deepEqual(
        { ...state, ...hashes },
        {
          ...Object.fromEntries(
            Object.entries(others).map(([name, value]) => [camel(name), value]),
          ),
          subjectAlternativeNames: {
            dnsNames: subject_alternative_names?.dns_names,
            ips: subject_alternative_names?.ips,
          },
          serialNumber: serial_number?.toLowerCase(),
          ...{ renewBeforeDays: null, connection: "tlsedge", ...hashes },
        },
      );
    });

    it("C31: another chain under the same id is drift, and a replacement", async () => {
      const stack = await deploy(args);
      emulator.tlsCertificates.patch(stack.id, { certificate_pem: rsa.certificatePem });
      assert.equal(await stack.refresh(), "drifted");
      const { serialNumber } = new X509Certificate(rsa.certificatePem);
      assert.equal(stack.inputs.serialNumber, serialNumber.toLowerCase());
      assert.equal((await stack.preview(args)).verdict, "replace");
    });

    it("C21 C54: a chain in another form, in the state or at the service, is no drift", async () => {
      const stack = await deploy(args);
      const certificate_pem = args.certificatePem.replaceAll("\n", "\r\n");
      stack.state.certificatePem = certificate_pem;
      emulator.respond = (body) => ({ ...(body as object), certificate_pem });
      assert.equal(await stack.refresh(), "same");
      assert.equal(stack.state.certificatePem, args.certificatePem);
      assert.equal(await stack.up(args), "same");
    });

    it("C54: a property that the state does not have is no drift, and a refresh stores it", async () => {
      const news = { ...args, metadata: "m" };
      const stack = await deploy(news);
      const { metadata, keyUsages, publicKeyFingerprint, ...state } = stack.state;
      stack.state = state;
      assert.equal(await stack.refresh(), "same");
      const found = [stack.state.metadata, stack.state.keyUsages, stack.state.publicKeyFingerprint];
      assert.deepEqual(found, [metadata, keyUsages, publicKeyFingerprint]);
      assert.equal(await stack.up(news), "same");
    });

    it("C40: a key that is given later is no change, and is stored", async () => {
      const { id } = await deploy(args);
      beginRun();
      const { certificatePem } = args;
      const stack = await deploy({ certificatePem, __import: id });
      takeRequests(emulator);
      assert.equal(await stack.up({ ...args, __import: id }), "same");
      assert.deepEqual(methods(), []);
      assert.equal(stack.inputs.privateKeyPem, args.privateKeyPem);
    });
  });
});
