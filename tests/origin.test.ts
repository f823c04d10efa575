import assert from "node:assert/strict";
import { type Emulator, startEmulator } from "../emulator/server";
import { tlsEdge } from "../provider/dynamic";
import { failureOf, Stack, setEnv, setEnvFor, takeRequests } from "./support";

describe("what another service has made", () => {
  let maker: Emulator;
  let other: Emulator;
  let stack: Stack;
  let restore: () => void;

  before(async () => {
    [maker, other] = await Promise.all([startEmulator(), startEmulator()]);
  });
  beforeEach(async () => {
    const undo = setEnvFor(maker);
    stack = new Stack(tlsEdge);
    await stack.up({ description: "a" });
    undo();
    restore = setEnvFor(other);
    other.reset();
  });
  afterEach(() => restore());
  after(() => Promise.all([maker.close(), other.close()]));

  const works: [string, () => Promise<unknown>][] = [
    ["refreshed", () => stack.refresh()],
    ["updated", () => stack.up({ description: "b" })],
    ["deleted", () => stack.destroy()],
  ];
  for (const [what, work] of works) {
    it(`C7 is not ${what}: the error names both services, and nothing is asked`, async () => {
      const { message } = await failureOf(work(), Error);
      for (const name of [stack.id, maker.url, other.url, "TLSEDGE_MOVED_FROM"]) {
        assert.ok(message.includes(name), message);
      }
      assert.deepEqual(takeRequests(other), []);
      assert.equal(maker.tlsEdges.get(stack.id)?.description, "a");
      assert.equal(stack.state.description ?? stack.inputs.description, "a");
    });
  }

  it("C7 is its own again where the service has moved: once refreshed, for good", async () => {
    const moved = new Stack(tlsEdge);
    await moved.up({ description: "a" });
    moved.state.uri = `https://old.example/edges/tls/${moved.id}`;
    await failureOf(moved.refresh(), Error);
    const settings = setEnv({ TLSEDGE_MOVED_FROM: "https://old.example/v1" });
    assert.equal(await moved.refresh(), "same");
    assert.ok(String(moved.state.uri).startsWith(other.url));
    settings();
    assert.equal(await moved.refresh(), "same");
    assert.equal(await moved.up({ description: "b" }), "update");
    await moved.destroy();
    assert.deepEqual(other.tlsEdges.list(), []);
  });

  it("C7 is judged by an absolute uri alone", async () => {
    for (const uri of ["", "/edges/tls/edgtls_1", "not a uri", "urn:edge:1", null]) {
      stack.state.uri = uri;
      await stack.destroy();
    }
    assert.equal(takeRequests(other).filter(({ method }) => method === "DELETE").length, 5);
  });
});
