import assert from "node:assert/strict";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";

const urn = (type: string, name: string) =>
  `urn:pulumi:dev::acceptance::pulumi-nodejs:dynamic/tlsedge:${type}::${name}`;

/** What a run says of adoptions at its end, line by line. */
const adoptions = (output: string) => [
  ...(output.match(/(?<=^ {4})the .*adopted without changes.*$/gm) ?? []),
];

describe("adoption", () => {
  let project: Project;
  let made: MadeCertificate;
  let ids: { edge: string; certificate: string };

  /** A program that adopts both objects, or manages them by now. */
  const managing = (
    options: {
      edge?: string;
      certificate?: string;
      key?: boolean;
      adopts?: boolean;
      /** A resource that is not adopted. */
      beside?: boolean;
    } = {},
  ) => {
    const { edge = "", certificate = "", key = false, adopts = true, beside = false } = options;
    const imported = (id: string) => (adopts ? `import: "${id}"` : "");
    return project.program(`
      exports.certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("chain.pem", "utf8"), description: "old",
        ${key ? 'privateKeyPem: readFileSync("key.pem", "utf8"),' : ""} ${certificate}
      }, { ${imported(ids.certificate)} }).notAfter;
      exports.edge = new tlsedge.TLSEdge("edge", {
        hostports: ["app.example.com:443"], description: "old",
        backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge" }, ${edge}
      }, { ${imported(ids.edge)} }).id;
      ${beside ? 'new tlsedge.TLSEdge("plain", { hostports: ["plain.example.com:443"] });' : ""}`);
  };
  const alive = () => ({
    edge: project.emulator.tlsEdges.list().map(({ id }) => id),
    certificate: project.emulator.tlsCertificates.list().map(({ id }) => id),
  });
  const assertAlive = () =>
    assert.deepEqual(alive(), { edge: [ids.edge], certificate: [ids.certificate] });

  before(async () => {
    project = await Project.create();
    made = await makeCertificate({ commonName: "app.example.com" });
    project.keepSecret("the private key", made.privateKeyPem);
    await project.file("chain.pem", made.certificatePem);
    await project.file("key.pem", made.privateKeyPem);
    // Another stack made them, and lets them go.
    await project.program(`
      new tlsedge.TLSCertificate("a", {
        certificatePem: readFileSync("chain.pem", "utf8"),
        privateKeyPem: readFileSync("key.pem", "utf8"), description: "old",
      }, { retainOnDelete: true });
      new tlsedge.TLSEdge("b", {
        hostports: ["app.example.com:443"], description: "old",
        backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
      }, { retainOnDelete: true });`);
    await project.up();
    await project.destroy();
    const [edge, certificate] = [alive().edge[0], alive().certificate[0]];
    ids = { edge: edge as string, certificate: certificate as string };
  });
  after(() => project?.close());

  it("C40 C50 that differs in a secret argument is told without its value, nor what was found", async () => {
    const secret = "secret-of-the-program";
    project.keepSecret("an argument", secret);
    await project.file("secret", secret);
    const text = 'pulumi.secret(readFileSync("secret", "utf8"))';
    await managing({
      edge: `description: ${text}, metadata: ${text},
        hostports: pulumi.output(["app.example.com:443", ${text}.apply((name) => name + ".example:443")]),
        ipRestriction: { ipPolicyIds: ["ipp_1", ${text}] }, backend: { backendId: "other" },`,
    });
    const { output } = await project.fails("preview");
    for (const line of [
      "description: [secret] / [secret]",
      "metadata: [secret] / none",
      "hostports: [secret] / [secret]",
      "ipRestriction: [secret] / none",
      'backend: {"backendId":"other","enabled":true} / {"enabled":true,"backendId":"bkdtg_1"}',
    ]) {
      assert.ok(output.includes(line), `${line}\n${output}`);
    }
    assertAlive();
  });

  it("C40 that differs fails the plan, and lists what was wanted beside what was found", async () => {
    await managing({
      edge: `description: "new", hostports: ["www.example.com:443"],
        mutualTls: { certificateAuthorityIds: ["ca_1"] },`,
    });
    const run = await project.fails("preview");
    for (const line of [
      'description: "new" / "old"',
      'hostports: ["www.example.com:443"] / ["app.example.com:443"]',
      'mutualTls: {"certificateAuthorityIds":["ca_1"],"enabled":true} / none',
    ]) {
      assert.ok(run.output.includes(line), `${line}\n${run.output}`);
    }
    assert.ok(!run.output.includes("backend:"), run.output);
    assert.ok(!adoptions(run.output).join().includes(ids.edge), run.output);
    assert.ok(run.requests.every((request) => request.startsWith("GET ")));
  });

  it("C40 another chain is told by its names and dates, not by its PEM", async () => {
    const other = await makeCertificate({ commonName: "other.example.com" });
    await project.file("chain.pem", other.certificatePem);
    await managing();
    const run = await project.fails("preview");
    await project.file("chain.pem", made.certificatePem);
    assert.match(
      run.output,
      /certificatePem: "other\.example\.com, until 20.* \/ "app\.example\.com, until 20/,
    );
    assert.ok(!run.output.includes("BEGIN CERTIFICATE"));
  });

  it("C40 of what is not there fails the plan", async () => {
    await project.program('new tlsedge.TLSEdge("edge", {}, { import: "edgtls_none" });');
    const run = await project.fails("preview");
    assert.match(run.output, /no TLS edge has the id edgtls_none/);
  });

  it("C40 C42 takes both over as they are, the certificate without its key", async () => {
    await managing();
    const both = `the TLS certificate ${ids.certificate} and the TLS edge ${ids.edge}`;
    const plan = await project.succeeds("preview");
    assert.deepEqual(adoptions(plan.output), [`${both} will be adopted without changes`]);
    const run = await project.up();
    assert.deepEqual(run.changes, { create: 3 });
    assert.deepEqual(adoptions(run.output), [`${both} are adopted without changes`]);
    assert.ok(
      run.requests.every((request) => request.startsWith("GET ")),
      run.requests.join(),
    );
    assertAlive();
    const { edge, certificate } = await project.exported();
    assert.equal(edge?.id, ids.edge);
    assert.equal(certificate?.id, ids.certificate);
    assert.equal(await project.output("edge"), ids.edge);
    assert.match(String(await project.output("certificate")), /^20\d\d-/);
  });

  it("C25 C41 the next up changes nothing, with the option and without it", async () => {
    const again = await project.up();
    assert.deepEqual([again.requests, adoptions(again.output)], [[], []]);
    assert.deepEqual((await project.refresh()).changes, { same: 3 });
    assert.deepEqual((await project.up()).changes, { same: 3 });
    await managing({ adopts: false });
    const plan = await project.preview();
    assert.deepEqual(plan.changes, { same: 3 });
    assert.ok(!plan.output.includes("import"), plan.output);
    const run = await project.up();
    assert.deepEqual(run.changes, { same: 3 });
    assert.deepEqual(run.requests, []);
    const { edge } = await project.exported();
    assert.ok(!JSON.stringify(edge?.inputs).includes("import"));
    await managing();
    assert.deepEqual((await project.up()).changes, { same: 3 });
  });

  it("C42 a key that is given later is no replacement, and is kept encrypted", async () => {
    await managing({ key: true });
    const run = await project.up();
    assert.deepEqual(run.requests, []);
    assert.deepEqual(run.changes, { same: 3 });
    const { certificate } = await project.exported();
    const key = certificate?.inputs.privateKeyPem as object | undefined;
    assert.ok(key && "ciphertext" in key);
  });

  it("C40 what is adopted updates in place, the option still set", async () => {
    await managing({ key: true, edge: 'description: "new",', certificate: 'metadata: "m",' });
    const run = await project.up();
    assert.deepEqual(run.writes.sort(), ["PATCH /edges/tls/:id", "PATCH /tls_certificates/:id"]);
    await managing({ key: true });
    await project.up();
    assertAlive();
  });

  it("C44 a changed PEM fails and says to remove the option", async () => {
    const other = await makeCertificate({ commonName: "app.example.com" });
    project.keepSecret("the other key", other.privateKeyPem);
    await project.file("chain.pem", other.certificatePem);
    await project.file("key.pem", other.privateKeyPem);
    await managing({ key: true });
    for (const command of [["preview"], ["up", "--yes", "--skip-preview"]]) {
      const run = await project.fails(...command);
      assert.match(run.output, /a change of certificatePem replaces.*remove the option/);
      assert.deepEqual(run.requests, []);
    }
    assertAlive();
    await project.file("chain.pem", made.certificatePem);
    await project.file("key.pem", made.privateKeyPem);
  });

  it("C44 another connection fails, and another id", async () => {
    Object.assign(project.env, {
      TLSEDGE_OTHER_BASE_URL: project.emulator.url,
      TLSEDGE_OTHER_API_KEY: project.emulator.apiKey,
      TLSEDGE_OTHER_CA_FILE: project.env.TLSEDGE_CA_FILE,
    });
    await managing({ key: true, edge: 'connection: "tlsedge-other",' });
    assert.match((await project.fails("preview")).output, /a change of connection replaces/);
    const { edge } = ids;
    ids.edge = "edgtls_another";
    await managing({ key: true });
    ids.edge = edge;
    assert.match(
      (await project.fails("preview")).output,
      /names edgtls_another, but this resource already manages/,
    );
    assertAlive();
  });

  it("C44 --target-replace, --replace and taint leave the objects alive", async () => {
    await managing({ key: true });
    const targets = [urn("TLSEdge", "edge"), urn("TLSCertificate", "certificate")];
    const flags = (flag: string) => targets.flatMap((target) => [flag, target]);
    const replace = async (...args: string[]) => {
      const run = await project.up(...args);
      assert.equal(run.changes.replace, 2, run.output);
      assert.ok(
        run.requests.every((request) => request.startsWith("GET ")),
        run.requests.join(),
      );
      assert.match(run.output, /the TLS edge edgtls_\w+ stays.*import option/);
      assert.match(run.output, /the TLS certificate cert_\w+ stays.*import option/);
      assertAlive();
      const { edge, certificate } = await project.exported();
      assert.deepEqual({ edge: edge?.id, certificate: certificate?.id }, ids);
      assert.deepEqual((await project.up()).changes, { same: 3 });
    };
    await replace(...flags("--target-replace"));
    await replace(...flags("--replace"));
    for (const target of targets) await project.succeedsQuietly("state", "taint", target, "--yes");
    await replace();
  });

  for (const flag of ["--replace", "--target-replace"]) {
    // The old objects are then deleted by the process of the old provider, not by the one that adopts.
    it(`C44 ${flag} '**' replaces the provider's own record, too, and leaves the objects alive`, async () => {
      await managing({ key: true, beside: true });
      await project.up();
      const { plain } = await project.exported();
      const run = await project.up(flag, "**");
      const deletes = run.requests.filter((request) => request.startsWith("DELETE"));
      assert.deepEqual(deletes, ["DELETE /edges/tls/:id"], "the one beside");
      assert.match(run.output, /the TLS edge edgtls_\w+ stays.*import option/);
      assert.match(run.output, /the TLS certificate cert_\w+ stays.*import option/);
      const { edge, certificate, plain: replaced } = await project.exported();
      assert.deepEqual({ edge: edge?.id, certificate: certificate?.id }, ids);
      assert.notEqual(replaced?.id, plain?.id);
      await managing({ key: true });
      await project.up();
      assertAlive();
    });
  }

  it("C44 what another resource lets go in the same update stays alive", async () => {
    const program = (name: string) =>
      project.program(`new tlsedge.TLSEdge("${name}", {
        hostports: ["app.example.com:443"], description: "old",
        backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge" },
      }, { import: "${ids.edge}" });
      new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("chain.pem", "utf8"), description: "old",
      });`);
    await program("renamed");
    const run = await project.up();
    assert.match(run.output, /the TLS edge edgtls_\w+ stays/);
    assertAlive();
    await program("edge");
    await project.up();
    assertAlive();
    await managing({ key: true });
    await project.up();
  });

  it("C40 two resources can't adopt the same object", async () => {
    const two = ["x", "y"].map(
      (name) => `new tlsedge.TLSEdge("${name}", {
        hostports: ["app.example.com:443"], description: "old",
        backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge" },
      }, { import: "${ids.edge}", retainOnDelete: true, ignoreChanges: ["hostports"] });`,
    );
    // Without ignoreChanges the plan refuses two edges with one hostport before all else.
    await project.program(two.join(""));
    const run = await project.fails("up", "--yes", "--skip-preview");
    assert.match(run.output, /was adopted by another resource of this update/);
    assert.deepEqual(adoptions(run.output), [
      `the TLS edge ${ids.edge} is adopted without changes`,
    ]);
  });

  it("C44 destroys what was adopted when it is told to, with --run-program too", async () => {
    await project.program(`new tlsedge.TLSEdge("edge", {
        hostports: ["app.example.com:443"], description: "old",
        backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge" },
      }, { import: "${ids.edge}" });`);
    await project.up();
    const run = await project.destroy("--run-program");
    assert.deepEqual(run.requests, ["DELETE /edges/tls/:id"]);
    assert.deepEqual(alive().edge, []);
  });
});
