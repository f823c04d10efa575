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
  type Reason,
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

function assertRefused(answer: Answer, reason: Reason) {
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
    it("is served only to a client that trusts the CA", async () => {
      const request = https.get(emulator.url, { agent: false });
      const [error] = await once(request, "error");
      assert.equal(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
      assert.equal((await send("GET", "/")).status, 200);
      const byAddress = emulator.url.replace("localhost", "127.0.0.1");
      assert.equal((await send("GET", byAddress)).status, 200);
    });

    it("finds the collections at the root", async () => {
      const { body } = await send("GET", "/");
      assert.equal(body.tls_edges, `${emulator.url}/edges/tls`);
      assert.equal(body.tls_certificates, `${emulator.url}/tls_certificates`);
      assert.equal(body.tunnels, `${emulator.url}/tunnels`);
    });

    const refused: [string, Reason, string, string, unknown?, Headers?][] = [
      ["no key", reasons.keyRefused, "GET", "/tunnels", undefined, { Authorization: undefined }],
      [
        "a wrong key",
        reasons.keyRefused,
        "GET",
        "/tunnels",
        undefined,
        { Authorization: "Bearer x" },
      ],
      [
        "no version",
        reasons.versionRefused,
        "GET",
        "/",
        undefined,
        { "Service-Version": undefined },
      ],
      ["version 3", reasons.versionRefused, "GET", "/", undefined, { "Service-Version": "3" }],
      ["an unknown path", reasons.unknownPath, "GET", "/edges/http"],
      ["a wrong method", reasons.wrongMethod, "PUT", "/edges/tls", {}],
      ["a create of a tunnel", reasons.wrongMethod, "POST", "/tunnels", {}],
      [
        "no content type",
        reasons.contentType,
        "POST",
        "/edges/tls",
        "{}",
        { "Content-Type": undefined },
      ],
      [
        "another content type",
        reasons.contentType,
        "POST",
        "/edges/tls",
        "{}",
        { "Content-Type": "text/json" },
      ],
      ["a body that isn't JSON", reasons.bodyNotJSON, "POST", "/edges/tls", "{"],
      ["a body that isn't an object", reasons.fieldInvalid, "POST", "/edges/tls", []],
      [
        "a huge body",
        reasons.bodyTooLarge,
        "POST",
        "/edges/tls",
        { metadata: "m".repeat(2 ** 20) },
      ],
      ["an unknown parameter", reasons.unknownParameter, "GET", "/edges/tls?page=2"],
      ["a list's parameter elsewhere", reasons.unknownParameter, "POST", "/edges/tls?limit=2", {}],
      ["a parameter given twice", reasons.unknownParameter, "GET", "/tunnels?limit=2&limit=2"],
      ["limit=0", reasons.limitInvalid, "GET", "/edges/tls?limit=0"],
      ["limit=101", reasons.limitInvalid, "GET", "/tunnels?limit=101"],
      ["limit=ten", reasons.limitInvalid, "GET", "/tls_certificates?limit=ten"],
      ["an unknown before_id", reasons.beforeIdUnknown, "GET", "/edges/tls?before_id=edgtls_x"],
      ["a missing edge", reasons.notFound, "GET", "/edges/tls/edgtls_x"],
      ["an update of a missing edge", reasons.notFound, "PATCH", "/edges/tls/edgtls_x", {}],
      ["a deletion of a missing edge", reasons.notFound, "DELETE", "/edges/tls/edgtls_x"],
      ["a missing certificate", reasons.notFound, "GET", "/tls_certificates/cert_x"],
      ["a missing tunnel", reasons.notFound, "GET", "/tunnels/tn_x"],
    ];
    for (const [what, reason, method, url, body, headers] of refused) {
      it(`with ${what} is refused (${reason.status} ${reason.code})`, async () => {
        assertRefused(await send(method, url, body, headers), reason);
      });
    }

    it("may name any version, in a header of any case, and a charset", async () => {
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
      assertRefused(await send("PATCH", edge.uri, { mutual_tls: null }), reasons.moduleNull);
      const removed = await send("DELETE", `${edge.uri}/mutual_tls`);
      assert.deepEqual([removed.status, removed.text], [204, ""]);
      assert.deepEqual((await send("GET", edge.uri)).body, { ...edge, mutual_tls: null });
      assertRefused(await send("DELETE", `${edge.uri}/mutual_tls`), reasons.moduleAbsent);
      assertRefused(await send("DELETE", `${edge.uri}/logging`), reasons.unknownPath);
      assertRefused(await send("DELETE", "/edges/tls/edgtls_x/backend"), reasons.notFound);
    });

    it("are deleted once", async () => {
      const edge = await made("/edges/tls", {});
      const removed = await send("DELETE", edge.uri);
      assert.deepEqual([removed.status, removed.text], [204, ""]);
      assertRefused(await send("DELETE", edge.uri), reasons.notFound);
    });

    it("own their hostports, in any letter case, until they give them up", async () => {
      const [hostport] = ["a.example.com:443"];
      const edge = await made("/edges/tls", { hostports: [hostport] });
      const other = await made("/edges/tls", {});
      const update = { hostports: ["b.example.com:443", "A.Example.com:443"] };
      const answer = await send("PATCH", other.uri, update);
      assertRefused(answer, reasons.hostportTaken);
      assert.ok(answer.body.msg.includes("A.Example.com:443"));
      assertRefused(await send("POST", "/edges/tls", update), reasons.hostportTaken);
      assert.deepEqual(emulator.tlsEdges.get(other.id)?.hostports, []);
      await send("DELETE", edge.uri);
      assert.equal((await send("PATCH", other.uri, update)).status, 200);
    });

    it("hold at most 255 and 4096 bytes of UTF-8", async () => {
      const full = { description: `${"é".repeat(127)}e`, metadata: "é".repeat(2048) };
      assert.equal((await made("/edges/tls", full)).metadata, full.metadata);
      for (const over of [{ description: "é".repeat(128) }, { metadata: `${full.metadata}e` }]) {
        assertRefused(await send("POST", "/edges/tls", over), reasons.fieldTooLong);
      }
    });

    const upstream = { terminate_at: "upstream" };
    const refused: [string, Reason, unknown][] = [
      ["an unknown field", reasons.unknownField, { name: "x" }],
      ["an unknown field in a module", reasons.unknownField, { backend: { id: "bkdtg_1" } }],
      ["a response's shape", reasons.unknownField, { backend: { backend: { id: "bkdtg_1" } } }],
      ["a number for a string", reasons.fieldInvalid, { description: 1 }],
      ["null for a string", reasons.fieldInvalid, { metadata: null }],
      ["a string for a list", reasons.fieldInvalid, { hostports: "a.example.com:443" }],
      ["a list for a module", reasons.fieldInvalid, { backend: [] }],
      ["a string for enabled", reasons.fieldInvalid, { backend: { enabled: "true" } }],
      ["an empty id", reasons.fieldInvalid, { ip_restriction: { ip_policy_ids: [""] } }],
      ["an unknown end", reasons.fieldInvalid, { tls_termination: { terminate_at: "agent" } }],
      ["an unknown version", reasons.fieldInvalid, { tls_termination: { min_version: "1.4" } }],
      ["a null module", reasons.moduleNull, { backend: null }],
      ["a hostport without a port", reasons.hostportMalformed, { hostports: ["a.example.com"] }],
      ["a hostport without a host", reasons.hostportMalformed, { hostports: [":443"] }],
      [
        "a hostport that is a URL",
        reasons.hostportMalformed,
        { hostports: ["https://a.example:443"] },
      ],
      ["two ports", reasons.hostportMalformed, { hostports: ["a.example.com:443:1"] }],
      ["port 0", reasons.hostportMalformed, { hostports: ["a.example.com:0"] }],
      ["port 65536", reasons.hostportMalformed, { hostports: ["a.example.com:65536"] }],
      ["a hostport twice", reasons.hostportRepeated, { hostports: ["a.example:1", "A.example:1"] }],
      [
        "upstream and a version",
        reasons.minVersionUpstream,
        { tls_termination: { ...upstream, min_version: "1.2" } },
      ],
      [
        "upstream and mutual TLS",
        reasons.mutualTLSUpstream,
        { tls_termination: upstream, mutual_tls: {} },
      ],
    ];
    for (const [what, reason, body] of refused) {
      it(`with ${what} are refused (${reason.code}), created or updated`, async () => {
        const edge = await made("/edges/tls", {});
        assertRefused(await send("POST", "/edges/tls", body), reason);
        assertRefused(await send("PATCH", edge.uri, body), reason);
        assert.deepEqual(emulator.tlsEdges.list(), [edge]);
      });
    }

    it("with mutual TLS can't be made to pass TLS through", async () => {
      const edge = await made("/edges/tls", { mutual_tls: {} });
      const update = { tls_termination: { terminate_at: "upstream" } };
      assertRefused(await send("PATCH", edge.uri, update), reasons.mutualTLSUpstream);
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
      assert.deepEqual(
        found.map((page) => page.length),
        [100, 100, 50],
      );
      assert.deepEqual(found.flat(), ids);
    });

    it("keep the limit in the next page, and end without an empty one", async () => {
      const ids = await fill(6);
      assert.deepEqual(await pages("/edges/tls?limit=3"), [ids.slice(0, 3), ids.slice(3)]);
      const { body } = await send("GET", `/edges/tls?before_id=${ids[4]}`);
      assert.equal(body.tls_edges[0]?.id, ids[5]);
    });

    it("miss nothing when edges are deleted between pages", async () => {
      const ids = await fill(6);
      const doomed = [...ids];
      const found = await pages("/edges/tls?limit=2", () => {
        for (const id of doomed.splice(0, 2)) emulator.tlsEdges.delete(id);
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

    const aia = "1.3.6.1.5.5.7.1.1";
    const unreadable: [string, object, ((der: Buffer) => Buffer)?][] = [
      ["a negative serial number", {}, (der) => patched(der, version3, [2, 1, 0xfb])],
      ["a name that is not ASCII", { extensions: [extension("2.5.29.17", false, "30038201e4")] }],
      ["an extension that must not be critical", { extensions: [extension(aia, true, "3000")] }],
      [
        "an extension twice",
        { extensions: ["00", "01"].map((hex) => extension("1.2.3", false, `0401${hex}`)) },
      ],
    ];
    for (const [what, options, change] of unreadable) {
      it(`with ${what} are refused, as Go refuses them`, async () => {
        const serialNumber = "01";
        const answer = await send(
          "POST",
          "/tls_certificates",
          await special({ serialNumber, ...options }, change),
        );
        assertRefused(answer, reasons.certificateUnparsable);
      });
    }

    it("with a key on a curve that Go does not have are refused", async () => {
      const p192 = (der: Buffer) => patched(der, Buffer.from("06082a8648ce3d0301", "hex"), [1]);
      const answer = await send("POST", "/tls_certificates", await special({}, p192));
      assertRefused(answer, reasons.keyTypeUnsupported);
    });

    it("take a key in each form that Go reads, and no damaged key", async () => {
      const rsa = await makeCertificate({ commonName: "rsa", keyType: "rsa" });
      const given: [Made | undefined, "pkcs1" | "sec1"][] = [
        [rsa, "pkcs1"],
        [leaf, "sec1"],
      ];
      for (const [from, type] of given) {
        const key = createPrivateKey(from?.privateKeyPem ?? "");
        const old = key.export({ type, format: "der" });
        const jwk = key.export({ format: "jwk" });
        const accepted = [
          block("PRIVATE KEY", old),
          block("ANY PRIVATE KEY", derOf(from?.privateKeyPem)),
          `text\r\n${from?.privateKeyPem.replaceAll("\n", " \r\n\r\n")}`,
          `${block("EC PARAMETERS", old)}${from?.privateKeyPem}`,
        ];
        for (const private_key_pem of accepted) {
          await made("/tls_certificates", upload(from, { private_key_pem }));
        }
        const damaged = ["d", "p", "q", "dp", "dq", "qi"].flatMap((name) => {
          const number = Buffer.from(String(jwk[name as "d"] ?? ""), "base64url");
          const last = (number.at(-1) ?? 0) ^ 4;
          return number.length > 0
            ? [block("PRIVATE KEY", patched(old, number.subarray(0, -1), [last]))]
            : [];
        });
        const refused = [`\ufeff${from?.privateKeyPem}`, block("KEY", old), ...damaged];
        for (const private_key_pem of refused) {
          const { status } = await send(
            "POST",
            "/tls_certificates",
            upload(from, { private_key_pem }),
          );
          assert.equal(status, 400, `${type} ${refused.indexOf(private_key_pem)}`);
        }
      }
    });

    it("uploaded twice are two, and deleted one by one", async () => {
      const [one, two] = [
        await made("/tls_certificates", upload(leaf)),
        await made("/tls_certificates", upload(leaf)),
      ];
      assert.notEqual(one.id, two.id);
      assert.equal((await send("DELETE", one.uri)).status, 204);
      assertRefused(await send("GET", one.uri), reasons.notFound);
      assert.deepEqual((await send("GET", two.uri)).body, two);
    });

    it("update only their description and metadata", async () => {
      const certificate = await made("/tls_certificates", upload(leaf, { description: "d" }));
      const updated = await send("PATCH", certificate.uri, { description: "", metadata: "m" });
      const { description, ...rest } = certificate;
      assert.deepEqual((await send("GET", certificate.uri)).body, updated.body);
      assert.deepEqual([description, updated.body], ["d", { ...rest, metadata: "m" }]);
      for (const field of ["certificate_pem", "private_key_pem", "serial_number"]) {
        assertRefused(await send("PATCH", certificate.uri, { [field]: "x" }), reasons.unknownField);
      }
      const long = { description: "é".repeat(128) };
      assertRefused(await send("PATCH", certificate.uri, long), reasons.fieldTooLong);
    });

    const relabelled = () => leaf?.certificatePem.replaceAll("CERTIFICATE", "X509 CERTIFICATE");
    const garbage = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`;
    const refused: [string, Reason, () => object][] = [
      ["no certificate", reasons.certificateMissing, () => ({ certificate_pem: undefined })],
      [
        "blocks of another kind",
        reasons.certificateUnparsable,
        () => ({ certificate_pem: relabelled() }),
      ],
      ["text for a certificate", reasons.certificateUnparsable, () => ({ certificate_pem: "x" })],
      [
        "a broken certificate",
        reasons.certificateUnparsable,
        () => ({ certificate_pem: garbage("CERTIFICATE") }),
      ],
      [
        "half a block",
        reasons.certificateUnparsable,
        () => ({ certificate_pem: `${leaf?.certificatePem}-----BEGIN CERTIFICATE-----` }),
      ],
      [
        "a key among the certificates",
        reasons.certificateUnparsable,
        () => ({ certificate_pem: `${leaf?.certificatePem}${leaf?.privateKeyPem}` }),
      ],
      ["no key", reasons.keyMissing, () => ({ private_key_pem: undefined })],
      ["text for a key", reasons.keyUnparsable, () => ({ private_key_pem: "hunter2" })],
      [
        "an encrypted key",
        reasons.keyEncrypted,
        () => ({ private_key_pem: garbage("ENCRYPTED PRIVATE KEY") }),
      ],
      ["an Ed448 certificate", reasons.keyTypeUnsupported, () => ({ certificate_pem: ed448 })],
      [
        "the key of another",
        reasons.keyMismatch,
        () => ({ private_key_pem: other?.privateKeyPem }),
      ],
      [
        "a chain that skips one",
        reasons.chainOutOfOrder,
        () => ({ certificate_pem: `${leaf?.certificatePem}${other?.certificatePem}` }),
      ],
      ["an unknown field", reasons.unknownField, () => ({ name: "x" })],
      ["long metadata", reasons.fieldTooLong, () => ({ metadata: "m".repeat(4097) })],
    ];
    for (const [what, reason, changes] of refused) {
      it(`with ${what} are refused (${reason.code}), their key unsaid`, async () => {
        const answer = await send("POST", "/tls_certificates", upload(leaf, changes()));
        assertRefused(answer, reason);
        assert.doesNotMatch(answer.text, /PRIVATE KEY|hunter2/);
        assert.deepEqual(emulator.tlsCertificates.list(), []);
      });
    }

    it("out of order are refused even when each is there", async () => {
      const [one = "", two = ""] = leaf?.certificatePem.split(/(?<=END CERTIFICATE-----\n)/) ?? [];
      const body = upload(leaf, { certificate_pem: `${one}${root?.certificatePem}${two}` });
      assertRefused(await send("POST", "/tls_certificates", body), reasons.chainOutOfOrder);
      const whole = upload(leaf, { certificate_pem: `${one}${two}${root?.certificatePem}` });
      await made("/tls_certificates", whole);
    });
  });

  describe("tunnels", () => {
    it("are there from the start, of every protocol, with what theirs has", async () => {
      const { body } = await send("GET", "/tunnels");
      const protocols = new Set(body.tunnels.map((tunnel) => tunnel.proto));
      assert.deepEqual([...protocols].sort(), ["http", "https", "tcp", "tls", undefined]);
      for (const tunnel of body.tunnels) {
        assert.match(String(tunnel.tunnel_session?.id), /^ts_/);
        assert.equal("labels" in tunnel, "backends" in tunnel);
        assert.notEqual("labels" in tunnel, "endpoint" in tunnel);
        const single = (await send("GET", `/tunnels/${tunnel.id}`)).body;
        assert.deepEqual(single, tunnel);
      }
    });

    it("go online and offline as their agents would, in process or by HTTPS", async () => {
      const { id } = emulator.tunnels.online({ id: "tn_mine", labels: { app: "web" } });
      const { body } = await send("GET", "/tunnels?limit=1");
      assert.deepEqual([body.tunnels[0]?.id, body.tunnels[0]?.labels], [id, { app: "web" }]);
      emulator.tunnels.offline(id);
      assertRefused(await send("GET", `/tunnels/${id}`), reasons.notFound);

      const noVersion = { "Service-Version": undefined };
      const again = await send("POST", "/_emulator/tunnels", { id, proto: "tcp" }, noVersion);
      assert.equal(again.status, 201);
      assert.match(String(again.body.public_url), /^tcp:.*:\d+$/);
      assertRefused(await send("POST", "/_emulator/tunnels", { id }), reasons.tunnelOnline);
      assertRefused(await send("POST", "/_emulator/tunnels", { name: 1 }), reasons.unknownField);
      const wrongKey = { Authorization: "Bearer x" };
      const path = `/_emulator/tunnels/${id}`;
      assertRefused(await send("DELETE", path, undefined, wrongKey), reasons.keyRefused);
      assert.equal((await send("DELETE", path)).status, 204);
      assertRefused(await send("GET", `/tunnels/${id}`), reasons.notFound);
    });
  });

  it("keeps accounts apart, and knows every key of an account", async () => {
    const other = emulator.addAccount();
    const as = (key: string) => ({ Authorization: `Bearer ${key}` });
    const { id } = await made("/edges/tls", { hostports: ["a.example.com:443"] });
    const path = `/edges/tls/${id}`;
    assert.equal((await send("GET", path, undefined, as(emulator.addKey()))).status, 200);
    for (const key of [other.apiKey, other.addKey()]) {
      assertRefused(await send("GET", path, undefined, as(key)), reasons.notFound);
    }
    const same = { hostports: ["a.example.com:443"] };
    const second = await send("POST", "/edges/tls", same, as(other.apiKey));
    assert.equal(second.status, 201);
    assert.deepEqual(other.tlsEdges.list(), [second.body]);
    assert.deepEqual(
      emulator.tlsEdges.list().map((edge) => edge.id),
      [id],
    );
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

  describe("behind a client's back", () => {
    it("changes and deletes what is there, with no request recorded", async () => {
      const edge = await made("/edges/tls", { backend: {}, description: "d" });
      emulator.tlsEdges.patch(edge.id, { backend: null, description: "drifted" });
      const { body } = await send("GET", edge.uri);
      assert.deepEqual(body, { ...edge, backend: null, description: "drifted" });
      emulator.tlsEdges.delete(edge.id);
      assertRefused(await send("GET", edge.uri), reasons.notFound);
      assert.throws(() => emulator.tlsEdges.patch(edge.id, {}));
      assert.throws(() => emulator.tlsEdges.delete(edge.id));
      assert.equal(emulator.requests.length, 3);
    });
  });

  describe("its options", () => {
    let folder: string;
    before(() => {
      folder = fs.mkdtempSync(path.join(os.tmpdir(), "emulator-"));
    });
    afterEach(() => restart());
    after(() => fs.rmSync(folder, { recursive: true }));

    it("limit requests in a rolling minute, and say when to come back", async () => {
      await restart({ requestsPerMinute: 2 });
      await send("GET", "/tunnels");
      await send("GET", "/tunnels");
      const answer = await send("GET", "/tunnels");
      assertRefused(answer, reasons.tooManyRequests);
      const wait = Number(answer.headers["retry-after"]);
      assert.ok(wait >= 55 && wait <= 60, `Retry-After was ${wait}`);
      assert.equal((await send("POST", "/_emulator/tunnels", {})).status, 201);
      emulator.reset();
      assert.equal((await send("GET", "/tunnels")).status, 200);
    });

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

    it("keep the port in a file, as every uri has it, and take another when it is not free", async () => {
      const dataFile = path.join(folder, "port.db");
      await restart({ dataFile });
      const { url } = emulator;
      const { id, uri } = await made("/edges/tls", {});
      await restart({ dataFile });
      assert.equal(emulator.url, url);
      assert.equal((await send("GET", `/edges/tls/${id}`)).body.uri, uri);
      await emulator.close();
      const taken = await startEmulator({ port: Number(new URL(url).port) });
      await restart({ dataFile });
      await taken.close();
      assert.notEqual(emulator.url, url);
      const moved = (await send("GET", `/edges/tls/${id}`)).body.uri;
      assert.equal(moved, `${emulator.url}/edges/tls/${id}`);
    });

    it("keep data, CA and key in a file that only its owner can read", async () => {
      const dataFile = path.join(folder, "data.db");
      await restart({ dataFile });
      const first = emulator;
      emulator.reset();
      const edge = await made("/edges/tls", { backend: { backend_id: "bkdtg_1" } });
      const tunnels = emulator.tunnels.list().map(({ id }) => id);
      const key = await makeCertificate({ commonName: "kept" });
      const body = { certificate_pem: key.certificatePem, private_key_pem: key.privateKeyPem };
      await made("/tls_certificates", body);
      await restart({ dataFile });
      assert.deepEqual([emulator.ca, emulator.apiKey], [first.ca, first.apiKey]);
      const kept = await send("GET", `/edges/tls/${edge.id}`);
      assert.deepEqual(
        kept.body,
        JSON.parse(JSON.stringify(edge).replaceAll(first.url, emulator.url)),
      );
      assert.deepEqual(
        emulator.tunnels.list().map(({ id }) => id),
        tunnels,
      );
      assert.equal(emulator.tlsCertificates.list().length, 1);
      assert.equal(fs.statSync(dataFile).mode & 0o077, 0);
      await restart();
      const secret = key.privateKeyPem.split("\n")[1] ?? "";
      assert.equal(fs.readFileSync(dataFile).includes(secret), false);
    });

    it("take the rights of others from a data file that is there", async () => {
      const dataFile = path.join(folder, "open.db");
      fs.writeFileSync(dataFile, "", { mode: 0o644 });
      fs.chmodSync(dataFile, 0o644);
      await restart({ dataFile });
      assert.equal(fs.statSync(dataFile).mode & 0o777, 0o600);
    });

    it("refuse a port that is taken", async () => {
      const port = Number(new URL(emulator.url).port);
      await assert.rejects(startEmulator({ port }), { code: "EADDRINUSE" });
    });
  });

  it("refuses a wrong key before it reads a body", async () => {
    const headers = { Authorization: "Bearer wrong", "Content-Length": 60 * 1024 * 1024 };
    const url = new URL("/edges/tls", emulator.url);
    const request = https.request(url, { method: "POST", ca: emulator.ca, headers, agent: false });
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
    const start = (...args: string[]) => {
      const main = path.join(__dirname, "../emulator/dist/main.js");
      const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
      const child = spawn(process.execPath, [main, ...args], { stdio, cwd });
      started.push(child);
      return child;
    };
    const ended = async (child: ReturnType<typeof start>) => {
      const [[code], output, errors] = await Promise.all([
        once(child, "close"),
        text(child.stdout),
        text(child.stderr),
      ]);
      return { code, output, errors };
    };
    after(() => {
      for (const child of started) child.kill("SIGKILL");
      fs.rmSync(cwd, { recursive: true });
    });

    it("serves what it prints, says nothing else, and ends cleanly", async () => {
      const child = start("--json", "--in-memory", "--api-key", "tlse_cli");
      const end = ended(child);
      const [line] = await once(child.stdout, "data");
      const { url, apiKey, caFile } = JSON.parse(String(line));
      assert.equal(apiKey, "tlse_cli");
      const ca = fs.readFileSync(caFile);
      const headers = { Authorization: `Bearer ${apiKey}`, "Service-Version": "2" };
      const [response] = await once(https.get(url, { ca, headers, agent: false }), "response");
      assert.equal(response.statusCode, 200);
      response.resume();
      child.kill("SIGTERM");
      const { code, errors } = await end;
      assert.deepEqual([code, errors, fs.existsSync(caFile)], [0, "", false]);
    });

    it("prints what to export, and keeps address, key and CA in a folder", async () => {
      const run = async (...args: string[]) => {
        const child = start(...args);
        const end = ended(child);
        await once(child.stdout, "data");
        child.kill("SIGINT");
        const { code, output } = await end;
        assert.equal(code, 0);
        return output;
      };
      const output = await run();
      // A file that is not there yet: Node.js itself reads `--env-file`, wherever it stands.
      await run("--write-env", "new");
      const env = path.join(cwd, "env");
      fs.writeFileSync(env, "mine", { mode: 0o644 });
      assert.equal(await run("--write-env", "env"), output);
      const exports = output.match(/^export .*/gm)?.map((line) => line.replace("export ", ""));
      assert.equal(fs.readFileSync(env, "utf8"), `${exports?.join("\n")}\n`);
      assert.equal(fs.statSync(env).mode & 0o777, 0o600);
      assert.notEqual(await run("--data", "other"), output);
      assert.match(output, /^export TLSEDGE_BASE_URL=https:\/\/localhost:\d+$/m);
      assert.match(output, /^export TLSEDGE_API_KEY=tlse_\w{27}$/m);
      assert.match(output, /^export TLSEDGE_CA_FILE=.*ca\.pem'?$/m);
    });

    it("makes a certificate as an ACME client writes it, for the days that are asked", async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tlsedge-certificate-"));
      try {
        const names = ["a.example.com", "*.a.example.com"];
        const args = ["certificate", ...names, "--out", path.join(folder, "new"), "--days", "7"];
        const { code } = await ended(start(...args));
        assert.equal(code, 0);
        const read = (name: string) => fs.readFileSync(path.join(folder, "new", name), "utf8");
        const blocks = read("fullchain.pem").split(/(?<=-----END CERTIFICATE-----\n)/);
        const [leaf, issuer] = blocks.map((block) => new X509Certificate(block)) as [
          X509Certificate,
          X509Certificate,
        ];
        assert.equal(leaf.subjectAltName, "DNS:a.example.com, DNS:*.a.example.com");
        assert.ok(leaf.checkPrivateKey(createPrivateKey(read("privkey.pem"))));
        assert.ok(leaf.checkIssued(issuer));
        const days = (Date.parse(leaf.validTo) - Date.now()) / 86_400_000;
        assert.ok(days > 6.9 && days <= 7, String(days));
      } finally {
        fs.rmSync(folder, { recursive: true });
      }
    });

    it("replaces files that are there: a key's rights, and a link at the CA's name", async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tlsedge-existing-"));
      try {
        const file = (name: string) => path.join(folder, name);
        for (const name of ["privkey.pem", "other"]) {
          fs.writeFileSync(file(name), "mine");
          fs.chmodSync(file(name), 0o644);
        }
        const made = await ended(start("certificate", "a.example.com", "--out", folder));
        assert.equal(made.code, 0, made.errors);
        assert.equal(fs.statSync(file("privkey.pem")).mode & 0o777, 0o600);
        fs.symlinkSync(file("other"), file("ca.pem"));
        const child = start("--data", folder);
        const end = ended(child);
        await once(child.stdout, "data");
        child.kill("SIGTERM");
        await end;
        assert.match(fs.readFileSync(file("ca.pem"), "utf8"), /BEGIN CERTIFICATE/);
        assert.equal(fs.readFileSync(file("other"), "utf8"), "mine");
      } finally {
        fs.rmSync(folder, { recursive: true });
      }
    });

    it("refuses a typo with 2, a taken port with 1", async () => {
      for (const args of [
        ["--prot", "1"],
        ["--port", "x"],
        ["extra"],
        ["certificate"],
        ["--in-memory", "--data", "x"],
      ]) {
        assert.equal((await ended(start(...args))).code, 2);
      }
      const { code, errors } = await ended(start("--port", new URL(emulator.url).port));
      assert.equal(code, 1);
      assert.equal(errors.trim().split("\n").length, 1);
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
