import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { brokenCopy } from "../../tools/faults/account";
import { runSequences } from "../../tools/faults/sequences";
import { throughBothDoors } from "./doors";

throughBothDoors("a service that fails", (door) => {
  let project: Project;
  const edges = () => project.emulator.tlsEdges.list();
  const certificates = () => project.emulator.tlsCertificates.list();

  before(async () => {
    project = await Project.create({}, {}, door);
    await project.certificate(".", { commonName: "app.example.com" });
    await project.program(`
      new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
        description: "d",
      });
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"], description: "d" });`);
  });
  after(() => project?.close());

  it("C35 a create whose answer can't be used is recorded, and the next up goes on", async () => {
    project.emulator.faults.add(
      { method: "POST", path: "/edges/tls", answer: { fields: { uri: 7 } } },
      { method: "POST", path: "/tls_certificates", answer: { fields: { uri: 7 } } },
    );
    const failed = await project.fails("up", "--yes", "--skip-preview", "--continue-on-error");
    assert.match(
      failed.output,
      /the TLS edge edgtls_\w+ was created and is in the state.*field uri/,
    );
    assert.match(
      failed.output,
      /the TLS certificate cert_\w+ was created and is in the state.*field uri/,
    );
    const recorded = await project.exported();
    assert.equal(recorded.edge?.id, edges()[0]?.id);
    assert.equal(recorded.certificate?.id, certificates()[0]?.id);

    const run = await project.up();
    assert.deepEqual(run.requests.sort(), ["GET /edges/tls/:id", "GET /tls_certificates/:id"]);
    const { edge, certificate } = await project.exported();
    assert.equal(edge?.outputs.uri, edges()[0]?.uri);
    assert.equal(certificate?.outputs.uri, certificates()[0]?.uri);
    const again = await project.up();
    assert.deepEqual(again.changes, { same: 3 });
    assert.deepEqual(again.requests, []);
  });

  it("C33 a create whose answer is lost is found, and the update goes well", async () => {
    await project.destroy();
    project.emulator.faults.add(
      { method: "POST", path: "/edges/tls", work: true, answer: "reset" },
      { method: "POST", path: "/tls_certificates", work: true, answer: { status: 504 } },
    );
    const run = await project.up();
    assert.deepEqual(run.changes, { create: 3 });
    const { edge, certificate } = await project.exported();
    assert.deepEqual(
      [edge?.id],
      edges().map(({ id }) => id),
    );
    assert.deepEqual(
      [certificate?.id],
      certificates().map(({ id }) => id),
    );
    assert.deepEqual((await project.refresh()).changes, { same: 3 });
    assert.deepEqual((await project.up()).requests, []);
  });

  it("C34 says on the way why a plan takes long", async () => {
    await project.program('new tlsedge.TLSEdge("other");');
    await project.up();
    project.emulator.faults.add({ method: "GET", times: 3, answer: { status: 503 } });
    const run = await project.refresh();
    assert.match(run.output, /GET \/edges\/tls\/edgtls_\w+ got status 503; trying again/);
  });
});

describe("the drawn sequences of tools/faults", () => {
  it("C33 break promises on a copy of the package that can't see what was made", async () => {
    const numbers = Array.from({ length: 24 }, (_, number) => number);
    const results = await runSequences(1, numbers, "dynamic", await brokenCopy());
    const broken = results.flatMap((run) => run.broken.map(({ promise }) => promise));
    assert.ok(broken.includes("duplicate"), broken.join());
  });
});
