import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import type { Account } from "../cli/account";
import type { Check } from "../cli/check";
import { statusText } from "../cli/report";
import { type Mark, type Status, statusOf } from "../cli/status";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import manifest from "../package.json";
import { Secrets } from "../tools/secrets";
import { type Outcome, runCommand, terminal } from "./cli";
import { answer, clientOf, fileWith, script, settingsFor, upload as uploadWith } from "./support";

const dayMs = 86_400_000;
const now = new Date("2026-03-01T12:00:00Z");
const inDays = (days: number, from = now) => new Date(from.getTime() + days * dayMs);

/** A certificate as the service lists it, with a PEM that nothing can parse. */
const certificateOf = (
  id: string,
  days: number,
  names: string[] = [],
  more: Partial<TLSCertificateWire> = {},
): TLSCertificateWire => ({
  id,
  uri: `https://x/${id}`,
  created_at: "2025-01-01T00:00:00Z",
  certificate_pem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  not_before: "2025-01-01T00:00:00Z",
  not_after: inDays(days).toISOString(),
  subject_alternative_names: { dns_names: names, ips: [] },
  ...more,
});
const edgeOf = (hostports: string[], more: Partial<TLSEdgeWire> = {}): TLSEdgeWire => ({
  id: "edgtls_1",
  uri: "https://x/edgtls_1",
  created_at: "2025-01-01T00:00:00Z",
  hostports,
  ...more,
});
const unknownDate = { not_after: null };
const early = { not_before: inDays(1).toISOString() };

const statusWith = (parts: Partial<Account>, failWithin?: number, failOn?: Mark[]) => {
  const account = { service: "api.example.com", edges: [], certificates: [], tunnels: [] };
  return statusOf({ ...account, ...parts }, now, failWithin, failOn);
};
const textOf = (status: Status, width = 80, colour = false) =>
  statusText(status, { width, colour });

/** The rows of the part of a report under a title, with two spaces between the columns. */
function rowsOf(report: string, title: string): string[] {
  const found = report.split("\n\n").find((part) => part.startsWith(title));
  assert.ok(found, `no ${title} in ${report}`);
  return found
    .split("\n")
    .slice(2)
    .map((line) => line.replace(/ {2,}/g, "  "));
}

/** How many columns a text takes: two for each character of this test's one wide alphabet. */
const columns = (line: string) => line.length + (line.match(/\p{Script=Katakana}/gu) ?? []).length;

function assertFits(report: string, width: number): void {
  for (const line of stripVTControlCharacters(report).split("\n")) {
    assert.ok(columns(line) <= width, `${columns(line)} columns: ${line}`);
  }
}

