import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { mock } from "node:test";
import { inspect } from "node:util";
import createDebug from "debug";
import * as v from "valibot";
import { Client, type ClientOptions, ConnectionError, ServiceError } from "../client/client";
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
  reset,
  type Script,
  script,
  setEnv,
  silence,
} from "./support";

const apiKey = "key-that-nobody-may-see";
const path = "/edges/tls";
const edge = { id: "edgtls_1", uri: "https://x/edgtls_1", created_at: "2026-01-01T00:00:00Z" };
const anything = v.object({});
const retryNow = { "Retry-After": "0" };

let server: Script | undefined;

/** A scripted server and a client of it. */
async function scripted(answers: Answer[], options: Partial<ClientOptions> = {}) {
  server = await script(...answers);
  const { url: baseUrl, caFile, requests } = server;
  const client = new Client({ baseUrl, caFile, apiKey, requestsPerMinute: 0, ...options });
  return { client, requests, url: baseUrl };
}

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
    mock.restoreAll();
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

    it("keeps the path of the base URL and escapes an id", async () => {
      server = await script(answer(200, edge));
      const { url, caFile, requests } = server;
      const client = new Client({ baseUrl: `${url}/v2/`, caFile, apiKey });
      await tunnels.get(client, "tn/1 ?");
      assert.equal(requests[0]?.path, "/v2/tunnels/tn%2F1%20%3F");
    });

    it("reaches every endpoint of the service", async () => {
      const client = emulated();
      const { id } = await tlsEdges.create(client, { backend: { backend_id: "bkdtg_1" } });
      assert.equal((await tlsEdges.update(client, id, { metadata: "m" })).metadata, "m");
      await tlsEdges.deleteModule(client, id, "backend");
      assert.equal((await tlsEdges.get(client, id)).backend, null);
      assert.equal(await tlsEdges.delete(client, id), undefined);
      const missing = await failureOf(tlsCertificates.get(client, "cert_1"), ServiceError);
      assert.equal(missing.status, 404);
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

    for (const status of [400, 401, 403, 404, 409, 500]) {
      it(`C34 with status ${status} fails at once`, async () => {
        const { client, requests } = await scripted([answer(status, {})]);
        const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
        assert.equal(error.attempts, 1);
        assert.equal(requests.length, 1);
      });
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

    it("keeps what can be used of it", async () => {
      const { client } = await scripted([answer(201, { ...edge, description: 7, more: 8 })]);
      const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
      assert.deepEqual(error.usable, edge);
      assert.equal(error.ambiguous, true);
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

    it("C34 has time from its first request on, and none passes while one queues", async () => {
      mock.timers.enable({ apis: ["Date"], now: 0 });
      try {
        const deadline = new Deadline(1000);
        mock.timers.setTime(5000);
        assert.equal(deadline.leftMs, 1000);
        const queued = deadline.standFor(new Promise((resolve) => setImmediate(resolve)));
        mock.timers.setTime(15_000);
        await queued;
        assert.equal(deadline.leftMs, 1000);
        mock.timers.setTime(15_400);
        const again = deadline.standFor(new Promise((resolve) => setImmediate(resolve)));
        mock.timers.setTime(25_000);
        await again;
        assert.equal(deadline.leftMs, 600);
        mock.timers.setTime(25_700);
        assert.equal(deadline.leftMs, -100);
      } finally {
        mock.timers.reset();
      }
    });

    it("C34 that fails in the end tells how often it was tried, how long, and the last answer", async () => {
      const gateway = answer(502, "<html>");
      const { client } = await scripted([gateway, gateway, silence], { timeoutSeconds: 1 });
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
      assert.equal(error.code, "ETIMEDOUT");
      assert.equal(error.attempts, 3);
      assert.equal(error.lastStatus, 502);
      assert.ok(error.elapsedMs >= 900, String(error.elapsedMs));
      assert.match(error.message, /after 3 tries in \d+ s.*502/);
    });
  });

  describe("a person who waits", () => {
    it("C34 is told what is tried again, once", async () => {
      const gone = await script();
      await gone.close();
      const told: string[] = [];
      const tell = (message: string) => void told.push(message);
      const client = new Client({ baseUrl: gone.url, apiKey, maxRetries: 4, tell });
      await failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError);
      assert.equal(told.length, 1);
      for (const part of ["GET /edges/tls/edgtls_1", "ECONNREFUSED"]) {
        assert.ok(told[0]?.includes(part), told[0]);
      }
    });

    it("C34 is told nothing of what goes well at the second try", async () => {
      const told: string[] = [];
      const { client } = await scripted([answer(502), answer(200, edge)], {
        tell: (message) => void told.push(message),
      });
      await tlsEdges.get(client, "edgtls_1");
      assert.deepEqual(told, []);
    });

    it("C2 is told that it is the limit", async () => {
      const told: string[] = [];
      const client = emulated({
        requestsPerMinute: 1,
        tell: (message) => void told.push(message),
      });
      mock.timers.enable({ apis: ["setTimeout"] });
      try {
        await client.get("/", anything);
        assert.deepEqual(told, []);
        for (let n = 0; n < 3; n++) void client.get("/", anything);
        assert.equal(told.length, 1);
        assert.match(told[0] ?? "", /limit of 1 requests a minute.*requestsPerMinute/);
        // They wait for a timer that never fires, and not for one that does.
        await new Promise(setImmediate);
      } finally {
        mock.timers.reset();
      }
    });

    it("C2 is told nothing of requests that start together, within the limit", async () => {
      const told: string[] = [];
      const tell = (message: string) => void told.push(message);
      const client = emulated({ requestsPerMinute: 4, tell });
      await Promise.all([1, 2, 3, 4].map(() => client.get("/", anything)));
      assert.deepEqual(told, []);
    });
  });

  describe("a transient failure", () => {
    const again: [string, Answer][] = [
      ["429 with Retry-After in seconds", answer(429, {}, retryNow)],
      [
        "429 with Retry-After as a date",
        answer(429, {}, { "Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT" }),
      ],
      ["429 with no Retry-After", answer(429, {})],
      ["503 with Retry-After", answer(503, {}, retryNow)],
    ];
    for (const [kind, first] of again) {
      it(`C34 of ${kind} is tried again, a POST too`, async () => {
        const { client, requests } = await scripted([first, answer(201, edge)]);
        assert.equal((await tlsEdges.create(client, { metadata: "m" })).id, "edgtls_1");
        assert.equal(requests.length, 2);
        assert.equal(requests[1]?.body, requests[0]?.body);
        assert.equal(requests[1]?.headers["content-type"], "application/json");
      });
    }

    const perhapsDone: [string, Answer][] = [
      ["502", answer(502, "<html>")],
      ["503 with no Retry-After", answer(503, "")],
      ["504", answer(504, "")],
      ["a reset", reset],
      ["half of the answer", answer(200, '{"id":"edgtls_1","ur')],
    ];
    for (const [kind, first] of perhapsDone) {
      it(`C33 of ${kind} is not tried again for a POST: it may have done its work`, async () => {
        const { client, requests } = await scripted([first]);
        const error = await tlsEdges.create(client, {}).catch((reason: unknown) => reason);
        assert.equal(requests.length, 1);
        if (!/^50/.test(kind)) {
          assert.ok(error instanceof ConnectionError);
          assert.equal(error.ambiguous, true);
          assert.equal(error.code, "ECONNRESET");
        } else {
          assert.ok(error instanceof ServiceError);
          assert.ok([502, 503, 504].includes(error.status));
        }
      });

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

    it("C33 of silence ends with the deadline, ambiguous for a POST alone", async () => {
      const { client, requests } = await scripted([silence, silence], { timeoutSeconds: 1 });
      const [post, get] = await Promise.all([
        failureOf(tlsEdges.create(client, {}), ConnectionError),
        failureOf(tlsEdges.get(client, "edgtls_1"), ConnectionError),
      ]);
      assert.equal(post.code, "ETIMEDOUT");
      assert.equal(post.ambiguous, true);
      assert.equal(get.code, "ETIMEDOUT");
      assert.equal(get.ambiguous, false);
      assert.equal(requests.length, 2);
    });

    it("C34 is tried again after any part of a pause", async () => {
      mock.restoreAll();
      mock.method(Math, "random", () => 0.001234);
      const { client, requests } = await scripted([answer(502), answer(200, edge)]);
      await tlsEdges.get(client, "edgtls_1");
      assert.equal(requests.length, 2);
    });

    it("C34 of a refused connection is tried again for a POST, as nothing was sent", async () => {
      const gone = await script();
      await gone.close();
      const client = new Client({ baseUrl: gone.url, apiKey, maxRetries: 2 });
      const error = await failureOf(tlsEdges.create(client, {}), ConnectionError);
      assert.equal(error.code, "ECONNREFUSED");
      assert.equal(error.attempts, 3);
      assert.equal(error.ambiguous, false);
    });

    it("C34 that lasts is tried as often as maxRetries says", async () => {
      const limited = answer(429, {}, retryNow);
      const { client, requests } = await scripted([limited, limited, limited, limited], {
        maxRetries: 2,
      });
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
      assert.equal(error.status, 429);
      assert.equal(error.attempts, 3);
      assert.equal(requests.length, 3);
    });

    it("C34 that asks to wait past the deadline is not waited for", async () => {
      const { client, requests } = await scripted([answer(429, {}, { "Retry-After": "3600" })]);
      const error = await failureOf(tlsEdges.get(client, "edgtls_1"), ServiceError);
      assert.equal(error.status, 429);
      assert.equal(requests.length, 1);
    });
  });

  it("C2 starts no more requests in a minute than requestsPerMinute", async () => {
    const client = emulated({ requestsPerMinute: 2 });
    // The pace's own timer never fires, so the third request waits for ever: unless it has
    // reached the service before a request that was started after it.
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      await client.get("/", anything);
      await client.get("/tunnels", anything);
      void client.get("/edges/tls", anything);
      const free = emulated();
      await free.get("/tls_certificates", anything);
      await free.get("/tls_certificates", anything);
      const heard = emulator.requests.map((request) => request.path);
      assert.deepEqual(heard, ["/", "/tunnels", "/tls_certificates", "/tls_certificates"]);
    } finally {
      mock.timers.reset();
    }
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
      mock.timers.enable({ apis: ["Date", "setTimeout"], now: 0 });
      try {
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
      } finally {
        mock.timers.reset();
      }
    });

    it("C2 gives a place that nobody waits for to the next that asks", async () => {
      mock.timers.enable({ apis: ["Date", "setTimeout"], now: 0 });
      try {
        const waits: number[] = [];
        const pace = new Pace(1, (waiting) => void waits.push(waiting));
        const { answered } = await turns(pace, 1);
        answered[0]?.();
        mock.timers.tick(60_000);
        assert.deepEqual((await turns(pace, 1)).had, [0]);
        assert.deepEqual(waits, []);
      } finally {
        mock.timers.reset();
      }
    });
  });

  describe("a list", () => {
    const ids = async (client: Client) => (await Array.fromAsync(tlsEdges.list(client))).map(idOf);
    const idOf = ({ id }: { id: string }) => id;

    it("C60 is followed over all its pages, newest first", async () => {
      const client = emulated();
      const made: string[] = [];
      for (let n = 0; n < 205; n++) made.unshift((await tlsEdges.create(client, {})).id);
      emulator.requests.length = 0;
      assert.deepEqual(await ids(client), made);
      assert.equal(emulator.requests.length, 3);
      for (const request of emulator.requests) assert.match(request.path, /[?&]limit=100/);
    });

    it("C60 is read no further than it is asked for", async () => {
      const { client, requests } = await scripted([
        answer(200, { tls_edges: [edge], next_page_uri: "/edges/tls?before_id=edgtls_1" }),
      ]);
      for await (const { id } of tlsEdges.list(client)) {
        assert.equal(id, "edgtls_1");
        break;
      }
      assert.equal(requests.length, 1);
    });

    it("C4 is never followed to another origin, where the key would be heard", async () => {
      const other = await script(answer(200, { tls_edges: [], next_page_uri: null }));
      try {
        for (const next of [`${other.url}/edges/tls`, "http://localhost/edges/tls", "//evil/", 7]) {
          await server?.close();
          const page = { tls_edges: [edge], next_page_uri: next };
          const { client } = await scripted([answer(200, page)]);
          const error = await failureOf(ids(client), ConnectionError);
          assert.equal(error.code, "EBADANSWER");
          assert.equal(error.ambiguous, false);
        }
        assert.deepEqual(other.requests, []);
      } finally {
        await other.close();
      }
    });

    it("that goes in a circle is refused", async () => {
      const to = (page: string) => answer(200, { tls_edges: [], next_page_uri: `${path}?${page}` });
      const { client, requests } = await scripted([to("a"), to("b"), to("a")]);
      const error = await failureOf(ids(client), ConnectionError);
      assert.equal(error.code, "EBADANSWER");
      assert.equal(requests.length, 3);
    });

    it("with no collection in it is refused, and one with no next page ends", async () => {
      const { client } = await scripted([
        answer(200, { edges: [] }),
        answer(200, { tls_edges: [] }),
        answer(200, { tls_edges: [edge], next_page_uri: "" }),
      ]);
      assert.equal((await failureOf(ids(client), ConnectionError)).code, "EBADANSWER");
      assert.deepEqual(await ids(client), []);
      assert.deepEqual(await ids(client), ["edgtls_1"]);
    });
  });

  describe("the key and the connection", () => {
    it("C4 a redirect is not followed, not even on the same origin", async () => {
      const other = await script(answer(200, edge));
      try {
        for (const status of [301, 302, 307, 308]) {
          await server?.close();
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
      const line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg";
      const body = { certificate_pem: "chain", private_key_pem: `-----BEGIN X-----\n${line}\n` };
      const { client } = await scripted([
        answer(400, {
          msg: `no key: ${body.private_key_pem}, said ${apiKey}`,
          error_code: "ERR_1",
        }),
        answer(400, { msg: "very long ".repeat(10_000) }),
      ]);
      const error = await failureOf(tlsCertificates.create(client, body), ServiceError);
      assert.match(error.message, /no key: .*\[secret\]/s);
      assert.equal(error.code, "ERR_1");
      for (const hidden of [apiKey, line]) assert.ok(!shown(error).includes(hidden), shown(error));
      const long = await failureOf(tlsCertificates.create(client, body), ServiceError);
      assert.ok(long.message.length < 2000);
    });

    it("C4 a proxy hears the name of the service, and nothing of what is said to it", async () => {
      const { client, requests, url } = await scripted([answer(200, edge)]);
      const heard: string[] = [];
      const proxy = createServer((_request, response) => {
        heard.push("a request in clear");
        response.writeHead(500).end();
      });
      proxy.on("connect", (request, socket) => {
        heard.push(`${request.method} ${request.url} ${Object.keys(request.headers)}`);
        const [, port] = (request.url ?? "").split(":");
        const through = connect(Number(port), "127.0.0.1", () => {
          socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
          through.pipe(socket).pipe(through);
        });
        through.on("error", () => socket.destroy());
        socket.on("error", () => through.destroy());
      });
      proxy.listen(0, "127.0.0.1");
      await once(proxy, "listening");
      const restore = setEnv({
        HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        https_proxy: undefined,
        NO_PROXY: undefined,
        no_proxy: undefined,
      });
      try {
        await tlsEdges.get(client, "edgtls_1");
      } finally {
        restore();
        proxy.closeAllConnections();
        proxy.close();
      }
      assert.equal(requests[0]?.headers.authorization, `Bearer ${apiKey}`);
      assert.equal(heard.length, 1, heard.join());
      assert.ok(heard[0]?.startsWith(`CONNECT ${new URL(url).host} `), heard[0]);
      assert.ok(!/authorization/i.test(heard[0] ?? ""), heard[0]);
    });

    it("C34 debug logging tells what was retried and why, with no key and no body", async () => {
      const lines: string[] = [];
      const log = createDebug.log;
      createDebug.log = (...parts: unknown[]) => void lines.push(inspect(parts));
      createDebug.enable("pulumi-tlsedge:*");
      try {
        const limited = answer(429, { msg: "said by the service" }, retryNow);
        const { client } = await scripted([limited, answer(201, edge)]);
        await tlsEdges.create(client, { metadata: "secret body" });
      } finally {
        createDebug.disable();
        createDebug.log = log;
      }
      const logged = lines.join("\n");
      assert.equal(lines.length, 3, logged);
      assert.match(logged, /429/);
      assert.match(logged, /201/);
      for (const hidden of [apiKey, "secret body", "said by the service", "Bearer"]) {
        assert.ok(!logged.includes(hidden), logged);
      }
    });
  });
});
