import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { later } from "../support";
import { throughBothDoors } from "./doors";

throughBothDoors("a stack on the real engine", (door) => {
  let project: Project;
  let authority: MadeCertificate;

  /** How many times the engine has written its state: it keeps one file for each write. */
  const writes = async () => {
    const names = await readdir(`${project.folder}/state`, { recursive: true });
    return names.filter((name) => /stacks.*\.json\.\d+/.test(name)).length;
  };

  /** A certificate and three edges, and one that depends on what does not change of them. */
  const write = (edge: string, certificate = "", other = modules, gone = "") =>
    project.program(`
      const file = (name) => readFileSync(name, "utf8");
      const certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: file("chain.pem"), privateKeyPem: file("key.pem"), ${certificate}
      });
      const edge = new tlsedge.TLSEdge("edge", { ${edge} });
      const other = new tlsedge.TLSEdge("other", { ${other}
        hostports: ["other.example.com:443"], onModuleRemoval: "replace",
      });
      new tlsedge.TLSEdge("gone", { ${gone} });
      new tlsedge.TLSEdge("dependent", {
        description: pulumi.interpolate\`\${certificate.notAfter} \${edge.id} \${other.hostports}\`,
        metadata: edge.tlsTermination.terminateAt,
        hostports: ["dependent.example.com:443"],
      }, { replaceOnChanges: ["*"] });
      exports.notAfter = certificate.notAfter;
      exports.commonName = certificate.subjectCommonName;
      exports.description = pulumi.interpolate\`\${certificate.id} \${certificate.notAfter}\`;`);

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
  /** An edge, as the service has it. */
  const served = async (name = "edge") => {
    const { id = "" } = (await project.exported())[name] ?? {};
    const edge = project.emulator.tlsEdges.get(id);
    assert.ok(edge, name);
    return edge;
  };
  /** The requests without the newest page of a list, which the plan and a create may read (C30). */
  const ofObjects = ({ requests }: Run) => requests.filter((one) => !one.endsWith("?limit=100"));
  const patches = () =>
    project.emulator.requests.flatMap(({ method, body }) => (method === "PATCH" ? body : []));

  before(async () => {
    project = await Project.create({}, {}, door);
    project.env.PULUMI_RETAIN_CHECKPOINTS = "true";
    authority = await makeCertificate({ commonName: "Test CA", isCa: true });
  });
  after(() => project?.close());

  it("C14 C19 C83 shows names and dates in the plan, and reads each list once", async () => {
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
    assert.deepEqual(run.changes, { create: 6 });
    assert.deepEqual(ofObjects(run).sort(), [
      ...Array.from({ length: 4 }, () => "POST /edges/tls"),
      "POST /tls_certificates",
    ]);
  });

  it("C21 C22 C25 C31 a refresh changes nothing, nor does an up, with other forms of the values", async () => {
    const refresh = await project.refresh();
    assert.deepEqual(refresh.changes, { same: 6 });
    assert.ok(refresh.requests.every((one) => one.startsWith("GET ")));
    const before = await writes();
    const same = async () => {
      const run = await project.up();
      assert.deepEqual([run.changes, run.requests], [{ same: 6 }, []]);
      return writes();
    };
    // The first after a refresh writes no more state than the next.
    const first = (await same()) - before;
    const chain = await readFile(`${project.folder}/chain.pem`, "utf8");
    await project.file("chain.pem", `# the leaf\n\n${chain.replaceAll("\n", "\r\n")}\r\n\r\n`);
    const pem = await readFile(`${project.folder}/key.pem`, "utf8");
    const sec1 = createPrivateKey(pem).export({ type: "sec1", format: "pem" }).toString();
    project.keepSecret("the SEC1 key", sec1);
    await project.file("key.pem", sec1);
    await write(`hostports: ["www.example.com:443", "app.example.com:443"],${modules}`);
    assert.equal((await same()) - before - first, first);
  });

  it("C16 C20 C22 C30 updates all that may change with one PATCH each; the rest stays known", async () => {
    const changed = `
      description: "Front door", metadata: "m", hostports: ["www.example.com:443"],
      backend: { backendId: "bkdtg_2" }, ipRestriction: { ipPolicyIds: ["ipp_3"], enabled: false },
      mutualTls: { certificateAuthorityIds: ["ca_1", "ca_2"] },
      tlsTermination: { terminateAt: "edge", minVersion: "1.3" },`;
    await write(changed, described);
    const plan = await project.preview();
    // Also of what is replaced on any change, and so would be for a value that is not known.
    assert.deepEqual(plan.changes, { same: 4, update: 2 });
    assert.doesNotMatch(plan.output, /\[unknown\]|output</);
    const run = await project.up();
    assert.deepEqual(run.changes, { same: 4, update: 2 });
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
    const sent = patches().slice(-2) as { hostports?: string[] }[];
    assert.deepEqual(
      sent.sort((a) => (a.hostports ? -1 : 1)),
      [edge, certificate],
    );
  });

  it("C31 finds drift and what is gone, keeps the key, and puts all right", async () => {
    const drift = {
      ...{ description: "changed", metadata: "changed", hostports: ["drifted.example.com:443"] },
      backend: { enabled: true, backend: { id: "bkdtg_9", uri: "https://x/9" } },
      ip_restriction: { enabled: true, ip_policies: [{ id: "ipp_1", uri: "https://x/1" }] },
      mutual_tls: null,
      tls_termination: { enabled: true, terminate_at: "upstream", min_version: null },
    };
    const [certificate] = project.emulator.tlsCertificates.list();
    const { id } = await served();
    const wanted = JSON.stringify(await served());
    project.emulator.tlsEdges.patch(id, drift);
    project.emulator.tlsCertificates.patch(certificate?.id as string, { description: "changed" });
    later(project.emulator);
    project.emulator.tlsEdges.delete((await served("other")).id);
    const refresh = await project.refresh("--diff");
    assert.match(refresh.output, /~ description *: "For the app" => "changed"/);
    assert.deepEqual(refresh.changes, { delete: 1, same: 3, update: 2 });
    const run = await project.up();
    assert.deepEqual(ofObjects(run).sort(), [
      "PATCH /edges/tls/:id",
      "PATCH /tls_certificates/:id",
      "POST /edges/tls",
    ]);
    const sent = patches()
      .slice(-2)
      .map((body) => Object.keys(body as object));
    assert.deepEqual(
      sent.sort((a, b) => b.length - a.length),
      [Object.keys(drift), ["description"]],
    );
    assert.deepEqual(JSON.parse(JSON.stringify(await served())), JSON.parse(wanted));
    const { certificate: stored } = await project.exported();
    assert.ok(stored && "ciphertext" in (stored.inputs.privateKeyPem as object));
  });

  it("C20 C23 C24 another chain is made first, an edge deleted first, a module switched off in place", async () => {
    later(project.emulator);
    project.emulator.tlsEdges.delete((await served("gone")).id);
    await issue("app.example.com");
    const last = 'description: "new",';
    await write(hostports + backend + ipRestriction + termination, described, termination, last);
    const run = await project.up("--refresh");
    assert.equal((await served("gone")).description, "new");
    const certificates = run.writes.filter((one) => one.includes("/tls_certificates"));
    assert.deepEqual(certificates, ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
    const steps = (name: string) =>
      run.steps.flatMap((step) => {
        const [what = "", of] = step.split(":");
        return of === name && what !== "refresh" ? what : [];
      });
    const [made, removed] = ["create-replacement", "delete-replaced"];
    assert.deepEqual(steps("certificate"), [made, "replace", removed]);
    assert.deepEqual(steps("other"), [removed, "replace", made]);
    assert.deepEqual(steps("edge"), ["update"]);
    assert.equal(project.emulator.tlsCertificates.list().length, 1);
    assert.equal((await served("other")).backend, null);
    const { mutual_tls } = patches().at(-1) as { mutual_tls?: object };
    assert.deepEqual(mutual_tls, { enabled: false, certificate_authority_ids: ["ca_1", "ca_2"] });
  });

  it("C32 destroys everything, what is gone already included", async () => {
    later(project.emulator);
    project.emulator.tlsEdges.delete((await served()).id);
    const run = await project.destroy();
    assert.deepEqual(run.changes, { delete: 6 });
    assert.deepEqual(project.emulator.tlsCertificates.list(), []);
    assert.deepEqual(await project.exported(), {});
  });
});
