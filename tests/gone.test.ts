import assert from "node:assert/strict";
import { mock } from "node:test";
import { type Emulator, startEmulator } from "../emulator/server";
import { tlsEdge } from "../provider/dynamic";
import { Stack, setEnvFor } from "./support";

describe("what is gone from the service", () => {
  let emulator: Emulator;
  let restore: () => void;
  let told: ReturnType<typeof mock.method<typeof console, "error">>;

  // Each test is a run of its own: a service, and with it an account, that no other one has.
  beforeEach(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    told = mock.method(console, "error", () => {});
  });
  afterEach(async () => {
    told.mock.restore();
    restore();
    await emulator.close();
  });

  const warnings = () =>
    told.mock.calls.map(({ arguments: [line] }) => String(line)).filter((line) => /key/.test(line));

  async function stacks(count: number): Promise<Stack[]> {
    const all = Array.from({ length: count }, () => new Stack(tlsEdge));
    for (const [place, stack] of all.entries()) await stack.up({ description: `${place}` });
    return all;
  }
  const remove = (...all: Stack[]) => all.forEach(({ id }) => void emulator.tlsEdges.delete(id));
  const refresh = (all: Stack[]) => Promise.all(all.map((stack) => stack.refresh()));

  it("C7 is gone without a word when it is one thing, or one of several", async () => {
    const all = await stacks(3);
    remove(...all.slice(0, 1));
    assert.equal(await all[0]?.refresh(), "gone");
    remove(...all.slice(1, 2));
    assert.deepEqual(await refresh(all.slice(1)), ["gone", "same"]);
    assert.deepEqual(warnings(), []);
  });

  it("C7 asks once about the key when all of several things are", async () => {
    const all = await stacks(4);
    remove(...all);
    assert.deepEqual(await refresh(all), ["gone", "gone", "gone", "gone"]);
    assert.equal(warnings().length, 1);
    assert.ok(warnings()[0]?.includes(new URL(emulator.url).host));
  });

  it("C7 asks about the key in a destroy, too", async () => {
    const all = await stacks(2);
    remove(...all);
    for (const stack of all) await stack.destroy();
    assert.equal(warnings().length, 1);
  });

  it("C7 is not asked about when other things were found before", async () => {
    const all = await stacks(3);
    assert.equal(await all[0]?.refresh(), "same");
    remove(...all);
    assert.deepEqual(await refresh(all), ["gone", "gone", "gone"]);
    assert.deepEqual(warnings(), []);
  });

  it("C7 is not asked about while other things are being looked for", async () => {
    const all = await stacks(3);
    const [kept, ...others] = all;
    remove(...others);
    emulator.faults.add({ method: "GET", path: `/edges/tls/${kept?.id}`, answer: "held" });
    const looking = kept?.refresh();
    assert.deepEqual(await refresh(others), ["gone", "gone"]);
    emulator.faults.clear();
    assert.equal(await looking, "same");
    assert.deepEqual(warnings(), []);
  });

  it("C7 is not asked about when what was deleted was there", async () => {
    for (const stack of await stacks(3)) await stack.destroy();
    assert.deepEqual(warnings(), []);
  });
});
