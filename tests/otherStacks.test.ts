import assert from "node:assert/strict";
import { managedIn, warningOf } from "../cli/otherStacks";
import { planOf } from "../cli/plan";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { fileWith } from "./support";

const dynamicType = "pulumi-nodejs:dynamic/tlsedge:";
const pluginType = "tlsedge:index:";

/** A resource as `pulumi stack export` writes it. */
const stored = (stack: string, type: string, id?: string, more = {}) => ({
  urn: `urn:pulumi:${stack}::shop::tlsedge:index:TLSSite$${type}::one`,
  type,
  id,
  ...more,
});
const exportOf = (resources?: unknown) =>
  fileWith(JSON.stringify({ version: 3, deployment: { manifest: {}, resources } }));

describe("objects that other stacks manage", () => {
  it("are those of the package and of the plugin, in all exports", () => {
    const prod = exportOf([
      stored("prod", "pulumi:pulumi:Stack"),
      stored("prod", `${dynamicType}TLSEdge`, "edgtls_1"),
      stored("prod", `${dynamicType}TLSCertificate`, "cert_1"),
      stored("prod", "aws:s3/bucket:Bucket", "bucket"),
    ]);
    const dev = exportOf([
      stored("dev", `${pluginType}TLSEdge`, "edgtls_2"),
      stored("dev", `${pluginType}TLSCertificate`, "cert_2", { delete: true }),
    ]);
    assert.deepEqual(Object.fromEntries(managedIn([prod, dev])), {
      edgtls_1: "shop/prod",
      cert_1: "shop/prod",
      edgtls_2: "shop/dev",
      cert_2: "shop/dev",
    });
  });

  it("are not those that a stack only reads", () => {
    const read = stored("prod", `${dynamicType}TLSEdge`, "edgtls_1", { external: true });
    assert.equal(managedIn([exportOf([read])]).size, 0);
  });

  it("are none in an empty stack", () => {
    assert.equal(managedIn([exportOf(), exportOf(null), exportOf([])]).size, 0);
  });

  const others: [string, string][] = [
    ["no JSON", "resources: {}"],
    ["null", "null"],
    ["a list", "[]"],
    ["the file of an import", '{ "resources": [] }'],
    ["no deployment", '{ "version": 3, "deployment": null }'],
    ["no list", '{ "deployment": { "resources": {} } }'],
    ["no resources", '{ "deployment": { "resources": [1] } }'],
  ];
  for (const [what, text] of others) {
    it(`are not read from a file with ${what}`, () => {
      const file = fileWith(text);
      const says = `${file} is not the export of a stack, which \`pulumi stack export --file\` writes`;
      assert.throws(() => managedIn([exportOf(), file]), { message: says });
    });
  }

  it("are not read from a file that is not there, nor from a folder", () => {
    assert.throws(() => managedIn(["none.json"]), { message: "none.json can't be read (ENOENT)" });
    assert.throws(() => managedIn([__dirname]), { message: `${__dirname} can't be read (EISDIR)` });
  });
});

describe("the warning about other stacks", () => {
  const warned = (metadata: (string | null)[], notIn: string[] = []) => {
    const edges = metadata.map((text, n) => ({ id: `e${n}`, uri: "", metadata: text }));
    const plan = planOf({ edges: edges as TLSEdgeWire[] }, { connection: "tlsedge" });
    return { environments: plan.environments, text: warningOf(plan, notIn) };
  };
  const site = (environment: unknown) => JSON.stringify({ environment, owner: "web" });

  it("counts the environments that TLSSite writes into metadata", () => {
    const { environments, text } = warned([site("dev"), site("prod"), site("prod"), null, "x"]);
    assert.deepEqual(environments, { dev: 1, prod: 2 });
    assert.match(text ?? "", /have an environment in their metadata.*: prod \(2\) and dev \(1\)\./);
  });

  it("counts no other metadata", () => {
    const others = [
      "",
      "null",
      "3",
      '"prod"',
      "[]",
      "{}",
      site(1),
      site(""),
      site("a\u001b[31m b"),
    ];
    const { environments, text } = warned(others);
    assert.deepEqual(environments, {});
    assert.match(text ?? "", /^another stack may [^.]*\. To leave out [^.]* --not-in\.$/);
  });

  it("counts what has an unusual name, and names five", () => {
    const names = ["__proto__", "constructor", "a", "b", "c", "d", "e"];
    const { environments, text } = warned(names.map(site));
    assert.deepEqual(Object.keys(environments).sort(), names.toSorted());
    assert.match(text ?? "", /__proto__ \(1\), .* and 2 more\./);
  });

  it("is left out once stacks are named, unless metadata still name an environment", () => {
    assert.equal(warned([null, "x"], ["prod.json"]).text, undefined);
    assert.match(warned([site("dev")], ["prod.json"]).text ?? "", /dev \(1\)/);
  });
});
