import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import type { Check } from "../cli/check";
import { statusText } from "../cli/report";
import { type Account, type Mark, type Status, statusOf } from "../cli/status";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, type Respond, startEmulator } from "../emulator/server";
import manifest from "../package.json";
import { Secrets } from "../tools/secrets";
import { type Outcome, runCommand, terminal } from "./cli";
import {
  type Answer,
  answer,
  clientOf,
  fileWith,
  reset,
  script,
  settingsFor,
  silence,
  upload as uploadWith,
} from "./support";

const dayMs = 86_400_000;
const now = new Date("2026-03-01T12:00:00Z");
const inDays = (days: number, from = now) => new Date(from.getTime() + days * dayMs);

/** A certificate as the service tells it, with a PEM that nothing can parse. */
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
const account = (parts: Partial<Account>): Account => ({
  service: "api.example.com",
  edges: [],
  certificates: [],
  tunnels: [],
  ...parts,
});

/** Of an object whose metadata say nothing. */
const nobody = { environment: null, owner: null };

/** How many columns a text takes: two for each character of this test's one wide alphabet. */
const columns = (line: string) => line.length + (line.match(/\p{Script=Katakana}/gu) ?? []).length;

function assertFits(report: string, width: number): void {
  for (const line of stripVTControlCharacters(report).split("\n")) {
    assert.ok(columns(line) <= width, `${columns(line)} columns: ${line}`);
  }
}

