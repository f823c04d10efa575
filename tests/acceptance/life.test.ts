import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { version } from "../../package.json";
import type { ExportedResource, Project } from "../../tools/engine";
import { nameOf } from "../../tools/engineLog";
import { age, lists, pair, scenario, served, times, warned } from "./scenario";

const hostports = 'hostports: ["app.example.com:443", "www.example.com:443"],';
const backend = 'backend: { backendId: "bkdtg_1" },';
const ipRestriction = 'ipRestriction: { ipPolicyIds: ["ipp_1", "ipp_2"] },';
const mutualTls = 'mutualTls: { certificateAuthorityIds: ["ca_1"] },';
const termination = 'tlsTermination: { terminateAt: "edge" },';
const modules = backend + ipRestriction + mutualTls + termination;
const description = "a-description-that-no-state-may-hold-in-clear";
const hidden = 'description: pulumi.secret(readFileSync("description", "utf8")),';
const changed = `
  description: "Front door", metadata: "m", hostports: ["www.example.com:443"],
  backend: { backendId: "bkdtg_2" }, ipRestriction: { ipPolicyIds: ["ipp_3"], enabled: false },
  mutualTls: { certificateAuthorityIds: ["ca_1", "ca_2"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.3" },`;

/** A certificate and three edges, and one that depends on what does not change of them. */
const program = (edge: string, certificate = "", other = modules, gone = "") => `
  const certificate = new tlsedge.TLSCertificate("certificate", {
    ${pair()}, renewBeforeDays: 400, ${hidden} ${certificate}
  }, { additionalSecretOutputs: ["createdAt"] });
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
  exports.description = pulumi.interpolate\`\${certificate.id} \${certificate.notAfter}\`;`;

/** A resource in the state, with its secrets. Not by a command of the project, which would find them. */
async function decrypted({ cli, env, folder: cwd, stack }: Project, name: string) {
  const args = ["stack", "export", "--show-secrets", "--stack", stack];
  const { stdout } = await promisify(execFile)(cli.command, args, { cwd, env, maxBuffer: 1e8 });
  const { resources } = JSON.parse(stdout).deployment as { resources: ExportedResource[] };
  const { inputs = {}, outputs = {} } = resources.find(({ urn }) => nameOf(urn) === name) ?? {};
  return { inputs, outputs };
}
/** The value of one secret, which is no text where it is a secret within a secret. */
const opened = (secret: unknown) => JSON.parse((secret as { plaintext: string }).plaintext);

