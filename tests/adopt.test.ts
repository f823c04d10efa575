import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { mock } from "node:test";
import * as fc from "fast-check";
import type { Account } from "../cli/account";
import { type Adoption, filesOf, planOf } from "../cli/adopt";
import type { Client } from "../client/client";
import { tlsCertificates } from "../client/tlsCertificate";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { type CertificateOptions, makeCertificate } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { newFolder } from "../tools/folders";
import { certificateWire, edgeWire } from "./accounts";
import { holds, hostileText } from "./cases";
import { runCommand } from "./cli";
import {
  clientOf,
  type Properties,
  Stack,
  settingsFor,
  takeMethods,
  takeRequests,
  upload,
  useEmulator,
} from "./support";

let edgeCount = 0;
/** An edge with an id of its own. */
function edgeOf(fields: Partial<TLSEdgeWire>): TLSEdgeWire {
  edgeCount += 1;
  return edgeWire({ id: `edgtls_${edgeCount}`, ...fields });
}
const pemOf = async (options: Partial<CertificateOptions>) =>
  (await makeCertificate({ commonName: "", ...options })).certificatePem;
const planFor = (edges: TLSEdgeWire[], filter?: string) =>
  planOf({ edges, certificates: [] }, "tlsedge", filter);
const namesOf = (objects: { name: string }[]) => objects.map(({ name }) => name);
const idsOf = (objects: { id: string }[]) => objects.map(({ id }) => id);

