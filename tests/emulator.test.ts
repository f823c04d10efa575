import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import https from "node:https";
import path from "node:path";
import { text } from "node:stream/consumers";
import { mock } from "node:test";
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
const [edges, certificates] = ["/edges/tls", "/tls_certificates"];
type Headers = NodeJS.Dict<string>;
type Reason = keyof typeof reasons;
let emulator: Emulator;

/** Begins a request over HTTPS, with the CA and the standard headers unless others are given. */
function begin(method: string, url: string, headers: Headers = {}) {
  const standard = { Authorization: `Bearer ${emulator.apiKey}`, "Service-Version": "2" };
  const all = JSON.parse(JSON.stringify({ ...standard, ...headers }));
  return https.request(new URL(url, emulator.url), { method, headers: all, ca: emulator.ca });
}

async function send(method: string, url: string, body?: unknown, headers: Headers = {}) {
  const type = body === undefined ? undefined : "application/json";
  const request = begin(method, url, { "Content-Type": type, ...headers });
  request.end(typeof body === "string" ? body : body && JSON.stringify(body));
  const [response] = await once(request, "response");
  const raw = await text(response);
  return { status: response.statusCode, headers: response.headers, raw, body: parsed(raw) };
}
const parsed = (json: string) => JSON.parse(json || "{}");

const get = async (url: string) => (await send("GET", url)).body;
const idsOf = (objects: { id: string }[]) => objects.map(({ id }) => id);

async function create(url: string, body: unknown) {
  const answer = await send("POST", url, body);
  assert.equal(answer.status, 201, answer.raw);
  return answer.body;
}

/** Sends what is refused for this reason. */
async function refused(reason: Reason, ...request: Parameters<typeof send>) {
  const answer = await send(...request);
  const { status, code } = reasons[reason];
  const { error_code, status_code, details, msg } = answer.body;
  const message = `${reason}: ${request[0]} ${request[1]} ${answer.raw}`;
  assert.deepEqual([error_code, answer.status, status_code], [code, status, status], message);
  assert.match(details.operation_id, /^op_\w{27}$/, message);
  // A message that quoted the body would quote a key.
  assert.doesNotMatch(msg, /PRIVATE KEY|hunter2/);
  return msg;
}

async function restart(options: EmulatorOptions = {}) {
  await emulator.close();
  emulator = await startEmulator(options);
}

