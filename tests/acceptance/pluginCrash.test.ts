import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
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

  it("C33 keeps the object when a forced replacement takes it up", async () => {
    await project.up();
    const { one } = await project.exported();
    const id = String(one?.id);
    // What a process leaves that was killed just after the engine has stored its answer.
    const folder = path.join(String(project.env.PULUMI_HOME), "tlsedge");
    const notes = readdirSync(folder).map((file) => path.join(folder, file));
    const left = notes.find((file) => readFileSync(file, "utf8").includes(id)) ?? "";
    const note = JSON.parse(readFileSync(left, "utf8"));
    const since = Date.now() - 60_000;
    writeFileSync(
      left,
      JSON.stringify({ ...note, since, answered: [id], urns: { [one?.urn ?? ""]: id } }),
    );
    const replace = ["--target-replace", String(one?.urn)];
    const { output } = await project.up(...replace);
    assert.match(output, /is kept/);
    assert.ok(ids().includes(id));
    assert.equal((await project.exported()).one?.id, id);
    await project.up(...replace);
    assert.ok(!ids().includes(id));
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
