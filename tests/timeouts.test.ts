import assert from "node:assert/strict";
import { ConnectionError } from "../client/errors";
import { type Emulator, startEmulator } from "../emulator/server";
import { tlsEdge } from "../provider/dynamic";
import { beginRun } from "../provider/process";
import { millisecondsOf } from "../provider/timeouts";
import { failureOf, Stack, setEnvFor } from "./support";

describe("the deadlines of a resource", () => {
  let emulator: Emulator;
  let restore: () => void;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
  });
  beforeEach(beginRun);
  afterEach(() => emulator.reset());
  after(() => {
    restore();
    return emulator.close();
  });

  const durations: [string, number | undefined][] = [
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["1.5s", 1500],
    ["250ms", 250],
    ["0s", undefined],
    ["1d", undefined],
    ["soon", undefined],
    ["", undefined],
  ];
  for (const [text, ms] of durations) {
    it(`C93 of ${JSON.stringify(text)} is ${ms} ms`, () => assert.equal(millisecondsOf(text), ms));
  }

  /** How the class passes the option on; spelt out, as state knows it. */
  const within = (...operations: string[]) => ({
    __timeouts: Object.fromEntries(operations.map((one) => [one, 200])),
  });
  const timesOut = async (work: Promise<unknown>) => {
    const { code, elapsedMs } = await failureOf(work, ConnectionError);
    assert.equal(code, "ETIMEDOUT");
    // The deadline of the connection gives the same error, but later.
    assert.ok(elapsedMs < 10_000, `${elapsedMs} ms`);
    emulator.faults.clear();
  };
  const silence = () => emulator.faults.add({ answer: "silence", times: 100 });

  it("C93: a read waits no longer than its deadline for a page of the list", async () => {
    const stacks = Array.from({ length: 4 }, () => new Stack(tlsEdge));
    for (const stack of stacks) await stack.up(within("read"));
    emulator.faults.add({ method: "GET", path: "/edges/tls", answer: "held", times: 100 });
    // Each is read by itself then.
    await Promise.all(stacks.map((stack) => stack.refresh()));
    emulator.faults.clear();
  });

  it("C39 C93: a young object that is not found is asked for until the deadline, and is not gone", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up(within("read"));
    emulator.faults.add({
      method: "GET",
      path: "/edges/tls/*",
      answer: { status: 404 },
      times: 99,
    });
    const none = { fields: { tls_edges: [] } };
    emulator.faults.add({ method: "GET", path: "/edges/tls", answer: none, times: 99 });
    const error = await failureOf(stack.refresh(), Error);
    assert.ok(!(error instanceof RangeError), error.message);
    assert.ok(error.message.includes(stack.id), error.message);
  });

  it("C93 end its reads, updates and deletes, of which state tells the latter", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up({ description: "one", ...within("read", "update", "delete") });
    for (const operation of [
      () => stack.refresh(),
      () => stack.up({ description: "two", ...within("update") }),
      () => stack.destroy(),
    ]) {
      silence();
      await timesOut(operation());
    }
    await stack.up({ description: "three", ...within("delete") });
    await stack.refresh();
    silence();
    await timesOut(stack.destroy());
  });

  // Through the plugin they come with each call, and are not among the inputs.
  it("C25 C93 are no change by themselves, and stand in no request", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up({ description: "one" });
    assert.equal(await stack.up({ description: "one", ...within("delete") }), "same");
    assert.equal(await stack.up({ description: "two", ...within("delete") }), "update");
    assert.equal(await stack.up({ description: "two" }), "same");
    assert.deepEqual(
      emulator.requests.flatMap(({ body }) => body ?? []),
      [{ description: "one" }, { description: "two" }],
    );
  });
});
