import assert from "node:assert/strict";
import { type StdioOptions, spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import type { Account } from "../cli/account";
import type { Check } from "../cli/check";
import { statusText } from "../cli/report";
import { type Flag, type Status, statusOf } from "../cli/status";
import type { Client } from "../client/client";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";
import manifest from "../package.json";
import { certificateWire, edgeWire, inDays, now } from "./accounts";
import { type Outcome, runCommand, terminal } from "./cli";
import {
  answer,
  atScript,
  clientOf,
  fileWith,
  settingsFor,
  upload as uploadWith,
  useEmulator,
} from "./support";

/** What `status` says of an account; below, the commands as a shell runs them. */
describe("statusOf and statusText", () => {
  it("the most urgent certificate comes first, and fails a status with too few days left or an unknown date", () => {
    const days = { longGone: -30, gone: -2, unknown: null, today: 0, week: 7, year: 365 };
    const certificates = Object.entries(days)
      .map(([id, left]) => certificateOf(id, (left ?? 0) + 0.5, [], left === null && unknownDate))
      .reverse();
    const status = statusWith({ certificates });
    const found = status.certificates.map(({ id, daysLeft }) => [id, daysLeft]);
    assert.deepEqual(found, Object.entries(days));
    /** How many fail, by the days within which they do. */
    for (const [within, count] of Object.entries({ 0: 3, 1: 4, 7: 4, 8: 5 })) {
      const { failing } = statusWith({ certificates }, Number(within));
      assert.deepEqual(failing, Object.keys(days).slice(0, count));
    }
    assert.deepEqual(status.failing, []);
  });

  it("a certificate has the values of its leaf, and null for what is not known", async () => {
    const dates = { notBefore: inDays(-1), notAfter: inDays(40) };
    const names = { dnsNames: ["leaf.example"], ips: ["2001:db8::1"] };
    const { certificatePem } = await makeCertificate({ commonName: "leaf", ...names, ...dates });
    const [unread, leaf] = statusWith({
      certificates: [
        certificateOf("cert_1", 50, ["other.example"], { certificate_pem: certificatePem }),
        certificateWire({ id: "cert_2", created_at: "", not_after: "soon" }),
      ],
    }).certificates;
    const { raw, serialNumber } = new X509Certificate(certificatePem);
    assert.deepEqual(leaf, {
      ...{ id: "cert_1", createdAt: "2025-12-01T08:00:00Z", subjectCommonName: "leaf" },
      ...{ description: null, metadata: null, environment: null, owner: null, edges: [] },
      ...names,
      ...{ notBefore: "2026-02-28T12:00:00Z", notAfter: "2026-04-10T12:00:00Z", daysLeft: 40 },
      serialNumber: serialNumber.toLowerCase(),
      fingerprint: createHash("sha256").update(raw).digest("hex"),
    });
    const { id, createdAt, dnsNames, ips, edges, ...unset } = unread ?? {};
    assert.deepEqual([id, dnsNames, ips], ["cert_2", [], []]);
    assert.ok(Object.values(unset).every((value) => value === null));
  });

  const serving = {
    ...{ "a.x.example": "wild,named", "B.x.example": "wild", "*.x.example": "wild" },
    ...{ "192.0.2.1": "address", "x.example": "", "a.b.x.example": "", "*.a.x.example": "" },
    ...{ "y.example": "", "z.example": "", "192.0.2.9": "" },
  };
  it("a certificate names the hostports that it serves, and an edge those without a certificate", () => {
    const names = { dns_names: ["192.0.2.9"], ips: ["192.0.2.1"] };
    const certificates = [
      certificateOf("wild", 5, ["*.x.example"]),
      certificateOf("named", 6, ["A.x.example"]),
      certificateOf("address", 7, [], { subject_alternative_names: names }),
      certificateOf("expired", -1, ["y.example"]),
      certificateOf("early", 8, ["y.example"], early),
      certificateOf("common", 9, [], { subject_common_name: "z.example" }),
    ];
    for (const [host, ids] of Object.entries(serving)) {
      const hostport = `${host}:8443`;
      const edges = [edgeOf([hostport, "a.b.c.example:1"])];
      const status = statusWith({ certificates, edges });
      const used = status.certificates.filter((one) => one.edges.length > 0);
      assert.equal(idsOf(used), ids, hostport);
      for (const one of used)
        assert.deepEqual(one.edges, [{ id: "edgtls_1", hostports: [hostport] }]);
      const uncovered = [...(ids ? [] : [hostport]), "a.b.c.example:1"];
      assert.deepEqual(status.edges[0]?.uncoveredHostports, uncovered);
    }
  });

  it("an edge says whether it is weak, is open to all, and needs a certificate", () => {
    const tls = (tls_termination: object | null) => ({ tls_termination });
    const cases: [Partial<TLSEdgeWire>, found: string][] = [
      [tls(null), "open, needs"],
      [tls({ min_version: "1.1" }), "weak, open, needs"],
      [tls({ terminate_at: "edge", min_version: "1.2" }), "open, needs"],
      [tls({ enabled: false, min_version: "1.0" }), "open, needs"],
      [tls({ terminate_at: "upstream" }), "open"],
      [tls({ terminate_at: "upstream", enabled: false }), "open, needs"],
      [{ ip_restriction: { enabled: true } }, "needs"],
      [{ ip_restriction: { enabled: false } }, "open, needs"],
      [{ mutual_tls: {} }, "needs"],
    ];
    for (const [modules, found] of cases) {
      const account = { edges: [edgeOf(["a:1"], modules)] };
      const [{ weak, open, uncoveredHostports } = {}] = statusWith(account).edges;
      const words = [weak && "weak", open && "open", uncoveredHostports?.length && "needs"];
      assert.equal(words.filter(Boolean).join(", "), found, JSON.stringify(modules));
    }
  });

  it("what an edge or a tunnel does not have is null, and a module that does not say is on", () => {
    const modules = { backend: {}, ip_restriction: { enabled: false }, tls_termination: {} };
    const { edges, tunnels } = statusWith({
      edges: [{ id: "edgtls_2", uri: "", created_at: "" }, edgeOf([], modules)],
      tunnels: [{ id: "tn_1" }],
    });
    const noAddress = { publicUrl: null, proto: null, forwardsTo: null };
    assert.deepEqual(tunnels, [{ id: "tn_1", ...noAddress, region: null, labels: null }]);
    const none = { backend: null, ipRestriction: null, mutualTls: null, tlsTermination: null };
    assert.deepEqual(edges[0], {
      ...{ id: "edgtls_2", createdAt: "", hostports: [], uncoveredHostports: [] },
      ...{ description: null, metadata: null, environment: null, owner: null },
      ...{ ...none, weak: false, open: true },
    });
    const { backend, ipRestriction, tlsTermination } = edges[1] ?? {};
    assert.deepEqual(backend, { enabled: true, backendId: null });
    assert.deepEqual(ipRestriction, { enabled: false, ipPolicyIds: [] });
    assert.deepEqual(tlsTermination, { enabled: true, terminateAt: null, minVersion: null });
  });

  it("equal objects, which an update that was cut off may have left, are twins", async () => {
    const { certificatePem: certificate_pem } = await makeCertificate({ commonName: "x.example" });
    const chain = (id: string, more = {}) => certificateOf(id, 9, [], { certificate_pem, ...more });
    const backend = { enabled: true, backend: { id: "bkdtg_1", uri: "https://x" } };
    const edge = (id: string, hostports: string[], enabled: boolean, more = {}) =>
      edgeOf(hostports, { id, backend: { ...backend, enabled }, ...more });
    const certificates = [
      ...[
        chain("cert_3"),
        chain("cert_2", { description: "x" }),
        chain("cert_1", { metadata: "" }),
      ],
      // What can't be parsed can't be compared.
      ...[certificateOf("cert_0", 9), certificateOf("cert_00", 9)],
    ];
    const edges = [
      ...[edge("edgtls_3", [], true), edge("edgtls_2", [], false)],
      edge("edgtls_1", [], true, { mutual_tls: null, created_at: "2025-06-01T08:00:01Z" }),
      ...[edge("edgtls_0", ["a:1"], true), edge("edgtls_00", ["a:1"], true)],
    ];
    const status = statusWith({ certificates, edges }, undefined, ["twins"]);
    assert.deepEqual(status.twins.map(idsOf), ["edgtls_3,edgtls_1", "cert_3,cert_1"]);
    assert.equal(status.failing.join(), "edgtls_3,edgtls_1,cert_3,cert_1");
    assert.match(textOf(status), /edgtls_1 {2}2025-06-01T08:00:01Z {2}the one above\ncert_3/);
  });

  it("the text fits every width, with wide characters and long words", () => {
    const id = "edgtls_0123456789abcdefghijklmnopq";
    const long = `${"long-".repeat(20)}name.example.com`;
    const wide = "トンネル".repeat(13);
    const account = {
      edges: [edgeOf([`${long}:443`, "a.example:443"], { id })],
      certificates: [certificateOf("cert_1", 3, [long, "a.example", "b.example"])],
      tunnels: [{ id: "tn_1", labels: { name: wide, [long]: long } }, { id: "tn_2" }],
    };
    for (const width of [60, 80, 100, 120, 200]) {
      const report = textOf(statusWith(account, 7), width, width === 200);
      assertFits(report, width);
      const plain = stripVTControlCharacters(report);
      for (const whole of [id, "cert_1", "tn_2"]) assert.ok(plain.includes(whole), whole);
      assert.equal(plain.match(/\p{Script=Katakana}/gu)?.join(""), wide, "nothing is cut off");
    }
  });

  it("C91: a very long text is cut, so that the table is in proportion to what it shows", () => {
    const long = certificateOf("c".repeat(1000), 3, ["\u200b".repeat(60_000)]);
    const report = textOf(statusWith({ certificates: [long, certificateOf("cert_2", 3)] }));
    assert.ok(report.length < 2_000_000, `${report.length} characters`);
    assert.ok(report.includes("…") && report.includes("cert_2"));
  });

  it("the text has edges by environment and owner, what is urgent first, and why something is amiss", () => {
    const of = (environment: unknown, owner?: string) => JSON.stringify({ environment, owner });
    const weak = { tls_termination: { terminate_at: "edge", min_version: "1.0" } };
    const backend = { backend: { id: "bkdtg_1", uri: "" } };
    const off = { enabled: false, ip_policies: [{ id: "ipp_1", uri: "" }] };
    const account = {
      edges: [
        edgeOf([], { id: "edgtls_3", ip_restriction: off, mutual_tls: {} }),
        edgeOf(["d.example:1"], { metadata: of("prod", "web"), backend, ...weak }),
        edgeOf(["x.example:443"], { metadata: of("prod", "api"), description: "the shop" }),
      ],
      certificates: [
        certificateOf("cert_1", 5, ["x.example"], { description: "old", metadata: of(7, "web") }),
        certificateOf("cert_2", 8, ["y.example"], { metadata: "text" }),
        certificateOf("cert_3", -1.5, ["x.example"]),
        certificateOf("cert_4", 9, ["x.example"], early),
        certificateOf("cert_5", 0, ["x.example"], unknownDate),
      ],
      tunnels: [
        { id: "tn_1", public_url: "tcp://ssh.example:22", forwards_to: "h:22", region: "us" },
        { id: "tn_2", labels: { app: "web", env: "prod" } },
      ],
    };
    assert.equal(textOf(statusWith(account), 100), usualReport);
    const due = textOf(statusWith(account, 30), 200);
    assert.match(due, /5 certificates \(4 due in 30 days, 1 with no known expiry date\)/);
    const soon = textOf(statusWith(account, 0), 200);
    assert.match(soon, /5 certificates \(1 due in 0 days, 1 expiring in 7 days, 1 with no/);
    assert.doesNotMatch(textOf(statusWith({})), /Twins|Unused/);
  });

  it("colours and words say how urgent a certificate is, and what gives the exit code 2", () => {
    const [red, yellow, green] = [31, 33, 32];
    const cases: [days: number, failWithin: number | undefined, paint: number, words: string][] = [
      [-3, undefined, red, "expired"],
      [6, undefined, red, "6 days"],
      [7, undefined, yellow, "7 days"],
      [29, undefined, yellow, "29 days"],
      [30, undefined, green, "30 days"],
      [60, 90, red, "60 days, due"],
    ];
    for (const [days, failWithin, paint, words] of cases) {
      const certificates = [certificateOf("c", days + 0.5)];
      const report = textOf(statusWith({ certificates }, failWithin), 80, true);
      assert.match(report, new RegExp(`\\[${paint}m[-\\d]{10}, ${words}.\\[39m`));
    }
    const edges = [edgeOf(["a.example:443"])];
    for (const [failOn, paint] of [[["open"], red] as const, [[], yellow] as const]) {
      const report = textOf(statusWith({ edges }, 0, [...failOn]), 80, true);
      assert.ok(report.includes(`\u001b[${paint}mopen to all`));
    }
  });
});

describe("pulumi-tlsedge", () => {
  const bin = path.resolve(manifest.bin["pulumi-tlsedge"]);
  const emulator = useEmulator();
  type Variables = Record<string, string | undefined>;
  let settings: Variables;
  let client: Client;

  before(() => {
    settings = { ...settingsFor(emulator), TLSEDGE_MAX_RETRIES: "0" };
    client = clientOf(emulator, { requestsPerMinute: 0 });
  });

  const run = (line: string, env: Variables = {}, terminals = {}): Promise<Outcome> =>
    runCommand(line.split(" ").filter(Boolean), { ...settings, ...env }, terminals);

  /** Runs Node.js, with the settings in its environment. Without a stdout, nobody reads what it prints. */
  async function runNode(args: string[], env: Variables = {}, stdout?: number | null) {
    const { NO_COLOR: _, FORCE_COLOR: __, COLUMNS: ___, NODE_OPTIONS: ____, ...rest } = process.env;
    const stdio: StdioOptions = ["ignore", stdout ?? "pipe", "pipe"];
    const child = spawn(process.execPath, args, { stdio, env: { ...rest, ...settings, ...env } });
    if (stdout === null) child.stdout?.destroy();
    const read = (stream: Readable | null) => (stream?.destroyed === false ? text(stream) : "");
    const texts = Promise.all([read(child.stdout), read(child.stderr)]);
    const [code] = await once(child, "close");
    const [printed, stderr] = await texts;
    return { code, stdout: printed, stderr };
  }

  const upload = (days: number, dnsNames: string[], texts = {}) => {
    // Half a day more, so that the days left are the same however long the tests take.
    const notAfter = new Date(Date.now() + (days + 0.5) * 86_400_000);
    const names = { commonName: dnsNames[0] ?? "", dnsNames };
    return uploadWith(client, { ...names, notBefore: new Date("2020-01-01"), notAfter }, texts);
  };

  /** Two edges, two certificates and a tunnel; the certificate that expires first is the older. */
  async function seed() {
    emulator.tunnels.online({ id: "tn_ssh" });
    const soon = await upload(3, ["*.soon.example.com"], { metadata: '{"owner":"the web team"}' });
    const later = await upload(300, ["later.example.com"]);
    const weak = await tlsEdges.create(client, {
      hostports: ["a.soon.example.com:443", "later.example.com:443"],
      mutual_tls: { certificate_authority_ids: ["ca_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.0" },
    });
    const open = await tlsEdges.create(client, { hostports: ["bare.example.com:443"] });
    return { soon: soon.id, later: later.id, weak: weak.id, open: open.id };
  }

  const begins = { text: "Service: ", json: "{", markdown: "## Status", html: "<!doctype html>" };
  for (const [format, begin] of Object.entries(begins)) {
    it(`C4 C90: status prints the account as ${format}, without the key or a command`, async () => {
      const ids = await seed();
      emulator.tunnels.online({ labels: { name: "\u009b31m\u2028é" } });
      const { code, stdout, stderr } = await run(`status --format ${format}`);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.ok(stdout.startsWith(begin), stdout);
      const parts = [...Object.values(ids), "the web team", "tn_ssh", "a.soon.example.com"];
      for (const part of parts) assert.ok(stdout.includes(part), part);
      assert.doesNotMatch(stdout, /[\u009b\u2028]/);
      assert.ok(!stdout.includes(emulator.apiKey));
    });
  }

  it("C90: status names an object that can't be used, shows the others, and exits with 1", async () => {
    const { weak, open, later } = await seed();
    emulator.respond = (body) => {
      const { tls_edges = [], ...rest } = body as { tls_edges?: TLSEdgeWire[] };
      const odd = (id: string) =>
        id === weak ? { hostports: [7] } : { created_at: "2026-01-01T00:00:60Z" };
      return { ...rest, tls_edges: tls_edges.map((edge) => ({ ...edge, ...odd(edge.id) })) };
    };
    const { code, stdout, stderr } = await run("status");
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^warning: 1 of tls_edges .*${weak} .*\\n$`));
    assert.ok(stdout.includes(open) && stdout.includes(later), stdout);
    assert.equal((await run("status --fail-on open")).code, 2, "that wins");
    assert.doesNotMatch((await run("check")).stdout, /can't be used|no usable answer/);
  });

  it("status exits with 2 for what --fail-on and --fail-within say, and names it by its names", async () => {
    const { weak, open, soon } = await seed();
    const [older, { id }] = [await tlsEdges.create(client, {}), await tlsEdges.create(client, {})];
    const twins = [id, older.id];
    const named = {
      weak: "1 weak (later.example.com:443)",
      open: `3 open (${twins.join(", ")}, bare.example.com:443)`,
    };
    // A list that changes while it is read.
    emulator.respond = (body) => {
      const { tls_edges = [] } = body as { tls_edges?: TLSEdgeWire[] };
      return tls_edges.length > 0 ? { tls_edges: [...tls_edges, ...tls_edges] } : body;
    };
    const expiring = "1 expiring (*.soon.example.com)";
    const cases: [options: string, failing: string[], said: string[]][] = [
      ["", [], []],
      ["--fail-within 0", [], []],
      ["--fail-within 3", [], []],
      ["--fail-within 4", [soon], [expiring]],
      ["--fail-on open", [...twins, open], [named.open]],
      ["--fail-on open,weak", [...twins, open, weak], [named.weak, named.open]],
      ["--fail-on twins", twins, [`2 twins (${twins.join(", ")})`]],
      ["--fail-on weak --fail-within 30", [weak, soon], [named.weak, expiring]],
    ];
    for (const [options, failing, said] of cases) {
      const { code, stdout, stderr } = await run(`status --format json ${options}`);
      const status = JSON.parse(stdout) as Status;
      assert.deepEqual([code, status.failing], [failing.length > 0 ? 2 : 0, failing]);
      assert.equal(stderr, said.length > 0 ? `Failed: ${said.join(", ")}\n` : "");
      assert.equal(status.service, new URL(emulator.url).host);
    }
  });

  it("status shows its progress on a terminal alone", async () => {
    const piped = await run("status");
    assert.equal(piped.stderr, "");
    const { stdout, stderr } = await run("status", {}, { stderr: terminal() });
    assert.equal(stdout, piped.stdout);
    for (const list of ["edges", "certificates", "tunnels"])
      assert.ok(stderr.includes(`Reading ${list}…`), stderr);
    assert.ok(stderr.endsWith("\r\u001b[K"), "it is cleared");
  });

  it("status takes width and colours from its terminal, or as COLUMNS, NO_COLOR and FORCE_COLOR say", async () => {
    await seed();
    const xterm = { TERM: "xterm-256color" };
    const cases: [Variables, isTerminal: boolean, isColoured: boolean, width: number][] = [
      [xterm, false, false, 80],
      [{ ...xterm, COLUMNS: "80" }, true, true, 100],
      [{ ...xterm, NO_COLOR: "1" }, true, false, 100],
      [{ FORCE_COLOR: "1", COLUMNS: "60" }, false, true, 60],
      [{ ...xterm, FORCE_COLOR: "0" }, true, false, 100],
      [{ TERM: "dumb" }, true, false, 100],
    ];
    const widths = new Map<string, number>();
    for (const [env, isTerminal, isColoured, width] of cases) {
      const { stdout } = await run("status", env, isTerminal ? { stdout: terminal(100) } : {});
      const plain = stripVTControlCharacters(stdout);
      assert.equal(stdout !== plain, isColoured, JSON.stringify(env));
      assertFits(plain, width);
      widths.set(plain, width);
    }
    assert.deepEqual([...widths.values()].sort(), [100, 60, 80]);
  });

  const checked = async (env: Variables = {}) => {
    const { code, stdout } = await run("check --format json", { PATH: process.env.PATH, ...env });
    const { checks } = JSON.parse(stdout) as { checks: Check[] };
    return { code, checks: new Map(checks.map((one) => [one.name, one])) };
  };

  it("check says that all is right, with one request", async () => {
    const { checks } = await checked();
    for (const name of ["variables", "settings", "service", "key", "clock"])
      assert.equal(checks.get(name)?.ok, true, checks.get(name)?.text);
    const sources = `baseUrl (${emulator.url}) from TLSEDGE_BASE_URL; apiKey from TLSEDGE_API_KEY; `;
    assert.ok(checks.get("settings")?.text.startsWith(sources), checks.get("settings")?.text);
    assert.match(checks.get("versions")?.text ?? "", /^pulumi-tlsedge [\d.]+, Node\.js \d+/);
    const paths = emulator.requests.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(paths, ["GET /edges/tls?limit=100"]);
  });

  const misspelt = { TLSEDGE_APIKEY: "x", TLSEDGE_STAGING_API_KEY: "x" };
  const mistakes: [what: string, env: Variables, name: string, reason: RegExp][] = [
    ["no API key", { TLSEDGE_API_KEY: undefined }, "settings", /TLSEDGE_API_KEY.*--stack NAME/],
    ["a wrong API key", { TLSEDGE_API_KEY: "wrong" }, "key", /401.*TLSEDGE_API_KEY/],
    ["a wrong URL", { TLSEDGE_BASE_URL: "https://localhost:1" }, "service", /TLSEDGE_BASE_URL/],
    ["an unknown authority", { TLSEDGE_CA_FILE: undefined }, "service", /CA_FILE/],
    ["no Pulumi CLI", { PATH: "/nowhere" }, "versions", /no Pulumi CLI on PATH/],
    ["a misspelt variable", misspelt, "variables", /unset it: TLSEDGE_APIKEY [^,]*$/],
  ];
  for (const [what, env, name, reason] of mistakes) {
    it(`check with ${what} exits with 1, and says what is wrong about ${name}`, async () => {
      const { code, checks } = await checked(env);
      assert.deepEqual([code, checks.get(name)?.ok], [1, false]);
      assert.match(checks.get(name)?.text ?? "", reason);
      const isMoot = name === "settings" || name === "service";
      assert.equal(checks.get("clock")?.ok, isMoot ? null : true);
      assert.notEqual(checks.get("versions")?.ok, null);
    });
  }

  it("check prints a line for each thing that it looks at, such as a clock that is wrong", async () => {
    for (const [date, side] of [
      [3_600_000, "behind"],
      [-3_600_000, "ahead of"],
    ] as const) {
      emulator.clocks.date = date;
      const { code, stdout } = await run("check", { COLUMNS: "200" });
      assert.equal(code, 1);
      assert.match(stdout, /^ok {3}settings {2}baseUrl /m);
      assert.match(stdout, new RegExp(`^fail clock {5}it is 3[56]\\d\\d s ${side}`, "m"));
    }
  });

  const apiKey = "tlse_a-key-that-must-not-be-seen";

  /** One line on stderr, exit code 1, nothing on stdout, no key. */
  function assertFailure({ code, stdout, stderr }: Outcome, ...parts: string[]): void {
    assert.deepEqual([code, stdout], [1, ""], stderr);
    assert.match(stderr, /^error: [^\n]+\n$/);
    for (const key of [apiKey, emulator.apiKey]) assert.ok(!stderr.includes(key), stderr);
    for (const part of parts) assert.match(stderr, new RegExp(part));
  }

  it("a command names the variables of missing settings, and tries three times, or as often as they say", async () => {
    const none = await run("status", { TLSEDGE_API_KEY: undefined, TLSEDGE_BASE_URL: undefined });
    assertFailure(none, "TLSEDGE_API_KEY", "TLSEDGE_BASE_URL", "add --stack NAME");
    assert.ok(!none.stderr.includes("pulumi config"), none.stderr);
    const tried = (TLSEDGE_MAX_RETRIES?: string) =>
      run("status", { TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_MAX_RETRIES });
    assertFailure(await tried(), "3 tries", "ECONNREFUSED", "TLSEDGE_BASE_URL");
    assertFailure(await tried("1"), "2 tries");
  });

  it("a command shows what the service says on one line, and names no setting of another connection", async () => {
    const refused = answer(403, { msg: `no such\n\u001b[1mkey: ${apiKey}` });
    await atScript([refused], async () => {
      const { TLSEDGE_BASE_URL, TLSEDGE_CA_FILE } = process.env;
      const outcome = await run("status --connection tlsedge-staging", {
        TLSEDGE_STAGING_BASE_URL: TLSEDGE_BASE_URL,
        TLSEDGE_STAGING_CA_FILE: TLSEDGE_CA_FILE,
        TLSEDGE_STAGING_API_KEY: apiKey,
      });
      assertFailure(outcome, "403.*key: \\[secret\\]", "TLSEDGE_STAGING_API_KEY");
      assert.doesNotMatch(outcome.stderr, /TLSEDGE_(?!STAGING_)|tlsedge:/);
    });
  });

  it("status refuses options that make no sense, before any request", async () => {
    const refused: [options: string, reason: RegExp][] = [
      ["--fail weak", /`npx --no -- pulumi-tlsedge status --help`/],
      ["--fail-on weak,old", /weak,open/],
      ["--format yaml", /text, json, markdown, html/],
      ["--fail-within=-1", /whole number of days/],
    ];
    for (const [options, reason] of refused) {
      const { code, stdout, stderr } = await run(`status ${options}`);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, reason);
    }
    assert.deepEqual(emulator.requests, []);
  });

  it("the process has the exit code of its report, or 1 with the error on stderr", async () => {
    await upload(3, ["soon.example.com"]);
    const line = ["status", "--fail-within", "4"];
    const report = await runNode([bin, ...line]);
    assert.deepEqual(report, await run(line.join(" ")));
    assert.equal(report.code, 2);
    const failed = await runNode([bin, "status", "more"]);
    assert.deepEqual([failed.code, failed.stdout], [1, ""]);
    assert.match(failed.stderr, /^error: too many arguments/);
  });

  it("the process says nothing to a reader that has gone, and names another reason why it can't print", async () => {
    assert.deepEqual(await runNode([bin, "status"], {}, null), { code: 0, stdout: "", stderr: "" });
    if (!existsSync("/dev/full")) return;
    const { code, stderr } = await runNode([bin, "status"], {}, openSync("/dev/full", "w"));
    assert.equal(code, 1);
    assert.match(stderr, /^error: [^\n]*ENOSPC[^\n]*\n$/);
  });

  it("the command does not load Pulumi, and a program that imports the package does not load the command", async () => {
    const file = fileWith(
      `process.on("exit", () => console.error(Object.keys(require.cache).join()))`,
    );
    const env = { NODE_OPTIONS: `--require=${file}` };
    const command = await runNode([bin, "status"], env);
    assert.equal(command.code, 0);
    assert.match(command.stderr, /commander/);
    assert.ok(!command.stderr.includes("@pulumi"), command.stderr);
    const program = await runNode(["-e", `require("pulumi-tlsedge")`], env);
    assert.match(program.stderr, /@pulumi/);
    assert.doesNotMatch(program.stderr, /dist.cli.main|commander|string-width|axios/);
  });
});

const certificateOf = (id: string, days: number, dns_names: string[] = [], more = {}) =>
  certificateWire({
    ...{ id, not_after: inDays(days).toISOString() },
    subject_alternative_names: { dns_names, ips: [] },
    ...more,
  });
const edgeOf = (hostports: string[], more: Partial<TLSEdgeWire> = {}) =>
  edgeWire({ hostports, ...more });
const unknownDate = { not_after: null };
const early = { not_before: inDays(1).toISOString() };

const statusWith = (parts: Partial<Account>, failWithin?: number, failOn?: Flag[]) => {
  const account = { service: "api.example.com", edges: [], certificates: [], tunnels: [] };
  return statusOf({ ...account, ...parts }, now, failWithin, failOn);
};
const textOf = (status: Status, width = 80, colour = false) =>
  statusText(status, { width, colour });
const idsOf = (objects: { id: string }[]) => objects.map(({ id }) => id).join();

const usualReport = `Service: api.example.com

Edges
ID        HOSTPORTS                      MODULES
edgtls_1  the shop                       open to all
          environment: prod, owner: api
          x.example:443
edgtls_1  environment: prod, owner: web  backend bkdtg_1
          d.example:1, no certificate    TLS edge 1.0+
                                         weak TLS
                                         open to all
edgtls_3  no hostports                   IP rules ipp_1 off
                                         mTLS on

Certificates
ID      NAMES       EXPIRES
cert_3  x.example   2026-02-28, expired
cert_5  x.example   unknown
cert_1  x.example   2026-03-06, 5 days
        old
        owner: web
cert_2  y.example   2026-03-09, 8 days
cert_4  x.example   2026-03-10, 9 days
                    valid from 2026-03-02

Hostports without a certificate
EDGE      HOSTPORT
edgtls_1  d.example:1

Unused certificates
ID      NAMES      WHY
cert_3  x.example  expired on 2026-02-28
cert_5  x.example  its expiry date is not known
cert_2  y.example  covers no hostport that needs a certificate
cert_4  x.example  not valid before 2026-03-02

Tunnels online
ID    URL OR LABELS         FORWARDS TO  REGION
tn_1  tcp://ssh.example:22  h:22         us
tn_2  app=web, env=prod     -            -

3 edges (1 hostport uncovered, 1 with weak TLS, 2 open to all, 1 module off), 5 certificates (1
expired, 1 expiring in 7 days, 1 with no known expiry date), 2 tunnels`;

/** How many columns a text takes: two for each character of this test's one wide alphabet. */
const columns = (line: string) => line.length + (line.match(/\p{Script=Katakana}/gu) ?? []).length;

function assertFits(report: string, width: number): void {
  for (const line of stripVTControlCharacters(report).split("\n"))
    assert.ok(columns(line) <= width, `${columns(line)} columns: ${line}`);
}
