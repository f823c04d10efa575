import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import * as fc from "fast-check";
import ts from "typescript";
import { type Adoption, planOf, filesOf as writtenOf } from "../cli/adopt";
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
    "node:fs": { readFileSync: (file: string) => files.get(file) },
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
  const { outputText, diagnostics } = ts.transpileModule(files.get("adoption.ts") ?? "", {
    reportDiagnostics: true,
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  assert.deepEqual(
    diagnostics?.map(({ messageText }) => messageText),
    [],
  );
  const program = new Function("require", "exports", outputText);
  program((name: string) => modules[name], {});
  return said;
}

describe("what adopt plans", () => {
  const namesOf = (edges: TLSEdgeWire[]) =>
    planOf({ edges, certificates: [] }, "tlsedge").edges.map(({ name }) => name);

  const edgeNames: [string[], string][] = [
    [["app.example.com:443"], "app.example.com"],
    [["app.example.com:8443"], "app.example.com-8443"],
    [["*.Apps.example.com:443"], "wildcard.apps.example.com"],
    [["www.example.com:443", "example.com:443", "b.example.com:443"], "example.com"],
    [["constructor:443"], "edge-constructor"],
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
  ];
  for (const [options, name] of certificateNames) {
    it(`calls a certificate ${name} for ${JSON.stringify(options)}`, async () => {
      const certificates = [certificateOf(await pemOf(options))];
      const plan = planOf({ edges: [], certificates }, "tlsedge");
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
    const plan = planOf({ edges, certificates: [] }, "tlsedge");
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
      writtenOf(planOf({ edges, certificates: [] }, "tlsedge"), false);
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
    const [found] = planOf({ edges: [edge], certificates: [] }, "tlsedge").edges;
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
    const [found] = planOf({ edges: [edge], certificates: [] }, "tlsedge").edges;
    assert.deepEqual(found?.args, { hostports: ["a:1"] });
  });

  describe("skips, and says why:", () => {
    const skippedEdges: [string, Partial<TLSEdgeWire>, RegExp][] = [
      ["a hostport", { hostports: ["[::1]:443"] }, /^hostports\[0\]: has more than one colon/],
      ["twins", { hostports: ["a:1", "A:1"] }, /^hostports: .*the same/],
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
        const plan = planOf({ edges: [edgeOf(fields)], certificates: [] }, "tlsedge");
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
        const plan = planOf({ edges: [], certificates: [certificateOf("", told)] }, "tlsedge");
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
    const plan = planOf({ edges: [], certificates: [certificateOf(pem)] }, "tlsedge");
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
      const plan = planOf({ edges, certificates: [] }, "tlsedge", filter);
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
      planOf({ edges: [edge], certificates: [] }, "tlsedge", filter).skipped.length;
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
    edges: fc.array(edge, { maxLength: 4 }),
    certificates: fc.array(certificate, { maxLength: 4 }),
    connection: fc.constantFrom("tlsedge", "tlsedge-other"),
  });

  it("runs, and says what the service has, whatever that is", () =>
    holds(accounts, 150, async ({ edges, certificates, connection }) => {
      const held = {
        edges: edges.map(edgeOf),
        certificates: certificates.map(({ pem, ...texts }) =>
          certificateOf(pems[pem] ?? "", texts),
        ),
      };
      const plan = planOf(held, connection);
      const files = writtenOf(plan, false);
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
      for (const content of files.values()) {
        assert.doesNotMatch(content, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }
    }));

  it("C40 is what the provider adopts, with no difference, and nothing else is skipped", () =>
    holds(edge, 150, async (fields) => {
      emulator.reset();
      const { id } = await tlsEdges.create(client, {});
      emulator.tlsEdges.patch(id, fields);
      const plan = planOf(await holdings(), "tlsedge");
      const stack = new Stack(tlsEdge);
      const [adoptable] = plan.edges;
      if (adoptable) {
        takeRequests(emulator);
        await stack.up({ ...adoptable.args, __import: id });
        assert.equal(stack.id, id);
        assert.equal(await stack.up({ ...adoptable.args, __import: id }), "same");
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
    const { certificates } = planOf(await holdings(), "tlsedge");
    assert.deepEqual(
      certificates.map(({ name }) => name),
      ["leaf", "leaf-2", "leaf-3"],
    );
    takeRequests(emulator);
    for (const { id, args } of certificates) {
      const stack = new Stack(tlsCertificate);
      await stack.up({ ...args, __import: id });
      assert.equal(await stack.up({ ...args, __import: id }), "same");
    }
    assert.ok(takeRequests(emulator).every(({ method }) => method === "GET"));
  });

  it("gives each of thousands that would be called the same a name of its own", () => {
    const pem = pems[0] ?? "";
    const large = {
      edges: Array.from({ length: 3000 }, () => edgeOf({ hostports: ["same.example:443"] })),
      certificates: Array.from({ length: 300 }, () => certificateOf(pem)),
    };
    const plan = planOf(large, "tlsedge");
    const files = writtenOf(plan, false);
    assert.equal(new Set(plan.edges.map(({ name }) => name)).size, 3000);
    assert.equal(run(files).length, 3300);
  });

  it("has no error of types", () => {
    const folder = fs.mkdtempSync(path.join(root, ".tlsedge-adopt-"));
    try {
      const file = path.join(folder, "adoption.ts");
      const plan = planOf({ edges: [], certificates: [] }, "tlsedge");
      fs.writeFileSync(file, writtenOf(plan, false).get("adoption.ts") ?? "");
      const options: ts.CompilerOptions = {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.Node16,
        moduleResolution: ts.ModuleResolutionKind.Node16,
        types: ["node"],
        strict: true,
        noUnusedLocals: true,
        skipLibCheck: true,
        noEmit: true,
      };
      const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([file], options));
      assert.deepEqual(
        diagnostics.map(({ messageText }) => messageText),
        [],
      );
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});

describe("npx --no pulumi-tlsedge adopt", () => {
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

  it("writes two files, reads each list once, and says what it skips and why", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt(["--out", out()], { COLUMNS: "200" });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(
      takeRequests(emulator).map(({ method }) => method),
      ["GET", "GET"],
    );
    const files = filesOf(out());
    assert.deepEqual(Object.keys(files).sort(), ["adopted.json", "adoption.ts"]);
    const { certificates } = JSON.parse(files["adopted.json"] ?? "");
    assert.equal(certificates["app.example.com"].certificatePem, made.certificatePem);
    assert.deepEqual(
      run(new Map(Object.entries(files))).map(({ type, name, options }) => [type, name, options]),
      [
        ["certificate", "app.example.com", { import: ids.certificate, protect: true }],
        ["edge", "app.example.com", { import: ids.edge, protect: true }],
        ["edge", "edge", { import: ids.shop, protect: true }],
      ],
    );
    assert.match(stdout, new RegExp(`${ids.bad}.*hostports\\[0\\]: has .*`));
    assert.match(stdout, new RegExp(`${ids.issued}.*the service issued it`));
    assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u);
    assert.equal(stdout.split("\n")[0], `Service: ${new URL(emulator.url).host}`);
    assert.match(stdout, /2 edges and 1 certificate, 2 skipped\./);
    assert.match(stdout, /import ".\/adoption";/);
    assert.match(stdout, /`pulumi stack --show-ids`/);
    const all = Object.values(files).join();
    assert.ok(!(stdout + all).includes(emulator.apiKey) && !all.includes(emulator.url));
  });

  it("--json prints one object, uncoloured, and the same files are written again", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt(["--out", out(), "--json"], { FORCE_COLOR: "1" });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u);
    const { skipped, ...adoption } = JSON.parse(stdout) as Adoption;
    assert.deepEqual(adoption, {
      service: new URL(emulator.url).host,
      edges: [
        { id: ids.edge, name: "app.example.com" },
        { id: ids.shop, name: "edge" },
      ],
      certificates: [{ id: ids.certificate, name: "app.example.com" }],
      unmatched: 0,
      files: ["adopted.json", "adoption.ts"].map((name) => path.join(out(), name)),
    });
    assert.deepEqual(
      skipped.map(({ reasons, ...rest }) => ({ ...rest, reasons: reasons.length })),
      [
        { type: "edge", id: ids.bad, names: ["worse", "\u001b[31mbad"], reasons: 2 },
        { type: "certificate", id: ids.issued, names: ["app.example.com"], reasons: 1 },
      ],
    );
    const written = filesOf(out());
    fs.rmSync(out(), { recursive: true });
    assert.equal((await adopt(["--out", out()])).code, 0);
    assert.deepEqual(filesOf(out()), written);
  });

  it("replaces no file, and says so before it asks anything", async () => {
    await seed();
    fs.mkdirSync(out());
    fs.writeFileSync(path.join(out(), "adoption.ts"), "mine");
    const taken = await adopt(["--out", out()]);
    assert.deepEqual([taken.code, taken.stdout], [1, ""]);
    assert.match(taken.stderr, /^error: .*adoption\.ts is there already[^\n]*\n$/);
    assert.deepEqual(filesOf(out()), { "adoption.ts": "mine" });
    assert.deepEqual(takeRequests(emulator), []);
    const file = await adopt(["--out", path.join(out(), "adoption.ts")]);
    assert.deepEqual([file.code, file.stdout], [1, ""]);
  });

  it("--filter takes what has the text, and counts the rest", async () => {
    const ids = await seed();
    const { stdout } = await adopt(["--out", out(), "--filter", "SHOP", "--json"]);
    const adoption = JSON.parse(stdout) as Adoption;
    assert.deepEqual(adoption.edges, [{ id: ids.shop, name: "edge" }]);
    assert.deepEqual([adoption.certificates, adoption.skipped], [[], []]);
    assert.equal(adoption.unmatched, 4);
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
    const connections = run(files).map(({ args }) => args.connection);
    assert.deepEqual(connections, Array(3).fill("tlsedge-staging"));
  });

  it("tells of its progress on a terminal alone", async () => {
    await seed();
    const { stderr } = await adopt(["--out", out()], {}, { stderr: terminal() });
    for (const told of ["edges…", "certificates…"]) assert.ok(stderr.includes(`Reading ${told}`));
    assert.ok(stderr.endsWith("\r\u001b[K"), "it is cleared");
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

  it("for a key that is refused says so on one line, and writes nothing", async () => {
    const { code, stdout, stderr } = await adopt(["--out", out()], { TLSEDGE_API_KEY: "wrong" });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^error: [^\n]*401.*TLSEDGE_API_KEY[^\n]*\n$/);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it("--help tells of all", async () => {
    const { stdout } = await adopt(["--help"]);
    for (const said of [
      ...["--out", "--filter", "--plugin", "pulumi import", "adopted.json"],
      ...["--json", "--connection", "TLSEDGE_API_KEY"],
    ]) {
      assert.ok(stdout.includes(said), stdout);
    }
  });
});
