import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import * as fc from "fast-check";
import ts from "typescript";
import type { Adoption } from "../cli/adopt";
import { writeFolder } from "../cli/folder";
import { planOf } from "../cli/plan";
import { projectOf } from "../cli/program";
import type { Client } from "../client/client";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import { tlsCertificates } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { tlsEdges } from "../client/tlsEdge";
import {
  type CertificateOptions,
  type Emulator,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { character, holds } from "./cases";
import { runCommand, terminal } from "./cli";
import {
  clientOf,
  fileWith,
  type Properties,
  Stack,
  setEnvFor,
  settingsFor,
  takeRequests,
  unknown,
} from "./support";

const root = path.join(__dirname, "..");
// biome-ignore lint/suspicious/noTemplateCurlyInString: it must never become a template.
const hostile = "`${process.exit(1)}\"'\\";
const wish = { connection: "tlsedge" };

let made = 0;
/** An edge as the service tells it, younger than those before. */
function edgeOf(fields: Partial<TLSEdgeWire>): TLSEdgeWire {
  made += 1;
  const created_at = new Date(1_767_000_000_000 + made * 1000).toISOString();
  // The younger, the lower the id: neither order can pass for the other.
  return { id: `edgtls_${1_000_000 - made}`, uri: "https://x/e", created_at, ...fields };
}
function certificateOf(pem: string, fields: Partial<TLSCertificateWire> = {}): TLSCertificateWire {
  const { id, uri, created_at } = edgeOf({});
  return { id: id.replace("edgtls", "cert"), uri, created_at, certificate_pem: pem, ...fields };
}
const pemOf = async (options: Partial<CertificateOptions>) =>
  (await makeCertificate({ commonName: "", ...options })).certificatePem;

const frame = {
  project: "adopted",
  connection: "tlsedge",
  dependency: "1.2.3",
  pulumi: {},
  warning: undefined,
};

interface Said {
  type: string;
  name: string;
  args: Properties;
  options: Properties;
}

/** The resources that a written program makes, by running it. */
function run(files: Map<string, string>): Said[] {
  const said: Said[] = [];
  const keyed = new Proxy({}, { get: (_, name) => `key of ${String(name)}` });
  const recorder = (type: string) =>
    class {
      constructor(name: string, args: Properties, options: Properties) {
        const given = Object.entries(args).filter(([, value]) => value !== undefined);
        said.push({ type, name, args: Object.fromEntries(given), options });
      }
    };
  const modules: Properties = {
    "node:fs": { readFileSync: (file: string) => files.get(path.relative("/project", file)) },
    "node:path": path,
    "@pulumi/pulumi": {
      Config: class {
        getSecretObject = () => ({
          apply: (of: (keys: Properties) => unknown) => of(keyed),
        });
      },
    },
    "pulumi-tlsedge": {
      TLSEdge: recorder("edge"),
      TLSCertificate: recorder("certificate"),
    },
  };
  const { outputText, diagnostics } = ts.transpileModule(files.get("index.ts") ?? "", {
    reportDiagnostics: true,
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  assert.deepEqual(
    diagnostics?.map(({ messageText }) => messageText),
    [],
  );
  const program = new Function("require", "exports", "__dirname", outputText);
  program((name: string) => modules[name], {}, "/project");
  return said;
}

describe("what adopt plans", () => {
  const namesOf = (edges: TLSEdgeWire[]) =>
    planOf({ edges, certificates: [] }, wish).edges.map(({ name }) => name);

  const edgeNames: [string[], string][] = [
    [["app.example.com:443"], "app.example.com"],
    [["app.example.com:8443"], "app.example.com-8443"],
    [["*.Apps.example.com:443"], "wildcard.apps.example.com"],
    [["www.example.com:443", "example.com:443", "b.example.com:443"], "example.com"],
    [["constructor:443"], "edge-constructor"],
    [["nul:443"], "edge-nul"],
    [["CON.example.com:443"], "edge-con.example.com"],
    [["console.example.com:443"], "console.example.com"],
    [["__proto__:443"], "edge-__proto__"],
    [[], "edge"],
  ];
  for (const [hostports, name] of edgeNames) {
    it(`calls an edge ${name} for ${hostports.join(", ") || "want of hostports"}`, () => {
      assert.deepEqual(namesOf([edgeOf({ hostports })]), [name]);
      assert.deepEqual(namesOf([edgeOf({ hostports: hostports.toReversed() })]), [name]);
    });
  }

  const certificateNames: [Partial<CertificateOptions>, string][] = [
    [{ commonName: "app.example.com", dnsNames: ["a.example.com"] }, "app.example.com"],
    [{ commonName: "*.example.com" }, "wildcard.example.com"],
    [{ dnsNames: ["long.example.com", "a.example.com"] }, "long.example.com"],
    [{ ips: ["2001:db8::1"] }, "2001-db8-1"],
    [{ commonName: "Müller & Söhne 'x' `y`" }, "muller-sohne-x-y"],
    [{ commonName: "../../etc/passwd" }, "etc-passwd"],
    [{ commonName: "証明書" }, "certificate"],
    [{ commonName: "constructor" }, "certificate-constructor"],
    [{ commonName: "COM1" }, "certificate-com1"],
  ];
  for (const [options, name] of certificateNames) {
    it(`calls a certificate ${name} for ${JSON.stringify(options)}`, async () => {
      const certificates = [certificateOf(await pemOf(options))];
      const plan = planOf({ edges: [], certificates }, wish);
      assert.deepEqual(
        plan.certificates.map((one) => one.name),
        [name],
      );
    });
  }

  it("counts what would be called the same, from the oldest on, past names that are taken", () => {
    const [oldest, second, third] = [1, 2, 3].map(() => edgeOf({ hostports: ["a:443"] }));
    const taken = edgeOf({ hostports: ["a-2:443"] });
    const edges = [third, taken, oldest, second] as TLSEdgeWire[];
    const plan = planOf({ edges, certificates: [] }, wish);
    const ids = Object.fromEntries(plan.edges.map(({ name, id }) => [name, id]));
    assert.deepEqual(ids, {
      a: oldest?.id,
      "a-2": taken.id,
      "a-3": second?.id,
      "a-4": third?.id,
    });
  });

  it("gives the same files in whatever order the account is listed, and once for each id", () => {
    const some = [..."aabbc"].map((letter) => edgeOf({ hostports: [`${letter}:443`] }));
    some.push(edgeOf({ hostports: ["bad"] }), edgeOf({ hostports: ["worse"] }));
    const written = (edges: TLSEdgeWire[]) =>
      projectOf(planOf({ edges, certificates: [] }, wish), frame);
    const listings = fc
      .array(fc.constantFrom(...some), { maxLength: 5 })
      .chain((twice) =>
        fc.shuffledSubarray([...some, ...twice], { minLength: some.length + twice.length }),
      );
    return holds(listings, 50, async (edges) => assert.deepEqual(written(edges), written(some)));
  });

  it("says what is there, and leaves out what goes without saying", () => {
    const edge = edgeOf({
      description: "",
      metadata: null,
      hostports: [],
      backend: { enabled: true, backend: { id: "bkdtg_1", uri: "" } },
      ip_restriction: { enabled: false, ip_policies: { id: "ipp_1", uri: "" } },
      mutual_tls: { enabled: null, certificate_authorities: [{ id: "ca_1", uri: "" }] },
      tls_termination: { enabled: false, terminate_at: "", min_version: null },
    });
    const [found] = planOf({ edges: [edge], certificates: [] }, wish).edges;
    assert.deepEqual(found?.args, {
      backend: { backendId: "bkdtg_1" },
      ipRestriction: { enabled: false, ipPolicyIds: ["ipp_1"] },
      mutualTls: { certificateAuthorityIds: ["ca_1"] },
      tlsTermination: { enabled: false },
    });
  });

  it("leaves out a module that is switched off and has an empty list", () => {
    const ip_restriction = { enabled: false, ip_policies: [] };
    const mutual_tls = { enabled: false, certificate_authorities: null };
    const edge = edgeOf({ hostports: ["a:1"], ip_restriction, mutual_tls });
    const [found] = planOf({ edges: [edge], certificates: [] }, wish).edges;
    assert.deepEqual(found?.args, { hostports: ["a:1"] });
  });

  describe("skips, and says why:", () => {
    const skippedEdges: [string, Partial<TLSEdgeWire>, RegExp][] = [
      ["a hostport", { hostports: ["[::1]:443"] }, /^hostports\[0\]: is an IPv6 address/],
      ["twins", { hostports: ["a:1", "A:1"] }, /^hostports\[1\]: .*the same/],
      ["a description", { description: "é".repeat(128) }, /^description: .*255 bytes/],
      ["metadata", { metadata: "x".repeat(4097) }, /^metadata: .*4096 bytes/],
      ["half a character", { description: "a\ud800" }, /^description: a program can't set/],
      ["the text for unknown values", { metadata: unknown }, /^metadata: a program can't set/],
      ["no backend", { backend: { enabled: false, backend: null } }, /^backend.backendId: is miss/],
      [
        "another kind of termination",
        { tls_termination: { terminate_at: "nowhere", min_version: null } },
        /^tlsTermination.terminateAt: must be/,
      ],
      [
        "upstream with a version",
        { tls_termination: { terminate_at: "upstream", min_version: "1.2" } },
        /^tlsTermination.minVersion: /,
      ],
      [
        "upstream with mutual TLS",
        {
          tls_termination: { terminate_at: "upstream" },
          mutual_tls: { enabled: false, certificate_authorities: [{ id: "ca_1", uri: "" }] },
        },
        /^mutualTls: /,
      ],
      [
        "a restriction to no policy",
        { ip_restriction: { enabled: true, ip_policies: [] } },
        /^ipRestriction.ipPolicyIds: .*empty/,
      ],
      [
        "an unknown version",
        { tls_termination: { terminate_at: "edge", min_version: "1.4" } },
        /^tlsTermination.minVersion: must be/,
      ],
    ];
    for (const [what, fields, says] of skippedEdges) {
      it(what, () => {
        const plan = planOf({ edges: [edgeOf(fields)], certificates: [] }, wish);
        assert.deepEqual(plan.edges, []);
        assert.equal(plan.skipped[0]?.type, "edge");
        assert.match(plan.skipped[0]?.reasons.join() ?? "", says);
      });
    }

    const root = { commonName: "root", isCa: true };
    const skippedCertificates: [string, () => Promise<Partial<TLSCertificateWire>>, RegExp][] = [
      ["no PEM", async () => ({ certificate_pem: "" }), /certificate_pem .* is empty/],
      [
        "what can't be parsed",
        async () => ({
          certificate_pem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        }),
        /certificate 1 can't be parsed/,
      ],
      [
        "a chain in disorder",
        async () => {
          const issuer = await makeCertificate(root);
          const leaf = await pemOf({ commonName: "leaf", issuer });
          return { certificate_pem: issuer.certificatePem + leaf };
        },
        /^certificatePem: .* reverse order/,
      ],
      [
        "one that the service issued",
        async () => ({
          certificate_pem: await pemOf({ commonName: "a" }),
          issued_at: "2026-01-01T00:00:00Z",
        }),
        /the service issued it/,
      ],
      [
        "metadata",
        async () => ({ certificate_pem: await pemOf({}), metadata: "x".repeat(4097) }),
        /^metadata: .*4096 bytes/,
      ],
    ];
    for (const [what, fields, says] of skippedCertificates) {
      it(what, async () => {
        const told = { subject_common_name: "told", ...(await fields()) };
        const plan = planOf({ edges: [], certificates: [certificateOf("", told)] }, wish);
        assert.deepEqual(plan.certificates, []);
        assert.equal(plan.skipped[0]?.type, "certificate");
        assert.match(plan.skipped[0]?.reasons.join() ?? "", says);
      });
    }
  });

  it("takes an expired certificate", async () => {
    const pem = await pemOf({
      notBefore: new Date("2020-01-01T00:00:00Z"),
      notAfter: new Date("2021-01-01T00:00:00Z"),
    });
    const plan = planOf({ edges: [], certificates: [certificateOf(pem)] }, wish);
    assert.deepEqual(plan.skipped, []);
    assert.equal(plan.certificates[0]?.args.certificatePem, pem);
  });

  const filters: [string, string[]][] = [
    ["shop", ["shop.example.com"]],
    ["EXAMPLE.com:8443", ["api.example.com-8443"]],
    ["for the sh", ["plain.example.net"]],
    ["example.com", ["api.example.com-8443", "shop.example.com"]],
    ["*.", []],
  ];
  for (const [filter, expected] of filters) {
    it(`with the filter ${filter} has ${expected.join(", ") || "nothing"}`, () => {
      const edges = [
        edgeOf({ hostports: ["shop.example.com:443"] }),
        edgeOf({ hostports: ["API.example.com:8443"] }),
        edgeOf({ hostports: ["plain.example.net:443"], description: "For the SHOPS" }),
        edgeOf({ hostports: ["bad"] }),
      ].slice(0, filter === "shop" ? 2 : 4);
      const plan = planOf({ edges, certificates: [] }, { ...wish, filter });
      assert.deepEqual(
        plan.edges.map(({ name }) => name),
        expected,
      );
      assert.deepEqual(plan.skipped, []);
      assert.equal(plan.unmatched, edges.length - expected.length);
    });
  }

  it("finds what it skips by its names and by its id", () => {
    const edge = edgeOf({ hostports: ["bad host"] });
    const skipped = (filter: string) =>
      planOf({ edges: [edge], certificates: [] }, { ...wish, filter }).skipped.length;
    assert.deepEqual(["bad h", edge.id, "other"].map(skipped), [1, 1, 0]);
  });
});

describe("what adopt writes", () => {
  let emulator: Emulator;
  let restore: () => void;
  let client: Client;
  let pems: string[];

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    client = clientOf(emulator, { requestsPerMinute: 0 });
    const names = ["*.example.com", "*.example.com", hostile, "constructor", "\u202egro.live"];
    pems = await Promise.all(names.map((commonName) => pemOf({ commonName })));
  });
  beforeEach(() => emulator.reset());
  after(() => {
    restore();
    return emulator.close();
  });

  const list = async <T>(items: AsyncIterable<T>) => {
    const all: T[] = [];
    for await (const item of items) all.push(item);
    return all;
  };
  const holdings = async () => ({
    edges: await list(tlsEdges.list(client)),
    certificates: await list(tlsCertificates.list(client)),
  });

  /** What a service may hold, whoever wrote it. */
  const words = fc.oneof(
    fc.constantFrom('"', "'", "`", hostile, "\\", "\\u0041", "*/ throw 1; /*", "\n"),
    fc.constantFrom("```", "</script>", '{"a":"it\'s"}', "\u2028", "\u202e", "\u{e0001}", "\ud800"),
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.string({ unit: character, maxLength: 20 }),
  );
  const text = fc.array(words, { maxLength: 4 }).map((parts) => parts.join(""));
  const ref = text.map((id) => ({ id, uri: "https://x" }));
  const enabled = fc.constantFrom(true, false, null);
  const hostports = fc.array(
    fc.oneof(fc.constantFrom("a.example:443", "A.example:1", "constructor:1", "__proto__:1"), text),
    { maxLength: 3 },
  );
  const edge = fc.record({
    description: fc.option(text),
    metadata: fc.option(text),
    hostports: fc.oneof(fc.constant<string[]>([]), hostports),
    backend: fc.option(fc.record({ enabled, backend: fc.option(ref) })),
    ip_restriction: fc.option(fc.record({ enabled, ip_policies: fc.array(ref, { maxLength: 2 }) })),
    mutual_tls: fc.option(fc.record({ enabled, certificate_authorities: fc.option(ref) })),
    tls_termination: fc.option(
      fc.record({
        enabled,
        terminate_at: fc.constantFrom("edge", "upstream", "", null),
        min_version: fc.oneof(fc.constantFrom("1.2", null), text),
      }),
    ),
  });
  const certificate = fc.record({
    description: fc.option(text),
    metadata: fc.option(text),
    pem: fc.nat({ max: 4 }),
  });
  const accounts = fc.record({
    edges: fc.oneof<fc.Arbitrary<Partial<TLSEdgeWire>[]>[]>(
      fc.array(edge, { maxLength: 4 }),
      // Few of these are skipped, so that the data stand beside the code.
      fc.array(fc.record({ description: fc.option(text) }), { minLength: 80, maxLength: 80 }),
    ),
    certificates: fc.array(certificate, { maxLength: 4 }),
    connection: fc.constantFrom("tlsedge", "tlsedge-other"),
  });

  it("runs, and says what the service has, whatever that is", async () => {
    const forms = new Set<boolean>();
    await holds(accounts, 150, async ({ edges, certificates, connection }) => {
      const held = {
        edges: edges.map(edgeOf),
        certificates: certificates.map(({ pem, ...texts }) =>
          certificateOf(pems[pem] ?? "", texts),
        ),
      };
      const plan = planOf(held, { connection });
      const files = projectOf(plan, { ...frame, connection });
      const planned = (type: string, { id, name, args }: (typeof plan.edges)[number]) => ({
        type,
        name,
        args: type === "edge" ? args : { ...args, privateKeyPem: `key of ${name}` },
        options: { import: id, protect: true },
      });
      assert.deepEqual(run(files), [
        ...plan.certificates.map((one) => planned("certificate", one)),
        ...plan.edges.map((one) => planned("edge", one)),
      ]);
      for (const [file, content] of files) {
        assert.match(file, /^(certificates\/)?\w?[\w.-]*$/);
        assert.doesNotMatch(content, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, file);
      }
      const fences = files.get("README.md")?.match(/^\s*```/gm)?.length ?? 0;
      const sections = [plan.certificates.length > 0, plan.skipped.length > 0];
      assert.equal(fences, 2 * (1 + sections.filter(Boolean).length));
      forms.add(files.has("import.json"));
    });
    assert.equal(forms.size, 2);
  });

  it("C40 is what the provider adopts, with no difference, and nothing else is skipped", () =>
    holds(edge, 150, async (fields) => {
      emulator.reset();
      const { id } = await tlsEdges.create(client, {});
      emulator.tlsEdges.patch(id, fields);
      const plan = planOf(await holdings(), wish);
      const stack = new Stack(tlsEdge);
      const [adoptable] = plan.edges;
      if (adoptable) {
        takeRequests(emulator);
        await stack.up({ ...adoptable.args, __import: id });
        assert.equal(stack.id, id);
        assert.equal(await stack.up(adoptable.args), "same");
        assert.ok(takeRequests(emulator).every(({ method }) => method === "GET"));
      } else {
        // Nor would what is told by a refresh be taken.
        const { props = {} } = await stack.get(id);
        const { uri: _, createdAt: __, ...told } = props as Properties;
        const { failures } = await stack.check({ ...told, __import: id });
        const isText = plan.skipped[0]?.reasons.every((reason) =>
          /a program can't set/.test(reason),
        );
        assert.ok(failures.length > 0 || isText, plan.skipped[0]?.reasons.join());
      }
    }));

  it("C40 C42 of certificates is what the provider adopts", async () => {
    for (const options of [{ keyType: "rsa" as const }, { keyType: "ed25519" as const }, {}]) {
      const issuer = await makeCertificate({ commonName: "root", isCa: true });
      const one = await makeCertificate({ commonName: "leaf", issuer, ...options });
      await tlsCertificates.create(client, {
        description: "x",
        certificate_pem: one.certificatePem,
        private_key_pem: one.privateKeyPem,
      });
    }
    const { certificates } = planOf(await holdings(), wish);
    assert.deepEqual(
      certificates.map(({ name }) => name),
      ["leaf", "leaf-2", "leaf-3"],
    );
    takeRequests(emulator);
    for (const { id, args } of certificates) {
      const stack = new Stack(tlsCertificate);
      await stack.up({ ...args, __import: id });
      assert.equal(await stack.up({ ...args }), "same");
    }
    assert.ok(takeRequests(emulator).every(({ method }) => method === "GET"));
  });

  it("gives each of thousands that would be called the same a name of its own", () => {
    const pem = pems[0] ?? "";
    const large = {
      edges: Array.from({ length: 3000 }, () => edgeOf({ hostports: ["same.example:443"] })),
      certificates: Array.from({ length: 300 }, () => certificateOf(pem)),
    };
    const plan = planOf(large, wish);
    const files = projectOf(plan, frame);
    assert.equal(new Set(plan.edges.map(({ name }) => name)).size, 3000);
    assert.equal(run(files).length, 3300);
  });

  describe("as a project", () => {
    const small = () => ({
      edges: [
        edgeOf({}),
        edgeOf({
          hostports: Array.from({ length: 9 }, (_, n) => `host-${n}.example.com:443`),
          metadata: JSON.stringify({ owner: "it's", text: "x".repeat(90) }),
          ip_restriction: {
            enabled: false,
            ip_policies: Array.from({ length: 9 }, (_, n) => ({ id: `ipp_${n}aaaaaaa`, uri: "" })),
          },
          tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.2" },
        }),
      ],
      certificates: [certificateOf(pems[0] ?? "", { description: "x" })],
    });
    const many = () => ({
      ...small(),
      edges: Array.from({ length: 60 }, () => edgeOf({ backend: { backend: ref1 } })),
    });
    const ref1 = { id: "bkdtg_1", uri: "" };
    const none = { edges: [], certificates: [] };
    const projects: [string, () => Parameters<typeof planOf>[0], string][] = [
      ["few of both", small, "tlsedge"],
      ["few, of another account", small, "tlsedge-other"],
      ["edges alone", () => ({ ...none, edges: small().edges }), "tlsedge"],
      ["certificates alone", () => ({ ...none, certificates: small().certificates }), "tlsedge"],
      ["many of both", many, "tlsedge"],
      ["many, of another account", many, "tlsedge-other"],
      ["many edges alone", () => ({ ...many(), certificates: [] }), "tlsedge"],
    ];
    it("has no error of types, and is formatted as people do", async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tlsedge-adopt-"));
      try {
        fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
        const programs = projects.map(([what, account, connection]) => {
          const files = projectOf(planOf(account(), { connection }), { ...frame, connection });
          const inside = path.join(folder, what);
          writeFolder(inside, files);
          return { inside, config: JSON.parse(files.get("tsconfig.json") ?? "") };
        });
        const { compilerOptions } = programs[0]?.config ?? {};
        const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, folder);
        const strict = {
          ...options,
          noUnusedLocals: true,
          typeRoots: [path.join(root, "node_modules/@types")],
        };
        const sources = programs.map(({ inside }) => path.join(inside, "index.ts"));
        const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram(sources, strict));
        const said = diagnostics.map(({ messageText, file }) => [file?.fileName, messageText]);
        assert.deepEqual(said, []);
        const biome = path.join(root, "node_modules/.bin/biome");
        const config = ["--config-path", root, "--vcs-enabled=false"];
        execFileSync(biome, ["format", ...config, ...sources], { stdio: "pipe" });
      } finally {
        fs.rmSync(folder, { recursive: true });
      }
    });
  });
});

describe("npx pulumi-tlsedge adopt", () => {
  let emulator: Emulator;
  let folder: string;
  let settings: NodeJS.ProcessEnv;
  let made: Awaited<ReturnType<typeof makeCertificate>>;

  before(async () => {
    emulator = await startEmulator();
    made = await makeCertificate({ commonName: "app.example.com" });
    settings = { ...settingsFor(emulator), TLSEDGE_MAX_RETRIES: "0" };
  });
  beforeEach(() => {
    emulator.reset();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "tlsedge-adopt-"));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));
  after(() => emulator.close());

  const adopt = (args: string[], env: Record<string, string | undefined> = {}, terminals = {}) =>
    runCommand(["adopt", ...args], { ...settings, ...env }, terminals);
  const out = () => path.join(folder, "live edges");
  /** The files below a folder, by path. */
  const filesOf = (where: string) =>
    Object.fromEntries(
      fs
        .readdirSync(where, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => {
          const file = path.join(parentPath, name);
          return [path.relative(where, file), fs.readFileSync(file, "utf8")];
        }),
    );

  async function seed() {
    const client = clientOf(emulator, { requestsPerMinute: 0 });
    const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } = made;
    const certificate = { certificate_pem, private_key_pem };
    const ids = {
      edge: (await tlsEdges.create(client, { hostports: ["app.example.com:443"] })).id,
      shop: (await tlsEdges.create(client, { description: "shop" })).id,
      bad: (await tlsEdges.create(client, {})).id,
      certificate: (await tlsCertificates.create(client, certificate)).id,
      issued: (await tlsCertificates.create(client, certificate)).id,
    };
    emulator.tlsEdges.patch(ids.bad, { hostports: ["\u001b[31mbad", "worse"] });
    emulator.tlsCertificates.patch(ids.issued, { issued_at: "2026-01-01T00:00:00Z" });
    takeRequests(emulator);
    return ids;
  }

  it("writes a project, reads each list once, and says what it skips and why", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt(["--out", out()], { COLUMNS: "200" });
    assert.equal(code, 0);
    assert.match(stderr, /^warning: another stack may already manage some[^\n]*--not-in\.\n$/);
    assert.deepEqual(
      takeRequests(emulator).map(({ method }) => method),
      ["GET", "GET"],
    );
    const files = filesOf(out());
    assert.deepEqual(Object.keys(files).sort(), [
      ".gitignore",
      "Pulumi.yaml",
      "README.md",
      "certificates/app.example.com.pem",
      "index.ts",
      "package.json",
      "tsconfig.json",
    ]);
    assert.equal(files["certificates/app.example.com.pem"], made.certificatePem);
    assert.match(files["Pulumi.yaml"] ?? "", /^name: "live-edges"$/m);
    const { dependencies, devDependencies } = JSON.parse(files["package.json"] ?? "");
    assert.deepEqual(Object.keys(dependencies), ["@pulumi/pulumi", "pulumi-tlsedge"]);
    assert.match(dependencies["pulumi-tlsedge"], /^file:\.\./);
    assert.match(devDependencies.typescript, /^\^5/);
    assert.match(files["README.md"] ?? "", /^\*\*Warning:\*\* another stack may already manage/m);
    assert.deepEqual(
      run(new Map(Object.entries(files))).map(({ type, name, options }) => [type, name, options]),
      [
        ["certificate", "app.example.com", { import: ids.certificate, protect: true }],
        ["edge", "app.example.com", { import: ids.edge, protect: true }],
        ["edge", "edge", { import: ids.shop, protect: true }],
      ],
    );
    for (const told of [stdout, files["README.md"] ?? ""]) {
      assert.match(told, new RegExp(`${ids.bad}.*hostports\\[0\\]: has .*`));
      assert.match(told, new RegExp(`${ids.issued}.*the service issued it`));
      assert.doesNotMatch(told, /(?!\n)\p{Cc}/u);
    }
    assert.equal(stdout.split("\n")[0], `Service: ${new URL(emulator.url).host}`);
    assert.match(stdout, /2 edges and 1 certificate, 2 skipped\./);
    assert.deepEqual(fs.readdirSync(folder), ["live edges"]);
    const all = Object.values(files).join();
    assert.ok(!(stdout + all).includes(emulator.apiKey) && !all.includes(emulator.url));
  });

  it("--json prints one object, uncoloured, and the same files are written again", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt(["--out", out(), "--json"], { FORCE_COLOR: "1" });
    assert.equal(code, 0);
    assert.match(stderr, /^warning: [^\n]*\n$/);
    assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u);
    const { skipped, files, ...adoption } = JSON.parse(stdout) as Adoption;
    const file = "certificates/app.example.com.pem";
    assert.deepEqual(adoption, {
      out: out(),
      service: new URL(emulator.url).host,
      plugin: false,
      filter: null,
      notIn: [],
      edges: [
        { id: ids.edge, name: "app.example.com" },
        { id: ids.shop, name: "edge" },
      ],
      certificates: [{ id: ids.certificate, name: "app.example.com", file }],
      unmatched: 0,
      environments: {},
    });
    assert.deepEqual(
      skipped.map(({ reasons, ...rest }) => ({ ...rest, reasons: reasons.length })),
      [
        { type: "edge", id: ids.bad, names: ["worse", "\u001b[31mbad"], stack: null, reasons: 2 },
        {
          type: "certificate",
          id: ids.issued,
          names: ["app.example.com"],
          stack: null,
          reasons: 1,
        },
      ],
    );
    const written = filesOf(out());
    assert.deepEqual(files.toSorted(), Object.keys(written).sort());
    fs.rmSync(out(), { recursive: true });
    assert.equal((await adopt(["--out", out()])).code, 0);
    assert.deepEqual(filesOf(out()), written);
  });

  it("writes into a folder that is there and empty", async () => {
    await seed();
    fs.mkdirSync(out());
    assert.equal((await adopt(["--out", out()])).code, 0);
    assert.ok(fs.existsSync(path.join(out(), "index.ts")));
    assert.deepEqual(fs.readdirSync(folder), ["live edges"]);
  });

  it("stops before it asks anything when something stands there, and names it", async () => {
    await seed();
    fs.mkdirSync(out());
    fs.writeFileSync(path.join(out(), "index.ts"), "mine");
    const taken = await adopt(["--out", out()]);
    assert.deepEqual([taken.code, taken.stdout], [1, ""]);
    assert.match(taken.stderr, /^error: .*live edges is not empty.*index\.ts/);
    assert.deepEqual(filesOf(out()), { "index.ts": "mine" });
    const file = await adopt(["--out", path.join(out(), "index.ts")]);
    assert.match(file.stderr, /^error: .*is a file/);
    assert.deepEqual(takeRequests(emulator), []);
  });

  it("leaves nothing behind when it can't write all", () => {
    const conflict = new Map([
      ["a", "1"],
      ["a/b", "2"],
    ]);
    assert.throws(() => writeFolder(out(), conflict));
    assert.deepEqual(fs.readdirSync(folder), []);
    fs.mkdirSync(out());
    assert.throws(() => writeFolder(out(), conflict));
    assert.deepEqual(filesOf(folder), {});
    fs.writeFileSync(path.join(out(), "b"), "mine");
    assert.throws(() => writeFolder(out(), new Map([["b", "ours"]])), /not empty.* b/);
    assert.deepEqual(filesOf(folder), { "live edges/b": "mine" });
    assert.deepEqual(fs.readdirSync(folder), ["live edges"]);
  });

  it("--filter takes what has the text, and counts the rest", async () => {
    const ids = await seed();
    const { stdout } = await adopt(["--out", out(), "--filter", "SHOP", "--json"]);
    const adoption = JSON.parse(stdout) as Adoption;
    assert.deepEqual(adoption.edges, [{ id: ids.shop, name: "edge" }]);
    assert.deepEqual([adoption.certificates, adoption.skipped], [[], []]);
    assert.equal(adoption.unmatched, 4);
  });

  /** The export of a stack that manages these edges. */
  const exportOf = (stack: string, ...edges: string[]) => {
    const type = "pulumi-nodejs:dynamic/tlsedge:TLSEdge";
    const resources = edges.map((id) => ({ urn: `urn:pulumi:${stack}::${type}::one`, type, id }));
    return fileWith(JSON.stringify({ version: 3, deployment: { resources } }));
  };

  it("--not-in leaves out what other stacks manage, and names the stack", async () => {
    const ids = await seed();
    const notIn = [exportOf("prod::shop", ids.shop), exportOf("dev::shop", ids.bad)];
    const args = ["--out", out(), "--json", "--not-in", ...notIn];
    const { code, stdout, stderr } = await adopt(args);
    assert.deepEqual([code, stderr], [0, ""]);
    const adoption = JSON.parse(stdout) as Adoption;
    assert.deepEqual(adoption.notIn, notIn);
    assert.deepEqual(
      adoption.edges.map(({ id }) => id),
      [ids.edge],
    );
    assert.deepEqual(
      adoption.skipped.slice(0, 2).map(({ id, stack, reasons }) => [id, stack, reasons]),
      [
        [ids.bad, "shop/dev", ["in the stack shop/dev"]],
        [ids.shop, "shop/prod", ["in the stack shop/prod"]],
      ].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    );
    const written = filesOf(out());
    assert.ok(!(written["index.ts"] ?? "").includes(ids.shop));
    assert.match(
      written["README.md"] ?? "",
      new RegExp(`edge ${ids.shop}: in the stack shop/prod`),
    );
    assert.doesNotMatch(written["README.md"] ?? "", /Warning/);
    fs.rmSync(out(), { recursive: true });
    const repeated = notIn.flatMap((file) => ["--not-in", file]);
    await adopt(["--out", out(), ...repeated]);
    assert.deepEqual(filesOf(out()), written);
  });

  it("--not-in takes nothing but exports, and says so before it asks anything", async () => {
    await seed();
    for (const file of [fileWith("{}"), path.join(folder, "none.json")]) {
      const { code, stdout, stderr } = await adopt(["--out", out(), "--not-in", file]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^error: [^\n]* (is not the export of a stack|can't be read)[^\n]*\n$/);
    }
    assert.deepEqual(fs.readdirSync(folder), []);
    assert.deepEqual(takeRequests(emulator), []);
  });

  it("writes nothing, and exits with 1, when there is nothing to adopt", async () => {
    const ids = await seed();
    for (const filter of ["nothing has this", ids.bad]) {
      const { code, stdout, stderr } = await adopt(["--out", out(), "--filter", filter]);
      assert.equal(code, 1);
      assert.match(stderr, /^error: there is nothing to adopt[^\n]*\n$/);
      assert.equal(stdout.includes(ids.bad), filter === ids.bad);
      assert.deepEqual(fs.readdirSync(folder), []);
    }
  });

  it("--connection reads another account's settings, and the program names it", async () => {
    await seed();
    const args = ["--out", out(), "--connection", "tlsedge-staging"];
    const env = {
      ...settingsFor(emulator, "TLSEDGE_STAGING"),
      TLSEDGE_BASE_URL: "https://localhost:1",
    };
    assert.equal((await adopt(args, env)).code, 0);
    const files = new Map(Object.entries(filesOf(out())));
    assert.match(files.get("README.md") ?? "", /tlsedge-staging:apiKey/);
    const connections = run(files).map(({ args }) => args.connection);
    assert.deepEqual(connections, Array(3).fill("tlsedge-staging"));
  });

  it("tells of its progress on a terminal alone", async () => {
    await seed();
    const { stderr } = await adopt(["--out", out()], {}, { stderr: terminal() });
    for (const told of ["edges…", "certificates…"]) assert.ok(stderr.includes(`Reading ${told}`));
    assert.ok(stderr.includes("\r\u001b[Kwarning: "), "it is cleared");
  });

  it("C81 --plugin writes only what the engine imports, and prints the command", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt(["--out", out(), "--plugin"]);
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes(`pulumi import --file ${path.join(out(), "import.json")} --out`));
    const files = filesOf(out());
    assert.deepEqual(Object.keys(files), ["import.json"]);
    const edge = "tlsedge:index:TLSEdge";
    assert.deepEqual(JSON.parse(files["import.json"] ?? ""), {
      resources: [
        { type: edge, name: "edge_app_example_com", logicalName: "app.example.com", id: ids.edge },
        { type: edge, name: "edge_edge", logicalName: "edge", id: ids.shop },
        {
          type: "tlsedge:index:TLSCertificate",
          name: "certificate_app_example_com",
          logicalName: "app.example.com",
          id: ids.certificate,
        },
      ],
    });
  });

  it("--plugin --json names the file and no chains, and the file names no account", async () => {
    const ids = await seed();
    const args = ["--out", out(), "--plugin", "--json", "--connection", "tlsedge-staging"];
    const { code, stdout } = await adopt(args, settingsFor(emulator, "TLSEDGE_STAGING"));
    assert.equal(code, 0);
    const { plugin, files, certificates } = JSON.parse(stdout) as Adoption;
    assert.deepEqual([plugin, files], [true, ["import.json"]]);
    assert.deepEqual(certificates, [{ id: ids.certificate, name: "app.example.com" }]);
    assert.doesNotMatch(JSON.stringify(filesOf(out())), /connection|staging/);
  });

  it("for a key that is refused says so on one line, and writes nothing", async () => {
    const { code, stdout, stderr } = await adopt(["--out", out()], { TLSEDGE_API_KEY: "wrong" });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^error: [^\n]*401.*TLSEDGE_API_KEY[^\n]*\n$/);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it("needs --out, and --help tells of all", async () => {
    for (const args of [[], ["--out", ""]]) {
      const { code, stderr } = await adopt(args);
      assert.equal(code, 1);
      assert.match(stderr, /^error: [^\n]*--out/);
    }
    assert.deepEqual(takeRequests(emulator), []);
    const { stdout } = await adopt(["--help"]);
    for (const said of [
      ...["--out", "--filter", "--not-in", "--plugin", "pulumi import"],
      ...["--json", "--connection", "TLSEDGE_API_KEY"],
    ]) {
      assert.ok(stdout.includes(said), stdout);
    }
  });
});
