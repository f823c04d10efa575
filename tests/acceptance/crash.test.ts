import assert from "node:assert/strict";
import type { Fault } from "../../emulator/server";
import { Project } from "../../tools/engine";

describe("a crash", () => {
  let project: Project;
  const ids = (kind: "tlsEdges" | "tlsCertificates") =>
    project.emulator[kind].list().map(({ id }) => id);
  const issue = () => project.certificate(".", { commonName: "app.example.com" });

  before(async () => {
    project = await Project.create();
    // No object is young (C39): what was deleted is known to be gone.
    project.emulator.clocks.date = 600_000;
    await issue();
    await project.program(`
      const certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
      });
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] },
        { dependsOn: certificate });`);
  });
  after(() => project?.close());

  it("C33 of the provider in a create is named, once, and nothing is made beside it", async () => {
    const lost: Fault = {
      method: "POST",
      path: "/tls_certificates",
      answer: "silence",
      work: true,
    };
    await project.killed("provider", lost, "up");
    const [orphan = ""] = ids("tlsCertificates");
    const named = await project.fails("up", "--yes", "--skip-preview");
    assert.ok(named.output.includes(orphan), named.output);
    assert.ok(!named.requests.some((request) => request.startsWith("POST")));
    project.emulator.tlsCertificates.delete(orphan);
  });

  it("C33 of the engine in a create is named where the hostports are taken", async () => {
    const lost: Fault = { method: "POST", path: "/edges/tls", answer: "silence", work: true };
    await project.killed("engine", lost, "up");
    await project.succeedsQuietly("cancel", "--yes");
    const [orphan = ""] = ids("tlsEdges");
    const named = await project.fails("up", "--yes", "--skip-preview");
    assert.ok(named.output.includes(orphan), named.output);
    project.emulator.tlsEdges.delete(orphan);
    await project.refresh("--clear-pending-creates");
  });

  it("C37 of the engine in a replacement is made good by up --refresh", async () => {
    await issue();
    const lost: Fault = {
      method: "DELETE",
      path: "/tls_certificates/*",
      answer: "silence",
      work: true,
    };
    await project.killed("engine", lost, "up");
    await project.succeedsQuietly("cancel", "--yes");
    await project.up("--refresh");
    const { certificate, edge } = await project.exported();
    assert.deepEqual(ids("tlsCertificates"), [certificate?.id]);
    assert.deepEqual(ids("tlsEdges"), [edge?.id]);
  });

  it("C32 of the provider in a destroy is made good by another", async () => {
    const lost: Fault = { method: "DELETE", path: "/edges/tls/*", answer: "silence", work: true };
    await project.killed("provider", lost, "destroy");
    await project.destroy();
    assert.deepEqual([...ids("tlsEdges"), ...ids("tlsCertificates")], []);
  });
});
