import assert from "node:assert/strict";
import type { Project } from "../../tools/engine";
import { edge, scenario } from "./scenario";

/** The hostports of each edge, by its name, which is its first one. */
type Hostports = Record<string, string[]>;

const program = (all: Hostports, replaced = "") =>
  Object.entries(all)
    .map(([name, more]) => {
      const hostports = [name, ...more].map((host) => `${host}:443`);
      const option = name === replaced ? "deleteBeforeReplace: true" : "";
      return edge(name, `hostports: ${JSON.stringify(hostports)}`, option);
    })
    .join("\n");

/** Who serves what, at the service. */
const serves = (wanted: Hostports) => (project: Project) => {
  const all = project.emulator.tlsEdges.list().map(({ hostports = [] }) => {
    const [name, ...more] = (hostports ?? []).map((one) => one.replace(":443", ""));
    return [name, more];
  });
  assert.deepEqual(Object.fromEntries(all), wanted);
};

const first = { a: ["old", "older"], x: ["one"], y: ["two"], z: ["three"], b: ["left"], c: [] };
const moved = {
  ...{ before: ["old"], a: [], x: ["two"], y: ["three"], z: [] },
  ...{ b: [], c: ["left"], after: ["older"] },
};

/** tests/hostports.test.ts has the order of the calls, and what fails on the way. */
scenario("hostports that move", ["plugin"], {
  "C37 C38: hostports go to new edges before and after the holder, along a chain, and from a replaced edge":
    [
      { program: program(first), up: "succeeds", check: serves(first) },
      {
        program: program(moved, "b"),
        up: "succeeds",
        // More workers than a small machine gets by default.
        options: ["--refresh", "--replace", "**::b", "--parallel", "16"],
        check: serves(moved),
      },
    ],
});