/** What the tests of the product don't hold of the service: what it refuses, shows and keeps. */
describe("the emulator", () => {
  before(async () => {
    emulator = await startEmulator();
  });
  beforeEach(() => emulator.reset());
  after(() => emulator.close());

  it("is served at its root (api.md 4.5) to this machine and a client that trusts the CA", async () => {
    const [error] = await once(https.get(emulator.url), "error");
    assert.equal(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    const url = emulator.url.replace("localhost", "127.0.0.1");
    const headers = { "Service-Version": undefined, "SERVICE-version": "0" };
    const { body: root } = await send("GET", url, undefined, headers);
    const uris = [edges, certificates, "/tunnels"].map((to) => `${emulator.url}${to}`);
    assert.deepEqual([root.tls_edges, root.tls_certificates, root.tunnels], uris);
    await assertLoopback(Number(new URL(url).port));
  });

  const upstream = { terminate_at: "upstream" };
  it("refuses requests with a reason", async () => {
    for (const [reason, method, url, body, headers] of [
      ["keyRefused", "GET", "/tunnels", undefined, { Authorization: undefined }],
      ["keyRefused", "GET", "/tunnels", undefined, { Authorization: emulator.apiKey }],
      ["versionRefused", "GET", "/", undefined, { "Service-Version": undefined }],
      ["versionRefused", "GET", "/", undefined, { "Service-Version": "3" }],
      ["unknownPath", "GET", "/v1/edges/tls?limit=100"],
      ["wrongMethod", "PUT", edges, {}],
      ["contentType", "POST", edges, "{}", { "Content-Type": undefined }],
      ["contentType", "POST", edges, "{}", { "Content-Type": "application/jsonl" }],
      ["bodyNotJSON", "POST", edges, "hunter2"],
      ["fieldInvalid", "POST", edges, []],
      ["unknownParameter", "GET", `${edges}?page=2`],
      ["unknownParameter", "POST", `${edges}?limit=2`, {}],
      ["unknownParameter", "GET", "/tunnels?limit=2&limit=2"],
      ["limitInvalid", "GET", `${edges}?limit=0`],
      ["limitInvalid", "GET", "/tunnels?limit=101"],
      ["beforeIdUnknown", "GET", `${edges}?before_id=edgtls_x`],
      ["notFound", "GET", `${edges}/edgtls_x`],
      ["notFound", "PATCH", `${edges}/edgtls_x`, {}],
      ["notFound", "DELETE", `${edges}/edgtls_x`],
    ] as [Reason, string, string, unknown?, Headers?][]) {
      await refused(reason, method, url, body, headers);
    }
  });

  it("refuses a body that is too large before it has come", async () => {
    const request = begin("POST", edges);
    request.write("x".repeat(2 ** 20 + 1));
    const [response] = await once(request, "response");
    assert.equal(response.statusCode, 413);
    request.on("error", () => {}).destroy();
    assert.equal(emulator.requests.at(-1)?.body, undefined);
  });

  it("records the newest requests, without a key, and a body only with a valid key", async () => {
    await send("POST", "/tls_certificates?x=1", { private_key_pem: "secret" });
    await send("POST", edges, { description: "d" }, { Authorization: "Bearer wrong" });
    const [uploaded, refused] = emulator.requests.map(({ headers: _, ...request }) => request);
    const upload = { method: "POST", path: "/tls_certificates?x=1", status: 400 };
    assert.deepEqual(uploaded, { ...upload, body: { private_key_pem: "(not recorded)" } });
    assert.deepEqual(refused, { method: "POST", path: edges, status: 401, body: undefined });
    assert.equal(emulator.requests[0]?.headers["service-version"], "2");
    assert.doesNotMatch(JSON.stringify(emulator.requests), /secret|[Bb]earer/);
    emulator.requests.push(...Array(maxRecorded - 2).fill(uploaded));
    await get("/tunnels?limit=7");
    assert.equal(emulator.requests.length, maxRecorded);
    assert.equal(emulator.requests.at(-1)?.path, "/tunnels?limit=7");
    emulator.clocks.date = 1;
    emulator.reset();
    assert.deepEqual([emulator.requests, emulator.clocks.date], [[], 0]);
  });

  describe("TLS edges", () => {
    it("answer ids with references, in a list without unset texts; an update keeps what is absent", async () => {
      const ref = (kind: string, id: string) => ({ id, uri: `${emulator.url}/${kind}/${id}` });
      const texts = {
        hostports: ["App.example.com:443", "*.example.com:8443"],
        // The most that they hold: 255 and 4096 bytes of UTF-8.
        description: `${"é".repeat(127)}e`,
        metadata: "é".repeat(2048),
      };
      const edge = await create(edges, {
        ...{ ...texts, backend: { enabled: false, backend_id: "bkdtg_1" } },
        ip_restriction: { enabled: false, ip_policy_ids: ["ipp_1", "ipp_2"] },
        mutual_tls: { enabled: false, certificate_authority_ids: ["ca_1"] },
        tls_termination: { min_version: "1.3" },
      });
      const ip_policies = [ref("ip_policies", "ipp_1"), ref("ip_policies", "ipp_2")];
      const certificate_authorities = [ref("certificate_authorities", "ca_1")];
      const { id, uri, created_at } = edge;
      assert.match(id, /^edgtls_[0-9A-Za-z]{27}$/);
      assert.equal(uri, `${emulator.url}/edges/tls/${id}`);
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.deepEqual(edge, {
        ...{ id, uri, created_at, ...texts },
        backend: { enabled: false, backend: ref("backends", "bkdtg_1") },
        ip_restriction: { enabled: false, ip_policies },
        mutual_tls: { enabled: false, certificate_authorities },
        tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.3" },
      });
      assert.deepEqual(await get(uri), edge);
      const changed = { description: "", hostports: ["app.example.com:443"] };
      const answer = await send("PATCH", uri, { ...changed, tls_termination: {} });
      const ended = { enabled: true, terminate_at: "edge", min_version: "1.2" };
      assert.deepEqual(answer.body, { ...edge, ...changed, tls_termination: ended });
      const { description: _, ...inList } = answer.body;
      assert.deepEqual((await get(edges)).tls_edges, [inList]);
      // Mutual TLS that is off does not stand in the way.
      const { body } = await send("PATCH", uri, { tls_termination: upstream });
      assert.equal(body.tls_termination.min_version, null);
    });

    const invalid: Partial<Record<Reason, object[]>> = {
      unknownField: [{ name: "x" }, { backend: { id: "b" } }],
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
      hostportTaken: [{ hostports: ["a.example:1", "TAKEN.example:443"] }],
      minVersionUpstream: [{ tls_termination: { ...upstream, min_version: "1.2" } }],
      mutualTLSUpstream: [true, false].map((enabled) => ({
        tls_termination: { ...upstream, enabled },
        mutual_tls: {},
      })),
    };
    it("are refused with a reason, created or updated, and stay as they are", async () => {
      const edge = await create(edges, { mutual_tls: {} });
      const holder = await create(edges, { hostports: ["Taken.example:443"] });
      for (const [reason, bodies] of Object.entries(invalid) as [Reason, object[]][]) {
        for (const body of bodies) {
          await refused(reason, "POST", edges, body);
          await refused(reason, "PATCH", edge.uri, body);
        }
      }
      await refused("mutualTLSUpstream", "PATCH", edge.uri, { tls_termination: upstream });
      assert.deepEqual(emulator.tlsEdges.list(), [holder, edge]);
    });
  });

  it("lists from newest to oldest, page by page, also when objects are deleted meanwhile", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await create(edges, {})).id);
    const found: string[][] = [];
    for (let next = `${edges}?limit=2`; next; ) {
      const { uri, tls_edges, next_page_uri } = await get(next);
      assert.equal(uri, `${emulator.url}/edges/tls`);
      found.push(idsOf(tls_edges));
      for (const id of idsOf(tls_edges)) emulator.tlsEdges.delete(id);
      next = next_page_uri;
    }
    assert.deepEqual(found, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  describe("TLS certificates", () => {
    let root: MadeCertificate;
    let leaf: MadeCertificate;
    let ed25519: MadeCertificate;

    before(async () => {
      root = await makeCertificate({ commonName: "Root", isCa: true, keyType: "rsa" });
      leaf = await makeCertificate({
        commonName: "app.example.com",
        issuer: await makeCertificate({ commonName: "Inter", isCa: true, issuer: root }),
      });
      ed25519 = await makeCertificate({ commonName: "ed25519", keyType: "ed25519" });
    });

    const upload = (from: MadeCertificate, changes: object = {}) => ({
      certificate_pem: from.certificatePem,
      private_key_pem: from.privateKeyPem,
      ...changes,
    });

    it("are answered with their usages and their chain, without what stands around it, and update only their texts", async () => {
      const odd = `# leaf\r\n${leaf.certificatePem.replaceAll("\n", "\r\n")}\r\n\r\n`;
      const pems = upload(leaf, { certificate_pem: `${odd}${root.certificatePem}` });
      const certificate = await create(certificates, { ...pems, description: "d" });
      const { id, uri, created_at, description, ...fields } = certificate;
      assert.match(id, /^cert_[0-9A-Za-z]{27}$/);
      assert.equal(uri, `${emulator.url}/tls_certificates/${id}`);
      assert.match(created_at, /Z$/);
      assert.equal(description, "d");
      assert.equal(fields.certificate_pem, `${leaf.certificatePem}${root.certificatePem}`);
      assert.deepEqual(fields.key_usages, ["digitalSignature"]);
      assert.deepEqual(fields.extended_key_usages, ["serverAuth"]);
      assert.equal(fields.subject_organization, "");
      const { body } = await send("PATCH", uri, { description: "", metadata: "m" });
      assert.deepEqual(body, { id, uri, created_at, ...fields, metadata: "m" });
      await refused("unknownField", "PATCH", uri, { certificate_pem: "x" });
      assert.deepEqual(await get(uri), body);
      assert.doesNotMatch(JSON.stringify(emulator.tlsCertificates.list()), /PRIVATE KEY/);
    });

    it("are refused with a reason, and the answer has no key", async () => {
      const chain = (certificate_pem: string | undefined) => ({ certificate_pem });
      const key = (private_key_pem: string | undefined) => ({ private_key_pem });
      const { certificatePem, privateKeyPem } = leaf;
      const number = Buffer.from(
        `${createPrivateKey(privateKeyPem).export({ format: "jwk" }).d}`,
        "base64url",
      );
      const last = [Number(number.at(-1)) ^ 4];
      const damaged = patched(derOf(privateKeyPem), number.subarray(0, -1), last);
      const [first, issuer] = certificatePem.split(/(?<=END CERTIFICATE-----\n)/);
      const forged = derOf(String(first));
      forged[forged.length - 1] = Number(forged.at(-1)) ^ 1;
      const idOfKeys = Buffer.from("302a300506032b65", "hex");
      const ed448 = patched(derOf(ed25519.certificatePem), idOfKeys, [0x71]);
      const refusals: Partial<Record<Reason, object[]>> = {
        certificateMissing: [chain(undefined)],
        certificateUnparsable: [
          ...[chain("x"), chain(block("CERTIFICATE", Buffer.alloc(3)))],
          chain(certificatePem.replaceAll("CERTIFICATE", "X509 CERTIFICATE")),
          chain(`${certificatePem}-----BEGIN CERTIFICATE-----`),
        ],
        keyMissing: [key(undefined)],
        keyUnparsable: [key("hunter2"), key(block("KEY", derOf(privateKeyPem)))],
        keyEncrypted: [key(block("ENCRYPTED PRIVATE KEY", Buffer.alloc(3)))],
        keyTypeUnsupported: [chain(block("CERTIFICATE", ed448))],
        keyMismatch: [key(ed25519.privateKeyPem), key(block("PRIVATE KEY", damaged))],
        // Each certificate must be signed by the next one, also when all are there.
        chainOutOfOrder: [
          chain(`${certificatePem}${ed25519.certificatePem}`),
          chain(`${first}${root.certificatePem}${issuer}`),
          chain(`${block("CERTIFICATE", forged)}\n${issuer}`),
        ],
      };
      for (const [reason, changes] of Object.entries(refusals) as [Reason, object[]][]) {
        for (const change of changes) {
          await refused(reason, "POST", certificates, upload(leaf, change));
        }
      }
      assert.deepEqual(emulator.tlsCertificates.list(), []);
    });
  });

  it("has a tunnel of an agent and one of a backend from the start, and others that come and go", async () => {
    const { tunnels } = await get("/tunnels");
    const [agent, backend] = tunnels;
    assert.deepEqual([tunnels.length, agent.proto, backend.proto], [2, "https", undefined]);
    assert.ok("endpoint" in agent && "labels" in backend && "backends" in backend);
    assert.match(agent.tunnel_session.id, /^ts_/);
    assert.deepEqual(await get(`/tunnels/${agent.id}`), agent);
    emulator.tunnels.online({ id: "tn_mine" });
    emulator.tunnels.delete("tn_mine");
    await refused("notFound", "GET", "/tunnels/tn_mine");
    emulator.tunnels.online({ id: "tn_mine", proto: "tcp" });
    assert.match((await get("/tunnels?limit=1")).tunnels[0].public_url, /^tcp:.*:\d+$/);
  });

  it("has a clock of its objects beside that of its answers", async () => {
    emulator.clocks.createdAt = 9 * 3_600_000;
    const { headers, body } = await send("POST", edges, {});
    const ahead = Date.parse(body.created_at) - Date.parse(String(headers.date));
    assert.equal(Math.round(ahead / 3_600_000), 9);
  });

  describe("its options", () => {
    const folder = newFolder();
    afterEach(() => restart());

    it("keep data, port, CA and key in a file of its owner alone, also when a start is cut off", async () => {
      const dataFile = path.join(folder, "data.jsonl");
      await restart({ dataFile });
      const { url, ca, apiKey } = emulator;
      const tunnels = emulator.tunnels.list();
      const metadata = JSON.stringify({ uri: `${url}/mine` });
      const [edge, gone] = [await create(edges, { metadata }), await create(edges, {})];
      await send("PATCH", edge.uri, { backend: { backend_id: "bkdtg_1" } });
      await send("DELETE", gone.uri);
      // As if the process ended at its first change of the new file.
      const append = mock.method(fs, "appendFileSync", () => {
        throw new Error("cut off");
      });
      await restart({ dataFile }).catch(() => {});
      append.mock.restore();
      fs.appendFileSync(dataFile, '["tls_edges","edg');
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

    it("refuse a file that has something else, and take the rights of others from an empty one", async () => {
      const dataFile = path.join(folder, "other.jsonl");
      fs.writeFileSync(dataFile, "{}\nmine\n", { mode: 0o644 });
      await assert.rejects(startEmulator({ dataFile }), /delete it/);
      assert.equal(fs.readFileSync(dataFile, "utf8"), "{}\nmine\n");
      for (const file of [dataFile, `${dataFile}.new`]) fs.writeFileSync(file, "", { mode: 0o644 });
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
    // Without the CA, no connection of before is used.
    const [error] = await once(https.get(emulator.url), "error");
    assert.equal(error.code, "ECONNREFUSED");
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

  it("names the option for another folder where it may not write", async () => {
    const cwd = newFolder();
    // Root may write anywhere.
    const fails = `const fs = require("fs"); fs.mkdirSync = (path) => { throw Object.assign(new Error("EACCES: " + path), { code: "EACCES" }); };`;
    fs.writeFileSync(path.join(cwd, "fails.js"), fails);
    const args = ["--require", "./fails.js", main];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
    assert.deepEqual([status, /EACCES: .*--data/.test(stderr)], [1, true], stderr);
  });

  it("makes a certificate on the command line, in place of a key that others may read; refuses a typo", () => {
    const cwd = newFolder();
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [main, "certificate", "a.example.com", ...args], { cwd }).status;
    fs.writeFileSync(path.join(cwd, "privkey.pem"), "mine", { mode: 0o644 });
    for (const days of [7, 0]) {
      assert.equal(run("--out", ".", "--days", String(days)), 0);
      assert.equal(fs.statSync(path.join(cwd, "privkey.pem")).mode & 0o777, 0o600);
      const { validTo } = new X509Certificate(fs.readFileSync(path.join(cwd, "fullchain.pem")));
      const left = (Date.parse(validTo) - Date.now()) / 86_400_000;
      assert.ok(left > days - 0.1 && left <= days, `${left}`);
    }
    assert.equal(run(), 2);
  });
});

const block = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;

const derOf = (pem: string) => Buffer.from(pem.replace(/-----.*-----|\s/g, ""), "base64");

/** The same bytes with others at the place where `find` ends. */
function patched(der: Buffer, find: Buffer, bytes: number[]): Buffer {
  const copy = Buffer.from(der);
  assert.ok(der.includes(find));
  copy.set(bytes, der.indexOf(find) + find.length);
  return copy;
}
