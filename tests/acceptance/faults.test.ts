import assert from "node:assert/strict";
import { appendFile, cp } from "node:fs/promises";
import path from "node:path";
import { Project } from "../../tools/engine";
import { runSequences } from "../../tools/faults/sequences";
import { linkModules, newFolder, repository } from "../../tools/folders";
import { assertInert } from "../cases";

for (const protocol of ["dynamic", "plugin"] as const)
  describe(`a service that fails, ${protocol}`, () => {
    let project: Project;
    const edges = () => project.emulator.tlsEdges.list();
    const certificates = () => project.emulator.tlsCertificates.list();

    /** A certificate and an edge, and more of each. */
    const write = (...more: string[]) =>
      project.program(`
      const pair = {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
      };
      new tlsedge.TLSCertificate("certificate", { ...pair, description: "d" });
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"], description: "d" });
      ${more.join("\n")}`);

    before(async () => {
      project = await Project.create({}, {}, protocol);
      await project.certificate(".", { commonName: "app.example.com" });
    });
    after(() => project?.close());

    it("C33 a create whose answer is lost is found, and the update goes well", async () => {
      project.emulator.faults.add(
        { method: "POST", path: "/edges/tls", work: true, answer: "reset" },
        { method: "POST", path: "/tls_certificates", work: true, answer: { status: 504 } },
      );
      await write();
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
    });

    it("C34 says on the way why a plan takes long; nothing has changed", async () => {
      const path = `/edges/tls/${edges()[0]?.id}`;
      project.emulator.faults.add({ method: "GET", path, times: 3, answer: { status: 503 } });
      const run = await project.up("--refresh");
      assert.match(run.output, /GET \/edges\/tls\/edgtls_\w+ got status 503; trying again/);
      assert.deepEqual([run.changes, run.writes], [{ same: 3 }, []]);
    });

    it("C35 C90 an answer that can't be used is recorded, a refusal is shown whole, escaped", async () => {
      const msg = "red \u001b[31m\u0007\u202e <{%underline%}>\n::add-mask::x ##[group]y";
      const body = JSON.stringify({ msg, error_code: "ERR_<{%reset%}>" });
      const headers = { "Content-Type": "application/json" };
      project.emulator.faults.add(
        { method: "POST", path: "/edges/tls", answer: { fields: { uri: 7 } } },
        { method: "POST", path: "/tls_certificates", answer: { status: 400, headers, body } },
      );
      await write(
        'new tlsedge.TLSEdge("recorded", { description: "r" });',
        'new tlsedge.TLSCertificate("refused", { ...pair, description: "r" });',
      );
      const { output } = await project.fails(
        "up",
        "--yes",
        "--skip-preview",
        "--continue-on-error",
      );
      assert.match(output, /the TLS edge edgtls_\w+ was created and is in the state.*field uri/);
      const escaped =
        "red \\u001b[31m\\u0007\\u202e <\\u007b%underline%}>\\n::add-mask::x #\\u0023[group]y";
      assert.ok(output.includes(escaped), output);
      assert.ok(output.includes("ERR_<\\u007b%reset%}>"), output);
      // The engine lists several errors with a tab before each.
      assertInert(output.replaceAll("\t* ", "* "));
      const { recorded } = await project.exported();
      const made = edges().find(({ description }) => description === "r");
      assert.ok(made);
      assert.equal(recorded?.id, made.id);

      const run = await project.up();
      const ofObjects = run.requests.filter((one) => !one.endsWith("?limit=100"));
      assert.deepEqual(ofObjects.sort(), ["PATCH /edges/tls/:id", "POST /tls_certificates"]);
      assert.equal((await project.exported()).recorded?.outputs.uri, made.uri);
      assert.deepEqual([edges().length, certificates().length], [2, 2]);
    });
  });

for (const protocol of ["dynamic", "plugin"] as const)
  describe(`sequences of commands and faults, ${protocol}`, () => {
    it("C33 C36 C84 keep the promises of docs/performance.md", async () => {
      const { broken } = await runSequences({ protocol, seed: 1, runs: 6, shrink: 1 });
      assert.deepEqual(broken, []);
    });
  });

describe("a copy of the package that sends a failed create again", () => {
  /** The folder of a program that has it above a node_modules with the dependencies. */
  async function brokenCopy(): Promise<string> {
    const folder = newFolder();
    await linkModules(folder);
    const program = path.join(folder, "program");
    const copy = path.join(program, "node_modules", "pulumi-tlsedge");
    for (const name of ["dist", "package.json"]) {
      await cp(path.join(repository, name), path.join(copy, name), { recursive: true });
    }
    for (const kind of ["tlsEdge", "tlsCertificate"]) {
      const again = `
        const { create } = exports.${kind}s;
        exports.${kind}s.create = (...args) => create(...args).catch(() => create(...args));`;
      await appendFile(path.join(copy, "dist", "client", `${kind}.js`), again);
    }
    return program;
  }

  it("C33 is found by the sequences", async () => {
    const options = { protocol: "dynamic", seed: 1, runs: 6, shrink: 0 } as const;
    const { broken } = await runSequences(options, await brokenCopy());
    assert.match(broken.join("\n"), /resent/);
  });
});
