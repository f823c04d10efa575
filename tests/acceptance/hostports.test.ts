import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

throughBothDoors("a hostport that moves", (door) => {
  let project: Project;
  before(async () => {
    project = await Project.create({}, {}, door);
  });
  after(() => project?.close());

  const edge = (name: string, ...hostports: string[]) =>
    `new tlsedge.TLSEdge("${name}", { hostports: ${JSON.stringify(hostports)} });`;
  const served = () =>
    Object.fromEntries(
      emulated().map(({ hostports }) => [hostports?.[0], hostports?.slice(1)] as const),
    );
  const emulated = () => project.emulator.tlsEdges.list();
  const [a, b, c, moving] = ["a:443", "b:443", "c:443", "moving.example.com:443"];

  it("C38 goes to an edge that is new, declared before or after, and to one that is there", async () => {
    await project.program(edge("a", a, moving));
    await project.up();

    await project.program(edge("a", a) + edge("b", b, moving));
    await project.up();
    assert.deepEqual(served(), { [a]: [], [b]: [moving] });

    await project.program(edge("c", c, moving) + edge("b", b) + edge("a", a));
    await project.up();
    assert.deepEqual(served(), { [a]: [], [b]: [], [c]: [moving] });

    await project.program(edge("c", c) + edge("b", b) + edge("a", a, moving));
    await project.up();
    assert.deepEqual(served(), { [a]: [moving], [b]: [], [c]: [] });

    await project.program(edge("c", c, moving) + edge("b", b) + edge("a", a));
    const { requests } = await project.up();
    assert.deepEqual(served(), { [a]: [], [b]: [], [c]: [moving] });
    assert.ok(requests.length <= 4, requests.join());
    await project.up("--expect-no-changes");
  });

  it("C38 goes on from an edge that leaves the program in a second update", async () => {
    await project.program(edge("d", "d:443", moving) + edge("b", b) + edge("a", a));
    const { output } = await project.fails("up", "--yes", "--skip-preview");
    assert.match(output, /deleted last/);
    await project.program(edge("b", b) + edge("a", a));
    await project.up();
    await project.program(edge("d", "d:443", moving) + edge("b", b) + edge("a", a));
    await project.up();
    assert.deepEqual(served(), { [a]: [], [b]: [], "d:443": [moving] });
  });
});
