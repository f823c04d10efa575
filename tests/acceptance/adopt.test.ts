import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Adoption } from "../../cli/adopt";
import type { Client } from "../../client/client";
import { tlsCertificates } from "../../client/tlsCertificate";
import { tlsEdges } from "../../client/tlsEdge";
import { type CertificateOptions, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";

const bin = join(__dirname, "..", "..", "dist", "cli", "main.js");

/** Writes the program of the account, and makes it the one that the engine runs. */
async function adopt(project: Project): Promise<Adoption> {
  const command = [bin, "adopt", "--out", project.folder, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: project.env });
  await rm(join(project.folder, "index.js"), { force: true });
  await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
  await project.file("package.json", JSON.stringify({ name: "acceptance", main: "index.ts" }));
  await project.file("index.ts", 'import "./adoption";\n');
  await project.select("dev");
  return JSON.parse(stdout) as Adoption;
}

describe("a whole account", () => {
  let project: Project;
  let client: Client;
  let key: string;

  const held = () => ({
    edges: project.emulator.tlsEdges.list(),
    certificates: project.emulator.tlsCertificates.list(),
  });
  /** An edge and a certificate may have the same name. */
  const resources = async () => (await project.state()).resources;

  async function upload(options: CertificateOptions, texts = {}) {
    const { certificatePem, privateKeyPem } = await makeCertificate(options);
    project.keepSecret(`the key of ${options.commonName}`, privateKeyPem);
    const certificate_pem = certificatePem.replaceAll("\n", "\r\n");
    const body = { certificate_pem, private_key_pem: privateKeyPem, ...texts };
    return { ...(await tlsCertificates.create(client, body)), privateKeyPem };
  }

  /** A dozen objects, such as people and scripts leave behind. */
  async function seed() {
    const description = 'it\'s "${quoted}" `back\\slashed`\n\u202e\u2028 Ünïcödé 🔐';
    const metadata = JSON.stringify({ owner: "it's", note: description });
    await tlsEdges.create(client, {});
    await tlsEdges.create(client, { description, metadata });
    await tlsEdges.create(client, {
      hostports: ["www.example.com:443", "Example.com:443", "*.example.com:8443"],
      backend: { backend_id: 'bkdtg_"1"' },
      ip_restriction: { enabled: false, ip_policy_ids: ["ipp_2", "ipp_1"] },
      mutual_tls: { certificate_authority_ids: ["ca_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.3" },
    });
    await tlsEdges.create(client, {
      hostports: ["example.com:8443"],
      mutual_tls: { enabled: false, certificate_authority_ids: [] },
      tls_termination: { enabled: false },
    });
    await tlsEdges.create(client, {
      hostports: ["shop.example.com:443"],
      tls_termination: { terminate_at: "upstream" },
    });
    const { id } = await tlsEdges.create(client, { hostports: ["gone.example.com:443"] });
    project.emulator.tlsEdges.patch(id, { hostports: ["[::1]:443"] });
    const issuer = await makeCertificate({ commonName: "root", isCa: true });
    await upload({ commonName: "example.com", issuer }, { description, metadata });
    await upload({ commonName: "example.com", keyType: "ed25519" });
    key = (await upload({ commonName: "shop.example.com" })).privateKeyPem;
    await upload({ commonName: description.slice(0, 40), dnsNames: ["*.example.com"] });
    const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
    await upload({ commonName: "expired.example.com", ...past });
    const issued = await upload({ commonName: "issued.example.com" });
    project.emulator.tlsCertificates.patch(issued.id, { issued_at: "2026-01-01T00:00:00Z" });
  }

  before(async () => {
    project = await Project.copyOf({});
    client = project.newClient();
    await seed();
  });
  after(() => project?.close());

  it("C40 is adopted as it is", async () => {
    const before = held();
    const { edges, certificates, skipped } = await adopt(project);
    assert.deepEqual([edges.length, certificates.length, skipped.length], [5, 5, 2]);
    const up = await project.up();
    assert.deepEqual(up.changes, { create: 11 });
    assert.match(up.output, /adopted without changes: .* and 5 more/);
    // One of each kind is read by itself, before it is known that there are more.
    assert.deepEqual(up.requests.sort(), [
      "GET /edges/tls/:id",
      "GET /edges/tls?limit=100",
      "GET /tls_certificates/:id",
      "GET /tls_certificates?limit=100",
    ]);
    assert.deepEqual(held(), before);
    const adopted = (await resources()).filter(({ protect }) => protect);
    assert.deepEqual(
      adopted.map(({ id, urn }) => `${urn.split("::").at(-1)} ${id}`).sort(),
      [...edges, ...certificates].map(({ id, name }) => `${name} ${id}`).sort(),
    );
  });

  it("C41 C42 changes by nothing when the ids go, and a key is given", async () => {
    const before = held();
    const program = await readFile(join(project.folder, "adoption.ts"), "utf8");
    const imports = /import: id, (?=protect)/g;
    assert.equal(program.match(imports)?.length, 2);
    const read = before.edges.find(({ hostports }) => hostports?.includes("[::1]:443"))?.id ?? "";
    const reading = `tlsedge.TLSEdge.get("read", ${JSON.stringify(read)});\n`;
    await project.file("adoption.ts", program.replaceAll(imports, "") + reading);
    await project.setSecret('keys["shop.example.com"]', key);
    const run = await project.up();
    assert.deepEqual([run.changes.same, run.changes.update], [1, 10]);
    assert.deepEqual(run.writes, []);
    assert.deepEqual(held(), before);
    const state = await resources();
    assert.ok(!JSON.stringify(state).includes("__import"));
    const keyed = state.filter(({ inputs }) => inputs?.privateKeyPem);
    assert.deepEqual(
      keyed.map(({ urn, inputs }) => [
        urn.split("::").at(-1),
        "ciphertext" in (inputs.privateKeyPem as object),
      ]),
      [["shop.example.com", true]],
    );
  });
});
