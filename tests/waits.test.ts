import assert from "node:assert/strict";
import { mock } from "node:test";
import timers from "node:timers/promises";
import { tlsEdges } from "../client/tlsEdge";
import type { Fault } from "../emulator/server";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import type { Call } from "../provider/lifecycle/call";
import { create } from "../provider/lifecycle/create";
import { read } from "../provider/lifecycle/read";
import { remove } from "../provider/lifecycle/remove";
import { update } from "../provider/lifecycle/update";
import { Run } from "../provider/run/run";
import type { Properties } from "../provider/values/properties";
import { clientOf, engineCall, skipPauses, useEmulator } from "./support";

/** Each wait of a second or more, whatever its cause, says what it waits for and how long still. */
describe("a wait", () => {
  const emulator = useEmulator();
  const hostports = ["app.example.com:443"];

  type Work = (call: Call, id: string, state: Properties) => Promise<unknown>;
  const make: Work = (call) => create(call, { description: "d" });
  const take: Work = (call) => create(call, { hostports });
  const change: Work = (call, id, state) => update(call, id, state, { description: "changed" });
  const causes: [what: string, seconds: number, work: Work, ...faults: Fault[]][] = [
    ["a create that is answered 504", 119, make, { method: "POST", answer: { status: 504 } }],
    ["a create whose answer is lost", 15, make, { method: "POST", answer: "reset" }],
    ["a create that is answered 503", 15, make, { method: "POST", answer: { status: 503 } }],
    ["a hostport of another edge", 19, take],
    ["a read that is answered 503", 60, read, { method: "GET", answer: { status: 503 }, times: 9 }],
    [
      "an update that is refused for its rate",
      59,
      change,
      { method: "PATCH", answer: { status: 429, headers: { "Retry-After": "60" } } },
    ],
    [
      "a delete of a young object",
      60,
      remove,
      { answer: { status: 404 }, path: "/edges/tls/*", times: 99 },
    ],
  ];
  for (const [what, least, work, ...faults] of causes) {
    it(`C34: for ${what} is said from its beginning to its end`, async () => {
      skipPauses();
      mock.method(Math, "random", () => 1);
      const skip = timers.setTimeout;
      let row: string | undefined;
      let waited = 0;
      mock.method(timers, "setTimeout", (ms: number) => {
        waited += ms / 1000;
        assert.ok(ms < 1000 || / \d+ s /.test(String(row)), `${ms} ms in silence: ${row}`);
        return skip(ms);
      });
      const run = new Run(undefined, (severity, text, about) => {
        if (severity !== "status") return;
        assert.equal(about, "resource");
        row = text;
      });
      const wire = await tlsEdges.create(clientOf(emulator), { hostports });
      const state = { ...tlsEdge.toState(wire), accountTag: run.account().tag };
      emulator.faults.add(...faults);
      await work(engineCall(run, tlsEdge), wire.id, state).catch(() => undefined);
      assert.ok(waited >= least, `${waited} s`);
      assert.equal(row, undefined);
    });
  }
});
