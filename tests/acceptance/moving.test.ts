import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import type { Protocol } from "../../tools/protocol";

const types = {
  dynamic: (name: string) => `pulumi-nodejs:dynamic/tlsedge:${name}`,
  plugin: (name: string) => `tlsedge:index:${name}`,
};

describe("C85 a stack moves between the doors", () => {
  let project: Project;
  let ids: string[];
  let description = "";

  const names = ["r0", "r1"];

  before(async () => {
    project = await Project.create();
    await project.certificate(".", { commonName: "a.example", dnsNames: ["*.example"] });
    await write("dynamic");
    await project.up();
    ids = await stored();
    assert.equal(ids.length, 8);
  });
  after(() => project?.close());

  const stored = async () =>
    Object.entries((await project.state()).resources)
      .flatMap(([, { type, id }]) => (/tlsedge:TLS|tlsedge:index:TLS/.test(type) && id ? [id] : []))
      .sort();

  /** Eight resources, four of them in sites, with an alias for the other door. */
  const write = async (door: Protocol) => {
    await project.enter(door);
    const from = types[door === "plugin" ? "dynamic" : "plugin"];
    const pair = `{
      certificatePem: readFileSync("fullchain.pem", "utf8"),
      privateKeyPem: readFileSync("privkey.pem", "utf8"),
    }`;
    await project.program(`
      const described = ${JSON.stringify(description ? { description } : {})};
      const was = (type) => ({ aliases: [{ type }] });
      for (const name of ${JSON.stringify(names)}) {
        new tlsedge.TLSEdge(name, {
          ...described, hostports: [name + ".example:443", "also-" + name + ".example:443"],
          tlsTermination: { terminateAt: "edge" },
        }, was("${from("TLSEdge")}"));
        new tlsedge.TLSCertificate(name, { ...described, ...${pair} },
          was("${from("TLSCertificate")}"));
      }
      const site = (name, opts) => new tlsedge.TLSSite(name, {
        ...described, metadata: { environment: "", repository: "" },
        hostports: [name + ".example:443"],
        ...${pair}, backendId: "bkdtg_1", access: { public: true },
      }, opts);
      // A site has the aliases of the other door.
      site("s0");
      ${
        door === "dynamic"
          ? `site("s1", {
              transforms: [({ type, props, opts }) => {
                const other = {
                  "${types.dynamic("TLSEdge")}": "${types.plugin("TLSEdge")}",
                  "${types.dynamic("TLSCertificate")}": "${types.plugin("TLSCertificate")}",
                }[type];
                const parent = pulumi.rootStackResource;
                const aliases = [{ type: other }, { type: other, parent }];
                return { props, opts: other ? { ...opts, aliases } : opts };
              }],
            });`
          : // Without a component of the same type and name, the alias is the whole URN.
            `const options = (type) => ({
              aliases: ["urn:pulumi:dev::acceptance::tlsedge:index:TLSSite$" + type + "::s1"],
            });
            const about = { description: "s1 (dev)", ...described, metadata: JSON.stringify({}) };
            new tlsedge.TLSCertificate("s1", { ...about, ...${pair}, renewBeforeDays: 21 },
              options("${from("TLSCertificate")}"));
            new tlsedge.TLSEdge("s1", {
              ...about, hostports: ["s1.example:443"],
              backend: { backendId: "bkdtg_1" },
              tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
            }, options("${from("TLSEdge")}"));`
      }`);
  };

  /** Moves everything, the component of one site aside: nothing is written or replaced. */
  const move = async (door: Protocol) => {
    const changes = { same: 2, update: 8, [door === "plugin" ? "delete" : "create"]: 1 };
    await write(door);
    const run = await project.up();
    assert.deepEqual(run.changes, changes);
    assert.ok(run.writes.length === 0 && run.requests.length <= 10, run.requests.join());
    assert.deepEqual(await stored(), ids);
    const { changes: again, requests } = await project.up();
    assert.deepEqual([again, requests], [{ same: door === "plugin" ? 10 : 11 }, []]);
    await project.refresh("--expect-no-changes");
  };

  /** Changes everything: each object in one request. */
  const change = async (door: Protocol, text: string) => {
    description = text;
    await write(door);
    const run = await project.up();
    // The inputs of the site that is a component change, too.
    assert.equal(run.changes.update, 9);
    assert.equal(run.requests.filter((request) => request.startsWith("PATCH ")).length, 8);
    assert.deepEqual(await stored(), ids);
  };

  for (const door of ["plugin", "dynamic"] as const) {
    it(`to the ${door} door with no write`, () => move(door));
  }

  it("and back once more, with a change in the same update, and is destroyed", async () => {
    await change("plugin", "in the same update");
    await project.destroy();
    const { tlsEdges, tlsCertificates } = project.emulator;
    assert.deepEqual([tlsEdges.list(), tlsCertificates.list()], [[], []]);
  });
});