describe("what the status says", () => {
  describe("of certificates", () => {
    const idsOf = ({ certificates }: Status) => certificates.map(({ id }) => id);
    const certificates = [
      certificateOf("year", 365),
      certificateOf("gone", -1.5),
      certificateOf("week", 7.5),
      certificateOf("unknown", 0, [], { not_after: null }),
      certificateOf("today", 0.5),
      certificateOf("longGone", -30),
    ];

    it("has the most urgent first, with whole days left", () => {
      const status = statusOf(account({ certificates }), now);
      assert.deepEqual(idsOf(status), ["longGone", "gone", "unknown", "today", "week", "year"]);
      const left = status.certificates.map(({ daysLeft }) => daysLeft);
      assert.deepEqual(left, [-30, -2, null, 0, 7, 365]);
    });

    it("fails for fewer days than given, and for an unknown date", () => {
      const limits = [undefined, 0, 1, 7, 8];
      const failing = limits.map(
        (limit) => statusOf(account({ certificates }), now, limit).failing,
      );
      const ids = ["longGone", "gone", "unknown", "today", "week"];
      assert.deepEqual(
        failing,
        [0, 3, 4, 4, 5].map((length) => ids.slice(0, length)),
      );
    });

    it("takes the leaf's word, and the service's when the leaf can't be parsed", async () => {
      const dates = { notBefore: inDays(-1), notAfter: inDays(40) };
      const names = { dnsNames: ["leaf.example"], ips: ["2001:db8::1"] };
      const made = await makeCertificate({ commonName: "leaf", ...names, ...dates });
      const { certificates } = statusOf(
        account({
          certificates: [
            certificateOf("cert_1", 50, ["told.example"], { certificate_pem: made.certificatePem }),
            certificateOf("cert_2", 50, ["told.example"], {
              subject_common_name: "told",
              serial_number: "0a",
              metadata: "m",
            }),
            { id: "cert_3", uri: "", created_at: "", certificate_pem: "", not_after: "soon" },
          ],
        }),
        now,
      );
      const [nothing, leaf, told] = certificates;
      const { raw, serialNumber } = new X509Certificate(made.certificatePem);
      const nothingElse = { description: null, edges: [], ...nobody };
      assert.deepEqual(leaf, {
        id: "cert_1",
        createdAt: "2025-01-01T00:00:00Z",
        metadata: null,
        subjectCommonName: "leaf",
        ...names,
        notBefore: "2026-02-28T12:00:00Z",
        notAfter: "2026-04-10T12:00:00Z",
        daysLeft: 40,
        serialNumber: serialNumber.toLowerCase(),
        fingerprint: createHash("sha256").update(raw).digest("hex"),
        ...nothingElse,
      });
      assert.deepEqual(told, {
        id: "cert_2",
        createdAt: "2025-01-01T00:00:00Z",
        metadata: "m",
        subjectCommonName: "told",
        dnsNames: ["told.example"],
        ips: [],
        notBefore: "2025-01-01T00:00:00Z",
        notAfter: inDays(50).toISOString(),
        daysLeft: 50,
        serialNumber: "0a",
        fingerprint: null,
        ...nothingElse,
      });
      const { id, createdAt, dnsNames, ips, ...unset } = nothing ?? {};
      assert.deepEqual([id, dnsNames, ips], ["cert_3", [], []]);
      assert.ok(Object.values(unset).every((value) => value === null || Array.isArray(value)));
    });

    it("counts those whose date is not known", () => {
      const unknown = certificateOf("unknown", 0, [], { not_after: null });
      const certificates = [unknown, certificateOf("week", 7.5)];
      const reports = [undefined, 30].map((limit) =>
        statusOf(account({ certificates }), now, limit),
      );
      const [all, due] = reports.map((status) => statusText(status, { width: 80, colour: false }));
      assert.match(all ?? "", /2 certificates \(1 with no known expiry date\)/);
      assert.match(due ?? "", /\(1 due in 30 days, 1 with no known expiry date\)/);
    });

    it("names the edges that each serves, also where it is one of several", () => {
      const early = { not_before: inDays(1).toISOString() };
      const edges = [
        edgeOf(["a.x.example:443", "b.x.example:8443", "y.example:443"], { id: "edgtls_2" }),
        edgeOf(["192.0.2.1:443", "c.x.example:443"], { id: "edgtls_1" }),
        edgeOf(["d.x.example:443"], {
          id: "edgtls_0",
          tls_termination: { terminate_at: "upstream" },
        }),
      ];
      const { certificates } = statusOf(
        account({
          edges,
          certificates: [
            certificateOf("wild", 5, ["*.x.example", "A.x.example"]),
            certificateOf("named", 6, ["a.x.example"]),
            certificateOf("address", 7, ["192.0.2.1"], {
              subject_alternative_names: { dns_names: ["192.0.2.9"], ips: ["192.0.2.1"] },
            }),
            certificateOf("expired", -1, ["y.example"]),
            certificateOf("early", 8, ["y.example"], early),
          ],
        }),
        now,
      );
      assert.deepEqual(Object.fromEntries(certificates.map(({ id, edges }) => [id, edges])), {
        expired: [],
        wild: [
          { id: "edgtls_2", hostports: ["a.x.example:443", "b.x.example:8443"] },
          { id: "edgtls_1", hostports: ["c.x.example:443"] },
        ],
        named: [{ id: "edgtls_2", hostports: ["a.x.example:443"] }],
        address: [{ id: "edgtls_1", hostports: ["192.0.2.1:443"] }],
        early: [],
      });
    });

    it("in text says what each is for, and why some are unused", () => {
      const metadata = JSON.stringify({ owner: "web" });
      const status = statusOf(
        account({
          edges: [edgeOf(["x.example:443"])],
          certificates: [
            certificateOf("cert_1", 5, ["x.example"], { description: "old", metadata }),
            certificateOf("cert_2", 6, ["x.example"], { metadata: '{"owner":7}' }),
            certificateOf("cert_3", 7, ["x.example"], { description: "new" }),
            certificateOf("cert_4", 8, ["y.example"], { description: "alone" }),
            certificateOf("cert_5", -1.5, ["x.example"], { metadata }),
            certificateOf("cert_6", 9, ["x.example"], { not_before: inDays(1).toISOString() }),
            certificateOf("cert_7", 0, ["x.example"], { not_after: null }),
          ],
        }),
        now,
      );
      const report = statusText(status, { width: 80, colour: false });
      const lines = (title: string) =>
        report
          .split("\n\n")
          .find((part) => part.startsWith(title))
          ?.split("\n")
          .slice(2);
      const unused = lines("Unused certificates")?.map((line) => line.replace(/ {2,}/g, "  "));
      assert.deepEqual(unused, [
        "cert_5  x.example  expired on 2026-02-28",
        "  owner: web",
        "cert_7  x.example  its expiry date is not known",
        "cert_4  y.example  covers no hostport that needs a certificate",
        "  alone",
        "cert_6  x.example  not valid before 2026-03-02",
      ]);
      const certificates = lines("Certificates")?.map((line) => line.replace(/ {2,}/g, "  "));
      assert.deepEqual(certificates, [
        "cert_5  x.example  2026-02-28, expired",
        "  owner: web",
        "cert_7  x.example  unknown",
        "cert_1  x.example  2026-03-06, 5 days",
        "  old",
        "  owner: web",
        "cert_2  x.example  2026-03-07, 6 days",
        "cert_3  x.example  2026-03-08, 7 days",
        "  new",
        "cert_4  y.example  2026-03-09, 8 days",
        "  alone",
        "cert_6  x.example  2026-03-10, 9 days",
        "  valid from 2026-03-02",
      ]);
    });
  });

  describe("of hostports", () => {
    const certificates = [
      certificateOf("named", 100, ["App.example.com", "192.0.2.7"]),
      certificateOf("wild", 100, ["*.wild.example.com"]),
      certificateOf("expired", -1, ["expired.example.com"]),
      certificateOf("early", 100, ["early.example.com"], { not_before: inDays(1).toISOString() }),
      certificateOf("addresses", 100, [], {
        subject_common_name: "cn.example.com",
        subject_alternative_names: { ips: ["192.0.2.1", "2001:DB8:0:0:0:0:0:1"] },
      }),
    ];
    const hostports: [string, boolean][] = [
      ["app.example.com:443", true],
      ["APP.example.com:8443", true],
      ["x.app.example.com:443", false],
      ["a.wild.example.com:443", true],
      ["*.wild.example.com:443", true],
      ["wild.example.com:443", false],
      ["a.b.wild.example.com:443", false],
      ["*.a.wild.example.com:443", false],
      ["expired.example.com:443", false],
      ["early.example.com:443", false],
      ["cn.example.com:443", false],
      ["192.0.2.1:443", true],
      ["192.0.2.2:443", false],
      ["192.0.2.7:443", false],
      ["[2001:db8::1]:443", true],
      ["[2001:db8::2]:443", false],
    ];
    it("has those covered that a certificate is valid for now", () => {
      const edges = [edgeOf(hostports.map(([hostport]) => hostport))];
      const [edge] = statusOf(account({ edges, certificates }), now).edges;
      const uncovered = hostports.filter(([, covered]) => !covered).map(([hostport]) => hostport);
      assert.deepEqual(edge?.uncoveredHostports, uncovered);
    });

    const terminations: [TLSEdgeWire["tls_termination"], boolean][] = [
      [{ terminate_at: "upstream" }, false],
      [{ terminate_at: "upstream", enabled: true }, false],
      [{ terminate_at: "upstream", enabled: false }, true],
      [{ terminate_at: "edge", enabled: true }, true],
      [null, true],
    ];
    for (const [tls_termination, needed] of terminations) {
      it(`${needed ? "misses" : "needs no"} certificate for ${JSON.stringify(tls_termination)}`, () => {
        const edges = [edgeOf(["x.example:443"], { tls_termination })];
        const [edge] = statusOf(account({ edges }), now).edges;
        assert.deepEqual(edge?.uncoveredHostports, needed ? ["x.example:443"] : []);
      });
    }
  });

  const access: [string, Partial<TLSEdgeWire>, boolean, boolean][] = [
    ["nothing", {}, false, true],
    ["TLS 1.0", { tls_termination: { terminate_at: "edge", min_version: "1.0" } }, true, true],
    ["TLS 1.1", { tls_termination: { min_version: "1.1" } }, true, true],
    ["TLS 1.2", { tls_termination: { terminate_at: "edge", min_version: "1.2" } }, false, true],
    ["TLS that is off", { tls_termination: { enabled: false, min_version: "1.0" } }, false, true],
    ["IP rules", { ip_restriction: { enabled: true } }, false, false],
    ["IP rules that are off", { ip_restriction: { enabled: false } }, false, true],
    ["mTLS", { mutual_tls: {} }, false, false],
  ];
  for (const [what, modules, weak, open] of access) {
    it(`of an edge with ${what} says ${weak ? "weak" : "not weak"}, ${open ? "open" : "not open"}`, () => {
      const limits = [["weak"], ["open"], ["weak", "open"], ["expiring"]] as Mark[][];
      const statuses = limits.map((failOn) =>
        statusOf(account({ edges: [edgeOf([], modules)] }), now, undefined, failOn),
      );
      const [edge] = statuses[0]?.edges ?? [];
      assert.deepEqual([edge?.weak, edge?.open], [weak, open]);
      const failing = statuses.map(({ failing }) => failing.length > 0);
      assert.deepEqual(failing, [weak, open, weak || open, false]);
    });
  }

  it("in text marks and counts edges that are weak or open, and modules that are off", () => {
    const weak = { terminate_at: "edge", min_version: "1.0" };
    const off = { enabled: false, ip_policies: [{ id: "ipp_1", uri: "" }] };
    const edges = [
      edgeOf(["a.example:443"], { description: "the shop", tls_termination: weak }),
      edgeOf(["b.example:443"], { ip_restriction: off, mutual_tls: { enabled: true } }),
    ];
    const textOf = (failOn: Mark[]) =>
      statusText(statusOf(account({ edges }), now, undefined, failOn), { width: 80, colour: true });
    const text = stripVTControlCharacters(textOf([]));
    for (const said of [
      "the shop",
      "TLS edge 1.0.",
      "weak TLS",
      "open to all",
      "IP rules ipp_1 off",
    ])
      assert.match(text, new RegExp(`  ${said}(  |$)`, "m"));
    assert.match(
      text,
      /\n2 edges \(2 hostports uncovered, 1 with weak TLS, 1 open to all, 1 module off\), 0/,
    );
    const [red, yellow] = ["\u001b[31m", "\u001b[33m"];
    assert.ok(
      textOf(["open"]).includes(`${red}open to all`) && textOf([]).includes(`${yellow}open`),
    );
  });

  it("of an edge is null for what is not configured, and on for what does not say", () => {
    const bare = { id: "edgtls_2", uri: "", created_at: "" };
    const modules = {
      backend: {},
      ip_restriction: { enabled: false },
      mutual_tls: { enabled: null },
    };
    const { edges } = statusOf(account({ edges: [bare, edgeOf([], modules)] }), now);
    assert.deepEqual(edges[0], {
      id: "edgtls_2",
      description: null,
      createdAt: "",
      metadata: null,
      hostports: [],
      uncoveredHostports: [],
      backend: null,
      ipRestriction: null,
      mutualTls: null,
      tlsTermination: null,
      weak: false,
      open: true,
      ...nobody,
    });
    const { backend, ipRestriction, mutualTls } = edges[1] ?? {};
    assert.deepEqual(
      [backend, ipRestriction, mutualTls].map((module) => module?.enabled),
      [true, false, true],
    );
  });

  it("of twins names what an update that was cut off may have left", async () => {
    const made = await makeCertificate({ commonName: "x.example" });
    const pem = { certificate_pem: made.certificatePem };
    const at = (day: number) => `2026-01-0${day}T00:00:00Z`;
    const certificates = [
      certificateOf("cert_3", 9, [], { ...pem, description: "d", created_at: at(3) }),
      certificateOf("cert_2", 9, [], { ...pem, description: "other" }),
      certificateOf("cert_1", 9, [], { ...pem, description: "d", metadata: "", created_at: at(1) }),
      // What can't be parsed can't be compared.
      certificateOf("cert_0", 9),
      certificateOf("cert_00", 9),
    ];
    const backend = { enabled: true, backend: { id: "bkdtg_1", uri: "https://x" } };
    const edges = [
      edgeOf([], { id: "edgtls_3", backend }),
      edgeOf([], { id: "edgtls_2", backend: { ...backend, enabled: false } }),
      edgeOf([], { id: "edgtls_1", backend, mutual_tls: null }),
    ];
    const status = statusOf(account({ certificates, edges }), now);
    assert.deepEqual(
      status.twins.map((group) => group.map(({ id }) => id)),
      [
        ["edgtls_3", "edgtls_1"],
        ["cert_3", "cert_1"],
      ],
    );
    assert.equal(status.twins[1]?.[1]?.createdAt, at(1));
    const report = statusText(status, { width: 80, colour: false });
    const rows = /^cert_3 +2026-01-03T00:00:00Z +-\ncert_1 +2026-01-01T00:00:00Z +the one above$/m;
    assert.match(report, rows);
    assert.doesNotMatch(
      statusText(statusOf(account({}), now), { width: 80, colour: false }),
      /Twin/,
    );
  });

  it("in text fits every width, wide characters and long words too", () => {
    const id = "edgtls_0123456789abcdefghijklmnopq";
    const long = `${"long-".repeat(20)}name.example.com`;
    const wide = "トンネル".repeat(13);
    const status = statusOf(
      account({
        edges: [edgeOf([`${long}:443`, "a.example:443"], { id })],
        certificates: [certificateOf("cert_1", 3, [long, "a.example", "b.example"])],
        tunnels: [{ id: "tn_1", labels: { name: wide, [long]: long } }, { id: "tn_2" }],
      }),
      now,
      7,
    );
    for (const width of [60, 80, 100, 120, 200]) {
      const report = statusText(status, { width, colour: width === 200 });
      assertFits(report, width);
      const plain = stripVTControlCharacters(report);
      for (const part of [id, "cert_1", "tn_2"])
        assert.ok(plain.includes(part), "it is in one piece");
      assert.equal(plain.match(/\p{Script=Katakana}/gu)?.join(""), wide, "nothing is cut off");
    }
  });

  it("C90 in text shows what others wrote escaped, and obeys none of it", () => {
    const labels = { "\u001b[31mred": "a\nb\u202e\u001b]0;title\u0007" };
    const status = statusOf(account({ tunnels: [{ id: "tn_1", labels }] }), now);
    const report = statusText(status, { width: 80, colour: false });
    assert.ok(report.includes("\\u001b[31mred=a\\nb\\u202e\\u001b]0;title\\u0007 "), report);
    for (const control of ["\u001b", "\u0007", "\u202e"]) assert.ok(!report.includes(control));
  });
});

