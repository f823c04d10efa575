import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import dns from "node:dns";
import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { mock } from "node:test";
import timers from "node:timers/promises";
import { inspect, promisify } from "node:util";
import { gzipSync } from "node:zlib";
import * as v from "valibot";
import { Client, type ClientOptions } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { Deadline, Pace } from "../client/pace";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { tunnels } from "../client/tunnel";
import { type Emulator, startEmulator } from "../emulator/server";
import {
  type Answer,
  answer,
  failureOf,
  fileWith,
  holdClocks,
  holdTimeouts,
  reset,
  type Script,
  script,
  setEnv,
  silence,
  skipPauses,
  ticking,
} from "./support";

const apiKey = "key-that-nobody-may-see";
const path = "/edges/tls";
const edge = { id: "edgtls_1", uri: "https://x/edgtls_1", created_at: "2026-01-01T00:00:00Z" };
const anything = v.object({});
const json = { "Content-Type": "application/json" };
const retryNow = { "Retry-After": "0" };

let server: Script | undefined;

/** A scripted server and a client of it. */
async function scripted(answers: Answer[], options: Partial<ClientOptions> = {}) {
  await server?.close();
  server = await script(...answers);
  const { url: baseUrl, caFile, requests } = server;
  const client = new Client({ baseUrl, caFile, apiKey, requestsPerMinute: 0, ...options });
  return { client, requests, url: baseUrl };
}

/** The longest pauses that may be drawn. */
const drawLongest = () => void mock.method(Math, "random", () => 1);

/** Sends half of an answer, then cuts the connection. */
const cut: Answer = (response) => {
  response.writeHead(200, { "Content-Length": "100" });
  response.write('{"id":"edgtls_1",', () => response.socket?.destroy());
};

/** What is no HTTP. */
const garbage: Answer = (response) => void response.socket?.end("nonsense\r\n\r\n");

/** A TCP server; gives back its URL and what closes it. */
async function listening(onConnection: (socket: Socket) => void) {
  const server = createTcpServer(onConnection).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `https://localhost:${port}`, close: () => server.close() };
}

/** Keeps what a client tells the person who waits. */
const listener = () => {
  const told: string[] = [];
  return { told, tell: (message: string) => void told.push(message) };
};

/** Everything of an error that a log could show. */
const shown = (error: Error) =>
  inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }) + JSON.stringify(error);

