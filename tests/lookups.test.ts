import assert from "node:assert/strict";
import { mock } from "node:test";
import * as pulumi from "@pulumi/pulumi";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { type CertificateOptions, makeCertificate } from "../emulator/pki";
import { type Emulator, type Respond, startEmulator } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import * as sdk from "../sdk";
import { valuesOf } from "../tools/protocol";
import { resourceOf, startPlugin } from "./pluginProvider";
import {
  clientOf,
  failureOf,
  known,
  messageOf,
  type Properties,
  Stack,
  setEnv,
  setEnvFor,
  setMocks,
  takeMethods,
} from "./support";

const { LookupError } = sdk;

/** What a lookup finds, refuses and shows, in a program and through the plugin. */
describe("the lookups", () => {
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond;
  let plugin: Awaited<ReturnType<typeof startPlugin>>;
  const stacks: Record<string, Stack> = {};

  before(async () => {
    emulator = await startEmulator({ tunnels, respond: (...answer) => respond(...answer) });
    restore = setEnvFor(emulator);
    respond = (body) => body;
    for (const [description, args] of Object.entries(edges)) {
      stacks[description] = new Stack(tlsEdge);
      await stacks[description].up({ description, ...args });
    }
    for (const [description, [notAfter, ...dnsNames]] of Object.entries(certificates)) {
      const names = { commonName: `${description}.example`, dnsNames, ips: ["10.0.0.1"] };
      const metadata = JSON.stringify({ owner: description });
      const options = { ...names, notAfter: new Date(notAfter) };
      stacks[description] = await uploaded(options, { description, metadata });
    }
    plugin = await startPlugin();
  });
  beforeEach(() => {
    respond = (body) => body;
    emulator.requests.length = 0;
  });
  after(() => {
    plugin.close();
    restore();
    return emulator.close();
  });
  const stack = (description: string) => stacks[description] as Stack;

  /** As a program in JavaScript may call it. */
  type Lookup = (args?: unknown) => Promise<unknown>;
  const all = sdk as unknown as Record<string, Lookup>;
  const listNames: Record<string, string> = {
    getTunnels: "tunnels",
    getTLSEdges: "tlsEdges",
    getTLSCertificates: "tlsCertificates",
  };
  /** What the plugin's function of that name gives: a list as its only property. */
  async function ofPlugin(name: string, args: object, from = plugin) {
    const response = await from.call("invoke", { tok: `tlsedge:index:${name}`, args });
    const values = valuesOf(response.getReturn());
    const list = listNames[name];
    return list ? values[list] : values;
  }

  const lists: [name: string, args: object, found: string[]][] = [
    ["getTunnels", {}, ["tn_1", "tn_2", "tn_3", "tn_4", "tn_5"]],
    ["getTunnels", { labels: { app: "web" } }, ["tn_1", "tn_2", "tn_3"]],
    ["getTunnels", { labels: { app: "web", env: "staging" } }, ["tn_3"]],
    ["getTunnels", { labels: { app: "web" }, region: "eu" }, ["tn_1", "tn_2"]],
    ["getTunnels", { publicUrl: "tcp://ssh.example:22" }, ["tn_5"]],
    ["getTunnels", { forwardsTo: "http://a:80" }, ["tn_4"]],
    ["getTLSEdges", {}, ["none", "list", "text", "second", "first"]],
    ["getTLSEdges", { hostport: "B.Example.com:443" }, ["first"]],
    ["getTLSEdges", { hostport: "b.example.com:8443" }, []],
    ["getTLSEdges", { description: "first" }, ["first"]],
    ["getTLSEdges", { description: "First" }, []],
    ["getTLSEdges", { metadata: { owner: "web" } }, ["second", "first"]],
    ["getTLSEdges", { metadata: { owner: "web", environment: "production" } }, ["first"]],
    ["getTLSEdges", { metadata: { owner: "web" }, hostport: "c.example.com:443" }, ["second"]],
    ["getTLSEdges", { metadata: { level: "3" } }, []],
    ["getTLSEdges", { metadata: { toString: "web" } }, []],
    ["getTLSEdges", { metadata: { 0: "web" } }, []],
    ["getTLSCertificates", { domain: "APP.example.com" }, ["soon"]],
    ["getTLSCertificates", { domain: "a.sub.example.com" }, ["soon"]],
    ["getTLSCertificates", { domain: "sub.example.com" }, []],
    ["getTLSCertificates", { domain: "a.b.sub.example.com" }, []],
    ["getTLSCertificates", { fingerprint: "0".repeat(64) }, []],
    ["getTLSCertificates", { description: "late" }, ["late"]],
    ["getTLSCertificates", { metadata: { owner: "soon" } }, ["soon"]],
    ["getTLSCertificates", { expiresBefore: "2090-01-10T12:00:00Z" }, []],
    ["getTLSCertificates", { expiresBefore: "2090-01-10T12:00:01+00:00" }, ["soon"]],
    ["getTLSCertificates", { expiresBefore: "2090-01-11T01:59:00+14:00" }, []],
    ["getTLSCertificates", { expiresBefore: "2091-01-01T00:00:00Z" }, ["late", "soon"]],
  ];
  for (const [name, args, expected] of lists) {
    const contract = name === "getTunnels" ? "C60" : "C61";
    const names = expected.join(", ") || "none";
    it(`${contract}: ${name} finds ${names} by ${JSON.stringify(args)}`, async () => {
      const output = all[`${name}Output`]?.(args) as unknown as pulumi.Output<Properties[]>;
      const found = await settled(output);
      assert.deepEqual(
        found.map(({ id, description }) => description ?? id),
        expected,
      );
      assert.deepEqual(await ofPlugin(name, args), withoutUndefined(found));
    });
  }

  it("C61: a certificate is found by its fingerprint, also one with colons", async () => {
    const fingerprint = String(stack("soon").state.fingerprint);
    const withColons = fingerprint.replace(/..(?!$)/g, "$&:").toUpperCase();
    for (const one of [fingerprint, withColons]) {
      const { id } = await sdk.getTLSCertificate({ fingerprint: one });
      assert.equal(id, stack("soon").id);
    }
  });

  it("C60: getTunnel by id gives every field that the service has", async () => {
    const [, , , hooks] = emulator.tunnels.list();
    const { started_at: startedAt, tunnel_session: tunnelSession, endpoint } = hooks ?? {};
    const found = await sdk.getTunnel({ id: "tn_4" });
    assert.equal(emulator.requests.length, 1);
    assert.deepEqual(found, {
      ...{ id: "tn_4", publicUrl: "https://hooks.example", forwardsTo: "http://a:80" },
      ...{ startedAt, tunnelSession, endpoint, metadata: "", proto: "https", region: "us" },
    });
  });

  it("C61: getTLSEdge and getTLSCertificate by id give the state of a resource", async () => {
    const edge = await sdk.getTLSEdge({ id: stack("second").id });
    const ofOutput = sdk.getTLSCertificateOutput({ id: pulumi.output(stack("soon").id) });
    for (const [{ id, ...found }, { state }] of [
      [edge, stack("second")],
      [await settled(ofOutput), stack("soon")],
    ] as const) {
      assert.ok("fingerprint" in found || "tlsTermination" in found, id);
      for (const [name, value] of Object.entries(found)) assert.deepEqual(state[name], value, name);
    }
    assert.equal(edge.backend, undefined);
  });

  it("C60 C61: one that nothing matches fails with the filter and the candidates", async () => {
    const cases: [lookup: Promise<unknown>, said: RegExp][] = [
      [sdk.getTunnel({ id: "tn_none" }), /tn_none.*tn_1/s],
      [sdk.getTLSEdge({ id: "edgtls_none" }), /edgtls_none.*edgtls_/s],
      [sdk.getTLSCertificate({ id: "cert_none" }), /cert_none.*cert_/s],
      [sdk.getTLSEdge({ metadata: { no: "one" } }), /"no":"one".*edgtls_\w+ \(created 20/s],
      [
        sdk.getTunnel({ region: "mars" }),
        /"region":"mars".*tn_1 .*tn_2 .*tn_3 .*"env":"staging".*tn_4 .*hooks\.example.*http:\/\/a:80.*tn_5/s,
      ],
    ];
    for (const [lookup, said] of cases) {
      const { message } = await failureOf(lookup, LookupError);
      assert.match(message, said);
      assert.ok(!message.includes("undefined"), message);
    }
    respond = () => ({ tunnels: [] });
    assert.match(await messageOf(sdk.getTunnel({ region: "mars" })), /none$/);
  });

  it("C61: one that nothing matches names the nearest hostports, domains or URLs, and `status`, and no description", async () => {
    const id = (description: string) => stack(description).id;
    const cases: [lookup: Promise<unknown>, nearest: string[]][] = [
      [sdk.getTLSEdge({ hostport: "C.exmple.com:443" }), [`c.example.com:443 (${id("second")})`]],
      [sdk.getTLSCertificate({ domain: "ap.example.com" }), [`app.example.com (${id("soon")})`]],
      [
        sdk.getTunnel({ publicUrl: "http://hooks.example" }),
        ["https://hooks.example (tn_4)", "tcp://ssh.example:22 (tn_5)"],
      ],
    ];
    // Descriptions may be secrets of a program.
    assert.doesNotMatch(await messageOf(sdk.getTLSEdge({ description: "firts" })), /first/);
    for (const [lookup, nearest] of cases) {
      const [, ...lines] = (await messageOf(lookup)).split("\n").map((line) => line.trim());
      assert.deepEqual(lines.slice(0, nearest.length), nearest);
      assert.match(String(lines.at(-1)), /`status` lists all/);
      assert.ok(lines.length <= 6);
    }
  });

  it("C60 C61: one that several match fails with those alone", async () => {
    const { message } = await failureOf(sdk.getTunnel({ labels: { app: "web" } }), LookupError);
    assert.match(message, /^3 tunnel objects match .*tn_1.*tn_2.*tn_3/s);
    assert.doesNotMatch(message, /tn_4|tn_5/);
    const ofTwo = ofPlugin("getTLSEdge", { metadata: { owner: "web" } });
    const [first, second, text] = ["first", "second", "text"].map((name) => stack(name).id);
    const said = await messageOf(ofTwo);
    assert.match(said, new RegExp(`2 TLS edge objects match .*${second}.*${first}`, "s"));
    assert.ok(!said.includes(String(text)));
  });

  it("C61: mostRecent takes the certificate that is valid since last, of equal ones the newest", async () => {
    const domain = "renewed.example.com";
    const ids: string[] = [];
    for (const day of ["2026-02-02", "2026-02-02", "2026-02-01"]) {
      const notBefore = new Date(day);
      ids.push((await uploaded({ commonName: domain, dnsNames: [domain], notBefore })).id);
    }
    const recent = await sdk.getTLSCertificate({ domain, mostRecent: true });
    const same = await ofPlugin("getTLSCertificate", { domain, mostRecent: true });
    const several = await messageOf(sdk.getTLSCertificate({ domain, mostRecent: false }));
    for (const id of ids) emulator.tlsCertificates.delete(id);
    assert.equal(recent.id, ids[1]);
    assert.deepEqual(same, withoutUndefined(recent));
    assert.match(several, /^3 .*filter, mostRecent or an id/);
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

  const wrong: [string, unknown, RegExp][] = [
    ["getTunnel", { publicURL: "x" }, /publicUrl/],
    ["getTunnel", { region: 5 }, /region/],
    ["getTunnel", { labels: ["app"] }, /labels/],
    ["getTunnel", { labels: { app: 1 } }, /labels/],
    ["getTunnel", ["tn_1"], /0: no such filter/],
    ["getTunnel", undefined, /an id or a filter/],
    ["getTunnel", { connection: "tlsedge" }, /an id or a filter: publicUrl, .*labels/],
    ["getTunnel", { region: "us", id: "" }, /id is empty/],
    ["getTunnel", { region: "us", labels: {} }, /labels is empty/],
    ["getTunnels", { id: "tn_1" }, /id: no such filter/],
    ["getTLSEdge", { hostport: "app.example.com" }, /hostport must be a host and a port/],
    ["getTLSCertificate", { domain: "app.example.com:443" }, /domain must be .* without a port/],
    ["getTLSEdges", { hostports: "x" }, /hostports: .*did you mean hostport/],
    ["getTLSEdges", { metadata: '{"owner":"web"}' }, /metadata must be a map/],
    ["getTLSEdges", { description: "-----BEGIN PRIVATE KEY-----" }, /holds a private key/],
    ["getTLSCertificate", { fingerprint: "abc" }, /fingerprint must be .*SHA-256/],
    ["getTLSCertificate", { expiresBefore: "2090-01-01T00:00:00Z" }, /Before: no such filter/],
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
    const connection = pulumi.output("tlsedge") as unknown as string;
    await failureOf(sdk.getTunnel({ id: "tn_1", connection }), pulumi.RunError);
    const misspelt = { publicURL: "x" } as sdk.GetTunnelsArgs;
    await failureOf(sdk.getTunnels(misspelt), LookupError);
    await failureOf(settled(sdk.getTunnelsOutput(misspelt)), LookupError);
    assert.deepEqual(emulator.requests, []);
  });

  describe("of one program", () => {
    let many: Emulator;
    let own: typeof plugin;
    let undo: () => void;
    const edge = (hostport: string, to = many) =>
      tlsEdges.create(clientOf(to, { requestsPerMinute: 0 }), { hostports: [hostport] });
    const requests = () => takeMethods(many).length;
    before(async () => {
      many = await startEmulator();
      undo = setEnvFor(many);
      own = await startPlugin();
      await Promise.all(Array.from({ length: 150 }, (_, n) => edge(`a${n}.example.com:443`)));
    });
    beforeEach(() => {
      const stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      takeMethods(many);
    });
    afterEach(() => mock.reset());
    after(() => {
      own.close();
      undo();
      return many.close();
    });

    it("C61: many lookups read the list once, at a time or one after the other; in the plugin twice, at a time", async () => {
      const args = Array.from({ length: 50 }, (_, n) => ({ hostport: `a${n}.example.com:443` }));
      await Promise.all(args.map((one) => sdk.getTLSEdge(one)));
      for (const one of args.slice(0, 5)) await sdk.getTLSEdge(one);
      await sdk.getTLSEdge({ hostport: "a149.example.com:443" });
      assert.equal(requests(), 2);
      await own.configure();
      await Promise.all(args.map((one) => ofPlugin("getTLSEdge", one, own)));
      assert.ok(requests() <= 4);
      // Another process of the run may have made it.
      const made = await edge("beside.example.com:443");
      const [first] = (await ofPlugin("getTLSEdges", {}, own)) as { id: string }[];
      assert.equal(first?.id, made.id);
    });

    it("C61: a lookup sees what a resource that it needs has made, and the others share its reading", async () => {
      const hostport = "a0.example.com:443";
      await sdk.getTLSEdges();
      requests();
      const site = { __pulumiResource: true, __pulumiCustomResource: true, id: pulumi.output("s") };
      const dependsOn = site as unknown as pulumi.CustomResource;
      const made = await edge("new.example.com:443");
      const all = () => settled(sdk.getTLSEdgesOutput({}, { dependsOn }));
      const found = await Promise.all(Array.from({ length: 50 }, all));
      for (const edges of found) assert.equal(edges[0]?.id, made.id);
      assert.ok(requests() <= 1 + 4);
      // Another package may have made it, without a word.
      const later = await edge("later.example.com:443");
      assert.equal((await sdk.getTLSEdge({ hostport: "later.example.com:443" })).id, later.id);
      await sdk.getTLSEdge({ hostport });
      assert.equal(requests(), 1 + 2);
    });

    it("C61: a lookup sees what this program has changed: in a program once a resource is done, in the plugin after a write", async () => {
      await sdk.getTLSEdges();
      const restoreMocks = setMocks({
        newResource: ({ name }) => ({ id: name, state: {} }),
        call: () => ({}),
      });
      const { id } = new sdk.TLSEdge("own");
      await known(id).finally(restoreMocks);
      const made = await edge("own.example.com:443");
      assert.equal((await sdk.getTLSEdges())[0]?.id, made.id);

      await own.configure();
      await ofPlugin("getTLSEdges", {}, own);
      const resource = new Stack(own.resource(resourceOf("TLSEdge")));
      await resource.up({ hostports: ["plugin.example.com:443"] });
      const [first] = (await ofPlugin("getTLSEdges", {}, own)) as { id: string }[];
      assert.equal(first?.id, resource.id);
      requests();
      await Promise.all([sdk.getTunnels(), sdk.getTunnels()]);
      await failureOf(sdk.getTunnel({ region: "mars" }), LookupError);
      const [{ id: tunnel, forwards_to: forwardsTo = "" } = assert.fail()] = many.tunnels.list();
      assert.equal((await sdk.getTunnel({ forwardsTo: String(forwardsTo) })).id, tunnel);
      assert.equal(requests(), 4);
    });
  });

  it("C62: what the service leaves out is undefined, and what it adds is ignored", async () => {
    const find = async (lookup: () => Promise<unknown>, answered: object) => {
      respond = () => answered;
      return withoutUndefined(await lookup());
    };
    const ref = { id: "bkdtg_1", uri: "https://x/bkdtg_1" };
    for (const backends of [ref, [ref]]) {
      const unset = ["public_url", "metadata", "proto", "region", "endpoint", "labels"];
      const nulls = Object.fromEntries(unset.map((name) => [name, null]));
      const answered = { id: "tn_5", ...nulls, new: 1, backends };
      const found = await find(() => sdk.getTunnel({ id: "tn_5" }), answered);
      assert.deepEqual(found, { id: "tn_5", backends: [ref] });
    }
    const tunnels = [{ id: "tn_9" }, { id: "tn_8", proto: "quic" }];
    const quic = await find(() => sdk.getTunnels({ proto: "quic" }), { tunnels });
    assert.deepEqual(idsOf(quic), ["tn_8"]);

    const [uri, createdAt] = ["https://x/1", "2026-01-01T00:00:00Z"];
    const common = { id: "e", uri, created_at: createdAt, new: 1 };
    const bare = { ...common, backend: null, hostports: null };
    const [edge] = await find(() => sdk.getTLSEdges(), { tls_edges: [bare] });
    assert.deepEqual(edge, { id: "e", uri, createdAt, hostports: [] });
    const later = { hostports: ["D.Example.COM:443"], tls_termination: { min_version: "1.4" } };
    const byHostport = () => sdk.getTLSEdge({ hostport: "d.example.com:443" });
    const found = await find(byHostport, { tls_edges: [{ ...common, ...later }] });
    assert.equal(found.tlsTermination.minVersion, "1.4");
    const tls_certificates = [{ ...common, certificate_pem: "" }];
    const [certificate] = await find(() => sdk.getTLSCertificates(), { tls_certificates });
    assert.deepEqual(certificate.subjectAlternativeNames, { dnsNames: [], ips: [] });
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

  it("a lookup fails as its request does, and Pulumi prints the message alone", async () => {
    const undo = setEnv({ TLSEDGE_API_KEY: "refused" });
    const error = await failureOf(sdk.getTunnels(), ServiceError).finally(undo);
    assert.equal(error.status, 401);
    assert.ok(pulumi.RunError.isInstance(error));
    assert.equal(error.stack, error.message);
  });
});

/** What an output comes to, be it a failure: Pulumi does not export the type of it. */
const settled = <T>(output: pulumi.Output<T>) =>
  (output as unknown as { promise(): Promise<T> }).promise();

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
/** Certificates by their descriptions: when they expire, and their domains. */
const certificates: Record<string, [notAfter: string, ...domains: string[]]> = {
  soon: ["2090-01-10T12:00:00Z", "app.example.com", "*.sub.example.com"],
  late: ["2090-04-01T12:00:00Z", "late.example.com"],
};

async function uploaded(options: CertificateOptions, texts = {}): Promise<Stack> {
  const { certificatePem, privateKeyPem } = await makeCertificate(options);
  const stack = new Stack(tlsCertificate);
  await stack.up({ certificatePem, privateKeyPem, ...texts });
  return stack;
}
