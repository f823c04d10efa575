import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import dns from "node:dns";
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { mock } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { inspect, promisify } from "node:util";
import { gzipSync } from "node:zlib";
import * as v from "valibot";
import { Client } from "../client/client";
import { RequestError } from "../client/errors";
import type { ClientOptions } from "../client/options";
import { Deadline, Pace } from "../client/pace";
import { proxyFor } from "../client/proxy";
import { type TLSEdgeMutation, tlsEdges } from "../client/tlsEdge";
import { tunnels } from "../client/tunnel";
import { makeCertificate } from "../emulator/pki";
import {
  type Answer,
  answer,
  failureOf,
  fileWith,
  holdClocks,
  holdTimeouts,
  reset,
  script,
  setEnv,
  silence,
  skipPauses,
} from "./support";

const apiKey = "key-that-nobody-may-see";
const path = "/edges/tls";
const edge = { id: "edgtls_1", uri: "https://x/edgtls_1", created_at: "2026-01-01T00:00:00Z" };
const anything = v.object({});
const done = answer(200, edge);

const create = (client: Client, body = {}) => tlsEdges.create(client, body);
const get = (client: Client) => tlsEdges.get(client, "edgtls_1");
const update = (client: Client) => tlsEdges.update(client, "edgtls_1", { metadata: "m" });
const remove = (client: Client) => tlsEdges.delete(client, "edgtls_1");
const listAll = (client: Client) => Array.fromAsync(tlsEdges.list(client));
const firstPage = (client: Client) => tlsEdges.pages(client).next();
const operations = { POST: create, GET: get, PATCH: update, DELETE: remove };

