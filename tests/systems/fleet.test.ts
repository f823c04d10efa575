import assert from "node:assert/strict";
import { Project } from "../../tools/engine";

describe("the example fleet, on the real engine: one program, many stacks at a time", () => {
  let project: Project;
  after(() => project?.close());
  before(async () => {
    project = await Project.copyOf({ "examples/fleet": "." });
    const dnsNames = ["*.example.com"];
    await project.certificate("certificate", { commonName: "*.example.com", dnsNames });
  });

  /** Gives the exit code, and the last line of each stack. */
  async function fleet(...args: string[]) {
    const { code, output } = await project.start(["fleet.mts", ...args], process.execPath).done;
    const lines = output.split("\n").map((line) => line.split(": "));
    return { code, output, ended: Object.fromEntries(lines) };
  }

  it("deploys stacks, and takes them away", async () => {
    const { tlsEdges } = project.emulator;
    const { code, output, ended } = await fleet("up", "us-2", "ap-1");
    assert.deepEqual([code, ended["us-2"], ended["ap-1"]], [0, "done", "done"], output);
    assert.match(output, /^ap-1: {5}\+ 4 created$/m);
    const hostports = tlsEdges.list().flatMap((edge) => edge.hostports ?? []);
    assert.deepEqual(hostports.sort(), ["ap-1.example.com:443", "us-2.example.com:443"]);
    assert.equal((await fleet("destroy", "us-2", "ap-1")).code, 0);
    assert.deepEqual(tlsEdges.list(), []);
  });

  it("names those that fail, and starts no other then", async () => {
    const first = ["ap-1", "eu-1", "eu-2", "us-1"];
    for (const name of first)
      await project.file(`Pulumi.${name}.yaml`, "config:\n  tlsedge-fleet:backendId: bkdtg_1\n");
    const { code, output, ended } = await fleet("up");
    assert.equal(code, 1, output);
    for (const name of first) assert.equal(ended[name], "failed", output);
    assert.equal(ended["us-2"], "not started", output);
    assert.match(output, /^eu-1: .*missing configuration value 'hostport'/m);
  });

  it("refuses a stack that has no config, and a typo", async () => {
    for (const args of [["up", "eu-9"], ["upp"]]) {
      const { code, output } = await fleet(...args);
      assert.equal(code, 2);
      assert.match(output, /^node fleet\.mts .*us-2$/m);
    }
  });
});
