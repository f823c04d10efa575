import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

throughBothDoors("a service that leaves the root out of its answers", (door) => {
  let project: Project;
  before(async () => {
    project = await Project.create({}, {}, door);
  });
  after(() => project?.close());

  it("C20 C25 keeps the certificate that was sent with it", async () => {
    const root = await makeCertificate({ commonName: "root", isCa: true });
    const { certificatePem, privateKeyPem } = await makeCertificate({
      commonName: "a.example.com",
      issuer: await makeCertificate({ commonName: "between", isCa: true, issuer: root }),
    });
    project.keepSecret("the private key", privateKeyPem);
    await project.file("key.pem", privateKeyPem);
    await project.file("chain.pem", certificatePem + root.certificatePem);
    for (const path of ["/tls_certificates", "/tls_certificates/*"]) {
      const answer = { fields: { certificate_pem: certificatePem } };
      project.emulator.faults.add({ path, times: 100, answer });
    }
    const write = (description: string) =>
      project.program(`
        new tlsedge.TLSCertificate("c", {
          certificatePem: readFileSync("chain.pem", "utf8"),
          privateKeyPem: readFileSync("key.pem", "utf8"), description: "${description}",
        });`);
    // After each answer, that to a create, to a read and to an update, the chain is no change.
    await write("one");
    await project.up();
    assert.deepEqual((await project.up()).changes, { same: 2 });
    await project.refresh();
    await write("two");
    assert.deepEqual((await project.up()).writes, ["PATCH /tls_certificates/:id"]);
    const run = await project.up();
    assert.deepEqual([run.changes, run.requests], [{ same: 2 }, []]);
  });
});
