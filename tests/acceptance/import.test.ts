import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { Client } from "../../client/client";
import { tlsEdges } from "../../client/tlsEdge";
import type { CertificateOptions } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import { upload } from "../support";
import { adopt, emptyProject, heldBy, importAll, withoutCode } from "./account";

const importFile = (resources: { type: string; name: string; id: string }[]) =>
  JSON.stringify({
    resources: resources.map((one) => ({ ...one, type: `tlsedge:index:${one.type}` })),
  });

describe("the engine's import", () => {
  let project: Project;
  let client: Client;
  beforeEach(async () => {
    ({ project, client } = await emptyProject());
  });
  afterEach(() => project?.close());

  const importOne = (type: string, id: string) =>
    project.succeeds("import", `tlsedge:index:${type}`, "one", id, ...withoutCode);

  it("C81 takes an edge by its id, with one read and the whole state", async () => {
    const hostports = ["a.example:443"];
    const { id } = await tlsEdges.create(client, { hostports, description: "by hand" });
    const { requests } = await importOne("TLSEdge", id);
    assert.deepEqual(requests, ["GET /edges/tls/:id"]);
    const { one } = await project.exported();
    assert.equal(one?.id, id);
    assert.deepEqual(one?.inputs, { hostports, description: "by hand" });
    await project.program(
      'new tlsedge.TLSEdge("one", { hostports: ["a.example:443"], description: "by hand" }, { protect: true });',
    );
    const run = await project.up();
    assert.deepEqual([run.steps, run.requests], [["same:one"], []]);
  });

  it("C81 C42 takes edges and certificates from a file, without keys, which come later", async () => {
    // No program may give the empty list of a module that is switched off.
    const off = { enabled: false, certificate_authority_ids: [] };
    const edges = await Promise.all([
      tlsEdges.create(client, { mutual_tls: off }),
      tlsEdges.create(client, { hostports: ["a.example:443"] }),
    ]);
    const leaves: Record<string, CertificateOptions> = {
      rsa: { keyType: "rsa", commonName: "rsa.example", dnsNames: ["*.rsa.example"] },
      ed25519: { keyType: "ed25519", commonName: "" },
      expired: { commonName: "past", notBefore: new Date(0), notAfter: new Date(1000) },
    };
    const names = Object.keys(leaves);
    const resources: { type: string; name: string; id: string }[] = [];
    for (const [name, options] of Object.entries(leaves)) {
      const { id, certificate_pem, private_key_pem } = await upload(client, options);
      project.keepSecret(`the key of ${name}`, private_key_pem);
      await project.file(`${name}.key`, private_key_pem);
      await project.file(`${name}.pem`, certificate_pem.replaceAll("\n", "\r\n"));
      resources.push({ type: "TLSCertificate", name, id });
    }
    resources.push(...edges.map(({ id }, n) => ({ type: "TLSEdge", name: `edge-${n}`, id })));
    await project.file("import.json", importFile(resources));
    const imported = await project.succeeds("import", "--file", "import.json", ...withoutCode);
    assert.doesNotMatch(imported.output, /has a problem/);
    const state = await project.exported();
    for (const { name, id } of resources) assert.equal(state[name]?.id, id);
    const write = (key = "") =>
      project.program(`
        new tlsedge.TLSEdge("edge-0", {}, { protect: true });
        new tlsedge.TLSEdge("edge-1", { hostports: ["a.example:443"] }, { protect: true });
        for (const name of ${JSON.stringify(names)}) {
          const read = (type) => readFileSync(name + type, "utf8");
          new tlsedge.TLSCertificate(name, { certificatePem: read(".pem"), ${key} },
            { protect: true });
        }`);
    const steps = (what: string) =>
      [...names.map((name) => `${what}:${name}`), "same:edge-0", "same:edge-1"].sort();
    await write();
    const without = await project.up();
    assert.deepEqual([without.steps.sort(), without.requests], [steps("same"), []]);

    await write('privateKeyPem: read(".key")');
    const keyed = await project.up();
    assert.deepEqual([keyed.steps.sort(), keyed.writes], [steps("update"), []]);
    const { rsa, ed25519, expired } = await project.exported();
    for (const one of [rsa, ed25519, expired]) assert.ok(one?.inputs.privateKeyPem);
  });

  it("C81 takes an edge by hostport and a certificate by fingerprint; the state has the id", async () => {
    const edge = await tlsEdges.create(client, { hostports: ["a.example:443", "b.example:443"] });
    const made = await upload(client, { commonName: "a.example" });
    const { fingerprint256 } = new X509Certificate(made.certificate_pem);
    for (const [type, name, id] of [
      ["TLSEdge", "B.example:443", edge.id],
      ["TLSCertificate", fingerprint256.replaceAll(":", "").toLowerCase(), made.id],
    ] as const) {
      await importOne(type, name);
      const { one } = await project.exported();
      assert.equal(one?.id, id);
      await project.succeedsQuietly("state", "delete", "--force", "--yes", String(one?.urn));
    }
  });

  it("C81 takes a hostport or an id as the option of a resource, which may stay or go", async () => {
    const [kept, gone] = await Promise.all(
      ["kept", "gone"].map((name) => tlsEdges.create(client, { hostports: [`${name}:443`] })),
    );
    const write = (options: string) =>
      project.program(`
        new tlsedge.TLSEdge("kept", { hostports: ["kept:443"] }, { import: "kept:443" });
        new tlsedge.TLSEdge("gone", { hostports: ["gone:443"] }, { ${options} });`);
    await write(`import: ${JSON.stringify(gone?.id)}`);
    const { steps } = await project.up();
    assert.deepEqual(steps.sort(), ["import:gone", "import:kept"]);
    const state = await project.exported();
    assert.deepEqual([state.kept?.id, state.gone?.id], [kept?.id, gone?.id]);
    await write("");
    const after = await project.up();
    assert.deepEqual([after.steps.sort(), after.requests], [["same:gone", "same:kept"], []]);
  });
});

describe("what adopt writes for the plugin", () => {
  let project: Project;
  let client: Client;
  beforeEach(async () => {
    ({ project, client } = await emptyProject());
  });
  afterEach(() => project?.close());

  /** More with TLSEDGE_TEST_ADOPTED=300, for a minute. */
  const many = Number(process.env.TLSEDGE_TEST_ADOPTED ?? 15);
  it(`C81 is imported, ${many} edges and ${many} certificates, by the page`, async () => {
    for (let n = 0; n < many; n++) {
      const commonName = `app${n}.example.com`;
      await upload(client, { commonName, dnsNames: [commonName] });
      await tlsEdges.create(client, { hostports: [`${commonName}:443`] });
    }
    const { emulator } = project;
    const before = heldBy(project);
    const asked = () =>
      emulator.requests
        .splice(0)
        .map(({ method, path }) => (path.includes("?") ? "page" : `${method} one`))
        .sort();
    asked();
    await adopt(project);
    const pages = Array(2 * Math.ceil(many / 100)).fill("page");
    assert.deepEqual(asked(), pages);
    assert.equal((await importAll(project)).changes.import, 2 * many);
    // One of each kind is read by itself, before it is known that there are more.
    const reads = ["GET one", "GET one", ...pages];
    assert.deepEqual(asked(), reads.sort());
    assert.equal(heldBy(project), before);
  });
});
