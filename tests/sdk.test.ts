import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import os from "node:os";
import { mock } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { ServiceError } from "../client/errors";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  type Respond,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import type { TLSCertificateInputs } from "../provider/tlsCertificate";
import type { TLSEdgeInputs } from "../provider/tlsEdge";
import * as sdk from "../sdk";
import type { InputOf } from "../sdk/kind";
import {
  failureOf,
  known,
  type Properties,
  Stack,
  setEnv,
  setEnvFor,
  setMocks,
  until,
} from "./support";

const { LookupError } = sdk;

/** What an output comes to, be it a failure: Pulumi does not export the type of it. */
const settled = <T>(output: pulumi.Output<T>) =>
  (output as unknown as { promise(): Promise<T> }).promise();

/** True if both types are the same; `npm run lint` compiles this. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { [K in keyof T]: T[K] };
/** The arguments that a provider's schema allows. */
type ArgsOf<Inputs, Settings extends keyof Inputs> = Flat<
  { [K in keyof Omit<Inputs, Settings>]: InputOf<Inputs[K]> } & Pick<Inputs, Settings>
>;
/** A program of this package may name a config namespace. */
type Own<Inputs> = Inputs & { connection?: string | undefined };
const areSchemas: [
  Same<Flat<sdk.TLSCertificateArgs>, ArgsOf<Own<TLSCertificateInputs>, "connection">>,
  Same<Flat<sdk.TLSEdgeArgs>, ArgsOf<Own<TLSEdgeInputs>, "connection" | "onModuleRemoval">>,
] = [true, true];
assert.ok(areSchemas);
/** C15: the compiler knows the values of each choice. */
const choices: [
  Same<sdk.TLSEdgeArgs["onModuleRemoval"], "disable" | "replace" | undefined>,
  Same<sdk.TLSSiteArgs["minVersion"], pulumi.Input<sdk.TLSVersion> | undefined>,
  Same<sdk.TLSVersion, "1.0" | "1.1" | "1.2" | "1.3">,
  Same<
    sdk.TlsTerminationArgs["terminateAt"],
    pulumi.Input<"edge" | "upstream" | undefined> | undefined
  >,
] = [true, true, true, true];
assert.ok(choices);

const webs = [
  { id: "tn_1", labels: { app: "web", env: "production" }, region: "eu", metadata: "web-1" },
  { id: "tn_2", labels: { app: "web", env: "production" }, region: "eu", metadata: "web-2" },
  { id: "tn_3", labels: { app: "web", env: "staging" }, region: "us", metadata: "web-3" },
];
const seeds = [
  ...webs,
  { id: "tn_4", public_url: "https://hooks.example", proto: "https", forwards_to: "http://a:80" },
  { id: "tn_5", public_url: "tcp://ssh.example:22", proto: "tcp", forwards_to: "a:22" },
];