describe("the client", () => {
  let emulator: Emulator;
  const emulated = (options: Partial<ClientOptions> = {}) =>
    new Client({
      baseUrl: emulator.url,
      apiKey: emulator.apiKey,
      caFile: fileWith(emulator.ca),
      requestsPerMinute: 0,
      ...options,
    });

  before(async () => {
    emulator = await startEmulator({ apiKey });
  });
  beforeEach(() => {
    emulator.reset();
    // Full jitter may draw no wait at all: it always does here, so that no test waits.
    mock.method(Math, "random", () => 0);
  });
  afterEach(async () => {
    mock.reset();
    await server?.close();
    server = undefined;
  });
  after(() => emulator.close());

  describe("what it sends", () => {
    it("is the bearer key, the version, and JSON", async () => {
      const { client, requests } = await scripted([answer(201, edge), answer(200, edge)]);
      await tlsEdges.create(client, { description: "d" });
      await tlsEdges.get(client, "edgtls_1");
      const [post, get] = requests;
      assert.equal(post?.headers.authorization, `Bearer ${apiKey}`);
      assert.equal(post?.headers["service-version"], "2");
      assert.equal(post?.headers["content-type"], "application/json");
      assert.equal(post?.headers.accept, "application/json");
      assert.deepEqual(JSON.parse(post?.body ?? ""), { description: "d" });
      assert.equal(get?.headers["content-type"], undefined);
    });

    it("C2 has the version and its header as configured", async () => {
      const { client, requests } = await scripted([answer(200, edge)], {
        apiVersion: "1",
        versionHeader: "Api-Version",
      });
      await tlsEdges.get(client, "edgtls_1");
      assert.equal(requests[0]?.headers["api-version"], "1");
      assert.equal(requests[0]?.headers["service-version"], undefined);
    });

    it("C32 goes to no other path by an id that is none", async () => {
      const { client, requests } = await scripted([]);
      const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----";
      for (const id of ["", ".", "..", "edgtls_\ud83d", "\udc00", key]) {
        for (const ask of [
          () => tlsEdges.get(client, id),
          () => tlsEdges.update(client, id, {}),
          () => tlsEdges.delete(client, id),
          () => tunnels.get(client, id),
        ]) {
          const error = await failureOf(ask(), TypeError);
          assert.match(error.message, /^this is not the id of an object/);
          assert.ok(!error.message.includes("MIGH"));
        }
      }
      assert.deepEqual(requests, []);
    });

    it("keeps the path of the base URL and escapes an id", async () => {
      server = await script(answer(200, edge));
      const { url, caFile, requests } = server;
      const client = new Client({ baseUrl: `${url}/v2/`, caFile, apiKey });
      await tunnels.get(client, "tn/1 ?");
      assert.equal(requests[0]?.path, "/v2/tunnels/tn%2F1%20%3F");
    });

    it("C5 has a tag that tells accounts apart and shows nothing of them", () => {
      const of = (baseUrl: string, key: string) => new Client({ baseUrl, apiKey: key }).accountTag;
      const one = of("https://a.example/v2", apiKey);
      assert.match(one, /^[0-9a-f]{16}$/);
      assert.equal(of("https://a.example/v2", apiKey), one);
      for (const other of [
        of("https://b.example/v2", apiKey),
        of("https://a.example/v3", apiKey),
        of("https://a.example/v2", "another-key"),
      ]) {
        assert.notEqual(other, one);
      }
    });

    it("C3 goes over HTTPS only", () => {
      assert.throws(
        () => new Client({ baseUrl: "http://127.0.0.1", apiKey }),
        (error: Error) => error instanceof TypeError && !shown(error).includes(apiKey),
      );
    });
  });

  describe("an answer that is an error", () => {
    it("becomes a ServiceError with every field that the service gave", async () => {
      const body = {
        error_code: "ERR_TLSE_218",
        status_code: 400,
        msg: "taken",
        details: { operation_id: "op_7" },
      };
      const { client } = await scripted([answer(400, body)]);
      const error = await failureOf(tlsEdges.create(client, {}), ServiceError);
      const { elapsedMs, ...fields } = error;
      assert.ok(Number.isInteger(elapsedMs));
      assert.deepEqual(
        { ...fields },
        {
          method: "POST",
          path,
          attempts: 1,
          ambiguous: false,
          status: 400,
          code: "ERR_TLSE_218",
          operationId: "op_7",
          name: "ServiceError",
        },
      );
      assert.ok(error.message.includes("taken"));
    });

    for (const [kind, body] of [
      ["HTML", "<html><body>Bad gateway</body></html>"],
      ["empty", ""],
      ["a JSON list", "[1]"],
      ["JSON null", "null"],
      ["JSON of other types", '{"msg":7,"error_code":{},"details":"x"}'],
    ] as const) {
      it(`whose body is ${kind} keeps its status`, async () => {
        const { client } = await scripted([answer(400, body)]);
        const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.equal(error.status, 400);
        assert.equal(error.code, undefined);
        assert.equal(error.operationId, undefined);
        assert.equal(error.path, `${path}/edgtls_1`);
      });
    }

    for (const [status, setting] of [
      [401, "the option apiKey"],
      [403, "the option apiKey"],
      [429, "the option requestsPerMinute"],
      [308, "the option baseUrl"],
    ] as const) {
      it(`of ${status} names the setting to look at`, async () => {
        const { client } = await scripted([answer(status, {})], { maxRetries: 0 });
        const { message } = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.ok(message.includes(setting), message);
        if (setting.endsWith("apiKey")) assert.ok(message.includes(client.baseUrl.host), message);
      });
    }

    it("of 404 asks for the base URL where no item was asked for", async () => {
      const missing = answer(404, "<html>Not found</html>");
      const { client } = await scripted(Array<Answer>(5).fill(missing));
      const said = async (work: Promise<unknown>) => (await failureOf(work, ServiceError)).message;
      const advice = /base URL in the option baseUrl/;
      assert.match(await said(tlsEdges.create(client, {})), advice);
      assert.match(await said(tlsEdges.list(client).next()), advice);
      assert.doesNotMatch(await said(tlsEdges.get(client, "edgtls_1")), advice);
      assert.doesNotMatch(await said(tlsEdges.update(client, "edgtls_1", {})), advice);
      assert.doesNotMatch(await said(tlsEdges.delete(client, "edgtls_1")), advice);
    });
  });

  it("C33 the service's clock is known from the last answer that tells it", async () => {
    const at = (date: string) => answer(200, edge, { Date: date });
    const { client } = await scripted([at("Wed, 21 Oct 2065 07:28:00 GMT"), at("soon")]);
    holdClocks([], Date.parse("2065-10-21T07:00:00Z"));
    assert.equal(client.clockSkewMs, 0);
    for (let n = 0; n < 2; n++) {
      await tlsEdges.get(client, "edgtls_1").catch(() => {});
      assert.equal(client.clockSkewMs, 28 * 60_000);
    }
  });

  it("C22 an update that is answered without the object reads it; if that fails, it may be done", async () => {
    const changed = { ...edge, description: "new" };
    const none = [answer(204), answer(200)];
    for (const done of none) {
      const { client, requests } = await scripted([done, answer(200, changed), done, answer(400)]);
      const update = () => tlsEdges.update(client, "edgtls_1", { description: "new" });
      assert.deepEqual(await update(), changed);
      const error = await failureOf(update(), ServiceError);
      assert.deepEqual([error.method, error.ambiguous], ["GET", true]);
      assert.deepEqual(
        requests.map(({ method }) => method),
        ["PATCH", "GET", "PATCH", "GET"],
      );
    }
  });

  it("a delete is done when a success says nothing, or anything in JSON", async () => {
    const { client } = await scripted([answer(200), answer(204), answer(202, { id: 7 })]);
    for (let n = 0; n < 3; n++) await tlsEdges.delete(client, "edgtls_1");
  });

  it("a delete that a page of HTML answers may not be done", async () => {
    const { client } = await scripted([answer(200, "<html>Sign in</html>")]);
    const error = await failureOf(tlsEdges.delete(client, "edgtls_1"), ConnectionError);
    assert.equal(error.code, "EBADANSWER");
    assert.equal(error.ambiguous, true);
  });

  describe("a success that can't be used", () => {
    for (const [kind, body] of [
      ["HTML", "<html></html>"],
      ["empty", ""],
      ["a list", "[]"],
      ["a string", '"ok"'],
    ] as const) {
      it(`because it is ${kind} is an error, ambiguous after a change`, async () => {
        const { client, requests } = await scripted([answer(201, body), answer(200, body)]);
        const post = await failureOf(tlsEdges.create(client, {}), ConnectionError);
        assert.equal(post.code, "EBADANSWER");
        assert.equal(post.ambiguous, true);
        const get = await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
        assert.equal(get.ambiguous, false);
        assert.equal(requests.length, 2);
      });
    }
  });

  describe("a success whose fields can't be used", () => {
    const fields: [string, object][] = [
      ["id", { id: 7 }],
      ["id", { id: "" }],
      ["uri", { uri: null }],
      ["created_at", { created_at: "yesterday" }],
      ["description", { description: {} }],
      ["hostports", { hostports: "a.example.com:443" }],
      ["hostports[1]", { hostports: ["a.example.com:443", null] }],
      ["backend", { backend: [] }],
      ["backend.backend.id", { backend: { backend: { id: true } } }],
      ["ip_restriction.ip_policies", { ip_restriction: { ip_policies: "ipp_1" } }],
      ["tls_termination.min_version", { tls_termination: { min_version: 1.2 } }],
    ];
    for (const [field, other] of fields) {
      it(`because of ${field}: ${JSON.stringify(other)} names it, in a list too`, async () => {
        const wrong = { ...edge, ...other };
        const { client } = await scripted([
          answer(200, wrong),
          answer(200, { tls_edges: [edge, wrong] }),
        ]);
        const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
        assert.equal(error.code, "EBADANSWER");
        assert.equal(error.field, field);
        assert.ok(error.message.includes(field), error.message);
        const list = await failureOf(Array.fromAsync(tlsEdges.list(client)), ConnectionError);
        assert.equal(list.field, `tls_edges[1].${field}`);
      });
    }

    it("C91 of more than 32 MiB is read no further, and not asked for again", async () => {
      const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, " "));
      const whole = gzipSync(
        Buffer.concat([Buffer.alloc(30 * 1024 * 1024, " "), Buffer.from("{}")]),
      );
      const zipped =
        (body: Buffer): Answer =>
        (response) => {
          response.writeHead(200, { ...json, "Content-Encoding": "gzip" });
          response.end(body);
        };
      assert.ok(bomb.length < 300_000);
      const answers = [zipped(whole), zipped(bomb), zipped(bomb)];
      const { client, requests } = await scripted(answers);
      assert.deepEqual(await client.get("/", anything), {});
      for (const [ask, ambiguous] of [
        [() => client.get("/", anything), false],
        [() => tlsEdges.create(client, {}), true],
      ] as const) {
        const before = process.memoryUsage().rss;
        const error = await failureOf(ask(), ConnectionError);
        assert.deepEqual(
          [error.code, error.ambiguous, error.attempts],
          ["EBADANSWER", ambiguous, 1],
        );
        assert.match(error.message, /more than 32 MiB/);
        const grown = process.memoryUsage().rss - before;
        assert.ok(grown < 150 * 1024 * 1024, `${grown} bytes`);
      }
      assert.equal(requests.length, 3);
    });

    it("keeps what can be used of it", async () => {
      const { client } = await scripted([answer(201, { ...edge, description: 7, more: 8 })]);
      const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
      assert.deepEqual(error.usable, edge);
      assert.equal(error.ambiguous, true);
    });

    it("C91 keeps of a big one the id alone, and searches no long text", async () => {
      const big = "x".repeat(2 * 1024 * 1024);
      const bigs = [{ description: big }, { hostports: Array(30_000).fill(big.slice(0, 90)) }];
      for (const fields of bigs) {
        const { client } = await scripted([answer(201, { ...edge, ...fields, uri: 7 })]);
        const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
        assert.deepEqual(error.usable, { id: edge.id });
      }
      const { client } = await scripted([answer(201, { ...edge, id: big })]);
      const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
      assert.deepEqual([error.field, error.usable?.id], ["id", undefined]);
    });

    it("C62 tolerates what api.md says: unknown fields and values, and null for unset", async () => {
      const { client } = await scripted([
        answer(200, {
          ...edge,
          description: null,
          metadata: null,
          hostports: null,
          backend: null,
          ip_restriction: { ip_policies: { id: "ipp_1", uri: "x", more: 1 }, more: 2 },
          mutual_tls: { certificate_authorities: [{ id: "ca_1", uri: "x" }] },
          tls_termination: { terminate_at: "somewhere", min_version: null },
          more: { than: "known" },
        }),
      ]);
      const { tls_termination } = await tlsEdges.get(client, "edgtls_1");
      assert.equal(tls_termination?.terminate_at, "somewhere");
    });
  });

  describe("an operation", () => {
    it("C34 has one deadline for all its requests", async () => {
      const { client, requests } = await scripted([silence], { timeoutSeconds: 1 });
      const operation = client.operation();
      await failureOf(tlsEdges.get(operation, "edgtls_1"), ConnectionError);
      const error = await failureOf(tlsEdges.get(operation, "edgtls_1"), ConnectionError);
      assert.equal(error.code, "ETIMEDOUT");
      assert.equal(error.attempts, 0);
      assert.equal(error.ambiguous, false);
      assert.equal(requests.length, 1);
      // Another operation has its own.
      assert.ok(client.operation().leftMs > 0);
    });

    it("C2 C34 goes by no date, which may be set at any time", async () => {
      mock.timers.enable({ apis: ["Date"], now: 0 });
      const end = new AbortController();
      const { told, tell } = listener();
      const client = emulated({ requestsPerMinute: 1, signal: end.signal, tell });
      const operation = client.operation();
      await operation.get("/", anything);
      mock.timers.setTime(86_400_000);
      assert.ok(operation.leftMs > 60_000);
      const waiting = operation.get("/", anything);
      assert.equal(told.length, 1);
      end.abort(new Error("the end"));
      await assert.rejects(waiting, /the end/);
    });

    it("C34 says how much time is left of it", async () => {
      const { client } = await scripted([answer(200, edge)], { timeoutSeconds: 30 });
      holdClocks();
      const operation = client.operation();
      assert.equal(operation.leftMs, 30_000);
      await tlsEdges.get(operation, "edgtls_1");
      mock.timers.tick(12_000);
      assert.equal(operation.leftMs, 18_000);
      assert.deepEqual([client.leftMs, operation.account.leftMs], [30_000, 30_000]);
    });

    it("C34 has time from its first request on, and none passes while one queues", async () => {
      holdClocks([], 0);
      const deadline = new Deadline(1000);
      mock.timers.setTime(5000);
      assert.equal(deadline.leftMs, 1000);
      const queued = deadline.waitFor(new Promise((resolve) => setImmediate(resolve)));
      mock.timers.setTime(15_000);
      await queued;
      assert.equal(deadline.leftMs, 1000);
      mock.timers.setTime(15_400);
      const again = deadline.waitFor(new Promise((resolve) => setImmediate(resolve)));
      mock.timers.setTime(25_000);
      await again;
      assert.equal(deadline.leftMs, 600);
      mock.timers.setTime(25_700);
      assert.equal(deadline.leftMs, -100);
    });

    it("C34 that fails in the end tells how often it was tried, how long, and the last answer", async () => {
      const gateway = answer(502, "<html>");
      const { client } = await scripted([gateway, gateway, silence], { timeoutSeconds: 1 });
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
      assert.equal(error.code, "ETIMEDOUT");
      assert.deepEqual([error.attempts, error.ambiguous], [3, false]);
      assert.equal(error.lastStatus, 502);
      assert.ok(error.elapsedMs >= 900, String(error.elapsedMs));
      assert.match(error.message, /after 3 tries in \d+ s.*502/);
    });
  });

  describe("a person who waits", () => {
    it("C34 is told what is tried again, once", async () => {
      const gone = await script();
      await gone.close();
      const { told, tell } = listener();
      const client = new Client({ baseUrl: gone.url, apiKey, maxRetries: 4, tell });
      await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
      assert.equal(told.length, 1);
      for (const part of ["GET /edges/tls/edgtls_1", "ECONNREFUSED"]) {
        assert.ok(told[0]?.includes(part), told[0]);
      }
    });

    const longPause = answer(429, {}, { "Retry-After": "60" });
    const retries: [string, Answer[], RegExp[]][] = [
      ["nothing of what goes well at the second try", [answer(502)], []],
      ["before the third try", [answer(502), answer(502)], [/502/]],
      ["of a long pause before the second try", [longPause], [/GET \/edges\/tls\/edgtls_1.*429/]],
    ];
    for (const [what, failed, said] of retries) {
      it(`C34 is told ${what}`, async () => {
        skipPauses();
        const { told, tell } = listener();
        const { client } = await scripted([...failed, answer(200, edge)], { tell });
        await tlsEdges.get(client, "edgtls_1");
        assert.equal(told.length, said.length);
        for (const [n, words] of said.entries()) assert.match(told[n] ?? "", words);
      });
    }

    it("C34 is told how much time is left, and nothing of it when none is", async () => {
      const { told, tell } = listener();
      const { client, requests } = await scripted([answer(502), answer(200, edge)], {
        requestsPerMinute: 1,
        timeoutSeconds: 50,
        tell,
      });
      holdClocks(["setTimeout", "setInterval"]);
      const step = (ms: number) => {
        mock.timers.tick(ms);
        return new Promise(setImmediate);
      };
      const read = tlsEdges.get(client, "edgtls_1");
      // The second try waits for its turn.
      while (told.length === 0) await step(1);
      for (let seconds = 0; seconds < 60; seconds += 10) await step(10_000);
      await ticking(read, 1);
      assert.equal(requests.length, 2);
      for (const message of told) assert.doesNotMatch(message, /-\d/);
    });

    it("C34 is told of a try that takes long, and of no time below zero, until it ends", async () => {
      const { told, tell } = listener();
      let finish: (() => void) | undefined;
      const slow: Answer = (response, request) => {
        finish = () => answer(200, edge)(response, request);
      };
      const { client } = await scripted([slow], { timeoutSeconds: 30, tell });
      holdClocks(["setInterval"]);
      const read = tlsEdges.get(client, "edgtls_1");
      while (!finish) await new Promise(setImmediate);
      for (let seconds = 0; seconds < 50; seconds += 10) mock.timers.tick(10_000);
      assert.equal(told.length, 5);
      for (const message of told) assert.doesNotMatch(message, /-\d/);
      finish();
      await read;
      mock.timers.tick(100_000);
      assert.equal(told.length, 5);
    });

    it("C2 is told that it is the limit", async () => {
      const { told, tell } = listener();
      const client = emulated({ requestsPerMinute: 1, tell });
      mock.timers.enable({ apis: ["setTimeout"] });
      await client.get("/", anything);
      assert.deepEqual(told, []);
      for (let n = 0; n < 3; n++) void client.get("/", anything);
      assert.equal(told.length, 1);
      assert.match(told[0] ?? "", /limit of 1 requests a minute.*requestsPerMinute/);
      // They wait for a timer that never fires, and not for one that does.
      await new Promise(setImmediate);
    });

    it("C2 is told nothing of requests that start together, within the limit", async () => {
      const { told, tell } = listener();
      const client = emulated({ requestsPerMinute: 4, tell });
      await Promise.all([1, 2, 3, 4].map(() => client.get("/", anything)));
      assert.deepEqual(told, []);
    });
  });

  describe("a transient failure", () => {
    it("C34 429 with no Retry-After is tried again, a POST too", async () => {
      const { client, requests } = await scripted([answer(429, {}), answer(201, edge)]);
      assert.equal((await tlsEdges.create(client, { metadata: "m" })).id, "edgtls_1");
      assert.equal(requests.length, 2);
      assert.equal(requests[1]?.body, requests[0]?.body);
      assert.equal(requests[1]?.headers["content-type"], "application/json");
    });

    const lost: [string, Answer][] = [
      ...[408, 502, 503, 504, 520, 521, 522, 523, 524].map((status): [string, Answer] => [
        String(status),
        answer(status, "<html>"),
      ]),
      ["503 with Retry-After", answer(503, "", retryNow)],
      ["a reset", reset],
      ["half of the JSON", answer(200, '{"id":"edgtls_1","ur')],
      ["half of the answer", cut],
    ];
    const lostForGood: [string, Answer][] = [
      ["500", answer(500, "<html>")],
      ["501", answer(501, "")],
      ["500 with Retry-After", answer(500, {}, retryNow)],
      ["302", answer(302, "", { Location: "/" })],
      ["what is no HTTP", garbage],
    ];
    for (const [kind, first] of [...lost, ...lostForGood]) {
      it(`C33 of ${kind} is not tried again for a POST: it may have done its work`, async () => {
        const { client, requests } = await scripted([first, answer(201, edge)]);
        const error = await failureOf(tlsEdges.create(client, {}), Error);
        assert.equal(requests.length, 1);
        assert.ok(error instanceof ConnectionError || error instanceof ServiceError);
        assert.equal(error.ambiguous, true);
        assert.equal(error.attempts, 1);
        const [status] = /^\d+/.exec(kind) ?? [];
        if (status) assert.equal((error as ServiceError).status, Number(status));
        else if (kind !== "what is no HTTP") assert.equal(error.code, "ECONNRESET");
      });
    }
    for (const [kind, first] of lost) {
      it(`C34 of ${kind} is tried again for GET, PATCH and DELETE`, async () => {
        const { client, requests } = await scripted([
          first,
          answer(200, edge),
          first,
          answer(200, edge),
          first,
          (response: ServerResponse) => void response.writeHead(204).end(),
        ]);
        await tlsEdges.get(client, "edgtls_1");
        await tlsEdges.update(client, "edgtls_1", { metadata: "m" });
        await tlsEdges.delete(client, "edgtls_1");
        const methods = requests.map(({ method }) => method);
        assert.deepEqual(methods, ["GET", "GET", "PATCH", "PATCH", "DELETE", "DELETE"]);
      });
    }

    for (const status of [400, 401, 403, 404, 405, 409, 413, 422]) {
      it(`C33 C34 of ${status} is asked once, and leaves no doubt: a POST did nothing`, async () => {
        const { client, requests } = await scripted(Array(3).fill(answer(status, {})));
        const post = await failureOf(tlsEdges.create(client, {}), ServiceError);
        assert.equal(post.ambiguous, false);
        await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.equal(requests.length, 2);
      });
    }

    it("C33 a POST that the limit of requests refused did nothing", async () => {
      const { client } = await scripted([answer(429, {})], { maxRetries: 0 });
      assert.equal((await failureOf(tlsEdges.create(client, {}), ServiceError)).ambiguous, false);
    });

    it("C34 500 is not tried again for any method, and a write may be done", async () => {
      const { client, requests } = await scripted([answer(500), answer(500), answer(500)]);
      const of = (work: Promise<unknown>) => failureOf(work, ServiceError);
      assert.equal((await of(tlsEdges.get(client, "edgtls_1"))).ambiguous, false);
      assert.equal((await of(tlsEdges.update(client, "edgtls_1", {}))).ambiguous, true);
      assert.equal((await of(tlsEdges.delete(client, "edgtls_1"))).ambiguous, true);
      assert.equal(requests.length, 3);
    });

    it("C34 a write may be done when any of its tries was lost, not only the last", async () => {
      const { client } = await scripted([answer(502), answer(409, {})]);
      const error = await failureOf(tlsEdges.update(client, "edgtls_1", {}), ServiceError);
      assert.equal(error.status, 409);
      assert.equal(error.ambiguous, true);
    });

    it("C33 a POST that got no answer in time is not sent again, a GET is", async () => {
      // The time of a try ends when the server has heard it.
      const late: Answer = holdTimeouts();
      const { client, requests } = await scripted([late, late, answer(200, edge)]);
      const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
      assert.deepEqual([error.code, error.ambiguous, error.attempts], ["ETIMEDOUT", true, 1]);
      assert.deepEqual(requests.length, 1);
      await tlsEdges.get(client, "edgtls_1");
      assert.equal(requests.length, 3);
    });

    it("C33 a POST whose connection breaks before the TLS handshake is sent again", async () => {
      const { client: direct, requests, url } = await scripted([answer(201, edge)]);
      let connections = 0;
      const door = await listening((socket) => {
        connections += 1;
        if (connections === 1) return socket.destroy();
        return socket.pipe(connect(Number(new URL(url).port), "127.0.0.1")).pipe(socket);
      });
      try {
        assert.ok(direct);
        const client = new Client({ baseUrl: door.url, caFile: server?.caFile, apiKey });
        assert.equal((await tlsEdges.create(client, {})).id, "edgtls_1");
        assert.deepEqual([connections, requests.length], [2, 1]);
      } finally {
        door.close();
      }
    });

    it("C33 a POST that waits for a TLS handshake until its deadline was never sent", async () => {
      const sockets: Socket[] = [];
      const door = await listening((socket) => void sockets.push(socket));
      try {
        const client = new Client({ baseUrl: door.url, apiKey, timeoutSeconds: 1 });
        const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
        assert.equal(error.code, "ETIMEDOUT");
        assert.equal(error.ambiguous, false);
      } finally {
        for (const socket of sockets) socket.destroy();
        door.close();
      }
    });

    for (const code of ["EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED", "EAI_AGAIN"]) {
      it(`C33 a POST that ${code} ends after it was sent is lost, a GET is tried again`, async () => {
        let sent: ClientRequest | undefined;
        const keep = (message: unknown) => {
          sent = (message as { request: ClientRequest }).request;
        };
        const unreachable: Answer = () =>
          void sent?.destroy(Object.assign(new Error(`read ${code}`), { code, syscall: "read" }));
        subscribe("http.client.request.start", keep);
        try {
          const { client, requests } = await scripted([
            unreachable,
            unreachable,
            answer(200, edge),
          ]);
          const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
          assert.deepEqual([error.code, error.ambiguous, error.attempts], [code, true, 1]);
          await tlsEdges.get(client, "edgtls_1");
          assert.equal(requests.length, 3);
        } finally {
          unsubscribe("http.client.request.start", keep);
        }
      });
    }

    /** The next look-up of a host name fails. */
    function failNextLookup(code: string) {
      const real = dns.lookup;
      const lookup = mock.method(dns, "lookup", (...args: Parameters<typeof dns.lookup>) => {
        lookup.mock.restore();
        const [, , callback] = args as unknown as [string, object, (error: Error) => void];
        const error = Object.assign(new Error(code), { code, syscall: "getaddrinfo" });
        return real("localhost", {}, () => callback(error));
      });
    }

    it("C34 of a name server is tried again for a POST, an unknown host name is not", async () => {
      const { client, requests } = await scripted([answer(201, edge)]);
      failNextLookup("ENOTFOUND");
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
      assert.deepEqual([error.code, error.attempts, requests.length], ["ENOTFOUND", 1, 0]);
      assert.match(error.message, /base URL in the option baseUrl/);
      assert.doesNotMatch(error.message, /10 s/);
      failNextLookup("EAI_AGAIN");
      assert.equal((await tlsEdges.create(client, {})).id, "edgtls_1");
    });

    it("C34 pauses no less than the backoff, whatever Retry-After says", async () => {
      skipPauses();
      drawLongest();
      for (const asked of ["0", "-5", "soon", "", "Wed, 21 Oct 2015 07:28:00 GMT"]) {
        const limited = answer(429, {}, { "Retry-After": asked });
        const { client } = await scripted([limited, limited, limited], { maxRetries: 2 });
        const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.equal(error.elapsedMs, 1500, asked);
      }
    });

    it("C34 pauses as long as Retry-After says, by the service's clock", async () => {
      const asked = [
        { "Retry-After": "5" },
        { Date: "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2015 07:28:05 GMT" },
        { Date: "Wed, 21 Oct 2065 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2065 07:28:05 GMT" },
      ];
      skipPauses();
      for (const headers of asked) {
        const limited = answer(429, {}, headers);
        const { client } = await scripted([limited, limited], { maxRetries: 1 });
        const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.equal(error.elapsedMs, 5000);
      }
    });

    it("C34 pauses twice as long each time, for 20 s at most, and a drawn part of that", async () => {
      skipPauses();
      drawLongest();
      const busy = answer(502);
      const { client } = await scripted(Array<Answer>(9).fill(busy));
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
      assert.equal(error.elapsedMs, 500 + 1000 + 2000 + 4000 + 8000 + 16_000 + 20_000 + 20_000);
      assert.equal(error.attempts, 9);
    });

    it("C34 a refused connection is given up within 10 s, unless something was written", async () => {
      skipPauses();
      drawLongest();
      const gone = await script();
      await gone.close();
      const client = new Client({ baseUrl: gone.url, apiKey });
      const get = () => failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
      const early = await get();
      assert.equal(early.code, "ECONNREFUSED");
      assert.ok(early.attempts > 2 && early.elapsedMs <= 10_000, String(early.elapsedMs));
      assert.match(early.message, /10 s/);
      const post = await failureOf(tlsEdges.create(client, {}), ConnectionError);
      assert.deepEqual([post.attempts, post.ambiguous], [9, false]);
      assert.ok(post.elapsedMs > 10_000, String(post.elapsedMs));
      const late = await get();
      assert.equal(late.attempts, 9);
      assert.doesNotMatch(late.message, /10 s/);
      const impatient = new Client({ baseUrl: gone.url, apiKey, maxRetries: 1 });
      const soon = await failureOf(tlsEdges.get(impatient, "edgtls_1"), ConnectionError);
      assert.equal(soon.attempts, 2);
      assert.doesNotMatch(soon.message, /10 s/);
    });

    it("C34 is tried again after any part of a pause", async () => {
      mock.restoreAll();
      mock.method(Math, "random", () => 0.001234);
      const { client, requests } = await scripted([answer(502), answer(200, edge)]);
      await tlsEdges.get(client, "edgtls_1");
      assert.equal(requests.length, 2);
    });

    it("C34 that asks to wait past the deadline is not waited for", async () => {
      const { client, requests } = await scripted([answer(429, {}, { "Retry-After": "3600" })]);
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
      assert.equal(error.status, 429);
      assert.equal(requests.length, 1);
    });
  });

  it("C33 says that a POST is sent when it is, not when it queues, and not of each try", async () => {
    const { client, requests } = await scripted([answer(200), answer(429), answer(201, edge)], {
      requestsPerMinute: 1,
      timeoutSeconds: 86_400,
    });
    await client.get("/", anything).catch(() => {});
    holdClocks(["setTimeout"]);
    const sent: number[] = [];
    const made = client.post(path, {}, anything, () => void sent.push(requests.length));
    await new Promise(setImmediate);
    assert.deepEqual(sent, []);
    await ticking(made, 1000);
    assert.equal(requests.length, 3);
    assert.deepEqual(sent, [1]);
  });

  describe("when it is cancelled", () => {
    const reason = new Error("cancelled");
    const cancellable = (answers: Answer[], options: Partial<ClientOptions> = {}) => {
      const controller = new AbortController();
      return scripted(answers, { ...options, signal: controller.signal }).then((made) => ({
        ...made,
        cancel: () => controller.abort(reason),
      }));
    };
    /** Calls `then` when the request has come, then answers. */
    const calling = (then: () => void, late: Answer): Answer => {
      return (response, request) => {
        then();
        setImmediate(() => void late(response, request));
      };
    };

    it("ends a read in flight, and sends no more", async () => {
      const { client, requests, cancel } = await cancellable([calling(() => cancel(), silence)]);
      assert.equal(await failureOf(client.get(path, anything), Error), reason);
      assert.equal(await failureOf(client.get(path, anything), Error), reason);
      assert.equal(requests.length, 1);
    });

    it("ends the pause before a retry", async () => {
      const { client, requests, cancel } = await cancellable([
        answer(503, {}, { "Retry-After": "60" }),
      ]);
      const failed = failureOf(client.get(path, anything), Error);
      while (requests.length === 0) await timers.setImmediate();
      setImmediate(cancel);
      assert.equal(await failed, reason);
      assert.equal(requests.length, 1);
    });

    it("ends the wait for the limit", async () => {
      const { client, cancel } = await cancellable([answer(200, {})], { requestsPerMinute: 1 });
      await client.get(path, anything);
      const failed = failureOf(client.get(path, anything), Error);
      cancel();
      assert.equal(await failed, reason);
    });

    it("C33 waits for the answer to a write in flight", async () => {
      const { client, cancel } = await cancellable([calling(() => cancel(), answer(201, edge))]);
      assert.deepEqual(await client.post(path, {}, anything), {});
    });
  });

  describe("the pace", () => {
    /** How many of these have their turn. */
    async function turns(pace: Pace, number: number) {
      const had: number[] = [];
      const answered: (() => void)[] = [];
      for (let n = 0; n < number; n++) {
        void pace.turn().then((done) => {
          had.push(n);
          answered.push(done);
        });
      }
      await settle();
      return { had, answered };
    }
    const settle = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

    it("C2 is so many in any 60 seconds from their answers on, the first come first", async () => {
      holdClocks(["setTimeout"], 0);
      const waits: number[] = [];
      const pace = new Pace(3, (waiting) => void waits.push(waiting));
      const { had, answered } = await turns(pace, 7);
      assert.deepEqual(had, [0, 1, 2]);
      assert.deepEqual(waits, [1, 2, 3, 4]);
      // Nobody's turn comes while nothing is answered.
      mock.timers.tick(600_000);
      await settle();
      assert.deepEqual(had, [0, 1, 2]);
      answered.splice(0, 1)[0]?.();
      await settle();
      mock.timers.tick(1000);
      for (const done of answered.splice(0)) done();
      await settle();
      mock.timers.tick(58_999);
      await settle();
      assert.deepEqual(had, [0, 1, 2]);
      mock.timers.tick(1);
      await settle();
      assert.deepEqual(had, [0, 1, 2, 3]);
      mock.timers.tick(1000);
      await settle();
      assert.deepEqual(had, [0, 1, 2, 3, 4, 5]);
    });

    it("C2 gives a place that nobody waits for to the next that asks", async () => {
      holdClocks(["setTimeout"], 0);
      const waits: number[] = [];
      const pace = new Pace(1, (waiting) => void waits.push(waiting));
      const { answered } = await turns(pace, 1);
      answered[0]?.();
      mock.timers.tick(60_000);
      assert.deepEqual((await turns(pace, 1)).had, [0]);
      assert.deepEqual(waits, []);
    });
  });

  describe("a list", () => {
    const ids = async (client: Client) => (await Array.fromAsync(tlsEdges.list(client))).map(idOf);
    const idOf = ({ id }: { id: string }) => id;

    it("C4 C7 is followed by its query alone, at the base URL: the key goes nowhere else", async () => {
      const other = await script(answer(200, { tls_edges: [], next_page_uri: null }));
      try {
        const nexts = [
          `${other.url}/edges/tls?before_id=edgtls_1`,
          `${other.url.replace("https:", "http:")}/v9/other?before_id=edgtls_1`,
          "//evil/?before_id=edgtls_1",
          "/edges/tls?before_id=edgtls_1",
          "?before_id=edgtls_1",
        ];
        for (const next_page_uri of nexts) {
          const { client, requests } = await scripted([
            answer(200, { tls_edges: [edge], next_page_uri }),
            answer(200, { tls_edges: [], next_page_uri: null }),
          ]);
          assert.deepEqual(await ids(client), ["edgtls_1"]);
          assert.equal(requests[1]?.path, "/edges/tls?before_id=edgtls_1", next_page_uri);
        }
        assert.deepEqual(other.requests, []);
      } finally {
        await other.close();
      }
    });

    it("C91 is refused when it names no other page", async () => {
      for (const next_page_uri of [7, "https://", "https://any.example/edges/tls", "/edges/tls?"]) {
        const { client, requests } = await scripted([
          answer(200, { tls_edges: [edge], next_page_uri }),
        ]);
        const error = await failureOf(ids(client), ConnectionError);
        assert.deepEqual([error.code, error.ambiguous], ["EBADANSWER", false]);
        assert.equal(requests.length, 1);
      }
    });

    it("C91 with more than 1000 items is refused", async () => {
      const of = (items: number) => answer(200, { tls_edges: Array(items).fill(edge) });
      const { client } = await scripted([of(1000), of(1001)]);
      assert.equal((await ids(client)).length, 1000);
      const error = await failureOf(ids(client), ConnectionError);
      assert.deepEqual([error.code, error.field], ["EBADANSWER", "tls_edges"]);
      assert.match(error.message, /more than 1000 items/);
    });

    it("that goes in a circle is refused", async () => {
      const to = (page: string) => answer(200, { tls_edges: [], next_page_uri: `${path}?${page}` });
      const { client, requests } = await scripted([to("a"), to("b"), to("a")]);
      const error = await failureOf(ids(client), ConnectionError);
      assert.equal(error.code, "EBADANSWER");
      assert.equal(requests.length, 3);
    });

    it("C91 that never ends is left after 1000 pages", async () => {
      let pages = 0;
      const endless = await startEmulator({
        respond: (body, { method }) => {
          pages += 1;
          return method === "GET" ? { ...Object(body), next_page_uri: `?before=${pages}` } : body;
        },
      });
      try {
        // A page of the emulator's own has no such parameter.
        endless.faults.add({
          method: "GET",
          times: 2000,
          answer: { status: 200, headers: json, body: '{"tls_edges":[]}' },
        });
        const { url: baseUrl, ca, apiKey } = endless;
        const client = new Client({ baseUrl, apiKey, caFile: fileWith(ca), requestsPerMinute: 0 });
        const error = await failureOf(ids(client), ConnectionError);
        assert.deepEqual([error.code, error.path, pages], ["EBADANSWER", path, 1000]);
        assert.match(error.message, /more than 1000 pages/);
      } finally {
        await endless.close();
      }
    });

    it("with no collection in it is refused, and one with no next page ends", async () => {
      const { client } = await scripted([
        answer(200, { edges: [] }),
        answer(200, { tls_edges: [] }),
        answer(200, { tls_edges: [edge], next_page_uri: "" }),
      ]);
      const { code, message } = await failureOf(ids(client), ConnectionError);
      assert.equal(code, "EBADANSWER");
      assert.match(message, /base URL in the option baseUrl/);
      assert.deepEqual(await ids(client), []);
      assert.deepEqual(await ids(client), ["edgtls_1"]);
    });
  });

  describe("the key and the connection", () => {
    it("C4 a redirect is not followed, not even on the same origin", async () => {
      const other = await script(answer(200, edge));
      try {
        for (const status of [301, 302, 307, 308]) {
          const redirect = answer(status, "", { Location: `${other.url}${path}` });
          const { client, requests } = await scripted([redirect]);
          const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
          assert.equal(error.status, status);
          assert.equal(requests.length, 1);
        }
        assert.deepEqual(other.requests, []);
      } finally {
        await other.close();
      }
    });

    it("C3 an unknown authority is refused, NODE_TLS_REJECT_UNAUTHORIZED=0 or not", async () => {
      const restore = setEnv({ NODE_TLS_REJECT_UNAUTHORIZED: "0" });
      // Node warns of the variable: that is its own business.
      const warn = mock.method(process, "emitWarning", () => {});
      try {
        const client = emulated({ caFile: undefined, maxRetries: 2 });
        const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
        assert.match(error.code, /VERIFY|SELF_SIGNED|ISSUER/);
        assert.equal(error.attempts, 1);
        assert.equal(error.ambiguous, false);
        assert.deepEqual(emulator.requests, []);
      } finally {
        warn.mock.restore();
        restore();
      }
    });

    it("C33 a POST goes on no connection that was idle for a second: the client closes it", async () => {
      const sockets: Socket[] = [];
      const kept: Answer = (response, request) => {
        sockets.push(request.socket);
        // A service that would keep it: by the header alone, the client would close it much later.
        answer(201, edge, { "Keep-Alive": "timeout=60" })(response, request);
      };
      const { client } = await scripted([kept, kept]);
      await tlsEdges.create(client, {});
      const [socket] = sockets as [Socket];
      // Only a connection that the client closes ends before it is closed.
      const ended = mock.fn();
      socket.once("end", ended);
      await once(socket, "close");
      assert.equal(ended.mock.callCount(), 1);
      await tlsEdges.create(client, {});
      assert.notEqual(sockets[1], socket);
    });

    it("C4 the key stands in no error", async () => {
      const { client } = await scripted(
        [
          answer(401, { msg: "no" }),
          reset,
          answer(302, "", { Location: "/" }),
          answer(201, "nonsense"),
          answer(200, { tls_edges: [], next_page_uri: "https://evil.example/" }),
          silence,
        ],
        { timeoutSeconds: 1 },
      );
      const create = () => tlsEdges.create(client, { metadata: "secret body" });
      const list = () => tlsEdges.list(client).next();
      const failures: (() => Promise<unknown>)[] = [create, create, create, create, list, create];
      for (const fail of failures) {
        const error = await failureOf(fail(), Error);
        const text = shown(error);
        for (const hidden of [apiKey, Buffer.from(apiKey).toString("base64"), "secret body"]) {
          assert.ok(!text.includes(hidden), text);
        }
        assert.equal(error.cause, undefined);
      }
      const stranger = emulated({ caFile: undefined });
      assert.ok(
        !shown(await failureOf(stranger.get("/", anything), ConnectionError)).includes(apiKey),
      );
    });

    it("C4 a key that the service quotes from the request is not shown", async () => {
      const details = { operation_id: `op ${apiKey}` };
      const { client } = await scripted([answer(400, { error_code: `E ${apiKey}`, details })]);
      const error = await failureOf(tlsEdges.create(client, {}), ServiceError);
      assert.deepEqual([error.code, error.operationId], ["E [secret]", "op [secret]"]);
      assert.ok(!shown(error).includes(apiKey), shown(error));
    });

    it("C4 C50 a key that the service quotes is in no error and no answer, a partial one either", async () => {
      const line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZmFrZQ";
      const pem = `-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----`;
      const body = {
        certificate_pem: "chain",
        private_key_pem: pem,
        metadata: `sha:${"0a".repeat(32)}`,
      };
      const id = "cert_2abcdefghijklmnopqrstuvwxyz0";
      const quoting = {
        ...{
          id,
          uri: `https://api.example.com/tls_certificates/${id}`,
          created_at: edge.created_at,
        },
        ...{
          certificate_pem: "chain",
          metadata: body.metadata,
          description: line,
          key_usages: [pem],
        },
      };
      const { client } = await scripted([
        answer(400, { msg: line, error_code: pem, details: { operation_id: `op_1 ${line}` } }),
        answer(201, { ...quoting, issued_at: 7 }),
        answer(201, { ...quoting, issuer_common_name: apiKey }),
        answer(200, { ...quoting, certificate_pem: `chain ${pem}`, description: apiKey }),
      ]);
      const create = () => tlsCertificates.create(client, body);
      const refused = await failureOf(create(), ServiceError);
      assert.deepEqual([refused.code, refused.operationId], ["[secret]", "op_1 [secret]"]);
      assert.ok(!shown(refused).includes(line), shown(refused));
      const unusable = await failureOf(create(), ConnectionError);
      const { issued_at: _, ...usable } = { ...quoting, issued_at: 7 };
      const known = { ...usable, description: "[secret]", key_usages: ["[secret]"] };
      assert.deepEqual(unusable.usable, known);
      assert.deepEqual(await create(), { ...known, issuer_common_name: "[secret]" });
      // A later answer has no request with the key: a key in PEM is cut all the same.
      const found = await tlsCertificates.get(client, id);
      assert.deepEqual(
        [found.certificate_pem, found.description, found.key_usages],
        ["chain [secret]", "[secret]", ["[secret]"]],
      );
    });

    it("C50 the secret arguments of an operation are in none of its errors", async () => {
      const msg = "the hostport s3cret.example.com:443 is taken by edgtls_2";
      const { client } = await scripted([
        answer(400, { msg, error_code: "s3cret" }),
        answer(404, { msg }),
      ]);
      const service = client.operation(undefined, ["s3cret.example.com:443"]);
      const refused = await failureOf(tlsEdges.create(service, {}), ServiceError);
      assert.match(
        refused.message,
        /: the hostport \[secret\] is taken by edgtls_2 \(\[secret\]\)/,
      );
      const further = await failureOf(tlsEdges.get(service.operation(), "edgtls_1"), ServiceError);
      for (const error of [refused, further]) assert.ok(!shown(error).includes("s3cret"));
    });

    it("C4 a key in next_page_uri or in the name of a label is not shown", async () => {
      const quoting = { tls_edges: [], next_page_uri: `?before_id=${apiKey}` };
      const tunnel = { id: "tn_1", labels: { [`${apiKey}\u001b`]: 5 } };
      const { client, requests } = await scripted([
        answer(200, quoting),
        answer(400, {}),
        answer(200, { tunnels: [tunnel] }),
      ]);
      const error = await failureOf(Array.fromAsync(tlsEdges.list(client)), ServiceError);
      assert.match(requests[1]?.path ?? "", /before_id=\[secret\]$/);
      assert.ok(!shown(error).toLowerCase().includes(apiKey));
      const labelled = await failureOf(tunnels.list(client).next(), ConnectionError);
      assert.match(labelled.field ?? "", /^tunnels\[0\]\.labels\.\[secret\]\\u001b$/);
      for (const hidden of [apiKey, "\u001b"]) {
        assert.ok(!labelled.message.includes(hidden), labelled.message);
        assert.ok(!labelled.stack?.includes(hidden), labelled.stack);
      }
    });

    it("C90 an error shows the texts of the service escaped, in each of its fields", async () => {
      const acts = "a\u001b[31m\u0007\u202e\n::add-mask::b\r<{%reset%}>##[x]\ud800";
      const { client } = await scripted([
        answer(400, { msg: acts, error_code: acts, details: { operation_id: acts } }),
      ]);
      const error = await failureOf(client.get("/", anything), ServiceError);
      const plain =
        "a\\u001b[31m\\u0007\\u202e\\n::add-mask::b\\r<\\u007b%reset%}>#\\u0023[x]\\ud800";
      assert.deepEqual([error.code, error.operationId], [plain, plain]);
      assert.ok(error.message.includes(`: ${plain} (`), error.message);
      assert.ok(error.stack?.includes(plain));
    });

    it("C4 no part of a key is left where a long reason is cut", async () => {
      for (let before = 970; before <= 1000; before++) {
        const msg = `${".".repeat(before)}${apiKey} and more`;
        const { client } = await scripted([answer(400, { msg })]);
        const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.ok(!error.message.includes(apiKey.slice(0, 2)), error.message.slice(-100));
        assert.ok(error.message.length < 1200);
      }
    });

    /** Does work with a proxy in the environment, or with other variables. */
    async function through<T>(variables: Record<string, string>, work: () => Promise<T>) {
      const none = { HTTPS_PROXY: undefined, https_proxy: undefined, ALL_PROXY: undefined };
      const restore = setEnv({ ...none, NO_PROXY: undefined, no_proxy: undefined, ...variables });
      return work().finally(restore);
    }

    /** Does work through a proxy that answers CONNECT. */
    async function atProxy(
      answer: (request: IncomingMessage, socket: Duplex) => void,
      work: () => Promise<void>,
      heard: string[] = [],
    ) {
      const proxy = createServer((_request, response) => {
        heard.push("a request in clear");
        response.writeHead(500).end();
      });
      proxy.on("connect", (request, socket) => {
        heard.push(`${request.method} ${request.url} ${Object.keys(request.headers)}`);
        answer(request, socket);
      });
      proxy.listen(0, "127.0.0.1");
      await once(proxy, "listening");
      const { port } = proxy.address() as AddressInfo;
      await through({ HTTPS_PROXY: `http://127.0.0.1:${port}` }, work).finally(() => {
        proxy.closeAllConnections();
        proxy.close();
      });
    }

    it("C4 a proxy hears the name of the service, and nothing of what is said to it", async () => {
      const { client, requests, url } = await scripted([answer(200, edge), reset]);
      const heard: string[] = [];
      const pass = (request: IncomingMessage, socket: Duplex) => {
        const [, port] = (request.url ?? "").split(":");
        const through = connect(Number(port), "127.0.0.1", () => {
          socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
          through.pipe(socket).pipe(through);
        });
        through.on("error", () => socket.destroy());
        socket.on("error", () => through.destroy());
      };
      const work = async () => {
        await tlsEdges.get(client, "edgtls_1");
        // What goes through a proxy is lost as easily.
        const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
        assert.deepEqual([error.code, error.ambiguous], ["ECONNRESET", true]);
      };
      await atProxy(pass, work, heard);
      assert.equal(requests[0]?.headers.authorization, `Bearer ${apiKey}`);
      assert.equal(heard.length, 2, heard.join());
      for (const one of heard) {
        assert.ok(one.startsWith(`CONNECT ${new URL(url).host} `), one);
        assert.ok(!/authorization/i.test(one), one);
      }
    });

    it("C33 a proxy that refuses the connection has passed nothing on", async () => {
      const gone = await listening(() => {});
      gone.close();
      const { client, requests } = await scripted([answer(201, edge)], { maxRetries: 1 });
      await through({ HTTPS_PROXY: gone.url.replace("https:", "http:") }, async () => {
        const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
        assert.deepEqual([error.code, error.ambiguous, error.attempts], ["ECONNREFUSED", false, 2]);
        assert.match(error.message, /the network and the proxy in HTTPS_PROXY/);
        assert.equal(requests.length, 0);
      });
    });

    const refusals: [number, string, number][] = [
      [503, "ECONNREFUSED", 2],
      [429, "ECONNREFUSED", 2],
      [204, "EPROXY", 1],
      [403, "EPROXY", 1],
      [404, "EPROXY", 1],
      [407, "EPROXY", 1],
      [500, "EPROXY", 1],
    ];
    for (const [status, code, attempts] of refusals) {
      it(`C33 a proxy that answers CONNECT with ${status} has passed nothing on`, async () => {
        const { client, requests } = await scripted([], { maxRetries: 1 });
        const refuse = (_: unknown, socket: Duplex) =>
          void socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
        const works = [
          () => tlsEdges.create(client, {}),
          () => tlsEdges.delete(client, "edgtls_1"),
          () => tlsEdges.get(client, "edgtls_1"),
        ];
        await atProxy(refuse, async () => {
          for (const work of works) {
            const error = await failureOf<ConnectionError>(work(), ConnectionError);
            const found = [error.code, error.ambiguous, error.attempts];
            assert.deepEqual(found, [code, false, attempts], error.message);
            assert.ok(error.message.includes(`the proxy in HTTPS_PROXY refuses`), error.message);
            assert.ok(error.message.includes(`status ${status}`), error.message);
          }
        });
        assert.equal(requests.length, 0);
      });
    }

    it("C1 C4 a malformed proxy is named by its variable, without its password", async () => {
      for (const name of ["HTTPS_PROXY", "ALL_PROXY"]) {
        const { client } = await scripted([]);
        await through({ [name]: "http://me:hunter2@proxy:99999" }, async () => {
          const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
          assert.deepEqual([error.code, error.ambiguous, error.attempts], ["EPROXY", false, 1]);
          assert.ok(
            error.message.includes(`the proxy in ${name} has a malformed URL`),
            error.message,
          );
          assert.ok(!inspect(error, { depth: null, showHidden: true }).includes("hunter2"));
        });
      }
    });

    it("C2 a SOCKS proxy for all programs is left out", async () => {
      await through({ ALL_PROXY: "socks5://127.0.0.1:9" }, async () => {
        const { client, requests } = await scripted([answer(200, edge)]);
        await tlsEdges.get(client, "edgtls_1");
        assert.equal(requests.length, 1);
      });
    });

    it("C34 NODE_DEBUG=tlsedge logs what was retried and why, with no key and no body", async () => {
      const said = "said by the service \u001b[31m";
      const { url, requests } = await scripted([
        answer(429, { msg: said }, retryNow),
        answer(201, edge),
        answer(200, { tls_edges: [], next_page_uri: `?before_id=${apiKey}` }),
        answer(200, { tls_edges: [] }),
      ]);
      const program = `
        const { Client } = require("pulumi-tlsedge/client");
        const { tlsEdges } = require("pulumi-tlsedge/client/tlsEdge");
        const client = new Client({ ...JSON.parse(process.argv[1]), requestsPerMinute: 0 });
        tlsEdges.create(client, { metadata: "secret body" })
          .then(() => Array.fromAsync(tlsEdges.list(client)));`;
      const options = JSON.stringify({ baseUrl: url, apiKey, caFile: server?.caFile });
      // Node.js reads the variable when it starts.
      const env = { ...process.env, NODE_DEBUG: "tlsedge" };
      const args = ["-e", program, options];
      const { stderr: logged } = await promisify(execFile)(process.execPath, args, { env });
      assert.equal(requests.length, 4);
      assert.equal(logged.trim().split("\n").length, 6, logged);
      assert.match(logged, /the service is/);
      assert.match(logged, /429/);
      assert.match(logged, /201/);
      for (const hidden of [apiKey, "secret body", "said by", "Bearer", "\u001b"]) {
        assert.ok(!logged.includes(hidden), logged);
      }
    });
  });
});
