import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Fault } from "../../emulator/server";
import { isEngineAlive } from "../../provider/engine";
import { Project } from "../../tools/engine";
import { left, type Process } from "../../tools/processes";

describe("a provider whose engine was killed with ten creates under way", () => {
  let project: Project;

  beforeEach(async () => {
    project = await Project.create();
    // One list and ten creates start at once; the other two creates wait for the limit.
    project.env.TLSEDGE_REQUESTS_PER_MINUTE = "11";
    // Then an answer makes the provider write to the stderr that nobody reads any more.
    project.env.NODE_DEBUG = "tlsedge";
    await project.program(`
      for (let n = 0; n < 12; n++) {
        new tlsedge.TLSEdge("edge" + n, { hostports: ["app" + n + ".example.com:443"] });
      }`);
  });
  afterEach(() => project?.close());

  const up = ["up", "--parallel", "12"];
  const posts = () => project.emulator.requests.filter(({ method }) => method === "POST").length;
  const providers = (started: Process[]) =>
    started.filter(({ command }) => /dynamic-provider|resource-pulumi-nodejs/.test(command));

  const portOf = (started: Process[]) =>
    Number(/:(\d+)$/.exec(providers(started)[0]?.command ?? "")?.[1]);

  async function gone(started: Process[]): Promise<void> {
    const ours = providers(started);
    assert.ok(ours.length > 0);
    for (let turn = 0; turn < 300; turn++) {
      if (left(ours).length === 0) return;
      await setTimeout(200);
    }
    assert.fail(`still there: ${left(ours).map(({ command }) => command)}`);
  }

  it("gets the answers of what it has sent, sends no more, and exits; C84 the next update takes them", async () => {
    const held: Fault = { method: "POST", answer: "held", times: 10 };
    await project.struck(held, up, async (engine, started) => {
      process.kill(engine, "SIGKILL");
      // A create that is answered before the port is closed takes the engine for alive.
      while (await isEngineAlive(portOf(started)));
      project.emulator.faults.clear();
      await gone(started);
    });
    assert.equal(posts(), 10);
    const made = project.emulator.tlsEdges.list().map(({ id }) => id);
    assert.equal(made.length, 10);
    await project.succeedsQuietly("cancel", "--yes");
    project.env.TLSEDGE_TAKE_EQUAL = "1";
    project.env.TLSEDGE_REQUESTS_PER_MINUTE = "0";
    const run = await project.up();
    assert.equal(run.writes.length, 2, "the two that were not sent");
    assert.equal(project.emulator.tlsEdges.list().length, 12);
  });

  it("exits when no answer comes, too", async () => {
    // The creates wait for an answer until their deadline, which the engine's end comes before.
    project.env.TLSEDGE_TIMEOUT_SECONDS = "10";
    const lost: Fault = { method: "POST", answer: "silence", times: 10 };
    await project.struck(lost, up, async (engine, started) => {
      process.kill(engine, "SIGKILL");
      await gone(started);
    });
    assert.equal(posts(), 10);
  });
});