/** Each request of the client, against a scripted server over HTTPS. */
describe("the client", () => {
  /** What ends the servers of a test. */
  const ends: (() => unknown)[] = [];

  /** A client of a server that gives these answers. */
  async function scripted(answers: Answer[], options: Partial<ClientOptions> = {}) {
    const { url: baseUrl, caFile, requests, close } = await script(...answers);
    ends.push(close);
    const client = new Client({ baseUrl, caFile, apiKey, requestsPerMinute: 0, ...options });
    return { client, requests, url: baseUrl, caFile };
  }

  /** The URL of a TCP server, which ends with the test. */
  async function listening(tcp = createTcpServer()) {
    tcp.on("connection", (socket) => ends.push(() => socket.destroy()));
    ends.push(() => tcp.close());
    await once(tcp.listen(0, "127.0.0.1"), "listening");
    return `https://localhost:${(tcp.address() as AddressInfo).port}`;
  }

  /** A URL at which nothing listens. */
  const refusing = () => listening().finally(() => ends.pop()?.());

  // Full jitter draws no pause, so that no test waits.
  beforeEach(() => void mock.method(Math, "random", () => 0));
  afterEach(async () => {
    mock.reset();
    for (const end of ends.splice(0)) await end();
  });

  describe("a request", () => {
    it("C1: has the bearer key, JSON, and the version in its header as configured", async () => {
      const names = ["authorization", "accept", "service-version", "api-version", "content-type"];
      const json = "application/json";
      for (const [options, ...versions] of [
        [{}, "2", undefined],
        [{ apiVersion: "1", versionHeader: "Api-Version" }, undefined, "1"],
      ] as const) {
        const { client, requests } = await scripted([answer(201, edge), done], options);
        await create(client, { description: "d" });
        await get(client);
        const all = [`Bearer ${apiKey}`, json, ...versions];
        const sent = requests.map(({ headers }) => names.map((name) => headers[name]));
        assert.deepEqual(sent, [
          [...all, json],
          [...all, undefined],
        ]);
        assert.equal(requests[0]?.body, '{"description":"d"}');
      }
    });

    it("C32: goes to no other path by a text that is no id", async () => {
      const { client, requests } = await scripted([]);
      const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----";
      for (const id of ["", ".", "..", key]) {
        const error = await failureOf(tlsEdges.delete(client, id), TypeError);
        assert.ok(!error.message.includes("MIGH"));
      }
      assert.deepEqual(requests, []);
    });

    it("keeps the path of the base URL and escapes an id", async () => {
      const id = "tn/1 ?";
      const { url, caFile, requests } = await scripted([answer(200, { id })]);
      await tunnels.get(new Client({ baseUrl: `${url}/v2/`, caFile, apiKey }), id);
      assert.equal(requests[0]?.path, "/v2/tunnels/tn%2F1%20%3F");
    });

    it("C3: goes over HTTPS only", () => {
      const start = () => new Client({ baseUrl: "http://127.0.0.1", apiKey });
      assert.throws(start, (error: Error) => !shown(error).includes(apiKey));
    });

    it("C7: belongs to an account whose tag tells it from others", () => {
      const tagOf = (base: string, key = apiKey) =>
        new Client({ baseUrl: `https://a.example/${base}`, apiKey: key }).accountTag;
      assert.match(tagOf("v2"), /^[0-9a-f]{16}$/);
      assert.equal(tagOf("v2"), tagOf("v2"));
      assert.notEqual(tagOf("v2"), tagOf("v3"));
      assert.notEqual(tagOf("v2"), tagOf("v2", "another-key"));
    });
  });

  describe("an error of the service", () => {
    it("has every field that the service gave", async () => {
      const details = { operation_id: "op_7" };
      const body = { error_code: "ERR_TLSE_218", status_code: 400, msg: "taken", details };
      const { client } = await scripted([answer(400, body)]);
      const { elapsedMs, ...fields } = await failure(create(client), {});
      assert.ok(Number.isInteger(elapsedMs));
      assert.deepEqual(fields, {
        ...{ method: "POST", path, attempts: 1, ambiguous: false, status: 400 },
        ...{ code: "ERR_TLSE_218", operationId: "op_7", isOther: false, name: "ServiceError" },
      });
    });

    it("names the setting to look at: the URL after a 404 only where no object was asked for", async () => {
      for (const [status, setting, ...works] of [
        [401, "apiKey", get],
        [403, "apiKey", get],
        [429, "timeoutSeconds", get],
        [308, "baseUrl", get],
        [404, "baseUrl", create, listAll],
        [404, undefined, get, update, remove],
      ] as const) {
        for (const work of works) {
          const { client } = await scripted([answer(status, {}, { "Retry-After": "3600" })]);
          const { message } = await failure(work(client), { status });
          assert.equal(/the option (\w+)/.exec(message)?.[1], setting, message);
          assert.equal(message.includes(client.baseUrl.host), setting === "apiKey");
        }
      }
    });

    it("tells the reason, wherever the service has it, and the title of a page", async () => {
      for (const [body, reason] of [
        [{ message: "taken", code: "x" }, "taken"],
        [{ type: "about:blank", title: "Bad Request", detail: "taken" }, "taken"],
        [{ title: "taken" }, "taken"],
        [{ error: "taken" }, "taken"],
        [{ error: { code: 3, message: "taken" } }, "taken"],
        [{ error_description: "taken" }, "taken"],
        [{ errors: [{ message: "taken" }, { message: "other" }] }, "taken"],
        [{ errors: ["taken"] }, "taken"],
        [{ msg: " ", errors: [] }, "no reason given"],
        ["", "no reason given"],
        ["upstream\nfailed", "upstream failed. Something else than the service may"],
        [
          "<html><head><title>\n413 Too Large</title>",
          "413 Too Large. Something else than the service answered",
        ],
      ] as const) {
        const { client } = await scripted([answer(413, body)]);
        const { message, ...fields } = await failure(create(client), { status: 413 });
        assert.ok(message.includes(`413: ${reason}`), message);
        assert.equal(Object(fields).isOther, reason.includes("Something else"));
      }
      for (const status of [401, 403, 404]) {
        const { client } = await scripted([answer(status, "<html>")]);
        const { message } = await failure(get(client), { status });
        assert.match(message, /HTML, \d+\): check the base URL in the option baseUrl/);
      }
    });

    it("says that a port speaks no TLS, without the texts of OpenSSL", async () => {
      const plain = createTcpServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
      const client = new Client({ baseUrl: await listening(plain), apiKey });
      const { message } = await failure(get(client), { code: "EPROTO" });
      assert.match(message, new RegExp(`${client.baseUrl.host} does not speak TLS.*baseUrl`));
      assert.doesNotMatch(message, /SSL|\n/);
    });
  });

  it("C30: reads after an update that is answered without the object", async () => {
    const none = answer(204);
    const { client, requests } = await scripted([none, done, none, answer(400)]);
    assert.deepEqual(await update(client), edge);
    // The update may be done.
    await failure(update(client), { method: "GET", status: 400, ambiguous: true });
    const methods = requests.map(({ method }) => method);
    assert.deepEqual(methods, ["PATCH", "GET", "PATCH", "GET"]);
  });

  it("C32: takes any JSON, or nothing, for the answer to a delete, but no page of HTML", async () => {
    const { client } = await scripted([answer(204), answer(202, { id: 7 }), answer(200, "<html>")]);
    await remove(client);
    await remove(client);
    await failure(remove(client), { code: "EBADANSWER", ambiguous: true });
  });

  describe("a success that can't be used", () => {
    it("is an error, a write may be done, and a refusal keeps its status", async () => {
      const cut = '{"id":"edgtls_1","ur';
      const odd = '{"msg":7,"error_code":{},"details":"x"}';
      for (const body of ["<html>", "", "[1]", "null", '"ok"', cut, odd]) {
        const answers = [201, 200, 400].map((status) => answer(status, body));
        const { client, requests } = await scripted(answers);
        const code = "EBADANSWER";
        await failure(create(client), { code, ambiguous: true, objectId: undefined });
        await failure(get(client), { code, ambiguous: false });
        await failure(get(client), { status: 400, code: undefined, operationId: undefined });
        assert.equal(requests.length, 3);
      }
    });

    it("C35 C90: names its field, and the id where that is right", async () => {
      const fields: [path: string, values: object][] = [
        ["id", { id: "" }],
        ["id", { id: "x".repeat(1001) }],
        ["id", { id: "edgtls_1\nerror: run this" }],
        ["id", { id: "edgtls_\u202e1" }],
        ["hostports[1]", { hostports: ["a.example.com:443", null] }],
        ["backend", { backend: [] }],
      ];
      for (const [field, values] of fields) {
        const { client } = await scripted([answer(201, { ...edge, ...values })]);
        const objectId = field === "id" ? undefined : edge.id;
        const error = await failure(create(client), { code: "EBADANSWER", field, objectId });
        assert.ok(error.message.includes(field), error.message);
        assert.ok(!("id" in error), "Pulumi would store the error's properties as the state");
      }
    });

    it("C31 C43: is one about another object than the one that was asked for", async () => {
      const other = answer(200, { ...edge, id: "EDGTLS_1" });
      const { client } = await scripted([...Array(3).fill(other), answer(204), other, other]);
      const fields = { code: "EBADANSWER", field: "id", objectId: undefined };
      await failure(get(client), { ...fields, ambiguous: false });
      await failure(tunnels.get(client, "edgtls_1"), fields);
      for (const method of ["PATCH", "GET"]) {
        const error = await failure(update(client), { ...fields, method, ambiguous: true });
        assert.match(error.message, /the answer is that of another object/);
      }
      // The service says which object it has created.
      assert.equal((await create(client)).id, "EDGTLS_1");
    });

    it("C91: is read to 32 MiB, and not asked for again", async () => {
      const zipped = (mebibytes: number): Answer => {
        const body = gzipSync(`${" ".repeat(mebibytes * 1024 * 1024)}{}`);
        return (response) => void response.setHeader("Content-Encoding", "gzip").end(body);
      };
      const big = zipped(40);
      const { client, requests } = await scripted([zipped(30), big, big]);
      assert.deepEqual(await client.get("/", anything), {});
      for (const work of [get, create]) {
        const error = await failure(work(client), { attempts: 1, ambiguous: work === create });
        assert.match(error.message, /more than 32 MiB/);
      }
      assert.equal(requests.length, 3);
    });
  });

  describe("a deadline", () => {
    it("C34: is one for all requests of an operation", async () => {
      holdClocks();
      holdTimeouts();
      const { client, requests } = await scripted([slow(1000, done)], { timeoutSeconds: 1 });
      const operation = client.operation();
      await get(operation);
      await failure(update(operation), { code: "ETIMEDOUT", attempts: 0, ambiguous: false });
      assert.equal(requests.length, 1);
      assert.equal(operation.leftMs, 0);
      // Another operation has its own, and so has each request outside of them.
      const others = [client.operation(), client, operation.account];
      for (const { leftMs } of others) assert.equal(leftMs, 1000);
    });

    it("C34: begins with the first request, stands still while a request queues, and goes by no date", async () => {
      // The date, which may be set at any time, stands still.
      mock.timers.enable({ apis: ["Date"] });
      let now = 5000;
      mock.method(performance, "now", () => now);
      const deadline = new Deadline(1000);
      const queueUntil = async (time: number) => {
        const queued = deadline.waitFor(new Promise((resolve) => setImmediate(resolve)));
        now = time;
        await queued;
        return deadline.leftMs;
      };
      assert.equal(await queueUntil(15_000), 1000);
      now = 15_400;
      assert.equal(await queueUntil(25_000), 600);
      now = 25_700;
      assert.equal(deadline.leftMs, -100);
    });

    it("C34: ends a try after 30 s or at the deadline, in an error that tells how often and how long", async () => {
      holdClocks();
      const asked: number[] = [];
      const endTry = holdTimeouts(asked);
      const silent = [30_000, 10_000].map((ms) => slow(ms, endTry));
      const { client } = await scripted(silent, { timeoutSeconds: 40 });
      const fields = { code: "ETIMEDOUT", attempts: 2, ambiguous: true, elapsedMs: 40_000 };
      const { message } = await failure(update(client), fields);
      assert.match(message, /after 2 tries in 40 s/);
      assert.deepEqual(asked, [30_000, 10_000]);
    });

    it("C34 C93: is not waited for when Retry-After asks for more, and has 24 days at most", async () => {
      // A timer of Node.js can wait no longer.
      const day = 86_400;
      for (const [timeoutSeconds, least, asked] of [
        [undefined, 120, 3600],
        [60 * day, 24 * day, 30 * day],
      ] as const) {
        const later = answer(429, {}, { "Retry-After": String(asked) });
        const { client } = await scripted([later, later], { timeoutSeconds });
        const { leftMs } = client.operation();
        assert.ok(leftMs >= least * 1000 && leftMs < 25 * day * 1000, String(leftMs));
        await failure(get(client), { status: 429, attempts: 1 });
      }
    });
  });

  describe("a person who waits for a second or more", () => {
    const inSeconds = (seconds: string) => answer(503, {}, { "Retry-After": seconds });
    const limit = "(own limit): 1 requests a minute by the option requestsPerMinute";
    const twice = async (client: Client) => [await get(client), await get(client)];
    type Work = (client: Client) => unknown;
    const cases: [what: string, answers: Answer[], told: string[], work?: Work, most?: number][] = [
      ["nothing of a shorter pause", [inSeconds("0.9")], []],
      [
        "of another try, every 15 s, and when that is over",
        [answer(503), inSeconds("40")],
        [40, 25, 10].map((s) => `503, tries again in ${s} s (2 of 8): GET edgtls_1`),
      ],
      [
        "of a limit that the account has used up",
        [answer(429, {}, { "RateLimit-Reset": "40" })],
        [40, 25, 10].map((s) => `waits ${s} s (429): the account's limit of requests is used up`),
      ],
      [
        "that there was no answer",
        [reset, reset],
        ["no answer (ECONNRESET), tries again in 1 s (2 of 8): GET edgtls_1"],
      ],
      [
        "of a list, without its query",
        [inSeconds("1")],
        ["503, tries again in 1 s (1 of 8): GET /edges/tls"],
        firstPage,
      ],
      ["of the limit", [], [61, 46, 31, 16, 1].map((s) => `waits ${s} s ${limit}`), twice, 1],
    ];
    for (const [what, answers, told, work = get, requestsPerMinute = 0] of cases) {
      it(`C1 C34: is told ${what}`, async () => {
        skipPauses();
        mock.method(Math, "random", () => 1);
        const shown: string[] = [];
        const show = (severity: string, text = "over") => void shown.push(`${severity}: ${text}`);
        const last = answer(200, { ...edge, tls_edges: [] });
        const { client } = await scripted([...answers, last, last], { show, requestsPerMinute });
        await work(client);
        const all = told.length > 0 ? [...told, "over"] : [];
        assert.equal(shown.join("\n"), all.map((text) => `status: ${text}`).join("\n"));
      });
    }
  });

  describe("a retry", () => {
    let endTries: () => void;
    let sent: ClientRequest | undefined;
    subscribe("http.client.request.start", (message) => {
      sent = (message as { request: ClientRequest }).request;
    });
    beforeEach(() => {
      endTries = holdTimeouts();
    });

    /** The connection breaks with this code after the request was sent. */
    const breaks = (code: string): Answer => {
      const error = Object.assign(new Error(`read ${code}`), { code });
      return () => void sent?.destroy(error);
    };
    /** Half of an answer. */
    const cut: Answer = (response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write('{"id":"edgtls_1",', () => response.socket?.destroy());
    };
    type Failures = Record<string, Answer>;
    const statuses = (...all: number[]): Failures =>
      Object.fromEntries(all.map((one) => [one, answer(one, "<html>", { Location: path })]));
    const codes = ["EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED", "EAI_AGAIN"];
    const passing: Failures = {
      ...statuses(408, 502, 503, 504, 520, 521, 522, 523, 524),
      "503 with Retry-After": answer(503, "", { "Retry-After": "0" }),
      "a reset": reset,
      "half of the answer": cut,
      "no answer in time": () => endTries(),
      ...Object.fromEntries(codes.map((code) => [`${code} after it was sent`, breaks(code)])),
    };
    const lasting: Failures = {
      ...statuses(500, 501),
      "500 with Retry-After": answer(500, "", { "Retry-After": "0" }),
      "what is no HTTP": (response) => void response.socket?.end("nonsense\r\n\r\n"),
    };
    const writes = ["POST", "PATCH", "DELETE"];
    /** After each failure: which methods are sent again, and which of the others may be done. */
    const matrix: [contract: string, failures: Failures, again: string[], mayBeDone: string[]][] = [
      ["C33 C34", statuses(429), ["GET", ...writes], []],
      ["C33 C34", passing, ["GET", "PATCH", "DELETE"], ["POST"]],
      ["C33 C34", lasting, [], writes],
      // Not even on the same origin.
      ["C4 C33 C34", statuses(301, 302, 307, 308), [], writes],
      ["C33 C34", statuses(400, 401, 403, 404, 405, 409, 413, 422), [], []],
    ];
    for (const [contract, failures, again, mayBeDone] of matrix) {
      const [retried, doubtful] = [again, mayBeDone].map((all) => all.join(", ") || "none");
      for (const [name, failed] of Object.entries(failures)) {
        it(`${contract}: after ${name}, sent again: ${retried}; may be done: ${doubtful}`, async () => {
          for (const [method, work] of Object.entries(operations)) {
            const { client, requests } = await scripted([failed, done]);
            const isRetried = again.includes(method);
            const fields = { method, attempts: 1, ambiguous: mayBeDone.includes(method) };
            await (isRetried ? work(client) : failure(work(client), fields));
            const bodies = requests.map(({ body }) => body);
            assert.deepEqual(bodies, Array(1 + Number(isRetried)).fill(bodies[0]), method);
          }
        });
      }
    }

    it("C34: leaves in doubt a write of which any try was lost, not only the last", async () => {
      const { client } = await scripted([answer(502), answer(409, {})]);
      await failure(update(client), { status: 409, ambiguous: true });
    });

    it("C33: follows a POST whose connection breaks before the TLS handshake", async () => {
      const { requests, url, caFile } = await scripted([answer(201, edge)]);
      let connections = 0;
      const front = createTcpServer((socket) => {
        connections += 1;
        if (connections === 1) return socket.destroy();
        return socket.pipe(connect(Number(new URL(url).port), "127.0.0.1")).pipe(socket);
      });
      await create(new Client({ baseUrl: await listening(front), caFile, apiKey }));
      assert.deepEqual([connections, requests.length], [2, 1]);
    });

    it("C34: follows a failure of a name server, not an unknown host name", async () => {
      for (const code of ["ENOTFOUND", "EAI_AGAIN", "ETIMEOUT"]) {
        const { client, requests } = await scripted([answer(201, edge)]);
        const lookup = mock.method(dns, "lookup", (...args: unknown[]) => {
          lookup.mock.restore();
          setImmediate(args[2] as (error: Error) => void, Object.assign(new Error(code), { code }));
        });
        const created = create(client);
        if (code === "ENOTFOUND") {
          const { message } = await failure(created, { code, attempts: 1 });
          assert.match(message, /base URL in the option baseUrl/);
        } else assert.deepEqual(await created, edge);
        assert.equal(requests.length, code === "ENOTFOUND" ? 0 : 1);
      }
    });
  });

  describe("the pause before a retry", () => {
    beforeEach(skipPauses);
    const pausesAfter = async (headers: object, maxRetries: number) => {
      const { client } = await scripted(Array(9).fill(answer(503, {}, headers)), { maxRetries });
      const { elapsedMs, message } = await failure(get(client), { status: 503 });
      const seconds = Math.round(elapsedMs / 1000);
      assert.equal(message.includes(` in ${seconds} s:`), elapsedMs >= 1000, message);
      return elapsedMs;
    };

    it("C34: doubles up to 20 s, of which a part is drawn, whatever Retry-After says", async () => {
      mock.method(Math, "random", () => 1);
      const all = 500 + 1000 + 2000 + 4000 + 8000 + 16_000 + 20_000 + 20_000;
      assert.equal(await pausesAfter({}, 8), all);
      for (const asked of ["0", "-5", "soon", "", "Wed, 21 Oct 2015 07:28:00 GMT"]) {
        assert.equal(await pausesAfter({ "Retry-After": asked }, 2), 1500, asked);
      }
      mock.method(Math, "random", () => 0.001234);
      assert.equal(await pausesAfter({}, 1), 1);
    });

    it("C34: is as long as Retry-After says, in any form, by the service's clock", async () => {
      for (const asked of ["5", "5s"])
        assert.equal(await pausesAfter({ "Retry-After": asked }, 1), 5000);
      for (const year of [2015, 2065]) {
        const at = (second: number) => `Wed, 21 Oct ${year} 07:28:0${second} GMT`;
        for (const time of [at(5), String(Date.parse(at(5)) / 1000)])
          assert.equal(await pausesAfter({ Date: at(0), "Retry-After": time }, 1), 5000);
      }
      // Some services tell with each answer when their limit ends.
      assert.ok((await pausesAfter({ "RateLimit-Reset": "40" }, 1)) <= 500);
    });

    it("C34: after 429 ends at the deadline alone, which the error names, and what the service asks for", async () => {
      for (const [headers, attempts] of [
        [{}, 8],
        [{ "Retry-After": "50" }, 3],
        [{ "RateLimit-Reset": "50" }, 3],
        [{ "X-RateLimit-Reset": String(Date.now() + 3_600_000) }, 1],
        [{ "Retry-After": "3600" }, 1],
      ] as const) {
        const { client } = await scripted(Array(9).fill(answer(429, {}, headers)), {
          maxRetries: 0,
        });
        const { message } = await failure(create(client), { status: 429, attempts });
        assert.match(message, /the deadline \(the option timeoutSeconds\)/);
        assert.equal(message.includes("asks to wait"), attempts < 8);
      }
    });

    it("C34: comes for 10 s at most while a connection is refused, until something is written", async () => {
      mock.method(Math, "random", () => 1);
      for (const work of Object.values(operations)) {
        const dead = new Client({ baseUrl: await refusing(), apiKey });
        const early = await failure(work(dead), { code: "ECONNREFUSED" });
        assert.ok(early.attempts > 2 && early.elapsedMs <= 10_000, String(early.elapsedMs));
      }
      for (const [first, reply, isWritten] of [
        [get, done, false],
        [create, answer(201, edge), true],
        [create, reset, true],
      ] as const) {
        const { client } = await scripted([reply]);
        await first(client).catch(() => {});
        await ends.pop()?.();
        // The first one may find the connection that was kept.
        await get(client).catch(() => {});
        const { attempts } = await failure(create(client), { ambiguous: false });
        assert.equal(attempts === 9, isWritten, String(attempts));
      }
    });
  });

  describe("a cancelled client", () => {
    const reason = new Error("cancelled");
    /** A client that is cancelled when its first request has come, which is then answered. */
    const cancelled = (late: Answer, options = {}) => {
      const controller = new AbortController();
      const first: Answer = (...exchange) => {
        controller.abort(reason);
        setImmediate(() => late(...exchange));
      };
      return scripted([first], { signal: controller.signal, ...options });
    };

    for (const [what, late, work] of [
      ["a read in flight", silence, get],
      ["the pause before a retry", answer(503, {}, { "Retry-After": "60" }), update],
    ] as const) {
      it(`ends ${what}, and sends no more`, async () => {
        holdTimeouts();
        const { client, requests } = await cancelled(late);
        for (const one of [work, update]) {
          assert.equal(await failureOf<Error>(one(client), Error), reason);
        }
        assert.equal(requests.length, 1);
      });
    }

    it("C33: waits for the answer to a write in flight, and ends the wait for the limit", async () => {
      const { client } = await cancelled(answer(201, edge), { requestsPerMinute: 1 });
      const [created, waited] = [create(client), failureOf(get(client), Error)];
      assert.deepEqual(await created, edge);
      assert.equal(await waited, reason);
    });
  });

  it("C1: starts so many requests in any minute, in the order of the calls", async () => {
    holdClocks(["setTimeout"], 0);
    const pace = new Pace(3);
    const started: string[] = [];
    const steps: [calls: string, ms: number, all: string][] = [
      ["a", 20_000, "a"],
      ["bcdefg", 40_000, "abc"],
      // A second more, because a request may be on its way for longer than another.
      ["", 1000, "abcd"],
      ["", 20_000, "abcdef"],
      // The next minute is counted from what had to wait, too.
      ["", 40_000, "abcdef"],
      ["", 1000, "abcdefg"],
      ["", 100_000, "abcdefg"],
      ["h", 0, "abcdefgh"],
    ];
    for (const [calls, ms, all] of steps) {
      for (const name of calls) void pace.turn().then(() => started.push(name));
      mock.timers.tick(ms);
      await new Promise(setImmediate);
      assert.equal(started.join(""), all);
    }
  });

  describe("a list", () => {
    const pageOf = (next_page_uri?: unknown, ...items: object[]) =>
      answer(200, { tls_edges: items, next_page_uri });

    it("C4 C7: is followed by its query alone, at the base URL: the key goes nowhere else", async () => {
      for (const at of ["https://evil.example/a", "http://localhost/v9", "//evil/", ""]) {
        const next = `${at}?before_id=edgtls_1`;
        const { client, requests } = await scripted([pageOf(next, edge), pageOf(null, edge)]);
        assert.deepEqual(await listAll(client), [edge, edge]);
        assert.equal(requests[1]?.path, "/edges/tls?before_id=edgtls_1", next);
      }
    });

    it("C62: is empty where the service answers null for it, with the URI of the list", async () => {
      const none = { tls_edges: null, next_page_uri: null };
      const { client } = await scripted([answer(200, { ...none, uri: "u" }), answer(200, none)]);
      assert.deepEqual(await listAll(client), []);
      await failure(listAll(client), { code: "EBADANSWER" });
    });

    const pages = (length: number) => Array.from({ length }, (_, n) => pageOf(`?id=${n}`));
    const refusals: [why: string, answers: Answer[], read: number, message: RegExp][] = [
      ...[7, "https://", "https://any.example/edges/tls", "/edges/tls?"].map(
        (next) => [`with the next page ${next}`, [pageOf(next, edge)], 1, /next_page_uri/] as never,
      ),
      ["when a page names itself", Array(3).fill(pageOf("?before_id=x", edge)), 2, /itself/],
      ["after 1000 pages", pages(1001), 1000, /^GET \/edges\/tls got.* more than 1000 pages/],
      ["with 101 objects", [pageOf(null, ...Array(101).fill(edge))], 1, /tls_edges .* than 100/],
      ["without its collection", [answer(200, { edges: [] })], 1, /the option baseUrl/],
    ];
    for (const [why, answers, read, message] of refusals) {
      it(`C91: is refused ${why}`, async () => {
        const { client, requests } = await scripted(answers);
        const ids = Array.fromAsync(tlsEdges.list(client), ({ id }) => id);
        const error = await failure(ids, { code: "EBADANSWER", ambiguous: false });
        assert.match(error.message, message);
        assert.equal(requests.length, read);
      });
    }

    it("ends without a next page, and has 100 objects on a page", async () => {
      const full = Array(100).fill(edge);
      const { client } = await scripted([pageOf(), pageOf("", edge), pageOf(null, ...full)]);
      for (const items of [[], [edge], full]) assert.deepEqual(await listAll(client), items);
    });

    it("C34: has a deadline for each page, and one for all in an operation", async () => {
      holdClocks();
      holdTimeouts();
      const all = ["?id=1", "?id=2", null].map((next) => slow(6000, pageOf(next, edge)));
      const { client } = await scripted([...all, ...all], { timeoutSeconds: 10 });
      assert.deepEqual(await listAll(client), [edge, edge, edge]);
      await failure(listAll(client.operation()), { code: "ETIMEDOUT", attempts: 0 });
    });

    it("C62: leaves out each object that can't be used, and names it by its id or its place", async () => {
      const odd = { ...edge, created_at: "2026-01-01T00:00:60Z" };
      const wrong = { ...edge, id: "edgtls_2", hostports: [7] };
      const others = [{ id: "x".repeat(1001) }, "edgtls_4"] as object[];
      const told: string[] = [];
      const show = (_severity: string, text = "over") => void told.push(text);
      const { client } = await scripted([pageOf(null, wrong, odd, ...others)], { show });
      assert.deepEqual(await listAll(client), [odd]);
      assert.equal(told.length, 1);
      const named = ["edgtls_2 (hostports[0] is a number)", "tls_edges[2] (id is too long)"];
      for (const one of [...named, "tls_edges[3] (is a string)"]) assert.ok(told[0]?.includes(one));
    });
  });

  describe("a connection", () => {
    it("C3: is refused by an unknown authority, NODE_TLS_REJECT_UNAUTHORIZED=0 or not", async () => {
      const undo = setEnv({ NODE_TLS_REJECT_UNAUTHORIZED: "0" });
      mock.method(process, "emitWarning", () => {});
      const { url, requests } = await scripted([answer(201, edge)]);
      const created = create(new Client({ baseUrl: url, apiKey })).finally(undo);
      const { message } = await failure(created, { attempts: 1, ambiguous: false });
      assert.match(message, /(VERIFY|SELF_SIGNED|ISSUER).*PEM file in the option caFile/);
      assert.equal(requests.length, 0);
    });

    it("C33: that is to have a certificate of the client says so, and nothing has taken the request", async () => {
      const { certificatePem: cert, privateKeyPem: key } = await makeCertificate({
        commonName: "localhost",
      });
      const wanting = { cert, key, ca: cert, requestCert: true };
      // As a server in Go does.
      const badCertificate = Buffer.from([21, 3, 3, 0, 2, 2, 42]);
      for (const server of [
        createTlsServer(wanting),
        createTlsServer({ ...wanting, maxVersion: "TLSv1.2" }),
        createTcpServer((socket) => socket.once("data", () => socket.end(badCertificate))),
      ]) {
        const baseUrl = await listening(server);
        const client = new Client({ baseUrl, apiKey, caFile: fileWith(cert) });
        const { message } = await failure(create(client), { attempts: 1, ambiguous: false });
        assert.match(message, /localhost:\d+ wants a certificate of the client.*option baseUrl/);
      }
    });

    it("C1: trusts the authorities of caFile in place of those of Node.js", async () => {
      const { url, caFile } = await scripted([done]);
      const { certificatePem } = await makeCertificate({ commonName: "other", isCa: true });
      const program = `
        const get = (caFile) =>
          tlsEdges.get(new Client({ baseUrl: "${url}", apiKey: "k", caFile }), "edgtls_1");
        get().then(({ id }) => get(process.argv[1]).catch(({ code }) => console.log(id, code)));`;
      const env = { NODE_EXTRA_CA_CERTS: caFile };
      const { stdout } = await run(program, env, fileWith(certificatePem));
      assert.match(stdout, /^edgtls_1 .*(VERIFY|SELF_SIGNED|ISSUER)/);
    });

    it("says nothing of authorities when the certificate has another name", async () => {
      const { url, caFile } = await scripted([]);
      const real = dns.lookup;
      mock.method(dns, "lookup", (_: string, options: object, done: () => void) =>
        real("localhost", options, done),
      );
      const client = new Client({ baseUrl: url.replace("localhost", "b.example"), caFile, apiKey });
      const { message } = await failure(get(client), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
      assert.doesNotMatch(message, /authority|caFile/);
    });

    it("C33: is closed by the client when it was idle for a second, so no POST goes on it", async () => {
      const { mock: set } = mock.method(Socket.prototype, "setTimeout");
      const sockets: Socket[] = [];
      const alive: Answer = (response, request) => {
        sockets.push(request.socket);
        // A service that would keep it: by the header alone, the client would close it much later.
        answer(201, edge, { "Keep-Alive": "timeout=60" })(response, request);
      };
      const { client } = await scripted([alive, alive, alive]);
      await create(client);
      await create(client);
      const [first, second] = sockets;
      assert.equal(second, first);
      await new Promise(setImmediate);
      const isOwn = ({ localPort }: Socket) => localPort === first?.remotePort;
      const last = set.calls.findLast((call) => isOwn(call.this as Socket));
      assert.equal(last?.arguments[0], 1000);
      (last?.this as Socket | undefined)?.emit("timeout");
      await create(client);
      assert.notEqual(sockets[2], first);
    });
  });

  describe("what is shown", () => {
    it("C4: has the API key and the body in no error", async () => {
      const endTry = holdTimeouts();
      const answers = [answer(401, { msg: "no" }), reset, answer(201, "nonsense"), endTry];
      const { client } = await scripted(answers);
      for (const _ of answers) {
        const error = await failure(create(client, { metadata: "secret body" }), {});
        assert.equal(error.cause, undefined);
        for (const hidden of [apiKey, "secret body"]) assert.ok(!shown(error).includes(hidden));
      }
    });

    it("C4 C90: has no API key that the service quotes, in an error and in an answer", async () => {
      const labelled = { id: "tn_1", labels: { [`${apiKey}\u001b`]: 5 } };
      const told: string[] = [];
      const answers = [
        answer(400, { error_code: `E ${apiKey}`, details: { operation_id: `op\u001b ${apiKey}` } }),
        answer(200, { ...edge, hostports: [`see ${apiKey}`] }),
        answer(200, labelled),
        answer(200, { tunnels: [labelled] }),
      ];
      const show = (_severity: string, text = "over") => void told.push(text);
      const { client } = await scripted(answers, { show });
      const fields = { code: "E [secret]", operationId: "op\\u001b [secret]" };
      const refused = await failure(create(client), fields);
      assert.deepEqual((await get(client)).hostports, ["see [secret]"]);
      const field = "labels.[secret]\\u001b";
      const unusable = await failure(tunnels.get(client, "tn_1"), { field });
      await tunnels.list(client).next();
      assert.ok(told[0]?.includes(`tn_1 (${field} is a number)`), told[0]);
      for (const error of [refused, unusable]) {
        assert.ok(!shown(error).includes(apiKey) && !error.message.includes("\u001b"));
      }
    });

    it("C50: has no secret of the run in what the service says, and at most 1000 characters of it", async () => {
      const hide = mock.fn((text: string) => text.replaceAll("tls", "[secret]"));
      const refusal = answer(400, { msg: `tls: ${"x".repeat(5000)}`, error_code: "tls" });
      const { client } = await scripted([done, refusal], { hide });
      await get(client);
      assert.equal(hide.mock.callCount(), 0, "a success costs nothing");
      const { message } = await failure(create(client), { path, code: "[secret]" });
      assert.match(message, / \/edges\/tls .*: \[secret\]: x+ \(/);
      assert.ok(message.length < 1200);
    });

    it("C50: has no reason of the service where an argument of the resource is secret, and says so", async () => {
      const ids = { error_code: "ERR_1", details: { operation_id: "op_7" } };
      const refusal = answer(400, { msg: "s3cret is taken", ...ids });
      const { client } = await scripted([refusal, refusal]);
      const operation = client.operation(undefined, true);
      for (const one of [operation, operation.operation()]) {
        const error = await failure(create(one), { code: "ERR_1", operationId: "op_7" });
        assert.match(error.message, /an argument of this resource is secret \(ERR_1, op_7\)$/);
        assert.ok(!shown(error).includes("s3cret"));
      }
    });

    it("C34: is in NODE_DEBUG=tlsedge what was retried and why, with no key and no body", async () => {
      const { url, requests, caFile } = await scripted([
        answer(429, { msg: "a reason \u001b[31m" }, { "Retry-After": "0" }),
        answer(201, edge),
        answer(200, { tls_edges: [], next_page_uri: `?before_id=${apiKey}` }),
        answer(200, { tls_edges: [] }),
      ]);
      const program = `
        const client = new Client({ ...JSON.parse(process.argv[1]), requestsPerMinute: 0 });
        tlsEdges.create(client, { metadata: "secret body" })
          .then(() => Array.fromAsync(tlsEdges.list(client)));`;
      const options = JSON.stringify({ baseUrl: url, apiKey, caFile });
      const { stderr: logged } = await run(program, { NODE_DEBUG: "tlsedge" }, options);
      assert.equal(requests.length, 4);
      assert.equal(logged.trim().split("\n").length, 5, logged);
      assert.match(logged, /the service is .* 429 .* 201 /s);
      assert.doesNotMatch(logged, new RegExp(`${apiKey}|secret body|a reason|Bearer|\u001b`));
    });
  });

  describe("a proxy", () => {
    let undo: () => void;
    beforeEach(() => {
      const variables = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY", "no_proxy"];
      undo = setEnv(Object.fromEntries(variables.map((name) => [name, undefined])));
    });
    afterEach(() => undo());
    const pass = (request: IncomingMessage, socket: Duplex) => {
      const through = connect(Number(request.url?.split(":")[1]), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
        through.pipe(socket).pipe(through);
      });
      through.on("error", () => socket.destroy());
      socket.on("error", () => {}).on("close", () => through.destroy());
    };

    /** A client that goes through a proxy, and what the proxy is sent. */
    async function proxied(answers: Answer[], onConnect = pass, before = "http://") {
      const received: IncomingMessage[] = [];
      const proxy = createServer((request, response) => {
        received.push(request);
        response.writeHead(500).end();
      });
      proxy.on("connect", (request, socket) => {
        received.push(request);
        onConnect(request, socket);
      });
      const { port } = new URL(await listening(proxy));
      setEnv({ HTTPS_PROXY: `${before}127.0.0.1:${port}` });
      return { received, ...(await scripted(answers)) };
    }

    it("C4: gets the name of the service, and nothing of what is sent to it", async () => {
      const { client, received, requests } = await proxied([done, reset]);
      await get(client);
      // What goes through a proxy is lost as easily.
      await failure(create(client), { code: "ECONNRESET", ambiguous: true });
      assert.equal(requests[0]?.headers.authorization, `Bearer ${apiKey}`);
      assert.equal(received.length, 2);
      for (const { method, url, headers } of received) {
        assert.deepEqual([method, url], ["CONNECT", client.baseUrl.host]);
        assert.doesNotMatch(String(Object.keys(headers)), /authorization/i);
      }
    });

    it("C1: may take as long to connect as the deadline allows", async () => {
      holdClocks(["setTimeout"]);
      const { client } = await proxied([answer(201, edge)], (...connection) => {
        mock.timers.tick(20_000);
        pass(...connection);
      });
      await create(client);
    });

    it("C34: that never answers CONNECT is let go at the deadline, and keeps no process", async () => {
      const endTry = holdTimeouts();
      let ended: Promise<unknown> | undefined;
      const { client } = await proxied([], (_request, socket) => {
        ended = once(socket.resume(), "end");
        endTry();
      });
      await failure(create(client), { code: "ETIMEDOUT", ambiguous: false });
      await ended;
    });

    it("C33: that answers CONNECT with another status than 200 has passed nothing on", async () => {
      for (const status of [204, 403, 407, 503]) {
        const { client, requests } = await proxied([], (_request, socket) => {
          socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
        });
        const [code, attempts] = status === 503 ? ["ECONNRESET", 9] : ["EPROXY", 1];
        for (const work of [create, remove, get]) {
          const { message } = await failure(work(client), { code, attempts, ambiguous: false });
          assert.match(message, new RegExp(`the proxy in HTTPS_PROXY refuses .*status ${status}`));
        }
        assert.equal(requests.length, 0);
      }
    });

    it("C1: gets the user and the password decoded, and needs no scheme", async () => {
      const { client, received } = await proxied([done], pass, "http://ann:hunter2@");
      await get(client);
      const sent = received[0]?.headers["proxy-authorization"];
      assert.equal(sent, `Basic ${Buffer.from("ann:hunter2").toString("base64")}`);
      for (const [before, username, password] of [
        ["http://ann%40corp.example:a%3Ab%2Fc%25%C3%A4%@", "ann@corp.example", "a:b/c%ä%"],
        ["ann@", "ann", ""],
      ] as const) {
        setEnv({ HTTPS_PROXY: `${before}127.0.0.1:1` });
        assert.deepEqual(proxyFor(client.baseUrl)?.auth, { username, password });
      }
    });

    it("C1: is not used for what NO_PROXY has: a name and all below it, an address, a port", () => {
      setEnv({ ALL_PROXY: "socks5://127.0.0.1:9" });
      assert.equal(proxyFor(new URL("https://corp.example")), undefined, "no HTTP proxy");
      setEnv({ HTTPS_PROXY: "http://proxy:3128" });
      // The hosts that are reached without the proxy, and those that are not.
      for (const [NO_PROXY, direct, others] of [
        ["corp.example", "corp.example api.corp.example:8443", "notcorp.example example"],
        [".corp.example", "api.corp.example", "corp.example.org"],
        ["x.example, *.Corp.example", "api.corp.example", "example"],
        ["api.corp.example", "api.corp.example", "corp.example"],
        ["corp.example:8443", "api.corp.example:8443", "api.corp.example corp.example:9443"],
        ["10.0.0.0/8 192.0.2.1", "192.0.2.1", "10.1.2.3 192.0.2.2"],
        ["[2001:db8::1]:443,::1", "[2001:db8::1] [::1]", "[2001:db8::2]"],
        ["[2001:db8::1]:8443, , .", "", "[2001:db8::1] corp.example"],
        ["*", "corp.example 10.1.2.3", ""],
      ] as const) {
        setEnv({ NO_PROXY });
        const hosts = `${direct} ${others}`.match(/\S+/g) ?? [];
        const isUsed = (host: string) => proxyFor(new URL(`https://${host}/v2`))?.host === "proxy";
        assert.equal(hosts.filter(isUsed).join(" "), others, NO_PROXY);
      }
    });

    it("C33: that is not there has passed nothing on, and is named", async () => {
      setEnv({ HTTPS_PROXY: (await refusing()).replace("https:", "http:") });
      const { client } = await scripted([answer(201, edge)], { maxRetries: 1 });
      const fields = { code: "ECONNREFUSED", ambiguous: false, attempts: 2 };
      const { message } = await failure(create(client), fields);
      assert.match(message, /the network and the proxy in HTTPS_PROXY/);
    });

    it("C1: whose own certificate is not trusted, or that does not speak TLS, is named", async () => {
      const { client, requests } = await proxied([], pass, "https://");
      const { message } = await failure(create(client), { code: "EPROTO", ambiguous: false });
      assert.match(message, /the proxy in HTTPS_PROXY does not speak TLS/);
      const { certificatePem: cert, privateKeyPem: key } = await makeCertificate({
        commonName: "localhost",
      });
      setEnv({ HTTPS_PROXY: await listening(createTlsServer({ cert, key })) });
      const other = new Client({ baseUrl: client.baseUrl.href, apiKey });
      const reason =
        /: the certificate of the proxy in HTTPS_PROXY is not trusted .* in the option caFile$/;
      assert.match((await failure(create(other), { ambiguous: false })).message, reason);
      assert.equal(requests.length, 0);
    });

    it("C1 C4: whose URL is malformed is named by its variable, without its password", () => {
      for (const at of ["http://me:hunter2@proxy:99999", "socks5://me:hunter2@p:9"]) {
        setEnv({ HTTPS_PROXY: at });
        const start = () => new Client({ baseUrl: "https://a.example", apiKey });
        assert.throws(start, (error: Error) => {
          assert.match(error.message, /the proxy in HTTPS_PROXY has a malformed URL/);
          return !shown(error).includes("hunter2");
        });
      }
    });
  });
});

