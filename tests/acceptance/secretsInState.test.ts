import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { tlsCertificates } from "../../client/tlsCertificate";
import { makeCertificate } from "../../emulator/server";
import { type ExportedResource, Project } from "../../tools/engine";
import { throughBothDoors } from "./doors";

/** The key and the kind with which Pulumi marks a secret in state. */
const mark = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270" };

throughBothDoors("a secret in state", (door) => {
  let project: Project;
  let pair: { certificatePem: string; privateKeyPem: string };
  const certificate = (description: string, name = "c", options = "") => `
    new tlsedge.TLSCertificate("${name}", {
      certificatePem: readFileSync("chain.pem", "utf8"),
      privateKeyPem: readFileSync("key.pem", "utf8"),
      description: pulumi.secret("${description}"),
    }, { ${options} });`;

  /** The object that `d` imports. */
  let existing: string;
  const program = (description: string) =>
    project.program(`${certificate(description)}
      ${certificate("one", "d", `import: "${existing}"`)}`);

  before(async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    pair = { certificatePem, privateKeyPem };
    project = await Project.create({}, {}, door);
    await project.file("chain.pem", certificatePem);
    await project.file("key.pem", privateKeyPem);
    const client = project.newClient();
    const body = { certificate_pem: certificatePem, private_key_pem: privateKeyPem };
    existing = (await tlsCertificates.create(client, { ...body, description: "one" })).id;
  });
  after(() => project?.close());

  async function shown(): Promise<Record<string, ExportedResource>> {
    const text = await project.succeedsQuietly("stack", "export", "--show-secrets");
    const all: ExportedResource[] = JSON.parse(text).deployment.resources;
    return Object.fromEntries(all.map((one) => [one.urn.split("::").at(-1) as string, one]));
  }
  const secret = (value: string) => ({ ...mark, plaintext: JSON.stringify(value) });

  async function assertPlain(description: string, hasKey = true, name = "c"): Promise<void> {
    const { inputs, outputs } = (await shown())[name] as ExportedResource;
    const key = hasKey ? secret(pair.privateKeyPem) : undefined;
    // Without the values in the message: one is a private key.
    assert.ok(isDeepStrictEqual(inputs.privateKeyPem, key), "the key in the inputs");
    assert.deepEqual(inputs.description, secret(description));
    assert.deepEqual(outputs.description, secret(description));
  }

  it("C50 is one secret after a create and an import", async () => {
    await program("one");
    await project.up();
    await assertPlain("one");
    await assertPlain("one", true, "d");
  });

  it("C50 that an earlier version has marked twice is read, and written once", async () => {
    const state = JSON.parse(await project.succeedsQuietly("stack", "export", "--show-secrets"));
    const twice = (value: unknown) => ({ ...mark, plaintext: JSON.stringify(value) });
    for (const { urn, inputs, outputs } of state.deployment.resources as ExportedResource[]) {
      if (!urn.endsWith("::d")) continue;
      inputs.privateKeyPem = twice(inputs.privateKeyPem);
      for (const properties of [inputs, outputs]) {
        properties.description = twice(properties.description);
      }
    }
    await project.file("state.json", JSON.stringify(state));
    await project.succeedsQuietly("stack", "import", "--file", "state.json");
    await program("two");
    const run = await project.up();
    assert.deepEqual(run.changes, { update: 1, same: 2 });
    assert.deepEqual(run.writes, ["PATCH /tls_certificates/:id"]);
    const { inputs } = (await shown()).d as ExportedResource;
    assert.ok(isDeepStrictEqual(inputs.privateKeyPem, secret(pair.privateKeyPem)));
  });

  it("C50 is one secret after an update and a refresh, with drift and without", async () => {
    await assertPlain("two");
    const { id = "" } = (await project.exported()).c ?? {};
    project.emulator.tlsCertificates.patch(id, { description: "three" });
    await project.refresh();
    // A dynamic provider is not told the key: a refresh that finds a change leaves it out.
    await assertPlain("three", door === "plugin");
    await assertPlain("one", true, "d");
    await project.up();
    await assertPlain("two");
  });
});
