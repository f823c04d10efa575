import assert from "node:assert/strict";
import { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { tlsEdge } from "../provider/dynamic";
import { failureOf, Stack, setEnv, setEnvFor, until } from "./support";

const [h1, h2, h3] = ["one.example.com:443", "two.example.com:443", "three.example.com:443"];

describe("a hostport that another edge serves", () => {
  let emulator: Emulator;
  let restore: () => void;
  let stranger: Client;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    const { TLSEDGE_CA_FILE: caFile } = process.env;
    stranger = new Client({ baseUrl: emulator.url, apiKey: emulator.apiKey, caFile });
  });
  beforeEach(() => emulator.reset());
  after(() => {
    restore();
    return emulator.close();
  });

  const heard = () => emulator.requests.splice(0).map(({ method }) => method);
  const served = (...stacks: Stack[]) =>
    stacks.map(({ id }) => emulator.tlsEdges.get(id)?.hostports);
  /** Once a write was refused, and the list of who serves what was read. */
  const refused = (times = 1) =>
    until(() => {
      const lists = emulator.requests.filter(({ method, status }) => method === "GET" && status);
      return lists.length === times;
    });

  /** An edge of an earlier update: this process knows nothing of it. */
  async function edge(...hostports: string[]): Promise<Stack> {
    const { id } = await tlsEdges.create(stranger, { hostports });
    const stack = Object.assign(new Stack(tlsEdge), { id, state: { uri: "x" } });
    await stack.refresh();
    heard();
    return stack;
  }

  it("C38 is taken when the holder's diff and update come first and last", async () => {
    const a = await edge(h1, "two.EXAMPLE.com:443");
    const b = new Stack(tlsEdge);
    await a.preview({ hostports: [h1] });
    const made = b.up({ hostports: ["Two.example.com:443"] });
    await refused();
    await a.up({ hostports: [h1] });
    await made;
    assert.deepEqual(served(a, b), [[h1], ["Two.example.com:443"]]);
    assert.deepEqual(heard(), ["POST", "GET", "PATCH", "POST"]);
  });

  it("C38 is taken when the holder is diffed after the refusal", async () => {
    const a = await edge(h1, h2);
    const b = new Stack(tlsEdge);
    const made = b.up({ hostports: [h2] });
    await refused();
    await a.up({ hostports: [h1] });
    await made;
    assert.deepEqual(served(a, b), [[h1], [h2]]);
  });

  it("C38 is taken when the holder's update is done on the service and not yet answered", async () => {
    const a = await edge(h1);
    const b = new Stack(tlsEdge);
    emulator.faults.add(
      { method: "POST", answer: { afterMs: 300 } },
      { method: "PATCH", answer: { afterMs: 1000 } },
    );
    const made = b.up({ hostports: [h1] });
    await until(() => emulator.faults.list()[0]?.struck === 1);
    const updated = a.up({ hostports: [h2] });
    await Promise.all([made, updated]);
    assert.deepEqual(served(a, b), [[h2], [h1]]);
  });

  it("C30 a refusal for another reason is not tried again while other edges are created", async () => {
    emulator.faults.add({ method: "POST", answer: "held" });
    const other = new Stack(tlsEdge).up({ hostports: [h2] });
    await until(() => emulator.faults.list()[0]?.struck === 1);
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), ServiceError);
    emulator.faults.clear();
    await other;
    assert.deepEqual(heard(), ["POST", "POST", "GET"]);
  });

  it("C38 is taken from an edge that is left with none", async () => {
    const a = await edge(h1);
    await a.preview({});
    const b = new Stack(tlsEdge);
    const made = b.up({ hostports: [h1] });
    await refused();
    await a.up({});
    await made;
    assert.deepEqual(served(a, b), [[], [h1]]);
  });

  it("C38 is taken by an update, and from several edges at once", async () => {
    const [a, b, c] = [await edge(h1, "a.example.com:443"), await edge(h2), await edge(h3)];
    const updated = c.up({ hostports: [h1, h2, h3] });
    await refused();
    await b.up({ hostports: [] });
    emulator.faults.add({ path: `/edges/tls/${a.id}`, answer: "held", work: false });
    const last = a.up({ hostports: ["a.example.com:443"] });
    await until(() => emulator.faults.list()[0]?.struck === 1);
    emulator.faults.clear();
    await Promise.all([last, updated]);
    assert.deepEqual(served(c), [[h1, h2, h3]]);
  });

  it("C38 is taken when the holder is deleted, as in a replacement", async () => {
    const a = await edge(h1);
    const b = new Stack(tlsEdge);
    const made = b.up({ hostports: [h1] });
    await refused();
    await a.destroy();
    await made;
    assert.deepEqual(served(b), [[h1]]);
  });

  it("C38 is taken when it was given up before the list of edges was read", async () => {
    const a = await edge(h1, h2);
    const b = new Stack(tlsEdge);
    emulator.faults.add({ method: "GET", answer: "held", work: false });
    const made = b.up({ hostports: [h2] });
    await until(() => emulator.faults.list()[0]?.struck === 1);
    await a.up({ hostports: [h1] });
    emulator.faults.clear();
    await made;
    assert.deepEqual(served(a, b), [[h1], [h2]]);
  });

  it("C38 that the holder keeps is refused at once, and names it", async () => {
    const a = await edge(h1, h2);
    await a.preview({ hostports: [h2] });
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "86400" });
    try {
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
      assert.ok(message.includes(a.id) && message.includes(h2 as string), message);
      assert.deepEqual(heard(), ["POST", "GET"]);
    } finally {
      undo();
    }
  });

  it("C38 is refused when the holder's update fails", async () => {
    const a = await edge(h1, h2);
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "20" });
    try {
      await a.preview({ hostports: [h1] });
      const made = failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
      await refused();
      emulator.faults.add({ method: "PATCH", answer: { status: 401 } });
      await failureOf(a.up({ hostports: [h1] }), Error);
      assert.ok((await made).message.includes(a.id));
      assert.deepEqual(heard(), ["POST", "GET", "PATCH"]);
    } finally {
      undo();
    }
  });

  it("C38 that two edges exchange is refused, and says to do it in two updates", async () => {
    const [a, b] = [await edge(h1), await edge(h2)];
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "60" });
    try {
      await a.preview({ hostports: [h2] });
      await b.preview({ hostports: [h1] });
      const both = [a.up({ hostports: [h2] }), b.up({ hostports: [h1] })];
      for (const { message } of await Promise.all(both.map((one) => failureOf(one, Error)))) {
        assert.match(message, /exchange/);
      }
      assert.deepEqual(served(a, b), [[h1], [h2]]);
    } finally {
      undo();
    }
  });

  describe("within a short deadline", () => {
    let undo: () => void;
    before(() => {
      undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" });
    });
    after(() => undo());

    it("C38 is refused when the holder's update does not come", async () => {
      const a = await edge(h1, h2);
      await a.preview({ hostports: [h1] });
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2] }), Error);
      assert.ok(message.includes(a.id), message);
    });

    it("C38 is refused when it is nobody's of this update: it is not waited for", async () => {
      const a = await edge(h2);
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h2, h3] }), Error);
      assert.ok(message.includes(a.id), message);
      // What is deleted goes last: nothing in the same update can wait for that.
      assert.match(message, /deleted last/);
    });

    it("C33 by its like says that it may be a renamed resource, then that it may be deleted", async () => {
      const a = await edge(h1);
      const { message } = await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), Error);
      assert.ok(message.includes(a.id), message);
      assert.ok(message.includes("aliases"), message);
      assert.ok(message.indexOf("aliases") < message.indexOf("delete"), message);
    });
  });

  it("C30 is no matter for a request that is refused for another reason", async () => {
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(new Stack(tlsEdge).up({ hostports: [h1] }), Error);
    assert.deepEqual(heard(), ["POST", "GET"]);
  });
});
