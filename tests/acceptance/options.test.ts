import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

throughBothDoors("the engine's own options", (door) => {
  let project: Project;
  const edges = () => project.emulator.tlsEdges.list();
  const described = (description: string, options = "") => `
    for (const name of ["a", "b"]) {
      new tlsedge.TLSEdge(name, {
        hostports: [name + ".example.com:443"], description: "${description}",
      }, { ${options} });
    }`;

  beforeEach(async () => {
    project = await Project.create({}, {}, door);
    await project.program(described("one"));
    await project.up();
  });
  afterEach(() => project?.close());

  it("C37 --target touches only what it names, in up and in destroy", async () => {
    await project.program(described("two"));
    const run = await project.up("--target", project.urn("TLSEdge", "a"));
    assert.deepEqual(run.writes, ["PATCH /edges/tls/:id"]);
    const gone = await project.destroy("--target", project.urn("TLSEdge", "b"));
    assert.deepEqual(gone.requests, ["DELETE /edges/tls/:id"]);
    assert.deepEqual(
      edges().map(({ description }) => description),
      ["two"],
    );
  });

  it("C24 C37 --target-replace and taint delete an edge before making it anew", async () => {
    // For these the engine asks no provider. The class of the Node.js package sets the option.
    if (door === "plugin") {
      // A create waits a tenth of this for the edge that serves its hostport.
      project.env.TLSEDGE_TIMEOUT_SECONDS = "20";
      const run = await project.fails(
        ...["up", "--yes", "--skip-preview", "--target-replace", project.urn("TLSEdge", "a")],
      );
      assert.match(run.output, /set the option `deleteBeforeReplace: true`/);
      await project.program(described("one", "deleteBeforeReplace: true"));
    }
    const replaced = ["DELETE /edges/tls/:id", "POST /edges/tls"];
    const run = await project.up("--target-replace", project.urn("TLSEdge", "a"));
    assert.deepEqual(run.writes, replaced);
    await project.succeedsQuietly("state", "taint", project.urn("TLSEdge", "b"), "--yes");
    assert.deepEqual((await project.up()).writes, replaced);
    assert.equal(edges().length, 2);
  });

  it("C37 up --refresh finds drift and puts it right in one go", async () => {
    const [edge] = edges();
    project.emulator.tlsEdges.patch(edge?.id as string, { description: "drifted" });
    const run = await project.up("--refresh");
    assert.ok(run.requests.includes("PATCH /edges/tls/:id"), run.requests.join());
    assert.deepEqual(
      edges().map(({ description }) => description),
      ["one", "one"],
    );
  });

  it("C4 C37 refresh --run-program takes a rotated key from config", async () => {
    const { TLSEDGE_API_KEY: key, ...env } = project.env;
    Object.assign(project, { env });
    await project.succeedsQuietly("config", "set", "--secret", "tlsedge:apiKey", key as string);
    const run = await project.refresh("--run-program");
    assert.deepEqual(run.requests, ["GET /edges/tls/:id", "GET /edges/tls?limit=100"]);
  });

  it("C26 C37 ignoreChanges holds, for drift too", async () => {
    await project.program(described("two", 'ignoreChanges: ["description"]'));
    assert.deepEqual((await project.up()).requests, []);
    const [edge] = edges();
    project.emulator.tlsEdges.patch(edge?.id as string, { description: "drifted" });
    await project.refresh();
    assert.deepEqual((await project.up()).requests, []);
    assert.equal(project.emulator.tlsEdges.get(edge?.id as string)?.description, "drifted");
  });

  it("C37 ignoreChanges of everything holds for a certificate, whose derived fields stay", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({
      commonName: "a.example.com",
    });
    project.keepSecret("the private key", privateKeyPem);
    const certificate = (description: string) => `
      new tlsedge.TLSCertificate("c", {
        certificatePem: ${JSON.stringify(certificatePem)},
        privateKeyPem: ${JSON.stringify(privateKeyPem)},
        description: "${description}",
      }, { ignoreChanges: ["*"] });`;
    await project.program(described("one") + certificate("one"));
    await project.up();
    await project.program(described("one") + certificate("two"));
    const run = await project.up();
    assert.deepEqual(run.requests, []);
    assert.equal(run.changes.same, 4);
  });

  it("C26 C37 replaceOnChanges replaces", async () => {
    await project.program(described("two", 'replaceOnChanges: ["description"]'));
    const run = await project.up();
    assert.equal(run.changes.replace, 2);
    assert.deepEqual([...new Set(run.writes)], ["DELETE /edges/tls/:id", "POST /edges/tls"]);
  });

  it("C37 protect keeps an edge from being deleted", async () => {
    await project.program(described("one", "protect: true"));
    await project.up();
    const run = await project.fails("destroy", "--yes", "--skip-preview");
    assert.match(run.output, /protected/);
    assert.deepEqual(run.requests, []);
  });

  it("C37 retainOnDelete leaves an edge on the service", async () => {
    await project.program(described("one", "retainOnDelete: true"));
    await project.up();
    assert.deepEqual((await project.destroy()).requests, []);
    assert.equal(edges().length, 2);
  });

  it("C37 aliases and parent move an edge without touching it", async () => {
    await project.program(`
      const home = new pulumi.ComponentResource("acceptance:index:Home", "home");
      for (const name of ["a", "b"]) {
        new tlsedge.TLSEdge(name + "-moved", {
          hostports: [name + ".example.com:443"], description: "one",
        }, { parent: home, aliases: [{ name, parent: pulumi.rootStackResource }] });
      }`);
    const run = await project.up();
    assert.deepEqual(run.requests, []);
    assert.equal(run.changes.delete, undefined);
  });

  it("C43 every property of what is made is that of what is read", async () => {
    const name = "d.example.com";
    const made = await makeCertificate({
      commonName: name,
      dnsNames: [name],
      organization: "Acme",
    });
    project.keepSecret("the private key", made.privateKeyPem);
    await project.program(`
      ${described("one")}
      const made = {
        full: new tlsedge.TLSEdge("full", {
          description: "full", metadata: "m", hostports: ["full.example.com:443"],
          backend: { backendId: "bkdtg_1" }, ipRestriction: { ipPolicyIds: ["ipp_1"] },
          mutualTls: { certificateAuthorityIds: ["ca_1"], enabled: false },
          tlsTermination: { terminateAt: "edge", minVersion: "1.3" },
        }),
        bare: new tlsedge.TLSEdge("bare", {}),
        certificate: new tlsedge.TLSCertificate("certificate", {
          certificatePem: ${JSON.stringify(made.certificatePem)},
          privateKeyPem: ${JSON.stringify(made.privateKeyPem)},
        }),
      };
      const read = {
        full: tlsedge.TLSEdge.get("read-full", made.full.id),
        bare: tlsedge.TLSEdge.get("read-bare", made.bare.id),
        certificate: tlsedge.TLSCertificate.get("read-certificate", made.certificate.id),
      };
      const properties = (resource) => pulumi.all(Object.fromEntries(
        Object.keys(resource)
          .filter((name) => !/^_|^(urn|privateKeyPem)$/.test(name))
          .map((name) => [name, resource[name]])));
      for (const name of Object.keys(made)) {
        exports[name] = pulumi.all([properties(made[name]), properties(read[name])])
          .apply((both) => JSON.stringify(both));
      }`);
    await project.up();
    const whole = async (name: string) => {
      const [one, other] = JSON.parse(String(await project.output(name)));
      assert.deepEqual(one, other, name);
      return one;
    };
    const full = await whole("full");
    assert.deepEqual(full.mutualTls, { certificateAuthorityIds: ["ca_1"], enabled: false });
    assert.deepEqual(full.backend, { backendId: "bkdtg_1", enabled: true });
    assert.deepEqual((await whole("bare")).hostports, []);
    const { subjectOrganization, subjectCountry, keyUsages } = await whole("certificate");
    assert.deepEqual([subjectOrganization, subjectCountry], ["Acme", ""]);
    assert.ok(keyUsages.length > 0);
    // Nothing has changed for what the program only reads, either.
    await project.succeeds("refresh", "--yes", "--skip-preview", "--expect-no-changes");
    await project.succeeds("preview", "--expect-no-changes");
  });

  it("C43 get reads without managing, and a missing id fails", async () => {
    const made = await makeCertificate({
      commonName: "c.example.com",
      dnsNames: ["c.example.com"],
    });
    project.keepSecret("the private key", made.privateKeyPem);
    await project.program(`
      ${described("one")}
      const made = new tlsedge.TLSCertificate("made", {
        certificatePem: ${JSON.stringify(made.certificatePem)},
        privateKeyPem: ${JSON.stringify(made.privateKeyPem)},
      });
      const edge = tlsedge.TLSEdge.get("edge", "${edges()[0]?.id}");
      const certificate = tlsedge.TLSCertificate.get("certificate", made.id);
      exports.edge = pulumi.output(edge.hostports);
      exports.certificate = pulumi.all([certificate.certificatePem, certificate.notAfter]);
      ${
        door === "plugin"
          ? ""
          : `exports.isInstance = [edge, certificate].map((r) =>
              tlsedge.TLSEdge.isInstance(r) + " " + tlsedge.TLSCertificate.isInstance(r));`
      }`);
    await project.up();
    assert.match(String(await project.output("edge")), /^[ab]\.example\.com:443$/);
    if (door === "dynamic") {
      assert.deepEqual(await project.output("isInstance"), ["true false", "false true"]);
    }
    const [pem, notAfter] = (await project.output("certificate")) as string[];
    assert.equal(pem, made.certificatePem);
    assert.match(notAfter ?? "", /^20\d\d-.*Z$/);
    await project.program(`${described("one")} tlsedge.TLSEdge.get("edge", "edgtls_none");`);
    const run = await project.fails("up", "--yes", "--skip-preview");
    assert.match(
      run.output,
      door === "plugin" ? /edgtls_none.*does not exist/ : /no TLS edge has the id edgtls_none/,
    );
  });
});
