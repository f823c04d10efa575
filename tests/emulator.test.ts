import "reflect-metadata";
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createPrivateKey, webcrypto, X509Certificate } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { text } from "node:stream/consumers";
import { mock } from "node:test";
import * as x509 from "@peculiar/x509";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import type { TunnelWire } from "../client/tunnel";
import { maxRecorded } from "../emulator/middleware";
import {
  type Emulator,
  type EmulatorOptions,
  type MadeCertificate,
  makeCertificate,
  reasons,
  startEmulator,
} from "../emulator/server";
import { newFolder } from "../tools/folders";
import { assertLoopback, until } from "./support";

const main = path.join(__dirname, "../emulator/dist/main.js");

/** The fields of every kind of answer: which are there is what the tests are about. */
type Body = Required<TLSEdgeWire & TLSCertificateWire & TunnelWire> & {
  tls_edges: Body[];
  tls_certificates: Body[];
  tunnels: Body[];
  next_page_uri: string | null;
  error_code: string;
  status_code: number;
  msg: string;
  details: { operation_id: string };
};
type Headers = Record<string, string | undefined>;
type Reason = keyof typeof reasons;

const agent = new https.Agent({ keepAlive: true });
let emulator: Emulator;

/** One request over HTTPS, with the CA and the standard headers unless others are given. */
async function send(method: string, url: string, body?: unknown, headers: Headers = {}) {
  const all: Headers = {
    Authorization: `Bearer ${emulator.apiKey}`,
    "Service-Version": "2",
    "Content-Type": body === undefined ? undefined : "application/json",
    ...headers,
  };
  const set = Object.entries(all).filter(([, value]) => value !== undefined);
  const options = { method, headers: Object.fromEntries(set), ca: emulator.ca, agent };
  const request = https.request(new URL(url, emulator.url), options as https.RequestOptions);
  request.end(typeof body === "string" ? body : body && JSON.stringify(body));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const raw = await text(response);
  const { statusCode: status, headers: answered } = response;
  return { status, headers: answered, text: raw, body: JSON.parse(raw || "{}") as Body };
}

const get = async (url: string) => (await send("GET", url)).body;

