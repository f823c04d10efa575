import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mock } from "node:test";
import { promisify } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { ServiceError } from "../client/errors";
import { type CertificateOptions, makeCertificate } from "../emulator/pki";
import { type Emulator, type Respond, startEmulator } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import * as sdk from "../sdk";
import { valuesOf } from "../tools/protocol";
import { startPlugin } from "./pluginProvider";
import {
  captureMessages,
  failureOf,
  known,
  type Properties,
  Stack,
  setEnv,
  setEnvFor,
} from "./support";

const { LookupError } = sdk;

/** What an output comes to, be it a failure: Pulumi does not export the type of it. */
const settled = <T>(output: pulumi.Output<T>) =>
  (output as unknown as { promise(): Promise<T> }).promise();

const day = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();
/** The same in the time zone whose clocks are 14 hours ahead. */
const ahead = (days: number) => inDays(days + 14 / 24).replace("Z", "+14:00");
const idsOf = (found: { id: string }[]) => found.map(({ id }) => id);
const withoutUndefined = (value: unknown) => JSON.parse(JSON.stringify(value));

const labels = { app: "web", env: "production" };
const tunnels = [
  { id: "tn_1", labels, region: "eu", metadata: "web-1" },
  { id: "tn_2", labels, region: "eu", metadata: "web-2" },
  { id: "tn_3", labels: { app: "web", env: "staging" }, region: "us", metadata: "web-3" },
  { id: "tn_4", public_url: "https://hooks.example", proto: "https", forwards_to: "http://a:80" },
  { id: "tn_5", public_url: "tcp://ssh.example:22", proto: "tcp", forwards_to: "a:22" },
];
const owned = JSON.stringify({ environment: "production", owner: "web", level: 3 });
/** Edges by their descriptions. */
const edges: Record<string, Properties> = {
  first: { hostports: ["a.example.com:443", "b.example.com:443"], metadata: owned },
  second: { hostports: ["c.example.com:443"], metadata: '{"owner":"web"}', tlsTermination: {} },
  text: { metadata: "owner web" },
  list: { metadata: '["web"]' },
  none: {},
};
/** Certificates by their descriptions: the days for which they are valid, and their domains. */
const certificates: Record<string, [days: number, ...domains: string[]]> = {
  soon: [10, "app.example.com", "*.sub.example.com"],
  late: [90, "late.example.com"],
};

async function uploaded(options: CertificateOptions, texts = {}): Promise<Stack> {
  const { certificatePem, privateKeyPem } = await makeCertificate(options);
  const stack = new Stack(tlsCertificate);
  await stack.up({ certificatePem, privateKeyPem, ...texts });
  return stack;
}