/** What `adopt` names, writes and skips, and that it replaces nothing. */
describe("planOf", () => {
  it("adopt gives an edge the shortest of its hostports as a name, and a certificate one of its names", async () => {
    const edges: Record<string, string[]> = {
      "app.example.com": ["app.example.com:443"],
      "app.example.com-8443": ["app.example.com:8443"],
      "wildcard.apps.example.com": ["*.Apps.example.com:443"],
      "example.com": ["www.example.com:443", "example.com:443", "b.example.com:443"],
      edge: [],
    };
    for (const [name, hostports] of Object.entries(edges))
      for (const order of [hostports, hostports.toReversed()])
        assert.deepEqual(namesOf(planFor([edgeOf({ hostports: order })]).edges), [name]);
    const options: Record<string, Partial<CertificateOptions>> = {
      "a.example.com": { commonName: "Web", dnsNames: ["a.example.com"] },
      "b.example": { commonName: "B.example", dnsNames: ["a.example", "b.example"] },
      "long.example.com": { dnsNames: ["long.example.com", "a.example.com"] },
      "2001-db8-1": { ips: ["2001:db8::1"] },
      "muller-sohne-x-y": { commonName: "Müller & Söhne 'x' `y`" },
      "etc-passwd": { commonName: "../../etc/passwd" },
      certificate: { commonName: "証明書" },
    };
    for (const [name, option] of Object.entries(options)) {
      const certificates = [certificateWire({ certificate_pem: await pemOf(option) })];
      assert.deepEqual(namesOf(planOf({ edges: [], certificates }, "").certificates), [name]);
    }
  });

  it("adopt numbers equal names from the oldest on", () => {
    const all = ["a:443", "a-2:443", "a:443", "a:443"].map((one) => edgeOf({ hostports: [one] }));
    const { edges } = planFor(all.toReversed());
    assert.deepEqual(idsOf(edges), idsOf(all));
    assert.deepEqual(namesOf(edges), ["a", "a-2", "a-2-2", "a-3"]);
  });

  it("adopt writes the arguments that are set, without what is empty or a default", () => {
    const some = edgeOf({
      description: "",
      hostports: [],
      backend: { enabled: true, backend: { id: "bkdtg_1", uri: "" } },
      ip_restriction: { enabled: false, ip_policies: { id: "ipp_1", uri: "" } },
      mutual_tls: { enabled: null, certificate_authorities: [{ id: "ca_1", uri: "" }] },
      tls_termination: { enabled: true, terminate_at: "", min_version: "1.2" },
    });
    const ip_restriction = { enabled: false, ip_policies: [] };
    const backend = { enabled: false, backend: null };
    const off = edgeOf({ hostports: ["a:1"], backend, ip_restriction });
    const { edges } = planOf({ edges: [off, some], certificates: [] }, "tlsedge-other");
    assert.deepEqual(
      edges.map(({ args }) => args),
      [
        {
          ...{ connection: "tlsedge-other", backend: { backendId: "bkdtg_1" } },
          ipRestriction: { enabled: false, ipPolicyIds: ["ipp_1"] },
          mutualTls: { certificateAuthorityIds: ["ca_1"] },
          tlsTermination: { minVersion: "1.2" },
        },
        { connection: "tlsedge-other", hostports: ["a:1"] },
      ],
    );
  });

  it("adopt skips what a plan would refuse, and says why", async () => {
    const edge = (fields: Partial<TLSEdgeWire>) => ({ edges: [edgeOf(fields)] });
    const certificate = (certificate_pem: string, issued_at?: string) => ({
      certificates: [certificateWire({ certificate_pem, issued_at })],
    });
    const off = { terminate_at: "upstream", enabled: false, min_version: "" };
    const mutual_tls = { enabled: true, certificate_authorities: [{ id: "ca_1", uri: "" }] };
    const issuer = await makeCertificate({ commonName: "root", isCa: true });
    const reversed = issuer.certificatePem + (await pemOf({ commonName: "leaf", issuer }));
    const refused: [Partial<Pick<Account, "edges" | "certificates">>, RegExp][] = [
      [edge({ hostports: ["[::1]:443"] }), /^hostports\[0\]: is no hostport/],
      [edge({ tls_termination: { terminate_at: "x" } }), /^tlsTermination.terminateAt: must be/],
      [edge({ tls_termination: off, mutual_tls }), /^tlsTermination: no input gives this value/],
      [certificate(""), /certificate_pem .* is empty/],
      [certificate(reversed), /^certificatePem: .* did not sign/],
      [certificate(issuer.certificatePem, "2026-01-01T00:00:00Z"), /the service issued it/],
    ];
    for (const [account, reason] of refused) {
      const { skipped, ...plan } = planOf({ edges: [], certificates: [], ...account }, "tlsedge");
      assert.deepEqual([plan.edges, plan.certificates, skipped.length], [[], [], 1]);
      assert.equal(skipped[0]?.type, account.edges ? "edge" : "certificate");
      assert.match(skipped[0]?.reasons.join() ?? "", reason);
    }
  });

  it("adopt takes only what has the filter's text, and counts the rest", () => {
    const edges = [
      edgeOf({ hostports: ["shop.example.com:443"], metadata: '{"environment":"prod"}' }),
      edgeOf({ hostports: ["API.example.com:8443"] }),
      edgeOf({ hostports: ["plain.example.net:443"], description: "For the SHOPS", metadata: "x" }),
      edgeOf({ hostports: ["bad host"] }),
    ];
    const cases: [string, string[], number][] = [
      ["EXAMPLE.com:8443", ["api.example.com-8443"], 0],
      ["shop", ["plain.example.net", "shop.example.com"], 0],
      ["bad h", [], 1],
      [edges[3]?.id ?? "", [], 1],
      ["*.", [], 0],
      ['"environment":"prod"', ["shop.example.com"], 0],
    ];
    for (const [filter, names, skipped] of cases) {
      const plan = planFor(edges, filter);
      assert.deepEqual([namesOf(plan.edges), plan.skipped.length], [names, skipped], filter);
      assert.equal(plan.unmatched, 4 - names.length - skipped);
    }
  });
});