/** The compiler knows the fields of a body, at any depth: `npm run lint` compiles this. */
const misspelt: TLSEdgeMutation[] = [
  // @ts-expect-error
  { hostport: [] },
  // @ts-expect-error
  { backend: { backendId: "b" } },
  // @ts-expect-error
  { ip_restriction: { ip_policy_ids: "i" } },
];
assert.ok(misspelt);
/** Everything of an error that a log could show. */
const shown = (error: Error) =>
  inspect(error, { depth: null, showHidden: true }) + JSON.stringify(error);

/** The error of a request that fails with these fields. */
async function failure(work: Promise<unknown>, fields: object): Promise<RequestError> {
  const error = await failureOf(work, RequestError);
  const found = Object.keys(fields).map((name) => [name, Reflect.get(error, name)]);
  assert.deepEqual(Object.fromEntries(found), fields, error.message);
  return error;
}

/** Runs a program in another process: Node.js reads its variables when it starts. */
const run = (program: string, env: object, ...args: string[]) => {
  const imports = `const { Client } = require("pulumi-tlsedge/client");
    const { tlsEdges } = require("pulumi-tlsedge/client/tlsEdge");`;
  const options = { env: { ...process.env, ...env } };
  return promisify(execFile)(process.execPath, ["-e", imports + program, ...args], options);
};

/** An answer that comes when the clocks, which are held, have moved on. */
const slow =
  (ms: number, then: Answer): Answer =>
  (...exchange) => {
    mock.timers.tick(ms);
    then(...exchange);
  };
