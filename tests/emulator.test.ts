import "reflect-metadata";
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createPrivateKey, webcrypto, X509Certificate } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import * as x509 from "@peculiar/x509";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import type { TunnelWire } from "../client/tunnel";
import {
  type Emulator,
  type EmulatorOptions,
  makeCertificate,
  reasons,
  startEmulator,
} from "../emulator/server";

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

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  body: Body;
}

type Headers = Record<string, string | undefined>;

const agent = new https.Agent({ keepAlive: true });
let emulator: Emulator;

/** One request over HTTPS, with the CA and the standard headers unless others are given. */
async function send(method: string, url: string, body?: unknown, headers: Headers = {}) {
  const all: Headers = {
    Authorization: `Bearer ${emulator.apiKey}`,
    "Service-Version": "2",
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const options = { method, headers: given, ca: emulator.ca, agent };
  const request = https.request(new URL(url, emulator.url), options as https.RequestOptions);
  request.end(typeof body === "string" ? body : body && JSON.stringify(body));
  const [response] = await once(request, "response");
  const raw = await text(response);
  const answer: Answer = {
    status: response.statusCode,
    headers: response.headers,
    text: raw,
    body: JSON.parse(raw || "{}"),
  };
  return answer;
}

async function made(url: string, body: unknown): Promise<Body> {
  const answer = await send("POST", url, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

function assertRefused(answer: Answer, name: keyof typeof reasons) {
  const reason = reasons[name];
  assert.equal(answer.body.error_code, reason.code, answer.text);
  assert.equal(answer.status, reason.status);
  assert.equal(answer.body.status_code, reason.status);
  assert.match(answer.body.details.operation_id, /^op_\w{27}$/);
  assert.match(String(answer.headers["content-type"]), /^application\/json/);
}

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

  describe("every request", () => {
    it("is served at its root (api.md 4.5) to a client that trusts the CA", async () => {
      const [error] = await once(https.get(emulator.url, { agent: false }), "error");
      assert.equal(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
      const { body } = await send("GET", emulator.url.replace("localhost", "127.0.0.1"));
      const uris = ["edges/tls", "tls_certificates", "tunnels"].map(
        (to) => `${emulator.url}/${to}`,
      );
      assert.deepEqual([body.tls_edges, body.tls_certificates, body.tunnels], uris);
    });

    const edges = "/edges/tls";
    for (const [reason, method, url, body, headers] of [
      ["keyRefused", "GET", "/tunnels", undefined, { Authorization: undefined }],
      ["keyRefused", "GET", "/tunnels", undefined, { Authorization: "Bearer x" }],
      ["versionRefused", "GET", "/", undefined, { "Service-Version": undefined }],
      ["versionRefused", "GET", "/", undefined, { "Service-Version": "3" }],
      ["unknownPath", "GET", "/edges/http"],
      ["wrongMethod", "PUT", edges, {}],
      ["wrongMethod", "POST", "/tunnels", {}],
      ["wrongMethod", "DELETE", "/tunnels/tn_x"],
      ["contentType", "POST", edges, "{}", { "Content-Type": undefined }],
      ["contentType", "POST", edges, "{}", { "Content-Type": "text/json" }],
      ["bodyNotJSON", "POST", edges, "{"],
      ["fieldInvalid", "POST", edges, []],
      ["bodyTooLarge", "POST", edges, { metadata: "m".repeat(2 ** 20) }],
      ["unknownParameter", "GET", "/edges/tls?page=2"],
      ["unknownParameter", "POST", "/edges/tls?limit=2", {}],
      ["unknownParameter", "GET", "/tunnels?limit=2&limit=2"],
      ["limitInvalid", "GET", "/edges/tls?limit=0"],
      ["limitInvalid", "GET", "/tunnels?limit=101"],
      ["limitInvalid", "GET", "/tls_certificates?limit=ten"],
      ["beforeIdUnknown", "GET", "/edges/tls?before_id=edgtls_x"],
      ["notFound", "GET", "/edges/tls/edgtls_x"],
      ["notFound", "PATCH", "/edges/tls/edgtls_x", {}],
      ["notFound", "DELETE", "/edges/tls/edgtls_x"],
      ["notFound", "GET", "/tls_certificates/cert_x"],
      ["notFound", "GET", "/tunnels/tn_x"],
    ] as [keyof typeof reasons, string, string, unknown?, Headers?][]) {
      const sent = JSON.stringify([body, headers])?.slice(0, 50);
      it(`is refused as ${reason}: ${method} ${url} ${sent}`, async () => {
        assertRefused(await send(method, url, body, headers), reason);
      });
    }

    it("may have any version, in a header of any case, and a charset", async () => {
      for (const version of ["0", "1", "2"]) {
        const headers = {
          "Service-Version": undefined,
          "SERVICE-version": version,
          "Content-Type": "application/json; charset=utf-8",
        };
        assert.equal((await send("POST", "/edges/tls", {}, headers)).status, 201);
      }
    });

    it("is recorded with its status, without a key", async () => {
      await send("GET", "/tunnels?limit=1");
      await send("POST", "/tls_certificates?x=1", { private_key_pem: "secret" });
      await send("GET", "/tunnels", undefined, { Authorization: "Bearer wrong" });
      const seen = emulator.requests.map(({ method, path, status }) => [method, path, status]);
      assert.deepEqual(seen, [
        ["GET", "/tunnels?limit=1", 200],
        ["POST", "/tls_certificates?x=1", 400],
        ["GET", "/tunnels", 401],
      ]);
      assert.equal(emulator.requests[0]?.headers["service-version"], "2");
      assert.doesNotMatch(JSON.stringify(emulator.requests), /secret|[Bb]earer/);
    });

    it("with a wrong key is refused before its body is read", async () => {
      const headers = { Authorization: "Bearer wrong", "Content-Length": 60 * 1024 * 1024 };
      const url = new URL("/edges/tls", emulator.url);
      const request = https.request(url, {
        method: "POST",
        ca: emulator.ca,
        headers,
        agent: false,
      });
      request.flushHeaders();
      // Nothing of the body is sent.
      const [response] = await once(request, "response");
      assert.equal(response.statusCode, 401);
      request.on("error", () => {}).destroy();
      assert.deepEqual(
        emulator.requests.map(({ body, status }) => [body, status]),
        [[undefined, 401]],
      );
    });
  });

  describe("TLS edges", () => {
    it("are created with every field in the answer, unset modules null", async () => {
      const { id, uri, created_at, ...rest } = await made("/edges/tls", {});
      assert.match(id, /^edgtls_[0-9A-Za-z]{27}$/);
      assert.equal(uri, `${emulator.url}/edges/tls/${id}`);
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.deepEqual(rest, {
        description: "",
        metadata: "",
        hostports: [],
        backend: null,
        ip_restriction: null,
        mutual_tls: null,
        tls_termination: null,
      });
    });

    it("answer ids with references, and fill in what is not specified", async () => {
      const ref = (id: string, kind: string) => ({ id, uri: `${emulator.url}/${kind}/${id}` });
      const edge = await made("/edges/tls", {
        hostports: ["App.example.com:443", "*.example.com:8443"],
        backend: { backend_id: "bkdtg_1" },
        ip_restriction: { ip_policy_ids: ["ipp_1", "ipp_2"] },
        mutual_tls: { enabled: false, certificate_authority_ids: ["ca_1"] },
        tls_termination: {},
      });
      assert.deepEqual(edge.hostports, ["App.example.com:443", "*.example.com:8443"]);
      assert.deepEqual(edge.backend, { enabled: true, backend: ref("bkdtg_1", "backends") });
      assert.deepEqual(edge.ip_restriction, {
        enabled: true,
        ip_policies: [ref("ipp_1", "ip_policies"), ref("ipp_2", "ip_policies")],
      });
      assert.deepEqual(edge.mutual_tls, {
        enabled: false,
        certificate_authorities: [ref("ca_1", "certificate_authorities")],
      });
      const termination = { enabled: true, terminate_at: "edge", min_version: "1.2" };
      assert.deepEqual(edge.tls_termination, termination);
      assert.deepEqual((await send("GET", edge.uri)).body, edge);
    });

    it("pass TLS through upstream, with no minimum version", async () => {
      for (const min_version of [undefined, null]) {
        const tls_termination = { terminate_at: "upstream", min_version };
        const edge = await made("/edges/tls", { tls_termination });
        assert.equal(edge.tls_termination?.min_version, null);
      }
    });

    it("in a list leave unset scalars out, null modules in", async () => {
      await made("/edges/tls", { description: "one" });
      const [edge] = (await send("GET", "/edges/tls")).body.tls_edges;
      assert.ok(edge);
      assert.equal(edge.description, "one");
      assert.equal("metadata" in edge, false);
      assert.equal(edge.backend, null);
    });

    it("take an update: absent stays, present replaces all of it, empty clears", async () => {
      const edge = await made("/edges/tls", {
        description: "d",
        metadata: "m",
        hostports: ["a.example.com:443"],
        backend: { enabled: false, backend_id: "bkdtg_1" },
        tls_termination: { min_version: "1.3" },
      });
      assert.equal(edge.backend?.enabled, false);
      const update = {
        description: "",
        hostports: ["A.example.com:443"],
        tls_termination: { terminate_at: "edge" },
      };
      const answer = await send("PATCH", edge.uri, update);
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body, {
        ...edge,
        description: "",
        hostports: ["A.example.com:443"],
        tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.2" },
      });
      assert.deepEqual((await send("PATCH", edge.uri, {})).body, answer.body);
    });

    it("lose a module only by its own deletion", async () => {
      const edge = await made("/edges/tls", { mutual_tls: {}, backend: {} });
      assertRefused(await send("PATCH", edge.uri, { mutual_tls: null }), "moduleNull");
      const removed = await send("DELETE", `${edge.uri}/mutual_tls`);
      assert.deepEqual([removed.status, removed.text], [204, ""]);
      assert.deepEqual((await send("GET", edge.uri)).body, { ...edge, mutual_tls: null });
      assertRefused(await send("DELETE", `${edge.uri}/mutual_tls`), "moduleAbsent");
      assertRefused(await send("DELETE", `${edge.uri}/logging`), "unknownPath");
      assertRefused(await send("DELETE", "/edges/tls/edgtls_x/backend"), "notFound");
    });

    it("own their hostports, in any letter case, until they give them up", async () => {
      const edge = await made("/edges/tls", { hostports: ["a.EXAMPLE.com:443"] });
      const other = await made("/edges/tls", {});
      const update = { hostports: ["b.example.com:443", "A.Example.com:443"] };
      const answer = await send("PATCH", other.uri, update);
      assertRefused(answer, "hostportTaken");
      assert.ok(answer.body.msg.includes("A.Example.com:443"));
      assertRefused(await send("POST", "/edges/tls", update), "hostportTaken");
      assert.deepEqual(emulator.tlsEdges.get(other.id)?.hostports, []);
      await send("DELETE", edge.uri);
      assert.equal((await send("PATCH", other.uri, update)).status, 200);
    });

    it("hold at most 255 and 4096 bytes of UTF-8", async () => {
      const full = { description: `${"é".repeat(127)}e`, metadata: "é".repeat(2048) };
      assert.equal((await made("/edges/tls", full)).metadata, full.metadata);
      for (const over of [{ description: "é".repeat(128) }, { metadata: `${full.metadata}e` }]) {
        assertRefused(await send("POST", "/edges/tls", over), "fieldTooLong");
      }
    });

    const hostport = (text: string) => ({ hostports: [text] });
    for (const [reason, bodies] of Object.entries({
      unknownField: [
        { name: "x" },
        { backend: { id: "bkdtg_1" } },
        { backend: { backend: { id: "bkdtg_1" } } },
      ],
      fieldInvalid: [
        { description: 1 },
        { metadata: null },
        { hostports: "a.example.com:443" },
        { backend: [] },
        { backend: { enabled: "true" } },
        { ip_restriction: { ip_policy_ids: [""] } },
        { tls_termination: { terminate_at: "agent" } },
        { tls_termination: { min_version: "1.4" } },
      ],
      moduleNull: [{ backend: null }, { mutual_tls: null }],
      hostportMalformed: [
        ...["a.example.com", ":443", "https://a.example:443", "a.example.com:443:1"],
        ...["a.example.com:0", "a.example.com:65536"],
      ].map(hostport),
      hostportRepeated: [{ hostports: ["a.example:1", "A.example:1"] }],
      minVersionUpstream: [{ tls_termination: { terminate_at: "upstream", min_version: "1.2" } }],
      mutualTLSUpstream: [{ tls_termination: { terminate_at: "upstream" }, mutual_tls: {} }],
    })) {
      it(`are refused as ${reason}, created or updated`, async () => {
        const edge = await made("/edges/tls", {});
        for (const body of bodies) {
          assertRefused(await send("POST", "/edges/tls", body), reason as keyof typeof reasons);
          assertRefused(await send("PATCH", edge.uri, body), reason as keyof typeof reasons);
          assert.deepEqual(emulator.tlsEdges.list(), [edge]);
        }
      });
    }

    it("with mutual TLS can't be made to pass TLS through", async () => {
      const { uri } = await made("/edges/tls", { mutual_tls: {} });
      const update = { tls_termination: { terminate_at: "upstream" } };
      assertRefused(await send("PATCH", uri, update), "mutualTLSUpstream");
    });
  });

  describe("lists", () => {
    const pages = async (first: string, between: () => void = () => undefined) => {
      const ids: string[][] = [];
      for (let next: string | null = first; next; between()) {
        const { body } = await send("GET", next);
        assert.equal(body.uri, `${emulator.url}/edges/tls`);
        ids.push(body.tls_edges.map((edge) => edge.id));
        next = body.next_page_uri;
      }
      return ids;
    };
    const fill = async (count: number) => {
      for (let n = 0; n < count; n++) await made("/edges/tls", {});
      return emulator.tlsEdges.list().map((edge) => edge.id);
    };

    it("page 250 edges from newest to oldest, 100 at a time", async () => {
      const ids = await fill(250);
      const found = await pages("/edges/tls");
      assert.deepEqual(found, [ids.slice(0, 100), ids.slice(100, 200), ids.slice(200)]);
    });

    it("keep the limit, miss nothing that is deleted meanwhile, and end without an empty page", async () => {
      const ids = await fill(6);
      const deleted = [...ids];
      const found = await pages("/edges/tls?limit=2", () => {
        for (const id of deleted.splice(0, 2)) emulator.tlsEdges.delete(id);
      });
      assert.deepEqual(found, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    });

    it("are empty with no next page", async () => {
      const { body } = await send("GET", "/tls_certificates");
      const uri = `${emulator.url}/tls_certificates`;
      assert.deepEqual(body, { tls_certificates: [], uri, next_page_uri: null });
    });
  });

  describe("TLS certificates", () => {
    type Made = Awaited<ReturnType<typeof makeCertificate>>;
    let [root, intermediate, leaf, other]: Made[] = [];
    const day = (text: string) => new Date(`${text}T00:00:00Z`);

    before(async () => {
      root = await makeCertificate({ commonName: "Root", isCa: true, keyType: "rsa" });
      intermediate = await makeCertificate({ commonName: "Inter", isCa: true, issuer: root });
      leaf = await makeCertificate({
        commonName: "app.example.com",
        organization: "Acme",
        organizationalUnit: "Edge",
        locality: "Bern",
        province: "BE",
        country: "CH",
        dnsNames: ["app.example.com", "*.app.example.com"],
        ips: ["10.0.0.1", "2001:db8::1"],
        notBefore: day("2026-01-01"),
        notAfter: day("2027-01-01"),
        issuer: intermediate,
      });
      other = await makeCertificate({ commonName: "Other", keyType: "ed25519" });
    });

    const upload = (from: Made | undefined, changes: object = {}) => ({
      certificate_pem: from?.certificatePem,
      private_key_pem: from?.privateKeyPem,
      ...changes,
    });

    it("are uploaded with every field of the leaf in the answer, and no key", async () => {
      const { id, uri, created_at, ...rest } = await made("/tls_certificates", upload(leaf));
      assert.match(id, /^cert_[0-9A-Za-z]{27}$/);
      assert.equal(uri, `${emulator.url}/tls_certificates/${id}`);
      assert.match(created_at, /Z$/);
      assert.deepEqual(rest, {
        certificate_pem: leaf?.certificatePem,
        subject_common_name: "app.example.com",
        subject_alternative_names: {
          dns_names: ["app.example.com", "*.app.example.com"],
          ips: ["10.0.0.1", "2001:db8::1"],
        },
        issued_at: null,
        not_before: "2026-01-01T00:00:00Z",
        not_after: "2027-01-01T00:00:00Z",
        key_usages: ["digitalSignature"],
        extended_key_usages: ["serverAuth"],
        private_key_type: "ecdsa",
        issuer_common_name: "Inter",
        serial_number: new X509Certificate(leaf?.certificatePem ?? "").serialNumber.toLowerCase(),
        subject_organization: "Acme",
        subject_organizational_unit: "Edge",
        subject_locality: "Bern",
        subject_province: "BE",
        subject_country: "CH",
      });
      const stored = JSON.stringify(emulator.tlsCertificates.list());
      assert.doesNotMatch(stored, /PRIVATE KEY/);
    });

    it("leave absent parts of the subject empty, for every type of key", async () => {
      for (const keyType of ["rsa", "ecdsa", "ed25519"] as const) {
        const certificate = await makeCertificate({ commonName: keyType, keyType });
        const answer = await made("/tls_certificates", upload(certificate));
        assert.equal(answer.private_key_type, keyType);
        assert.equal(answer.issuer_common_name, keyType);
        assert.equal(answer.subject_organization, "");
        assert.deepEqual(answer.subject_alternative_names, { dns_names: [], ips: [] });
      }
    });

    it("are echoed as plain blocks, whatever stood around them", async () => {
      const odd = `# leaf\r\n${leaf?.certificatePem.replaceAll("\n", "\r\n")}\r\n\r\n`;
      const answer = await made("/tls_certificates", upload(leaf, { certificate_pem: odd }));
      assert.equal(answer.certificate_pem, leaf?.certificatePem);
    });

    /** A certificate for the leaf's key, signed by nobody that the service asks. */
    const special = async (options: object, change = (der: Buffer) => der) => {
      const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
      const keys = await x509.cryptoProvider
        .get()
        .subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const signed = await x509.X509CertificateGenerator.createSelfSigned({ keys, ...options });
      const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
      return {
        certificate_pem: block("CERTIFICATE", change(Buffer.from(signed.rawData))),
        private_key_pem: block("PRIVATE KEY", Buffer.from(key)),
      };
    };
    const block = (label: string, der: Buffer) =>
      `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
    const derOf = (pem = "") => Buffer.from(pem.replace(/-----.*-----|\s/g, ""), "base64");
    /** The same bytes with others at the place where `find` ends. */
    const patched = (der: Buffer, find: string | Buffer, bytes: number[]) => {
      const copy = Buffer.from(der);
      assert.ok(der.includes(find));
      copy.set(bytes, der.indexOf(find) + Buffer.from(find).length);
      return copy;
    };
    const extension = (id: string, isCritical: boolean, hex: string) =>
      new x509.Extension(id, isCritical, Buffer.from(hex, "hex"));
    const version3 = Buffer.from("a003020102", "hex");

    it("have the fields that Go reads, where others read them otherwise", async () => {
      const options = {
        name: "CN=first, O=Acme, CN=last",
        serialNumber: "054b01",
        notBefore: day("2060-01-01"),
        notAfter: day("2070-01-01"),
        extensions: [
          extension("2.5.29.17", false, "3018871000000000000000000000ffff010203048704ff020304"),
        ],
      };
      const early = (der: Buffer) => patched(der, "\x18\x0f", [...Buffer.from("0001")]);
      const answer = await made("/tls_certificates", await special(options, early));
      assert.equal(answer.subject_common_name, "last");
      assert.equal(answer.issuer_common_name, "last");
      assert.equal(answer.serial_number, "054b01");
      assert.equal(answer.not_before, "0001-01-01T00:00:00Z");
      assert.equal(answer.not_after, "2070-01-01T00:00:00Z");
      assert.deepEqual(answer.subject_alternative_names?.ips, ["1.2.3.4", "255.2.3.4"]);
      const high = await made("/tls_certificates", await special({ serialNumber: "ff01" }));
      assert.equal(high.serial_number, "ff01");
    });

    it("are refused where Go refuses them", async () => {
      const san = (hex: string) => ({ extensions: [extension("2.5.29.17", false, hex)] });
      const twice = ["00", "01"].map((hex) => extension("1.2.3", false, `0401${hex}`));
      const critical = extension("1.3.6.1.5.5.7.1.1", true, "3000");
      const negative = (der: Buffer) => patched(der, version3, [2, 1, 0xfb]);
      const p192 = (der: Buffer) => patched(der, Buffer.from("06082a8648ce3d0301", "hex"), [1]);
      for (const [reason, options, change] of [
        ["certificateUnparsable", {}, negative],
        ["certificateUnparsable", san("30038201e4")], // A name that is not ASCII.
        ["certificateUnparsable", { extensions: [critical] }],
        ["certificateUnparsable", { extensions: twice }],
        ["keyTypeUnsupported", {}, p192],
      ] as const) {
        const body = await special({ serialNumber: "01", ...options }, change);
        assertRefused(await send("POST", "/tls_certificates", body), reason);
      }
    });

    it("take a key in each form that Go reads, and no damaged key", async () => {
      const rsa = await makeCertificate({ commonName: "rsa", keyType: "rsa" });
      for (const [from, type] of [[rsa, "pkcs1"] as const, [leaf as Made, "sec1"] as const]) {
        const key = createPrivateKey(from.privateKeyPem);
        const old = key.export({ type, format: "der" });
        const sendKey = async (private_key_pem: string, status: number) => {
          const body = upload(from, { private_key_pem });
          assert.equal((await send("POST", "/tls_certificates", body)).status, status);
        };
        await sendKey(block("PRIVATE KEY", old), 201);
        await sendKey(block("ANY PRIVATE KEY", derOf(from.privateKeyPem)), 201);
        await sendKey(`text\r\n${from.privateKeyPem.replaceAll("\n", " \r\n\r\n")}`, 201);
        await sendKey(`${block("EC PARAMETERS", old)}${from.privateKeyPem}`, 201);
        await sendKey(`\ufeff${from.privateKeyPem}`, 400);
        await sendKey(block("KEY", old), 400);
        const { d, p, q, dp, dq, qi } = key.export({ format: "jwk" });
        for (const number of [d, p, q, dp, dq, qi].flatMap((text) => text ?? [])) {
          const bytes = Buffer.from(number, "base64url");
          const last = (bytes.at(-1) ?? 0) ^ 4;
          await sendKey(block("PRIVATE KEY", patched(old, bytes.subarray(0, -1), [last])), 400);
        }
      }
    });

    it("uploaded twice are two, and deleted one by one", async () => {
      const one = await made("/tls_certificates", upload(leaf));
      const two = await made("/tls_certificates", upload(leaf));
      assert.notEqual(one.id, two.id);
      assert.equal((await send("DELETE", one.uri)).status, 204);
      assertRefused(await send("GET", one.uri), "notFound");
      assert.deepEqual((await send("GET", two.uri)).body, two);
    });

    it("update only their description and metadata", async () => {
      const certificate = await made("/tls_certificates", upload(leaf, { description: "d" }));
      const updated = await send("PATCH", certificate.uri, { description: "", metadata: "m" });
      const { description, ...rest } = certificate;
      assert.deepEqual((await send("GET", certificate.uri)).body, updated.body);
      assert.deepEqual([description, updated.body], ["d", { ...rest, metadata: "m" }]);
      for (const field of ["certificate_pem", "private_key_pem", "serial_number"]) {
        assertRefused(await send("PATCH", certificate.uri, { [field]: "x" }), "unknownField");
      }
      const long = { description: "é".repeat(128) };
      assertRefused(await send("PATCH", certificate.uri, long), "fieldTooLong");
    });

    const leafRootIssuer = () => {
      const [first, issuer] = leaf?.certificatePem.split(/(?<=END CERTIFICATE-----\n)/) ?? [];
      return `${first}${root?.certificatePem}${issuer}`;
    };
    for (const [reason, changes] of Object.entries({
      certificateMissing: () => [{ certificate_pem: undefined }],
      certificateUnparsable: () => [
        { certificate_pem: leaf?.certificatePem.replaceAll("CERTIFICATE", "X509 CERTIFICATE") },
        { certificate_pem: "x" },
        { certificate_pem: block("CERTIFICATE", Buffer.alloc(3)) },
        { certificate_pem: `${leaf?.certificatePem}-----BEGIN CERTIFICATE-----` },
        { certificate_pem: `${leaf?.certificatePem}${leaf?.privateKeyPem}` },
      ],
      keyMissing: () => [{ private_key_pem: undefined }],
      keyUnparsable: () => [{ private_key_pem: "hunter2" }],
      keyEncrypted: () => [{ private_key_pem: block("ENCRYPTED PRIVATE KEY", Buffer.alloc(3)) }],
      keyTypeUnsupported: () => [{ certificate_pem: ed448 }],
      keyMismatch: () => [{ private_key_pem: other?.privateKeyPem }],
      // Each certificate must be signed by the next one, also when all are there.
      chainOutOfOrder: () => [
        { certificate_pem: `${leaf?.certificatePem}${other?.certificatePem}` },
        { certificate_pem: leafRootIssuer() },
      ],
      unknownField: () => [{ name: "x" }],
      fieldTooLong: () => [{ metadata: "m".repeat(4097) }],
    })) {
      it(`are refused as ${reason}, and the answer has no key`, async () => {
        for (const one of changes()) {
          const answer = await send("POST", "/tls_certificates", upload(leaf, one));
          assertRefused(answer, reason as keyof typeof reasons);
          assert.doesNotMatch(answer.text, /PRIVATE KEY|hunter2/);
          assert.deepEqual(emulator.tlsCertificates.list(), []);
        }
      });
    }

    it("may have their root at the end", async () => {
      const whole = `${leaf?.certificatePem}${root?.certificatePem}`;
      await made("/tls_certificates", upload(leaf, { certificate_pem: whole }));
    });
  });

  describe("tunnels", () => {
    it("are there from the start, one of an agent and one of a backend", async () => {
      const { body } = await send("GET", "/tunnels");
      const kinds = body.tunnels.map((tunnel) => ["endpoint" in tunnel, tunnel.proto ?? ""]);
      assert.deepEqual(kinds, [
        [true, "https"],
        [false, ""],
      ]);
      for (const tunnel of body.tunnels) {
        assert.match(String(tunnel.tunnel_session?.id), /^ts_/);
        assert.equal("labels" in tunnel, "backends" in tunnel);
        assert.deepEqual((await send("GET", `/tunnels/${tunnel.id}`)).body, tunnel);
      }
    });

    it("go online and offline, and are the newest again", async () => {
      const newest = async () => (await send("GET", "/tunnels?limit=1")).body.tunnels[0];
      emulator.tunnels.online({ id: "tn_mine", labels: { app: "web" } });
      assert.deepEqual(
        [(await newest())?.id, (await newest())?.labels],
        ["tn_mine", { app: "web" }],
      );
      emulator.tunnels.delete("tn_mine");
      assertRefused(await send("GET", "/tunnels/tn_mine"), "notFound");
      emulator.tunnels.online({});
      const { public_url } = emulator.tunnels.online({ id: "tn_mine", proto: "tcp" });
      assert.match(String(public_url), /^tcp:.*:\d+$/);
      assert.equal((await newest())?.id, "tn_mine");
    });
  });

  it("keeps accounts apart, and knows every key of an account", async () => {
    const other = emulator.addAccount();
    const as = (key: string) => ({ Authorization: `Bearer ${key}` });
    const body = { hostports: ["a.example.com:443"] };
    const { id, uri } = await made("/edges/tls", body);
    assert.equal((await send("GET", uri, undefined, as(emulator.addKey()))).status, 200);
    for (const key of [other.apiKey, other.addKey()]) {
      assertRefused(await send("GET", uri, undefined, as(key)), "notFound");
    }
    const second = await send("POST", "/edges/tls", body, as(other.apiKey));
    assert.equal(second.status, 201);
    assert.deepEqual(other.tlsEdges.list(), [second.body]);
    assert.deepEqual([emulator.tlsEdges.list().length, emulator.tlsEdges.get(id)?.id], [1, id]);
  });

  it("has clocks that can be wrong, each by itself, until it is reset", async () => {
    const hourMs = 3_600_000;
    const aheadMs = async () => {
      const { body, headers } = await send("POST", "/edges/tls", {});
      return [String(headers.date), body.created_at].map((time) => Date.parse(time) - Date.now());
    };
    const isNear = (ms: number | undefined, wanted: number) =>
      Math.abs((ms ?? 0) - wanted) < hourMs;
    Object.assign(emulator.clocks, { date: 5 * hourMs, createdAt: -9 * hourMs });
    const [date, createdAt] = await aheadMs();
    assert.ok(isNear(date, 5 * hourMs) && isNear(createdAt, -9 * hourMs), `${date} ${createdAt}`);
    // A fault's answer comes through the same gateway.
    emulator.faults.add({ answer: { status: 503 } });
    const { headers } = await send("GET", "/edges/tls");
    assert.ok(isNear(Date.parse(String(headers.date)) - Date.now(), 5 * hourMs));
    emulator.reset();
    assert.ok((await aheadMs()).every((ms) => isNear(ms, 0)));
  });

  it("has a list that lacks what was made after the fault was set", async () => {
    const known = (await made("/edges/tls", {})).id;
    emulator.faults.add({ method: "GET", path: "/edges/tls", answer: "stale" });
    const { id } = await made("/edges/tls", {});
    const listed = async () =>
      (await send("GET", "/edges/tls")).body.tls_edges.map((one) => one.id);
    assert.deepEqual(await listed(), [known]);
    assert.deepEqual(await listed(), [id, known]);
  });

  it("does the work of a failed request late: after a time, or once the faults are cleared", async () => {
    const answer = { status: 504 };
    emulator.faults.add({ method: "POST", answer, work: { afterMs: 1 } });
    emulator.faults.add({ method: "POST", answer, work: "cleared" });
    const edges = () => emulator.tlsEdges.list().length;
    const until = async (count: number) => {
      while (edges() < count) await setImmediate();
    };
    assert.equal((await send("POST", "/edges/tls", {})).status, 504);
    await until(1);
    assert.equal((await send("POST", "/edges/tls", {})).status, 504);
    assert.equal(edges(), 1);
    emulator.faults.clear();
    await until(2);
  });

  it("changes and deletes what is there, with no request recorded", async () => {
    const edge = await made("/edges/tls", { backend: {}, description: "d" });
    emulator.tlsEdges.patch(edge.id, { backend: null, description: "drifted" });
    const { body } = await send("GET", edge.uri);
    assert.deepEqual(body, { ...edge, backend: null, description: "drifted" });
    emulator.tlsEdges.delete(edge.id);
    assert.equal(emulator.tlsEdges.get(edge.id), undefined);
    assert.throws(() => emulator.tlsEdges.patch(edge.id, {}));
    assert.throws(() => emulator.tlsEdges.delete(edge.id));
    assert.equal(emulator.requests.length, 2);
  });

  describe("its options", () => {
    let folder: string;
    before(() => {
      folder = fs.mkdtempSync(path.join(os.tmpdir(), "emulator-"));
    });
    afterEach(() => restart());
    after(() => fs.rmSync(folder, { recursive: true }));

    it("rewrite a response, errors included", async () => {
      await restart({ respond: (body, request) => ({ ...Object(body), details: request }) });
      const { body, status } = await send("GET", "/tunnels/tn_x");
      assert.equal(status, 404);
      assert.equal(body.error_code, reasons.notFound.code);
      assert.deepEqual(body.details, { method: "GET", path: "/tunnels/tn_x", status: 404 });
    });

    it("delay an answer", async () => {
      await restart({ latencyMs: 60 });
      const start = performance.now();
      await send("GET", "/");
      assert.ok(performance.now() - start >= 55);
    });

    it("take a key and tunnels of the caller's own", async () => {
      await restart({ apiKey: "tlse_mine", tunnels: [{ id: "tn_2" }, { id: "tn_1" }] });
      const { body } = await send("GET", "/tunnels", undefined, {
        Authorization: "Bearer tlse_mine",
      });
      assert.deepEqual(
        body.tunnels.map(({ id }) => id),
        ["tn_2", "tn_1"],
      );
    });

    it("keep data, port, CA and key in a file that only its owner can read", async () => {
      const dataFile = path.join(folder, "data.db");
      await restart({ dataFile });
      const first = emulator;
      emulator.reset();
      const metadata = JSON.stringify({ uri: `${first.url}/mine` });
      const [edge, gone] = [await made("/edges/tls", { metadata }), await made("/edges/tls", {})];
      await send("PATCH", edge.uri, { backend: { backend_id: "bkdtg_1" } });
      await send("DELETE", gone.uri);
      const tunnels = emulator.tunnels.list();
      const pair = await makeCertificate({ commonName: "kept" });
      const body = { certificate_pem: pair.certificatePem, private_key_pem: pair.privateKeyPem };
      await made("/tls_certificates", body);
      await restart({ dataFile });
      const { url, ca, apiKey } = emulator;
      assert.deepEqual([url, ca, apiKey], [first.url, first.ca, first.apiKey]);
      assert.deepEqual(emulator.tunnels.list(), tunnels);
      assert.equal(emulator.tlsCertificates.list().length, 1);
      // Its place is known, too.
      assert.equal((await send("GET", `/edges/tls?before_id=${gone.id}`)).body.tls_edges.length, 1);
      assert.equal(fs.statSync(dataFile).mode & 0o077, 0);
      await emulator.close();
      const taken = await startEmulator({ port: Number(new URL(url).port) });
      await restart({ dataFile });
      await taken.close();
      assert.notEqual(emulator.url, url);
      const moved = (await send("GET", `/edges/tls/${edge.id}`)).body;
      const ref = { id: "bkdtg_1", uri: `${emulator.url}/backends/bkdtg_1` };
      const uri = `${emulator.url}/edges/tls/${edge.id}`;
      assert.deepEqual(moved, { ...edge, uri, backend: { enabled: true, backend: ref } });
      const secret = pair.privateKeyPem.split("\n")[1] ?? "";
      assert.equal(fs.readFileSync(dataFile).includes(secret), false);
    });

    it("refuse a file that has something else, and take the rights of others from an empty one", async () => {
      const dataFile = path.join(folder, "other.db");
      for (const text of ["mine", "mine\n", "{}\nmine\n"]) {
        fs.writeFileSync(dataFile, text);
        await assert.rejects(startEmulator({ dataFile }), /delete it/);
        assert.equal(fs.readFileSync(dataFile, "utf8"), text);
      }
      fs.writeFileSync(dataFile, "");
      fs.chmodSync(dataFile, 0o644);
      await restart({ dataFile });
      assert.equal(fs.statSync(dataFile).mode & 0o777, 0o600);
    });

    it("refuse a port that is taken", async () => {
      const port = Number(new URL(emulator.url).port);
      await assert.rejects(startEmulator({ port }), { code: "EADDRINUSE" });
    });
  });

  it("closes with requests in flight, and twice", async () => {
    await restart({ latencyMs: 600_000 });
    const cut = assert.rejects(send("GET", "/"), { code: "ECONNRESET" });
    while (emulator.requests.length === 0) await setImmediate();
    await Promise.all([emulator.close(), emulator.close()]);
    await cut;
    await assert.rejects(send("GET", "/"), { code: "ECONNREFUSED" });
    emulator = await startEmulator();
  });

  describe("on the command line", () => {
    const started: ChildProcess[] = [];
    const cwd = fs.mkdtempSync(path.join(os.tmpdir(), "tlsedge-cli-"));
    const inFolder = (...names: string[]) => path.join(cwd, ...names);
    const start = (...args: string[]) => {
      const main = path.join(__dirname, "../emulator/dist/main.js");
      const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
      const child = spawn(process.execPath, [main, ...args], { stdio, cwd });
      started.push(child);
      return child;
    };
    const ended = async (child: ReturnType<typeof start>) => {
      const streams = [child.stdout, child.stderr].map((stream) => text(stream));
      const [[code], output = "", errors = ""] = await Promise.all([
        once(child, "close"),
        ...streams,
      ]);
      return { code, output, errors };
    };
    const served = async (...args: string[]) => {
      const child = start(...args);
      const end = ended(child);
      await once(child.stdout, "data");
      child.kill("SIGINT");
      const { code, output, errors } = await end;
      assert.deepEqual([code, errors], [0, ""]);
      return output;
    };
    after(() => {
      for (const child of started) child.kill("SIGKILL");
      fs.rmSync(cwd, { recursive: true });
    });

    it("prints what to export, and keeps address, key and CA in a folder", async () => {
      const output = await served();
      const env = inFolder("env");
      // It replaces files: one with rights for others, and a link that leads elsewhere.
      fs.writeFileSync(env, "mine", { mode: 0o644 });
      const ca = inFolder(".tlsedge", "emulator", "ca.pem");
      fs.rmSync(ca);
      fs.symlinkSync(env, ca);
      assert.equal(await served("--write-env", "env"), output);
      const exports = output.match(/^export .*/gm)?.map((line) => line.replace("export ", ""));
      assert.equal(fs.readFileSync(env, "utf8"), `${exports?.join("\n")}\n`);
      assert.equal(fs.statSync(env).mode & 0o777, 0o600);
      assert.match(fs.readFileSync(ca, "utf8"), /BEGIN CERTIFICATE/);
      assert.notEqual(await served("--data", "other"), output);
      assert.match(output, /^export TLSEDGE_BASE_URL=https:\/\/localhost:\d+$/m);
      assert.match(output, /^export TLSEDGE_API_KEY=tlse_\w{27}$/m);
      assert.match(output, /^export TLSEDGE_CA_FILE=.*ca\.pem'?$/m);
    });

    it("makes a certificate as an ACME client writes it, in place of files that are there", async () => {
      fs.mkdirSync(inFolder("new"));
      fs.writeFileSync(inFolder("new", "privkey.pem"), "mine", { mode: 0o644 });
      const args = ["a.example.com", "*.a.example.com", "--out", "new", "--days", "7"];
      assert.equal((await ended(start("certificate", ...args))).code, 0);
      const chain = fs.readFileSync(inFolder("new", "fullchain.pem"), "utf8");
      const blocks = chain.split(/(?<=-----END CERTIFICATE-----\n)/);
      const [leaf, issuer] = blocks.map((one) => new X509Certificate(one));
      assert.equal(leaf?.subjectAltName, "DNS:a.example.com, DNS:*.a.example.com");
      assert.ok(issuer && leaf?.checkIssued(issuer));
      const key = inFolder("new", "privkey.pem");
      assert.ok(leaf.checkPrivateKey(createPrivateKey(fs.readFileSync(key))));
      assert.equal(fs.statSync(key).mode & 0o777, 0o600);
      const days = (Date.parse(leaf.validTo) - Date.now()) / 86_400_000;
      assert.ok(days > 6.9 && days <= 7, String(days));
    });

    it("refuses a typo with 2, a taken port with 1", async () => {
      const noFolder = ["certificate", "a.example.com"];
      for (const args of [["--prot", "1"], ["--port", "x"], ["extra"], ["certificate"], noFolder]) {
        assert.equal((await ended(start(...args))).code, 2);
      }
      const { code, errors } = await ended(start("--port", new URL(emulator.url).port));
      assert.deepEqual([code, errors.trim().split("\n").length], [1, 1]);
    });
  });
});

const ed448 = `-----BEGIN CERTIFICATE-----
MIIBgjCCAQKgAwIBAgIUKaTlQT39OdfzJkIeq0U1n6s9XFwwBQYDK2VxMBAxDjAM
BgNVBAMMBWVkNDQ4MCAXDTI2MTEyMTE0NTMwNloYDzIxMjYxMDI4MTQ1MzA2WjAQ
MQ4wDAYDVQQDDAVlZDQ0ODBDMAUGAytlcQM6AHOAVTc3mjRJC/Vv1xsB0Q/Pzt1x
9m+di3/bZ7GK/tLcHw5Ff1+diCp+QKD2T1dypfVDTS5qeiTtAKNTMFEwHQYDVR0O
BBYEFFF/tPB+UiqYpbJcvNuZzSk3nKSyMB8GA1UdIwQYMBaAFFF/tPB+UiqYpbJc
vNuZzSk3nKSyMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VxA3MALncOFh5KdIfV8w6S
XRJFiZCmB9vb4oDq6xuIMmBHw2zHiIMyYsVXPOSkGmAcwE/Drezw+dyJhtyA2m/x
t4U9tXvqCkjHaKNciKL9VQK0HGyRc5ih+PqyN8kkCAQmtZQe5gE/vHpfkT8OOhG8
Y7dL2Q0A
-----END CERTIFICATE-----
`;
