import assert from "node:assert/strict";
import { copyFile, cp, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../../emulator/server";
import { version } from "../../package.json";
import { Project } from "./engine";

const fixtures = join(__dirname, "..", "fixtures", "states");

/** The program of every fixture; it stands here because what it says must not change either. */
const program = `
  const file = (name) => readFileSync(name, "utf8");
  new tlsedge.TLSCertificate("certificate", {
    certificatePem: file("chain.pem"), privateKeyPem: file("key.pem"), description: "Kept",
  });
  new tlsedge.TLSEdge("edge", {
    description: "Kept", metadata: "m", hostports: ["b.example.com:443", "a.example.com:443"],
    backend: { backendId: "bkdtg_1" }, ipRestriction: { ipPolicyIds: ["ipp_1"] },
    mutualTls: { certificateAuthorityIds: ["ca_1"], enabled: false },
    tlsTermination: { terminateAt: "edge" },
  });`;

/** Files of a stack that the next version must take as they are. */
const kept = ["state.json", "Pulumi.dev.yaml", "chain.pem", "key.pem"];

/** Writes this version's fixture: RECORD=1 npx mocha tests/acceptance/state.test.ts */
async function record(): Promise<void> {
  const project = await Project.create();
  const folder = join(fixtures, version);
  await mkdir(folder, { recursive: true });
  const made = await makeCertificate({
    commonName: "a.example.com",
    dnsNames: ["a.example.com", "*.a.example.com"],
    notBefore: new Date("2026-01-01T00:00:00Z"),
    notAfter: new Date("2126-01-01T00:00:00Z"),
    issuer: await makeCertificate({ commonName: "Fixture CA", isCa: true }),
  });
  await project.file("chain.pem", made.certificatePem);
  await project.file("key.pem", made.privateKeyPem);
  await project.program(program);
  await project.up();
  const exported = await project.pulumi("stack", "export", "--stack", "dev");
  // Where the engine says the program stood on this machine is not the package's, nor of use.
  const state = JSON.parse(exported.output, (key, value) =>
    ["sourcePosition", "stackTrace"].includes(key) ? undefined : value,
  );
  await project.file("state.json", `${JSON.stringify(state, null, 2)}\n`);
  for (const name of kept) await copyFile(join(project.folder, name), join(folder, name));
  await project.close();
}

describe("the state of every version", () => {
  let project: Project;
  afterEach(() => project?.close());

  before(async () => {
    if (process.env.RECORD) await record();
  });

  it(`C51 has a fixture for ${version}`, async () => {
    assert.ok((await readdir(fixtures)).includes(version), "see record() in this file");
  });

  it("C51 is taken by this one: no change, no request, then destroyed", async () => {
    for (const name of await readdir(fixtures)) {
      project = await Project.create();
      await cp(join(fixtures, name), project.folder, { recursive: true });
      await project.program(program);
      const state = await readFile(join(project.folder, "state.json"), "utf8");
      // As if this service had made it: what another one has made is not deleted.
      const own = state.replaceAll(/https:\/\/localhost:\d+/g, project.emulator.url);
      await project.file("state.json", own);
      await project.succeedsQuietly("stack", "import", "--file", "state.json");
      const run = await project.up();
      assert.deepEqual(run.changes, { same: 3 }, name);
      assert.deepEqual(run.requests, [], name);
      const destroyed = await project.destroy();
      assert.deepEqual(
        destroyed.requests.sort(),
        // They are not on this service, so that it is asked whether its lists are there.
        [
          "DELETE /edges/tls/:id",
          "DELETE /tls_certificates/:id",
          "GET /edges/tls?limit=100",
          "GET /tls_certificates?limit=100",
        ],
        name,
      );
      await project.close();
    }
  });

  it("C51 holds no path of the machine, no version and no code", async () => {
    project = await Project.create();
    await cp(join(fixtures, version), project.folder, { recursive: true });
    await project.program(program);
    await project.up();
    const { __provider, ...others } = (await project.exported()).edge?.outputs ?? {};
    assert.match(String(__provider), /^exports\.handler = \(\) => require\("[\w/-]+"\)\.\w+$/);
    const stored = JSON.stringify(
      Object.values(await project.exported()).map(({ inputs, outputs }) => [inputs, outputs]),
    );
    for (const text of [project.folder, __dirname, version, "function"]) {
      assert.ok(!stored.includes(text), text);
    }
    assert.ok("createdAt" in others);
  });

  it("keeps little: what an object takes beyond a dynamic resource with one short input", async () => {
    project = await Project.create();
    const root = await makeCertificate({ commonName: "Root CA", isCa: true });
    const issuer = await makeCertificate({ commonName: "Example CA", isCa: true, issuer: root });
    const name = "app.example.com";
    const made = await makeCertificate({ commonName: name, dnsNames: [name], issuer });
    await project.file("chain.pem", made.certificatePem);
    await project.file("key.pem", made.privateKeyPem);
    await project.file("bare.cjs", "exports.create = async (outs) => ({ id: 'bare', outs });");
    await project.program(`
      const { CustomResource } = require("@pulumi/pulumi");
      new CustomResource("pulumi-nodejs:dynamic:Bare", "bare", {
        description: "Short",
        __provider: 'exports.handler = () => require("./bare.cjs")'.padEnd(80),
      });
      const file = (name) => readFileSync(name, "utf8");
      new tlsedge.TLSCertificate("certificate", {
        certificatePem: file("chain.pem"), privateKeyPem: file("key.pem"), description: "Short",
      });
      new tlsedge.TLSEdge("edge", {
        description: "Short", hostports: ["app.example.com:443"],
        backend: { backendId: "bkdtg_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr" },
        ipRestriction: { ipPolicyIds: ["ipp_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
        mutualTls: { certificateAuthorityIds: ["ca_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
        tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
      });`);
    await project.up();
    const { bare, edge, certificate } = await exportedText(project);
    assert.ok(bare && edge && certificate);
    const { certificatePem, privateKeyPem } = (await project.exported()).certificate?.inputs ?? {};
    const once = JSON.stringify(certificatePem).length + JSON.stringify(privateKeyPem).length;
    const above = { edge: edge - bare, certificate: certificate - bare - once };
    assert.ok(above.edge <= 1600 && above.certificate <= 1600, JSON.stringify(above));
  });
});

/** How many bytes each resource takes in what `pulumi stack export` prints. */
async function exportedText(project: Project): Promise<Record<string, number>> {
  const { output } = await project.pulumi("stack", "export", "--stack", "dev");
  const entries = output.split(/^ {12}\{$/m).slice(1);
  return Object.fromEntries(
    entries.map((entry) => {
      const [, name] = /"urn": ".*::(.*)"/.exec(entry) ?? [];
      return [name, entry.split(/^ {12}\}/m)[0]?.length ?? 0];
    }),
  );
}
