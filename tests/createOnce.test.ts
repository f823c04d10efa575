import assert from "node:assert/strict";
import { mock } from "node:test";
import { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, type Fault, makeCertificate, startEmulator } from "../emulator/server";
import { createOnce, noteManaged } from "../provider/createOnce";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import {
  answer,
  failureOf,
  fileWith,
  type Properties,
  reset,
  Stack,
  script,
  setEnv,
  setEnvFor,
  until,
} from "./support";

const lists = { tlsEdge: "/edges/tls", tlsCertificate: "/tls_certificates" };

describe("a create whose answer is lost", () => {
  let emulator: Emulator;
  let restore: () => void;
  let inputs: Record<keyof typeof lists, Properties>;
  /** The same account, from another machine. */
  let stranger: Client;
  let told: ReturnType<typeof mock.method<Console, "error">>;

  before(async () => {
    emulator = await startEmulator();
    // With a short deadline, the pause before asking again is short too.
    const environment = [setEnvFor(emulator), setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" })];
    restore = () => environment.reverse().forEach((undo) => void undo());
    stranger = new Client({
      baseUrl: emulator.url,
      apiKey: emulator.apiKey,
      caFile: fileWith(emulator.ca),
      requestsPerMinute: 0,
    });
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    inputs = {
      tlsEdge: { description: "d", backend: { backendId: "bkdtg_1" }, tlsTermination: {} },
      tlsCertificate: { description: "d", certificatePem, privateKeyPem },
    };
  });
  beforeEach(() => {
    emulator.reset();
    told = mock.method(console, "error", () => {});
  });
  afterEach(() => told.mock.restore());
  after(() => {
    restore();
    return emulator.close();
  });

  const warnings = () =>
    told.mock.calls.map((call) => String(call.arguments)).filter((text) => /^warning/.test(text));
  const heard = () => emulator.requests.map(({ method }) => method);
  const stackOf = (kind: keyof typeof lists) => new Stack({ tlsEdge, tlsCertificate }[kind]);
  const held = (kind: keyof typeof lists) =>
    ({ tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates })[kind].list();
  const ids = (kind: keyof typeof lists) => held(kind).map(({ id }) => id);
  const lose = (kind: keyof typeof lists, fault: Omit<Fault, "path" | "method">) =>
    emulator.faults.add({ method: "POST", path: lists[kind], ...fault });

  /** What another process makes. */
  async function make(kind: keyof typeof lists, description: string) {
    const { certificatePem, privateKeyPem } = inputs.tlsCertificate;
    if (kind === "tlsCertificate") {
      await tlsCertificates.create(stranger, {
        description,
        certificate_pem: certificatePem as string,
        private_key_pem: privateKeyPem as string,
      });
    } else {
      const on = { enabled: true };
      await tlsEdges.create(stranger, {
        description,
        backend: { ...on, backend_id: "bkdtg_1" },
        tls_termination: on,
      });
    }
  }

  const afterTheWork: [string, Fault["answer"]][] = [
    ["a connection that is cut", "reset"],
    ["half of the answer", "truncated"],
    ["silence", "silence"],
    ...[408, 500, 502, 503, 504, 524].map((status): [string, Fault["answer"]] => [
      `${status} from a proxy`,
      { status, body: "<html>gateway</html>" },
    ]),
    ["503 with Retry-After", { status: 503, headers: { "Retry-After": "0" } }],
  ];
  for (const kind of ["tlsEdge", "tlsCertificate"] as const) {
    describe(kind, () => {
      for (const [what, answer] of afterTheWork) {
        it(`C33 to ${what} after the work is found, not made again`, async () => {
          lose(kind, { work: true, answer });
          const stack = stackOf(kind);
          assert.equal(await stack.up(inputs[kind]), "create");
          assert.deepEqual(ids(kind), [stack.id]);
          assert.deepEqual(heard(), ["POST", "GET"]);
          assert.equal(warnings().length, 1);
          assert.ok(warnings()[0]?.includes(stack.id));
          // What was found is as good as what was answered.
          assert.equal(await stack.refresh(), "same");
          assert.equal(await stack.up(inputs[kind]), "same");
        });

        if (answer === "silence") continue;
        it(`C33 to ${what} before the work is asked for again`, async () => {
          lose(kind, { work: false, answer: answer === "truncated" ? "reset" : answer });
          const stack = stackOf(kind);
          await stack.up(inputs[kind]);
          assert.deepEqual(ids(kind), [stack.id]);
          // Last, whether the first one was made in the end.
          assert.deepEqual(heard(), ["POST", "GET", "GET", "POST", "GET"]);
          assert.deepEqual(warnings(), []);
        });
      }

      it("C33 again and again fails as the last one did, and leaves nothing", async () => {
        lose(kind, { times: 9, answer: { status: 504 } });
        const error = await failureOf(stackOf(kind).up(inputs[kind]), ServiceError);
        assert.equal(error.status, 504);
        assert.deepEqual(ids(kind), []);
        assert.equal(heard().filter((method) => method === "POST").length, 3);
      });

      it("C33 to silence until the deadline fails, when there is nothing to find", async () => {
        lose(kind, { work: false, answer: "silence" });
        const error = await failureOf(stackOf(kind).up(inputs[kind]), ConnectionError);
        assert.equal(error.code, "ETIMEDOUT");
        assert.deepEqual(ids(kind), []);
        assert.deepEqual(heard(), ["POST", "GET", "GET"]);
      });

      it("C36 has a twin that is answered: each has its own", async () => {
        lose(kind, { work: true, answer: "reset" });
        const pair = [stackOf(kind), stackOf(kind), stackOf(kind)];
        await Promise.all(pair.map((stack) => stack.up(inputs[kind])));
        assert.equal(new Set(pair.map(({ id }) => id)).size, 3);
        assert.deepEqual(ids(kind).sort(), pair.map(({ id }) => id).sort());
      });

      for (const works of [[true], [true, true], [true, false], [false, true], [false, false]]) {
        it(`C36 among three equal ones, with the work done or not: ${works}`, async () => {
          for (const work of works) lose(kind, { work, answer: { status: 504 } });
          const all = [stackOf(kind), stackOf(kind), stackOf(kind)];
          await Promise.all(all.map((stack) => stack.up(inputs[kind])));
          assert.equal(new Set(all.map(({ id }) => id)).size, 3);
          assert.deepEqual(ids(kind).sort(), all.map(({ id }) => id).sort());
          // Each of them is one that was lost.
          const named = warnings().join();
          assert.equal(warnings().length, works.filter(Boolean).length);
          assert.equal(all.filter(({ id }) => named.includes(id)).length, warnings().length);
        });
      }

      it("C36 that fails does not offer its twins for deletion", async () => {
        const all = [stackOf(kind), stackOf(kind), stackOf(kind)];
        lose(kind, { skip: 1, work: true, answer: "reset" });
        emulator.faults.add({ method: "GET", path: lists[kind], answer: { status: 401 } });
        const outcomes = await Promise.allSettled(all.map((stack) => stack.up(inputs[kind])));
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ["fulfilled", "rejected", "fulfilled"],
        );
        // What the second may have made is not taken by a later one that is lost as well.
        lose(kind, { work: true, answer: "reset" });
        const { message } = await failureOf(stackOf(kind).up(inputs[kind]), Error);
        const own = all.map(({ id }) => id).filter(Boolean);
        const orphans = ids(kind).filter((id) => !own.includes(id));
        assert.equal(orphans.length, 2);
        for (const id of orphans) assert.ok(message.includes(id), message);
        for (const id of own) assert.ok(!message.includes(id), message);
      });

      it("C33 does not take what was there before, nor what differs", async () => {
        await make(kind, "d");
        const direct = { tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates };
        const [older = ""] = ids(kind);
        direct[kind].patch(older, { created_at: "2026-01-01T00:00:00Z" });
        await make(kind, "another");
        const others = ids(kind);
        lose(kind, { answer: "reset" });
        const stack = stackOf(kind);
        await stack.up(inputs[kind]);
        assert.ok(!others.includes(stack.id));
        assert.equal(held(kind).length, 3);
      });

      it("C33 that is not known from another's fails, and names both", async () => {
        lose(kind, { work: true, answer: "silence" });
        const asked = failureOf(stackOf(kind).up(inputs[kind]), Error);
        await until(() => ids(kind).length === 1);
        await make(kind, "d");
        const { message } = await asked;
        assert.equal(ids(kind).length, 2);
        for (const id of ids(kind)) assert.ok(message.includes(id), message);
      });

      it("C33 that can't be looked for fails, and says what to look at", async () => {
        lose(kind, { work: true, answer: "reset" });
        emulator.faults.add({ method: "GET", path: lists[kind], answer: { status: 401 } });
        const { message } = await failureOf(stackOf(kind).up(inputs[kind]), Error);
        assert.match(message, /is not known/);
        assert.deepEqual(heard(), ["POST", "GET"]);
      });

      it("C35 to an answer with a field that can't be used is recorded with its id", async () => {
        lose(kind, { answer: { fields: { description: 7 } } });
        const stack = stackOf(kind);
        const error = await failureOf(stack.up(inputs[kind]), Error);
        const { id, properties, reasons } = error as unknown as Record<string, unknown>;
        assert.deepEqual(ids(kind), [id]);
        assert.deepEqual(reasons, [error.message]);
        for (const part of [String(id), "description"]) assert.ok(error.message.includes(part));
        assert.deepEqual(heard(), ["POST"]);
        // What the engine keeps of it; the next update goes on from there.
        Object.assign(stack, { id, state: properties });
        assert.equal(stack.state.__provider, "exports.handler = () => 0");
        assert.equal(await stack.up(inputs[kind]), "update");
        assert.deepEqual(ids(kind), [id]);
        assert.equal(await stack.refresh(), "same");
        assert.equal(await stack.up(inputs[kind]), "same");
      });

      it("C33 to an answer with no id that can be used is found by its content", async () => {
        lose(kind, { answer: { fields: { id: 7 } } });
        const stack = stackOf(kind);
        await stack.up(inputs[kind]);
        assert.deepEqual(ids(kind), [stack.id]);
        assert.deepEqual(heard(), ["POST", "GET"]);
      });

      it("C30 that is not lost asks nothing more", async () => {
        await stackOf(kind).up(inputs[kind]);
        assert.deepEqual(heard(), ["POST"]);
      });
    });
  }

  it("C36 is not given what other inputs made that mean the same", async () => {
    const tls_termination = { enabled: true, terminate_at: "edge", min_version: "1.2" };
    const edge = (id: string) => ({
      ...{ id, uri: "x", tls_termination },
      created_at: new Date().toISOString(),
    });
    const turns = async (count: number) => {
      for (let n = 0; n < count; n++) await new Promise(setImmediate);
    };
    let answerTwin = () => {};
    const { url, caFile, requests, close } = await script(
      reset,
      (response, request) => {
        answerTwin = () => answer(201, edge("edgtls_twin"))(response, request);
      },
      (response, request) => {
        // Its answer is on the way when the list is read.
        answer(200, { tls_edges: [edge("edgtls_twin")] })(response, request);
        turns(50).then(answerTwin);
      },
      answer(200, { tls_edges: [edge("edgtls_twin")] }),
      answer(201, edge("edgtls_own")),
      answer(200, { tls_edges: [edge("edgtls_own"), edge("edgtls_twin")] }),
    );
    const undo = setEnv({ TLSEDGE_BASE_URL: url, TLSEDGE_CA_FILE: caFile });
    try {
      const [lost, twin] = [stackOf("tlsEdge"), stackOf("tlsEdge")];
      const making = lost.up({ tlsTermination: {} });
      const madeToo = twin.up({ tlsTermination: { terminateAt: "edge", minVersion: "1.2" } });
      await Promise.all([making, madeToo]);
      assert.deepEqual([lost.id, twin.id].sort(), ["edgtls_own", "edgtls_twin"]);
      assert.deepEqual(
        requests.map(({ method }) => method),
        ["POST", "POST", "GET", "GET", "POST", "GET"],
      );
    } finally {
      undo();
      await close();
    }
  });

  describe("that lands after it was looked for", () => {
    const hostports = ["late.example.com:443"];
    const edge = (id: string) => ({
      ...{ id, uri: "x", hostports },
      created_at: new Date().toISOString(),
    });
    const list = (...tls_edges: object[]) => answer(200, { tls_edges });

    async function upWith(...answers: Parameters<typeof script>) {
      const { url, caFile, close } = await script(...answers);
      const undo = setEnv({ TLSEDGE_BASE_URL: url, TLSEDGE_CA_FILE: caFile });
      try {
        const stack = stackOf("tlsEdge");
        await stack.up({ hostports });
        return stack.id;
      } finally {
        undo();
        await close();
      }
    }

    it("C33 is found when the second request is refused because of it", async () => {
      const made = edge("edgtls_late1");
      const refused = answer(409, { msg: "taken" });
      // The list is read for the reason of the refusal, then for what was made.
      const id = await upWith(reset, list(), list(), refused, list(made), list(made));
      assert.equal(id, made.id);
    });

    it("C33 is named when the second request made another", async () => {
      const [late, second] = [edge("edgtls_late2"), edge("edgtls_second")];
      const answers = [reset, list(), list(), answer(201, second), list(second, late)];
      assert.equal(await upWith(...answers), second.id);
      assert.equal(warnings().length, 1);
      assert.match(warnings()[0] ?? "", /edgtls_late2\b/);
    });
  });

  it("C36 is not taken from another connection to the same account", async () => {
    const args = { metadata: "twins of two connections" };
    const first = stackOf("tlsEdge");
    await first.up(args);
    emulator.faults.add({ method: "POST", answer: "reset" });
    const undo = setEnv({ TLSEDGE_MAX_RETRIES: "7" });
    try {
      const second = stackOf("tlsEdge");
      await second.up(args);
      assert.notEqual(second.id, first.id);
    } finally {
      undo();
    }
  });

  it("C33 is not what a resource is known to have", async () => {
    const { id } = await tlsEdges.create(stranger, { metadata: "m" });
    noteManaged(id);
    lose("tlsEdge", { answer: "reset" });
    const { wire } = await createOnce(stranger, {
      title: "TLS edge",
      content: "m",
      post: (onSend) => tlsEdges.create(stranger, { metadata: "m" }, onSend),
      list: tlsEdges.list,
      matches: ({ metadata }) => metadata === "m",
    });
    assert.deepEqual(ids("tlsEdge"), [wire.id, id]);
  });

  it("C33 is not what a refresh of this run has read", async () => {
    const { id, uri, created_at } = await tlsEdges.create(stranger, { description: "r" });
    const stored = { uri, createdAt: created_at };
    await tlsEdge.read?.(id, stored);
    lose("tlsEdge", { answer: "reset" });
    const made = stackOf("tlsEdge");
    await made.up({ description: "r" });
    assert.deepEqual(ids("tlsEdge"), [made.id, id]);
  });

  it("C33 is looked for on the newest pages alone", async () => {
    for (let n = 0; n < 150; n++) await tlsEdges.create(stranger, { metadata: String(n) });
    for (const { id } of emulator.tlsEdges.list()) {
      emulator.tlsEdges.patch(id, { created_at: "2026-01-01T00:00:00Z" });
    }
    emulator.requests.length = 0;
    lose("tlsEdge", { work: true, answer: "reset" });
    await stackOf("tlsEdge").up(inputs.tlsEdge);
    assert.deepEqual(heard(), ["POST", "GET"]);
  });

  it("C33 that is not known from a thousand others' fails, and makes no second", async () => {
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "60" });
    try {
      lose("tlsEdge", { work: true, answer: "reset" });
      emulator.faults.add({ method: "GET", work: false, answer: "held" });
      const asked = failureOf(stackOf("tlsEdge").up(inputs.tlsEdge), Error);
      await until(() => emulator.faults.list().at(-1)?.struck === 1);
      for (let n = 0; n < 1001; n++) await tlsEdges.create(stranger, { metadata: String(n) });
      emulator.requests.length = 0;
      emulator.faults.clear();
      await asked;
      assert.ok(!heard().includes("POST"));
    } finally {
      undo();
    }
  });
});
