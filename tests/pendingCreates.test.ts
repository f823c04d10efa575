import assert from "node:assert/strict";
import { type Deployment, findCreates } from "../cli/pendingCreates";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { edgeWire } from "./accounts";
import { runCommand } from "./cli";
import { settingsFor, useEmulator } from "./support";

const dynamic = "pulumi-nodejs:dynamic/tlsedge:TLSEdge";
const urnOf = (name: string, type: string) => `urn:pulumi:dev::shop::${type}::${name}`;
const create = (name: string, inputs = {}, type = "tlsedge:index:TLSEdge", more = {}) => ({
  type: "creating",
  resource: { urn: urnOf(name, type), type, inputs, ...more },
});

/** The ids to adopt by the names of their resources, and why others get none. */
function found(pending: object[], edges: TLSEdgeWire[], resources: object[] = []) {
  const deployment = { resources, pending_operations: pending } as Deployment;
  const { plan, files } = findCreates(deployment, { edges, certificates: [] }, "tlsedge");
  const ids = Object.fromEntries(plan.edges.map(({ id, name }) => [name, id]));
  return { ids, files, why: plan.skipped.map(({ names, reasons }) => `${names} ${reasons}`) };
}

describe("adopt --pending-creates", () => {
  const emulator = useEmulator();

  it("C84: creates that were cut off get equal objects that no resource of the stack has, one each", () => {
    const [parent, provider] = [urnOf("site", "x"), urnOf("staging", "pulumi:providers:tlsedge")];
    const one = create("one", {}, undefined, { parent, provider: `${provider}::0-1` });
    const others = [{ ...create("a"), type: "updating" }, create("b", {}, "aws:s3:Bucket")];
    const edges = ["stored", "x", "y", "replaced"].map((id) => edgeWire({ id }));
    const stored = [
      { ...create("stored").resource, id: "stored" },
      { ...create("old").resource, id: "replaced", delete: true },
    ];
    const pending = [one, create("two"), create("three"), create("stored"), ...others];
    const { ids, why, files } = found(pending, edges, stored);
    assert.deepEqual([ids, why], [{ one: "x", two: "y" }, []]);
    const { nameTable, resources } = JSON.parse(files.get("import.json") ?? "");
    assert.deepEqual(nameTable, { [parent]: parent, [provider]: provider });
    assert.deepEqual([resources[0].parent, resources[0].provider], [parent, provider]);
  });

  it("C84: where more objects are equal than creates, a person chooses, and none is given twice", () => {
    const module = { enabled: true, terminate_at: "edge" };
    const edges = ["1.2", "1.3"].map((min_version) =>
      edgeWire({ id: min_version, tls_termination: { ...module, min_version } }),
    );
    const edge = (name: string, more = {}) =>
      create(name, { tlsTermination: { enabled: true, terminateAt: "edge", ...more } });
    const [any, exact] = [edge("any"), edge("exact", { minVersion: "1.3" })];
    const { ids, why } = found([any, exact], edges);
    assert.deepEqual(ids, { exact: "1.3" });
    assert.match(why.join(), /^any may be any of 1.2, 1.3: .*`import`/);
    assert.deepEqual(found([any, edge("more"), exact], edges).ids, { any: "1.2", more: "1.3" });
    assert.deepEqual(found([any, any], edges).ids, {});
  });

  it("C84: a create with a secret is named with the property, and one of another connection is not", () => {
    const hostports = ["a:443", { "4dabf18193072939515e22adb298388d": "1b47061264138c4a" }];
    const theirs = create("theirs", { connection: "other" }, dynamic);
    const pending = [create("one", { hostports }), theirs, create("ours", {}, dynamic)];
    const { ids, why } = found(pending, [edgeWire()]);
    assert.deepEqual(ids, { ours: "edgtls_1" });
    assert.match(why.join(), /^one hostports: is a secret[^,]*, so[^,]*$/);
  });

  it("says that there is no stack or no Pulumi CLI, and refuses a filter", async () => {
    const env = { ...settingsFor(emulator), PATH: "" };
    const run = (...args: string[]) => runCommand(["adopt", "--pending-creates", ...args], env);
    assert.match((await run()).stderr, /^error: --pending-creates needs .*add --stack NAME\n$/);
    const { stderr } = await run("--stack", "dev");
    assert.match(stderr, /^error: pulumi does not start: is it on PATH\?/);
    for (const filter of [["--filter", "x"], ["--plugin"]])
      assert.match((await run(...filter)).stderr, /cannot be used with/);
  });
});
