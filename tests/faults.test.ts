import assert from "node:assert/strict";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { type Emulator, type Fault, startEmulator } from "../emulator/server";
import { until } from "./support";

describe("the emulator's faults", () => {
  let emulator: Emulator;

  before(async () => {
    emulator = await startEmulator();
  });
  beforeEach(() => emulator.reset());
  after(() => emulator.close());

  /** One request on a connection of its own; `error` is what Node says when it is cut. */
  async function send(method: string, path: string, body?: object, signal?: AbortSignal) {
    const headers = {
      Authorization: `Bearer ${emulator.apiKey}`,
      "Service-Version": "2",
      ...(body && { "Content-Type": "application/json" }),
    };
    const options = { method, headers, ca: emulator.ca, agent: false, signal };
    return new Promise<{
      status: number;
      body: string;
      headers: NodeJS.Dict<unknown>;
      error?: string;
    }>((resolve) => {
      const fail = ({ code = "" }: NodeJS.ErrnoException) =>
        resolve({ status: 0, body: "", headers: {}, error: code });
      const asked = request(`${emulator.url}${path}`, options, async (response) => {
        const { statusCode: status = 0, headers } = response;
        await text(response).then((body) => resolve({ status, body, headers }), fail);
      });
      asked.on("error", fail);
      asked.end(body && JSON.stringify(body));
    });
  }
  const post = () => send("POST", "/edges/tls", { description: "d" });
  const edges = () => emulator.tlsEdges.list().length;

  const answers: [string, Fault, { status: number; error?: string; made: number }][] = [
    ["reset", { answer: "reset" }, { status: 0, error: "ECONNRESET", made: 0 }],
    ["reset after", { work: true, answer: "reset" }, { status: 0, error: "ECONNRESET", made: 1 }],
    ["a 503", { answer: { status: 503, body: "<html>busy" } }, { status: 503, made: 0 }],
    ["a 504 after the work", { work: true, answer: { status: 504 } }, { status: 504, made: 1 }],
    ["half of the answer", { answer: "truncated" }, { status: 201, made: 1 }],
    ["other fields", { answer: { fields: { id: 7, new: {} } } }, { status: 201, made: 1 }],
  ];
  for (const [kind, fault, { status, error, made }] of answers) {
    it(`answer with ${kind}, once`, async () => {
      emulator.faults.add({ method: "POST", path: "/edges/tls", ...fault });
      const first = await post();
      assert.deepEqual([first.status, first.error], [status, error]);
      assert.equal(edges(), made);
      assert.equal((await post()).status, 201);
      assert.equal(edges(), made + 1);
      assert.equal(emulator.requests[0]?.status, status);
    });
  }

  it("answer with what is said, and nothing of the service's own", async () => {
    emulator.faults.add({
      answer: { status: 307, headers: { Location: "https://other.example/" } },
    });
    emulator.faults.add({ answer: { fields: { description: 7, added: true } } });
    const redirect = await post();
    assert.equal(redirect.headers.location, "https://other.example/");
    assert.equal(redirect.headers["content-type"], "text/html");
    assert.equal(redirect.body, "");
    const changed = JSON.parse((await post()).body);
    assert.deepEqual([changed.description, changed.added], [7, true]);
    assert.match(changed.id, /^edgtls_/);
  });

  it("leave a request without an answer for ever, its work done or not", async () => {
    for (const work of [false, true]) {
      emulator.faults.add({ answer: "silence", work });
      const gaveUp = new AbortController();
      const asked = send("POST", "/edges/tls", {}, gaveUp.signal);
      await until(() => emulator.faults.list().at(-1)?.hits === 1);
      await until(() => edges() === (work ? 1 : 0));
      gaveUp.abort();
      assert.equal((await asked).error, "ABORT_ERR");
      assert.equal(edges(), work ? 1 : 0);
    }
  });

  it("hold an answer until they are cleared, its work done before or after", async () => {
    for (const work of [false, undefined]) {
      const before = edges();
      emulator.faults.add({ answer: "held", work });
      let answered = false;
      const asked = post().finally(() => {
        answered = true;
      });
      await until(() => emulator.faults.list().at(-1)?.hits === 1);
      // Another request goes all the way meanwhile.
      assert.equal((await post()).status, 201);
      assert.equal(edges(), before + (work === false ? 1 : 2));
      assert.equal(answered, false);
      emulator.faults.clear();
      assert.equal((await asked).status, 201);
      assert.equal(edges(), before + 2);
    }
  });

  it("keep an answer back for a time, its work done at once", async () => {
    emulator.faults.add({ answer: { afterMs: 300 } });
    const sent = performance.now();
    const slow = post();
    await until(() => edges() === 1);
    assert.equal((await slow).status, 201);
    assert.ok(performance.now() - sent >= 299);
  });

  it("do the work late: after a time, or when they are cleared", async () => {
    const answer = { status: 504 };
    emulator.faults.add({ method: "POST", answer, work: { afterMs: 1 } });
    emulator.faults.add({ method: "POST", answer, work: "cleared" });
    assert.equal((await post()).status, 504);
    await until(() => edges() === 1);
    assert.equal((await post()).status, 504);
    assert.equal(edges(), 1);
    emulator.faults.clear();
    await until(() => edges() === 2);
  });

  it("answer with a list that lacks what was made after they were set", async () => {
    await post();
    emulator.faults.add({ method: "GET", path: "/edges/tls", answer: "stale" });
    await post();
    const listed = async () => JSON.parse((await send("GET", "/edges/tls")).body).tls_edges.length;
    assert.deepEqual([await listed(), await listed()], [1, 2]);
  });

  it("hit the requests that fit, after those that go by, as often as is said", async () => {
    const { id } = JSON.parse((await post()).body);
    const on = { method: "GET", path: "/edges/tls/*" } as const;
    emulator.faults.add({ ...on, skip: 1, times: 2, answer: { status: 401 } });
    const asked: [string, string][] = [
      ["GET", `/edges/tls/${id}`],
      ["GET", "/edges/tls?limit=1"],
      ["GET", `/edges/tls/${id}`],
      ["DELETE", `/edges/tls/${id}/backend`],
      ["GET", `/edges/tls/${id}`],
      ["GET", `/edges/tls/${id}`],
    ];
    const statuses: number[] = [];
    for (const [method, path] of asked) statuses.push((await send(method, path)).status);
    assert.deepEqual(statuses, [200, 200, 401, 404, 401, 200]);
    assert.equal(emulator.faults.list()[0]?.hits, 2);
  });

  it("are set, seen and cleared over HTTP too; one that makes no sense is refused", async () => {
    const path = "/_emulator/faults";
    assert.equal((await send("POST", path, { answer: "reset" })).status, 201);
    assert.equal((await post()).error, "ECONNRESET");
    const { faults } = JSON.parse((await send("GET", path)).body);
    assert.deepEqual(faults, [{ answer: "reset", hits: 1 }]);
    for (const [wrong, what] of [
      [{}, "answer is missing."],
      [{ answer: "burn" }, "answer has no known form."],
      [{ answer: "reset", pth: "/" }, "There is no field pth here."],
    ] as const) {
      const { status, body } = await send("POST", path, wrong);
      const { msg } = JSON.parse(body);
      assert.deepEqual([status, msg.split(" A fault is such as ")[0]], [400, what]);
      const [example = ""] = /\{"method".*?\}\}/.exec(msg) ?? [];
      assert.equal((await send("POST", path, JSON.parse(example))).status, 201);
    }
    assert.equal((await send("DELETE", path)).status, 204);
    assert.deepEqual(emulator.faults.list(), []);
  });
});