async function create(url: string, body: unknown): Promise<Body> {
  const answer = await send("POST", url, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

/** Asserts that what was sent is refused for this reason. */
function assertRefused(reason: Reason, answer: Awaited<ReturnType<typeof send>>, what: string) {
  const { status, code } = reasons[reason];
  const { error_code, status_code, details } = answer.body;
  const message = `${reason} of ${what}: ${answer.text}`;
  assert.deepEqual([error_code, answer.status, status_code], [code, status, status], message);
  assert.match(details.operation_id, /^op_\w{27}$/, message);
  assert.match(String(answer.headers["content-type"]), /^application\/json/, message);
  return answer;
}

/** Sends what is refused for this reason. */
const refused = async (reason: Reason, ...request: Parameters<typeof send>) =>
  assertRefused(reason, await send(...request), JSON.stringify(request).slice(0, 200));

async function restart(options: EmulatorOptions = {}) {
  await emulator.close();
  emulator = await startEmulator(options);
}

describe("the emulator", () => {
  before(async () => {
    emulator = await startEmulator();
  });
  beforeEach(() => emulator.reset());
  after(() => {
    agent.destroy();
    return emulator.close();
  });

  const [edges, certificates] = ["/edges/tls", "/tls_certificates"];

  describe("every request", () => {
    it("is served at its root (api.md 4.5) to a client that trusts the CA", async () => {
      const [error] = await once(https.get(emulator.url, { agent: false }), "error");
      assert.equal(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
      const url = emulator.url.replace("localhost", "127.0.0.1");
      const headers = { "Service-Version": undefined, "SERVICE-version": "0" };
      const { body: root } = await send("GET", url, undefined, headers);
      const uris = [edges, certificates, "/tunnels"].map((to) => `${emulator.url}${to}`);
      assert.deepEqual([root.tls_edges, root.tls_certificates, root.tunnels], uris);
    });

    it("comes from this machine", () => assertLoopback(Number(new URL(emulator.url).port)));

    it("is refused, with a reason", async () => {
      for (const [reason, method, url, body, headers] of [
        ["keyRefused", "GET", "/tunnels", undefined, { Authorization: undefined }],
        ["keyRefused", "GET", "/tunnels", undefined, { Authorization: "Bearer x" }],
        ["keyRefused", "GET", "/tunnels", undefined, { Authorization: emulator.apiKey }],
        ["versionRefused", "GET", "/", undefined, { "Service-Version": undefined }],
        ["versionRefused", "GET", "/", undefined, { "Service-Version": "3" }],
        ["unknownPath", "GET", "/edges/http"],
        ["unknownPath", "GET", "/v1/edges/tls?limit=100"],
        ["wrongMethod", "PUT", edges, {}],
        ["wrongMethod", "DELETE", "/tunnels/tn_x"],
        ["contentType", "POST", edges, "{}", { "Content-Type": undefined }],
        ["contentType", "POST", edges, "{}", { "Content-Type": "text/json" }],
        ["bodyNotJSON", "POST", edges, "{"],
        ["fieldInvalid", "POST", edges, []],
        ["bodyTooLarge", "POST", edges, { metadata: "m".repeat(2 ** 20) }],
        ["unknownParameter", "GET", "/edges/tls?page=2"],
        ["unknownParameter", "POST", "/edges/tls?limit=2", {}],
        ["unknownParameter", "DELETE", "/edges/tls/edgtls_x?limit=2"],
        ["unknownParameter", "GET", "/tunnels?limit=2&limit=2"],
        ["limitInvalid", "GET", "/edges/tls?limit=0"],
        ["limitInvalid", "GET", "/tunnels?limit=101"],
        ["beforeIdUnknown", "GET", "/edges/tls?before_id=edgtls_x"],
        ["notFound", "GET", "/edges/tls/edgtls_x"],
        ["notFound", "PATCH", "/edges/tls/edgtls_x", {}],
        ["notFound", "DELETE", "/edges/tls/edgtls_x"],
      ] as [Reason, string, string, unknown?, Headers?][]) {
        await refused(reason, method, url, body, headers);
      }
      // The message of JSON.parse would quote the text, which may be a key.
      const { body } = await refused("bodyNotJSON", "POST", edges, "hunter2");
      assert.doesNotMatch(body.msg, /hunter/);
    });

    it("is recorded with its status, without a key, and its body only with a valid key", async () => {
      await send("POST", "/tls_certificates?x=1", { private_key_pem: "secret" });
      await send("POST", edges, { description: "d" }, { Authorization: "Bearer wrong" });
      const [uploaded, refused] = emulator.requests.map(({ headers: _, ...request }) => request);
      const upload = { method: "POST", path: "/tls_certificates?x=1", status: 400 };
      assert.deepEqual(uploaded, { ...upload, body: { private_key_pem: "(not recorded)" } });
      assert.deepEqual(refused, { method: "POST", path: edges, status: 401, body: undefined });
      assert.equal(emulator.requests[0]?.headers["service-version"], "2");
      assert.doesNotMatch(JSON.stringify(emulator.requests), /secret|[Bb]earer/);
    });
  });

  it("refuses a body that is too large before it has come", async () => {
    const headers = { Authorization: `Bearer ${emulator.apiKey}`, "Service-Version": "2" };
    const options = { method: "POST", headers, ca: emulator.ca };
    const request = https.request(new URL(edges, emulator.url), options);
    request.write("x".repeat(2 ** 20 + 1));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 413);
    request.on("error", () => {}).destroy();
    assert.equal(emulator.requests.at(-1)?.body, undefined);
  });

  it("forgets the oldest of very many requests", async () => {
    await get("/tunnels");
    const [first] = emulator.requests;
    emulator.requests.push(...Array(maxRecorded - 1).fill(first));
    await get("/tunnels?limit=7");
    assert.equal(emulator.requests.length, maxRecorded);
    assert.equal(emulator.requests.at(-1)?.path, "/tunnels?limit=7");
    emulator.reset();
  });

  describe("TLS edges", () => {
    it("answer with every field, unset modules null, and in a list without unset texts", async () => {
      const edge = await create(edges, { description: "d" });
      const { id, uri, created_at, metadata, ...rest } = edge;
      assert.match(id, /^edgtls_[0-9A-Za-z]{27}$/);
      assert.equal(uri, `${emulator.url}/edges/tls/${id}`);
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      const modules = { backend: null, ip_restriction: null, mutual_tls: null };
      const unset = { hostports: [], ...modules, tls_termination: null };
      assert.deepEqual({ metadata, ...rest }, { metadata: "", description: "d", ...unset });
      assert.deepEqual((await get(edges)).tls_edges, [{ id, uri, created_at, ...rest }]);
    });

    it("answer ids with references, and fill in what is not specified", async () => {
      const ref = (kind: string, id: string) => ({ id, uri: `${emulator.url}/${kind}/${id}` });
      const texts = {
        hostports: ["App.example.com:443", "*.example.com:8443"],
        // The most that they hold: 255 and 4096 bytes of UTF-8.
        description: `${"é".repeat(127)}e`,
        metadata: "é".repeat(2048),
      };
      const edge = await create(edges, {
        ...{ ...texts, backend: { backend_id: "bkdtg_1" }, tls_termination: {} },
        ip_restriction: { ip_policy_ids: ["ipp_1", "ipp_2"] },
        mutual_tls: { enabled: false, certificate_authority_ids: ["ca_1"] },
      });
      const ip_policies = ["ipp_1", "ipp_2"].map((id) => ref("ip_policies", id));
      const certificate_authorities = [ref("certificate_authorities", "ca_1")];
      const { id, uri, created_at } = edge;
      assert.deepEqual(edge, {
        ...{ id, uri, created_at, ...texts },
        backend: { enabled: true, backend: ref("backends", "bkdtg_1") },
        ip_restriction: { enabled: true, ip_policies },
        mutual_tls: { enabled: false, certificate_authorities },
        tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.2" },
      });
      assert.deepEqual(await get(uri), edge);
      const tls_termination = { terminate_at: "upstream", min_version: null };
      // Mutual TLS that is off does not stand in the way.
      const update = { tls_termination, mutual_tls: { enabled: false } };
      const { body } = await send("PATCH", uri, update);
      assert.equal(body.tls_termination?.min_version, null);
    });

    it("take an update: absent stays, present replaces all of it, empty clears", async () => {
      const edge = await create(edges, {
        ...{ description: "d", metadata: "m", hostports: ["a.example.com:443"] },
        backend: { enabled: false, backend_id: "bkdtg_1" },
        tls_termination: { min_version: "1.3" },
      });
      assert.equal(edge.backend?.enabled, false);
      const changed = { description: "", hostports: ["A.example.com:443"] };
      const tls_termination = { terminate_at: "edge" };
      const answer = await send("PATCH", edge.uri, { ...changed, tls_termination });
      assert.equal(answer.status, 200);
      const ended = { enabled: true, ...tls_termination, min_version: "1.2" };
      assert.deepEqual(answer.body, { ...edge, ...changed, tls_termination: ended });
      assert.deepEqual((await send("PATCH", edge.uri, {})).body, answer.body);
    });

    it("keep mutual TLS when an update passes TLS through, which is refused", async () => {
      const edge = await create(edges, { mutual_tls: {} });
      const update = { tls_termination: { terminate_at: "upstream" } };
      await refused("mutualTLSUpstream", "PATCH", edge.uri, update);
      assert.deepEqual(await get(edge.uri), edge);
    });

    it("own their hostports, in any letter case, until they give them up", async () => {
      const edge = await create(edges, { hostports: ["a.EXAMPLE.com:443"] });
      const other = await create(edges, {});
      const update = { hostports: ["b.example.com:443", "A.Example.com:443"] };
      const { body } = await refused("hostportTaken", "PATCH", other.uri, update);
      assert.ok(body.msg.includes("A.Example.com:443"));
      await refused("hostportTaken", "POST", edges, update);
      assert.deepEqual(emulator.tlsEdges.get(other.id)?.hostports, []);
      await send("DELETE", edge.uri);
      assert.equal((await send("PATCH", other.uri, update)).status, 200);
    });

    const upstream = { terminate_at: "upstream" };
    const invalid: Partial<Record<Reason, object[]>> = {
      unknownField: [
        { name: "x" },
        { backend: { id: "b" } },
        { backend: { backend: { id: "b" } } },
      ],
      fieldInvalid: [
        ...[{ description: 1 }, { metadata: null }, { hostports: "a.example.com:443" }],
        ...[{ backend: [] }, { backend: null }, { backend: { enabled: "true" } }],
        { ip_restriction: { ip_policy_ids: [""] } },
        { tls_termination: { terminate_at: "agent" } },
        { tls_termination: { min_version: "1.4" } },
      ],
      fieldTooLong: [{ description: "é".repeat(128) }, { metadata: `${"é".repeat(2048)}e` }],
      hostportMalformed: [
        ...["a.example.com", ":443", "https://a.example:443", "a.example.com:443:1"],
        ...["a.example.com:0", "a.example.com:65536", `${"a.".repeat(126)}aa:443`],
      ].map((hostport) => ({ hostports: [hostport] })),
      hostportRepeated: [{ hostports: ["a.example:1", "A.example:1"] }],
      minVersionUpstream: [{ tls_termination: { ...upstream, min_version: "1.2" } }],
      mutualTLSUpstream: [{ tls_termination: upstream, mutual_tls: {} }],
    };
    it("are refused with a reason, created or updated, and stay as they are", async () => {
      const edge = await create(edges, {});
      for (const [reason, bodies] of Object.entries(invalid)) {
        for (const body of bodies) {
          await refused(reason as Reason, "POST", edges, body);
          await refused(reason as Reason, "PATCH", edge.uri, body);
        }
      }
      assert.deepEqual(emulator.tlsEdges.list(), [edge]);
    });
  });

  it("lists from newest to oldest, page by page, also when objects are deleted meanwhile", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 105; n++) ids.unshift((await create(edges, {})).id);
    /** The ids of all pages, each of which is deleted when it was read. */
    const pages = async (query: string) => {
      const found: string[][] = [];
      for (let next: string | null = `${edges}${query}`; next; ) {
        const { uri, tls_edges, next_page_uri }: Body = await get(next);
        assert.equal(uri, `${emulator.url}/edges/tls`);
        found.push(tls_edges.map(({ id }) => id));
        for (const { id } of tls_edges) emulator.tlsEdges.delete(id);
        next = next_page_uri;
      }
      return found;
    };
    assert.equal((await get(edges)).tls_edges.length, 100);
    const thirds = [ids.slice(0, 35), ids.slice(35, 70), ids.slice(70)];
    assert.deepEqual(await pages("?limit=35"), thirds);
    const uri = `${emulator.url}/tls_certificates`;
    assert.deepEqual(await get(uri), { tls_certificates: [], uri, next_page_uri: null });
  });

  describe("TLS certificates", () => {
    let root: MadeCertificate;
    let leaf: MadeCertificate;
    let ed25519: MadeCertificate;
    let rsa: MadeCertificate;
    const day = (text: string) => new Date(`${text}T00:00:00Z`);
    const names = { dns_names: ["app.example.com", "*.app.example.com"] };

    before(async () => {
      root = await makeCertificate({ commonName: "Root", isCa: true, keyType: "rsa" });
      leaf = await makeCertificate({
        ...{ commonName: "app.example.com", organization: "Acme", organizationalUnit: "Edge" },
        ...{ locality: "Bern", province: "BE", country: "CH" },
        ...{ dnsNames: names.dns_names, ips: ["10.0.0.1", "2001:db8::1"] },
        ...{ notBefore: day("2026-01-01"), notAfter: day("2027-01-01") },
        issuer: await makeCertificate({ commonName: "Inter", isCa: true, issuer: root }),
      });
      ed25519 = await makeCertificate({ commonName: "ed25519", keyType: "ed25519" });
      rsa = await makeCertificate({ commonName: "rsa", keyType: "rsa" });
    });

    const upload = (from: MadeCertificate, changes: object = {}) => ({
      certificate_pem: from.certificatePem,
      private_key_pem: from.privateKeyPem,
      ...changes,
    });

    it("are uploaded with every field of the leaf in the answer, plain blocks, and no key", async () => {
      const odd = `# leaf\r\n${leaf.certificatePem.replaceAll("\n", "\r\n")}\r\n\r\n`;
      const body = upload(leaf, { certificate_pem: `${odd}${root.certificatePem}` });
      const { id, uri, created_at, ...fields } = await create(certificates, body);
      assert.match(id, /^cert_[0-9A-Za-z]{27}$/);
      assert.equal(uri, `${emulator.url}/tls_certificates/${id}`);
      assert.match(created_at, /Z$/);
      assert.deepEqual(fields, {
        certificate_pem: `${leaf.certificatePem}${root.certificatePem}`,
        subject_alternative_names: { ...names, ips: ["10.0.0.1", "2001:db8::1"] },
        ...{ subject_common_name: "app.example.com", issuer_common_name: "Inter" },
        ...{ subject_organization: "Acme", subject_organizational_unit: "Edge" },
        ...{ subject_locality: "Bern", subject_province: "BE", subject_country: "CH" },
        ...{ not_before: "2026-01-01T00:00:00Z", not_after: "2027-01-01T00:00:00Z" },
        ...{ key_usages: ["digitalSignature"], extended_key_usages: ["serverAuth"] },
        ...{ private_key_type: "ecdsa", issued_at: null },
        serial_number: new X509Certificate(leaf.certificatePem).serialNumber.toLowerCase(),
      });
      assert.doesNotMatch(JSON.stringify(emulator.tlsCertificates.list()), /PRIVATE KEY/);
    });

    it("leave absent parts of the subject empty, for other types of key", async () => {
      for (const pair of [rsa, ed25519]) {
        const answer = await create(certificates, upload(pair));
        assert.equal(answer.private_key_type, pair.keyType);
        assert.equal(answer.subject_organization, "");
        assert.deepEqual(answer.subject_alternative_names, { dns_names: [], ips: [] });
      }
    });

    it("update only their description and metadata", async () => {
      const certificate = await create(certificates, upload(leaf, { description: "d" }));
      const { body } = await send("PATCH", certificate.uri, { description: "", metadata: "m" });
      const { description, ...rest } = certificate;
      assert.equal(description, "d");
      assert.deepEqual(body, { ...rest, metadata: "m" });
      assert.deepEqual(await get(certificate.uri), body);
      for (const field of ["certificate_pem", "private_key_pem", "serial_number"]) {
        await refused("unknownField", "PATCH", certificate.uri, { [field]: "x" });
      }
    });

    it("have the fields that Go reads, where others read them otherwise", async () => {
      const ips = "3018871000000000000000000000ffff010203048704ff020304";
      const options = {
        name: "CN=first, O=Acme, CN=last",
        serialNumber: "054b01",
        notBefore: day("2060-01-01"),
        notAfter: day("2070-01-01"),
        extensions: [extension("2.5.29.17", false, ips)],
      };
      const early = (der: Buffer) => patched(der, "\x18\x0f", [...Buffer.from("0001")]);
      const answer = await create(certificates, await special(options, early));
      assert.deepEqual([answer.subject_common_name, answer.issuer_common_name], ["last", "last"]);
      assert.equal(answer.serial_number, "054b01");
      assert.equal(answer.not_before, "0001-01-01T00:00:00Z");
      assert.equal(answer.not_after, "2070-01-01T00:00:00Z");
      assert.deepEqual(answer.subject_alternative_names?.ips, ["1.2.3.4", "255.2.3.4"]);
    });

    it("take a key in each form that Go reads, and no damaged key", async () => {
      for (const [from, type] of [[rsa, "pkcs1"] as const, [leaf, "sec1"] as const]) {
        const key = createPrivateKey(from.privateKeyPem);
        const der = key.export({ type, format: "der" });
        for (const private_key_pem of [
          block("PRIVATE KEY", der),
          block("ANY PRIVATE KEY", derOf(from.privateKeyPem)),
          `text\r\n${from.privateKeyPem.replaceAll("\n", " \r\n\r\n")}`,
          `${block("EC PARAMETERS", der)}${from.privateKeyPem}`,
        ]) {
          await create(certificates, upload(from, { private_key_pem }));
        }
        const { d, p, q, dp, dq, qi } = key.export({ format: "jwk" });
        const damaged = Object.entries({ d, p, q, dp, dq, qi }).flatMap(([name, text]) => {
          if (!text) return [];
          const bytes = Buffer.from(text, "base64url");
          const last = (bytes.at(-1) ?? 0) ^ 4;
          return [[name, block("PRIVATE KEY", patched(der, bytes.subarray(0, -1), [last]))]];
        });
        const unread = [
          ["byte order mark", `\ufeff${from.privateKeyPem}`],
          ["label", block("KEY", der)],
        ];
        for (const [what, private_key_pem] of [...unread, ...damaged]) {
          const { status } = await send("POST", certificates, upload(from, { private_key_pem }));
          assert.equal(status, 400, `${type}: ${what}`);
        }
      }
    });

    const refusals: Partial<Record<Reason, () => Record<string, object | Promise<object>>>> = {
      certificateMissing: () => ({ missing: { certificate_pem: undefined } }),
      certificateUnparsable: () => ({
        "another label": {
          certificate_pem: leaf.certificatePem.replaceAll("CERTIFICATE", "X509 CERTIFICATE"),
        },
        "no PEM": { certificate_pem: "x" },
        "no DER": { certificate_pem: block("CERTIFICATE", Buffer.alloc(3)) },
        "no end": { certificate_pem: `${leaf.certificatePem}-----BEGIN CERTIFICATE-----` },
        "a key in it": { certificate_pem: `${leaf.certificatePem}${leaf.privateKeyPem}` },
        // Go alone refuses these.
        "a negative serial number": special({}, (der) =>
          patched(der, hex("a003020102"), [2, 1, 0xfb]),
        ),
        "a name that is not ASCII": special({
          extensions: [extension("2.5.29.17", false, "30038201e4")],
        }),
        "a critical extension that must not be critical": special({
          extensions: [extension("1.3.6.1.5.5.7.1.1", true, "3000")],
        }),
        "an extension that is there twice": special({
          extensions: ["00", "01"].map((to) => extension("1.2.3", false, `0401${to}`)),
        }),
      }),
      keyMissing: () => ({ missing: { private_key_pem: undefined } }),
      keyUnparsable: () => ({ "no PEM": { private_key_pem: "hunter2" } }),
      keyEncrypted: () => ({
        encrypted: { private_key_pem: block("ENCRYPTED PRIVATE KEY", Buffer.alloc(3)) },
      }),
      keyTypeUnsupported: () => {
        const ed448 = patched(derOf(ed25519.certificatePem), hex("302a300506032b65"), [0x71]);
        const p192 = (der: Buffer) => patched(der, hex("06082a8648ce3d0301"), [1]);
        return {
          Ed448: { certificate_pem: block("CERTIFICATE", ed448) },
          "P-192": special({}, p192),
        };
      },
      keyMismatch: () => ({ "another key": { private_key_pem: ed25519.privateKeyPem } }),
      // Each certificate must be signed by the next one, also when all are there.
      chainOutOfOrder: () => {
        const [first, issuer] = leaf.certificatePem.split(/(?<=END CERTIFICATE-----\n)/);
        return {
          "a stranger last": { certificate_pem: `${leaf.certificatePem}${ed25519.certificatePem}` },
          "the root second": { certificate_pem: `${first}${root.certificatePem}${issuer}` },
        };
      },
    };
    it("are refused with a reason, and the answer has no key", async () => {
      for (const [reason, changes] of Object.entries(refusals)) {
        for (const [what, change] of Object.entries(changes())) {
          const answer = await send("POST", certificates, upload(leaf, await change));
          assertRefused(reason as Reason, answer, what);
          assert.doesNotMatch(answer.text, /PRIVATE KEY|hunter2/, what);
        }
      }
      assert.deepEqual(emulator.tlsCertificates.list(), []);
    });
  });

  it("has a tunnel of an agent and one of a backend from the start, and others that come and go", async () => {
    const { tunnels } = await get("/tunnels");
    const kinds = tunnels.map((tunnel) => ["endpoint" in tunnel, tunnel.proto ?? ""].join());
    assert.deepEqual(kinds, ["true,https", "false,"]);
    for (const tunnel of tunnels) {
      assert.match(String(tunnel.tunnel_session?.id), /^ts_/);
      assert.equal("labels" in tunnel, "backends" in tunnel);
      assert.deepEqual(await get(`/tunnels/${tunnel.id}`), tunnel);
    }
    emulator.tunnels.online({ id: "tn_mine" });
    emulator.tunnels.delete("tn_mine");
    await refused("notFound", "GET", "/tunnels/tn_mine");
    emulator.tunnels.online({});
    emulator.tunnels.online({ id: "tn_mine", proto: "tcp" });
    const [newest] = (await get("/tunnels?limit=1")).tunnels;
    assert.match(newest?.public_url ?? "", /^tcp:.*:\d+$/);
  });

  it("keeps accounts apart, and knows every key of an account", async () => {
    const other = emulator.addAccount();
    const as = (key: string) => ({ Authorization: `Bearer ${key}` });
    const body = { hostports: ["a.example.com:443"] };
    const { uri } = await create(edges, body);
    assert.equal((await send("GET", uri, undefined, as(emulator.addKey()))).status, 200);
    for (const key of [other.apiKey, other.addKey()]) {
      await refused("notFound", "GET", uri, undefined, as(key));
    }
    const second = await send("POST", edges, body, as(other.apiKey));
    assert.deepEqual([second.status, other.tlsEdges.list()], [201, [second.body]]);
  });

  it("has clocks that can be wrong, each by itself, until it is reset", async () => {
    /** How many hours the clocks of an answer are ahead. */
    const hoursAhead = ({ headers, body }: Awaited<ReturnType<typeof send>>) =>
      [String(headers.date), body.created_at].map((time) =>
        Math.abs(Math.round((Date.parse(time) - Date.now()) / 3_600_000)),
      );
    Object.assign(emulator.clocks, { date: 5 * 3_600_000, createdAt: 9 * 3_600_000 });
    assert.deepEqual(hoursAhead(await send("POST", edges, {})), [5, 9]);
    // A fault's answer comes through the same gateway.
    emulator.faults.add({ answer: { status: 503, body: "{}" } });
    assert.equal(hoursAhead(await send("POST", edges, {}))[0], 5);
    emulator.reset();
    assert.deepEqual(hoursAhead(await send("POST", edges, {})), [0, 0]);
  });

  describe("its options", () => {
    const folder = newFolder();
    afterEach(() => restart());

    it("rewrite responses, errors included, and take a key and tunnels", async () => {
      const respond: EmulatorOptions["respond"] = (body, details) => ({ ...Object(body), details });
      await restart({ respond, apiKey: "tlse_mine", tunnels: [{ id: "tn_2" }, { id: "tn_1" }] });
      assert.equal(emulator.apiKey, "tlse_mine");
      const { body } = await send("GET", "/tunnels/tn_x");
      assert.equal(body.error_code, reasons.notFound.code);
      assert.deepEqual(body.details, { method: "GET", path: "/tunnels/tn_x", status: 404 });
      assert.equal((await get("/tunnels")).tunnels.map(({ id }) => id).join(), "tn_2,tn_1");
      // What is no JSON stays as it is.
      emulator.faults.add({ answer: { status: 503 } });
      assert.equal((await send("GET", "/tunnels")).status, 503);
    });

    it("keep data, port, CA and key in a file that only its owner can read", async () => {
      const dataFile = path.join(folder, "data.jsonl");
      await restart({ dataFile });
      const { url, ca, apiKey } = emulator;
      const tunnels = emulator.tunnels.list();
      const metadata = JSON.stringify({ uri: `${url}/mine` });
      const [edge, gone] = [await create(edges, { metadata }), await create(edges, {})];
      await send("PATCH", edge.uri, { backend: { backend_id: "bkdtg_1" } });
      await send("DELETE", gone.uri);
      await restart({ dataFile });
      assert.deepEqual([emulator.url, emulator.ca, emulator.apiKey], [url, ca, apiKey]);
      assert.deepEqual(emulator.tunnels.list(), tunnels);
      // The place of a deleted one is known, too.
      assert.equal((await get(`/edges/tls?before_id=${gone.id}`)).tls_edges.length, 1);
      assert.equal(fs.statSync(dataFile).mode & 0o077, 0);
      await emulator.close();
      // Where the port is taken, it serves on another one, and each uri has that.
      const port = Number(new URL(url).port);
      const other = await startEmulator({ port });
      await assert.rejects(startEmulator({ port }), { code: "EADDRINUSE" });
      await restart({ dataFile });
      await other.close();
      assert.notEqual(emulator.url, url);
      const backend = { id: "bkdtg_1", uri: `${emulator.url}/backends/bkdtg_1` };
      const uri = `${emulator.url}/edges/tls/${edge.id}`;
      assert.deepEqual(await get(uri), { ...edge, uri, backend: { enabled: true, backend } });
    });

    it("keep all data when they are cut off while they start", async () => {
      const dataFile = path.join(folder, "cut.jsonl");
      await restart({ dataFile });
      const kept = [await create(edges, {}), await create(edges, {})].map(({ id }) => id);
      // As if the process ended at its first change of the new file.
      const append = mock.method(fs, "appendFileSync", () => {
        throw new Error("cut off");
      });
      await restart({ dataFile }).catch(() => {});
      append.mock.restore();
      await restart({ dataFile });
      assert.deepEqual((await get(edges)).tls_edges.map(({ id }) => id).reverse(), kept);
    });

    it("refuse a file that has something else, and take the rights of others from an empty one", async () => {
      const dataFile = path.join(folder, "other.jsonl");
      fs.writeFileSync(dataFile, "{}\nmine\n", { mode: 0o644 });
      await assert.rejects(startEmulator({ dataFile }), /delete it/);
      assert.equal(fs.readFileSync(dataFile, "utf8"), "{}\nmine\n");
      fs.writeFileSync(dataFile, "");
      await restart({ dataFile });
      assert.equal(fs.statSync(dataFile).mode & 0o777, 0o600);
    });
  });

  it("closes with requests in flight, and twice", async () => {
    emulator.faults.add({ answer: "silence" });
    const cut = assert.rejects(send("GET", "/"), { code: "ECONNRESET" });
    await until(() => emulator.faults.list()[0]?.hits === 1);
    await Promise.all([emulator.close(), emulator.close()]);
    await cut;
    await assert.rejects(send("GET", "/"), { code: "ECONNREFUSED" });
    emulator = await startEmulator();
  });

  it("prints on the command line what to export, and keeps address, key and CA in a folder", async () => {
    const cwd = newFolder();
    const serve = async (...args: string[]) => {
      const child = spawn(process.execPath, [main, ...args], { cwd, timeout: 60_000 });
      const output = text(child.stdout);
      await once(child.stdout, "data");
      child.kill("SIGINT");
      assert.deepEqual(await once(child, "close"), [0, null]);
      return output;
    };
    const output = await serve();
    // It replaces files: one with rights for others, and a link that leads elsewhere.
    const [env, ca] = [path.join(cwd, "env"), path.join(cwd, ".tlsedge", "emulator", "ca.pem")];
    fs.writeFileSync(env, "mine", { mode: 0o644 });
    fs.rmSync(ca);
    fs.symlinkSync(env, ca);
    assert.equal(await serve("--write-env", "env"), output);
    assert.notEqual(await serve("--data", "other"), output);
    const settings = output.match(/(?<=^export ).*/gm) ?? [];
    assert.equal(fs.readFileSync(env, "utf8"), `${settings.join("\n")}\n`);
    assert.equal(fs.statSync(env).mode & 0o777, 0o600);
    assert.match(fs.readFileSync(ca, "utf8"), /BEGIN CERTIFICATE/);
    const names = settings.map((setting) => setting.split("=")[0]);
    assert.deepEqual(names, ["TLSEDGE_BASE_URL", "TLSEDGE_API_KEY", "TLSEDGE_CA_FILE"]);
  });

  it("makes a certificate on the command line, in place of a key that others may read; refuses a typo", () => {
    const cwd = newFolder();
    const run = (...args: string[]) => {
      return spawnSync(process.execPath, [main, "certificate", ...args], { cwd, timeout: 60_000 });
    };
    fs.mkdirSync(path.join(cwd, "new"));
    const key = path.join(cwd, "new", "privkey.pem");
    fs.writeFileSync(key, "mine", { mode: 0o644 });
    assert.equal(run("a.example.com", "--out", "new", "--days", "7").status, 0);
    assert.equal(fs.statSync(key).mode & 0o777, 0o600);
    const chain = path.join(cwd, "new", "fullchain.pem");
    const days = () =>
      (Date.parse(new X509Certificate(fs.readFileSync(chain)).validTo) - Date.now()) / 86_400_000;
    assert.ok(days() > 6.9 && days() <= 7, String(days()));
    assert.equal(run("a.example.com", "--out", "new", "--days", "0").status, 0);
    assert.ok(days() < 0, String(days()));
    assert.equal(run("a.example.com").status, 2);
  });
});

const hex = (text: string) => Buffer.from(text, "hex");

const block = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;

const derOf = (pem: string) => Buffer.from(pem.replace(/-----.*-----|\s/g, ""), "base64");

/** The same bytes with others at the place where `find` ends. */
function patched(der: Buffer, find: string | Buffer, bytes: number[]): Buffer {
  const copy = Buffer.from(der);
  assert.ok(der.includes(find));
  copy.set(bytes, der.indexOf(find) + Buffer.from(find).length);
  return copy;
}

const extension = (id: string, isCritical: boolean, value: string) =>
  new x509.Extension(id, isCritical, hex(value));

/** An upload of a certificate that signs itself, with its bytes changed afterwards. */
async function special(options: object, change = (der: Buffer) => der) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const { subtle } = webcrypto;
  const keys = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const all = { keys, serialNumber: "01", ...options };
  const signed = await x509.X509CertificateGenerator.createSelfSigned(all);
  const key = await subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificate_pem: block("CERTIFICATE", change(Buffer.from(signed.rawData))),
    private_key_pem: block("PRIVATE KEY", Buffer.from(key)),
  };
}
