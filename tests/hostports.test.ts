import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { folder, records } from "../provider/creates/journal";
import { tlsEdge } from "../provider/dynamic";
import { forgetPlans } from "../provider/hostports";
import { forgetAccounts } from "../provider/perAccount";
import { clientOf, failureOf, Stack, setEnv, setEnvFor, unknown, until } from "./support";

const [h1, h2, h3] = ["one.example.com:443", "two.example.com:443", "three.example.com:443"];

describe("a hostport that another edge serves", () => {
  let emulator: Emulator;
  let restore: () => void;
  let stranger: Client;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    stranger = clientOf(emulator);
  });
  let isMarked: boolean;
  beforeEach(() => {
    forgetAccounts();
    rmSync(folder(), { recursive: true, force: true });
    isMarked = false;
    emulator.reset();
    forgetPlans();
  });
  after(() => {
    restore();
    return emulator.close();
  });

  /** Without the read of the list before the first create of a run. */
  const heard = () => {
    const all = emulator.requests.splice(0).map(({ method }) => method);
    const first = all.indexOf("POST");
    if (first >= 0 && !isMarked) assert.deepEqual(all.splice(first - 1, 1), ["GET"]);
    isMarked ||= first >= 0;
    return all;
  };
  const served = (...stacks: Stack[]) =>
    stacks.map(({ id }) => emulator.tlsEdges.get(id)?.hostports);
  /** Once a write was refused, and the list of who serves what was read. */
  const refused = async () => {
    await until(() => emulator.requests.some(({ method, status }) => method === "GET" && status));
    await someReads();
  };
  /** Once the last fault was met by a request. */
  const struck = () => until(() => emulator.faults.list().at(-1)?.struck === 1);
  /** Time for another update to go on. */
  const someReads = async () => {
    for (let reads = 0; reads < 5; reads++) await tlsEdges.list(stranger).next();
  };
  const at = ({ id }: Stack) => `/edges/tls/${id}`;

  /** An edge of an earlier update: this process knows nothing of it. */
  async function edge(...hostports: string[]): Promise<Stack> {
    const { id } = await tlsEdges.create(stranger, { hostports });
    const stack = Object.assign(new Stack(tlsEdge), { id, state: { uri: "x" } });
    await stack.refresh();
    emulator.requests.length = 0;
    return stack;
  }

  it("C38 is taken at once from a holder whose own update fails", async () => {
    const a = await edge(h1, h2);
    emulator.faults.add({ method: "PATCH", answer: { status: 401 } });
    await failureOf(a.up({ hostports: [h1] }), Error);
    const b = new Stack(tlsEdge);
    await b.up({ hostports: [h2] });
    assert.deepEqual(served(a, b), [[h1], [h2]]);
    assert.deepEqual(heard(), ["PATCH", "POST", "GET", "GET", "PATCH", "POST"]);
  });

  it("C38 is taken from the holder whose diff drops it, before the holder's own update", async () => {
    const a = await edge(h1, "two.EXAMPLE.com:443");
    const b = new Stack(tlsEdge);
    await a.preview({ hostports: [h1] });
    await b.up({ hostports: ["Two.example.com:443"] });
    assert.deepEqual(served(a, b), [[h1], ["Two.example.com:443"]]);
    assert.deepEqual(heard(), ["POST", "GET", "GET", "PATCH", "POST"]);
    // Of the refused POST nothing is left to look for.
    assert.deepEqual(
      records()?.map(({ id }) => id),
      [b.id],
    );
    assert.equal(await a.up({ hostports: [h1] }), "update");
    assert.deepEqual(served(a, b), [[h1], ["Two.example.com:443"]]);
  });

  it("C38 leaves the holder everything else that it serves now", async () => {
    const a = await edge(h1, h2);
    await tlsEdges.update(stranger, a.id, { hostports: [h3, h2, h1], description: "by hand" });
    await a.preview({ hostports: [] });
    await new Stack(tlsEdge).up({ hostports: [h2] });
    assert.deepEqual(served(a), [[h3, h1]]);
    assert.equal(emulator.tlsEdges.get(a.id)?.description, "by hand");
  });

  /** A new edge takes a hostport of a holder that is diffed after the refusal. */
  async function isTakenFrom(holder: Stack): Promise<void> {
    const b = new Stack(tlsEdge);
    const made = b.up({ hostports: [h2] });
    await refused();
    await holder.preview({ hostports: [h1] });
    await made;
    assert.deepEqual(served(holder, b), [[h1], [h2]]);
  }

  it("C38 is taken when the holder is diffed after the refusal", async () => {
    await isTakenFrom(await edge(h1, h2));
  });

  it("C38 is taken when the holder's update is done on the service and not yet answered", async () => {
    const a = await edge(h1);
    const b = new Stack(tlsEdge);
    emulator.faults.add(
      { method: "POST", answer: "held" },
      { method: "PATCH", answer: "held" },
      // After the mark of the create.
      { method: "GET", answer: "held", work: false, skip: 1 },
    );
    const made = b.up({ hostports: [h1] });
    await until(() => emulator.faults.list()[0]?.struck === 1);
    const updated = a.up({ hostports: [h2] });
    await until(() => emulator.faults.list()[1]?.struck === 1);
    emulator.faults.clear();
    await Promise.all([made, updated]);
    assert.deepEqual(served(a, b), [[h2], [h1]]);
  });

  it("C30 a refusal for another reason is not tried again while other edges are created", async () => {
    emulator.faults.add({ method: "POST", answer: "held" });
    const other = new Stack(tlsEdge).up({ hostports: [h2] });
    await struck();
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), ServiceError);
    emulator.faults.clear();
    await other;
    assert.deepEqual(heard(), ["POST", "POST", "GET"]);
  });

  it("C38 is taken by an update, and from several edges at once", async () => {
    const [a, b, c] = [await edge(h1, "a.example.com:443"), await edge(h2), await edge(h3)];
    await a.preview({ hostports: ["a.example.com:443"] });
    await b.preview({});
    await c.up({ hostports: [h1, h2, h3] });
    assert.deepEqual(served(a, b, c), [["a.example.com:443"], [], [h1, h2, h3]]);
  });

  it("C38 is taken when the holder is deleted without a diff, as in a forced replacement", async () => {
    const a = await edge(h1);
    const b = new Stack(tlsEdge);
    const made = b.up({ hostports: [h1] });
    await refused();
    await a.destroy();
    await made;
    assert.deepEqual(served(b), [[h1]]);
  });

  for (const [reads, what] of ["the list", "the holder"].entries()) {
    it(`C38 is taken when the holder was deleted after ${what} was read`, async () => {
      const a = await edge(h1);
      await a.preview({ hostports: [h2] });
      const b = new Stack(tlsEdge);
      emulator.faults.add({ method: "GET", skip: reads, answer: "held" });
      const made = b.up({ hostports: [h1] });
      await struck();
      await tlsEdges.delete(stranger, a.id);
      emulator.faults.clear();
      await made;
      assert.deepEqual(served(b), [[h1]]);
    });
  }

  it("C38 only what the plan drops is taken, whatever the holder got after the list", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h1] });
    emulator.faults.add({ method: "GET", skip: 1, answer: "held" });
    const made = failureOf(new Stack(tlsEdge).up({ hostports: [h2, h3] }), ServiceError);
    await struck();
    await tlsEdges.update(stranger, a.id, { hostports: [h1, h2, h3] });
    emulator.faults.clear();
    await made;
    assert.deepEqual(served(a), [[h1, h2, h3]]);
  });

  it("C38 the refusal is told when the list can't be read", async () => {
    await edge(h1);
    emulator.faults.add({ method: "GET", skip: 1, answer: { status: 403 } });
    const made = new Stack(tlsEdge).up({ hostports: [h1] });
    assert.equal((await failureOf(made, ServiceError)).status, 400);
  });

  it("C38 is taken when it was given up before the list of edges was read", async () => {
    const a = await edge(h1, h2);
    const b = new Stack(tlsEdge);
    emulator.faults.add({ method: "GET", skip: 1, answer: "held", work: false });
    const made = b.up({ hostports: [h2] });
    await struck();
    await a.up({ hostports: [h1] });
    emulator.faults.clear();
    await made;
    assert.deepEqual(served(a, b), [[h1], [h2]]);
  });

  for (const [how, run] of Object.entries({
    "at once": (works: (() => Promise<unknown>)[]) => Promise.all(works.map((work) => work())),
    "one by one": async (works: (() => Promise<unknown>)[]) => {
      for (const work of works) await work();
    },
  })) {
    for (const [title, ...hostports] of [
      ["is exchanged by two", h1, h2],
      ["goes round three", h1, h2, h3],
    ]) {
      it(`C38 ${title} edges, which are updated ${how}`, async () => {
        const stacks: Stack[] = [];
        for (const hostport of hostports) stacks.push(await edge(hostport as string));
        const after = [...hostports.slice(1), h1].map((hostport) => ({ hostports: [hostport] }));
        for (const [n, stack] of stacks.entries()) await stack.preview({ ...after[n] });
        await run(stacks.map((stack, n) => () => stack.up({ ...after[n] })));
        assert.deepEqual(
          served(...stacks),
          after.map(({ hostports }) => hostports),
        );
      });
    }
  }

  for (const [by, connection] of [
    ["", undefined],
    [" by another key of the account", "tlsedge-other"],
  ]) {
    it(`C38 the holder's own update${by} waits until its hostport was taken`, async () => {
      const undo = setEnv({
        TLSEDGE_OTHER_BASE_URL: emulator.url,
        TLSEDGE_OTHER_API_KEY: emulator.addKey(),
        TLSEDGE_OTHER_CA_FILE: process.env.TLSEDGE_CA_FILE,
        TLSEDGE_OTHER_REQUESTS_PER_MINUTE: "0",
      });
      try {
        const a = await edge(h1, h2);
        a.state = { ...a.state, connection: connection ?? a.state.connection };
        const after = { hostports: [h1, h3], connection };
        await a.preview(after);
        const b = new Stack(tlsEdge);
        emulator.faults.add({ method: "PATCH", path: at(a), answer: "held", work: false });
        const made = b.up({ hostports: [h2] });
        await struck();
        const updated = a.up(after);
        await someReads();
        emulator.faults.clear();
        await Promise.all([made, updated]);
        assert.deepEqual(served(a, b), [[h1, h3], [h2]]);
      } finally {
        undo();
      }
    });
  }

  it("C38 a holder that is being updated is read after its update", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h1, h3] });
    const b = new Stack(tlsEdge);
    emulator.faults.add({ method: "GET", path: at(a), answer: "held" });
    const made = b.up({ hostports: [h2] });
    await struck();
    const updated = a.up({ hostports: [h1, h3] });
    await someReads();
    emulator.faults.clear();
    await Promise.all([made, updated]);
    assert.deepEqual(served(a, b), [[h1, h3], [h2]]);
  });

  it("C38 is given back when the second write is refused", async () => {
    const [a, b] = [await edge(h1, h2), await edge(h3)];
    await a.preview({ hostports: [h1] });
    await b.preview({});
    emulator.faults.add({ method: "POST", skip: 1, answer: { status: 422 } });
    const made = new Stack(tlsEdge).up({ hostports: [h2, h3] });
    const { status } = await failureOf(made, ServiceError);
    assert.equal(status, 422);
    assert.deepEqual(served(a, b), [[h1, h2], [h3]]);
  });

  it("C38 the holder's own update waits until it was given back", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h1] });
    emulator.faults.add({ method: "POST", skip: 1, answer: { status: 422 } });
    emulator.faults.add({ method: "PATCH", skip: 1, answer: "held", work: false });
    const made = failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), ServiceError);
    await struck();
    const updated = a.up({ hostports: [h1] });
    await someReads();
    emulator.faults.clear();
    await Promise.all([made, updated]);
    assert.deepEqual(served(a), [[h1]]);
  });

  it("C38 that can't be given back is an error that names the edge and pulumi refresh", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h1] });
    emulator.faults.add(
      { method: "POST", skip: 1, answer: { status: 422 } },
      { method: "PATCH", skip: 1, answer: { status: 403 } },
    );
    const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
    assert.ok(message.includes(a.id) && message.includes("pulumi refresh"), message);
    assert.ok(message.includes("422"), message);
  });

  it("C38 that a deleted holder can't get back is no other error", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h1] });
    emulator.faults.add({ method: "PATCH", skip: 1, answer: "held", work: false });
    emulator.faults.add({ method: "POST", skip: 1, answer: { status: 422 } });
    const made = failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), ServiceError);
    await until(() => emulator.faults.list()[0]?.struck === 1);
    await a.destroy();
    emulator.faults.clear();
    assert.equal((await made).status, 422);
  });

  it("C38 is not given back when the answer to the second write was lost", async () => {
    const [a, b] = [await edge(h1, h2), await edge(h3)];
    await a.preview({ hostports: [h1] });
    const undo = setEnv({ TLSEDGE_MAX_RETRIES: "0" });
    try {
      emulator.faults.add({
        method: "PATCH",
        path: at(b),
        skip: 1,
        work: "cleared",
        answer: { status: 504 },
      });
      const updated = failureOf(b.up({ hostports: [h2, h3] }), ServiceError);
      const { message, status } = await updated;
      assert.equal(status, 504);
      assert.ok(message.includes(a.id) && message.includes("pulumi refresh"), message);
      emulator.faults.clear();
      await until(() => served(b)[0]?.length === 2);
      assert.deepEqual(served(a, b), [[h1], [h2, h3]]);
      // The next update goes on from there.
      assert.equal(await b.up({ hostports: [h2, h3] }), "update");
    } finally {
      undo();
    }
  });

  it("C38 nothing more is sent when the answer to the removal was lost", async () => {
    const [a, b] = [await edge(h1, h2), await edge(h3)];
    await a.preview({ hostports: [h1] });
    const undo = setEnv({ TLSEDGE_MAX_RETRIES: "0" });
    try {
      emulator.faults.add({ method: "PATCH", path: at(a), work: "cleared", answer: "reset" });
      const { message } = await failureOf(b.up({ hostports: [h2, h3] }), Error);
      assert.ok(message.includes(a.id) && message.includes("pulumi refresh"), message);
      assert.deepEqual(heard(), ["PATCH", "GET", "GET", "PATCH"]);
      emulator.faults.clear();
      await until(() => served(a)[0]?.length === 1);
      await b.up({ hostports: [h2, h3] });
      assert.deepEqual(served(a, b), [[h1], [h2, h3]]);
    } finally {
      undo();
    }
  });

  it("C38 a create is not lost when the answer to the removal was", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h1] });
    const undo = setEnv({ TLSEDGE_MAX_RETRIES: "0" });
    emulator.faults.add({ method: "PATCH", path: at(a), work: false, answer: "reset" });
    await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error).finally(undo);
    assert.deepEqual(heard(), ["POST", "GET", "GET", "PATCH"]);
    assert.deepEqual(records(), []);
  });

  it("C38 a refused removal leaves every hostport where it was", async () => {
    const [a, b] = [await edge(h1), await edge(h2)];
    await a.preview({});
    await b.preview({});
    // The newest comes first.
    emulator.faults.add({ method: "PATCH", path: at(a), answer: { status: 403 } });
    const made = new Stack(tlsEdge).up({ hostports: [h1, h2] });
    const { status } = await failureOf(made, ServiceError);
    assert.equal(status, 403);
    assert.deepEqual(served(a, b), [[h1], [h2]]);
    assert.deepEqual(heard(), ["POST", "GET", "GET", "PATCH", "GET", "PATCH", "PATCH"]);
  });

  it("C38 that the holder keeps is refused at once, and names it", async () => {
    const a = await edge(h1, h2);
    a.inputs = { hostports: [h1, h2] };
    await a.preview({ hostports: [h2, h1] });
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "86400" });
    try {
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
      assert.ok(message.includes(a.id) && message.includes(h2 as string), message);
      assert.deepEqual(heard(), ["POST", "GET"]);
    } finally {
      undo();
    }
  });

  it("C38 that the plan does not drop stays, also when it came there by hand", async () => {
    const a = await edge(h1);
    await tlsEdges.update(stranger, a.id, { hostports: [h1, h2] });
    await a.preview({ hostports: [h1], description: "other" });
    const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
    assert.ok(message.includes(a.id), message);
    assert.deepEqual(served(a), [[h1, h2]]);
  });

  it("C38 is taken after the diff of a refresh, which keeps it", async () => {
    const a = await edge(h1, h2);
    assert.ok(tlsEdge.diff);
    await tlsEdge.diff(a.id, a.state, a.inputs);
    await isTakenFrom(a);
  });

  describe("that a holder without a plan serves", () => {
    const pollMs = 250;
    /** {@link until}, with clocks that stand still. */
    async function turnsUntil(isSo: () => unknown): Promise<void> {
      for (let turn = 0; !isSo(); turn++) {
        assert.ok(turn < 1_000_000, `never came true: ${isSo}`);
        await setImmediate();
      }
    }
    /** Milliseconds until the create of an edge is refused, by a clock that only this test moves. */
    async function waitedFor(): Promise<number> {
      const failed = failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), Error);
      let isRefused = false;
      void failed.then(() => (isRefused = true));
      // The list of who serves what is read, and its reader has gone on.
      const isRead = () =>
        emulator.requests.some(({ method, status }) => method === "GET" && status);
      await turnsUntil(isRead);
      for (let turn = 0; turn < 1000; turn++) await setImmediate();
      let waited = 0;
      for (; !isRefused && waited < 60_000; waited += pollMs) {
        mock.timers.tick(pollMs);
        for (let turn = 0; turn < 20; turn++) await setImmediate();
      }
      return waited;
    }
    beforeEach(async () => {
      await edge(h1);
      await new Stack(tlsEdge).up({ hostports: [h3] });
      emulator.requests.length = 0;
      mock.timers.enable({ apis: ["setTimeout"] });
    });
    afterEach(() => mock.timers.reset());

    it("C38 is refused soon when all calls of the engine are answered, but those that wait", async () => {
      assert.equal(await waitedFor(), 5000);
    });

    it("C38 is refused later while the engine waits for another answer", async () => {
      emulator.faults.add({ method: "POST", answer: "held" });
      const other = new Stack(tlsEdge).up({ hostports: [h2] });
      await turnsUntil(() => emulator.faults.list()[0]?.struck === 1);
      assert.equal(await waitedFor(), 10_000);
      emulator.faults.clear();
      await other;
    });
  });

  describe("within a short deadline", () => {
    let undo: () => void;
    before(() => {
      undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" });
    });
    after(() => undo());

    /** A holder of h1 and h2 that only the diff knows of, and the message of who wants h2. */
    async function refusalAfter(diff: (holder: Stack) => Promise<unknown>): Promise<string> {
      emulator.reset();
      const a = await edge(h1, h2);
      await diff(a);
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
      assert.ok(message.includes(a.id), message);
      assert.deepEqual(served(a), [[h1, h2]]);
      return message;
    }

    it("C38 is refused in two sentences: who serves it since when, and what to do", async () => {
      for (const description of ["of another stack", undefined]) {
        emulator.reset();
        const { id } = await tlsEdges.create(stranger, { hostports: [h1], description });
        const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), Error);
        // What the service says ends with its codes; then comes one sentence of this package.
        const [, ...rest] = /^POST .*? \(ERR_\w+, op_\w+\)\. (.*)$/.exec(message) ?? [message];
        assert.ok(rest.length === 1 && !rest[0]?.includes(". "), message);
        const created = new Date(emulator.tlsEdges.get(id)?.created_at ?? "").toISOString();
        assert.ok(rest[0]?.includes(`${id} (created ${created})`), message);
        assert.ok(!message.includes("of another stack"), message);
        assert.match(message, /deleteBeforeReplace/);
      }
    });

    it("C38 is refused when this update does not change the holder, in two sentences", async () => {
      // What is deleted goes last: nothing in the same update can wait for that.
      assert.match(await refusalAfter(async () => {}), /make two updates/);
    });

    it("C38 is refused when only a refresh has diffed the holder", async () => {
      // The engine diffs from what was found to the old inputs.
      await refusalAfter(async ({ id, state }) => tlsEdge.diff?.(id, state, { hostports: [h1] }));
    });

    it("C38 is refused when the holder was diffed to inputs that are not known", async () => {
      await refusalAfter((a) => a.preview({ hostports: [h1, unknown] }));
      await refusalAfter((a) => a.preview({ hostports: unknown }));
    });

    it("C33 by its like says that it may be a renamed resource, then that it may be deleted", async () => {
      const a = await edge(h1);
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), Error);
      assert.ok(message.includes(a.id), message);
      assert.ok(message.includes("aliases"), message);
      assert.ok(message.indexOf("aliases") < message.indexOf("delete"), message);
    });
  });
});
