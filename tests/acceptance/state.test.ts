import assert from "node:assert/strict";
import { copyFile, cp, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../../emulator/server";
import { version } from "../../package.json";
import { type ExportedResource, Project } from "../../tools/engine";
import type { Protocol } from "../../tools/protocol";
import { throughBothDoors } from "./doors";

/** A folder for each version. The states of earlier versions are all of dynamic providers. */
const fixturesOf = (door: Protocol) =>
  join(__dirname, "..", "fixtures", door === "plugin" ? "pluginStates" : "states");

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
async function record(door: Protocol): Promise<void> {
  const project = await Project.create({}, {}, door);
  const folder = join(fixturesOf(door), version);
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
  const exported = await project.pulumi("stack", "export");
  // Where the engine says the program stood on this machine is not the package's, nor of use.
  const state = JSON.parse(exported.output, (key, value) =>
    ["sourcePosition", "stackTrace"].includes(key) ? undefined : value,
  );
  await project.file("state.json", `${JSON.stringify(state, null, 2)}\n`);
  for (const name of kept) await copyFile(join(project.folder, name), join(folder, name));
  await project.close();
}

throughBothDoors("the state of every version", (door) => {
  const fixtures = fixturesOf(door);
  let project: Project;
  afterEach(() => project?.close());

  before(async () => {
    if (process.env.RECORD) await record(door);
  });

  it(`C51 has a fixture for ${version}`, async () => {
    assert.ok((await readdir(fixtures)).includes(version), "see record() in this file");
  });

  it("C51 is taken by this one: no change, no request, then destroyed", async () => {
    for (const name of await readdir(fixtures)) {
      project = await Project.create({}, {}, door);
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
      // A state without a tag of its key: that this one is the account's can't be known.
      project.env.TLSEDGE_SAME_ACCOUNT = "1";
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

  it("C51 C54 holds no path, no version and no code; what an earlier version did not store is no drift", async () => {
    project = await Project.create({}, {}, door);
    await cp(join(fixtures, version), project.folder, { recursive: true });
    await project.program(program);
    await project.up();
    const { __provider, ...others } = (await project.exported()).edge?.outputs ?? {};
    const text = /^exports\.handler = \(\) => require\("[\w/-]+"\)\.\w+$/;
    assert.match(String(__provider), door === "plugin" ? /^undefined$/ : text);
    const stored = JSON.stringify(
      Object.values(await project.exported()).map(({ inputs, outputs }) => [inputs, outputs]),
    );
    for (const text of [project.folder, __dirname, version, "function"]) {
      assert.ok(!stored.includes(text), text);
    }
    assert.ok("createdAt" in others && "hostports" in others);

    const { output } = await project.pulumi("stack", "export");
    const earlier = JSON.parse(output) as { deployment: { resources: ExportedResource[] } };
    for (const { outputs } of earlier.deployment.resources) {
      for (const later of ["ipRestriction", "publicKeyFingerprint", "keyUsages"]) {
        delete outputs?.[later];
      }
    }
    await project.file("earlier.json", JSON.stringify(earlier));
    await project.succeedsQuietly("stack", "import", "--file", "earlier.json");
    assert.deepEqual((await project.up()).changes, { same: 3 });
    await project.refresh();
    const up = await project.up();
    assert.deepEqual([up.changes, up.requests], [{ same: 3 }, []]);
    const { edge, certificate } = await project.exported();
    assert.deepEqual(edge?.outputs.ipRestriction, { enabled: true, ipPolicyIds: ["ipp_1"] });
    assert.match(String(certificate?.outputs.publicKeyFingerprint), /^[0-9a-f]{64}$/);
  });
});
