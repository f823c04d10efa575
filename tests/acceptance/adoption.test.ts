import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path, { join } from "node:path";
import { tlsEdges } from "../../client/tlsEdge";
import type { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";
import { run } from "../../tools/pulumi";
import { clientOf, upload } from "../support";
import { bin, scenario } from "./scenario";

/**
 * What the engine does around an adoption; tests/adoption.test.ts has each mistake and each order, tests/adopt.test.ts
 * what the command writes of any account.
 */
scenario("an adoption of a whole account", ["dynamic"], () => {
  let key: string;
  let before: string;
  const objects = ({ emulator: { tlsEdges, tlsCertificates } }: Project) =>
    JSON.stringify([tlsEdges.list(), tlsCertificates.list()]);
  const areKept = (project: Project) => assert.equal(objects(project), before);
  const stays = [
    /the TLS edge edgtls_\w+ stays.*remove the option/,
    /the TLS certificate cert_\w+ stays.*remove the option/,
  ];

  return {
    "C40: the program that adopt writes adopts all as it is, and names it": {
      outside: async (project) => {
        const client = clientOf(project.emulator);
        const description = 'it\'s "${quoted}" `back\\slashed`\n\u202e\u2028 Ünïcödé 🔐';
        await tlsEdges.create(client, { description, metadata: JSON.stringify({ description }) });
        // An edge and a certificate may have the same name.
        await tlsEdges.create(client, { hostports: ["shop.example.com:443"] });
        const shop = await upload(client, { commonName: "shop.example.com" });
        key = shop.private_key_pem;
        project.secrets.add("the key of the shop", key);
        before = objects(project);
        const manifest = { name: "acceptance", main: "index.ts", type: "module" };
        await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
        await project.file("package.json", JSON.stringify(manifest));
        const compilerOptions = { module: "nodenext", strict: true, skipLibCheck: true };
        await project.file("tsconfig.json", JSON.stringify({ compilerOptions }));
        const { code, output } = await project.start(["adopt"], bin).done;
        assert.equal(code, 0, output);
        const [, line = ""] = /^ {2}(import ".*";)$/m.exec(output) ?? [];
        await project.file("index.ts", `${line}\n`);
        const tsc = path.join(repository, "node_modules", ".bin", "tsc");
        await run(tsc, ["--noEmit", "-p", "."], { cwd: project.folder });
      },
      up: { create: 4 },
      previewed: true,
      // At the end of the plan, and at the end of the update.
      says: ["adopt", "adopted"].map(
        (verb) =>
          new RegExp(
            `^ {4}3 of the creates ${verb} what exists, without a write:(\\n {6}TLS .*){3}$`,
            "m",
          ),
      ),
      check: areKept,
    },
    "C44: --replace '**' deletes no adopted object, though it replaces the provider's record": {
      outside: async (project) => {
        const program = await readFile(join(project.folder, "adoption.ts"), "utf8");
        await project.file("adoption.ts", program.replaceAll("protect: true", "protect: false"));
      },
      up: "succeeds",
      options: ["--replace", "**"],
      says: stays,
      check: areKept,
    },
    "C40: nothing changes at the service when the option goes, and a key is given": {
      outside: async (project) => {
        const program = await readFile(join(project.folder, "adoption.ts"), "utf8");
        await project.file("adoption.ts", program.replaceAll("import: id, ", ""));
        await project.setSecret('keys["shop.example.com"]', key);
      },
      up: { same: 1, update: 3 },
      writes: [],
      state: async (_, project) => {
        const text = JSON.stringify((await project.state()).resources);
        assert.ok(!text.includes("__import"));
        assert.match(text, /"privateKeyPem":\{[^}]*"ciphertext"/);
        const { code, output } = await project.start(["adopt", "--stack", "dev"], bin).done;
        assert.match(output, /0 certificates, 3 left out, because the stack has them/);
        assert.equal(code, 1);
      },
    },
  };
});