describe("the SDK", () => {
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond;

  before(async () => {
    emulator = await startEmulator({
      tunnels: seeds,
      respond: (body, request) => respond(body, request),
    });
    restore = setEnvFor(emulator);
  });
  beforeEach(() => {
    emulator.reset();
    respond = (body) => body;
  });
  after(() => {
    restore();
    return emulator.close();
  });

  const idsOf = (found: { id: string }[]) => found.map(({ id }) => id);

  describe("a lookup of tunnels", () => {
    it("C60 by id gives every field that the service tells", async () => {
      const [, , , hooks] = emulator.tunnels.list();
      const found = await sdk.getTunnel({ id: "tn_4" });
      assert.equal(emulator.requests.length, 1);
      assert.deepEqual(found, {
        id: "tn_4",
        publicUrl: "https://hooks.example",
        startedAt: hooks?.started_at,
        metadata: "",
        proto: "https",
        region: "us",
        tunnelSession: hooks?.tunnel_session,
        endpoint: hooks?.endpoint,
        labels: undefined,
        backends: undefined,
        forwardsTo: "http://a:80",
      });
    });

    const filters: [sdk.GetTunnelsArgs, string[]][] = [
      [{}, ["tn_1", "tn_2", "tn_3", "tn_4", "tn_5"]],
      [{ labels: { app: "web" } }, ["tn_1", "tn_2", "tn_3"]],
      [{ labels: { app: "web", env: "staging" } }, ["tn_3"]],
      [{ labels: { app: "web" }, region: "eu" }, ["tn_1", "tn_2"]],
      [{ publicUrl: "tcp://ssh.example:22" }, ["tn_5"]],
      [{ metadata: "web-2" }, ["tn_2"]],
      [{ proto: "tcp" }, ["tn_5"]],
      [{ region: "us" }, ["tn_3", "tn_4", "tn_5"]],
      [{ forwardsTo: "http://a:80" }, ["tn_4"]],
      [{ proto: "tcp", region: "eu" }, []],
    ];
    for (const [args, ids] of filters) {
      it(`C60 by ${JSON.stringify(args)} finds ${ids.join(", ") || "none"}`, async () => {
        assert.deepEqual(idsOf(await sdk.getTunnels(args)), ids);
        assert.deepEqual(idsOf(await known(sdk.getTunnelsOutput(args))), ids);
      });
    }

    it("C60 for one that nothing matches fails and says what was asked", async () => {
      const error = await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
      assert.ok(error.message.includes('"region":"mars"'), error.message);
      const byId = await failureOf(sdk.getTunnel({ id: "tn_none" }), LookupError);
      assert.ok(byId.message.includes("tn_none"), byId.message);
    });

    it("C60 for one that nothing matches lists what is online, by labels where there is no URL", async () => {
      const { message } = await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
      for (const { id } of seeds) assert.ok(message.includes(id), message);
      assert.match(message, /tn_3 .*"env":"staging"/);
      assert.match(message, /tn_4 .*https:\/\/hooks\.example.*http:\/\/a:80/);
      assert.ok(!message.includes("undefined"), message);
      for (let n = 0; n < 20; n++) emulator.tunnels.online({});
      const many = await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
      assert.equal(many.message.match(/tn_/g)?.length, 10);
      assert.match(many.message, /15 more/);
      respond = () => ({ tunnels: [] });
      const none = await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
      assert.match(none.message, /none/);
    });

    it("C50 C60 shows no value of a filter that came from a secret", async () => {
      const [secret, url] = ["s3cret", "tcp://ssh.example:22"];
      emulator.tunnels.online({ id: "tn_6", public_url: url, metadata: secret });
      const message = async (args: Parameters<typeof sdk.getTunnelOutput>[0]) =>
        (await failureOf(settled(sdk.getTunnelOutput(args)), LookupError)).message;
      const hidden = [
        await message({ metadata: pulumi.secret(secret), region: "mars" }),
        await message({ labels: { app: pulumi.secret(secret) } }),
        await message(pulumi.secret({ publicUrl: url })),
        await message({ id: pulumi.secret(secret) }),
      ];
      for (const text of hidden) {
        assert.ok(!text.includes(secret), text);
        assert.ok(!text.includes(url), text);
      }
      assert.match(String(hidden[0]), /metadata, region/);
      assert.match(String(hidden[2]), /tn_5.*tn_6|tn_6.*tn_5/s);
      // What is no secret helps.
      assert.match(await message({ metadata: pulumi.output("plain") }), /plain/);
      const undo = setEnv({ TLSEDGE_API_KEY: "refused" });
      const lookup = sdk.getTunnelOutput({ id: pulumi.secret(secret) });
      const { message: told } = await failureOf(settled(lookup), ServiceError).finally(undo);
      assert.ok(!told.includes(secret), told);
    });

    /** As a program in JavaScript may pass it. */
    const any = (value: unknown) => value as never;
    const wrong: [string, unknown, RegExp][] = [
      ["a misspelt filter", { publicURL: "x" }, /publicUrl/],
      ["a filter in the words of the wire", { forwards_to: "x" }, /forwardsTo/],
      ["an unknown filter", { id: "tn_1", colour: "red" }, /colour/],
      ["a number", { region: 5 }, /region/],
      ["null", { region: null }, /region/],
      ["a list of labels", { labels: ["app"] }, /labels/],
      ["a label that is no string", { labels: { app: 1 } }, /labels/],
      ["an output", { id: pulumi.output("tn_1") }, /getTunnelOutput/],
      ["an output as a label", { labels: { app: pulumi.output("web") } }, /getTunnelOutput/],
      ["a promise", { id: Promise.resolve("tn_1") }, /getTunnelOutput/],
      ["an output as connection", { id: "tn_1", connection: pulumi.output("a") }, /connection/],
      ["a string as the argument", "tn_1", /object/],
      ["a list as the argument", ["tn_1"], /object/],
      ["no argument", undefined, /object/],
      ["an output as the argument", pulumi.output({ id: "tn_1" }), /getTunnelOutput/],
    ];
    for (const [what, args, said] of wrong) {
      it(`C60 with ${what} fails with a sentence, before any request`, async () => {
        const { message } = await failureOf(sdk.getTunnel(any(args)), LookupError);
        assert.match(message, said);
        assert.deepEqual(emulator.requests, []);
      });
    }

    it("C60 C61 with garbage fails with a sentence in every lookup", async () => {
      for (const args of [{ id: "tn_1" }, { publicURL: "x" }, { labels: 5 }, "tn_1", null]) {
        await failureOf(sdk.getTunnels(any(args)), LookupError);
        await failureOf(sdk.streamTunnels(any(args)).next(), LookupError);
        await failureOf(settled(sdk.getTunnelsOutput(any(args))), LookupError);
      }
      for (const one of [sdk.getTLSEdge, sdk.getTLSEdges]) {
        await failureOf<Error>(one(any({ hostport: 5 })), LookupError);
        const { message } = await failureOf<Error>(one(any({ hostports: "x" })), LookupError);
        assert.match(message, /hostport\b/);
      }
      for (const one of [sdk.getTLSCertificate, sdk.getTLSCertificates]) {
        await failureOf<Error>(one(any({ domain: ["x"] })), LookupError);
        await failureOf<Error>(one(any({ domains: "x" })), LookupError);
      }
      assert.deepEqual(emulator.requests, []);
    });

    it("C60 that fails and is awaited late prints no warning of Node's", async () => {
      const program = `const { getTunnel } = require("./dist/sdk");
        process.on("unhandledRejection", () => {});
        const lookup = getTunnel({});
        setTimeout(() => lookup.catch(() => console.log("failed")), 50);`;
      const { stdout, stderr } = await promisify(execFile)(process.execPath, ["-e", program]);
      assert.deepEqual({ stdout, stderr }, { stdout: "failed\n", stderr: "" });
    });

    it("C60 for one that several match fails and lists the candidates", async () => {
      const asked = sdk.getTunnel({ labels: { app: "web" } });
      const { message } = await failureOf(asked, LookupError);
      for (const { id } of webs) assert.ok(message.includes(id), message);
      assert.ok(!message.includes("tn_4"), message);
    });

    it("C60 C91 for one that very many match lists ten in short and counts the rest", async () => {
      const forwards_to = "x".repeat(100_000);
      for (let n = 0; n < 9; n++) emulator.tunnels.online({ labels: { app: "web" }, forwards_to });
      const asked = sdk.getTunnel({ labels: { app: "web" } });
      const { message } = await failureOf(asked, LookupError);
      assert.equal(message.match(/tn_/g)?.length, 10);
      assert.match(message, /^12 /);
      assert.ok(message.length < 11_000, `${message.length} characters`);
      assert.match(message, /2 more/);
    });

    it("C60 for one with nothing said fails before any request", async () => {
      await failureOf(sdk.getTunnel({}), LookupError);
      await failureOf(sdk.getTunnel({ connection: "tlsedge" }), LookupError);
      for (const empty of [{ id: "" }, { labels: {} }, { publicUrl: "" }]) {
        await failureOf(sdk.getTunnel({ region: "us", ...empty }), LookupError);
      }
      await failureOf(sdk.getTLSEdge({ hostport: "" }), LookupError);
      await failureOf(sdk.getTLSCertificate({ domain: "" }), LookupError);
      assert.deepEqual(emulator.requests, []);
    });

    it("C60 goes over every page", async () => {
      for (let n = 0; n < 220; n++) emulator.tunnels.online({ region: "ap" });
      assert.equal((await sdk.getTunnels({ region: "ap" })).length, 220);
      assert.equal(emulator.requests.length, 3);
      // The oldest stands on the last page.
      assert.equal((await sdk.getTunnel({ proto: "tcp" })).id, "tn_5");
    });

    it("C60 streams them: a page is asked for when it is needed, and not before", async () => {
      const many = await startEmulator({
        tunnels: Array.from({ length: 350 }, (_, n) => ({ id: `tn_${n}`, proto: "tls" })),
      });
      const undo = setEnvFor(many, "TLSEDGE_MANY");
      try {
        const connection = "tlsedge-many";
        let seen = 0;
        for await (const { id } of sdk.streamTunnels({ connection })) {
          assert.equal(id, `tn_${seen}`);
          assert.equal(many.requests.length, Math.floor(seen / 100) + 1);
          seen += 1;
          if (seen === 250) break;
        }
        assert.equal(many.requests.length, 3);
        many.requests.length = 0;
        const { id } = await sdk.getTunnel({ connection, proto: "tls", id: "tn_349" });
        assert.equal(id, "tn_349");
        await failureOf(sdk.getTunnel({ connection, proto: "tls" }), LookupError);
        assert.equal(many.requests.length, 1 + 4);
      } finally {
        undo();
        await many.close();
      }
    });

    it("C60 takes outputs in its Output form", async () => {
      const app = pulumi.output("web");
      const found = await known(sdk.getTunnelOutput({ labels: { app, env: "staging" } }));
      assert.equal(found.id, "tn_3");
    });

    it("C62 leaves out what the service leaves out, and ignores what it adds", async () => {
      respond = () => ({ id: "tn_5", region: null, colour: "red", labels: null });
      const found = await sdk.getTunnel({ id: "tn_5" });
      assert.equal("colour" in found, false);
      assert.deepEqual(JSON.parse(JSON.stringify(found)), { id: "tn_5" });
      respond = () => ({ tunnels: [{ id: "tn_9" }, { id: "tn_8", proto: "quic" }] });
      assert.deepEqual(idsOf(await sdk.getTunnels({ proto: "quic" })), ["tn_8"]);
    });

    it("C62 gives backends as a list, whether the service sends one Ref or several", async () => {
      const ref = { id: "bkdtg_1", uri: "https://x/bkdtg_1" };
      for (const backends of [ref, [ref]]) {
        respond = () => ({ id: "tn_5", backends });
        assert.deepEqual((await sdk.getTunnel({ id: "tn_5" })).backends, [ref]);
      }
    });

    it("fails as the request does when that is not for want of a match", async () => {
      const undo = setEnv({ TLSEDGE_API_KEY: "refused" });
      try {
        for (const ask of [() => sdk.getTunnel({ id: "tn_1" }), () => sdk.getTunnels()]) {
          const error = await failureOf(ask(), ServiceError);
          assert.equal(error.status, 401);
          // Pulumi prints the message alone of such an error.
          assert.ok(pulumi.RunError.isInstance(error));
        }
      } finally {
        undo();
      }
    });
  });

  describe("a lookup of edges", () => {
    let first: Stack;
    let second: Stack;
    beforeEach(async () => {
      [first, second] = [new Stack(tlsEdge), new Stack(tlsEdge)];
      await first.up({ hostports: ["a.example.com:443", "b.example.com:443"] });
      await second.up({ hostports: ["c.example.com:443"], tlsTermination: {} });
    });

    it("C61 by id gives the edge in the shape of the inputs", async () => {
      const found = await sdk.getTLSEdge({ id: second.id });
      assert.equal(found.id, second.id);
      assert.deepEqual(found.hostports, ["c.example.com:443"]);
      const termination = { enabled: true, terminateAt: "edge", minVersion: "1.2" };
      assert.deepEqual(found.tlsTermination, termination);
      assert.equal(found.backend, undefined);
      assert.equal(found.description, undefined);
    });

    it("C61 by hostport finds the one that serves it, whatever the letter case", async () => {
      const hostport = "B.Example.com:443";
      assert.equal((await sdk.getTLSEdge({ hostport })).id, first.id);
      const output = sdk.getTLSEdgeOutput({ hostport: pulumi.output(hostport) });
      assert.equal((await known(output)).id, first.id);
      await failureOf(sdk.getTLSEdge({ hostport: "b.example.com:8443" }), LookupError);
      await failureOf(sdk.getTLSEdge({ id: "edgtls_none" }), LookupError);
    });

    it("C61 by hostport finds one that the service tells in capitals", async () => {
      const hostports = ["D.Example.COM:443"];
      emulator.tlsEdges.patch(first.id, { ...emulator.tlsEdges.get(first.id), hostports });
      assert.equal((await sdk.getTLSEdge({ hostport: "d.example.com:443" })).id, first.id);
    });

    it("C61 that several match lists them", async () => {
      const twin = { ...emulator.tlsEdges.get(first.id), hostports: ["c.example.com:443"] };
      emulator.tlsEdges.patch(first.id, twin);
      const asked = sdk.getTLSEdge({ hostport: "c.example.com:443" });
      const { message } = await failureOf(asked, LookupError);
      for (const { id } of [first, second]) assert.ok(message.includes(id), message);
    });

    it("C61 of all gives all, newest first", async () => {
      assert.deepEqual(idsOf(await sdk.getTLSEdges()), [second.id, first.id]);
      const output = sdk.getTLSEdgesOutput({ hostport: "a.example.com:443" });
      assert.deepEqual(idsOf(await known(output)), [first.id]);
      assert.deepEqual(idsOf(await known(sdk.getTLSEdgesOutput())), [second.id, first.id]);
    });

    it("C18 C62 tells of a TLS version that this package does not know", async () => {
      const tls_termination = { terminate_at: "edge", min_version: "1.4" };
      emulator.tlsEdges.patch(first.id, { ...emulator.tlsEdges.get(first.id), tls_termination });
      const found = await sdk.getTLSEdge({ id: first.id });
      assert.equal(found.tlsTermination?.minVersion, "1.4");
      assert.equal(await first.refresh(), "drifted");
    });

    it("C62 copes with an edge that has next to nothing in a list", async () => {
      const made = { id: "edgtls_1", uri: "https://x/1", created_at: "2026-01-01T00:00:00Z" };
      respond = () => ({ tls_edges: [{ ...made, backend: null, hostports: null, new: 1 }] });
      const [found] = await sdk.getTLSEdges();
      assert.deepEqual(JSON.parse(JSON.stringify(found)), {
        id: made.id,
        uri: made.uri,
        createdAt: made.created_at,
        hostports: [],
      });
    });
  });

  describe("a lookup of certificates", () => {
    let made: MadeCertificate;
    let stack: Stack;
    before(async () => {
      const dnsNames = ["app.example.com", "*.sub.example.com"];
      const issuer = await makeCertificate({ commonName: "Issuing CA", isCa: true });
      made = await makeCertificate({
        commonName: "cn.example.com",
        organization: "Acme",
        organizationalUnit: "Web",
        locality: "Berlin",
        province: "BE",
        country: "DE",
        dnsNames,
        ips: ["10.0.0.1"],
        issuer,
      });
    });
    beforeEach(async () => {
      const { certificatePem, privateKeyPem } = made;
      stack = new Stack(tlsCertificate);
      await stack.up({ certificatePem, privateKeyPem });
    });

    it("C61 by id gives the chain and what follows from the leaf", async () => {
      const found = await sdk.getTLSCertificate({ id: stack.id });
      assert.equal(found.id, stack.id);
      assert.equal(found.subjectCommonName, "cn.example.com");
      assert.equal(found.certificatePem.trim(), made.certificatePem.trim());
      await failureOf(sdk.getTLSCertificate({ id: "cert_none" }), LookupError);
    });

    const domains: [string, boolean][] = [
      ["app.example.com", true],
      ["APP.example.com", true],
      ["a.sub.example.com", true],
      ["sub.example.com", false],
      ["a.b.sub.example.com", false],
      ["example.com", false],
      ["x.app.example.com", false],
    ];
    for (const [domain, covered] of domains) {
      it(`C61 by domain says that ${domain} is ${covered ? "" : "not "}covered`, async () => {
        const found = await sdk.getTLSCertificates({ domain });
        assert.deepEqual(idsOf(found), covered ? [stack.id] : []);
      });
    }

    it("C61 tells of a chain that can't be parsed what the service tells, and gives the rest", async () => {
      const { certificatePem, privateKeyPem } = made;
      const broken = new Stack(tlsCertificate);
      await broken.up({ certificatePem, privateKeyPem, description: "broken" });
      const whole = await sdk.getTLSCertificate({ id: broken.id });
      for (const body of ["AAAA", ""]) {
        const certificate_pem = `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
        const before = emulator.tlsCertificates.get(broken.id);
        assert.ok(before);
        emulator.tlsCertificates.patch(broken.id, { ...before, certificate_pem });
        const { fingerprint, publicKeyFingerprint, chainFingerprint, ...told } = whole;
        const found = await sdk.getTLSCertificates();
        assert.deepEqual(idsOf(found), [broken.id, stack.id]);
        assert.deepEqual(JSON.parse(JSON.stringify(found[0])), {
          ...JSON.parse(JSON.stringify(told)),
          certificatePem: certificate_pem,
        });
        assert.deepEqual((await sdk.getTLSCertificate({ id: broken.id })).id, broken.id);
      }
      const bare = { id: "cert_1", uri: "https://x/1", created_at: "2026-01-01T00:00:00Z" };
      respond = () => ({ tls_certificates: [{ ...bare, certificate_pem: "" }] });
      const [found] = await sdk.getTLSCertificates();
      assert.equal(found?.id, "cert_1");
      assert.deepEqual(found?.subjectAlternativeNames, { dnsNames: [], ips: [] });
    });

    it("C61 by domain finds one, and lists the candidates when there are two", async () => {
      const domain = "app.example.com";
      assert.equal((await sdk.getTLSCertificate({ domain })).id, stack.id);
      const output = sdk.getTLSCertificateOutput({ domain: pulumi.output(domain) });
      assert.equal((await known(output)).id, stack.id);
      const { certificatePem, privateKeyPem } = made;
      const twin = new Stack(tlsCertificate);
      await twin.up({ certificatePem, privateKeyPem });
      const { message } = await failureOf(sdk.getTLSCertificate({ domain }), LookupError);
      for (const { id } of [stack, twin]) assert.ok(message.includes(id), message);
      assert.equal((await known(sdk.getTLSCertificatesOutput())).length, 2);
    });
  });

  describe("the configuration of a lookup", () => {
    afterEach(() => pulumi.runtime.setAllConfig({}));

    it("C4 that holds the key in plain text is refused, and the key is not shown", async () => {
      pulumi.runtime.setAllConfig({ "tlsedge:apiKey": "in-plain-text" }, []);
      const { message } = await failureOf(sdk.getTunnels(), pulumi.RunError);
      assert.match(message, /--secret tlsedge:apiKey/);
      assert.ok(!message.includes("in-plain-text"));
      assert.deepEqual(emulator.requests, []);
    });

    it("C1 that stands in the stack, the key as a secret, is taken", async () => {
      const undo = setEnv({ TLSEDGE_API_KEY: undefined });
      try {
        pulumi.runtime.setAllConfig({ "tlsedge:apiKey": emulator.apiKey }, ["tlsedge:apiKey"]);
        assert.equal((await sdk.getTunnels()).length, seeds.length);
      } finally {
        undo();
      }
    });

    it("C5 is that of the connection it names", async () => {
      await failureOf(sdk.getTunnels({ connection: "tlsedge-staging" }), pulumi.RunError);
      const undo = setEnvFor(emulator, "TLSEDGE_STAGING");
      try {
        const found = await sdk.getTunnels({ connection: "tlsedge-staging", proto: "tcp" });
        assert.deepEqual(idsOf(found), ["tn_5"]);
      } finally {
        undo();
      }
    });
  });

  describe("a resource in a program", () => {
    type Registered = pulumi.runtime.MockResourceArgs;
    let registered: Registered[];
    /** What the provider adds to the inputs. */
    let answered: Properties;

    let undo: () => void;
    before(() => {
      // Stands in for the engine alone: what reaches it is what these tests are about.
      undo = setMocks({
        newResource: (args) => {
          registered.push(args);
          return { id: args.id || `${args.name}-id`, state: { ...args.inputs, ...answered } };
        },
        call: () => ({}),
      });
    });
    after(() => undo());
    beforeEach(() => {
      registered = [];
      answered = {};
    });

    /** Runs an inline program of the Automation API: an error that it does not log hits the others. */
    const inline = <T>(program: () => T): T => {
      const { asyncLocalStorage, globalStore } = globalThis as unknown as {
        asyncLocalStorage: { run(store: object, work: () => T): T };
        globalStore: object;
      };
      return asyncLocalStorage.run(globalStore, program);
    };

    /** What the engine was told, once the resource is registered. */
    async function told(resource: pulumi.CustomResource): Promise<Registered> {
      await known(resource.urn);
      const [only, ...more] = registered;
      assert.deepEqual(more, []);
      assert.ok(only);
      return only;
    }

    it("C6 can't be made where this package can't be found, and is told what to do", () => {
      const folder = process.cwd();
      process.chdir(os.tmpdir());
      try {
        assert.throws(
          () => new sdk.TLSEdge("e"),
          (error: Error) => {
            assert.ok(error instanceof pulumi.RunError);
            assert.match(error.message, /add pulumi-tlsedge .* or start the program in/);
            return true;
          },
        );
      } finally {
        process.chdir(folder);
      }
    });

    it("keeps the trace of an error that its constructor throws, and lets others have theirs", () => {
      const parent = {} as pulumi.Resource;
      const limit = Error.stackTraceLimit;
      for (const make of [
        () => new sdk.TLSEdge("e", {}, { parent }),
        () => new sdk.TLSCertificate("c", { certificatePem: "pem" }, { parent }),
      ]) {
        assert.throws(make, ({ stack }: Error) =>
          /parent is not a valid.*\n(.*\n)*.*sdk\.test\.ts/.test(`${stack}`),
        );
        assert.equal(Error.stackTraceLimit, limit);
      }
    });

    it("stands in the state with the line of the program that made it", async () => {
      type Position = { toObject(): { uri: string; line: number } };
      // Pulumi's types hide the monitor that takes the engine's place.
      const monitor = pulumi.runtime.getMonitor() as unknown as {
        registerResource(request: { getSourceposition(): Position | undefined }): void;
      };
      const asked = mock.method(monitor, "registerResource");
      const here = () => `${new Error().stack?.split("\n")[2]}`.split(":").at(-2);
      const edge = [new sdk.TLSEdge("e"), here()] as const;
      const certificate = [new sdk.TLSCertificate("c", { certificatePem: "pem" }), here()] as const;
      await Promise.all([known(edge[0].urn), known(certificate[0].urn)]);
      const lines = asked.mock.calls.map(({ arguments: [request] }) => {
        const { uri, line } = request.getSourceposition()?.toObject() ?? {};
        assert.equal(uri, pathToFileURL(__filename).href);
        return `${line}`;
      });
      assert.deepEqual(lines, [edge[1], certificate[1]]);
      asked.mock.restore();
    });

    it("C52 carries a provider's text of at most 100 bytes, constant to the letter", async () => {
      const edge = await told(new sdk.TLSEdge("e", { hostports: ["a.example.com:443"] }));
      assert.equal(edge.type, "pulumi-nodejs:dynamic/tlsedge:TLSEdge");
      const text = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';
      assert.equal(edge.inputs.__provider, text);
      registered = [];
      const { certificatePem } = await makeCertificate({ commonName: "c" });
      const certificate = await told(new sdk.TLSCertificate("c", { certificatePem }));
      assert.equal(certificate.type, "pulumi-nodejs:dynamic/tlsedge:TLSCertificate");
      assert.equal(certificate.inputs.__provider, text.replace("tlsEdge", "tlsCertificate"));
      assert.ok(Buffer.byteLength(certificate.inputs.__provider) <= 100);
    });

    /** What the constructor hands on, seen by a transformation: options, and which are secret. */
    async function handedOn(make: (opts: pulumi.CustomResourceOptions) => pulumi.CustomResource) {
      let seen: pulumi.ResourceTransformationArgs | undefined;
      const look = (args: pulumi.ResourceTransformationArgs) => {
        seen = args;
        return undefined;
      };
      await told(make({ transformations: [look] }));
      const props = Object.entries((seen?.props ?? {}) as Properties);
      const secrets: string[] = [];
      for (const [name, value] of props) {
        if (pulumi.Output.isInstance(value) && (await pulumi.isSecret(value))) secrets.push(name);
      }
      return { opts: seen?.opts as pulumi.CustomResourceOptions, secrets };
    }

    it("C10 C50 says which arguments are secrets, wherever in them, and of which nothing else", async () => {
      const edge = await told(
        new sdk.TLSEdge("e", {
          description: pulumi.secret("d"),
          metadata: pulumi.output("m"),
          hostports: ["a.example.com:443", pulumi.secret("b.example.com:443")],
          backend: { backendId: pulumi.output(pulumi.secret("b")) },
          mutualTls: { certificateAuthorityIds: ["ca_1"] },
        }),
      );
      const secrets: string[] = await edge.inputs.__secrets;
      assert.deepEqual(secrets.sort(), ["backend", "description", "hostports"]);
    });

    it("C15 takes a resource for an argument to the check, be it part of a circle", async () => {
      const site = new pulumi.ComponentResource("test:index:Site", "site");
      const circle = Object.assign(new sdk.TLSEdge("part", {}, { parent: site }), { site });
      Object.assign(site, { circle });
      await known(circle.urn);
      registered = [];
      const edge = await told(new sdk.TLSEdge("e", { backend: circle as never }));
      assert.deepEqual(await edge.inputs.__secrets, []);
    });

    it("C24 is deleted before it is replaced, if an edge, unless told otherwise", async () => {
      const usual = await handedOn((opts) => new sdk.TLSEdge("e", {}, opts));
      assert.equal(usual.opts.deleteBeforeReplace, true);
      registered = [];
      const other = await handedOn(
        (opts) => new sdk.TLSEdge("e", {}, { ...opts, deleteBeforeReplace: false }),
      );
      assert.equal(other.opts.deleteBeforeReplace, false);
      registered = [];
      const { certificatePem } = await makeCertificate({ commonName: "c" });
      const certificate = await handedOn(
        (opts) => new sdk.TLSCertificate("c", { certificatePem }, opts),
      );
      assert.notEqual(certificate.opts.deleteBeforeReplace, true);
    });

    it("C18 can't have the hostport of another one in the same account, in any letter case", async () => {
      const stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      const undo = setEnvFor(emulator, "TLSEDGE_OTHER");
      const edge = (name: string, args: sdk.TLSEdgeArgs, opts = {}) =>
        new sdk.TLSEdge(name, args, opts);
      const hostports = ["a.example.com:443"];
      try {
        edge("first", { hostports });
        edge("port", { hostports: ["a.example.com:8443"] });
        edge("elsewhere", { hostports, connection: "tlsedge-other" });
        edge("ignored", { hostports }, { ignoreChanges: ["hostports"] });
        assert.throws(
          () => edge("second", { hostports: ["b.example.com:443", "A.example.com:443"] }),
          /"first" and "second" have the same hostport, a\.example\.com:443, which/,
        );
        const logged = mock.method(pulumi.log, "error", async () => {});
        inline(() => edge("later", { hostports: pulumi.output(hostports) }));
        await until(() => logged.mock.callCount() > 0);
        assert.match(String(logged.mock.calls[0]?.arguments), /"first" and "later" have the same/);
      } finally {
        undo();
        mock.reset();
      }
    });

    it("C40 can't import what another resource has: both are named, in whichever order", async () => {
      let stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      const logged = mock.method(pulumi.log, "error", async () => {});
      const make = (name: string, opts: pulumi.CustomResourceOptions = {}, args = {}) =>
        inline(() => known(new sdk.TLSEdge(name, args, opts).id));
      const undo = setEnvFor(emulator, "TLSEDGE_OTHER");
      try {
        await make("a");
        await make("b", { import: "x" });
        await make("c", {}, { connection: "tlsedge-other" });
        await make("read", { id: "x" });
        await make("elsewhere", { import: "a-id" }, { connection: "tlsedge-other" });
        assert.equal(logged.mock.callCount(), 0);
        const shared: [string, pulumi.CustomResourceOptions, RegExp][] = [
          ["d", { import: "a-id" }, /"a" and "d" have the same object, a-id/],
          ["e", { import: "x" }, /"b" and "e" have the same object, x/],
        ];
        for (const [place, [name, opts, said]] of shared.entries()) {
          await make(name, opts);
          assert.match(String(logged.mock.calls[place]?.arguments), said);
        }
        stack = {};
        await make("first", { import: "second-id" });
        await make("second");
        const last = String(logged.mock.calls.at(-1)?.arguments);
        assert.match(last, /"first" and "second" have the same object/);
      } finally {
        undo();
        mock.reset();
      }
    });

    it("C15 may have no arguments, or null", async () => {
      assert.equal((await told(new sdk.TLSEdge("e", null as never))).name, "e");
      registered = [];
      assert.equal((await told(new sdk.TLSCertificate("c", undefined as never))).name, "c");
    });

    it("C50 gives the key, and nothing else, as a secret whatever was passed", async () => {
      const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "c" });
      for (const key of [privateKeyPem, pulumi.output(privateKeyPem)]) {
        registered = [];
        const args = { certificatePem, privateKeyPem: key };
        const { secrets } = await handedOn((opts) => new sdk.TLSCertificate("c", args, opts));
        assert.deepEqual(secrets, ["privateKeyPem"]);
      }
    });

    it("C53 gives undefined for what a leaf with another kind of key does not have", async () => {
      answered = { privateKeyType: null, publicKeyFingerprint: null };
      const { certificatePem } = await makeCertificate({ commonName: "c" });
      const certificate = new sdk.TLSCertificate("c", { certificatePem });
      // Their type says so: `npm run lint` compiles this.
      const outputs: pulumi.Output<string | undefined>[] = [
        certificate.privateKeyType,
        certificate.publicKeyFingerprint,
      ];
      const isWhole: Same<(typeof certificate)["privateKeyType"], (typeof outputs)[0]> = true;
      assert.ok(isWhole);
      for (const output of outputs) assert.equal(await known(output), undefined);
    });

    it("C43 is read, not made, by get", async () => {
      const edge = await told(sdk.TLSEdge.get("e", "edgtls_1", { connection: "tlsedge" }));
      assert.equal(edge.id, "edgtls_1");
      registered = [];
      const certificate = await told(sdk.TLSCertificate.get("c", "cert_1"));
      assert.equal(certificate.id, "cert_1");
    });

    it("C43 is not made by a get that has no id", async () => {
      for (const id of ["", undefined as unknown as string]) {
        assert.throws(() => sdk.TLSEdge.get("e", id), pulumi.RunError);
        assert.throws(() => sdk.TLSCertificate.get("c", id), pulumi.RunError);
      }
      assert.deepEqual(registered, []);
    });

    it("C40 is not made by an import option that is empty", () => {
      const options = { import: "" };
      for (const make of [
        () => new sdk.TLSEdge("e", {}, options),
        () => new sdk.TLSCertificate("c", { certificatePem: "" }, options),
      ]) {
        assert.throws(make, (error: Error) => error instanceof pulumi.RunError);
      }
    });

    it("C70 is known by its class", async () => {
      const edge = new sdk.TLSEdge("e");
      assert.equal(sdk.TLSEdge.isInstance(edge), true);
      assert.equal(sdk.TLSCertificate.isInstance(edge), false);
      for (const prefix of ["pulumi-nodejs:dynamic/tlsedge:", "tlsedge:index:"]) {
        const __pulumiType = `${prefix}TLSEdge`;
        assert.equal(sdk.TLSEdge.isInstance({ __pulumiType }), true);
        assert.equal(sdk.TLSCertificate.isInstance({ __pulumiType }), false);
      }
      // With it, Pulumi's policies would match that one type alone.
      for (const made of [sdk.TLSEdge, sdk.TLSCertificate]) assert.ok(!("__pulumiType" in made));
      for (const other of [null, undefined, "edge", {}]) {
        assert.equal(sdk.TLSEdge.isInstance(other), false);
        assert.equal(sdk.TLSCertificate.isInstance(other), false);
      }
      await told(edge);
    });

    it("C5 has no connection that is not configured", () => {
      // In a unit test of a program, it needs none.
      undo();
      const args = { connection: "tlsedge-nowhere" };
      assert.throws(() => new sdk.TLSEdge("e", args), pulumi.RunError);
    });
  });
});
