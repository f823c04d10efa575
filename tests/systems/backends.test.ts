import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { linkModules, newFolder } from "../../tools/folders";
import { findPostgres, startPostgres } from "../../tools/postgres";

describe("a stack on PostgreSQL, on the real engine", () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  let project: Project;
  let other: Project;
  before(async function () {
    const programs = await findPostgres();
    if (!programs) return this.skip();
    server = await startPostgres(programs);
  });
  after(async () => {
    await project?.close();
    await other?.close();
    await server?.close();
  });

  const program = (...names: string[]) => `
    const pem = (file) => readFileSync(file + ".pem", "utf8");
    new tlsedge.TLSCertificate("app", {
      certificatePem: pem("fullchain"), privateKeyPem: pem("privkey"),
    });
    for (const name of ${JSON.stringify(names)})
      new tlsedge.TLSEdge(name, { hostports: [name + ".example.com:443"] });`;

  it("is told to be locked while somebody else updates it; nothing is lost, and no key is in clear", async () => {
    project = await Project.create({}, server.env);
    const { emulator, secrets, env } = project;
    secrets.add("the password of the server", server.password);
    const made = await project.certificate(".", { commonName: "app.example.com" });
    await project.program(program("one"));

    // Another person, on another machine.
    const settings = ["BASE_URL", "API_KEY", "CA_FILE"].map((name) => `TLSEDGE_${name}`);
    const same = Object.fromEntries(settings.map((name) => [name, env[name]]));
    other = await Project.in(newFolder(), {}, { ...server.env, ...same });
    await linkModules(other.folder);
    await other.use("dynamic");
    await other.file("fullchain.pem", made.certificatePem);
    await other.file("privkey.pem", made.privateKeyPem);
    await other.program(program("one", "two"));
    await other.succeedsQuietly("stack", "select");

    const held = { method: "POST", path: "/edges/tls", answer: "held" } as const;
    const first = await project.struck(held, ["up"], async () => {
      const { code, output } = await other.pulumi("up", "--yes", "--skip-preview");
      assert.notEqual(code, 0, output);
      assert.match(output, /the stack is currently locked by 1 lock/);
      emulator.faults.clear();
    });
    assert.equal(first.code, 0, first.output);
    const second = await other.up();
    assert.deepEqual(second.changes, { create: 1, same: 3 });
    assert.equal(emulator.tlsEdges.list().length, 2);
    assert.deepEqual((await other.up()).changes, { same: 4 });
    const stored = await server.stored();
    assert.match(stored, /urn:pulumi:dev::acceptance::/);
    assert.doesNotMatch(stored, /\/locks\//);
    assert.deepEqual(secrets.in(stored), []);
    await other.destroy();
    assert.deepEqual(emulator.tlsEdges.list(), []);
  });
});
