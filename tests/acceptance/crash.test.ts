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

  it("C84 of the provider in a create: the plan names the object, and the update takes it when told to", async () => {
    const lost: Fault = {
      method: "POST",
      path: "/tls_certificates",
      answer: "silence",
      work: true,
    };
    await project.killed("provider", lost, "up");
    const [orphan = ""] = ids("tlsCertificates");
    const { output } = await project.succeeds("preview");
    assert.ok(output.includes(orphan) && output.includes("TLSEDGE_TAKE_EQUAL=1"), output);
    project.env.TLSEDGE_TAKE_EQUAL = "1";
  });

  it("C84 of the engine in the next create: the error names the edge that has the hostport", async () => {
    const lost: Fault = { method: "POST", path: "/edges/tls", answer: "silence", work: true };
    await project.killed("engine", lost, "up");
    await project.succeedsQuietly("cancel", "--yes");
    delete project.env.TLSEDGE_TAKE_EQUAL;
    const [orphan = ""] = ids("tlsEdges");
    const named = await project.fails("up", "--yes", "--skip-preview");
    assert.ok(named.output.includes(orphan), named.output);
    project.env.TLSEDGE_TAKE_EQUAL = "1";
    const { writes } = await project.up();
    delete project.env.TLSEDGE_TAKE_EQUAL;
    assert.deepEqual(writes, []);
    const { certificate, edge } = await project.exported();
    assert.deepEqual(ids("tlsCertificates"), [certificate?.id]);
    assert.deepEqual(ids("tlsEdges"), [edge?.id]);
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
