import assert from "node:assert/strict";
import type { Project } from "../../tools/engine";
import { edge, scenario } from "./scenario";

/** The hostports of each edge, by its name, which is its first one. */
type Hostports = Record<string, string[]>;

/** The edges in this order, some with options. */
const program = (all: Hostports, options: Record<string, string> = {}) =>
  Object.entries(all).reduce((text, [name, more]) => {
    const hostports = [name, ...more].map((host) => `${host}:443`);
    const made = edge(name, `hostports: ${JSON.stringify(hostports)}`, options[name]);
    return `${text}\nedges.${name} = ${made}`;
  }, "const edges = {};");

const byName = (all: string[][]): Hostports =>
  Object.fromEntries(
    all.map((hostports) => {
      const [name = "", ...more] = hostports.map((one) => one.replace(":443", ""));
      return [name, more];
    }),
  );
/** Who serves what, at the service and in the state. */
const serves = (wanted: Hostports) => async (project: Project) => {
  const there = project.emulator.tlsEdges.list().map(({ hostports }) => hostports ?? []);
  assert.deepEqual(byName(there), wanted);
  const state = Object.values(await project.exported());
  assert.deepEqual(byName(state.map(({ outputs }) => outputs.hostports as string[])), wanted);
};

const first = {
  ...{ a: ["old", "older"], x: ["one"], y: ["two"], z: ["three"] },
  ...{ b: ["left"], c: ["right"], taker: [], dependent: ["n"] },
};
const rest = { b: ["left"], c: ["right"], taker: [], dependent: ["n"] };
const moved = {
  before: ["old"],
  a: [],
  x: ["two"],
  y: ["three"],
  z: [],
  ...rest,
  after: ["older"],
};
const last = { ...moved, b: [], c: ["left", "right"], taker: ["n"], dependent: [] };

/** tests/hostports.test.ts has the order of the calls, and what fails on the way. */
scenario("hostports that move", ["plugin"], {
  "C38: a hostport goes to a new edge, declared before or after its holder, and along a chain": [
    { program: program(first), up: "succeeds", check: serves(first) },
    {
      program: program(moved),
      up: "succeeds",
      // More workers than a small machine gets by default.
      options: ["--parallel", "16"],
      check: serves(moved),
    },
  ],
  "C38: an exchange, which the plan refuses, and a holder that depends on the taker, need two updates":
    [
      {
        program: program({ ...moved, b: ["right"], c: ["left"] }),
        preview: "fails",
        says: [/these edges exchange hostports.*Make two updates/],
      },
      {
        outside: ({ env }) => {
          // With a short deadline it does not send the write again for long.
          env.TLSEDGE_TIMEOUT_SECONDS = "10";
        },
        program: program(
          { ...moved, taker: ["n"], dependent: [] },
          { dependent: "dependsOn: [edges.taker]" },
        ),
        up: "fails",
        says: [/TLSEdge \(taker\):\s+error: .*make two updates/],
        check: async (project) => {
          delete project.env.TLSEDGE_TIMEOUT_SECONDS;
          await serves(moved)(project);
        },
      },
    ],
  "C37 C38: the second of two updates goes on, with --refresh, and from an edge that is replaced": [
    {
      program: program({ ...moved, dependent: [] }),
      up: "succeeds",
    },
    {
      program: program(last, { b: "deleteBeforeReplace: true" }),
      up: "succeeds",
      options: ["--refresh", "--replace", "**::b"],
      check: serves(last),
    },
  ],
});
