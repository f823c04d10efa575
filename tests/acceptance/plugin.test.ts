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
    assert.deepEqual(requests, []);
  });

  it("C30 C50 creates with one request each, and stores the key as a secret", async () => {
    const { requests } = await project.up();
    assert.deepEqual(requests.toSorted(), ["POST /edges/tls", "POST /tls_certificates"]);
    const { certificate } = await project.exported();
    assert.ok(certificate?.inputs.privateKeyPem);
    assert.equal(certificate?.outputs.privateKeyPem, undefined);
  });

  it("C25 makes no request when nothing has changed", async () => {
    const { changes, requests } = await project.up();
    assert.deepEqual([changes.same, requests], [3, []]);
  });

  it("C83 names the nested path that has changed, and C22 sends only that", async () => {
    await write('tlsTermination: { minVersion: "1.3" }');
    const { requests, events } = await project.up();
    assert.deepEqual(requests, ["PATCH /edges/tls/:id"]);
    assert.match(JSON.stringify(events), /"tlsTermination\.minVersion"/);
  });

  it("C31 finds drift, and the next update puts it right", async () => {
    const [edge] = project.emulator.tlsEdges.list();
    project.emulator.tlsEdges.patch(edge?.id ?? "", { description: "by hand" });
    const { changes } = await project.refresh();
    assert.equal(changes.update, 1);
    const { requests } = await project.up();
    assert.deepEqual(requests, ["PATCH /edges/tls/:id"]);
    assert.deepEqual((await project.up()).requests, []);
  });

  it("C20 replaces a certificate whose chain changes: creates first, deletes after", async () => {
    await project.certificate("certs", { commonName: "b.example" });
    const { requests } = await project.up();
    assert.deepEqual(requests, ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
  });

  it("C30 deletes with one request each", async () => {
    const { requests } = await project.destroy();
    assert.deepEqual(requests.toSorted(), [
      "DELETE /edges/tls/:id",
      "DELETE /tls_certificates/:id",
    ]);
  });
});
