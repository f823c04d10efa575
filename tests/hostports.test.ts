import assert from "node:assert/strict";
import { mock } from "node:test";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { tlsEdge } from "../provider/dynamic";
import { beginRun } from "../provider/process";
import {
  clientOf,
  failureOf,
  holdClocks,
  Stack,
  setEnv,
  setEnvFor,
  skipPauses,
  unknown,
  until,
} from "./support";

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
  beforeEach(() => {
    beginRun();
    emulator.reset();
  });
  afterEach(() => mock.reset());
  after(() => {
    restore();
    return emulator.close();
  });

  const served = (...stacks: Stack[]) =>
    stacks.map(({ id }) => emulator.tlsEdges.get(id)?.hostports);
  const writes = () =>
    emulator.requests.flatMap(({ method, path }) => (method === "GET" ? [] : `${method} ${path}`));
  /** Once a write was refused, and the list of who serves what was read. */
  const refused = () =>
    until(() => emulator.requests.some(({ status }) => status === 400) && hasRead());
  const hasRead = () => {
    const { method, status } = emulator.requests.at(-1) ?? {};
    return method === "GET" && status === 200;
  };
  /** Once the last fault was met by a request. */
  const struck = () => until(() => emulator.faults.list().at(-1)?.struck === 1);
  const at = ({ id }: Stack) => `/edges/tls/${id}`;

  /** An edge of an earlier update: this run knows nothing of it. */
  async function edge(...hostports: string[]): Promise<Stack> {
    const { id } = await tlsEdges.create(stranger, { hostports });
    const stack = Object.assign(new Stack(tlsEdge), { id, state: { uri: "x" } });
    await stack.refresh();
    emulator.requests.length = 0;
    return stack;
  }

  /** A new edge takes h2 of a holder of h1 and h2, of which this happens after the refusal. */
  async function takenAfter(holder: Stack, work: () => Promise<unknown>): Promise<void> {
    const taker = new Stack(tlsEdge);
    const made = taker.up({ hostports: [h2] });
    await refused();
    await work();
    await made;
    assert.deepEqual(served(holder, taker), [[h1], [h2]]);
    // Nobody but the holder's own update writes to it.
    const ofHolder = writes().filter((one) => one.endsWith(at(holder)));
    assert.deepEqual(ofHolder, [`PATCH ${at(holder)}`]);
  }

  it("C38 is taken when the holder's own update has given it up, diffed before or after the refusal", async () => {
    for (const isDiffed of [true, false]) {
      emulator.reset();
      const holder = await edge(h1, h2);
      if (isDiffed) await holder.preview({ hostports: [h1] });
      await takenAfter(holder, () => holder.up({ hostports: [h1] }));
      beginRun();
    }
  });

  it("C38 is taken after the diff of a refresh, which keeps it", async () => {
    const holder = await edge(h1, h2);
    await tlsEdge.diff?.(holder.id, holder.state, holder.inputs);
    await takenAfter(holder, () => holder.up({ hostports: [h1] }));
  });

  it("C38 is taken from several edges at once, by an update", async () => {
    const [a, b, c] = [await edge(h1, "a.example.com:443"), await edge(h2), await edge(h3)];
    const taking = c.up({ hostports: [h1, h2, h3] });
    await refused();
    await Promise.all([a.up({ hostports: ["a.example.com:443"] }), b.up({})]);
    await taking;
    assert.deepEqual(served(a, b, c), [["a.example.com:443"], [], [h1, h2, h3]]);
  });

  it("C38 goes along a chain of updates, the last one first", async () => {
    const [a, b, c] = [await edge(h1), await edge(h2), await edge(h3)];
    const done = [a.up({ hostports: [h2] }), b.up({ hostports: [h3] })];
    await refused();
    await c.up({ hostports: [] });
    await Promise.all(done);
    assert.deepEqual(served(a, b, c), [[h2], [h3], []]);
  });

  it("C38 is taken when the holder is deleted, as in a replacement", async () => {
    const holder = await edge(h1);
    const taker = new Stack(tlsEdge);
    const made = taker.up({ hostports: [h1] });
    await refused();
    await holder.destroy();
    await made;
    assert.deepEqual(served(taker), [[h1]]);
  });

  it("C38 is taken when another process gives it up: the list is read again", async () => {
    skipPauses();
    const holder = await edge(h1, h2);
    await holder.preview({ hostports: [h1] });
    emulator.faults.add({ method: "GET", skip: 1, answer: "held" });
    const taker = new Stack(tlsEdge);
    const made = taker.up({ hostports: [h2] });
    await struck();
    // The list that was read before shows the hostport.
    await tlsEdges.update(stranger, holder.id, { hostports: [h1] });
    emulator.faults.clear();
    await made;
    assert.deepEqual(served(holder, taker), [[h1], [h2]]);
  });

  it("C38 is taken when it was given up before the list of edges was read", async () => {
    const [a, b] = [await edge(h1, h2), new Stack(tlsEdge)];
    emulator.faults.add({ method: "GET", skip: 1, answer: "held", work: false });
    const made = b.up({ hostports: [h2] });
    await struck();
    await a.up({ hostports: [h1] });
    emulator.faults.clear();
    await made;
    assert.deepEqual(served(a, b), [[h1], [h2]]);
  });

  for (const [title, ...hostports] of [
    ["is exchanged by two", h1, h2],
    ["goes round three", h1, h2, h3],
  ])
    it(`C38 that ${title} edges is refused at once, and the error says how: two updates`, async () => {
      const stacks: Stack[] = [];
      for (const hostport of hostports) stacks.push(await edge(hostport as string));
      const after = [...hostports.slice(1), h1].map((hostport) => ({ hostports: [hostport] }));
      for (const [n, stack] of stacks.entries()) await stack.preview({ ...after[n] });
      const done = stacks.map((stack, n) => failureOf(stack.up({ ...after[n] }), Error));
      const messages = (await Promise.all(done)).map(({ message }) => message);
      assert.ok(
        messages.some((message) =>
          /waits for a hostport of this edge, too. Make two/.test(message),
        ),
        messages.join("\n"),
      );
      assert.deepEqual(
        served(...stacks),
        hostports.map((hostport) => [hostport]),
      );
      // In two updates it works.
      beginRun();
      await stacks[0]?.up({ hostports: [] });
      for (const [n, stack] of [...stacks.entries()].reverse()) await stack.up({ ...after[n] });
      assert.deepEqual(
        served(...stacks),
        after.map((one) => one.hostports),
      );
    });

  it("C38 that the holder gives up too late is refused after 20 s, with --parallel 1 as the cause", async () => {
    skipPauses();
    const holder = await edge(h1, h2);
    await holder.preview({ hostports: [h1] });
    const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
    assert.match(message, /has not done so in time.*--parallel 1/);
    assert.ok(message.includes(holder.id), message);
    assert.deepEqual(served(holder), [[h1, h2]]);
  });

  it("C38 that the holder does not give up, because its update fails, is refused then", async () => {
    const holder = await edge(h1, h2);
    const failed = failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
    await refused();
    emulator.faults.add({ method: "PATCH", answer: { status: 403 } });
    await failureOf(holder.up({ hostports: [h1] }), ServiceError);
    assert.match((await failed).message, /its own update failed: see its error/);
  });

  it("C30 a refusal for another reason is not tried again", async () => {
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), ServiceError);
    assert.deepEqual(writes(), ["POST /edges/tls"]);
  });

  it("C38 the refusal is told when the list can't be read", async () => {
    await edge(h1);
    emulator.faults.add({ method: "GET", skip: 1, answer: { status: 403 } });
    const made = new Stack(tlsEdge).up({ hostports: [h1] });
    assert.equal((await failureOf(made, ServiceError)).status, 400);
  });

  it("C38 that the holder keeps is refused at once, and names it", async () => {
    const a = await edge(h1, h2);
    a.inputs = { hostports: [h1, h2] };
    await a.preview({ hostports: [h2, h1] });
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "86400" });
    try {
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
      assert.match(message, /If another stack has that edge|exactly this content/);
      assert.ok(message.includes(a.id) && message.includes(h2 as string), message);
      assert.deepEqual(writes(), ["POST /edges/tls"]);
    } finally {
      undo();
    }
  });

  it("C38: what the holder's own update did is known without another list", async () => {
    // The clock stands still: no later list is due.
    holdClocks();
    const holder = await edge(h1, h2);
    await takenAfter(holder, () => holder.up({ hostports: [h1] }));
    const lists = emulator.requests.filter(({ path }) => path.includes("?"));
    assert.equal(lists.length, 2, "the mark, and the holders");
  });

  it("C38: is waited for until the list was read for the sixth time, after 20 s", async () => {
    skipPauses();
    const holder = await edge(h1, h2);
    await holder.preview({ hostports: [h1] });
    emulator.requests.length = 0;
    const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
    assert.match(message, /not done so in time/);
    const lists = emulator.requests.filter(({ path }) => path.includes("?"));
    assert.equal(lists.length, 1 + 6, "the mark, and the holders");
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

    it("C38 is refused: who serves it since when, and what to do", async () => {
      for (const description of ["of another stack", undefined]) {
        emulator.reset();
        const { id } = await tlsEdges.create(stranger, { hostports: [h1], description });
        const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), Error);
        const created = new Date(emulator.tlsEdges.get(id)?.created_at ?? "").toISOString();
        assert.ok(message.includes(`${id} (created ${created})`), message);
        assert.ok(!message.includes("of another stack"), message);
        assert.match(message, /deleteBeforeReplace/);
      }
    });

    it("C38 is refused when this update does not change the holder", async () => {
      // What is deleted goes last: nothing in the same update can wait for that.
      assert.match(await refusalAfter(async () => {}), /make two updates/);
    });

    it("C38 is refused when only a refresh has diffed the holder", async () => {
      // The engine diffs from what was found to the old inputs.
      const diff = async ({ id, state }: Stack) => tlsEdge.diff?.(id, state, { hostports: [h1] });
      assert.match(await refusalAfter(diff), /make two updates/);
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
