import assert from "node:assert/strict";
import type { Fault } from "../../emulator/server";
import { Project } from "../../tools/engine";

describe("a crash of the plugin", () => {
  let project: Project;
  const ids = () =>
    [project.emulator.tlsEdges, project.emulator.tlsCertificates].flatMap((all) =>
      all.list().map(({ id }) => id),
    );

  const stored = async () => Object.values(await project.exported()).map(({ id }) => id);

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    await project.certificate(".", { commonName: "app.example.com" });
    // Two certificates, and an edge whose hostport a second edge could not have. One after another:
    // of an answer that the engine could not store any more, the object is only named.
    await project.program(`
      let dependsOn = [];
      for (const description of ["one", "two"]) {
        const certificatePem = readFileSync("fullchain.pem", "utf8");
        const privateKeyPem = readFileSync("privkey.pem", "utf8");
        const args = { description, certificatePem, privateKeyPem };
        dependsOn = new tlsedge.TLSCertificate(description, args, { dependsOn });
      }
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] }, { dependsOn });`);
  });
  after(() => project?.close());

  const victims = [
    ["provider", "/tls_certificates"],
    ["engine", "/edges/tls"],
  ] as const;
  for (const [victim, path] of victims) {
    it(`C84 of the ${victim} in a create at ${path} is named by the plan, and by no error`, async () => {
      const lost: Fault = { method: "POST", path, answer: "silence", work: true };
      await project.killed(victim, lost, "up");
      if (victim === "engine") await project.succeedsQuietly("cancel", "--yes");
      const before = await stored();
      const [orphan = "", ...more] = ids().filter((id) => !before.includes(id));
      assert.deepEqual(more, []);
      const { output } = await project.succeeds("preview");
      assert.match(
        output,
        new RegExp(`warning: a TLS \\w+ equals one that this run creates.*${orphan}`),
      );
      project.env.TLSEDGE_TAKE_EQUAL = "1";
    });
  }

  it("C84 is taken by the update that is told to, which makes what is missing", async () => {
    await project.up();
    delete project.env.TLSEDGE_TAKE_EQUAL;
    assert.deepEqual((await stored()).toSorted(), ids().toSorted());
    assert.equal(ids().length, 3);
  });

  it("ends when the user cancels while a request waits for its retry", async () => {
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
});