// Each key is a step on the same stack, in their order; `outside` happens before it, `check` comes after it.
scenario("a stack's life", ["dynamic", "plugin"], (protocol) => {
  let authority: MadeCertificate;
  let key: string;
  let wanted: string;
  let outputs: string;
  /** Without the texts of secrets, which the engine encrypts anew each time. */
  const outputsOf = (resources: Record<string, ExportedResource>) =>
    JSON.stringify(
      Object.entries(resources).map(([name, { outputs }]) => [name, outputs]),
      (name, value) => (name === "ciphertext" ? "" : value),
    );
  const issue = (project: Project) =>
    project.certificate(".", {
      ...{ commonName: "app.example.com", dnsNames: ["app.example.com"] },
      ...{ issuer: authority, notBefore: new Date(0) },
    });

  return {
    "C1 C11 C14 C19 C30 C83: a plan shows the names and dates of a certificate; each create is one request":
      {
        outside: async (project) => {
          // Both protocols take a path from the folder of the program.
          project.env.TLSEDGE_CA_FILE = "ca.pem";
          authority = await makeCertificate({ commonName: "Test CA", isCa: true });
          key = (await issue(project)).privateKeyPem;
          project.secrets.add("the description", description);
          await project.file("description", description);
        },
        program: program(hostports + modules),
        up: { create: 6 },
        previewed: true,
        options: ["--diff"],
        // Of the stack: the engine shows outputs of a resource only if it has them as inputs.
        says: [
          /notAfter *: "20\d\d-/,
          /commonName *: "app\.example\.com"/,
          /privateKeyPem +: \[secret\]/,
        ],
        // The plan and the update each have a process of the provider.
        requests: [
          ...times(2, lists.edges),
          ...times(2, lists.certificates),
          ...times(4, "POST /edges/tls"),
          "POST /tls_certificates",
        ],
        check: ({ emulator }, run) => {
          const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
          assert.ok(!JSON.stringify(emulator.requests).includes(unknown));
          const all = warned(run);
          assert.ok(all.every(([name, text]) => name === "certificate" && /expires on/.test(text)));
          assert.equal(all.length, 1, run.output);
        },
      },
    "C51: the state holds no path, no version and no code, but the line that loads a dynamic provider":
      {
        state: (resources, { folder }) => {
          const all = Object.values(resources);
          const text = JSON.stringify(all.map(({ inputs, outputs }) => [inputs, outputs]));
          for (const never of [folder, __dirname, version, "function"])
            assert.ok(!text.includes(never), never);
          const code = /^exports\.handler = \(\) => require\("[\w/-]+"\)\.\w+$/;
          for (const { outputs } of all)
            assert.match(String(outputs.__provider), protocol === "plugin" ? /^undefined$/ : code);
        },
      },
    "C21 C22 C25 C31: a refresh changes nothing, nor does the same value in another form": [
      {
        outside: async (project) => {
          outputs = outputsOf(await project.exported());
        },
        refresh: { same: 6 },
        state: (resources) => assert.equal(outputsOf(resources), outputs),
        check: (_, { requests }) => assert.ok(requests.every((one) => one.startsWith("GET "))),
      },
      {
        outside: async (project) => {
          const read = (name: string) => readFile(`${project.folder}/${name}`, "utf8");
          const chain = (await read("fullchain.pem")).replaceAll("\n", "\r\n");
          const key = createPrivateKey(await read("privkey.pem"));
          const sec1 = key.export({ type: "sec1", format: "pem" }).toString();
          project.secrets.add("the SEC1 key", sec1);
          await project.file("fullchain.pem", `# the leaf\n\n${chain}\r\n\r\n`);
          await project.file("privkey.pem", sec1);
        },
        program: program(`hostports: ["www.example.com:443", "app.example.com:443"],${modules}`),
        up: { same: 6 },
        requests: [],
      },
    ],
    "C14 C20 C22 C30: an update is one PATCH of what changed, and its plan shows the rest as known":
      {
        program: program(changed, 'metadata: "owner=web",'),
        // Also of what is replaced on any change, and so would be for a value that is not known.
        up: { same: 4, update: 2 },
        previewed: true,
        options: ["--diff"],
        neverSays: /\[unknown\]|output</,
        // tests/tlsEdge.test.ts has their bodies.
        ofObjects: ["PATCH /edges/tls/:id", "PATCH /tls_certificates/:id"],
        check: async (project) => {
          const { hostports, mutual_tls } = await served(project, "edge");
          const all = [mutual_tls?.certificate_authorities ?? []].flat();
          assert.deepEqual([hostports, all.length], [["www.example.com:443"], 2]);
        },
      },
    "C31: a refresh finds drift and an object that is gone, and the next update restores both": [
      {
        outside: async (project) => {
          const { tlsEdges, tlsCertificates } = project.emulator;
          const [certificate] = tlsCertificates.list();
          const found = await served(project, "edge");
          wanted = JSON.stringify(found);
          tlsCertificates.patch(certificate?.id ?? "", { description: "changed" });
          tlsEdges.patch(found.id, {
            ...{ description: "changed", metadata: "changed", hostports: ["drifted.example:443"] },
            backend: { enabled: true, backend: { id: "bkdtg_9", uri: "https://x/9" } },
            ip_restriction: { enabled: true, ip_policies: [{ id: "ipp_1", uri: "https://x/1" }] },
            mutual_tls: null,
            tls_termination: { enabled: true, terminate_at: "upstream", min_version: null },
          });
          age(project);
          tlsEdges.delete((await served(project, "other")).id);
        },
        refresh: { delete: 1, same: 3, update: 2 },
        options: ["--diff"],
        says: [/~ description *: "Front door" => "changed"/],
      },
      {
        up: { create: 1, same: 3, update: 2 },
        ofObjects: ["PATCH /edges/tls/:id", "PATCH /tls_certificates/:id", "POST /edges/tls"],
        state: async (_, project) =>
          assert.equal(JSON.stringify(await served(project, "edge")), wanted),
      },
    ],
    "C50: after all these steps, the state has the private key in the inputs alone, and every secret is encrypted":
      {
        state: async (_, project) => {
          const { inputs, outputs } = await decrypted(project, "certificate");
          // Dynamic providers have it in the form of the file after a drift.
          const stored = createPrivateKey(opened(inputs.privateKeyPem));
          assert.ok(stored.equals(createPrivateKey(key)));
          assert.ok(!("privateKeyPem" in outputs));
          for (const properties of [inputs, outputs])
            assert.equal(opened(properties.description), description);
          assert.ok(opened(outputs.createdAt));
        },
      },
    "C20 C23 C24: a certificate is replaced by a create first, an edge by a delete first": {
      outside: async (project) => {
        age(project);
        project.emulator.tlsEdges.delete((await served(project, "gone")).id);
        await issue(project);
      },
      program: program(
        hostports + backend + ipRestriction + termination,
        'metadata: "owner=web",',
        termination,
        'description: "new",',
      ),
      up: "succeeds",
      options: ["--refresh"],
      check: async (project, { steps, events }) => {
        const of = (name: string) =>
          steps.filter((step) => step.endsWith(`:${name}`)).map((step) => step.split(":")[0]);
        const said = events.flatMap(({ diagnosticEvent }) => diagnosticEvent ?? []);
        const renewal = said.find(({ message }) => /expires 20.* → .*, same names/.test(message));
        assert.equal(nameOf(renewal?.urn ?? ""), "certificate");
        const [made, removed] = ["create-replacement", "delete-replaced"];
        assert.deepEqual(of("certificate"), ["refresh", made, "replace", removed]);
        assert.deepEqual(of("other"), ["refresh", removed, "replace", made]);
        assert.deepEqual(of("edge"), ["refresh", "update"]);
        assert.equal((await served(project, "gone")).description, "new");
        assert.equal((await served(project, "other")).backend, null);
        assert.equal(project.emulator.tlsCertificates.list().length, 1);
        assert.equal((await served(project, "edge")).mutual_tls?.enabled, false);
      },
    },
    "C32: a destroy deletes everything, and what is gone already is no error": {
      outside: async (project) => {
        age(project);
        project.emulator.tlsEdges.delete((await served(project, "edge")).id);
      },
      destroy: { delete: 6 },
      state: (resources, { emulator }) => {
        assert.deepEqual([resources, emulator.tlsCertificates.list()], [{}, []]);
      },
    },
  };
});
