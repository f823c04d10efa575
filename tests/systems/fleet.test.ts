import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";

it("the recipe for a fleet has a job for each stack file", async () => {
  const recipe = await readFile(join(repository, "docs", "recipes", "fleet.yml"), "utf8");
  const [, list] = parse(recipe).jobs.stacks.steps;
  const output = join(newFolder(), "output");
  const cwd = join(repository, "examples", "fleet");
  await promisify(execFile)("bash", ["-c", list.run], {
    cwd,
    env: { ...process.env, GITHUB_OUTPUT: output },
  });
  const [, names = ""] = (await readFile(output, "utf8")).trim().split("names=");
  assert.deepEqual(JSON.parse(names), ["ap-1", "eu-1", "eu-2", "us-1", "us-2"]);
});

describe("the example fleet, on the real engine: one program, many stacks at a time", () => {
  let project: Project;
  afterEach(() => project?.close());

  const held = () => ({
    edges: project.emulator.tlsEdges.list(),
    certificates: project.emulator.tlsCertificates.list(),
  });

  interface Outcome {
    stack: string;
    result: string;
    changes: Record<string, number>;
    error?: string;
  }

  beforeEach(async () => {
    project = await Project.copyOf({ "examples/fleet": "." });
    await project.certificate("certificate", { commonName: "*.example.com" });
  });
  const fleet = (...args: string[]) => project.start(["fleet.mts", ...args], process.execPath).done;
  async function outcomes(...args: string[]) {
    const { code, output } = await fleet(...args, "--json");
    return { code, outcomes: JSON.parse(output) as Outcome[] };
  }
  const results = (all: Outcome[]) => all.map(({ stack, result }) => `${stack} ${result}`);

  it("makes all, changes nothing the second time, and takes all away", async () => {
    for (const region of ["ap-1", "us-1", "us-2"]) {
      await rm(join(project.folder, `Pulumi.${region}.yaml`));
    }
    const first = await fleet("up", "--concurrency", "2");
    assert.equal(first.code, 0, first.output);
    assert.deepEqual(
      held()
        .edges.map(({ hostports }) => String(hostports))
        .sort(),
      ["eu-1.example.com:443", "eu-2.example.com:443"],
    );
    assert.match(first.output, /2 of 2 done/);
    const second = await outcomes("up");
    assert.equal(second.outcomes.length, 2);
    for (const { changes } of second.outcomes) assert.deepEqual(changes, { same: 4 });
    assert.equal((await fleet("destroy")).code, 0);
    assert.deepEqual(held(), { edges: [], certificates: [] });
  });

  it("stops at the first that fails, or carries on when told to", async () => {
    await project.file("Pulumi.eu-1.yaml", "config:\n  tlsedge-fleet:backendId: bkdtg_1\n");
    const stopped = await outcomes("up", "eu-1", "eu-2", "--concurrency", "1");
    assert.equal(stopped.code, 1);
    assert.deepEqual(results(stopped.outcomes), ["eu-1 failed", "eu-2 not started"]);
    assert.match(stopped.outcomes[0]?.error ?? "", /hostport/);
    const carried = await outcomes("up", "eu-1", "eu-2", "--concurrency", "1", "--carry-on");
    assert.equal(carried.code, 1);
    assert.deepEqual(results(carried.outcomes), ["eu-1 failed", "eu-2 done"]);
  });

  it("C37 says how to unlock a stack whose update was killed", async () => {
    await project.select("eu-1");
    // Before any create: the next run would wait a minute for a lost one, which other tests show.
    await project.killed("engine", { method: "GET", path: "/edges/tls", answer: "silence" }, "up");
    const { code, outcomes: all } = await outcomes("up", "eu-1");
    assert.equal(code, 1);
    const [, unlock] = /unlock it: pulumi (.*)$/.exec(all[0]?.error ?? "") ?? [];
    const told = await project.start(unlock?.split(" ") ?? []).done;
    assert.equal(told.code, 0, told.output);
    await project.refresh("--clear-pending-creates");
  });

  it("refuses a stack that has no config, and a typo", async () => {
    for (const args of [["up", "eu-9"], ["upp"], ["up", "--concurency", "2"], []]) {
      const { code, output } = await fleet(...args);
      assert.equal(code, 1);
      assert.match(output, /^error: |^Usage: /m);
    }
  });
});