describe("the lookups", () => {
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond;
  const stacks: Record<string, Stack> = {};

  before(async () => {
    emulator = await startEmulator({ tunnels, respond: (...answer) => respond(...answer) });
    restore = setEnvFor(emulator);
    respond = (body) => body;
    for (const [description, args] of Object.entries(edges)) {
      stacks[description] = new Stack(tlsEdge);
      await stacks[description].up({ description, ...args });
    }
    for (const [description, [days, ...dnsNames]] of Object.entries(certificates)) {
      const names = { commonName: `${description}.example`, dnsNames, ips: ["10.0.0.1"] };
      const metadata = JSON.stringify({ owner: description });
      const options = { ...names, notAfter: new Date(inDays(days)) };
      stacks[description] = await uploaded(options, { description, metadata });
    }
  });
  beforeEach(() => {
    respond = (body) => body;
    emulator.requests.length = 0;
  });
  after(() => {
    restore();
    return emulator.close();
  });
  const stack = (description: string) => stacks[description] as Stack;
  const fingerprint = () => String(stack("soon").state.fingerprint);
  const withColons = (hex: string) => (hex.match(/../g) ?? []).join(":").toUpperCase();

  const ofTunnels: [sdk.GetTunnelsArgs, string[]][] = [
    [{}, idsOf(tunnels)],
    [{ labels: { app: "web" } }, ["tn_1", "tn_2", "tn_3"]],
    [{ labels: { app: "web", env: "staging" } }, ["tn_3"]],
    [{ labels: { app: "web" }, region: "eu" }, ["tn_1", "tn_2"]],
    [{ publicUrl: "tcp://ssh.example:22" }, ["tn_5"]],
    [{ metadata: "web-2" }, ["tn_2"]],
    [{ region: "us" }, ["tn_3", "tn_4", "tn_5"]],
    [{ forwardsTo: "http://a:80" }, ["tn_4"]],
    [{ proto: "tcp", region: "eu" }, []],
  ];
  for (const [args, ids] of ofTunnels) {
    it(`C60: getTunnels finds ${ids.join(", ") || "none"} by ${JSON.stringify(args)}`, async () => {
      assert.deepEqual(idsOf(await sdk.getTunnels(args)), ids);
      assert.deepEqual(idsOf(await known(sdk.getTunnelsOutput(args))), ids);
    });
  }

  const ofEdges: [sdk.GetTLSEdgesArgs, string[]][] = [
    [{}, ["none", "list", "text", "second", "first"]],
    [{ hostport: "B.Example.com:443" }, ["first"]],
    [{ hostport: "b.example.com:8443" }, []],
    [{ description: "first" }, ["first"]],
    [{ description: "First" }, []],
    [{ metadata: { owner: "web" } }, ["second", "first"]],
    [{ metadata: { owner: "web", environment: "production" } }, ["first"]],
    [{ metadata: { owner: "web" }, hostport: "c.example.com:443" }, ["second"]],
    [{ metadata: { level: "3" } }, []],
    [{ metadata: { toString: "web" } as never }, []],
    [{ metadata: { 0: "web" } }, []],
  ];
  type Described = pulumi.Output<{ description?: string }[]>;
  const itFinds = (what: string, lookup: () => Described, descriptions: string[]) =>
    it(`C61: ${what} finds ${descriptions.join(", ") || "none"}`, async () => {
      const found = (await known(lookup())).map(({ description }) => description);
      assert.deepEqual(found, descriptions);
    });
  for (const [args, descriptions] of ofEdges) {
    const what = `getTLSEdges by ${JSON.stringify(args)}`;
    itFinds(what, () => sdk.getTLSEdgesOutput(args), descriptions);
  }

  const ofCertificates: [string, () => sdk.GetTLSCertificatesArgs, string[]][] = [
    ["app.example.com", () => ({ domain: "app.example.com" }), ["soon"]],
    ["a domain in capitals", () => ({ domain: "APP.example.com" }), ["soon"]],
    ["a label of a wildcard", () => ({ domain: "a.sub.example.com" }), ["soon"]],
    ["the parent of a wildcard", () => ({ domain: "sub.example.com" }), []],
    ["two labels of a wildcard", () => ({ domain: "a.b.sub.example.com" }), []],
    ["a fingerprint", () => ({ fingerprint: fingerprint() }), ["soon"]],
    ["a fingerprint with colons", () => ({ fingerprint: withColons(fingerprint()) }), ["soon"]],
    ["no certificate's fingerprint", () => ({ fingerprint: "0".repeat(64) }), []],
    ["description", () => ({ description: "late" }), ["late"]],
    ["metadata", () => ({ metadata: { owner: "soon" } }), ["soon"]],
    ["expiry in 5 days", () => ({ expiresBefore: inDays(5) }), []],
    ["expiry in 30 days", () => ({ expiresBefore: inDays(30).replace("Z", "+00:00") }), ["soon"]],
    ["expiry in a zone ahead of UTC", () => ({ expiresBefore: ahead(9.8) }), []],
    ["expiry in 100 days", () => ({ expiresBefore: inDays(100) }), ["late", "soon"]],
  ];
  for (const [what, args, descriptions] of ofCertificates) {
    const title = `getTLSCertificates by ${what}`;
    itFinds(title, () => sdk.getTLSCertificatesOutput(args()), descriptions);
  }

  it("C60: getTunnel by id gives every field that the service has", async () => {
    const [, , , hooks] = emulator.tunnels.list();
    const { started_at: startedAt, tunnel_session: tunnelSession, endpoint } = hooks ?? {};
    const found = await sdk.getTunnel({ id: "tn_4" });
    assert.equal(emulator.requests.length, 1);
    assert.deepEqual(found, {
      ...{ id: "tn_4", publicUrl: "https://hooks.example", forwardsTo: "http://a:80" },
      ...{ startedAt, tunnelSession, endpoint, metadata: "", proto: "https", region: "us" },
      ...{ labels: undefined, backends: undefined },
    });
  });

  it("C61: getTLSEdge and getTLSCertificate by id give the state of a resource", async () => {
    const edge = await sdk.getTLSEdge({ id: stack("second").id });
    const termination = { enabled: true, terminateAt: "edge", minVersion: "1.2" };
    assert.deepEqual([edge.tlsTermination, edge.backend], [termination, undefined]);
    const certificate = await known(
      sdk.getTLSCertificateOutput({ id: pulumi.output(stack("soon").id) }),
    );
    const { state } = stack("soon");
    assert.equal(certificate.certificatePem, state.certificatePem);
    assert.equal(certificate.subjectCommonName, "soon.example");
  });

  it("C60 C61: one that nothing matches fails with the filter and the candidates", async () => {
    for (const [lookup, said] of [
      [sdk.getTunnel({ id: "tn_none" }), /tn_none/],
      [sdk.getTLSEdge({ id: "edgtls_none" }), /edgtls_none/],
      [sdk.getTLSCertificate({ id: "cert_none" }), /cert_none/],
      [sdk.getTLSEdge({ description: "nowhere" }), /nowhere.*edgtls_\w+ \(created 20/s],
      [sdk.getTLSCertificate({ domain: "none.example" }), /none\.example.*cert_/s],
    ] as const) {
      assert.match((await failureOf<Error>(lookup, LookupError)).message, said);
    }
    const { message } = await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
    assert.match(message, /"region":"mars"/);
    for (const { id } of tunnels) assert.ok(message.includes(id), message);
    assert.match(message, /tn_3 .*"env":"staging"/);
    assert.match(message, /tn_4 .*https:\/\/hooks\.example.*http:\/\/a:80/);
    assert.ok(!message.includes("undefined"), message);
    respond = () => ({ tunnels: [] });
    const none = await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
    assert.match(none.message, /none/);
  });

  it("C60 C61: one that several match fails with those alone", async () => {
    for (const [lookup, matching, all] of [
      [sdk.getTunnel({ labels: { app: "web" } }), ["tn_1", "tn_2", "tn_3"], tunnels],
      [
        sdk.getTLSEdge({ metadata: { owner: "web" } }),
        [stack("first").id, stack("second").id],
        emulator.tlsEdges.list(),
      ],
    ] as const) {
      const { message } = await failureOf<Error>(lookup, LookupError);
      const named = idsOf([...all]).filter((id) => message.includes(id));
      assert.deepEqual(named.sort(), [...matching].sort(), message);
    }
  });

  it("C61: mostRecent takes the certificate that is valid since last, of equal ones the newest", async () => {
    const domain = "renewed.example.com";
    const [recent, older] = [new Date(inDays(-1)), new Date(inDays(-2))];
    const ids: string[] = [];
    for (const notBefore of [recent, recent, older]) {
      ids.push((await uploaded({ commonName: domain, dnsNames: [domain], notBefore })).id);
    }
    const { id } = await sdk.getTLSCertificate({ domain, mostRecent: true });
    const several = sdk.getTLSCertificate({ domain, mostRecent: false });
    const { message } = await failureOf<Error>(several, LookupError);
    for (const id of ids) emulator.tlsCertificates.delete(id);
    assert.equal(id, ids[1]);
    assert.match(message, /^3 .*filter, mostRecent or an id/);
  });

  it("C60 C91: an error lists ten of very many candidates in short, and counts the rest", async () => {
    const forwardsTo = "x".repeat(100_000);
    const one = { forwards_to: forwardsTo };
    respond = () => ({
      tunnels: Array.from({ length: 12 }, (_, n) => ({ id: `tn_${n}`, ...one })),
    });
    const { message } = await failureOf(sdk.getTunnel({ forwardsTo }), LookupError);
    assert.equal(message.match(/tn_/g)?.length, 10);
    assert.match(message, /^12 .*and 2 more$/s);
    assert.ok(message.length < 120_000, `${message.length} characters`);
  });

  it("C50 C60: no value of a filter that came from a secret is shown", async () => {
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
    for (const text of hidden) assert.ok(!text.includes(secret) && !text.includes(url), text);
    assert.match(String(hidden[0]), /metadata, region/);
    assert.match(String(hidden[2]), /tn_5.*tn_6|tn_6.*tn_5/s);
    // What is no secret helps.
    assert.match(await message({ metadata: pulumi.output("plain") }), /plain/);
    const undo = setEnv({ TLSEDGE_API_KEY: "refused" });
    const lookup = sdk.getTunnelOutput({ id: pulumi.secret(secret) });
    const refused = await failureOf(settled(lookup), ServiceError).finally(undo);
    assert.ok(!refused.message.includes(secret), refused.message);
    emulator.tunnels.delete("tn_6");
  });

  /** As a program in JavaScript may call it. */
  type Lookup = (args?: unknown) => Promise<unknown>;
  const all = sdk as unknown as Record<string, Lookup>;
  const wrong: [string, unknown, RegExp][] = [
    ["getTunnel", { publicURL: "x" }, /publicUrl/],
    ["getTunnel", { forwards_to: "x" }, /forwardsTo/],
    ["getTunnel", { id: "tn_1", colour: "red" }, /colour/],
    ["getTunnel", { region: 5 }, /region/],
    ["getTunnel", { region: null }, /region/],
    ["getTunnel", { labels: ["app"] }, /labels/],
    ["getTunnel", { labels: { app: 1 } }, /labels/],
    ["getTunnel", { id: pulumi.output("tn_1") }, /getTunnelOutput/],
    ["getTunnel", { labels: { app: pulumi.output("web") } }, /getTunnelOutput/],
    ["getTunnel", { id: Promise.resolve("tn_1") }, /getTunnelOutput/],
    ["getTunnel", { id: "tn_1", connection: pulumi.output("a") }, /connection/],
    ["getTunnel", "tn_1", /object/],
    ["getTunnel", ["tn_1"], /object/],
    ["getTunnel", undefined, /object/],
    ["getTunnel", pulumi.output({ id: "tn_1" }), /getTunnelOutput/],
    ["getTunnel", {}, /needs an id or a filter: publicUrl, .*labels/],
    ["getTunnel", { connection: "tlsedge" }, /needs an id or a filter/],
    ["getTunnel", { region: "us", id: "" }, /id is empty/],
    ["getTunnel", { region: "us", labels: {} }, /labels is empty/],
    ["getTunnels", { id: "tn_1" }, /id: no such filter/],
    ["getTunnels", { publicUrl: "" }, /publicUrl is empty/],
    ["getTLSEdge", { hostport: pulumi.output("a.example:443") }, /hostport .*getTLSEdgeOutput/],
    ["getTLSEdge", { hostport: 5 }, /hostport must be/],
    ["getTLSEdge", { hostport: "app.example.com" }, /hostport must be a host and a port/],
    ["getTLSCertificate", { domain: "app.example.com:443" }, /domain must be .* without a port/],
    ["getTLSEdge", { metadata: {} }, /metadata is empty/],
    ["getTLSEdges", { hostports: "x" }, /hostports: .*did you mean hostport/],
    ["getTLSEdges", { metadata: '{"owner":"web"}' }, /metadata must be a map/],
    ["getTLSEdges", { description: "-----BEGIN PRIVATE KEY-----" }, /holds a private key/],
    ["getTLSCertificate", { domain: ["x"] }, /domain must be/],
    ["getTLSCertificate", { fingerprint: "abc" }, /fingerprint must be .*SHA-256/],
    ["getTLSCertificate", { expiresBefore: inDays(1) }, /expiresBefore: no such filter/],
    ["getTLSCertificates", { expiresBefore: "2027-01-31" }, /expiresBefore must be .*RFC 3339/],
    ["getTLSCertificates", { expiresBefore: "2027-02-31T25:00:00Z" }, /RFC 3339/],
    ["getTLSCertificate", { domain: "x", mostRecent: "true" }, /mostRecent must be true or false/],
    ["getTLSCertificate", { mostRecent: true }, /filter: domain, fingerprint, (?!expires)/],
    ["getTLSEdge", { description: "x", mostRecent: true }, /mostRecent: no such filter/],
  ];
  it("C60 C61: wrong arguments fail with a sentence, before any request", async () => {
    for (const [name, args, said] of wrong) {
      const { message } = await failureOf(all[name]?.(args) ?? assert.fail(name), LookupError);
      assert.match(message, said);
    }
    const misspelt = { publicURL: "x" } as sdk.GetTunnelsArgs;
    await failureOf(sdk.streamTunnels(misspelt).next(), LookupError);
    await failureOf(settled(sdk.getTunnelsOutput(misspelt)), LookupError);
    assert.deepEqual(emulator.requests, []);
  });

  it("C60: a lookup that fails and is awaited late prints no warning of Node.js", async () => {
    const program = `const { getTunnel } = require("./dist/sdk");
      process.on("unhandledRejection", () => {});
      const lookup = getTunnel({});
      setTimeout(() => lookup.catch(() => console.log("failed")), 50);`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["-e", program]);
    assert.deepEqual({ stdout, stderr }, { stdout: "failed\n", stderr: "" });
  });

  it("C60: streamTunnels asks for a page when it is needed; getTunnel reads all pages", async () => {
    const many = await startEmulator({
      tunnels: Array.from({ length: 350 }, (_, n) => ({ id: `tn_${n}`, proto: "tls" })),
    });
    const undo = setEnvFor(many, "TLSEDGE_MANY");
    const connection = "tlsedge-many";
    try {
      let seen = 0;
      for await (const { id } of sdk.streamTunnels({ connection })) {
        assert.equal(id, `tn_${seen}`);
        assert.equal(many.requests.length, Math.floor(seen / 100) + 1);
        seen += 1;
        if (seen === 250) break;
      }
      assert.equal(many.requests.length, 3);
      await failureOf(sdk.getTunnel({ connection, proto: "tls" }), LookupError);
      assert.equal(many.requests.length, 3 + 4);
    } finally {
      undo();
      await many.close();
    }
  });

  it("C62: what the service leaves out is undefined, and what it adds is ignored", async () => {
    const ref = { id: "bkdtg_1", uri: "https://x/bkdtg_1" };
    const common = { uri: "https://x/1", created_at: "2026-01-01T00:00:00Z" };
    for (const backends of [ref, [ref]]) {
      respond = () => ({ id: "tn_5", region: null, colour: "red", labels: null, backends });
      const found = await sdk.getTunnel({ id: "tn_5" });
      assert.deepEqual(withoutUndefined(found), { id: "tn_5", backends: [ref] });
      assert.ok(!("colour" in found));
    }
    respond = () => ({ tunnels: [{ id: "tn_9" }, { id: "tn_8", proto: "quic" }] });
    assert.deepEqual(idsOf(await sdk.getTunnels({ proto: "quic" })), ["tn_8"]);
    const unset = { backend: null, hostports: null, new: 1 };
    respond = () => ({ tls_edges: [{ id: "e", ...common, ...unset }] });
    const [edge] = await sdk.getTLSEdges();
    const { uri, created_at: createdAt } = common;
    assert.deepEqual(withoutUndefined(edge), { id: "e", uri, createdAt, hostports: [] });
    const tls_termination = { terminate_at: "edge", min_version: "1.4" };
    const { id } = stack("first");
    respond = () => ({ id, ...common, hostports: ["D.Example.COM:443"], tls_termination });
    const { tlsTermination } = await sdk.getTLSEdge({ id });
    assert.equal(tlsTermination?.minVersion, "1.4");
    respond = () => ({ tls_edges: [{ id: "e", ...common, hostports: ["D.Example.COM:443"] }] });
    assert.equal((await sdk.getTLSEdge({ hostport: "d.example.com:443" })).id, "e");
    respond = () => ({ tls_certificates: [{ id: "c", ...common, certificate_pem: "" }] });
    const [certificate] = await sdk.getTLSCertificates();
    assert.deepEqual(certificate?.subjectAlternativeNames, { dnsNames: [], ips: [] });
  });

  it("C61: a chain that can't be parsed has the service's values, and does not hide the others", async () => {
    const whole = await sdk.getTLSCertificate({ id: stack("soon").id });
    const { fingerprint, publicKeyFingerprint, chainFingerprint, ...values } = whole;
    for (const body of ["AAAA", ""]) {
      const certificate_pem = `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
      respond = (answer) => {
        const { tls_certificates } = answer as { tls_certificates: Properties[] };
        const [first, second] = tls_certificates;
        return { tls_certificates: [first, { ...second, certificate_pem }] };
      };
      const found = await sdk.getTLSCertificates();
      assert.equal(found.length, 2);
      const expected = { ...withoutUndefined(values), certificatePem: certificate_pem };
      assert.deepEqual(withoutUndefined(found[1]), expected);
    }
  });

  it("C61 C62: an object that can't be used is named, and hides no other", async () => {
    const [first, second] = [stack("first").id, stack("second").id];
    const messages = captureMessages();
    respond = (answer) => {
      const { tls_edges = [] } = answer as { tls_edges?: Properties[] };
      const values = (id: unknown) =>
        id === first ? { hostports: [7] } : { created_at: "2026-01-01T00:00:60Z" };
      return { tls_edges: tls_edges.map((edge) => ({ ...edge, ...values(edge.id) })) };
    };
    assert.equal((await sdk.getTLSEdge({ hostport: "c.example.com:443" })).id, second);
    assert.equal((await sdk.getTLSEdges()).length, 4);
    await failureOf(sdk.getTLSEdge({ hostport: "a.example.com:443" }), LookupError);
    assert.equal(messages().length, 3);
    for (const one of messages()) assert.ok(one.includes(first) && !one.includes(second), one);
    mock.reset();
  });

  it("a lookup fails as its request does, and Pulumi prints the message alone", async () => {
    const undo = setEnv({ TLSEDGE_API_KEY: "refused" });
    try {
      for (const lookup of [() => sdk.getTunnel({ id: "tn_1" }), () => sdk.getTunnels()]) {
        const error = await failureOf<ServiceError>(lookup(), ServiceError);
        assert.equal(error.status, 401);
        assert.ok(pulumi.RunError.isInstance(error));
        assert.equal(error.stack, error.message);
      }
    } finally {
      undo();
    }
  });

  it("C60 C61 C80: the functions of the plugin find the same", async () => {
    const plugin = await startPlugin();
    try {
      for (const [name, args] of [
        ["getTunnel", { metadata: "web-2" }],
        ["getTunnels", { labels: { app: "web" } }],
        ["getTLSEdge", { hostport: "c.example.com:443" }],
        ["getTLSEdges", { metadata: { owner: "web" } }],
        ["getTLSCertificate", { fingerprint: fingerprint() }],
        ["getTLSCertificate", { domain: "late.example.com", mostRecent: true }],
        ["getTLSCertificates", { expiresBefore: inDays(30) }],
      ] as const) {
        const response = await plugin.call("invoke", { tok: `tlsedge:index:${name}`, args });
        const values = valuesOf(response.getReturn());
        const found = name.endsWith("s") ? Object.values(values)[0] : values;
        assert.deepEqual(found, withoutUndefined(await all[name]?.(args)));
      }
      const several = { tok: "tlsedge:index:getTLSEdge", args: { metadata: { owner: "web" } } };
      await assert.rejects(plugin.call("invoke", several), /2 TLS edge objects match/);
    } finally {
      plugin.close();
    }
  });
});
