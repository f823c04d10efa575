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
  /** What an update says that must fail. With a short deadline it does not wait long for the diff. */
  const refusal = async () => {
    project.env.TLSEDGE_TIMEOUT_SECONDS = "10";
    const { output } = await project.fails("up", "--yes", "--skip-preview");
    delete project.env.TLSEDGE_TIMEOUT_SECONDS;
    return output;
  };
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
    assert.ok(requests.length <= 7, requests.join());
    await project.up("--expect-no-changes");
  });

  it("C38 moves and is exchanged with --parallel 1, where the engine looks one step ahead", async () => {
    await project.program(edge("c", c));
    await project.up();
    const both = async (ofB: string[], ofC: string[]) => {
      await project.program(edge("b", b, ...ofB) + edge("c", c, ...ofC));
      await project.up("--parallel", "1");
      assert.deepEqual(served(), { [b]: ofB, [c]: ofC });
    };
    await both([], ["one:443", "two:443"]);
    await both(["one:443"], ["two:443"]);
    await both(["two:443"], ["one:443"]);
    await both(["one:443"], ["two:443"]);
    await project.up("--expect-no-changes");
  });

  it("C38 goes round three edges", async () => {
    const three = async (...hostports: string[]) => {
      const [ofA = "", ofB = "", ofC = ""] = hostports;
      await project.program(edge("a", a, ofA) + edge("b", b, ofB) + edge("c", c, ofC));
      // More workers than a small machine gets by default.
      await project.up("--parallel", "16");
      assert.deepEqual(served(), { [a]: [ofA], [b]: [ofB], [c]: [ofC] });
    };
    await three("one:443", "two:443", "three:443");
    await three("two:443", "three:443", "one:443");
    await project.up("--expect-no-changes");
  });

  it("C37 C38 moves in an update with --refresh, and in one that replaces the edge", async () => {
    await project.program(edge("a", a, moving) + edge("b", b) + edge("c", c));
    await project.up();
    await project.program(edge("b", b, moving) + edge("a", a) + edge("c", c));
    await project.up("--refresh");
    assert.deepEqual(served(), { [a]: [], [b]: [moving], [c]: [] });
    const first = "{ deleteBeforeReplace: true }";
    const replaced = `new tlsedge.TLSEdge("b", { hostports: ["${b}"] }, ${first});`;
    await project.program(edge("c", c, moving) + replaced + edge("a", a));
    await project.up("--replace", project.urn("TLSEdge", "b"));
    assert.deepEqual(served(), { [a]: [], [b]: [], [c]: [moving] });
    await project.refresh("--expect-no-changes");
  });

  it("C38 goes on from an edge that depends on the one that takes it in a second update", async () => {
    const dependent = (...hostports: string[]) =>
      `new tlsedge.TLSEdge("dependent", { hostports: ${JSON.stringify(hostports)} },
        { dependsOn: [new tlsedge.TLSEdge("taker", { hostports: ["taker:443"] })] });`;
    const rest = edge("b", b) + edge("a", a) + edge("c", c, moving);
    await project.program(rest + dependent("dependent:443", "n:443"));
    await project.up();
    await project.program(
      rest + dependent("dependent:443").replace('"taker:443"', '"taker:443", "n:443"'),
    );
    const output = await refusal();
    assert.match(output, /make two updates/);
    await project.program(rest + dependent("dependent:443"));
    await project.up();
    await project.program(
      rest + dependent("dependent:443").replace('"taker:443"', '"taker:443", "n:443"'),
    );
    await project.up();
    assert.deepEqual(served()["taker:443"], ["n:443"]);
    await project.program(rest);
    await project.up();
  });

  it("C38 goes on from an edge that leaves the program in a second update", async () => {
    await project.program(edge("d", "d:443", moving) + edge("b", b) + edge("a", a));
    const output = await refusal();
    assert.match(output, /make two updates/);
    await project.program(edge("b", b) + edge("a", a));
    await project.up();
    await project.program(edge("d", "d:443", moving) + edge("b", b) + edge("a", a));
    await project.up();
    assert.deepEqual(served(), { [a]: [], [b]: [], "d:443": [moving] });
  });
});
