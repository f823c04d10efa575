import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { tlsCertificates } from "../../client/tlsCertificate";
import type { MadeCertificate } from "../../emulator/server";
import type { ExportedResource, Project } from "../../tools/engine";
import { nameOf } from "../../tools/engineLog";
import { certificate, edge, scenario, served } from "./scenario";

/** The key and the kind with which Pulumi marks a secret in state. */
const mark = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270" };
const secret = (value: unknown) => ({ ...mark, plaintext: JSON.stringify(value) });

const texts = {
  one: "a-description-that-no-state-may-hold-in-clear",
  two: "another-text-in-its-place-that-nobody-sees",
  metadata: "metadata-and-this-is-a-secret-".repeat(2),
  hostport: "a-hostname-that-is-secret.hidden.org:8443",
};
const given = (name: keyof typeof texts) => `pulumi.secret(readFileSync("${name}", "utf8"))`;

const hostports = `[${given("hostport")}, "other.example.com:443"]`;

/** The whole state, with all secrets. Not a command of the project, which would find them. */
async function decrypted({ cli, env, folder: cwd, stack }: Project) {
  const args = ["stack", "export", "--show-secrets", "--stack", stack];
  const { stdout } = await promisify(execFile)(cli.command, args, { cwd, env, maxBuffer: 1e8 });
  return JSON.parse(stdout) as { deployment: { resources: ExportedResource[] } };
}

scenario("secrets in the state", ["dynamic", "plugin"], () => {
  let pair: MadeCertificate;
  let existing: string;
  const program = (description: keyof typeof texts) =>
    [
      certificate("made", `description: ${given(description)}`),
      // The engine shows what it imports, before it knows that it is a secret.
      certificate("imported", 'description: pulumi.secret("shown")', `import: "${existing}"`),
      edge("secret", `metadata: ${given("metadata")}, hostports: ${hostports}`),
      edge("more", 'description: "d"', 'additionalSecretOutputs: ["createdAt"]'),
    ].join("\n");

  /** The key is in the inputs alone, and each secret is one secret, not a secret within a secret. */
  const areSecret = async (project: Project, description: string, isRefreshed = true) => {
    const { resources } = (await decrypted(project)).deployment;
    const all = Object.fromEntries(resources.map((one) => [nameOf(one.urn), one]));
    for (const [name, text] of [
      ["made", description],
      ["imported", "shown"],
    ] as const) {
      const { inputs = {}, outputs = {} } = all[name] ?? {};
      // Without the values in the message: one is a private key.
      const { privateKeyPem } = inputs;
      const isKey = JSON.stringify(privateKeyPem) === JSON.stringify(secret(pair.privateKeyPem));
      assert.ok(isKey, `the key of ${name}`);
      assert.deepEqual(inputs.description, secret(text));
      if (isRefreshed) assert.deepEqual(outputs.description, secret(text));
      assert.ok(!("privateKeyPem" in outputs));
    }
    const { secret: hidden, more } = all;
    assert.deepEqual(hidden?.outputs.metadata, secret(texts.metadata));
    assert.match(JSON.stringify(hidden?.outputs.hostports), /"plaintext".*hidden\.org/);
    assert.ok("plaintext" in ((more?.outputs.createdAt ?? {}) as object));
  };

  return {
    "C50: a secret is stored once, encrypted, and sent, by a create and an import": {
      outside: async (project) => {
        pair = await project.certificate(".", { commonName: "a.example" });
        for (const [name, text] of Object.entries(texts)) {
          project.keepSecret(`the ${name}`, text);
          await project.file(name, text);
        }
        const body = {
          ...{ certificate_pem: pair.certificatePem, private_key_pem: pair.privateKeyPem },
          description: "shown",
        };
        existing = (await tlsCertificates.create(project.newClient(), body)).id;
      },
      program: () => program("one"),
      up: "succeeds",
      check: async (project) => {
        await areSecret(project, texts.one);
        const { metadata, hostports } = await served(project, "secret");
        assert.deepEqual(
          [metadata, hostports],
          [texts.metadata, [texts.hostport, "other.example.com:443"]],
        );
      },
    },
    "C50 C51: a secret that an earlier version has marked twice is read, and written once": {
      outside: async (project) => {
        const state = await decrypted(project);
        for (const { urn, inputs, outputs } of state.deployment.resources) {
          if (nameOf(urn) !== "imported") continue;
          inputs.privateKeyPem = secret(inputs.privateKeyPem);
          for (const properties of [inputs, outputs])
            properties.description = secret(properties.description);
        }
        await project.file("state.json", JSON.stringify(state));
        await project.succeedsQuietly("stack", "import", "--file", "state.json");
      },
      program: () => program("two"),
      up: { update: 1, same: 4 },
      writes: ["PATCH /tls_certificates/:id"],
      // The outputs of what does not change are those of before.
      check: (project) => areSecret(project, texts.two, false),
    },
    "C31 C50: a secret stays one after a refresh with drift and without, and an update": {
      outside: async (project) => {
        const { id = "" } = (await project.exported()).made ?? {};
        project.emulator.tlsCertificates.patch(id, { description: "by hand" });
      },
      up: { update: 1, same: 4 },
      options: ["--refresh"],
      writes: ["PATCH /tls_certificates/:id"],
      check: (project) => areSecret(project, texts.two),
    },
  };
});
