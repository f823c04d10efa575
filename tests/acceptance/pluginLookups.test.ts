import assert from "node:assert/strict";
import { Project } from "../../tools/engine";

describe("lookups of the plugin", () => {
  let project: Project;

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    await project.certificate(".", {
      commonName: "app.example.com",
      dnsNames: ["app.example.com"],
    });
    await project.program(`
      new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
      });
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] });`);
    await project.up();
  });
  after(() => project?.close());

  const asked = async (call: string) => {
    await project.program(`exports.found = tlsedge.${call};`);
    await project.up("--target", "**nothing**");
    return project.output("found");
  };

  it("C60 C61 find one object or all of them", async () => {
    const found = (await asked(`getTLSEdge({ hostport: "app.example.com:443" })`)) as object;
    const [edge] = project.emulator.tlsEdges.list();
    assert.deepEqual({ ...found, id: edge?.id }, found);
    const { tlsCertificates } = (await asked(
      `getTLSCertificates({ domain: "app.example.com" })`,
    )) as { tlsCertificates: { id: string }[] };
    assert.deepEqual(
      tlsCertificates.map(({ id }) => id),
      project.emulator.tlsCertificates.list().map(({ id }) => id),
    );
    const { tunnels } = (await asked("getTunnels()")) as { tunnels: object[] };
    assert.equal(tunnels.length, project.emulator.tunnels.list().length);
  });

  it("C60 C10 fail with a sentence", async () => {
    await project.program(`exports.found = tlsedge.getTLSEdge({ hostprt: "a" });`);
    const { output } = await project.fails("preview");
    assert.match(output, /did you mean hostport\?/);
    await project.program(`exports.found = tlsedge.getTLSEdge({ hostport: "b.example:443" });`);
    assert.match((await project.fails("preview")).output, /no TLS edge matches/);
  });
});
