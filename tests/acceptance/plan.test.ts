import assert from "node:assert/strict";
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
    return (await tlsEdges.create(project.newClient(), args)).id;
  }

  const names = ["a", "b", "c", "d", "e", "f"];
  const first = (name: string) => edge(name, { hostports: [`${name}:443`], description: "before" });
  const unchanged = (...changed: string[]) =>
    names
      .filter((name) => !changed.includes(name))
      .map(first)
      .join("");

  it("C19 is one read a kind", async () => {
    await project.program(unchanged());
    const { requests, output } = await project.succeeds("up", "--yes");
    // In the plan, and in the update.
    assert.equal(requests.filter((one) => one === list).length, 2, requests.join());
    assert.equal(requests[0], list);
    assert.ok(!output.includes("warning"), output);
  });

  it("C19 warns of hostports and of equal objects that are elsewhere, by id and time", async () => {
    const holder = await stranger({ description: "hidden", hostports: ["Taken:443"] });
    const twin = await stranger({ description: "twin of new" });
    await project.program(
      edge("b", { hostports: ["moving:443", "taken:443", "a:443"] }) +
        edge("new", { description: "twin of new" }) +
        edge("a", { description: "before" }) +
        unchanged("a", "b"),
    );
    const { output, requests } = await project.preview();
    assert.deepEqual(requests, [list]);
    const warnings = output.split("\n").filter((line) => line.includes("warning:"));
    const own = (await project.exported()).a?.id;
    assert.equal(warnings.filter((line) => line.includes(holder)).length, 1, output);
    assert.equal(warnings.filter((line) => line.includes(twin)).length, 1, output);
    assert.ok(!warnings.some((line) => line.includes(String(own))), "given up by this program");
    assert.ok(!/hidden/.test(output), output);
    assert.match(warnings.join(), /\(created 20\d\d-.*aliases/);
  });

  it("C19 a refused key fails the plan of several creates and updates, once", async () => {
    const changed = names.map((name) =>
      edge(name, { hostports: [`${name}:443`], description: "after" }),
    );
    await project.program(changed.join("") + edge("new", {}) + edge("newer", { metadata: "m" }));
    project.env.TLSEDGE_API_KEY = "wrong";
    const { output, requests } = await project.fails("preview");
    const [, diagnostics = ""] = output.split("Diagnostics:");
    // The host of dynamic providers prints what a diff throws, too: that is no error of the engine.
    assert.equal(diagnostics.match(/\berror: .*Check the API key/g)?.length, 1, output);
    assert.deepEqual(requests, [list]);
  });
});