describe("pulumi-tlsedge", () => {
  const emulator = useEmulator();
  let client: Client;
  let folder: string;

  before(() => {
    client = clientOf(emulator, { requestsPerMinute: 0 });
  });
  const present = process.cwd();
  beforeEach(() => {
    folder = newFolder();
    process.chdir(folder);
  });
  afterEach(() => process.chdir(present));

  const planOfAccount = async () => {
    const edges = await Array.fromAsync(tlsEdges.list(client));
    const certificates = await Array.fromAsync(tlsCertificates.list(client));
    return planOf({ edges, certificates }, "tlsedge");
  };

  /** What a service may hold, whoever wrote it. */
  const text = fc.oneof(fc.constantFrom("", "\\u0041", "```"), hostileText);
  const ref = text.map((id) => ({ id, uri: "https://x" }));
  const enabled = fc.constantFrom(true, false, null);
  const hostport = fc.oneof(fc.constantFrom("a.example:443", "A.example:1", "__proto__:1"), text);
  const edge = fc.record({
    description: fc.option(text),
    metadata: fc.option(text),
    hostports: fc.oneof(fc.constant<string[]>([]), fc.array(hostport, { maxLength: 3 })),
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

  it("C40 C90: adopt writes what the provider adopts of any edge, with no difference, and skips nothing else", () =>
    holds(edge, 150, async (fields) => {
      emulator.reset();
      const { id } = await tlsEdges.create(client, {});
      emulator.tlsEdges.patch(id, fields);
      const plan = await planOfAccount();
      const stack = new Stack(tlsEdge);
      const [adoptable] = plan.edges;
      if (adoptable) {
        const file = filesOf(plan, false).get("adopted.json") ?? "";
        assert.doesNotMatch(file, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        const written = JSON.parse(file).edges[adoptable.name];
        assert.deepEqual(written, { id, ...adoptable.args });
        takeRequests(emulator);
        await stack.up({ ...adoptable.args, __import: id });
        assert.equal(stack.id, id);
        assert.equal(await stack.up({ ...adoptable.args, __import: id }), "same");
        assert.ok(takeMethods(emulator).every((method) => method === "GET"));
      } else {
        // Nor would what a refresh reads be taken.
        const { props = {} } = await stack.get(id);
        const { uri: _, createdAt: __, ...read } = props as Properties;
        const { failures } = await stack.check({ ...read, __import: id });
        assert.ok(failures.length > 0, plan.skipped[0]?.reasons.join());
      }
    }));

  it("C40: adopt writes what the provider adopts of certificates, also of one that has expired", async () => {
    const issuer = await makeCertificate({ commonName: "root", isCa: true });
    const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
    for (const options of [{ keyType: "rsa" as const }, { keyType: "ed25519" as const }, past])
      await upload(client, { commonName: "leaf", issuer, ...options }, { description: "x" });
    const { certificates } = await planOfAccount();
    assert.deepEqual(namesOf(certificates), ["leaf", "leaf-2", "leaf-3"]);
    takeRequests(emulator);
    for (const { id, args } of certificates) {
      const stack = new Stack(tlsCertificate);
      await stack.up({ ...args, __import: id });
      assert.equal(await stack.up({ ...args, __import: id }), "same");
    }
    assert.ok(takeMethods(emulator).every((method) => method === "GET"));
  });

  const adopt = (args: string[] = [], env: Record<string, string | undefined> = {}) =>
    runCommand(["adopt", ...args], { ...settingsFor(emulator), ...env });
  const read = (name: string) => fs.readFileSync(path.join(folder, name), "utf8");

  async function seed() {
    const certificate = { commonName: "app.example.com" };
    const ids = {
      edge: (await tlsEdges.create(client, { hostports: ["app.example.com:443"] })).id,
      shop: (await tlsEdges.create(client, { description: "shop" })).id,
      bad: (await tlsEdges.create(client, {})).id,
      certificate: (await upload(client, certificate)).id,
      issued: (await upload(client, certificate)).id,
    };
    emulator.tlsEdges.patch(ids.bad, { hostports: ["\u001b[31mbad", "worse"] });
    emulator.tlsCertificates.patch(ids.issued, { issued_at: "2026-01-01T00:00:00Z" });
    takeRequests(emulator);
    return ids;
  }

  it("C90: adopt writes two files, reads each list once, and says what it skips and why", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt([], { COLUMNS: "200" });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(takeMethods(emulator), ["GET", "GET"]);
    assert.deepEqual(fs.readdirSync(folder).sort(), ["adopted.json", "adoption.ts"]);
    const [written, program] = [read("adopted.json"), read("adoption.ts")];
    const { edges, certificates } = JSON.parse(written);
    assert.deepEqual(edges, {
      "app.example.com": { id: ids.edge, hostports: ["app.example.com:443"] },
      edge: { id: ids.shop, description: "shop" },
    });
    assert.equal(certificates["app.example.com"].id, ids.certificate);
    assert.match(stdout, new RegExp(`${ids.bad}.*hostports\\[0\\]: has .*`));
    assert.match(stdout, new RegExp(`${ids.issued}.*the service issued it`));
    assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u);
    assert.match(stdout, /2 edges and 1 certificate, 2 skipped\./);
    assert.match(stdout, /\n {2}import "\.\/adoption";\n/);
    assert.equal(program.match(/import: id, protect: true/g)?.length, 2);
    const all = stdout + written + program;
    assert.ok(!all.includes(emulator.apiKey) && !written.includes(emulator.url));
  });

  it("an ES module without ts-node imports the program by the extension that Node.js knows", async () => {
    await seed();
    fs.writeFileSync("package.json", '{ "type": "module" }');
    assert.match((await adopt()).stdout, /\n {2}import "\.\/adoption\.ts";\n/);
  });

  it("adopt prints one JSON object, of what --filter and --connection choose", async () => {
    const ids = await seed();
    const connection = "tlsedge-staging";
    const args = ["--format", "json", "--filter", "SHOP", "--connection", connection];
    const elsewhere = { TLSEDGE_BASE_URL: "https://localhost:1", FORCE_COLOR: "1" };
    const env = { ...settingsFor(emulator, "TLSEDGE_STAGING"), ...elsewhere };
    const { code, stdout } = await adopt(args, env);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout) as Adoption, {
      service: new URL(emulator.url).host,
      edges: [{ id: ids.shop, name: "edge", args: { connection, description: "shop" } }],
      certificates: [],
      skipped: [],
      unmatched: 4,
      managed: 0,
      files: ["adopted.json", "adoption.ts"],
    });
  });

  it("adopt replaces no file, writes through no link, and leaves no file where it can't write all", async () => {
    await seed();
    for (const take of [
      () => fs.writeFileSync("adoption.ts", "mine"),
      () => fs.symlinkSync("target", "adoption.ts"),
    ]) {
      fs.rmSync("adoption.ts", { force: true });
      take();
      const { code, stdout, stderr } = await adopt();
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^error: adoption\.ts is there already[^\n]*\n$/);
      assert.deepEqual(fs.readdirSync(folder), ["adoption.ts"]);
      if (fs.existsSync("adoption.ts")) assert.equal(read("adoption.ts"), "mine");
    }
    fs.rmSync("adoption.ts");
    const { writeFileSync } = fs;
    mock.method(fs, "writeFileSync", (...args: Parameters<typeof writeFileSync>) => {
      if (args[0] === "adoption.ts") throw new Error("the disk is full");
      writeFileSync(...args);
    });
    assert.equal((await adopt()).stderr, "error: the disk is full\n");
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it("adopt writes nothing, and exits with 1, when there is nothing to adopt", async () => {
    const { bad } = await seed();
    for (const filter of ["nothing has this", bad]) {
      const { code, stdout, stderr } = await adopt(["--filter", filter]);
      assert.equal(code, 1);
      assert.match(stderr, /^error: there is nothing to adopt[^\n]*\n$/);
      assert.equal(stdout.includes(bad), filter === bad);
      assert.deepEqual(fs.readdirSync(folder), []);
    }
  });

  it("C89: adopt writes with --plugin only what the engine imports, and prints the command", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await adopt(["--plugin"]);
    assert.equal(code, 0, stderr);
    assert.ok(stdout.includes("pulumi import --file import.json --out"));
    assert.deepEqual(fs.readdirSync(folder), ["import.json"]);
    const [type, logicalName] = ["tlsedge:index:TLSEdge", "app.example.com"];
    const certificate = { name: "certificate_app_example_com", logicalName, id: ids.certificate };
    assert.deepEqual(JSON.parse(read("import.json")).resources, [
      { type, name: "edge_app_example_com", logicalName, id: ids.edge },
      { type, name: "edge_edge", logicalName: "edge", id: ids.shop },
      { type: "tlsedge:index:TLSCertificate", ...certificate },
    ]);
  });
});