describe("npx --no pulumi-tlsedge", () => {
  const bin = path.resolve(manifest.bin["pulumi-tlsedge"]);
  let emulator: Emulator;
  let settings: Record<string, string>;
  let respond: Respond;

  before(async () => {
    emulator = await startEmulator({
      tunnels: [
        { id: "tn_web", labels: { app: "web", env: "production" }, region: "eu" },
        { id: "tn_ssh", public_url: "tcp://ssh.example:22", proto: "tcp", forwards_to: "h:22" },
      ],
      respond: (body, request) => respond(body, request),
    });
    settings = { ...settingsFor(emulator), TLSEDGE_MAX_RETRIES: "0" };
  });
  beforeEach(() => {
    respond = (body) => body;
    emulator.reset();
  });
  after(() => emulator.close());

  type Variables = Record<string, string | undefined>;
  const run = (line: string, env: Variables = {}, terminals = {}): Promise<Outcome> =>
    runCommand(line.split(" ").filter(Boolean), { ...settings, ...env }, terminals);

  /** Starts Node.js, with the settings in its environment. */
  function spawnNode(args: string[], env: Variables = {}, stdout: "pipe" | number = "pipe") {
    const { NO_COLOR: _, FORCE_COLOR: __, COLUMNS: ___, NODE_OPTIONS: ____, ...rest } = process.env;
    const all = { ...rest, GITHUB_ACTIONS: undefined, ...settings, ...env };
    return spawn(process.execPath, args, { stdio: ["ignore", stdout, "pipe"], env: all });
  }

  async function ended(child: ReturnType<typeof spawnNode>): Promise<Outcome> {
    const said = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ""));
    const [code] = await once(child, "close");
    const [stdout = "", stderr = ""] = await Promise.all(said);
    return { code, stdout, stderr };
  }

  const accountOf = () => clientOf(emulator, { requestsPerMinute: 0 });

  async function upload(days: number, dnsNames: string[]): Promise<string> {
    const { id } = await uploadWith(accountOf(), {
      commonName: dnsNames[0] ?? "",
      dnsNames,
      notBefore: new Date(Date.now() - 400 * dayMs),
      // Half a day more, so that the days left are the same however long the tests take.
      notAfter: inDays(days + 0.5, new Date()),
    });
    return id;
  }

  /** Certificates from the newest to the oldest, in an order that is not that of urgency. */
  async function seed() {
    const ids = {
      later: await upload(300, ["later.example.com"]),
      expired: await upload(-3, ["expired.example.com"]),
      month: await upload(20, ["month.example.com", "www.month.example.com"]),
      soon: await upload(3, ["*.soon.example.com"]),
    };
    const client = accountOf();
    const covered = await tlsEdges.create(client, {
      hostports: ["a.soon.example.com:443", "later.example.com:443"],
      backend: { backend_id: "bkdtg_1" },
      ip_restriction: { enabled: false, ip_policy_ids: ["ipp_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.3" },
    });
    const bare = await tlsEdges.create(client, {
      hostports: ["expired.example.com:443", "b.a.soon.example.com:443", "month.example.com:443"],
    });
    const upstream = await tlsEdges.create(client, {
      hostports: ["passed-on.example.com:443"],
      tls_termination: { terminate_at: "upstream" },
    });
    return { ...ids, covered: covered.id, bare: bare.id, upstream: upstream.id };
  }

  /** The lines of the part of a report under a title. */
  function part(report: string, title: string): string[] {
    const found = report.split("\n\n").find((each) => each.startsWith(title));
    assert.ok(found, `no ${title} in ${report}`);
    return found.split("\n").slice(1);
  }

  it("status shows what the account holds, and nothing on stderr", async () => {
    const ids = await seed();
    const { code, stdout, stderr } = await run("status", { COLUMNS: "200" });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(stdout.split("\n")[0], `Service: ${new URL(emulator.url).host}`);
    const row = (title: string, text: string) =>
      part(stdout, title)
        .find((line) => line.includes(text))
        ?.split(/ {2,}/) ?? [];
    const order = part(stdout, "Certificates").map((line) => line.split(" ")[0]);
    assert.deepEqual(order.slice(1), [ids.expired, ids.soon, ids.month, ids.later]);
    const edge = ["a.soon.example.com:443", "backend bkdtg_1"];
    assert.deepEqual(row("Edges", ids.covered).slice(1), edge);
    for (const said of ["IP rules ipp_1 off", "TLS edge 1.3+", "TLS upstream", "open to all"])
      assert.ok(stdout.includes(`  ${said}\n`), said);
    const bare = part(stdout, "Hostports without a certificate").slice(1);
    const hostports = bare.map((line) => line.replace(`${ids.bare}  `, ""));
    assert.deepEqual(hostports, ["expired.example.com:443", "b.a.soon.example.com:443"]);
    assert.deepEqual(row("Tunnels", "tn_ssh"), ["tn_ssh", "tcp://ssh.example:22", "h:22", "us"]);
    assert.ok(row("Tunnels", "tn_web").includes("app=web, env=production"));
    const summary = stdout.trimEnd().split("\n").at(-1) ?? "";
    for (const said of ["3 edges", "2 hostports", "4 certificates", "1 expired", "2 tunnels"]) {
      assert.ok(summary.includes(said), summary);
    }
  });

  it("status takes the width of its terminal, or COLUMNS, or 80, and breaks no id", async () => {
    const ids = await seed();
    const reports = [
      [await run("status"), 80],
      [await run("status", { COLUMNS: "60" }), 60],
      [await run("status", { COLUMNS: "80" }, { stdout: terminal(100) }), 100],
    ] as const;
    for (const [{ stdout }, width] of reports) {
      assertFits(stdout, width);
      for (const id of Object.values(ids)) assert.ok(stdout.includes(id), id);
    }
    assert.equal(new Set(reports.map(([{ stdout }]) => stdout)).size, 3);
  });

  it("C90 status in a job of GitHub Actions is read without commands", async () => {
    await seed();
    const env = { GITHUB_ACTIONS: "true" };
    const [first, second] = [await run("status", env), await run("status", env)];
    const [, token] = /^::stop-commands::(\S{32,})\n/.exec(first.stdout) ?? [];
    assert.ok(token && first.stdout.endsWith(`\n::${token}::\n`), first.stdout);
    assert.ok(!second.stdout.includes(token));
    assert.equal(
      first.stdout.split("\n").slice(1, -2).join("\n"),
      (await run("status")).stdout.trimEnd(),
    );
    for (const format of ["json", "markdown"]) {
      const { stdout } = await run(`status --format ${format}`, env);
      assert.ok(!stdout.includes("stop-commands"), stdout);
    }
    const file = fileWith("");
    await ended(spawnNode([bin, "status"], env, openSync(file, "w")));
    assert.equal(readFileSync(file, "utf8"), (await run("status")).stdout);
  });

  it("status exits with 2 for what --fail-on and --fail-within say, in every format", async () => {
    const { id } = await tlsEdges.create(accountOf(), {
      mutual_tls: { certificate_authority_ids: ["ca_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.0" },
    });
    const certificate = await upload(10, ["soon.example.com"]);
    const cases: [string, string[]][] = [
      ["", []],
      ["--fail-within 0", []],
      ["--fail-within 10", []],
      ["--fail-within 11", [certificate]],
      ["--fail-on open", []],
      ["--fail-on weak", [id]],
      ["--fail-on expiring", [certificate]],
      ["--fail-on expiring --fail-within 5", []],
      ["--fail-on weak,open,expiring", [id, certificate]],
      ["--fail-on weak --fail-within 30", [id, certificate]],
    ];
    for (const [options, failing] of cases) {
      const { code, stdout } = await run(`status --json ${options}`);
      assert.deepEqual([code, JSON.parse(stdout).failing], [failing.length > 0 ? 2 : 0, failing]);
    }
    for (const format of ["text", "json", "markdown", "html"]) {
      assert.equal((await run(`status --format ${format} --fail-on weak`)).code, 2, format);
    }
  });

  it("status --json prints one object, uncoloured, with dates and numbers", async () => {
    const ids = await seed();
    const [env, stderrs] = [{ FORCE_COLOR: "1" }, { stderr: terminal() }];
    const { code, stdout, stderr } = await run("status --json --fail-within 10", env, stderrs);
    assert.deepEqual([code, stderr], [2, ""]);
    const { at, edges, certificates, tunnels, ...status } = JSON.parse(stdout) as Status;
    assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(status, {
      service: new URL(emulator.url).host,
      failOn: ["expiring"],
      failWithin: 10,
      failing: [ids.expired, ids.soon],
      twins: [],
    });
    const { notAfter, notBefore, createdAt, serialNumber, fingerprint, ...soon } =
      certificates[1] ?? {};
    assert.deepEqual(soon, {
      id: ids.soon,
      description: null,
      metadata: null,
      subjectCommonName: "*.soon.example.com",
      dnsNames: ["*.soon.example.com"],
      ips: [],
      daysLeft: 3,
      edges: [{ id: ids.covered, hostports: ["a.soon.example.com:443"] }],
      ...nobody,
    });
    assert.match(`${serialNumber} ${fingerprint}`, /^[0-9a-f]+ [0-9a-f]{64}$/);
    for (const date of [notAfter, notBefore, createdAt])
      assert.match(String(date), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const { createdAt: made, ...covered } = edges.at(-1) ?? {};
    assert.match(String(made), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(covered, {
      id: ids.covered,
      description: null,
      metadata: null,
      hostports: ["a.soon.example.com:443", "later.example.com:443"],
      uncoveredHostports: [],
      backend: { enabled: true, backendId: "bkdtg_1" },
      ipRestriction: { enabled: false, ipPolicyIds: ["ipp_1"] },
      mutualTls: null,
      tlsTermination: { enabled: true, terminateAt: "edge", minVersion: "1.3" },
      weak: false,
      open: true,
      ...nobody,
    });
    assert.deepEqual(tunnels[0], {
      id: "tn_web",
      publicUrl: null,
      proto: null,
      region: "eu",
      labels: { app: "web", env: "production" },
      forwardsTo: "http://localhost:80",
    });
  });

  describe("check", () => {
    const looked = async (env: Variables = {}) => {
      const { code, stdout } = await run("check --json", { PATH: process.env.PATH, ...env });
      const { checks } = JSON.parse(stdout) as { checks: Check[] };
      return { code, checks: new Map(checks.map((one) => [one.name, one])) };
    };

    it("says that all is right, and asks twice", async () => {
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

    it("names a clock that is wrong", async () => {
      emulator.clocks.date = 3_600_000;
      const { code, checks } = await looked();
      assert.deepEqual([code, checks.get("clock")?.ok], [1, false]);
      assert.match(checks.get("clock")?.text ?? "", /^it is 3[56]\d\d s behind/);
    });

    it("prints a line for each, and lets no text of others act", async () => {
      const { code, stdout } = await run("check", { TLSEDGE_API_KEY: "wrong" });
      assert.equal(code, 1);
      assert.match(stdout, /^ok settings {2}the base URL is /);
      assert.match(stdout, /^no key .*401/m);
    });
  });

  it("status shows what each edge uses, and groups edges by environment and owner", async () => {
    const client = accountOf();
    const of = (environment?: string, owner?: string) => JSON.stringify({ environment, owner });
    const make = (name: string, metadata: string) =>
      tlsEdges.create(client, {
        hostports: [`${name}.example:443`],
        metadata,
        backend: { backend_id: `bkdtg_${name}` },
        ip_restriction: { ip_policy_ids: ["ipp_1", "ipp_2"] },
        mutual_tls: { certificate_authority_ids: ["ca_1"] },
      });
    await make("d", of("production", "web"));
    await make("a", of("production", "api"));
    await make("e", "text");
    await make("c", of("dev"));
    const text = (await run("status", { COLUMNS: "200" })).stdout;
    const rows = part(text, "Edges");
    const order = rows.flatMap((line) => /(\w)\.example:443/.exec(line)?.[1] ?? []);
    assert.deepEqual(order, ["c", "a", "d", "e"]);
    for (const said of [
      "environment: production, owner: web",
      "environment: dev",
      "backend bkdtg_a",
      "IP rules ipp_1, ipp_2",
      "mTLS ca_1",
    ]) {
      assert.ok(rows.join("\n").includes(`  ${said}`), said);
    }
  });

  it("status --json has no character that a terminal obeys, and is the same JSON", async () => {
    const hostile = "a\u007f\u0080\u009b31m\u009f\u2028\u2029\u00a0é\u001b[1m";
    emulator.tunnels.online({ labels: { name: hostile, [hostile]: "b" } });
    const { stdout } = await run("status --json");
    assert.doesNotMatch(stdout, /[\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/u);
    assert.match(stdout, /\\u009b31m/);
    assert.match(stdout, /\u00a0é/);
    const { tunnels } = JSON.parse(stdout) as Status;
    assert.deepEqual(tunnels[0]?.labels, { name: hostile, [hostile]: "b" });
  });

  it("status --format has the same objects in each format", async () => {
    const ids = await seed();
    const reports = await Promise.all(
      ["text", "json", "markdown", "html"].map((format) => run(`status --format ${format}`)),
    );
    for (const { code, stdout, stderr } of reports) {
      assert.deepEqual([code, stderr], [0, ""]);
      for (const id of Object.values(ids)) assert.ok(stdout.includes(id), id);
    }
    assert.equal(reports[0]?.stdout, (await run("status")).stdout);
    assert.equal((await run("status --format json --json")).code, 0);
  });

  it("C50 status --format html prints a page, with no key in it", async () => {
    const metadata = '{"owner":"the web team"}';
    const made = await uploadWith(accountOf(), { commonName: "x.example" }, { metadata });
    const { stdout: page } = await run("status --format html", { GITHUB_ACTIONS: "true" });
    assert.match(page, /^<!doctype html>.*<\/html>\n$/s);
    assert.ok(page.includes("the web team"));
    const secrets = new Secrets();
    secrets.add("the API key", emulator.apiKey);
    secrets.add("the private key", made.private_key_pem);
    assert.deepEqual(secrets.in(page), []);
  });

  it("status reads every page, and tells of it on a terminal alone", async () => {
    for (let n = 0; n < 220; n++) emulator.tunnels.online({ region: "ap" });
    const piped = await run("status");
    assert.equal(piped.stderr, "");
    assert.match(piped.stdout, /222 tunnels\n$/);
    const { stdout, stderr } = await run("status", {}, { stderr: terminal() });
    assert.equal(stdout, piped.stdout);
    for (const told of ["edges…", "certificates…", "tunnels…", "tunnels… 200"]) {
      assert.ok(stderr.includes(`Reading ${told}`), stderr);
    }
    assert.ok(stderr.endsWith("\r\u001b[K"), "it is cleared");
  });

  describe("colours", () => {
    const red = "\u001b[31m";
    const xterm = { TERM: "xterm-256color" };
    const cases: [string, Variables, boolean, boolean][] = [
      ["no terminal", xterm, false, false],
      ["a terminal", xterm, true, true],
      ["a terminal and NO_COLOR", { ...xterm, NO_COLOR: "1" }, true, false],
      ["no terminal and FORCE_COLOR", { FORCE_COLOR: "1" }, false, true],
      ["a terminal and FORCE_COLOR=0", { ...xterm, FORCE_COLOR: "0" }, true, false],
      ["a terminal that has none", { TERM: "dumb" }, true, false],
    ];
    for (const [where, env, isTerminal, coloured] of cases) {
      it(`are ${coloured ? "" : "not "}used with ${where}`, async () => {
        await upload(-3, ["expired.example.com"]);
        const { stdout } = await run("status", env, isTerminal ? { stdout: terminal() } : {});
        assert.equal(stdout.includes(red), coloured);
        assert.equal(stdout !== stripVTControlCharacters(stdout), coloured);
      });
    }

    const paints: [number, string, string, string][] = [
      [-3, "", "31", "expired"],
      [6, "", "31", "6 days"],
      [7, "", "33", "7 days"],
      [29, "", "33", "29 days"],
      [30, "", "32", "30 days"],
      // In words too, for who sees no colour.
      [60, "--fail-within 90", "31", "60 days, due"],
    ];
    for (const [days, options, paint, said] of paints) {
      it(`say how urgent ${days} days are ${options}`, async () => {
        await upload(days, ["x.example.com"]);
        const { stdout } = await run(`status ${options}`, { FORCE_COLOR: "1" });
        assert.match(stdout, new RegExp(`\\[${paint}m[-\\d]{10}, ${said}.\\[39m`));
      });
    }
  });

  describe("when it fails", () => {
    const secret = "tlse_a-key-that-must-not-be-seen";

    /** One line on stderr, exit code 1, nothing on stdout, no stack, no key. */
    function assertFailure({ code, stdout, stderr }: Outcome, ...says: (string | RegExp)[]): void {
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^error: [^\n]+\n$/);
      assert.doesNotMatch(stderr, /\.js:\d+/);
      for (const key of [secret, emulator.apiKey]) assert.ok(!stderr.includes(key), stderr);
      for (const said of says) assert.match(stderr, new RegExp(said));
    }

    it("for want of settings, it names the variables and no config", async () => {
      const none = { TLSEDGE_API_KEY: undefined, TLSEDGE_BASE_URL: undefined };
      const outcome = await run("status", none);
      assertFailure(outcome, "TLSEDGE_API_KEY", "TLSEDGE_BASE_URL");
      assert.ok(!outcome.stderr.includes("pulumi config"), outcome.stderr);
      const other = await run("status --connection tlsedge-staging");
      assertFailure(other, "TLSEDGE_STAGING_API_KEY", "TLSEDGE_STAGING_BASE_URL");
      assertFailure(await run("status --connection UPPER"), "lower-case");
    });

    it("for an address that is no base URL, it names the base URL", async () => {
      const at = (url: string) => run("status", { TLSEDGE_BASE_URL: url });
      assertFailure(await at("http://localhost"), "https://", "TLSEDGE_BASE_URL");
      assertFailure(await at(`${emulator.url}/v9`), "404", "TLSEDGE_BASE_URL");
    });

    it("--connection takes the settings of the connection of that name", async () => {
      const env = settingsFor(emulator, "TLSEDGE_STAGING");
      assert.equal((await run("status --connection tlsedge-staging", env)).code, 0);
    });

    const quoting = answer(400, { msg: `no such\n\u001b[1mkey: ${secret}` });
    /** What answers, the settings, and what the line says, with the setting that it names. */
    const cases: [string, Answer | undefined, Variables, string, string][] = [
      ["no service", undefined, {}, "ECONNREFUSED", "BASE_URL"],
      ["HTML", answer(200, "<html>"), {}, "JSON", "BASE_URL"],
      ["no trust", silence, { CA_FILE: undefined }, "CERT|SIGNATURE", "CA_FILE"],
      ["no answer", silence, { TIMEOUT_SECONDS: "1" }, "ETIMEDOUT", "TIMEOUT_SECONDS"],
      ["a key that is not known", answer(401), {}, "401", "API_KEY"],
      ["a refused key", answer(403), {}, "403", "API_KEY"],
      ["a quoted key", quoting, {}, "400.*key: \\[secret\\]", ""],
      ["a connection that is cut", reset, {}, "GET /edges/tls.*(hang up|ECONNRESET)", ""],
    ];
    /** The beginning of the variables of each connection, and what must not be named for it. */
    const connections: [string, string, RegExp][] = [
      ["status", "TLSEDGE_", /TLSEDGE_STAGING_|tlsedge:/],
      ["status --connection tlsedge-staging", "TLSEDGE_STAGING_", /TLSEDGE_(?!STAGING_)|tlsedge:/],
    ];
    for (const [line, prefix, others] of connections) {
      for (const [what, respondWith, more, cause, setting] of cases) {
        it(`for ${what}, \`${line}\` says what is wrong, and names nothing of another connection`, async () => {
          const server = await script(respondWith ?? silence);
          if (!respondWith) await server.close();
          const settings = { BASE_URL: server.url, CA_FILE: server.caFile, API_KEY: secret };
          const given = Object.entries({ ...settings, MAX_RETRIES: "0", ...more });
          const env = given.map(([name, value]) => [`${prefix}${name}`, value]);
          try {
            const outcome = await run(line, Object.fromEntries(env));
            assertFailure(outcome, cause, setting && `${prefix}${setting}`);
            assert.doesNotMatch(outcome.stderr, others);
          } finally {
            if (respondWith) await server.close();
          }
        });
      }
    }

    it("for a service that is away for longer, it says how often it was asked", async () => {
      const env = { TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_MAX_RETRIES: "1" };
      assertFailure(await run("status", env), "2 tries", "ECONNREFUSED", "TLSEDGE_BASE_URL");
    });

    it("for options that contradict each other, it says which, and asks nothing", async () => {
      const outcome = await run("status --json --format markdown");
      assertFailure(outcome, "--json", "--format markdown");
      assert.deepEqual(emulator.requests, []);
    });

    const mistakes: [string, RegExp][] = [
      ["statsu", /Did you mean status\?/],
      ["status --jsno", /Did you mean --json\?/],
      ["status more", /too many arguments/],
      ["status --fail-within", /argument missing/],
      ["status --fail-on weak,old", /weak,open,expiring/],
      ["status --format xml", /text, json, markdown, html/],
      ["status --fail-within soon", /whole number of days/],
      ["status --fail-within=-1", /whole number of days/],
    ];
    for (const [line, says] of mistakes) {
      it(`for \`${line}\`, it says what is meant`, async () => {
        const { code, stdout, stderr } = await run(line);
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(stderr, /^error: /);
        assert.match(stderr, says);
        assert.match(stderr, /--help/);
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

    it("finds the width, the colours and the progress of its terminal", async () => {
      await upload(-3, ["expired.example.com"]);
      // Loaded before the program, so that it finds a terminal where there is a pipe.
      const file = fileWith(`
        const { hasColors, getColorDepth } = require("node:tty").WriteStream.prototype;
        const terminal = { isTTY: true, columns: 120, hasColors, getColorDepth };
        for (const stream of [process.stdout, process.stderr]) Object.assign(stream, terminal);`);
      const env = { NODE_OPTIONS: `--require=${file}`, TERM: "xterm-256color", CI: undefined };
      const { stdout, stderr } = await ended(spawnNode([bin, "status"], env));
      const here = await run("status", { TERM: env.TERM }, { stdout: terminal(120) });
      assert.equal(stdout, here.stdout);
      assert.match(stderr, /Reading edges/);
    });

    it("says nothing to a reader that has gone", async () => {
      const child = spawnNode([bin, "status"]);
      child.stdout?.destroy();
      const said = text(child.stderr as Readable);
      const [code] = await once(child, "close");
      assert.deepEqual([code, await said], [0, ""]);
    });

    it("does not load Pulumi", async () => {
      const file = fileWith(
        `process.on("exit", () => console.error(Object.keys(require.cache).join()))`,
      );
      const env = { NODE_OPTIONS: `--require=${file}` };
      const { code, stderr } = await ended(spawnNode([bin, "status"], env));
      assert.equal(code, 0);
      assert.match(stderr, /commander/);
      assert.ok(!stderr.includes("@pulumi"), stderr);
    });

    it("is not loaded, nor its libraries, by a program that imports the package", async () => {
      const files = `Object.keys(require.cache).filter((file) => /dist.cli.main|dist.cli.status|commander|string-width/.test(file))`;
      const program = `require("pulumi-tlsedge"); console.log(JSON.stringify(${files}))`;
      const { stdout } = await ended(spawnNode(["-e", program]));
      assert.equal(stdout.trim(), "[]");
    });
  });

  it("--version and --help tell of it", async () => {
    assert.equal((await run("--version")).stdout, `${manifest.version}\n`);
    const { code, stdout } = await run("status --help");
    assert.equal(code, 0);
    for (const said of ["--json", "--fail-on", "--format", "--fail-within", "TLSEDGE_API_KEY"]) {
      assert.ok(stdout.includes(said), stdout);
    }
    assert.match((await run("--help")).stdout, /status/);
    assert.equal((await run("")).code, 1);
  });
});
