import assert from "node:assert/strict";
import { tlsCertificates } from "../../client/tlsCertificate";
import { tlsEdges } from "../../client/tlsEdge";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";

/** What a run says of adoptions at its end, line by line. */
const adoptions = (output: string) => [
  ...(output.match(/(?<=^ {4}).*adopted without changes.*$/gm) ?? []),
];

/** Through dynamic providers alone; tests/adoption.test.ts has each mistake and each order. */
describe("adoption", () => {
  let project: Project;
  let made: MadeCertificate;
  let ids: { edge: string; certificate: string };

  interface Managed {
    edge?: string;
    certificate?: string;
    key?: boolean;
    /** The name of the edge. */
    name?: string;
    more?: string;
  }
  /** A program that adopts both objects. */
  const managing = (managed: Managed = {}) => {
    const { edge = "", certificate = "", key = false, name = "edge" } = managed;
    return project.program(`
      exports.certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("chain.pem", "utf8"), description: "old",
        ${key ? 'privateKeyPem: readFileSync("key.pem", "utf8"),' : ""} ${certificate}
      }, { import: "${ids.certificate}" }).notAfter;
      exports.edge = new tlsedge.TLSEdge("${name}", {
        hostports: ["app.example.com:443"], description: "old",
        backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge" }, ${edge}
      }, { import: "${ids.edge}" }).id;
      ${managed.more ?? ""}`);
  };
  /** A resource that is not adopted. */
  const beside = 'new tlsedge.TLSEdge("plain", { hostports: ["plain.example.com:443"] });';

  const issue = async () => {
    const pair = await makeCertificate({ commonName: "app.example.com" });
    project.keepSecret("the private key", pair.privateKeyPem);
    return pair;
  };
  const put = async ({ certificatePem, privateKeyPem }: MadeCertificate) => {
    await project.file("chain.pem", certificatePem);
    await project.file("key.pem", privateKeyPem);
  };
  const alive = () => ({
    edge: project.emulator.tlsEdges.get(ids.edge)?.id,
    certificate: project.emulator.tlsCertificates.get(ids.certificate)?.id,
  });
  const assertAlive = () => assert.deepEqual(alive(), ids);
  const assertStay = ({ output }: Run) => {
    for (const object of ["TLS edge edgtls_", "TLS certificate cert_"]) {
      assert.match(output, new RegExp(`the ${object}\\w+ stays.*remove the option`));
    }
  };

  before(async () => {
    project = await Project.create();
    made = await issue();
    await put(made);
    const client = project.newClient();
    const { id: edge } = await tlsEdges.create(client, {
      hostports: ["app.example.com:443"],
      description: "old",
      backend: { backend_id: "bkdtg_1" },
      tls_termination: { terminate_at: "edge", min_version: "1.2" },
    });
    const { id: certificate } = await tlsCertificates.create(client, {
      certificate_pem: made.certificatePem,
      private_key_pem: made.privateKeyPem,
      description: "old",
    });
    ids = { edge, certificate };
  });
  after(() => project?.close());

  it("C40 C50 that differs fails the plan: each difference, and no value of a secret", async () => {
    const secret = "secret-of-the-program";
    project.keepSecret("an argument", secret);
    await project.file("secret", secret);
    const text = 'pulumi.secret(readFileSync("secret", "utf8"))';
    await managing({
      edge: `description: ${text}, metadata: ${text},
        hostports: pulumi.output(["app.example.com:443", ${text}.apply((name) => name + ".example:443")]),
        ipRestriction: { ipPolicyIds: ["ipp_1", ${text}] },
        mutualTls: { certificateAuthorityIds: ["ca_1"] },
        backend: { backendId: "other" },`,
    });
    const { output, writes } = await project.fails("preview");
    for (const line of [
      "description: [secret] / [secret]",
      "metadata: [secret] / none",
      "hostports: [secret] / [secret]",
      "ipRestriction: [secret] / none",
      'mutualTls: {"certificateAuthorityIds":["ca_1"],"enabled":true} / none',
      'backend: {"backendId":"other","enabled":true} / {"enabled":true,"backendId":"bkdtg_1"}',
    ]) {
      assert.ok(output.includes(line), `${line}\n${output}`);
    }
    assert.ok(!output.includes("tlsTermination:"), output);
    assert.ok(!adoptions(output).join().includes(ids.edge), output);
    assert.deepEqual(writes, []);
    assertAlive();
  });

  it("C40 C42 takes both over as they are, the certificate without its key", async () => {
    await managing();
    const both = `the TLS certificate ${ids.certificate}, the TLS edge ${ids.edge}`;
    const run = await project.succeeds("up", "--yes");
    assert.deepEqual(adoptions(run.output), [
      `will be adopted without changes: ${both}`,
      `adopted without changes: ${both}`,
    ]);
    assert.deepEqual(run.writes, []);
    assertAlive();
    const { edge, certificate } = await project.exported();
    assert.equal(edge?.id, ids.edge);
    assert.equal(certificate?.id, ids.certificate);
    assert.equal(await project.output("edge"), ids.edge);
    assert.match(String(await project.output("certificate")), /^20\d\d-/);
  });

  it("C40 what is adopted updates in place, with the option still there", async () => {
    await managing({
      key: true,
      edge: 'description: "new",',
      certificate: 'metadata: "m",',
      more: beside,
    });
    const run = await project.up();
    assert.deepEqual(run.writes.sort(), [
      "PATCH /edges/tls/:id",
      "PATCH /tls_certificates/:id",
      "POST /edges/tls",
    ]);
    assertAlive();
  });

  it("C44 --replace '**' replaces the provider's own record, too, and leaves the objects alive", async () => {
    const { plain } = await project.exported();
    const run = await project.up("--replace", "**");
    const deletes = run.requests.filter((request) => request.startsWith("DELETE"));
    assert.deepEqual(deletes, ["DELETE /edges/tls/:id"], "the one beside");
    assertStay(run);
    assertAlive();
    const { edge, certificate, plain: replaced } = await project.exported();
    assert.deepEqual({ edge: edge?.id, certificate: certificate?.id }, ids);
    assert.notEqual(replaced?.id, plain?.id);
  });

  it("C44 --target-replace, taint and another name for a resource leave the objects alive", async () => {
    const urn = project.urn("TLSCertificate", "certificate");
    await project.succeedsQuietly("state", "taint", urn, "--yes");
    await managing({ key: true, edge: 'description: "new",', certificate: 'metadata: "m",' });
    const replaced = await project.up(
      ...["--target-replace", project.urn("TLSEdge", "edge"), "--target", urn],
    );
    assert.equal(replaced.changes.replace, 2, replaced.output);
    assert.deepEqual(replaced.writes, []);
    assertStay(replaced);
    assertAlive();

    await managing({ name: "renamed", key: true, edge: 'description: "new",' });
    const renamed = await project.up();
    assert.match(renamed.output, /the TLS edge edgtls_\w+ stays/);
    assertAlive();
    await project.up("--expect-no-changes");
  });

  it("C44 is not destroyed while the option stands, with --run-program neither", async () => {
    const run = await project.destroy("--run-program");
    assert.deepEqual(run.writes, []);
    assertStay(run);
    assertAlive();
  });
});
