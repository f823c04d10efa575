import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { Client } from "../../client/client";
import { tlsCertificates } from "../../client/tlsCertificate";
import { tlsEdges } from "../../client/tlsEdge";
import { makeCertificate } from "../../emulator/server";
import schema from "../../plugin/schema.json";
import { Project } from "../../tools/engine";
import { linkModules, newFolder, repository } from "../../tools/folders";
import { generateSdks, missing, programs, writeSdks } from "../../tools/languages";
import { findOrBuildPulumi, goEnv } from "../../tools/pulumi";
import { programsIn } from "./examples";

const run = promisify(execFile);
const page = "languages.md";
const walk = `${page}#From nothing to a site`;

/** The commands of the page that can't run here as they stand, and what runs in their place. */
const instead = new Map([
  // This repository stands for the clone, as it is built.
  [`git clone ${schema.repository}.git`, "mkdir pulumi-tlsedge"],
  ["npm ci", "true"],
  ["npm run emulator --", `node ${repository}/emulator/dist/main.js`],
  // The language hosts that can be built from modules lack GeneratePackage: `addPackage` does its work.
  [`pulumi package add ${schema.repository}/plugin`, "eval $INSTALL"],
  // It asks whether to go on.
  ["pulumi up", "pulumi up --yes --skip-preview"],
]);
const here = (command: string) =>
  [...instead].reduce((text, [own, other]) => text.replace(own, other), command);

/** Of each language: the program, the other files, and how a generated SDK is linked and installed. */
const walks = {
  python: {
    program: "__main__.py",
    // That host does not read the option `virtualenv` either.
    install:
      "python3 -m venv venv; . venv/bin/activate; pip install --quiet --requirement requirements.txt",
    others: (folder: string) => writeFile(path.join(folder, "requirements.txt"), "pulumi\n"),
    link: (folder: string) => appendFile(path.join(folder, "requirements.txt"), "./sdks/tlsedge\n"),
  },
  go: {
    program: "main.go",
    install: "true",
    async others(folder: string) {
      const [text = ""] = await programsIn(walk, "text");
      await writeFile(path.join(folder, "go.mod"), text);
    },
    async link(folder: string) {
      const module = path.dirname(schema.language.go.importBasePath);
      await run("go", ["mod", "edit", `-replace=${module}=./sdks/tlsedge`], { cwd: folder });
    },
  },
};

/** Does what `pulumi package add` does before it installs what the project needs. */
async function addPackage(folder: string, language: keyof typeof walks): Promise<void> {
  // Pulumi calls the package of a repository after its owner, unless the schema names it.
  const file = path.join(newFolder(), "schema.json");
  await writeFile(file, JSON.stringify({ ...schema, namespace: schema.publisher }));
  const sdk = path.join(await writeSdks(file), language);
  await cp(sdk, path.join(folder, "sdks", "tlsedge"), { recursive: true });
  await walks[language].link(folder);
  const plugin = path.join(repository, "plugin", "dist");
  const plugins = `plugins: { providers: [{ name: tlsedge, path: ${plugin} }] }\n`;
  await appendFile(path.join(folder, "Pulumi.yaml"), plugins);
}

