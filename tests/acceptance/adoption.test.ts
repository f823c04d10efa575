import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Adoption } from "../../cli/adopt";
import { tlsCertificates } from "../../client/tlsCertificate";
import { tlsEdges } from "../../client/tlsEdge";
import { makeCertificate } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { upload } from "../support";
import { heldBy } from "./account";
import { edge, scenario } from "./scenario";

const bin = join(__dirname, "..", "..", "dist", "cli", "main.js");

/** What a run says of adoptions at its end, line by line. */
const adoptions = ({ output }: Run) =>
  output.match(/(?<=^ {4})\d+ of the creates.*(\n {6}TLS .*)*/gm) ?? [];

interface Managed {
  edge?: string;
  certificate?: string;
  /** The name of the edge. */
  name?: string;
  more?: string;
}

/** tests/adoption.test.ts has each mistake and each order. */
scenario("an adoption", ["dynamic"], () => {
  let ids: { edge: string; certificate: string };
  /** A program that adopts both objects. */
  const managing = (managed: Managed = {}) => {
    const { name = "edge", more = "" } = managed;
    const taken = `{ certificatePem: readFileSync("fullchain.pem", "utf8"), description: "old",
      ${managed.certificate ?? ""} }, { import: "${ids.certificate}" }`;
    const args = `hostports: ["app.example.com:443"], description: "old",
      backend: { backendId: "bkdtg_1" }, tlsTermination: { terminateAt: "edge" },
      ${managed.edge ?? ""}`;
    return `
      exports.certificate = new tlsedge.TLSCertificate("certificate", ${taken}).notAfter;
      exports.edge = ${edge(name, args, `import: "${ids.edge}"`).replace(/;$/, ".id;")}
      ${more}`;
  };
  const key = 'privateKeyPem: readFileSync("privkey.pem", "utf8"), metadata: "m",';
  const changed = { edge: 'description: "new",', certificate: key };
  const alive = ({ emulator }: Project) =>
    assert.deepEqual(
      {
        edge: emulator.tlsEdges.get(ids.edge)?.id,
        certificate: emulator.tlsCertificates.get(ids.certificate)?.id,
      },
      ids,
    );
  const stays = [
    /the TLS edge edgtls_\w+ stays.*remove the option/,
    /the TLS certificate cert_\w+ stays.*remove the option/,
  ];

  return {
    "C40 C50: an object that differs fails the plan, which shows no value of a secret": {
      outside: async (project) => {
        const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } =
          await project.certificate(".", { commonName: "app.example.com" });
        const client = project.newClient();
        const made = await tlsEdges.create(client, {
          ...{ hostports: ["app.example.com:443"], description: "old" },
          backend: { backend_id: "bkdtg_1" },
          tls_termination: { terminate_at: "edge", min_version: "1.2" },
        });
        const body = { certificate_pem, private_key_pem, description: "old" };
        ids = { edge: made.id, certificate: (await tlsCertificates.create(client, body)).id };
        const secret = "secret-of-the-program";
        project.keepSecret("an argument", secret);
        await project.file("secret", secret);
      },
      program: () => {
        const text = 'pulumi.secret(readFileSync("secret", "utf8"))';
        const name = `${text}.apply((name) => name + ".example:443")`;
        return managing({
          edge: `description: ${text}, metadata: ${text},
            hostports: pulumi.output(["app.example.com:443", ${name}]),
            ipRestriction: { ipPolicyIds: ["ipp_1", ${text}] },
            mutualTls: { certificateAuthorityIds: ["ca_1"] },
            backend: { backendId: "other" },`,
        });
      },
      preview: "fails",
      writes: [],
      says: [
        /description: \[secret\] \/ \[secret\]/,
        /metadata: \[secret\] \/ none/,
        /hostports: \[secret\] \/ \[secret\]/,
        /ipRestriction: \[secret\] \/ none/,
        /mutualTls: \{"certificateAuthorityIds":\["ca_1"\],"enabled":true\} \/ none/,
        /backend: \{"backendId":"other","enabled":true\} \/ \{"enabled":true,"backendId":"bkdtg_1"\}/,
      ],
      neverSays: /tlsTermination:/,
      check: (project, run) => {
        alive(project);
        assert.doesNotMatch(adoptions(run).join(), /TLS edge/);
      },
    },
    "C40 C42: objects are adopted as they are, a certificate without its key": {
      program: () => managing(),
      up: "succeeds",
      previewed: true,
      writes: [],
      check: async (project, run) => {
        const names = ["TLS certificate app.example.com", "TLS edge app.example.com:443"];
        const said = ["adopt", "adopted"].map((verb) =>
          [`2 of the creates ${verb} what exists, without a write:`, ...names].join("\n      "),
        );
        assert.deepEqual(adoptions(run), said);
        alive(project);
        const { edge, certificate } = await project.exported();
        assert.deepEqual({ edge: edge?.id, certificate: certificate?.id }, ids);
        assert.equal(await project.output("edge"), ids.edge);
        assert.match(String(await project.output("certificate")), /^20\d\d-/);
      },
    },
    "C40: what is adopted updates in place, with the option still there": {
      program: () =>
        managing({ ...changed, more: edge("plain", 'hostports: ["plain.example.com:443"]') }),
      up: "succeeds",
      writes: ["PATCH /edges/tls/:id", "PATCH /tls_certificates/:id", "POST /edges/tls"],
      check: alive,
    },
    "C44: --replace '**' deletes no adopted object, though it replaces the provider's record": {
      up: "succeeds",
      options: ["--replace", "**"],
      // The one beside them.
      writes: ["DELETE /edges/tls/:id", "POST /edges/tls"],
      says: stays,
      state: ({ edge, certificate }, project) => {
        assert.deepEqual({ edge: edge?.id, certificate: certificate?.id }, ids);
        alive(project);
      },
    },
    "C44: no adopted object is deleted by a taint, nor by another name of its resource": {
      outside: (project) => {
        const urn = project.urn("TLSCertificate", "certificate");
        return project.succeedsQuietly("state", "taint", urn, "--yes");
      },
      program: () => managing({ ...changed, name: "renamed" }),
      up: "succeeds",
      // The one beside them.
      writes: ["DELETE /edges/tls/:id"],
      says: [
        /the TLS edge edgtls_\w+ stays on the service, because a resource of this update adopts it/,
        /the TLS certificate cert_\w+ stays on the service, because a resource of this update adopts it/,
      ],
      check: alive,
    },
    "C44: no destroy deletes an adopted object while the option stands": {
      destroy: "succeeds",
      options: ["--run-program"],
      writes: [],
      says: stays,
      check: alive,
    },
  };
});

