import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { makeCertificate } from "../emulator/server";
import * as sdk from "../sdk";
import { newFolder } from "../tools/folders";
import { failureOf, known, setEnv, setMocks } from "./support";

/** No account is set, and no server runs: what is asked over HTTP fails. */
describe("a program's unit test, with Pulumi's mocks", () => {
  let calls: pulumi.runtime.MockCallArgs[];
  let answer: (args: pulumi.runtime.MockCallArgs) => object;
  let undo: (() => void)[];
  const mocks: pulumi.runtime.Mocks = {
    newResource: ({ name, inputs }) => ({ id: name === "new" ? "" : `${name}-id`, state: inputs }),
    call: (args) => {
      calls.push(args);
      return answer(args);
    },
  };
  beforeEach(() => {
    calls = [];
    answer = () => ({ id: "mocked" });
    undo = [setEnv({ TLSEDGE_BASE_URL: undefined, TLSEDGE_API_KEY: undefined }), setMocks(mocks)];
  });
  afterEach(() => {
    for (const step of undo) step();
  });

  const one = { id: "mocked" };
  const connection = "tlsedge-staging";
  const rows: [
    name: string,
    lookup: () => Promise<unknown>,
    inputs: object,
    answered?: object,
    form?: string,
  ][] = [
    ["getTLSEdge", () => sdk.getTLSEdge({ hostport: "a.b:443" }), { hostport: "a.b:443" }],
    ["getTLSCertificate", () => sdk.getTLSCertificate({ domain: "a.b" }), { domain: "a.b" }],
    [
      "getTunnel",
      () => sdk.getTunnel({ id: undefined, labels: { app: "web" }, connection }),
      { labels: { app: "web" }, connection },
    ],
    ["getTLSEdges", () => sdk.getTLSEdges(), {}, { tlsEdges: [one] }],
    ["getTLSCertificates", () => sdk.getTLSCertificates(), {}, { tlsCertificates: [one] }],
    ["getTunnels", () => sdk.getTunnels(), {}, { tunnels: [one] }],
    ["getTunnels", () => known(sdk.getTunnelsOutput()), {}, { tunnels: [one] }, "Output"],
  ];
  for (const [name, lookup, inputs, answered, form = ""] of rows) {
    it(`C63 gets from ${name}${form} what its mock gives`, async () => {
      if (answered) answer = () => answered;
      assert.deepEqual(await lookup(), answered ? [one] : one);
      assert.deepEqual(calls, [{ token: `tlsedge:index:${name}`, inputs }]);
    });
  }

  it("C63 is told when the mock of a list gives none", async () => {
    const { message } = await failureOf(sdk.getTLSEdges(), sdk.LookupError);
    assert.match(message, /list/);
  });

  it("C63 C64 is asked in a plan once each resource that the lookup needs has an id", async () => {
    undo.push(setMocks(mocks, undefined, undefined, true));
    const parent = new pulumi.ComponentResource("tests:index:Home", "home");
    const planned = new sdk.TLSEdge("new", {}, { parent });
    /** Makes its child later. */
    class Slow extends pulumi.ComponentResource {
      protected override async initialize() {
        await new Promise(setImmediate);
        return new sdk.TLSEdge("new", {}, { parent: this });
      }
    }
    const there = new sdk.TLSEdge("there");
    const hostport = "a.b:443";
    const by = (dependsOn: pulumi.InvokeOutputOptions["dependsOn"]) =>
      sdk.getTLSEdgeOutput({ hostport }, { dependsOn, parent });
    const isKnown = (lookup: unknown) => (lookup as { isKnown: Promise<boolean> }).isKnown;
    for (const lookup of [
      sdk.getTLSEdgeOutput({ hostport: planned.urn.apply(() => hostport) }),
      sdk.getTLSCertificatesOutput({}, { dependsOn: planned }),
      sdk.getTunnelOutput({ id: "tn_1" }, { dependsOn: planned }),
      by([there, Promise.resolve(planned)]),
      by(pulumi.output(planned)),
      by(planned.urn.apply(() => [])),
      by(parent),
      by(new Slow("tests:index:Home", "slow")),
    ])
      assert.equal(await isKnown(lookup), false);
    assert.equal(calls.length, 0);
    assert.deepEqual(await known(by(there)), { id: "mocked" });
    assert.deepEqual(await known(sdk.getTLSEdgeOutput({ id: there.id })), { id: "mocked" });
    assert.deepEqual(calls.at(-1)?.inputs, { id: "there-id" });
  });

  it("C15 C50 tells all wrong arguments of a program at once, from its mock of resources", async () => {
    const problems: string[] = [];
    undo.push(
      setMocks({
        newResource: (args) => {
          problems.push(...sdk.argumentProblems(args));
          return { id: args.id || args.name, state: args.inputs };
        },
        call: () => ({}),
      }),
    );
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.b" });
    const other = await makeCertificate({ commonName: "a.b" });
    const settings = { connection: "tlsedge-staging" };
    const access = { public: true };
    const site = { hostports: ["a.b:443"], backendId: "bkdtg_1", access };
    new sdk.TLSEdge(
      "fine",
      { ...settings, hostports: ["a.b:443"] },
      { customTimeouts: { create: "1m" } },
    );
    new sdk.TLSEdge("shape", { hostPorts: ["a.b:443"], description: "é".repeat(128) } as object);
    new sdk.TLSEdge("secret", { hostports: pulumi.secret(["a secret"]) });
    new sdk.TLSEdge("value", { hostports: [pulumi.output("a b")] });
    new sdk.TLSCertificate("adopted", { certificatePem }, { import: "cert_1" });
    const leaf = new sdk.TLSCertificate("key", {
      certificatePem,
      privateKeyPem: other.privateKeyPem,
    });
    new sdk.TLSSite("site", { ...site, certificatePem, privateKeyPem, minVersion: "1.4" as "1.3" });
    const chainFile = path.join(newFolder(), "privateKeyPem and certificatePem");
    writeFileSync(chainFile, certificatePem.replaceAll("\n", " "));
    new sdk.TLSSite("files", { ...site, chainFile, keyFile: chainFile });
    sdk.TLSEdge.get("read", "edgtls_1");
    new pulumi.ComponentResource("my:index:Group", "group");
    await known(leaf.id);
    await pulumi.runtime.disconnect();
    const found = problems.map((line) => line.split(/(?<=: .*?:)/)[0] ?? "").sort();
    assert.deepEqual(found, [
      `files: chainFile ${chainFile}:`,
      `files: keyFile ${chainFile}:`,
      "key: certificatePem:",
      "secret: hostports[0]:",
      "shape: description:",
      "shape: hostPorts:",
      "site: tlsTermination.minVersion:",
      "value: hostports[0]:",
    ]);
    assert.ok(problems.includes("shape: hostPorts: no such property: did you mean hostports?"));
    assert.doesNotMatch(problems.join("\n"), /"a secret"/);
  });

  it("C63 finds wrong arguments before the mock is called", async () => {
    for (const lookup of [sdk.getTLSEdge({}), sdk.getTLSEdges({ hostport: "" })])
      await failureOf(lookup, sdk.LookupError);
    assert.deepEqual(calls, []);
  });

  it("C63 fails as its mock fails, with the mock's trace", async () => {
    answer = () => {
      throw new assert.AssertionError({ message: "asked for another" });
    };
    const { message, stack } = await failureOf(sdk.getTLSEdge({ id: "a" }), assert.AssertionError);
    assert.equal(message, "asked for another");
    assert.match(stack ?? "", /mocks\.test\.ts/);
  });

  it("C63 asks the service again once the mocks are gone", async () => {
    undo.pop()?.();
    const { message } = await failureOf(sdk.getTunnels(), pulumi.RunError);
    assert.match(message, /TLSEDGE_API_KEY/);
    assert.deepEqual(calls, []);
  });
});
