import assert from "node:assert/strict";
import { Project } from "../../tools/engine";

describe("the plugin on the engine", () => {
  let project: Project;

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    await project.certificate("certs", { commonName: "a.example", dnsNames: ["a.example"] });
  });
  after(() => project?.close());

  const write = (edge: string, more = "") =>
    project.program(`
      new tlsedge.TLSEdge("edge", { hostports: ["a.example:443"], ${edge} });
      new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("certs/fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("certs/privkey.pem", "utf8"),
      });
      ${more}`);

  it("C83 names the nested path that has changed", async () => {
    await write('tlsTermination: { minVersion: "1.2" }');
    await project.up();
    await write('tlsTermination: { minVersion: "1.3" }');
    const { events } = await project.preview();
    assert.match(JSON.stringify(events), /"tlsTermination\.minVersion"/);
  });

  it("C60 C61 finds one object or all of them", async () => {
    await write(
      'tlsTermination: { minVersion: "1.2" }',
      `exports.found = pulumi.all([
        tlsedge.getTLSEdge({ hostport: "a.example:443" }),
        tlsedge.getTLSCertificates({ domain: "a.example" }),
        tlsedge.getTunnels(),
      ]);`,
    );
    await project.up();
    const [edge, { tlsCertificates }, { tunnels }] = (await project.output("found")) as [
      { id: string; hostports: string[] },
      { tlsCertificates: { id: string }[] },
      { tunnels: object[] },
    ];
    const { emulator } = project;
    assert.equal(edge.id, emulator.tlsEdges.list()[0]?.id);
    assert.deepEqual(edge.hostports, ["a.example:443"]);
    assert.deepEqual(
      tlsCertificates.map(({ id }) => id),
      emulator.tlsCertificates.list().map(({ id }) => id),
    );
    assert.equal(tunnels.length, emulator.tunnels.list().length);
  });

  it("C60 C10 says why a lookup fails", async () => {
    await project.program('exports.found = tlsedge.getTLSEdge({ hostprt: "a" });');
    assert.match((await project.fails("preview")).output, /did you mean hostport\?/);
  });
});
