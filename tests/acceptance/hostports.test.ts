import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

/** One stack for all: tests/hostports.test.ts has the order of the calls, and what fails on the way. */
throughBothDoors("a hostport that moves", (door) => {
  let project: Project;
  before(async () => {
    project = await Project.create({}, {}, door);
  });
  after(() => project?.close());

  /** The hostports of each edge, by its name, which is its first one. */
  type Hostports = Record<string, string[]>;

  const edge = (name: string, hostports: string[], options = "") =>
    `new tlsedge.TLSEdge("${name}", {
      hostports: ${JSON.stringify([name, ...hostports].map((host) => `${host}:443`))},
    }, { ${options} });`;
  const edges = (all: Hostports) => Object.entries(all).map(([name, more]) => edge(name, more));
  const byName = (all: string[][]): Hostports =>
    Object.fromEntries(
      all.map((hostports) => {
        const [name = "", ...more] = hostports.map((one) => one.replace(":443", ""));
        return [name, more] as const;
      }),
    );
  const served = () =>
    byName(project.emulator.tlsEdges.list().map(({ hostports }) => hostports ?? []));
  /** Who serves what, on the service and in the state. */
  const assertServed = async (all: Hostports) => {
    const state = Object.values(await project.exported());
    assert.deepEqual(served(), all);
    assert.deepEqual(byName(state.map(({ outputs }) => outputs.hostports as string[])), all);
  };
  /** Deploys the edges in this order, and looks at what serves what. */
  const moves = async (all: Hostports, ...args: string[]) => {
    await project.program(edges(all).join(""));
    await project.up(...args);
    await assertServed(all);
  };

  before(() =>
    moves({ a: ["old", "older"], x: ["one"], y: ["two"], z: ["three"], b: ["left"], c: ["right"] }),
  );

  const rest = { b: ["left"], c: ["right"] };

  it("C38 goes to a new edge, declared before or after the one that has it, and along a chain", async () => {
    const chain = { x: ["two"], y: ["three"], z: [] };
    // More workers than a small machine gets by default.
    const workers = ["--parallel", "16"];
    await moves({ before: ["old"], a: [], ...chain, ...rest, after: ["older"] }, ...workers);
  });

  it("C38 is exchanged in two updates, and the error says so", async () => {
    const before = served();
    const text = edges({ ...before, b: ["right"], c: ["left"] });
    await project.program(text.join(""));
    const { output } = await project.fails("up", "--yes", "--skip-preview", "--continue-on-error");
    assert.match(output, /waits for a hostport of this edge, too. Make two updates/);
    assert.deepEqual(served(), before);
    await moves({ b: [], c: ["left"] });
    await moves({ b: ["right"], c: ["left"] });
  });

  it("C37 C38 moves in an update with --refresh, and from an edge that it replaces", async () => {
    const first = "deleteBeforeReplace: true";
    const text = [edge("c", ["left", "right"]), edge("b", [], first), edge("a", [])];
    const others = [edge("taker", []), edge("dependent", ["n"])];
    await project.program([...text, ...others].join(""));
    await project.up("--refresh", "--replace", project.urn("TLSEdge", "b"));
    const made = { taker: [], dependent: ["n"] };
    await assertServed({ a: [], b: [], c: ["left", "right"], ...made });
  });

  it("C38 goes on in a second update from an edge that depends on the one that takes it, or leaves", async () => {
    const write = (taker: string[], dependent: string[], more: string[]) =>
      project.program(
        [
          edge("taker", taker),
          edge("dependent", dependent, "dependsOn: [taker]"),
          ...["a", "b"].map((name) => edge(name, [])),
          ...more,
        ]
          .join("")
          .replace("new", "const taker = new"),
      );
    const held = served();
    // With a short deadline it does not wait long for the diff.
    project.env.TLSEDGE_TIMEOUT_SECONDS = "10";
    const taking = () => write(["n"], [], [edge("d", ["left"])]);
    await taking();
    const { output } = await project.fails("up", "--yes", "--skip-preview", "--continue-on-error");
    delete project.env.TLSEDGE_TIMEOUT_SECONDS;
    for (const name of ["taker", "d"]) {
      const said = new RegExp(`TLSEdge \\(${name}\\):\\s+error: .*make two updates`);
      assert.match(output, said);
    }
    assert.deepEqual(served(), held);
    await write([], [], []);
    await project.up();
    await taking();
    await project.up();
    await assertServed({ a: [], b: [], taker: ["n"], dependent: [], d: ["left"] });
  });
});
