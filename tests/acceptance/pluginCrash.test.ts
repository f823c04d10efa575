import assert from "node:assert/strict";
import type { Fault } from "../../emulator/server";
import { Project } from "../../tools/engine";

describe("a crash of the plugin", () => {
  let project: Project;
  const ids = () =>
    [project.emulator.tlsEdges, project.emulator.tlsCertificates].flatMap((all) =>
      all.list().map(({ id }) => id),
    );

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    await project.certificate(".", { commonName: "app.example.com" });
    // Two equal certificates, and an edge whose hostport a second edge could not have.
    await project.program(`
      for (const name of ["one", "two"]) {
        new tlsedge.TLSCertificate(name, {
          certificatePem: readFileSync("fullchain.pem", "utf8"),
          privateKeyPem: readFileSync("privkey.pem", "utf8"),
        });
      }
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] });`);
  });
  after(() => project?.close());
  afterEach(async () => {
    await project.destroy();
    assert.deepEqual(ids(), []);
  });

  it("ends when the user cancels while a request waits for its retry", async () => {
    await project.up();
    const slow: Fault = {
      method: "GET",
      answer: { status: 503, headers: { "Retry-After": "100" } },
      times: 3,
    };
    const { output } = await project.struck(slow, ["refresh"], (engine) => {
      process.kill(engine, "SIGINT");
    });
    assert.match(output, /the update was cancelled/);
  });

  for (const victim of ["provider", "engine"] as const) {
    for (const path of ["/tls_certificates", "/edges/tls"]) {
      it(`C84 of the ${victim} in a create at ${path}: the next up goes on by itself`, async () => {
        const lost: Fault = { method: "POST", path, answer: "silence", work: true };
        await project.killed(victim, lost, "up");
        if (victim === "engine") await project.succeedsQuietly("cancel", "--yes");
        const { output } = await project.up();
        assert.match(output, /which an interrupted update has created/);
        const stored = Object.values(await project.exported()).map(({ id }) => id);
        assert.deepEqual(stored.toSorted(), ids().toSorted());
        assert.equal(stored.length, 3);
        await project.up("--expect-no-changes");
      });
    }
  }
});
