import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { throughBothDoors } from "./doors";

/** What the program printed of an output: `tell("name", output)`. */
function told(run: Run, name: string): unknown {
  const [, value] = new RegExp(`TOLD ${name} (.*?) END`).exec(run.output) ?? [];
  assert.ok(value, `nothing was told of ${name}:\n${run.output}`);
  // A program of the plugin, without a class of this package, sees null for what is unset.
  return value === "undefined" ? undefined : (JSON.parse(value) ?? undefined);
}

throughBothDoors("an output says what was deployed", (door) => {
  let project: Project;
  const write = (text: string) =>
    project.program(`
      const tell = (name, output) =>
        output.apply((value) => console.log("TOLD " + name + " " + JSON.stringify(value) + " END"));
      ${text}`);
  const edge = (args: string, options = "") => `
    const edge = new tlsedge.TLSEdge("edge", { ${args} }, { ${options} });
    for (const name of ["hostports", "description", "backend"]) tell(name, edge[name]);`;

  before(async () => {
    project = await Project.create({}, {}, door);
  });
  afterEach(() => project.destroy());
  after(() => project?.close());

  it("C17 with ignoreChanges, where the program wishes something else", async () => {
    await write(edge('hostports: ["a.example.com:443"]'));
    await project.up();
    await write(
      edge(
        'hostports: ["b.example.com:443"], description: "Wished", backend: { backendId: "b_1" }',
        'ignoreChanges: ["hostports", "description", "backend"]',
      ),
    );
    for (const run of [await project.preview(), await project.up()]) {
      assert.deepEqual(told(run, "hostports"), ["a.example.com:443"]);
      assert.equal(told(run, "description"), undefined);
      assert.equal(told(run, "backend"), undefined);
    }
  });

  it("C17 with a transform that sets another description", async () => {
    const transform = `transforms: [({ props, opts }) => {
      const { hostports: _, ...rest } = props;
      return { props: { ...rest, description: "Transformed" }, opts };
    }]`;
    await write(edge('description: "Wished", hostports: ["a.example.com:443"]', transform));
    const run = await project.up();
    assert.equal(told(run, "description"), "Transformed");
    assert.deepEqual(told(run, "hostports"), []);
    assert.equal(project.emulator.tlsEdges.list()[0]?.description, "Transformed");
  });

  it("C17 of what is left out of --target", async () => {
    const other = 'new tlsedge.TLSEdge("other", { hostports: ["other.example.com:443"] });';
    await write(`${edge('description: "Deployed"')} ${other}`);
    await project.up();
    await write(`${edge('description: "Wished"')} ${other}`);
    const run = await project.up("--target", project.urn("TLSEdge", "other"));
    assert.equal(told(run, "description"), "Deployed");
  });

  it("C17 C31 after a drift that stays", async () => {
    await write(edge('description: "Wished"', 'ignoreChanges: ["description"]'));
    await project.up();
    const [found] = project.emulator.tlsEdges.list();
    project.emulator.tlsEdges.patch(found?.id as string, { description: "By hand" });
    await project.refresh();
    assert.equal((await project.exported()).edge?.outputs.description, "By hand");
    const run = await project.up();
    assert.deepEqual(run.requests, []);
    assert.equal(told(run, "description"), "By hand");
  });

  // In a program of the plugin, the generated class takes the arguments.
  if (door === "dynamic")
    it("C17 when one object is passed as arguments again and again, and changed", async () => {
      await write(`
      const args = { hostports: [], backend: { backendId: "none" } };
      for (const name of ["a", "b", "c"]) {
        args.description = "Edge " + name;
        args.hostports[0] = name + ".example.com:443";
        args.backend.backendId = "bkdtg_" + name;
        const edge = new tlsedge.TLSEdge(name, args);
        tell(name, pulumi.all([edge.description, edge.hostports, edge.backend.backendId]));
      }`);
      const run = await project.up();
      for (const name of ["a", "b", "c"]) {
        const wanted = [`Edge ${name}`, [`${name}.example.com:443`], `bkdtg_${name}`];
        assert.deepEqual(told(run, name), wanted);
      }
      const made = project.emulator.tlsEdges.list().map(({ hostports }) => hostports);
      assert.deepEqual(
        made.flat().sort(),
        ["a", "b", "c"].map((name) => `${name}.example.com:443`),
      );
    });

  it("C50 C53 whole, and without the key, where a program exports the resource itself", async () => {
    const made = await makeCertificate({
      commonName: "a.example.com",
      dnsNames: ["a.example.com"],
    });
    project.keepSecret("the private key", made.privateKeyPem);
    await project.file("chain.pem", made.certificatePem);
    await project.file("key.pem", made.privateKeyPem);
    await write(`
      const pair = {
        certificatePem: readFileSync("chain.pem", "utf8"),
        privateKeyPem: readFileSync("key.pem", "utf8"),
      };
      exports.certificate = new tlsedge.TLSCertificate("certificate", pair);
      exports.site = ${
        door === "plugin"
          ? '{ edge: new tlsedge.TLSEdge("edge", { hostports: ["a.example.com:443"] }) };'
          : `new tlsedge.TLSSite("site", {
              hostports: ["a.example.com:443"], ...pair, backendId: "bkdtg_1",
              access: { public: true },
            });`
      }`);
    await project.up();
    const shown = ["stack", "output", "--json", "--show-secrets"];
    // Fails by itself when the key stands there: every output of a command is searched for it.
    const { output } = await project.pulumi(...shown);
    assert.doesNotMatch(output, /privateKeyPem|PRIVATE KEY/);
    const { certificate, site } = JSON.parse(output) as Record<string, Record<string, unknown>>;
    assert.equal(certificate?.subjectCommonName, "a.example.com");
    assert.match(JSON.stringify(site?.edge), /"hostports":\["a\.example\.com:443"\]/);
    const stored = (await project.exported()).certificate?.outputs ?? {};
    assert.equal(stored.certificatePem, made.certificatePem);
    assert.equal(stored.notAfter, certificate?.notAfter);
  });

  it("C50 encrypted where the input is a secret, after a refresh too", async () => {
    const metadata = "a-secret-that-no-state-may-hold-in-clear-".repeat(2);
    const hostport = "a-hostname-that-is-secret.example.com:443";
    project.keepSecret("the metadata", metadata);
    project.keepSecret("the hostport", hostport);
    // Each command ends with a look at the exported state.
    await write(`
      const metadata = pulumi.secret(readFileSync("metadata", "utf8"));
      const hostports = [pulumi.secret(readFileSync("hostport", "utf8")), "other.example.com:443"];
      new tlsedge.TLSEdge("edge", { metadata, hostports });
      new tlsedge.TLSEdge("more", { description: "d" }, { additionalSecretOutputs: ["createdAt"] });`);
    await project.file("hostport", hostport);
    await project.file("metadata", metadata);
    await project.up();
    await project.refresh();
    const made = project.emulator.tlsEdges.list().find((edge) => edge.metadata);
    assert.deepEqual(
      [made?.metadata, made?.hostports],
      [metadata, [hostport, "other.example.com:443"]],
    );
    const { edge: stored, more } = await project.exported();
    assert.match(JSON.stringify(stored?.outputs.metadata), /"ciphertext":/);
    assert.match(JSON.stringify(more?.outputs.createdAt), /"ciphertext":/);
    assert.deepEqual((await project.up()).changes, { same: 3 });
  });
});
