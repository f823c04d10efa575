import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { brokenCopy } from "../../tools/faults/account";
import { draw, words } from "../../tools/faults/draw";
import { Owners } from "../../tools/faults/judge";
import { runSequences } from "../../tools/faults/sequences";
import { assertInert } from "../cases";
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

  it("C90 the engine shows a text of the service whole, escaped, and obeys none of it", async () => {
    await project.program('new tlsedge.TLSEdge("escaped");');
    const msg = "red \u001b[31m\u0007\u202e <{%underline%}>\n::add-mask::x ##[group]y";
    const body = JSON.stringify({ msg, error_code: "ERR_<{%reset%}>" });
    const headers = { "Content-Type": "application/json" };
    project.emulator.faults.add({ method: "POST", answer: { status: 400, headers, body } });
    const { output } = await project.fails("up", "--yes", "--skip-preview");
    const escaped =
      "red \\u001b[31m\\u0007\\u202e <\\u007b%underline%}>\\n::add-mask::x #\\u0023[group]y";
    assert.ok(output.includes(escaped), output);
    assert.ok(output.includes("ERR_<\\u007b%reset%}>"), output);
    assertInert(output);
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
  it("say in some run each thing that only some runs have", async () => {
    const pair = await makeCertificate({ commonName: "app.example.com" });
    const drawn = Array.from({ length: 200 }, (_, number) => draw(1, number, [pair]));
    const missing = Object.entries(words).filter(([, isIn]) => !drawn.some(isIn));
    assert.deepEqual(missing, []);
  });

  it("C36 see an object that two resources have, or have had one after the other", () => {
    const [first, second] = [
      { id: "cert_1", name: "first" },
      { id: "", name: "second" },
    ];
    const judge = (machine: number, messages = "", isApart = machine > 0) => {
      Object.assign(first, { id: "cert_1" });
      Object.assign(second, { id: "" });
      const owners = new Owners(isApart);
      const stacks = [
        { all: [first], machine: 0, messages: "" },
        { all: [second], machine, messages },
      ];
      const before = owners.judge(stacks);
      Object.assign(first, { id: "" });
      Object.assign(second, { id: "cert_1" });
      return [...before, ...owners.judge(stacks)].map(({ promise }) => promise);
    };
    assert.deepEqual(judge(0, "it uses cert_1"), ["shared"]);
    assert.deepEqual(judge(1), ["shared"]);
    // Two machines can't know; a machine that one stack has left is no excuse.
    assert.deepEqual(judge(1, "it uses cert_1"), []);
    assert.deepEqual(judge(1, "it uses cert_1", false), ["shared"]);
  });

  it("C84 see that a create takes what an earlier one was answered with", () => {
    const owners = new Owners(false);
    const stacks = [{ all: [{ id: "cert_1", name: "one" }], machine: 0, messages: "" }];
    owners.unstored.add("cert_1");
    assert.deepEqual(
      owners.judge(stacks).map(({ promise }) => promise),
      ["taken"],
    );
    // Unless the user has said so.
    owners.release("cert_1");
    assert.deepEqual(owners.judge(stacks), []);
  });

  it("C33 break promises on a copy of the package that sends a failed create again", async () => {
    const numbers = Array.from({ length: 12 }, (_, number) => number);
    const results = await runSequences(1, numbers, "dynamic", await brokenCopy());
    const broken = results.flatMap((run) => run.broken.map(({ promise }) => promise));
    for (const promise of ["resent", "duplicate"] as const) {
      assert.ok(broken.includes(promise), broken.join());
    }
  });
});
