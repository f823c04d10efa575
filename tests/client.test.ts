import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import dns from "node:dns";
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { mock } from "node:test";
import { inspect, promisify } from "node:util";
import { gzipSync } from "node:zlib";
import * as v from "valibot";
import { Client, type ClientOptions } from "../client/client";
import { ConnectionError, RequestError, ServiceError } from "../client/errors";
import { Deadline, Pace } from "../client/pace";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { tunnels } from "../client/tunnel";
import {
  type Answer,
  answer,
  failureOf,
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

const create = (client: Client, body = {}) => tlsEdges.create(client, body);
const get = (client: Client) => tlsEdges.get(client, "edgtls_1");
const update = (client: Client) => tlsEdges.update(client, "edgtls_1", { metadata: "m" });
const remove = (client: Client) => tlsEdges.delete(client, "edgtls_1");
const listAll = (client: Client) => Array.fromAsync(tlsEdges.list(client));

/** Everything of an error that a log could show. */
const shown = (error: Error) =>
  inspect(error, { depth: null, showHidden: true }) + JSON.stringify(error);

/** A TCP server. */
async function listening(onConnection: (socket: Socket) => void) {
  const server = createTcpServer(onConnection).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `https://localhost:${port}`, close: () => server.close() };
}

describe("the client", () => {
  let server: Script | undefined;

  /** A client of a server that gives these answers. */
  async function scripted(answers: Answer[], options: Partial<ClientOptions> = {}) {
    await server?.close();
    server = await script(...answers);
    const { url: baseUrl, caFile, requests } = server;
    const client = new Client({ baseUrl, caFile, apiKey, requestsPerMinute: 0, ...options });
    return { client, requests, url: baseUrl, caFile };
  }

  /** A URL at which nothing listens. */
  async function refusing() {
    const gone = await listening(() => {});
    gone.close();
    return gone.url;
  }

  beforeEach(() => {
    // Full jitter draws no pause, so that no test waits.
    mock.method(Math, "random", () => 0);
  });
  afterEach(async () => {
    mock.reset();
    await server?.close();
    server = undefined;
  });

  describe("a request", () => {
    it("has the bearer key, the version, and JSON", async () => {
      const { client, requests } = await scripted([answer(201, edge), answer(200, edge)]);
      await create(client, { description: "d" });
      await get(client);
      const [posted, read] = requests;
      const { authorization, accept, ...headers } = posted?.headers ?? {};
      assert.deepEqual([authorization, accept], [`Bearer ${apiKey}`, "application/json"]);
      assert.equal(headers["service-version"], "2");
      assert.equal(headers["content-type"], "application/json");
      assert.equal(posted?.body, '{"description":"d"}');
      assert.equal(read?.headers["content-type"], undefined);
    });

    it("C2: has the version and its header as configured", async () => {
      const options = { apiVersion: "1", versionHeader: "Api-Version" };
      const { client, requests } = await scripted([answer(200, edge)], options);
      await get(client);
      assert.equal(requests[0]?.headers["api-version"], "1");
      assert.equal(requests[0]?.headers["service-version"], undefined);
    });

    it("C32: goes to no other path by a text that is no id", async () => {
      const { client, requests } = await scripted([]);
      const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----";
      for (const id of ["", ".", "..", key]) {
        for (const work of [tlsEdges.get, tlsEdges.delete, tunnels.get]) {
          const error = await failureOf(work(client, id) as Promise<unknown>, TypeError);
          assert.ok(!error.message.includes("MIGH"));
        }
      }
      assert.deepEqual(requests, []);
    });

    it("keeps the path of the base URL and escapes an id", async () => {
      const { url, caFile, requests } = await scripted([answer(200, edge)]);
      await tunnels.get(new Client({ baseUrl: `${url}/v2/`, caFile, apiKey }), "tn/1 ?");
      assert.equal(requests[0]?.path, "/v2/tunnels/tn%2F1%20%3F");
    });

    it("C3: goes over HTTPS only", () => {
      const make = () => new Client({ baseUrl: "http://127.0.0.1", apiKey });
      assert.throws(make, (error: Error) => !shown(error).includes(apiKey));
    });

    it("C7: belongs to an account whose tag tells it from others", () => {
      const tagOf = (baseUrl: string, key: string) =>
        new Client({ baseUrl, apiKey: key }).accountTag;
      const tag = tagOf("https://a.example/v2", apiKey);
      assert.match(tag, /^[0-9a-f]{16}$/);
      assert.equal(tagOf("https://a.example/v2", apiKey), tag);
      assert.notEqual(tagOf("https://a.example/v3", apiKey), tag);
      assert.notEqual(tagOf("https://a.example/v2", "another-key"), tag);
    });
  });

  describe("an error of the service", () => {
    it("has every field that the service gave", async () => {
      const details = { operation_id: "op_7" };
      const body = { error_code: "ERR_TLSE_218", status_code: 400, msg: "taken", details };
      const { client } = await scripted([answer(400, body)]);
      const { elapsedMs, ...fields } = await failureOf(create(client), ServiceError);
      assert.ok(Number.isInteger(elapsedMs));
      assert.deepEqual(fields, {
        ...{ method: "POST", path, attempts: 1, ambiguous: false, status: 400 },
        ...{ code: "ERR_TLSE_218", operationId: "op_7", name: "ServiceError" },
      });
    });

    it("keeps its status, whatever its body is", async () => {
      const bodies = ["<html>", "", "[1]", "null", '{"msg":7,"error_code":{},"details":"x"}'];
      const { client } = await scripted(bodies.map((body) => answer(400, body)));
      for (const body of bodies) {
        const error = await failureOf(get(client), ServiceError);
        assert.deepEqual([error.status, error.code ?? error.operationId], [400, undefined], body);
      }
    });

    it("names the setting to look at", async () => {
      const settings = { 401: "apiKey", 403: "apiKey", 429: "requestsPerMinute", 308: "baseUrl" };
      for (const [status, setting] of Object.entries(settings)) {
        const { client } = await scripted([answer(Number(status), {})], { maxRetries: 0 });
        const { message } = await failureOf(get(client), ServiceError);
        assert.ok(message.includes(`the option ${setting}`), message);
        assert.equal(message.includes(client.baseUrl.host), setting === "apiKey");
      }
    });

    it("asks for the base URL after a 404 only where no object was asked for", async () => {
      const { client } = await scripted(Array(5).fill(answer(404, "<html>")));
      for (const [work, isAsked] of [
        ...([create, listAll] as const).map((one) => [one, true] as const),
        ...([get, update, remove] as const).map((one) => [one, false] as const),
      ]) {
        const { message } = await failureOf<Error>(work(client), ServiceError);
        assert.equal(message.includes("base URL in the option baseUrl"), isAsked, message);
      }
    });
  });

  it("C39: knows the service's clock from the last answer that tells it", async () => {
    const at = (date: string) => answer(200, edge, { Date: date });
    const { client } = await scripted([at("Wed, 21 Oct 2065 07:28:00 GMT"), at("soon")]);
    holdClocks([], Date.parse("2065-10-21T07:00:00Z"));
    assert.equal(client.clockSkewMs, 0);
    for (let n = 0; n < 2; n++) {
      await get(client).catch(() => {});
      assert.equal(client.clockSkewMs, 28 * 60_000);
    }
  });

  it("C30: reads after an update that is answered without the object", async () => {
    const none = answer(204);
    const { client, requests } = await scripted([none, answer(200, edge), none, answer(400)]);
    assert.deepEqual(await update(client), edge);
    // The update may be done.
    const error = await failureOf(update(client), ServiceError);
    assert.deepEqual([error.method, error.ambiguous], ["GET", true]);
    const methods = requests.map(({ method }) => method);
    assert.deepEqual(methods, ["PATCH", "GET", "PATCH", "GET"]);
  });

  it("C32: takes any JSON, or nothing, for the answer to a delete, but no page of HTML", async () => {
    const { client } = await scripted([answer(204), answer(202, { id: 7 }), answer(200, "<html>")]);
    await remove(client);
    await remove(client);
    const error = await failureOf(remove(client), ConnectionError);
    assert.deepEqual([error.code, error.ambiguous], ["EBADANSWER", true]);
  });

  describe("a success that can't be used", () => {
    it("is an error, and a write may be done", async () => {
      for (const body of ["<html>", "", "[]", '"ok"', '{"id":"edgtls_1","ur']) {
        const { client, requests } = await scripted([answer(201, body), answer(200, body)]);
        const post = await failureOf(create(client), ConnectionError);
        assert.deepEqual(
          [post.code, post.ambiguous, post.objectId],
          ["EBADANSWER", true, undefined],
        );
        assert.equal((await failureOf(get(client), ConnectionError)).ambiguous, false);
        assert.equal(requests.length, 2);
      }
    });

    const fields: [string, object][] = [
      ["id", { id: 7 }],
      ["id", { id: "" }],
      ["id", { id: "x".repeat(1001) }],
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
      it(`C62: names its field ${field}, in a list, too: ${inspect(other).slice(0, 60)}`, async () => {
        const wrong = { ...edge, ...other };
        const list = answer(200, { tls_edges: [edge, wrong] });
        const { client } = await scripted([answer(201, wrong), list]);
        const error = await failureOf(create(client), ConnectionError);
        assert.deepEqual([error.code, error.field], ["EBADANSWER", field]);
        assert.ok(error.message.includes(field), error.message);
        // C35: the id is enough.
        assert.ok(!("id" in error), "Pulumi would store the error's properties as the state");
        assert.equal(error.objectId, field === "id" ? undefined : edge.id);
        const ofList = await failureOf(listAll(client), ConnectionError);
        assert.deepEqual([ofList.field, ofList.objectId], [`tls_edges[1].${field}`, undefined]);
      });
    }

    it("C91: is read to 32 MiB, and not asked for again", async () => {
      const zipped = (mebibytes: number): Answer => {
        const spaces = Buffer.alloc(mebibytes * 1024 * 1024, " ");
        const body = gzipSync(Buffer.concat([spaces, Buffer.from("{}")]));
        return (response) => void response.setHeader("Content-Encoding", "gzip").end(body);
      };
      const big = zipped(40);
      const { client, requests } = await scripted([zipped(30), big, big]);
      assert.deepEqual(await client.get("/", anything), {});
      for (const work of [get, create]) {
        const error = await failureOf<RequestError>(work(client), ConnectionError);
        assert.match(error.message, /more than 32 MiB/);
        assert.deepEqual([error.attempts, error.ambiguous], [1, work === create]);
      }
      assert.equal(requests.length, 3);
    });
  });

  it("C62: tolerates unknown fields and values, and null for unset", async () => {
    const unset = { description: null, metadata: null, hostports: null, backend: null };
    const refs = {
      ip_restriction: { ip_policies: { id: "ipp_1", uri: "x", more: 1 }, more: 2 },
      mutual_tls: { certificate_authorities: [{ id: "ca_1", uri: "x" }] },
      tls_termination: { terminate_at: "somewhere", min_version: null },
    };
    const { client } = await scripted([answer(200, { ...edge, ...unset, ...refs, more: {} })]);
    assert.equal((await get(client)).tls_termination?.terminate_at, "somewhere");
  });

  describe("a deadline", () => {
    it("C34: is one for all requests of an operation", async () => {
      const { client, requests } = await scripted([silence], { timeoutSeconds: 1 });
      const operation = client.operation();
      await failureOf(get(operation), ConnectionError);
      const error = await failureOf(update(operation), ConnectionError);
      const { code, attempts, ambiguous } = error;
      assert.deepEqual([code, attempts, ambiguous], ["ETIMEDOUT", 0, false]);
      assert.equal(requests.length, 1);
      // Another operation has its own.
      assert.equal(client.operation().leftMs, 1000);
    });

    it("C34: says how much time is left", async () => {
      const { client } = await scripted([answer(200, edge)], { timeoutSeconds: 30 });
      holdClocks();
      const operation = client.operation();
      await get(operation);
      mock.timers.tick(12_000);
      assert.equal(operation.leftMs, 18_000);
      assert.deepEqual([client.leftMs, operation.account.leftMs], [30_000, 30_000]);
    });

    it("C34: begins with the first request, and stands still while a request queues", async () => {
      holdClocks([], 0);
      const deadline = new Deadline(1000);
      const queueUntil = async (time: number) => {
        const queued = deadline.waitFor(new Promise((resolve) => setImmediate(resolve)));
        mock.timers.setTime(time);
        await queued;
        return deadline.leftMs;
      };
      mock.timers.setTime(5000);
      assert.equal(await queueUntil(15_000), 1000);
      mock.timers.setTime(15_400);
      assert.equal(await queueUntil(25_000), 600);
      mock.timers.setTime(25_700);
      assert.equal(deadline.leftMs, -100);
    });

    it("C34: goes by no date, which may be set at any time", async () => {
      mock.timers.enable({ apis: ["Date"], now: 0 });
      const deadline = new Deadline(60_000);
      await deadline.waitFor(Promise.resolve());
      mock.timers.setTime(86_400_000);
      assert.ok(deadline.leftMs > 0);
    });

    it("C34: ends in an error that tells how often and how long it was tried", async () => {
      const answers = [answer(502), answer(502), silence];
      const { client } = await scripted(answers, { timeoutSeconds: 1 });
      const error = await failureOf(update(client), ConnectionError);
      assert.deepEqual([error.code, error.attempts, error.ambiguous], ["ETIMEDOUT", 3, true]);
      assert.ok(error.elapsedMs >= 900, String(error.elapsedMs));
      assert.match(error.message, /after 3 tries in \d+ s/);
    });

    it("C34: is not waited for when Retry-After asks for more", async () => {
      const { client, requests } = await scripted([answer(429, {}, { "Retry-After": "3600" })]);
      assert.equal((await failureOf(get(client), ServiceError)).status, 429);
      assert.equal(requests.length, 1);
    });
  });

  describe("a person who waits", () => {
    const longPause = answer(429, {}, { "Retry-After": "60" });
    const cases: [string, Answer[], RegExp | undefined][] = [
      ["of no second try", [answer(502)], undefined],
      ["once of the third try and later ones", Array(4).fill(answer(502)), /502/],
      ["of a long pause", [longPause], /GET \/edges\/tls\/edgtls_1.*429.*, for 120 s/],
    ];
    for (const [what, failures, message] of cases) {
      it(`C34: is told ${what}`, async () => {
        skipPauses();
        const tell = mock.fn<(text: string) => void>();
        const { client } = await scripted([...failures, answer(200, edge)], { tell });
        await get(client);
        assert.equal(tell.mock.callCount(), message ? 1 : 0);
        if (message) assert.match(String(tell.mock.calls[0]?.arguments), message);
      });
    }

    it("C2: is told once that requests wait for the limit", async () => {
      const tell = mock.fn<(text: string) => void>();
      const answers = Array(4).fill(answer(200, {}));
      const { client } = await scripted(answers, { requestsPerMinute: 2, tell });
      holdClocks(["setTimeout"]);
      const read = () => client.get("/", anything);
      await Promise.all([read(), read()]);
      assert.equal(tell.mock.callCount(), 0);
      const waiting = [read(), read()];
      assert.equal(tell.mock.callCount(), 1);
      const [text] = tell.mock.calls[0]?.arguments ?? [];
      assert.match(String(text), /limit of 2 requests a minute.*requestsPerMinute/);
      await ticking(Promise.all(waiting), 1000);
    });
  });

  describe("a retry", () => {
    let endTries: () => void;
    let sent: ClientRequest | undefined;
    const keep = (message: unknown) => {
      sent = (message as { request: ClientRequest }).request;
    };
    beforeEach(() => {
      endTries = holdTimeouts();
      subscribe("http.client.request.start", keep);
    });
    afterEach(() => unsubscribe("http.client.request.start", keep));

    /** The connection breaks with this code after the request was sent. */
    const breaks = (code: string): Answer => {
      return () => void sent?.destroy(Object.assign(new Error(`read ${code}`), { code }));
    };
    /** Half of an answer. */
    const cut: Answer = (response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write('{"id":"edgtls_1",', () => response.socket?.destroy());
    };
    const garbage: Answer = (response) => void response.socket?.end("nonsense\r\n\r\n");
    const withStatus = (...statuses: number[]) =>
      statuses.map((status): [string, Answer] => [String(status), answer(status, "<html>")]);
    const codes = ["EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED", "EAI_AGAIN"];

    const reads = ["GET", "PATCH", "DELETE"];
    const writes = ["POST", "PATCH", "DELETE"];
    /** After each failure: which methods are tried again, and which else may be done. */
    const matrix: { failures: [string, Answer][]; again: string[]; mayBeDone: string[] }[] = [
      { failures: withStatus(429), again: ["POST", ...reads], mayBeDone: [] },
      {
        failures: [
          ...withStatus(408, 502, 503, 504, 520, 521, 522, 523, 524),
          ["503 with Retry-After", answer(503, "", { "Retry-After": "0" })],
          ["a reset", reset],
          ["half of the answer", cut],
          ["no answer in time", () => endTries()],
          ...codes.map((code): [string, Answer] => [`${code} after it was sent`, breaks(code)]),
        ],
        again: reads,
        mayBeDone: ["POST"],
      },
      {
        failures: [
          ...withStatus(500, 501, 302),
          ["500 with Retry-After", answer(500, "", { "Retry-After": "0" })],
          ["what is no HTTP", garbage],
        ],
        again: [],
        mayBeDone: writes,
      },
      { failures: withStatus(400, 401, 403, 404, 405, 409, 413, 422), again: [], mayBeDone: [] },
    ];
    const works = { POST: create, GET: get, PATCH: update, DELETE: remove };
    for (const { failures, again, mayBeDone } of matrix) {
      for (const [name, failure] of failures) {
        const whom = again.join(", ") || "no method";
        it(`C33 C34: follows ${name} for ${whom}; done may be: ${mayBeDone}`, async () => {
          for (const [method, work] of Object.entries(works)) {
            const { client, requests } = await scripted([failure, answer(200, edge)]);
            const error = await work(client).then(
              () => undefined,
              ({ ambiguous, attempts }: RequestError) => ({ ambiguous, attempts }),
            );
            const bodies = requests.map(({ body }) => body);
            const expected = again.includes(method)
              ? [undefined, [bodies[0], bodies[0]]]
              : [{ ambiguous: mayBeDone.includes(method), attempts: 1 }, [bodies[0]]];
            assert.deepEqual([error, bodies], expected, method);
          }
        });
      }
    }

    it("C34: leaves in doubt a write of which any try was lost, not only the last", async () => {
      const { client } = await scripted([answer(502), answer(409, {})]);
      const error = await failureOf(update(client), ServiceError);
      assert.deepEqual([error.status, error.ambiguous], [409, true]);
    });

    it("C33: follows a POST whose connection breaks before the TLS handshake", async () => {
      const { requests, url, caFile } = await scripted([answer(201, edge)]);
      let connections = 0;
      const front = await listening((socket) => {
        connections += 1;
        if (connections === 1) return socket.destroy();
        return socket.pipe(connect(Number(new URL(url).port), "127.0.0.1")).pipe(socket);
      });
      await create(new Client({ baseUrl: front.url, caFile, apiKey })).finally(front.close);
      assert.deepEqual([connections, requests.length], [2, 1]);
    });

    it("C33: leaves no doubt of a POST that waited for a TLS handshake until its deadline", async () => {
      mock.restoreAll();
      const sockets: Socket[] = [];
      const front = await listening((socket) => void sockets.push(socket));
      const client = new Client({ baseUrl: front.url, apiKey, timeoutSeconds: 1 });
      const error = await failureOf(create(client), ConnectionError).finally(() => {
        for (const socket of sockets) socket.destroy();
        front.close();
      });
      assert.deepEqual([error.code, error.ambiguous], ["ETIMEDOUT", false]);
    });

    it("C34: follows a failure of a name server, not an unknown host name", async () => {
      const real = dns.lookup;
      const failNextLookup = (code: string) => {
        const lookup = mock.method(dns, "lookup", (...args: unknown[]) => {
          lookup.mock.restore();
          const callback = args[2] as (error: Error) => void;
          real("localhost", {}, () => callback(Object.assign(new Error(code), { code })));
        });
      };
      const { client, requests } = await scripted([answer(201, edge)]);
      failNextLookup("ENOTFOUND");
      const error = await failureOf(get(client), ConnectionError);
      assert.deepEqual([error.code, error.attempts, requests.length], ["ENOTFOUND", 1, 0]);
      assert.match(error.message, /base URL in the option baseUrl/);
      failNextLookup("EAI_AGAIN");
      await create(client);
    });
  });

  describe("the pause before a retry", () => {
    beforeEach(skipPauses);
    const pausesAfter = async (headers: object, maxRetries: number) => {
      const { client } = await scripted(Array(9).fill(answer(429, {}, headers)), { maxRetries });
      return (await failureOf(get(client), ServiceError)).elapsedMs;
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

    it("C34: is as long as Retry-After says, by the service's clock", async () => {
      assert.equal(await pausesAfter({ "Retry-After": "5" }, 1), 5000);
      for (const year of [2015, 2065]) {
        const at = (second: number) => `Wed, 21 Oct ${year} 07:28:0${second} GMT`;
        assert.equal(await pausesAfter({ Date: at(0), "Retry-After": at(5) }, 1), 5000);
      }
    });

    it("C34: comes for 10 s at most while a connection is refused, until something is written", async () => {
      mock.method(Math, "random", () => 1);
      const client = new Client({ baseUrl: await refusing(), apiKey });
      const early = await failureOf(get(client), ConnectionError);
      assert.equal(early.code, "ECONNREFUSED");
      assert.ok(early.attempts > 2 && early.elapsedMs <= 10_000, String(early.elapsedMs));
      for (const work of [create, get]) {
        const late = await failureOf<RequestError>(work(client), ConnectionError);
        assert.deepEqual([late.attempts, late.ambiguous], [9, false]);
      }
    });
  });

  it("C33: says that a POST is sent when it is, not when it queues, and not of each try", async () => {
    const { client, requests } = await scripted([answer(200, {}), answer(429), answer(201, edge)], {
      requestsPerMinute: 1,
      timeoutSeconds: 86_400,
    });
    holdClocks(["setTimeout"]);
    await client.get("/", anything);
    const sent: number[] = [];
    const created = client.post(path, {}, anything, () => void sent.push(requests.length));
    await new Promise(setImmediate);
    assert.deepEqual(sent, []);
    await ticking(created, 1000);
    assert.equal(requests.length, 3);
    assert.deepEqual(sent, [1]);
  });

  describe("a cancelled client", () => {
    const reason = new Error("cancelled");
    let controller: AbortController;
    beforeEach(() => {
      controller = new AbortController();
    });
    const cancellable = (answers: Answer[], options: Partial<ClientOptions> = {}) =>
      scripted(answers, { ...options, signal: controller.signal });
    /** Cancels when the request has come, then answers. */
    const cancelling = (late: Answer): Answer => {
      return (response, request) => {
        controller.abort(reason);
        setImmediate(() => void late(response, request));
      };
    };

    it("ends a read in flight, and sends no more", async () => {
      holdTimeouts();
      const { client, requests } = await cancellable([cancelling(silence)]);
      for (const work of [get, update]) {
        assert.equal(await failureOf<Error>(work(client), Error), reason);
      }
      assert.equal(requests.length, 1);
    });

    it("ends the pause before a retry", async () => {
      const { client, requests } = await cancellable([
        cancelling(answer(503, {}, { "Retry-After": "60" })),
      ]);
      assert.equal(await failureOf(update(client), Error), reason);
      assert.equal(requests.length, 1);
    });

    it("ends the wait for the limit", async () => {
      const { client } = await cancellable([answer(200, edge)], { requestsPerMinute: 1 });
      await get(client);
      const failed = failureOf(get(client), Error);
      controller.abort(reason);
      assert.equal(await failed, reason);
    });

    it("C33: waits for the answer to a write in flight", async () => {
      const { client } = await cancellable([cancelling(answer(201, edge))]);
      assert.deepEqual(await create(client), edge);
    });
  });

  it("C2: starts so many requests in any minute, in the order of the calls", async () => {
    holdClocks(["setTimeout"], 0);
    const waits: number[] = [];
    const pace = new Pace(3, (ms) => void waits.push(ms));
    const started: string[] = [];
    const turn = (name: string) => void pace.turn().then(() => started.push(name));
    const tick = (ms: number) => {
      mock.timers.tick(ms);
      return new Promise(setImmediate);
    };
    turn("a");
    await tick(20_000);
    for (const name of ["b", "c", "d", "e", "f"]) turn(name);
    await tick(40_000);
    assert.equal(started.join(""), "abc");
    // A second more, because a request may be on its way for longer than another.
    await tick(1000);
    assert.equal(started.join(""), "abcd");
    await tick(20_000);
    assert.equal(started.join(""), "abcdef");
    assert.deepEqual(waits, [41_000, 61_000, 61_000]);
    await tick(100_000);
    turn("g");
    assert.equal(waits.length, 3);
  });

  describe("a list", () => {
    const pageOf = (next_page_uri?: unknown, ...items: object[]) =>
      answer(200, { tls_edges: items, next_page_uri });

    it("C4 C7: is followed by its query alone, at the base URL: the key goes nowhere else", async () => {
      for (const next of [
        "https://evil.example/edges/tls?before_id=edgtls_1",
        "http://localhost/v9/other?before_id=edgtls_1",
        "//evil/?before_id=edgtls_1",
        "?before_id=edgtls_1",
      ]) {
        const { client, requests } = await scripted([pageOf(next, edge), pageOf(null, edge)]);
        assert.deepEqual(await listAll(client), [edge, edge]);
        assert.equal(requests[1]?.path, "/edges/tls?before_id=edgtls_1", next);
      }
    });

    it("C91: is refused when it names a next page without a query", async () => {
      for (const next of [7, "https://", "https://any.example/edges/tls", "/edges/tls?"]) {
        const { client, requests } = await scripted([pageOf(next, edge)]);
        const error = await failureOf(listAll(client), ConnectionError);
        assert.deepEqual([error.code, error.ambiguous], ["EBADANSWER", false]);
        assert.equal(requests.length, 1);
      }
    });

    it("C91: is refused when a page names itself as the next", async () => {
      const { client, requests } = await scripted(Array(3).fill(pageOf("?before_id=x", edge)));
      const error = await failureOf(listAll(client), ConnectionError);
      assert.deepEqual([error.code, requests.length], ["EBADANSWER", 2]);
    });

    it("C91: is left after 1000 pages", async () => {
      const pages = Array.from({ length: 1001 }, (_, n) => pageOf(`?before_id=${n}`));
      const { client, requests } = await scripted(pages);
      const error = await failureOf(listAll(client), ConnectionError);
      assert.deepEqual([error.code, error.path, requests.length], ["EBADANSWER", path, 1000]);
    });

    it("is refused without its collection, and ends without a next page", async () => {
      const { client } = await scripted([answer(200, { edges: [] }), pageOf(), pageOf("", edge)]);
      const { code, message } = await failureOf(listAll(client), ConnectionError);
      assert.equal(code, "EBADANSWER");
      assert.match(message, /base URL in the option baseUrl/);
      assert.deepEqual(await listAll(client), []);
      assert.deepEqual(await listAll(client), [edge]);
    });
  });

  describe("a connection", () => {
    it("C4: follows no redirect, not even on the same origin", async () => {
      for (const status of [301, 302, 307, 308]) {
        const { client, requests } = await scripted([answer(status, "", { Location: path })]);
        assert.equal((await failureOf(get(client), ServiceError)).status, status);
        assert.equal(requests.length, 1);
      }
    });

    it("C3: is refused by an unknown authority, NODE_TLS_REJECT_UNAUTHORIZED=0 or not", async () => {
      const restore = setEnv({ NODE_TLS_REJECT_UNAUTHORIZED: "0" });
      mock.method(process, "emitWarning", () => {});
      const { url, requests } = await scripted([answer(201, edge)]);
      const client = new Client({ baseUrl: url, apiKey });
      const error = await failureOf(create(client), ConnectionError).finally(restore);
      assert.match(error.code, /VERIFY|SELF_SIGNED|ISSUER/);
      assert.match(error.message, /PEM file in the option caFile/);
      assert.deepEqual([error.attempts, error.ambiguous, requests.length], [1, false, 0]);
      assert.ok(!shown(error).includes(apiKey));
    });

    it("C33: is closed by the client when it was idle for a second, so no POST goes on it", async () => {
      const sockets: Socket[] = [];
      const kept: Answer = (response, request) => {
        sockets.push(request.socket);
        // A service that would keep it: by the header alone, the client would close it much later.
        answer(201, edge, { "Keep-Alive": "timeout=60" })(response, request);
      };
      const { client } = await scripted([kept, kept, kept]);
      await create(client);
      await create(client);
      const [first, second] = sockets as [Socket, Socket];
      assert.equal(second, first);
      // Only a connection that the client closes ends before it is closed.
      const ended = mock.fn();
      first.once("end", ended);
      await once(first, "close");
      assert.equal(ended.mock.callCount(), 1);
      await create(client);
      assert.notEqual(sockets[2], first);
    });
  });

  describe("what is shown", () => {
    it("C4: has the API key and the body in no error", async () => {
      const { client } = await scripted(
        [answer(401, { msg: "no" }), reset, answer(201, "nonsense"), silence],
        { timeoutSeconds: 1 },
      );
      for (let n = 0; n < 4; n++) {
        const error = await failureOf(create(client, { metadata: "secret body" }), RequestError);
        for (const hidden of [apiKey, "secret body"]) assert.ok(!shown(error).includes(hidden));
        assert.equal(error.cause, undefined);
      }
    });

    it("C4: has no API key that the service quotes, in an error and in an answer", async () => {
      const tunnel = { id: "tn_1", labels: { [`${apiKey}\u001b`]: 5 } };
      const { client, requests } = await scripted([
        answer(400, { error_code: `E ${apiKey}`, details: { operation_id: `op ${apiKey}` } }),
        answer(200, { ...edge, description: `see ${apiKey}` }),
        answer(200, { tls_edges: [], next_page_uri: `?before_id=${apiKey}` }),
        answer(400, {}),
        answer(200, { tunnels: [tunnel] }),
      ]);
      const refused = await failureOf(create(client), ServiceError);
      assert.deepEqual([refused.code, refused.operationId], ["E [secret]", "op [secret]"]);
      assert.equal((await get(client)).description, "see [secret]");
      const listed = await failureOf(listAll(client), ServiceError);
      assert.match(requests[3]?.path ?? "", /before_id=\[secret\]$/);
      const labelled = await failureOf(tunnels.list(client).next(), ConnectionError);
      assert.equal(labelled.field, "tunnels[0].labels.[secret]\\u001b");
      for (const error of [refused, listed, labelled]) {
        assert.ok(!shown(error).includes(apiKey) && !error.message.includes("\u001b"));
      }
    });

    it("has 1000 characters at most of a text", async () => {
      const { client } = await scripted([answer(400, { msg: "x".repeat(5000) })]);
      assert.ok((await failureOf(get(client), ServiceError)).message.length < 1200);
    });

    it("C50: has no private key that the service quotes, in an error and in an answer", async () => {
      const line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZmFrZQ";
      const pem = `-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----`;
      const metadata = `sha:${"0a".repeat(32)}`;
      const body = { certificate_pem: "chain", private_key_pem: pem, metadata };
      const certificate = { ...edge, certificate_pem: "chain", metadata };
      const { client } = await scripted([
        answer(400, { msg: line, error_code: pem, details: { operation_id: `op_1 ${line}` } }),
        answer(201, { ...certificate, description: line, key_usages: [pem] }),
        answer(200, { ...certificate, certificate_pem: `chain ${pem}` }),
      ]);
      const refused = await failureOf(tlsCertificates.create(client, body), ServiceError);
      assert.deepEqual([refused.code, refused.operationId], ["[secret]", "op_1 [secret]"]);
      assert.ok(!shown(refused).includes(line), shown(refused));
      const hidden = { description: "[secret]", key_usages: ["[secret]"] };
      const created = await tlsCertificates.create(client, body);
      assert.deepEqual(created, { ...certificate, ...hidden });
      // A later answer has no request with the key: a key in PEM is cut all the same.
      const { certificate_pem } = await tlsCertificates.get(client, "cert_1");
      assert.equal(certificate_pem, "chain [secret]");
    });

    it("C50: has no secret argument of the operation", async () => {
      const msg = "the hostport s3cret.example.com:443 is taken by edgtls_2";
      const refusal = answer(400, { msg, error_code: "s3cret" });
      const { client } = await scripted([refusal, refusal]);
      const operation = client.operation(undefined, ["s3cret.example.com:443"]);
      for (const one of [operation, operation.operation()]) {
        const error = await failureOf(create(one), ServiceError);
        assert.match(
          error.message,
          /: the hostport \[secret\] is taken by edgtls_2 \(\[secret\]\)/,
        );
        assert.ok(!shown(error).includes("s3cret"));
      }
    });

    it("C90: has the texts of the service escaped, in each field of an error", async () => {
      const msg = "a\u001b[31m\n::add-mask::b <{%reset%}>";
      const plain = "a\\u001b[31m\\n::add-mask::b <\\u007b%reset%}>";
      const body = { msg, error_code: msg, details: { operation_id: msg } };
      const { client } = await scripted([answer(400, body)]);
      const error = await failureOf(get(client), ServiceError);
      assert.deepEqual([error.code, error.operationId], [plain, plain]);
      assert.ok(error.stack?.includes(`: ${plain} (`), error.stack);
    });

    it("C34: is in NODE_DEBUG=tlsedge what was retried and why, with no key and no body", async () => {
      const { url, requests, caFile } = await scripted([
        answer(429, { msg: "a reason \u001b[31m" }, { "Retry-After": "0" }),
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
      // Node.js reads the variable when it starts.
      const env = { ...process.env, NODE_DEBUG: "tlsedge" };
      const args = ["-e", program, JSON.stringify({ baseUrl: url, apiKey, caFile })];
      const { stderr: logged } = await promisify(execFile)(process.execPath, args, { env });
      assert.equal(requests.length, 4);
      assert.equal(logged.trim().split("\n").length, 6, logged);
      for (const part of ["the service is", "429", "201"]) assert.ok(logged.includes(part), logged);
      for (const hidden of [apiKey, "secret body", "a reason", "Bearer", "\u001b"]) {
        assert.ok(!logged.includes(hidden), logged);
      }
    });
  });

  describe("a proxy", () => {
    /** Does work with these variables in the environment, and no other proxy. */
    async function withProxy(variables: Record<string, string>, work: () => Promise<void>) {
      const none = { HTTPS_PROXY: undefined, https_proxy: undefined, ALL_PROXY: undefined };
      const restore = setEnv({ ...none, NO_PROXY: undefined, no_proxy: undefined, ...variables });
      await work().finally(restore);
    }

    /** Does work through a proxy; gives back what the proxy was sent. */
    async function throughProxy(
      onConnect: (request: IncomingMessage, socket: Duplex) => void,
      work: () => Promise<void>,
    ) {
      const received: string[] = [];
      const proxy = createServer((_request, response) => {
        received.push("a request in clear");
        response.writeHead(500).end();
      });
      proxy.on("connect", (request, socket) => {
        received.push(`${request.method} ${request.url} ${Object.keys(request.headers)}`);
        onConnect(request, socket);
      });
      await once(proxy.listen(0, "127.0.0.1"), "listening");
      const { port } = proxy.address() as AddressInfo;
      await withProxy({ HTTPS_PROXY: `http://127.0.0.1:${port}` }, work).finally(() => {
        proxy.closeAllConnections();
        proxy.close();
      });
      return received;
    }

    it("C4: gets the name of the service, and nothing of what is sent to it", async () => {
      const { client, requests, url } = await scripted([answer(200, edge), reset]);
      const pass = (request: IncomingMessage, socket: Duplex) => {
        const through = connect(Number(request.url?.split(":")[1]), "127.0.0.1", () => {
          socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
          through.pipe(socket).pipe(through);
        });
        through.on("error", () => socket.destroy());
        socket.on("error", () => through.destroy());
      };
      const received = await throughProxy(pass, async () => {
        await get(client);
        // What goes through a proxy is lost as easily.
        const error = await failureOf(create(client), ConnectionError);
        assert.deepEqual([error.code, error.ambiguous], ["ECONNRESET", true]);
      });
      assert.equal(requests[0]?.headers.authorization, `Bearer ${apiKey}`);
      assert.equal(received.length, 2);
      for (const one of received) {
        assert.ok(one.startsWith(`CONNECT ${new URL(url).host} `) && !/authorization/i.test(one));
      }
    });

    for (const status of [204, 403, 407, 503]) {
      it(`C33: that answers CONNECT with ${status} has passed nothing on`, async () => {
        const { client, requests } = await scripted([]);
        const refuse = (_: unknown, socket: Duplex) =>
          void socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
        await throughProxy(refuse, async () => {
          for (const work of [create, remove, get]) {
            const error = await failureOf<ConnectionError>(work(client), ConnectionError);
            const { code, ambiguous, attempts } = error;
            const [reason, tries] = status === 503 ? ["ECONNRESET", 9] : ["EPROXY", 1];
            assert.deepEqual([code, ambiguous, attempts], [reason, false, tries]);
            assert.ok(error.message.includes(`the proxy in HTTPS_PROXY refuses`), error.message);
            assert.ok(error.message.includes(`status ${status}`), error.message);
          }
        });
        assert.equal(requests.length, 0);
      });
    }

    it("C33: that is not there has passed nothing on, and is named", async () => {
      const { client } = await scripted([answer(201, edge)], { maxRetries: 1 });
      const gone = (await refusing()).replace("https:", "http:");
      await withProxy({ HTTPS_PROXY: gone }, async () => {
        const error = await failureOf(create(client), ConnectionError);
        assert.deepEqual([error.code, error.ambiguous, error.attempts], ["ECONNREFUSED", false, 2]);
        assert.match(error.message, /the network and the proxy in HTTPS_PROXY/);
      });
    });

    it("C1 C4: whose URL is malformed is named by its variable, without its password", async () => {
      for (const name of ["HTTPS_PROXY", "ALL_PROXY"]) {
        const { client } = await scripted([]);
        await withProxy({ [name]: "http://me:hunter2@proxy:99999" }, async () => {
          const error = await failureOf(create(client), ConnectionError);
          assert.deepEqual([error.code, error.ambiguous, error.attempts], ["EPROXY", false, 1]);
          assert.ok(error.message.includes(`the proxy in ${name} has a malformed URL`));
          assert.ok(!shown(error).includes("hunter2"));
        });
      }
    });

    it("C2: is left out when it is a SOCKS proxy for all programs", async () => {
      await withProxy({ ALL_PROXY: "socks5://127.0.0.1:9" }, async () => {
        const { client, requests } = await scripted([answer(200, edge)]);
        await get(client);
        assert.equal(requests.length, 1);
      });
    });
  });
});
