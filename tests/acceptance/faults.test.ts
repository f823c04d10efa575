import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { nameOf } from "../../tools/engineLog";
import { assertInert } from "../cases";

for (const protocol of ["dynamic", "plugin"] as const)
  describe(`a service that fails, ${protocol}`, () => {
    let project: Project;
    const edges = () => project.emulator.tlsEdges.list();
    const certificates = () => project.emulator.tlsCertificates.list();

    /** A certificate and an edge, and more of each. */
    const write = (description: string, ...more: string[]) =>
      project.program(`
      const pair = {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
      };
      new tlsedge.TLSCertificate("certificate", { ...pair, description: "d" });
      new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"], description: "${description}" });
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
      await write("d");
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

    it("C34 says beside the resource why an update waits, until it goes on", async () => {
      const path = `/edges/tls/${edges()[0]?.id}`;
      const answer = { status: 503, headers: { "Retry-After": "1" } };
      project.emulator.faults.add({ method: "PATCH", path, answer });
      await write("slow");
      const run = await project.up();
      const statuses = run.events.flatMap(({ diagnosticEvent: one }) =>
        one?.ephemeral ? [[nameOf(one.urn ?? ""), one.message.replace(/<{%.*?%}>|\n/g, "")]] : [],
      );
      const waits = `503, tries again in 1 s (1 of 8): PATCH ${edges()[0]?.id}`;
      assert.deepEqual(statuses, [
        ["edge", waits],
        ["edge", ""],
      ]);
      assert.deepEqual(run.changes, { same: 2, update: 1 });
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
        "d",
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