describe("what the status says", () => {
  it("has the most urgent certificate first, and fails for fewer days or an unknown date", () => {
    const certificates = [
      certificateOf("year", 365),
      certificateOf("gone", -1.5),
      certificateOf("week", 7.5),
      certificateOf("unknown", 0, [], unknownDate),
      certificateOf("today", 0.5),
      certificateOf("longGone", -30),
    ];
    const found = statusWith({ certificates }).certificates;
    const ids = ["longGone", "gone", "unknown", "today", "week", "year"];
    assert.deepEqual(
      found.map(({ id, daysLeft }) => [id, daysLeft]),
      ids.map((id, index) => [id, [-30, -2, null, 0, 7, 365][index]]),
    );
    for (const [limit, failing] of [
      [undefined, 0],
      [0, 3],
      [1, 4],
      [7, 4],
      [8, 5],
    ] as const) {
      assert.deepEqual(statusWith({ certificates }, limit).failing, ids.slice(0, failing));
    }
  });

  it("takes the leaf's values, and the service's when the leaf can't be parsed", async () => {
    const dates = { notBefore: inDays(-1), notAfter: inDays(40) };
    const names = { dnsNames: ["leaf.example"], ips: ["2001:db8::1"] };
    const made = await makeCertificate({ commonName: "leaf", ...names, ...dates });
    const said = { subject_common_name: "said", serial_number: "0A", metadata: "m" };
    const { certificates } = statusWith({
      certificates: [
        certificateOf("cert_1", 50, ["said.example"], { certificate_pem: made.certificatePem }),
        certificateOf("cert_2", 50, ["said.example"], said),
        { id: "cert_3", uri: "", created_at: "", certificate_pem: "", not_after: "soon" },
      ],
    });
    const [nothing, leaf, service] = certificates;
    const { raw, serialNumber } = new X509Certificate(made.certificatePem);
    assert.deepEqual(leaf, {
      id: "cert_1",
      createdAt: "2025-01-01T00:00:00Z",
      ...{ description: null, metadata: null, environment: null, owner: null, edges: [] },
      subjectCommonName: "leaf",
      ...names,
      notBefore: "2026-02-28T12:00:00Z",
      notAfter: "2026-04-10T12:00:00Z",
      daysLeft: 40,
      serialNumber: serialNumber.toLowerCase(),
      fingerprint: createHash("sha256").update(raw).digest("hex"),
    });
    assert.deepEqual(service, {
      ...leaf,
      ...{ id: "cert_2", metadata: "m", subjectCommonName: "said", serialNumber: "0a" },
      ...{ dnsNames: ["said.example"], ips: [], fingerprint: null, daysLeft: 50 },
      ...{ notBefore: "2025-01-01T00:00:00Z", notAfter: inDays(50).toISOString() },
    });
    const { id, createdAt, dnsNames, ips, edges, ...unset } = nothing ?? {};
    assert.deepEqual([id, dnsNames, ips], ["cert_3", [], []]);
    assert.ok(Object.values(unset).every((value) => value === null));
  });

  it("names the edges that each certificate serves, and the hostports without one", () => {
    const addresses = { dns_names: ["192.0.2.9"], ips: ["192.0.2.1"] };
    const certificates = [
      certificateOf("wild", 5, ["*.x.example"]),
      certificateOf("named", 6, ["A.x.example"]),
      certificateOf("address", 7, [], { subject_alternative_names: addresses }),
      certificateOf("expired", -1, ["y.example"]),
      certificateOf("early", 8, ["y.example"], early),
      certificateOf("common", 9, [], { subject_common_name: "z.example" }),
    ];
    const covered = ["a.x.example:443", "B.x.example:8443", "*.x.example:443", "192.0.2.1:443"];
    const uncovered = [
      ...["x.example:443", "a.b.x.example:443", "*.a.x.example:443", "y.example:443"],
      ...["z.example:443", "192.0.2.9:443"],
    ];
    const status = statusWith({
      certificates,
      edges: [edgeOf([...covered, ...uncovered]), edgeOf(["c.x.example:1"], { id: "edgtls_2" })],
    });
    assert.deepEqual(
      status.edges.map(({ uncoveredHostports }) => uncoveredHostports),
      [uncovered, []],
    );
    const serves = status.certificates.map(({ id, edges }) => [
      id,
      edges.map(({ id, hostports }) => [id, hostports]),
    ]);
    assert.deepEqual(Object.fromEntries(serves), {
      expired: [],
      wild: [
        ["edgtls_1", covered.slice(0, 3)],
        ["edgtls_2", ["c.x.example:1"]],
      ],
      named: [["edgtls_1", covered.slice(0, 1)]],
      address: [["edgtls_1", covered.slice(3)]],
      early: [],
      common: [],
    });
  });

  it("says what each certificate is for, and why some are unused", () => {
    const metadata = JSON.stringify({ owner: "web", environment: 7 });
    const status = statusWith({
      edges: [edgeOf(["x.example:443"])],
      certificates: [
        certificateOf("cert_1", 5, ["x.example"], { description: "old", metadata }),
        certificateOf("cert_2", 8, ["y.example"], { metadata: "text" }),
        certificateOf("cert_3", -1.5, ["x.example"]),
        certificateOf("cert_4", 9, ["x.example"], early),
        certificateOf("cert_5", 0, ["x.example"], unknownDate),
      ],
    });
    const report = textOf(status);
    assert.deepEqual(rowsOf(report, "Unused certificates"), [
      "cert_3  x.example  expired on 2026-02-28",
      "cert_5  x.example  its expiry date is not known",
      "cert_2  y.example  covers no hostport that needs a certificate",
      "cert_4  x.example  not valid before 2026-03-02",
    ]);
    assert.deepEqual(rowsOf(report, "Certificates"), [
      "cert_3  x.example  2026-02-28, expired",
      "cert_5  x.example  unknown",
      "cert_1  x.example  2026-03-06, 5 days",
      "  old",
      "  owner: web",
      "cert_2  y.example  2026-03-09, 8 days",
      "cert_4  x.example  2026-03-10, 9 days",
      "  valid from 2026-03-02",
    ]);
    assert.match(report, /5 certificates \(1 expired, 1 with no known expiry date\)/);
    const due = textOf({ ...status, failWithin: 30 });
    assert.match(due, /\(4 due in 30 days, 1 with no known expiry\ndate\)/);
  });

  it("says of an edge whether it is weak, is open to all, and needs a certificate", () => {
    type Case = [Partial<TLSEdgeWire>, weak: boolean, open: boolean, needs: boolean];
    const termination = (tls_termination: object) => ({ tls_termination });
    const cases: Case[] = [
      [{ tls_termination: null }, false, true, true],
      [termination({ terminate_at: "edge", min_version: "1.0" }), true, true, true],
      [termination({ min_version: "1.1" }), true, true, true],
      [termination({ terminate_at: "edge", min_version: "1.2" }), false, true, true],
      [termination({ enabled: false, min_version: "1.0" }), false, true, true],
      [termination({ terminate_at: "upstream" }), false, true, false],
      [termination({ terminate_at: "upstream", enabled: false }), false, true, true],
      [{ ip_restriction: { enabled: true } }, false, false, true],
      [{ ip_restriction: { enabled: false } }, false, true, true],
      [{ mutual_tls: {} }, false, false, true],
    ];
    for (const [modules, weak, open, needs] of cases) {
      const failing = (failOn: Mark[]) => {
        const status = statusWith({ edges: [edgeOf(["a:1"], modules)] }, undefined, failOn);
        const [edge] = status.edges;
        assert.deepEqual([edge?.weak, edge?.open], [weak, open], JSON.stringify(modules));
        assert.deepEqual(edge?.uncoveredHostports, needs ? ["a:1"] : [], JSON.stringify(modules));
        return status.failing.length > 0;
      };
      const found = (["weak", "open", "expiring"] as const).map((mark) => failing([mark]));
      assert.deepEqual(found, [weak, open, false], JSON.stringify(modules));
    }
  });

  it("marks and counts edges that are weak or open, and modules that are off", () => {
    const weak = { terminate_at: "edge", min_version: "1.0" };
    const off = { enabled: false, ip_policies: [{ id: "ipp_1", uri: "" }] };
    const edges = [
      edgeOf(["a.example:443"], { description: "the shop", tls_termination: weak }),
      edgeOf(["b.example:443"], { ip_restriction: off, mutual_tls: { enabled: true } }),
    ];
    const reportFor = (failOn: Mark[]) =>
      textOf(statusWith({ edges }, undefined, failOn), 80, true);
    const report = stripVTControlCharacters(reportFor([]));
    for (const said of [
      "the shop",
      "TLS edge 1.0.",
      "weak TLS",
      "open to all",
      "IP rules ipp_1 off",
    ])
      assert.match(report, new RegExp(`  ${said}(  |$)`, "m"));
    assert.match(
      report,
      /\n2 edges \(2 hostports uncovered, 1 with weak TLS, 1 open to all, 1 module off\), 0/,
    );
    const [red, yellow] = ["\u001b[31m", "\u001b[33m"];
    assert.ok(reportFor(["open"]).includes(`${red}open to all`));
    assert.ok(reportFor([]).includes(`${yellow}open to all`));
  });

  it("has null for what an edge does not have, and on for a module that does not say", () => {
    const bare = { id: "edgtls_2", uri: "", created_at: "" };
    const modules = { backend: {}, ip_restriction: { enabled: false }, tls_termination: {} };
    const { edges } = statusWith({ edges: [bare, edgeOf([], modules)] });
    const unset = { description: null, metadata: null, environment: null, owner: null };
    const none = { backend: null, ipRestriction: null, mutualTls: null, tlsTermination: null };
    assert.deepEqual(edges[0], {
      ...{ id: "edgtls_2", createdAt: "", hostports: [], uncoveredHostports: [] },
      ...{ ...unset, ...none, weak: false, open: true },
    });
    const { backend, ipRestriction, tlsTermination } = edges[1] ?? {};
    assert.deepEqual(
      [backend, ipRestriction, tlsTermination],
      [
        { enabled: true, backendId: null },
        { enabled: false, ipPolicyIds: [] },
        { enabled: true, terminateAt: null, minVersion: null },
      ],
    );
  });

  it("names as twins what an update that was cut off may have left", async () => {
    const { certificatePem: certificate_pem } = await makeCertificate({ commonName: "x.example" });
    const twin = { certificate_pem, description: "d" };
    const backend = { enabled: true, backend: { id: "bkdtg_1", uri: "https://x" } };
    const status = statusWith({
      certificates: [
        certificateOf("cert_3", 9, [], { ...twin, created_at: "2026-01-03T00:00:00Z" }),
        certificateOf("cert_2", 9, [], { ...twin, description: "other" }),
        certificateOf("cert_1", 9, [], { ...twin, metadata: "" }),
        // What can't be parsed can't be compared.
        certificateOf("cert_0", 9),
        certificateOf("cert_00", 9),
      ],
      edges: [
        edgeOf([], { id: "edgtls_3", backend }),
        edgeOf([], { id: "edgtls_2", backend: { ...backend, enabled: false } }),
        edgeOf([], { id: "edgtls_1", backend, mutual_tls: null }),
        edgeOf(["a:1"], { id: "edgtls_0" }),
        edgeOf(["a:1"], { id: "edgtls_00" }),
      ],
    });
    assert.deepEqual(
      status.twins.map((group) => group.map(({ id }) => id)),
      [
        ["edgtls_3", "edgtls_1"],
        ["cert_3", "cert_1"],
      ],
    );
    assert.deepEqual(rowsOf(textOf(status), "Twins").slice(2), [
      "cert_3  2026-01-03T00:00:00Z  -",
      "cert_1  2025-01-01T00:00:00Z  the one above",
    ]);
    assert.doesNotMatch(textOf(statusWith({})), /Twins|Unused/);
  });

  it("groups edges by environment, then by owner", () => {
    const of = (name: string, environment?: string, owner?: string) =>
      edgeOf([`${name}:1`], { metadata: JSON.stringify({ environment, owner }) });
    const edges = [of("d", "prod", "web"), of("b", "prod", "api"), of("e"), of("a", "dev")];
    const report = textOf(statusWith({ edges }), 120);
    assert.deepEqual(report.match(/\w(?=:1$)|\w(?=:1 {2,})/gm)?.slice(0, 4), ["a", "b", "d", "e"]);
    assert.match(report, / {2}environment: prod, owner: api {2}/);
  });

  it("fits every width, with wide characters and long words", () => {
    const id = "edgtls_0123456789abcdefghijklmnopq";
    const long = `${"long-".repeat(20)}name.example.com`;
    const wide = "トンネル".repeat(13);
    const status = statusWith(
      {
        edges: [edgeOf([`${long}:443`, "a.example:443"], { id })],
        certificates: [certificateOf("cert_1", 3, [long, "a.example", "b.example"])],
        tunnels: [{ id: "tn_1", labels: { name: wide, [long]: long } }, { id: "tn_2" }],
      },
      7,
    );
    for (const width of [60, 80, 100, 120, 200]) {
      const report = textOf(status, width, width === 200);
      assertFits(report, width);
      const plain = stripVTControlCharacters(report);
      for (const whole of [id, "cert_1", "tn_2"]) assert.ok(plain.includes(whole), whole);
      assert.equal(plain.match(/\p{Script=Katakana}/gu)?.join(""), wide, "nothing is cut off");
    }
  });

  it("says how urgent a certificate is, in colours and in words", () => {
    const cases: [number, number | undefined, number, string][] = [
      [-3, undefined, 31, "expired"],
      [6, undefined, 31, "6 days"],
      [7, undefined, 33, "7 days"],
      [29, undefined, 33, "29 days"],
      [30, undefined, 32, "30 days"],
      [60, 90, 31, "60 days, due"],
    ];
    for (const [days, limit, paint, said] of cases) {
      const report = textOf(
        statusWith({ certificates: [certificateOf("c", days + 0.5)] }, limit),
        80,
        true,
      );
      assert.match(report, new RegExp(`\\[${paint}m[-\\d]{10}, ${said}.\\[39m`));
    }
  });
});

