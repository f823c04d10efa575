import assert from "node:assert/strict";
import type { Fault } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

throughBothDoors("customTimeouts", (door) => {
  let project: Project;
  const write = (description: string, timeouts: string, name = "e") =>
    project.program(`
      new tlsedge.TLSEdge("${name}", { description: "${description}" }, { ${timeouts} });`);
  const all = 'customTimeouts: { create: "0h1s", update: "1s", delete: "1000ms" }';
  /** Fails with the operation's own deadline, and not that of a connection. */
  async function timesOut(method: Fault["method"], ...command: string[]) {
    project.emulator.faults.add({ method, answer: "silence", times: 100 });
    const { output } = await project.fails(...command, "--yes", "--skip-preview");
    assert.match(output, /in 1 s: no answer in time/);
    project.emulator.faults.clear();
  }

  before(async () => {
    project = await Project.create({}, {}, door);
    await write("one", all);
    await project.up();
  });
  after(() => project?.close());

  it("C93 are the deadlines of an update and a delete", async () => {
    await write("two", all);
    await timesOut("PATCH", "up");
    await timesOut("DELETE", "destroy");
  });

  it("C93 are the deadline of a create", async () => {
    await write("one", all, "late");
    await timesOut("POST", "up");
  });
});
