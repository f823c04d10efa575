import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { tlsEdges } from "../../client/tlsEdge";
import type { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";
import { upload } from "../support";
import { heldBy } from "./account";
import { edge, scenario } from "./scenario";

/** What the engine does around an adoption; tests/adoption.test.ts has each mistake and each order. */
scenario("an adoption", ["dynamic"], () => {
  let ids: { edge: string; certificate: string };
  const adopting = (name: string) => `
    new tlsedge.TLSCertificate("certificate",
      { certificatePem: readFileSync("fullchain.pem", "utf8") }, { import: "${ids.certificate}" });
    ${edge(name, 'hostports: ["app.example.com:443"]', `import: "${ids.edge}"`)}`;
  const alive = ({ emulator }: Project) => {
    assert.ok(emulator.tlsEdges.get(ids.edge));
    assert.ok(emulator.tlsCertificates.get(ids.certificate));
  };
  const stays = [
    /the TLS edge edgtls_\w+ stays.*remove the option/,
    /the TLS certificate cert_\w+ stays.*remove the option/,
  ];

  return {
    "C40 C42: objects are adopted as they are, a certificate without its key": {
      outside: async (project) => {
        const client = project.newClient();
        const made = await upload(client, { commonName: "app.example.com" });
        await project.file("fullchain.pem", made.certificate_pem);
        const { id } = await tlsEdges.create(client, { hostports: ["app.example.com:443"] });
        ids = { edge: id, certificate: made.id };
      },
      program: () => adopting("edge") + edge("plain", 'hostports: ["plain.example.com:443"]'),
      up: "succeeds",
      previewed: true,
      writes: ["POST /edges/tls"],
      state: ({ edge, certificate }) =>
        assert.deepEqual({ edge: edge?.id, certificate: certificate?.id }, ids),
      check: (_, { output }) => {
        // At the end of the plan, and at the end of the update.
        const all = output.match(/(?<=^ {4})\d of the creates .*(\n {6}TLS .*)*/gm) ?? [];
        const names = ["TLS certificate app.example.com", "TLS edge app.example.com:443"];
        const said = ["adopt", "adopted"].map((verb) =>
          [`2 of the creates ${verb} what exists, without a write:`, ...names].join("\n      "),
        );
        assert.deepEqual(all, said);
      },
    },
    "C44: --replace '**' deletes no adopted object, though it replaces the provider's record": {
      up: "succeeds",
      options: ["--replace", "**"],
      // Of the edge that is not adopted.
      writes: ["DELETE /edges/tls/:id", "POST /edges/tls"],
      says: stays,
      check: alive,
    },
    "C44: no adopted object is deleted by a taint, nor by another name of its resource": {
      outside: (project) => {
        const urn = project.urn("TLSCertificate", "certificate");
        return project.succeedsQuietly("state", "taint", urn, "--yes");
      },
      program: () => adopting("renamed"),
      up: "succeeds",
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

/** tests/adopt.test.ts has what the command writes of any account. */
scenario("an adoption of a whole account", ["dynamic"], () => {
  let key: string;
  let before: string;
  return {
    "C40: the program that adopt writes adopts an account as it is": {
      outside: async (project) => {
        const client = project.newClient();
        const description = 'it\'s "${quoted}" `back\\slashed`\n\u202e\u2028 Ünïcödé 🔐';
        await tlsEdges.create(client, { description, metadata: JSON.stringify({ description }) });
        // An edge and a certificate may have the same name.
        await tlsEdges.create(client, { hostports: ["shop.example.com:443"] });
        const shop = await upload(client, { commonName: "shop.example.com" });
        key = shop.private_key_pem;
        project.keepSecret("the key of the shop", key);
        before = heldBy(project);
        const bin = join(repository, "dist", "cli", "main.js");
        const { env, folder } = project;
        await promisify(execFile)(process.execPath, [bin, "adopt"], { cwd: folder, env });
        await rm(join(folder, "index.js"), { force: true });
        await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
        await project.file("package.json", '{ "name": "acceptance", "main": "index.ts" }');
        await project.file("index.ts", 'import "./adoption";\n');
      },
      up: { create: 4 },
      says: [/3 of the creates adopted what exists/],
      check: async (project) => assert.equal(heldBy(project), before),
    },
    "C41 C42: nothing changes at the service when the option goes, and a key is given": {
      outside: async (project) => {
        const program = await readFile(join(project.folder, "adoption.ts"), "utf8");
        await project.file("adoption.ts", program.replaceAll("import: id, ", ""));
        await project.setSecret('keys["shop.example.com"]', key);
      },
      up: { same: 1, update: 3 },
      writes: [],
      check: async (project) => {
        const { resources } = await project.state();
        assert.ok(!JSON.stringify(resources).includes("__import"));
        const keys = resources.flatMap(({ inputs }) => (inputs?.privateKeyPem as object) ?? []);
        assert.deepEqual(
          keys.map((key) => "ciphertext" in key),
          [true],
        );
      },
    },
  };
});