describe(`docs/${page}`, () => {
  let emulator: ChildProcess | undefined;
  afterEach(async () => {
    if (emulator?.kill()) await once(emulator, "exit");
  });

  for (const [n, language] of (["python", "go"] as const).entries()) {
    it(`C88 C89 deploys a site from nothing, in ${language}`, async function () {
      // Generating the SDK needs Go.
      if ((await missing(language)) || (await missing("go"))) this.skip();
      const root = newFolder();
      const folder = path.join(root, "shop");
      const { env: cli } = await findOrBuildPulumi();
      const { program, install, others } = walks[language];
      // With other flags, Go would compile Pulumi's SDK once more.
      const env = { ...goEnv(cli), PULUMI_HOME: newFolder(), INSTALL: install };
      const bash = (commands: string[], cwd: string) =>
        run("bash", ["-e", "-c", commands.map(here).join("\n")], { cwd, env }).catch(
          ({ stdout, stderr }) => assert.fail(stdout + stderr),
        );
      const commands = (await programsIn(walk, "sh")).map((block) => block.trim().split("\n"));
      const [service = [], all = []] = commands;
      const steps = all.filter((command) => language === "go" || !command.endsWith("in Go alone"));
      const count = service.length + steps.length;

      // The first terminal.
      await bash(service.slice(0, -1), root);
      const serve = `exec ${here(service.at(-1) ?? "")}`;
      const cwd = path.join(root, "pulumi-tlsedge");
      emulator = spawn("bash", ["-c", serve], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
      const ended = once(emulator, "exit").then(() => assert.fail("the emulator has ended"));
      await Promise.race([once(emulator.stdout as Readable, "data"), ended]);

      // The second one.
      const [manifests, programs] = [
        await programsIn(walk, "yaml"),
        await programsIn(walk, language),
      ];
      await writeFile(path.join(folder, "Pulumi.yaml"), manifests[n] ?? "");
      await writeFile(path.join(folder, program), programs[0] ?? "");
      await others(folder);
      await addPackage(folder, language);
      const { stdout } = await bash([...steps, "pulumi stack output expires"], folder);

      const settings = await readFile(path.join(folder, "service.env"), "utf8");
      const [baseUrl = "", apiKey = "", caFile = ""] = settings
        .trim()
        .split("\n")
        .map((line) => line.slice(line.indexOf("=") + 1));
      const found = await Array.fromAsync(tlsEdges.list(new Client({ baseUrl, apiKey, caFile })));
      assert.deepEqual(
        found.map(({ hostports }) => hostports),
        [["shop.example.com:443"]],
      );
      assert.ok(Date.parse(stdout.trim().split("\n").at(-1) ?? "") > Date.now(), stdout);

      const text = await readFile(path.join(repository, "docs", page), "utf8");
      assert.match(text, new RegExp(`\\b${count} ${language === "go" ? "in Go" : "commands"}`));
    });
  }
});

const template = path.join(repository, "templates", "site", "tsconfig.json");

/** Replaces the program of a project by one in TypeScript, whose types are checked. */
async function writeProgram(project: Project, program: string): Promise<void> {
  await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
  await project.file("package.json", '{ "main": "index.ts" }');
  await cp(template, path.join(project.folder, "tsconfig.json"));
  await project.file("index.ts", program);
}

describe("the lookups of docs/guide.md", () => {
  let project: Project;
  before(async () => {
    project = await Project.create({}, { PULUMI_NODEJS_TRANSPILE_ONLY: undefined });
    const client = project.newClient();
    for (const name of ["app", "api"]) {
      await tlsEdges.create(client, { hostports: [`${name}.example.com:443`] });
    }
    for (const [commonName, owner, notAfter] of [
      ["web.example.com", "web", "2029-12-31"],
      ["later.example.com", "web", "2030-01-02"],
      ["other.example.com", "shop", "2029-12-31"],
    ] as const) {
      const made = await makeCertificate({ commonName, notAfter: new Date(notAfter) });
      await tlsCertificates.create(client, {
        certificate_pem: made.certificatePem,
        private_key_pem: made.privateKeyPem,
        metadata: JSON.stringify({ owner, level: 3 }),
      });
    }
  });
  after(() => project?.close());

  async function finds() {
    await project.up();
    const ids = project.emulator.tlsEdges
      .list()
      .filter(({ hostports }) => hostports?.includes("app.example.com:443"))
      .map(({ id }) => id);
    const outputs = await project.succeedsQuietly("stack", "output", "--json");
    assert.deepEqual(JSON.parse(outputs), {
      edgeId: ids[0],
      names: ["web.example.com"],
      forwardsTo: "https://web-1.internal:8443",
    });
  }

  it("C61 C60 finds in TypeScript what it says", async () => {
    const [program = ""] = await programsIn("guide.md#Lookups", "ts");
    await writeProgram(project, program);
    await finds();
  });

  it("C61 C60 finds in Python what it says", async function () {
    if ((await missing("python")) || (await missing("go"))) this.skip();
    const sdks = await generateSdks(path.join(repository, "plugin", "schema.json"));
    const [program = ""] = await programsIn("guide.md#Lookups", "python");
    const plugin = path.join(repository, "plugin", "dist");
    Object.assign(project.env, await programs.python(project.folder, program, { sdks, plugin }));
    await finds();
  });
});

describe("the program of README.md", () => {
  it("C88 deploys a site that not everyone reaches, and a rename replaces nothing", async () => {
    const project = await Project.create({}, { PULUMI_NODEJS_TRANSPILE_ONLY: undefined });
    try {
      const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
      await project.certificate("certificate", leaf);
      const [program = ""] = await programsIn("../README.md", "ts");
      await writeProgram(project, program);
      assert.deepEqual((await project.up()).changes, { create: 4 });
      const [edge] = project.emulator.tlsEdges.list();
      assert.equal(edge?.ip_restriction?.enabled, true);
      const alias = /\{ aliases: .*?\] \}/.exec(
        (await programsIn("guide.md#Rename a resource", "ts"))[0] ?? "",
      );
      const renamed = program.replace('"app"', '"shop"').replace(/^\}\);/m, `}, ${alias?.[0]});`);
      await writeProgram(project, renamed);
      assert.deepEqual((await project.up()).changes, { same: 2, update: 2 });
    } finally {
      await project.close();
    }
  });
});

