import assert from "node:assert/strict";
import { PropertyDiff } from "@pulumi/pulumi/proto/provider_pb";
import { Struct } from "google-protobuf/google/protobuf/struct_pb";
import schema from "../plugin/schema.json";
import { changesIn, detailedDiff, fromWire, plannedOutputs } from "../plugin/wire";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { type Properties, typedUnknowns, unknown } from "./support";

/** What the plugin reads of properties, and what its plans say of them. */
describe("the plugin's wire", () => {
  const read = (properties: object) => fromWire(Struct.fromJavaScript({ ...properties })).values;

  it("C13: each kind of unknown value is read as unknown, at any depth", () => {
    for (const marker of Object.values(typedUnknowns)) {
      const values = read({ description: marker, hostports: ["a:443", marker] });
      assert.deepEqual(values, { description: unknown, hostports: ["a:443", unknown] });
    }
  });

  it("C13: a resource is read as its id, which a plan may not know, and a component as its URN", () => {
    const resource = { "4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e" };
    const urn = "urn:pulumi:dev::p::t::other";
    for (const [parts, value] of [
      [{ urn, id: "edgtls_1" }, "edgtls_1"],
      [{ urn, id: "" }, unknown],
      [{ urn }, urn],
    ] as const)
      assert.deepEqual(read({ metadata: { ...resource, ...parts } }), { metadata: value });
  });

  const termination = { terminateAt: "edge", minVersion: "1.2" };
  const changes: [olds: Properties, news: Properties, path: string, change: string][] = [
    // Not what has another place in it.
    [{ hostports: ["a:1", "b:1", "c:1"] }, { hostports: ["c:1", "a:1"] }, "hostports[1]", "DELETE"],
    [{ hostports: ["a:1"] }, { hostports: ["b:1", "a:1"] }, "hostports[0]", "ADD"],
    [{ hostports: ["a:1"] }, { hostports: ["b:1"] }, "hostports[0]", "UPDATE"],
    [{}, { description: "d" }, "description", "ADD"],
    [
      { tlsTermination: termination },
      { tlsTermination: { ...termination, minVersion: "1.3" } },
      ...(["tlsTermination.minVersion", "UPDATE"] as const),
    ],
    [{ backend: { backendId: "old" } }, {}, "backend", "DELETE_REPLACE"],
    // What replaces has a path, also where the inputs are the same.
    [{ description: "d" }, { description: "d" }, "backend", "UPDATE_REPLACE"],
  ];
  for (const [olds, news, path, change] of changes) {
    it(`C22 C83: a diff from ${JSON.stringify(olds)} to ${JSON.stringify(news)} is ${change} of ${path}`, () => {
      const replaces = change.endsWith("REPLACE") ? ["backend"] : [];
      const found = [...detailedDiff(changesIn(olds, news), replaces)].map(([at, diff]) => [
        at,
        diff.toObject(),
      ]);
      const kind = PropertyDiff.Kind[change as keyof typeof PropertyDiff.Kind];
      assert.deepEqual(found, [[path, { kind, inputdiff: true }]]);
    });
  }

  it("C14 C83: the plan of an update shows what stays, and what an update sends because of a drift", () => {
    const inputs = { description: "d", metadata: "m" };
    const state = {
      ...{ uri: "https://x", createdAt: "2026", description: "by hand", metadata: "m" },
      onModuleRemoval: "disable",
    };
    const names = Object.keys(schema.resources["tlsedge:index:TLSEdge"].properties);
    const planned = (news: Properties, uri = state.uri) =>
      plannedOutputs(tlsEdge, names, news, { state: { ...state, uri }, inputs });
    const same = planned(inputs);
    assert.deepEqual([same.uri, same.description, same.metadata], [state.uri, "d", "m"]);
    const changed = planned({ description: "e", metadata: unknown });
    assert.deepEqual([changed.uri, changed.metadata], [state.uri, unknown]);
    // A setting is not sent to the service.
    assert.equal(planned({ onModuleRemoval: "replace" }).onModuleRemoval, "replace");
    // After an incomplete create, the state has empty texts for what the service chooses.
    assert.equal(planned({ description: "e" }, "").createdAt, unknown);
  });
});