describe("the command", () => {
  const bin = path.resolve(manifest.bin["pulumi-tlsedge"]);
  let emulator: Emulator;
  let settings: Record<string, string>;

  before(async () => {
    emulator = await startEmulator({
      tunnels: [
        { id: "tn_web", labels: { app: "web", env: "production" }, region: "eu" },
        { id: "tn_ssh", public_url: "tcp://ssh.example:22", proto: "tcp", forwards_to: "h:22" },
      ],
    });
    settings = { ...settingsFor(emulator), TLSEDGE_MAX_RETRIES: "0" };
  });
  beforeEach(() => emulator.reset());
  after(() => emulator.close());

  type Variables = Record<string, string | undefined>;
  const run = (line: string, env: Variables = {}, terminals = {}): Promise<Outcome> =>
    runCommand(line.split(" ").filter(Boolean), { ...settings, ...env }, terminals);

  /** Starts Node.js, with the settings in its environment. */
  function spawnNode(args: string[], env: Variables = {}) {
    const { NO_COLOR: _, FORCE_COLOR: __, COLUMNS: ___, NODE_OPTIONS: ____, ...rest } = process.env;
    const all = { ...rest, ...settings, ...env };
    return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env: all });
  }

  async function ended(child: ReturnType<typeof spawnNode>): Promise<Outcome> {
    const said = Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)]);
    const [code] = await once(child, "close");
    const [stdout, stderr] = await said;
    return { code, stdout, stderr };
  }

  const accountOf = () => clientOf(emulator, { requestsPerMinute: 0 });

  const upload = (days: number, dnsNames: string[], texts = {}) =>
    uploadWith(
      accountOf(),
      {
        commonName: dnsNames[0] ?? "",
        dnsNames,
        notBefore: new Date(Date.now() - 400 * dayMs),
        // Half a day more, so that the days left are the same however long the tests take.
        notAfter: inDays(days + 0.5, new Date()),
      },
      texts,
    );

  /** Two edges, two certificates and two tunnels; the certificate that expires first is the older. */
  async function seed() {
    const client = accountOf();
    const soon = await upload(3, ["*.soon.example.com"], { metadata: '{"owner":"the web team"}' });
    const later = await upload(300, ["later.example.com"]);
    const weak = await tlsEdges.create(client, {
      hostports: ["a.soon.example.com:443", "later.example.com:443"],
      backend: { backend_id: "bkdtg_1" },
      mutual_tls: { certificate_authority_ids: ["ca_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.0" },
    });
    const open = await tlsEdges.create(client, { hostports: ["bare.example.com:443"] });
    const key = soon.private_key_pem;
    return { soon: soon.id, later: later.id, weak: weak.id, open: open.id, key };
  }

  it("C50 C90 status prints the account in each format, without a key or a command", async () => {
    const { key, ...ids } = await seed();
    const secrets = new Secrets();
    secrets.add("the API key", emulator.apiKey);
    secrets.add("the private key", key);
    emulator.tunnels.online({ labels: { name: "\u009b31m\u2028é" } });
    for (const format of ["text", "json", "markdown", "html"]) {
      const { code, stdout, stderr } = await run(`status --format ${format}`);
      assert.deepEqual([code, stderr], [0, ""]);
      const all = [...Object.values(ids), "the web team", "tn_ssh", "a.soon.example.com"];
      for (const said of all) assert.ok(stdout.includes(said), `${said} in ${format}`);
      assert.doesNotMatch(stdout, /[\u009b\u2028]/);
      assert.deepEqual(secrets.in(stdout), []);
    }
    const report = await run("status", { COLUMNS: "200" });
    assert.equal(report.stdout.split("\n")[0], `Service: ${new URL(emulator.url).host}`);
    const [, edge] = rowsOf(report.stdout, "Edges");
    assert.equal(edge, `${ids.weak}  a.soon.example.com:443  backend bkdtg_1`);
    const tunnels = rowsOf(report.stdout, "Tunnels");
    assert.ok(tunnels.includes("tn_ssh  tcp://ssh.example:22  h:22  us"));
    assert.ok(tunnels.includes("tn_web  app=web, env=production  http://localhost:80  eu"));
    const { tunnels: listed } = JSON.parse((await run("status --json")).stdout) as Status;
    assert.equal(listed[0]?.labels?.name, "\u009b31m\u2028é");
    assert.deepEqual(listed.at(-2), {
      ...{ id: "tn_web", publicUrl: null, proto: null, region: "eu" },
      ...{ labels: { app: "web", env: "production" }, forwardsTo: "http://localhost:80" },
    });
  });

  it("status takes the width of its terminal, or COLUMNS, or 80", async () => {
    await seed();
    const reports = [
      [await run("status"), 80],
      [await run("status", { COLUMNS: "60" }), 60],
      [await run("status", { COLUMNS: "80" }, { stdout: terminal(100) }), 100],
    ] as const;
    for (const [{ stdout }, width] of reports) assertFits(stdout, width);
    assert.equal(new Set(reports.map(([{ stdout }]) => stdout)).size, 3);
  });

  it("status exits with 2 for what --fail-on and --fail-within say, in every format", async () => {
    const { weak, open, soon } = await seed();
    const cases: [string, string[]][] = [
      ["", []],
      ["--fail-within 0", []],
      ["--fail-within 3", []],
      ["--fail-within 4", [soon]],
      ["--fail-on open", [open]],
      ["--fail-on weak", [weak]],
      ["--fail-on expiring", [soon]],
      ["--fail-on expiring --fail-within 2", []],
      ["--fail-on weak,expiring", [weak, soon]],
      ["--fail-on weak --fail-within 30", [weak, soon]],
    ];
    for (const [options, failing] of cases) {
      const { code, stdout } = await run(`status --json ${options}`);
      assert.deepEqual([code, JSON.parse(stdout).failing], [failing.length > 0 ? 2 : 0, failing]);
    }
    emulator.reset();
    const thirteen = await upload(13, ["x.example"]);
    await upload(14, ["x.example"]);
    const { stdout } = await run("status --json --fail-on expiring");
    const { failOn, failWithin, failing } = JSON.parse(stdout) as Status;
    assert.deepEqual([failOn, failWithin, failing], [["expiring"], 14, [thirteen.id]]);
    for (const format of ["text", "json", "markdown", "html"]) {
      assert.equal((await run(`status --format ${format} --fail-on expiring`)).code, 2, format);
    }
  });

  it("status reads every page, and shows its progress on a terminal alone", async () => {
    for (let n = 0; n < 220; n++) emulator.tunnels.online({ region: "ap" });
    const piped = await run("status");
    assert.equal(piped.stderr, "");
    assert.match(piped.stdout, /222 tunnels\n$/);
    const { stdout, stderr } = await run("status", {}, { stderr: terminal() });
    assert.equal(stdout, piped.stdout);
    for (const list of ["edges", "certificates", "tunnels"])
      assert.ok(stderr.includes(`Reading ${list}…`), stderr);
    assert.ok(stderr.endsWith("\r\u001b[K"), "it is cleared");
  });

  it("status has colours on a terminal that has them, or as NO_COLOR and FORCE_COLOR say", async () => {
    const xterm = { TERM: "xterm-256color" };
    const cases: [Variables, isTerminal: boolean, isColoured: boolean][] = [
      [xterm, false, false],
      [xterm, true, true],
      [{ ...xterm, NO_COLOR: "1" }, true, false],
      [{ FORCE_COLOR: "1" }, false, true],
      [{ ...xterm, FORCE_COLOR: "0" }, true, false],
      [{ TERM: "dumb" }, true, false],
    ];
    for (const [env, isTerminal, isColoured] of cases) {
      const { stdout } = await run("status", env, isTerminal ? { stdout: terminal() } : {});
      assert.equal(stdout !== stripVTControlCharacters(stdout), isColoured, JSON.stringify(env));
    }
  });

  describe("check", () => {
    const looked = async (env: Variables = {}) => {
      const { code, stdout } = await run("check --json", { PATH: process.env.PATH, ...env });
      const { checks } = JSON.parse(stdout) as { checks: Check[] };
      return { code, checks: new Map(checks.map((one) => [one.name, one])) };
    };

    it("says that all is right, with two requests", async () => {
      const { checks } = await looked();
      for (const name of ["settings", "service", "key", "clock"]) {
        assert.equal(checks.get(name)?.ok, true, checks.get(name)?.text);
      }
      assert.match(checks.get("versions")?.text ?? "", /^pulumi-tlsedge [\d.]+, Node\.js \d+/);
      const paths = emulator.requests.map(({ method, path }) => `${method} ${path}`);
      assert.deepEqual(paths, ["GET /", "GET /edges/tls?limit=100"]);
    });

    const wrong: [string, Variables, string, RegExp][] = [
      ["no key", { TLSEDGE_API_KEY: undefined }, "settings", /TLSEDGE_API_KEY/],
      ["a key that is refused", { TLSEDGE_API_KEY: "wrong" }, "key", /401.*TLSEDGE_API_KEY/],
      ["a dead host", { TLSEDGE_BASE_URL: "https://localhost:1" }, "service", /TLSEDGE_BASE_URL/],
      ["an authority that is not trusted", { TLSEDGE_CA_FILE: undefined }, "service", /CA_FILE/],
      ["no Pulumi CLI", { PATH: "/nowhere" }, "versions", /no Pulumi CLI on PATH/],
    ];
    for (const [what, env, name, says] of wrong) {
      it(`names ${what}, and exits with 1`, async () => {
        const { code, checks } = await looked(env);
        assert.deepEqual([code, checks.get(name)?.ok], [1, false]);
        assert.match(checks.get(name)?.text ?? "", says);
        const isMoot = name === "settings" || name === "service";
        assert.equal(checks.get("clock")?.ok, isMoot ? null : true);
      });
    }

    it("names a clock that is wrong, and prints a line for each check", async () => {
      emulator.clocks.date = 3_600_000;
      const { code, stdout } = await run("check", { COLUMNS: "200" });
      assert.equal(code, 1);
      assert.match(stdout, /^ok {3}settings {2}the base URL is /);
      assert.match(stdout, /^fail clock {5}it is 3[56]\d\d s behind/m);
    });
  });

  describe("when it fails", () => {
    const secret = "tlse_a-key-that-must-not-be-seen";

    /** One line on stderr, exit code 1, nothing on stdout, no key. */
    function assertFailure({ code, stdout, stderr }: Outcome, ...says: (string | RegExp)[]): void {
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^error: [^\n]+\n$/);
      for (const key of [secret, emulator.apiKey]) assert.ok(!stderr.includes(key), stderr);
      for (const said of says) assert.match(stderr, new RegExp(said));
    }

    it("names the variables of missing settings, and no config", async () => {
      const none = { TLSEDGE_API_KEY: undefined, TLSEDGE_BASE_URL: undefined };
      const outcome = await run("status", none);
      assertFailure(outcome, "TLSEDGE_API_KEY", "TLSEDGE_BASE_URL");
      assert.ok(!outcome.stderr.includes("pulumi config"), outcome.stderr);
      const other = await run("status --connection tlsedge-staging");
      assertFailure(other, "TLSEDGE_STAGING_API_KEY", "TLSEDGE_STAGING_BASE_URL");
      assertFailure(await run("status --connection UPPER"), "lower-case");
      const env = settingsFor(emulator, "TLSEDGE_STAGING");
      assert.equal((await run("status --connection tlsedge-staging", env)).code, 0);
    });

    it("shows what the service says on one line, and names no setting of another connection", async () => {
      const refused = answer(403, { msg: `no such\n\u001b[1mkey: ${secret}` });
      const server = await script(refused);
      const values = { BASE_URL: server.url, CA_FILE: server.caFile, API_KEY: secret };
      const env = Object.entries(values).map(([name, value]) => [`TLSEDGE_STAGING_${name}`, value]);
      try {
        const outcome = await run("status --connection tlsedge-staging", Object.fromEntries(env));
        assertFailure(outcome, "403.*key: \\[secret\\]", "TLSEDGE_STAGING_API_KEY");
        assert.doesNotMatch(outcome.stderr, /TLSEDGE_(?!STAGING_)|tlsedge:/);
      } finally {
        await server.close();
      }
    });

    it("tries three times, or as often as the settings say", async () => {
      const tried = (TLSEDGE_MAX_RETRIES?: string) =>
        run("status", { TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_MAX_RETRIES });
      assertFailure(await tried(), "3 tries", "ECONNREFUSED", "TLSEDGE_BASE_URL");
      assertFailure(await tried("1"), "2 tries");
    });

    const mistakes: [string, RegExp][] = [
      ["statsu", /Did you mean status\?/],
      ["status more", /too many arguments/],
      ["status --fail-on weak,old", /weak,open,expiring/],
      ["status --format xml", /text, json, markdown, html/],
      ["status --json --format markdown", /--format.*--json/],
      ["status --fail-within soon", /whole number of days/],
      ["status --fail-within=-1", /whole number of days/],
    ];
    for (const [line, says] of mistakes) {
      it(`says what is meant for \`${line}\``, async () => {
        const { code, stdout, stderr } = await run(line);
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(stderr, says);
        assert.match(stderr, /`npx --no -- pulumi-tlsedge --help`/);
        assert.deepEqual(emulator.requests, []);
      });
    }
  });

  describe("as a process", () => {
    it("has the exit code of its report, or 1 with the error on stderr", async () => {
      await upload(3, ["soon.example.com"]);
      const line = ["status", "--fail-within", "4"];
      const { code, stdout, stderr } = await ended(spawnNode([bin, ...line]));
      assert.deepEqual([code, stderr], [2, ""]);
      assert.equal(stdout, (await run(line.join(" "))).stdout);
      const failed = await ended(spawnNode([bin, "status", "more"]));
      assert.deepEqual([failed.code, failed.stdout], [1, ""]);
      assert.match(failed.stderr, /^error: too many arguments/);
    });

    it("says nothing to a reader that has gone", async () => {
      const child = spawnNode([bin, "status"]);
      child.stdout?.destroy();
      const said = text(child.stderr as Readable);
      const [code] = await once(child, "close");
      assert.deepEqual([code, await said], [0, ""]);
    });

    it("does not load Pulumi, and a program that imports the package does not load it", async () => {
      const file = fileWith(
        `process.on("exit", () => console.error(Object.keys(require.cache).join()))`,
      );
      const env = { NODE_OPTIONS: `--require=${file}` };
      const command = await ended(spawnNode([bin, "status"], env));
      assert.equal(command.code, 0);
      assert.match(command.stderr, /commander/);
      assert.ok(!command.stderr.includes("@pulumi"), command.stderr);
      const program = await ended(spawnNode(["-e", `require("pulumi-tlsedge")`], env));
      assert.match(program.stderr, /@pulumi/);
      assert.doesNotMatch(program.stderr, /dist.cli.main|commander|string-width/);
    });
  });

  it("says its version, and fails without a command", async () => {
    assert.equal((await run("--version")).stdout, `${manifest.version}\n`);
    assert.equal((await run("")).code, 1);
  });
});