/** Objects such as people and scripts leave behind; gives a key. tests/adopt.test.ts has more of them. */
async function seed(project: Project): Promise<string> {
  const client = project.newClient();
  const description = 'it\'s "${quoted}" `back\\slashed`\n\u202e\u2028 Ünïcödé 🔐';
  const metadata = JSON.stringify({ owner: "it's", note: description });
  for (const body of [
    { description, metadata },
    {
      hostports: ["www.example.com:443", "Example.com:443", "*.example.com:8443"],
      ip_restriction: { enabled: false, ip_policy_ids: ["ipp_2", "ipp_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.3" } as const,
    },
    { hostports: ["shop.example.com:443"], mutual_tls: { certificate_authority_ids: ["ca_1"] } },
  ])
    await tlsEdges.create(client, body);
  const { id } = await tlsEdges.create(client, { hostports: ["gone.example.com:443"] });
  project.emulator.tlsEdges.patch(id, { hostports: ["[::1]:443"] });
  const issuer = await makeCertificate({ commonName: "root", isCa: true });
  const shop = await upload(client, { commonName: "shop.example.com", issuer }, { metadata });
  project.keepSecret("the key of the shop", shop.private_key_pem);
  const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
  await upload(client, { commonName: "shop.example.com", keyType: "ed25519", ...past });
  const issued = await upload(client, { commonName: "issued.example.com" });
  project.emulator.tlsCertificates.patch(issued.id, { issued_at: "2026-01-01T00:00:00Z" });
  return shop.private_key_pem;
}

scenario("an adoption of a whole account", ["dynamic"], () => {
  let key: string;
  let before: string;
  let adopted: Adoption;
  return {
    "C40: the program that adopt writes adopts an account as it is": {
      outside: async (project) => {
        key = await seed(project);
        before = heldBy(project);
        const command = [bin, "adopt", "--out", project.folder, "--json"];
        const { stdout } = await promisify(execFile)(process.execPath, command, {
          env: project.env,
        });
        adopted = JSON.parse(stdout);
        await rm(join(project.folder, "index.js"), { force: true });
        await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
        await project.file("package.json", '{ "name": "acceptance", "main": "index.ts" }');
        await project.file("index.ts", 'import "./adoption";\n');
      },
      up: { create: 6 },
      says: [/5 of the creates adopted what exists/],
      // One of each kind is read by itself, before it is known that there are more.
      requests: [
        ...["GET /edges/tls/:id", "GET /edges/tls?limit=100"],
        ...["GET /tls_certificates/:id", "GET /tls_certificates?limit=100"],
      ],
      check: async (project) => {
        const { edges, certificates, skipped } = adopted;
        assert.deepEqual([edges.length, certificates.length, skipped.length], [3, 2, 2]);
        assert.equal(heldBy(project), before);
        // An edge and a certificate may have the same name.
        const { resources } = await project.state();
        assert.deepEqual(
          resources
            .filter(({ protect }) => protect)
            .map(({ id, urn }) => `${urn.split("::").at(-1)} ${id}`)
            .sort(),
          [...edges, ...certificates].map(({ id, name }) => `${name} ${id}`).sort(),
        );
      },
    },
    "C41 C42: nothing changes at the service when the option goes, and a key is given": {
      outside: async (project) => {
        const program = await readFile(join(project.folder, "adoption.ts"), "utf8");
        const imports = /import: id, (?=protect)/g;
        assert.equal(program.match(imports)?.length, 2);
        const all = project.emulator.tlsEdges.list();
        const unusual = all.find(({ hostports }) => hostports?.includes("[::1]:443"));
        const read = JSON.stringify(unusual?.id);
        const reading = `tlsedge.TLSEdge.get("read", ${read});\n`;
        await project.file("adoption.ts", program.replaceAll(imports, "") + reading);
        await project.setSecret('keys["shop.example.com"]', key);
      },
      up: { same: 1, update: 5 },
      writes: [],
      check: async (project) => {
        assert.equal(heldBy(project), before);
        const { resources } = await project.state();
        assert.ok(!JSON.stringify(resources).includes("__import"));
        const keyed = resources.filter(({ inputs }) => inputs?.privateKeyPem);
        assert.deepEqual(
          keyed.map(({ urn, inputs }) => [
            urn.split("::").at(-1),
            "ciphertext" in (inputs.privateKeyPem as object),
          ]),
          [["shop.example.com", true]],
        );
      },
    },
  };
});
