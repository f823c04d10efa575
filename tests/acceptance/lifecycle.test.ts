import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { throughBothDoors } from "./doors";

throughBothDoors("a stack on the real engine", (door) => {
  let project: Project;
  let authority: MadeCertificate;
  let writesOfNothing: number;

  /** How many times the engine has written its state: it keeps one file for each write. */
  const writes = async () => {
    const names = await readdir(`${project.folder}/state`, { recursive: true });
    return names.filter((name) => /stacks.*\.json\.\d+/.test(name)).length;
  };

  const write = (edge: string, certificate = "", more = "") =>
    project.program(`
      const file = (name) => readFileSync(name, "utf8");
      const certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: file("chain.pem"), privateKeyPem: file("key.pem"), ${certificate}
      });
      const edge = new tlsedge.TLSEdge("edge", { ${edge} });
      exports.notAfter = certificate.notAfter;
      exports.commonName = certificate.subjectCommonName;
      exports.chain = certificate.certificatePem;
      exports.edgeId = edge.id;
      ${more}`);

  const issue = async (commonName: string) => {
    const made = await makeCertificate({ commonName, dnsNames: [commonName], issuer: authority });
    project.keepSecret("the private key", made.privateKeyPem);
    await project.file("key.pem", made.privateKeyPem);
    await project.file("chain.pem", made.certificatePem);
    return made;
  };

  const hostports = 'hostports: ["app.example.com:443", "www.example.com:443"],';
  const backend = 'backend: { backendId: "bkdtg_1" },';
  const ipRestriction = 'ipRestriction: { ipPolicyIds: ["ipp_1", "ipp_2"] },';
  const mutualTls = 'mutualTls: { certificateAuthorityIds: ["ca_1"] },';
  const termination = 'tlsTermination: { terminateAt: "edge" },';
  const modules = backend + ipRestriction + mutualTls + termination;
  const described = 'description: "For the app", metadata: "owner=web",';
  const edgeOnService = () => {
    const [edge] = project.emulator.tlsEdges.list();
    assert.ok(edge);
    return edge;
  };
  /** The requests without the newest page of a list, which the plan and a create may read (C30). */
  const ofObjects = ({ requests }: Run) => requests.filter((one) => !one.endsWith("?limit=100"));
  const bodies = () => project.emulator.requests.map(({ body }) => body).filter(Boolean);
  const lastBody = () => bodies().at(-1);

  before(async () => {
    project = await Project.create({}, {}, door);
    project.env.PULUMI_RETAIN_CHECKPOINTS = "true";
    authority = await makeCertificate({ commonName: "Test CA", isCa: true });
  });
  after(() => project?.close());

  it("C14 C19 shows names and dates in the plan, and reads each list once", async () => {
    await issue("app.example.com");
    await write(hostports + modules);
    const plan = await project.preview();
    // Outputs of the stack: the engine shows those of a resource only if it has them as inputs.
    assert.match(plan.output, /notAfter *: "20\d\d-/);
    assert.match(plan.output, /commonName *: "app\.example\.com"/);
    assert.match(plan.output, /privateKeyPem +: \[secret\]/);
    assert.deepEqual(plan.requests.sort(), [
      "GET /edges/tls?limit=100",
      "GET /tls_certificates?limit=100",
    ]);
  });

  it("C30 creates each with one request", async () => {
    const run = await project.up();
    assert.deepEqual(run.changes, { create: 3 });
    assert.deepEqual(ofObjects(run).sort(), ["POST /edges/tls", "POST /tls_certificates"]);
  });

  it("C50 stores the key once, encrypted", async () => {
    const { certificate } = await project.exported();
    assert.ok(certificate);
    assert.ok("ciphertext" in (certificate.inputs.privateKeyPem as object));
    assert.ok(!("privateKeyPem" in certificate.outputs));
    assert.match(String(await project.output("chain")), /^-----BEGIN CERTIFICATE-----/);
  });

  it(`C52 stores ${door === "plugin" ? "no" : "a constant"} text for the provider`, async () => {
    const { certificate, edge } = await project.exported();
    // To the letter: every stack that exists holds these texts.
    const text = (name: string) =>
      door === "plugin"
        ? undefined
        : `exports.handler = () => require("pulumi-tlsedge/provider").${name}`;
    assert.equal(certificate?.outputs.__provider, text("tlsCertificate"));
    assert.equal(edge?.outputs.__provider, text("tlsEdge"));
  });

  it("C25 a second up changes nothing and makes no request", async () => {
    const before = await writes();
    const run = await project.up();
    assert.deepEqual(run.changes, { same: 3 });
    assert.deepEqual(run.requests, []);
    writesOfNothing = (await writes()) - before;
  });

  it("C31 a refresh without drift changes nothing, and the up after it writes no state", async () => {
    const run = await project.refresh();
    assert.deepEqual(run.changes, { same: 3 });
    assert.deepEqual(run.requests.sort(), ["GET /edges/tls/:id", "GET /tls_certificates/:id"]);
    const before = await writes();
    const up = await project.up();
    assert.deepEqual(up.changes, { same: 3 });
    assert.equal((await writes()) - before, writesOfNothing);
  });

  it("C20 C22 C30 updates everything that may change with one PATCH each", async () => {
    const changed = `
      description: "Front door", metadata: "m", hostports: ["www.example.com:443"],
      backend: { backendId: "bkdtg_2" }, ipRestriction: { ipPolicyIds: ["ipp_3"], enabled: false },
      mutualTls: { certificateAuthorityIds: ["ca_1", "ca_2"] },
      tlsTermination: { terminateAt: "edge", minVersion: "1.3" },`;
    await write(changed, described);
    const run = await project.up();
    assert.deepEqual(run.changes, { same: 1, update: 2 });
    assert.deepEqual(ofObjects(run).sort(), [
      "PATCH /edges/tls/:id",
      "PATCH /tls_certificates/:id",
    ]);
    const edge = {
      ...{ description: "Front door", metadata: "m", hostports: ["www.example.com:443"] },
      backend: { enabled: true, backend_id: "bkdtg_2" },
      ip_restriction: { enabled: false, ip_policy_ids: ["ipp_3"] },
      mutual_tls: { enabled: true, certificate_authority_ids: ["ca_1", "ca_2"] },
      tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.3" },
    };
    const certificate = { description: "For the app", metadata: "owner=web" };
    const sent = bodies().slice(-2) as { hostports?: string[] }[];
    assert.deepEqual(
      sent.sort((a) => (a.hostports ? -1 : 1)),
      [edge, certificate],
    );
    await write(hostports + modules, described);
    await project.up();
  });

  it("C21 C22 other forms of the same values are no change", async () => {
    const chain = await readFile(`${project.folder}/chain.pem`, "utf8");
    await project.file("chain.pem", `# the leaf\n\n${chain.replaceAll("\n", "\r\n")}\r\n\r\n`);
    const pem = await readFile(`${project.folder}/key.pem`, "utf8");
    const sec1 = createPrivateKey(pem).export({ type: "sec1", format: "pem" }).toString();
    project.keepSecret("the SEC1 key", sec1);
    await project.file("key.pem", sec1);
    await write(`hostports: ["www.example.com:443", "app.example.com:443"],${modules}`, described);
    const run = await project.up();
    assert.deepEqual(run.changes, { same: 3 });
    assert.deepEqual(run.requests, []);
  });

  it("C16 keeps the id and the derived fields known in an update's plan", async () => {
    await write(
      hostports + modules,
      'description: "Again", metadata: "owner=web",',
      'new tlsedge.TLSEdge("reader", { description: pulumi.interpolate`${certificate.id} ${certificate.notAfter}` });',
    );
    const plan = await project.preview();
    assert.match(plan.output, /description *: "cert_\w+ 20\d\d-/);
  });

  it("C16 C25 what does not change is known in a plan, and so is what depends on it", async () => {
    const dependent = `
      new tlsedge.TLSEdge("dependent", {
        description: pulumi.interpolate\`\${certificate.notAfter} \${edge.hostports}\`,
        metadata: edge.tlsTermination.terminateAt,
        hostports: ["dependent.example.com:443"],
      }, { replaceOnChanges: ["*"] });
      exports.description = edge.description;`;
    await write(hostports + modules, described, dependent);
    await project.up();
    const run = await project.succeeds("preview", "--expect-no-changes", "--diff");
    assert.doesNotMatch(run.output, /\[unknown\]|output</);
    await write(hostports + modules, described);
    await project.up();
  });

  it("C20 another chain replaces: the new one is made first", async () => {
    await issue("app.example.com");
    const run = await project.up();
    assert.deepEqual(ofObjects(run), ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
    assert.deepEqual(
      run.steps.filter((step) => step.endsWith(":certificate")),
      ["create-replacement:certificate", "replace:certificate", "delete-replaced:certificate"],
    );
    assert.equal(project.emulator.tlsCertificates.list().length, 1);
  });

  it("C31 finds drift, keeps the key, and puts it right", async () => {
    const drift = {
      ...{ description: "changed", metadata: "changed", hostports: ["other.example.com:443"] },
      backend: { enabled: true, backend: { id: "bkdtg_9", uri: "https://x/9" } },
      ip_restriction: { enabled: false, ip_policies: [{ id: "ipp_1", uri: "https://x/1" }] },
      mutual_tls: null,
      tls_termination: { enabled: true, terminate_at: "upstream", min_version: null },
    };
    const [certificate] = project.emulator.tlsCertificates.list();
    const wanted = JSON.stringify(edgeOnService());
    project.emulator.tlsEdges.patch(edgeOnService().id, drift);
    project.emulator.tlsCertificates.patch(certificate?.id as string, { description: "changed" });
    const shown = await project.succeeds("refresh", "--preview-only", "--diff");
    assert.match(shown.output, /~ description *: "For the app" => "changed"/);
    assert.deepEqual((await project.refresh()).changes, { same: 1, update: 2 });
    const run = await project.up();
    assert.deepEqual(ofObjects(run).sort(), [
      "PATCH /edges/tls/:id",
      "PATCH /tls_certificates/:id",
    ]);
    const sent = bodies()
      .slice(-2)
      .map((body) => Object.keys(body as object));
    assert.deepEqual(
      sent.sort((a, b) => b.length - a.length),
      [Object.keys(drift), ["description"]],
    );
    assert.deepEqual(JSON.parse(JSON.stringify(edgeOnService())), JSON.parse(wanted));
    const { certificate: stored } = await project.exported();
    assert.ok(stored && "ciphertext" in (stored.inputs.privateKeyPem as object));
  });

  it("C31 what was deleted behind the engine's back is gone, and made anew", async () => {
    project.emulator.tlsEdges.delete(edgeOnService().id);
    assert.deepEqual((await project.refresh()).changes, { delete: 1, same: 2 });
    const run = await project.up();
    assert.deepEqual(ofObjects(run), ["POST /edges/tls"]);
  });

  it("C32 an update of something gone names pulumi refresh", async () => {
    project.emulator.tlsEdges.delete(edgeOnService().id);
    await write(`${hostports}${modules}description: "new",`);
    const run = await project.fails("up", "--yes", "--skip-preview");
    assert.match(run.output, /gone from the service.*pulumi refresh/);
    await project.up("--refresh");
    assert.equal(edgeOnService().description, "new");
  });

  it("C23 a module that is removed is switched off in place", async () => {
    await write(hostports + backend + mutualTls + termination);
    const run = await project.up();
    assert.deepEqual(ofObjects(run), ["PATCH /edges/tls/:id"]);
    const { ip_restriction } = lastBody() as { ip_restriction: object };
    assert.deepEqual(ip_restriction, { enabled: false, ip_policy_ids: ["ipp_1", "ipp_2"] });
    assert.deepEqual((await project.up("--refresh")).changes, { same: 3 });
  });

  it('C23 C24 with onModuleRemoval: "replace" the edge is replaced, deleted first', async () => {
    await write(`${hostports}${termination}onModuleRemoval: "replace",`);
    const plan = await project.preview();
    assert.ok(plan.steps.includes("replace:edge"), plan.steps.join());
    const run = await project.up();
    assert.deepEqual(ofObjects(run), ["DELETE /edges/tls/:id", "POST /edges/tls"]);
    assert.equal(edgeOnService().backend, null);
  });

  it("C32 destroys everything, what is gone already included", async () => {
    project.emulator.tlsEdges.delete(edgeOnService().id);
    const run = await project.destroy();
    assert.deepEqual(run.changes, { delete: 3 });
    assert.deepEqual(project.emulator.tlsCertificates.list(), []);
    assert.deepEqual(await project.exported(), {});
  });
});
