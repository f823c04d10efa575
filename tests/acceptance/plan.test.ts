import assert from "node:assert/strict";
import { Client } from "../../client/client";
import { tlsEdges } from "../../client/tlsEdge";
import { Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

throughBothDoors("what a plan asks", (door) => {
  let project: Project;
  const edge = (name: string, args: object) =>
    `new tlsedge.TLSEdge("${name}", ${JSON.stringify(args)});`;
  const list = "GET /edges/tls?limit=100";

  before(async () => {
    project = await Project.create({}, {}, door);
  });
  after(() => project?.close());

  /** An edge of another stack, with a text that could be a secret. */
  async function stranger(args: object): Promise<string> {
    const { url: baseUrl, apiKey } = project.emulator;
    const client = new Client({ baseUrl, apiKey, caFile: project.env.TLSEDGE_CA_FILE });
    return (await tlsEdges.create(client, args)).id;
  }

  it("C19 a refused key fails the plan, once, before any write", async () => {
    const key = project.env.TLSEDGE_API_KEY;
    project.env.TLSEDGE_API_KEY = "wrong";
    try {
      await project.program(edge("a", { hostports: ["a:443"] }) + edge("b", {}));
      const { output, requests } = await project.fails("preview");
      const [, diagnostics = ""] = output.split("Diagnostics:");
      assert.equal(diagnostics.split("Check the API key").length, 2, output);
      assert.deepEqual(requests, [list]);
    } finally {
      project.env.TLSEDGE_API_KEY = key;
    }
  });

  it("C19 is one read a kind; a plan without changes asks nothing", async () => {
    const both = edge("a", { hostports: ["a:443", "moving:443"] }) + edge("b", {});
    await project.program(both);
    const { requests, output } = await project.preview();
    assert.deepEqual(requests, [list]);
    assert.ok(!output.includes("warning"), output);
    assert.deepEqual((await project.up()).requests.filter((one) => one === list).length, 1);
    assert.deepEqual((await project.preview("--expect-no-changes")).requests, []);
    await project.program(both.replace("{}", '{"description":"changed"}'));
    assert.deepEqual((await project.preview()).requests, [list]);
    const refreshed = (await project.refresh()).requests;
    assert.ok(refreshed.filter((one) => one === list).length <= 1, refreshed.join());
    project.env.TLSEDGE_OFFLINE_PLAN = "true";
    assert.deepEqual((await project.preview()).requests, []);
    delete project.env.TLSEDGE_OFFLINE_PLAN;
    await project.program(both);
  });

  it("C19 warns of hostports and of equal objects that are elsewhere, by id and time", async () => {
    const holder = await stranger({ description: "hidden", hostports: ["Taken:443"] });
    const twin = await stranger({ description: "twin of c" });
    await project.program(
      edge("b", { hostports: ["moving:443", "taken:443"] }) +
        edge("c", { description: "twin of c" }) +
        edge("a", { hostports: ["a:443"] }),
    );
    const { output } = await project.preview();
    const warnings = output.split("\n").filter((line) => line.includes("warning:"));
    const own = (await project.exported()).a?.id;
    assert.equal(warnings.filter((line) => line.includes(holder)).length, 1, output);
    assert.equal(warnings.filter((line) => line.includes(twin)).length, 1, output);
    assert.ok(!warnings.some((line) => line.includes(String(own))), "given up by this program");
    assert.ok(!/hidden/.test(output), output);
    assert.match(warnings.join(), /\(created 20\d\d-.*aliases/);
  });

  it("C19 a refused key fails the plan of several updates, once", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const write = (description: string) =>
      project.program(names.map((name) => edge(name, { description })).join(""));
    await write("before");
    await project.up();
    await write("after");
    const key = project.env.TLSEDGE_API_KEY;
    project.env.TLSEDGE_API_KEY = "wrong";
    try {
      const { output, requests } = await project.fails("preview");
      const [, diagnostics = ""] = output.split("Diagnostics:");
      // The host of dynamic providers prints what a diff throws, too: that is no error of the engine.
      assert.equal(diagnostics.match(/\berror: .*Check the API key/g)?.length, 1, output);
      assert.deepEqual(requests, [list]);
    } finally {
      project.env.TLSEDGE_API_KEY = key;
    }
  });
});
