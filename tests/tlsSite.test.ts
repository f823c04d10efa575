import assert from "node:assert/strict";
import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { type MadeCertificate, makeCertificate } from "../emulator/server";
import { TLSCertificate, TLSSite, type TLSSiteArgs } from "../sdk";
import { assertInert } from "./cases";
import { fileWith, known, type Properties, setEnv, setMocks } from "./support";

/** What a site makes of its arguments, and what it refuses. */
describe("a TLS site", () => {
  let made: MadeCertificate;
  let registered: pulumi.runtime.MockResourceArgs[];
  let restore: () => void;
  let undo: () => void;
  let files: { chainFile: string; keyFile: string };

  before(async () => {
    undo = setMocks(
      {
        newResource: (args) => {
          registered.push(args);
          return { id: `${args.name}-id`, state: args.inputs };
        },
        call: () => ({}),
      },
      "shop",
      "staging",
    );
    made = await makeCertificate({ commonName: "app.example.com" });
    files = { chainFile: fileWith(made.certificatePem), keyFile: fileWith(made.privateKeyPem) };
  });
  after(() => undo());
  beforeEach(() => {
    registered = [];
    const ci = ["GITHUB_REPOSITORY", "GITHUB_SHA", "CI_PROJECT_PATH", "CI_COMMIT_SHA"];
    restore = setEnv({
      ...{ TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_API_KEY: "key" },
      ...Object.fromEntries(ci.map((name) => [name, undefined])),
    });
  });
  afterEach(() => restore());

  const pem = () => ({ certificatePem: made.certificatePem, privateKeyPem: made.privateKeyPem });
  const access = { public: true };
  /** The arguments without a certificate. */
  const rest = { hostports: ["app.example.com:443"], backendId: "bkdtg_1", access };
  const args = (): TLSSiteArgs => ({ ...rest, ...pem() });

  /** The inputs of the children: of the edge, and of the certificate when it has its own. */
  async function children(change: Partial<TLSSiteArgs> = {}, from = args()) {
    registered = [];
    const site = new TLSSite("app", { ...from, ...change });
    await known(site.edge.urn);
    const of = (type: string): Properties =>
      registered.find((one) => one.type.endsWith(`:${type}`))?.inputs;
    return { edge: of("TLSEdge"), certificate: of("TLSCertificate"), stored: of("TLSSite") };
  }
  const metadataOf = async (change: Partial<TLSSiteArgs>) =>
    JSON.parse(String((await children(change)).edge.metadata));

  it("has parts whose type, name and parent stand in every state", async () => {
    const { certificate, edge } = new TLSSite("app", args());
    for (const [part, type] of [
      [certificate, "TLSCertificate"],
      [edge, "TLSEdge"],
    ] as const) {
      const of = `tlsedge:index:TLSSite$pulumi-nodejs:dynamic/tlsedge:${type}::app`;
      assert.ok((await known(part.urn)).endsWith(`::${of}`), await known(part.urn));
    }
  });

  it("has the defaults of a careful engineer", async () => {
    const { edge, certificate } = await children();
    assert.deepEqual(edge.tlsTermination, { terminateAt: "edge", minVersion: "1.2" });
    assert.deepEqual(edge.backend, { backendId: "bkdtg_1" });
    assert.deepEqual([edge.ipRestriction, edge.mutualTls], [undefined, undefined]);
    for (const { description } of [edge, certificate]) assert.equal(description, "app (staging)");
    assert.deepEqual(JSON.parse(String(certificate.metadata)), { environment: "staging" });
  });

  it("restricts who may connect, by address, by certificate or by both", async () => {
    const [ip, ca] = [{ ipPolicyIds: ["ipp_1"] }, { certificateAuthorityIds: ["ca_1"] }];
    for (const [access, ...modules] of [
      [ip, ip, undefined],
      [ca, undefined, ca],
      [{ ...ip, ...ca }, ip, ca],
    ] as const) {
      const { edge } = await children({ access, minVersion: "1.3" });
      assert.deepEqual([edge.ipRestriction, edge.mutualTls], modules);
      assert.deepEqual(edge.tlsTermination, { terminateAt: "edge", minVersion: "1.3" });
    }
  });

  it("reads its certificate from files", async () => {
    const { certificate } = await children(files, rest);
    assert.equal(certificate.certificatePem, made.certificatePem);
    // For what is wrong with them: the provider's check takes it away.
    assert.deepEqual(certificate.__files, {
      certificatePem: `chainFile ${files.chainFile}`,
      privateKeyPem: `keyFile ${files.keyFile}`,
    });
  });

  it("C50 C51 C88 stores its arguments as they are given, without paths and PEM texts", async () => {
    for (const given of [args(), { ...rest, ...files }]) {
      const { stored } = await children({ owner: "web" }, given);
      assert.deepEqual(stored, { ...rest, owner: "web" });
    }
  });

  const changed = (change: object) => () => ({ ...args(), ...change });
  const said = (access: unknown) => changed({ access });
  const withKey = (keyFile: () => unknown) => () => ({ ...rest, ...files, keyFile: keyFile() });
  const mustSay = /access must say who may connect/;
  const both = { public: true, ipPolicyIds: ["i"] };
  const oneWrong = { ipPolicyIds: ["i"], certificateAuthorityId: ["c"] };
  const wrong: [string, () => unknown, RegExp][] = [
    ["a string for options", () => "app.example.com:443", /object/],
    ["an output for options", () => pulumi.output(args()), /object/],
    ["a misspelt option", changed({ hostport: [] }), /hostport: .*hostports/],
    ["no hostports", changed({ hostports: undefined }), /hostports .*missing/],
    ["an empty list of hostports", changed({ hostports: [] }), /hostports is empty/],
    ["no certificate", () => rest, /certificate .*missing.*chainFile with keyFile/],
    ["no backend", changed({ backendId: null }), /backendId .*missing/],
    ["access that says nothing", said({}), mustSay],
    ["no access", said(undefined), mustSay],
    ["access that is not public", said({ public: false }), mustSay],
    ["access for no authority", said({ certificateAuthorityIds: [] }), mustSay],
    ["access misspelt", said(oneWrong), /access\.certificateAuthorityId: .*AuthorityIds/],
    ["access as an output", said(pulumi.output({})), /access/],
    ["access that is public and restricted", said(both), /public and restricted/],
    ["access by an output", said({ public: pulumi.output(true) }), /access\.public.*not an output/],
    ["access by a text", said({ public: "true" }), /access\.public.*not a string/],
    ["an output in a text", changed({ owner: `${pulumi.output("x")}` }), /owner: .*interpolate/],
    [
      "an output in a text of the metadata",
      changed({ metadata: { team: "a", id: `${pulumi.output("x")}`, of: pulumi.output("b") } }),
      /metadata\.id: .*interpolate/,
    ],
    ["files as certificate", () => ({ ...rest, certificate: files }), /must be a TLSCertificate/],
    ["a chain and no key", () => ({ ...rest, chainFile: "x" }), /keyFile is missing/],
    ["a key and no chain", () => ({ ...rest, keyFile: "x" }), /chainFile is missing/],
    [
      "no text of a chain",
      () => ({ ...rest, ...pem(), certificatePem: undefined }),
      /certificatePem is missing/,
    ],
    ["PEM beside files", () => ({ ...args(), ...files }), /certificatePem and chainFile both/],
    ["an output for a file", withKey(() => pulumi.output("x")), /keyFile must/],
    ["a file that is not there", withKey(() => "/no/such.pem"), /: keyFile \/no\/such.pem can/],
    ["an empty file", withKey(() => fileWith("\n")), /: keyFile .* is empty/],
    ["a folder in place of a file", withKey(() => "."), /: keyFile \. is no regular file/],
    ["a URL in place of a path", withKey(() => "file:///k.pem"), /k\.pem is a URL: write the path/],
    ["a key in place of its file", withKey(() => made.privateKeyPem), /are paths/],
    ["text as metadata", changed({ metadata: "tier" }), /metadata/],
    ["a list as metadata", changed({ metadata: [] }), /metadata/],
  ];
  for (const [what, given, says] of wrong) {
    it(`C15 C50 with ${what} is refused in a sentence, which shows no key, and makes nothing`, () => {
      assert.throws(
        () => new TLSSite("app", given() as TLSSiteArgs),
        (error: Error) => {
          assert.ok(error instanceof pulumi.RunError, String(error));
          assert.match(error.message, says);
          assert.match(error.message, /app/);
          assert.doesNotMatch(error.message, /-----BEGIN/);
          return true;
        },
      );
      assert.deepEqual(registered, []);
    });
  }

  describe("whose certificate is not valid for its hostports", () => {
    let told: ReturnType<typeof mock.method<typeof pulumi.log, "warn">>;
    beforeEach(() => {
      told = mock.method(pulumi.log, "warn", async () => {});
    });
    afterEach(() => told.mock.restore());

    /** The warnings about a new site of the certificate. */
    const warningsOf = async (
      certificate: TLSCertificate,
      hostports: TLSSiteArgs["hostports"],
    ): Promise<string[]> => {
      told.mock.resetCalls();
      const { edge } = new TLSSite("app", { ...rest, certificate, hostports });
      await known(edge.urn);
      for (let turn = 0; turn < 100; turn++) await setImmediate();
      return told.mock.calls.map(({ arguments: [text, about] }) => {
        assert.equal(about, edge);
        return text;
      });
    };
    const certificate = async (dnsNames = ["*.example.com"]) =>
      new TLSCertificate("shared", {
        certificatePem: made.certificatePem,
        // The mocks give back inputs as outputs.
        ...({ subjectAlternativeNames: { dnsNames, ips: [] } } as object),
      });

    it("C90 is warned of in a text that no terminal obeys", async () => {
      const hostports = ["s.\u001b[2J<{%red%}>.org:443"];
      const [text = ""] = await warningsOf(await certificate(), hostports);
      assertInert(text);
      assert.match(text, /s\.\\u001b\[2J/);
    });

    it("is not warned of where nothing is known of the chain yet", async () => {
      const { certificatePem } = made;
      const shared = new TLSCertificate("shared", { certificatePem });
      assert.deepEqual(await warningsOf(shared, ["cn:443"]), []);
    });

    it("is warned of once for each site, with five hostports by name", async () => {
      const shared = await certificate();
      const hostports = Array.from({ length: 8 }, (_, n) => `s${n}.example.org:443`);
      assert.deepEqual(await warningsOf(shared, [...hostports, "a.example.com:443"]), [
        `the certificate is not valid for ${hostports.slice(0, 5).join(", ")} and 3 more: ` +
          "clients will refuse the connection. It is valid for *.example.com",
      ]);
      assert.deepEqual(await warningsOf(shared, ["a.example.com:443"]), []);
    });

    it("C50 is warned of without a hostport that is a secret", async () => {
      const hostports = pulumi.secret(["secret.example.org:443"]);
      const [text = "", ...more] = await warningsOf(await certificate(), hostports);
      assert.match(text, / valid for app\.hostports\[0\]: /);
      assert.deepEqual(more, []);
    });
  });

  it("shares a certificate that it is given, and makes none", async () => {
    const certificate = new TLSCertificate("shared", { certificatePem: made.certificatePem });
    await known(certificate.urn);
    assert.equal((await children({ certificate }, rest)).certificate, undefined);
  });

  it("tells where it comes from where a CI system says so, and what the program says wins", async () => {
    setEnv({ GITHUB_REPOSITORY: "acme/shop", GITHUB_SHA: "abc", CI_COMMIT_SHA: "abc" });
    const [environment, repository, owner] = ["staging", "acme/shop", "web"];
    const found = await metadataOf({ owner: pulumi.output(owner) });
    assert.deepEqual(found, { environment, repository, owner });
    const own = { environment: "demo", tier: "1", commit: process.env.GITHUB_SHA };
    const metadata = pulumi.output({ ...own, repository: "" });
    assert.deepEqual(await metadataOf({ metadata }), own);
    assert.equal("commit" in (await metadataOf({ metadata: { commit: undefined } })), false);
  });

  it("makes its certificate before its edge, and protects the edge alone", async () => {
    const opts: Record<string, pulumi.ResourceOptions> = {};
    const look = (seen: pulumi.ResourceTransformationArgs) => {
      opts[seen.type.replace(/.*:/, "")] = seen.opts;
      return undefined;
    };
    const site = new TLSSite("app", args(), { protect: true, transformations: [look] });
    await known(site.edge.urn);
    assert.ok([opts.TLSEdge?.dependsOn].flat().includes(site.certificate));
    assert.deepEqual([opts.TLSEdge?.protect, opts.TLSCertificate?.protect], [undefined, false]);
  });

  it("keeps what fits into the limit of the metadata, to the byte: its own additions go first", async () => {
    const rest = JSON.stringify({ environment: "staging", owner: "web", note: "é" }).length + 1;
    for (const more of [0, 1]) {
      const metadata = { note: `é${"x".repeat(4096 - rest + more)}` };
      const found = await metadataOf({ owner: "web", metadata });
      assert.deepEqual([found.owner, "environment" in found], ["web", more === 0]);
    }
  });
});