/** A transform of the guide with the site that it shows as a comment, as a whole program. */
const movers = {
  python: (transform: string) => `
import pulumi
import pulumi_tlsedge as tlsedge
${transform.replace(/^# (.*?), …/m, '$1, hostports=["app.example.com:443"], chain_file="fullchain.pem", key_file="privkey.pem", backend_id="bkdtg_1", access={"public": True}')}`,
  go: (transform: string) => `package main

import (
	"context"
	"strings"

	"github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
${transform.replace(
  /^\/\/ (.*?) …/m,
  `_, err := $1 &tlsedge.TLSSiteArgs{
		Hostports: pulumi.StringArray{pulumi.String("app.example.com:443")},
		ChainFile: pulumi.StringRef("fullchain.pem"),
		KeyFile:   pulumi.StringRef("privkey.pem"),
		BackendId: pulumi.String("bkdtg_1"),
		Access:    &tlsedge.TLSSiteAccessArgs{Public: pulumi.BoolRef(true)},
	}`,
)}
		return err
	})
}
`,
};

describe("the site of docs/guide.md", () => {
  for (const language of ["python", "go"] as const) {
    it(`C37 takes over an edge and a certificate in ${language}: nothing is replaced`, async function () {
      if ((await missing(language)) || (await missing("go"))) this.skip();
      const sdks = await generateSdks(path.join(repository, "plugin", "schema.json"));
      const project = await Project.create({}, {}, "plugin");
      try {
        await project.certificate(".", { commonName: "app.example.com" });
        await project.program(`
          const read = (file) => readFileSync(file, "utf8");
          const texts = { certificatePem: read("fullchain.pem"), privateKeyPem: read("privkey.pem") };
          new tlsedge.TLSCertificate("cert", texts);
          new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] });`);
        await project.up();
        const [transform = ""] = await programsIn("guide.md#Move resources into a site", language);
        const plugin = path.join(repository, "plugin", "dist");
        const text = movers[language](transform);
        Object.assign(
          project.env,
          await programs[language](project.folder, text, { sdks, plugin }),
        );
        assert.deepEqual((await project.up()).changes, { same: 1, update: 2, create: 1 });
      } finally {
        await project.close();
      }
    });
  }

  it("C37 takes over an edge and a certificate: nothing is replaced", async () => {
    const project = await Project.create({}, { PULUMI_NODEJS_TRANSPILE_ONLY: undefined });
    try {
      const made = await makeCertificate({ commonName: "app.example.com" });
      await project.file("fullchain.pem", made.certificatePem);
      await project.file("privkey.pem", made.privateKeyPem);
      await project.program(`
        const read = (file) => require("node:fs").readFileSync(file, "utf8");
        const certificatePem = read("fullchain.pem");
        new tlsedge.TLSCertificate("cert", { certificatePem, privateKeyPem: read("privkey.pem") });
        new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] });`);
      await project.up();
      const [program = ""] = await programsIn("guide.md#Move resources into a site", "ts");
      await writeProgram(project, program);
      assert.deepEqual((await project.up()).changes, { same: 1, update: 2, create: 1 });
      await writeProgram(project, program.replace(/transforms: .*\],\n/s, ""));
      assert.deepEqual((await project.up()).changes, { same: 4 });
    } finally {
      await project.close();
    }
  });
});

describe("the unit tests of docs/guide.md", () => {
  it("C63 has a test in TypeScript that passes as it stands, and fails of another program", async () => {
    const [program = "", test = "", check = ""] = await programsIn("guide.md#Unit tests", "ts");
    const folder = newFolder();
    await linkModules(folder);
    const tsconfig = JSON.parse(await readFile(template, "utf8"));
    tsconfig.compilerOptions.types.push("mocha");
    await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
    await writeFile(path.join(folder, "index.test.ts"), test);
    await writeFile(path.join(folder, "arguments.test.ts"), check);
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const mocha = [require.resolve("mocha/bin/mocha.js"), "--require", "ts-node/register"];
    const passes = async (text: string, file = "index.test.ts") => {
      await writeFile(path.join(folder, "index.ts"), text);
      return run(process.execPath, [...mocha, file], { cwd: folder, env });
    };
    assert.match((await passes(program)).stdout, /1 passing/);
    await assert.rejects(passes(program.replace("app.example.com:443", "app.example.com:8443")));
    // Its certificate is none.
    const told = { stdout: /'app: certificatePem: .*\n.*'app: privateKeyPem: / };
    await assert.rejects(passes(program, "arguments.test.ts"), told);
    assert.match((await passes("", "arguments.test.ts")).stdout, /1 passing/);
  });
});
