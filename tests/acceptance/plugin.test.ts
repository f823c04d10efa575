import assert from "node:assert/strict";
import { Project } from "../../tools/engine";

describe("the plugin on the engine", () => {
  let project: Project;

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    await project.certificate("certs", { commonName: "a.example" });
  });
  after(() => project.close());

  const write = (edge: string, certificate = "") =>
    project.program(`
      new tlsedge.TLSEdge("edge", { hostports: ["a.example:443"], ${edge} });
      const certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("certs/fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("certs/privkey.pem", "utf8"),
        ${certificate}
      });
      exports.notAfter = certificate.notAfter;`);

  it("C83 plans with derived fields that are known", async () => {
    await write('tlsTermination: { minVersion: "1.2" }');
    const { output, requests } = await project.preview();
    assert.match(output, /notAfter: "20/);
    assert.deepEqual(requests.sort(), [
      "GET /edges/tls?limit=100",
      "GET /tls_certificates?limit=100",
    ]);
  });

  it("C83 names the nested path that has changed", async () => {
    await project.up();
    await write('tlsTermination: { minVersion: "1.3" }');
    const { events } = await project.preview();
    assert.match(JSON.stringify(events), /"tlsTermination\.minVersion"/);
  });
});
