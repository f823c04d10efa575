// The programs and commands that the documents show, run as a reader copies them.
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { tlsEdges } from "../../client/tlsEdge";
import schema from "../../plugin/schema.json";
import { Project } from "../../tools/engine";
import { linkModules, newFolder, repository } from "../../tools/folders";
import { generateSdks, missing, programs, writeSdks } from "../../tools/languages";
import { findOrBuildPulumi } from "../../tools/pulumi";
import { clientOf, upload } from "../support";
import { examples, programsIn } from "./examples";

const run = promisify(execFile);
const plugin = path.join(repository, "plugin", "dist");
const tsconfig = path.join(repository, "templates", "site", "tsconfig.json");

/** A language, as the documents name it, and what its programs need here. */
const needs = { ts: [], python: ["python", "go"], go: ["go"] } as const;
type Language = keyof typeof needs;

const programIn = async (page: string, language: string) =>
  (await programsIn(page, language))[0] ?? "";

describe("a program of the documents", () => {
  let project: Project;
  afterEach(() => project?.close());

  async function start(test: Mocha.Context, language: Language): Promise<void> {
    for (const need of needs[language]) if (await missing(need)) test.skip();
    const protocol = language === "ts" ? "dynamic" : "plugin";
    project = await Project.create({}, { PULUMI_NODEJS_TRANSPILE_ONLY: undefined }, protocol);
  }

  /** Replaces the program of the project. Of one in TypeScript, the types are checked. */
  async function write(language: Language, text: string): Promise<void> {
    if (language === "ts") {
      await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
      await project.file("package.json", '{ "main": "index.ts" }');
      await cp(tsconfig, path.join(project.folder, "tsconfig.json"));
      return project.file("index.ts", text);
    }
    const sdks = await generateSdks(path.join(repository, "plugin", "schema.json"));
    Object.assign(project.env, await programs[language](project.folder, text, { sdks, plugin }));
  }

  for (const language of ["ts", "python"] as const) {
    it(`C60 C61 docs/guide.md: the lookups find in ${language} what they say`, async function () {
      await start(this, language);
      const client = clientOf(project.emulator);
      const { id } = await tlsEdges.create(client, { hostports: ["app.example.com:443"] });
      const metadata = JSON.stringify({ owner: "web" });
      for (const [commonName, end] of [
        ["web.example.com", "2029-12-31"],
        ["later.example.com", "2030-01-02"],
      ] as const)
        await upload(client, { commonName, notAfter: new Date(end) }, { metadata });
      await write(language, await programIn("guide.md#Lookups", language));
      await project.up();
      assert.deepEqual(JSON.parse(await project.succeedsQuietly("stack", "output", "--json")), {
        edgeId: id,
        names: ["web.example.com"],
        forwardsTo: "https://web-1.internal:8443",
      });
    });
  }

  it("C88 README.md: it deploys a site that not everyone reaches; docs/guide.md: a rename replaces nothing", async function () {
    await start(this, "ts");
    await project.certificate("certificate", { commonName: "app.example.com" });
    const program = await programIn("../README.md", "ts");
    await write("ts", program);
    assert.deepEqual((await project.up()).changes, { create: 4 });
    assert.equal(project.emulator.tlsEdges.list()[0]?.ip_restriction?.enabled, true);
    const renaming = await programIn("guide.md#Rename a resource", "ts");
    const [alias] = /\{ aliases: .*?\] \}/.exec(renaming) ?? [];
    await write("ts", program.replace('"app"', '"shop"').replace(/^\}\);/m, `}, ${alias});`));
    assert.deepEqual((await project.up()).changes, { same: 2, update: 2 });
  });

  it("C88 docs/languages.md: it deploys a site in go", async function () {
    await start(this, "go");
    await project.certificate("certificate", { commonName: "shop.example.com" });
    await write("go", await programIn("languages.md#From nothing to a site", "go"));
    assert.deepEqual((await project.up()).changes, { create: 4 });
  });

  for (const language of ["ts", "python", "go"] as const) {
    it(`C37 docs/guide.md: a site takes over an edge and a certificate in ${language}: nothing is replaced`, async function () {
      await start(this, language);
      const folder = language === "ts" ? "." : "app";
      await project.certificate(folder, { commonName: "app.example.com" });
      await project.program(`
        const read = (file) => readFileSync("${folder}/" + file, "utf8");
        const texts = { certificatePem: read("fullchain.pem"), privateKeyPem: read("privkey.pem") };
        new tlsedge.TLSCertificate("cert", texts);
        new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] });`);
      await project.up();
      const shown = await programIn("guide.md#Move resources into a site", language);
      await project.succeedsQuietly("config", "set", "acceptance:backendId", "bkdtg_1");
      await write(language, language === "ts" ? shown : await withTransform(language, shown));
      assert.deepEqual((await project.up()).changes, { same: 1, update: 2, create: 1 });
    });
  }
});

/** The example of a site with the transform that the guide shows; a comment below it says how a site takes it. */
async function withTransform(language: "python" | "go", transform: string): Promise<string> {
  const [, option] = /…, (.*)\)$/m.exec(transform) ?? [];
  const example = (ending: string) => readFile(path.join(examples, `tlsSite.${ending}`), "utf8");
  if (language === "python")
    return (await example("py"))
      .replace("site =", `${transform}\nsite =`)
      .replace('owner="web")', `owner="web", ${option})`);
  return (await example("go"))
    .replace("import (", 'import (\n\t"context"\n\t"strings"\n')
    .replace("site, err :=", `${transform}\nsite, err :=`)
    .replace("\t\t})\n", `\t\t}, ${option})\n`);
}

/** The commands of docs/languages.md that can't run here as they stand, and what runs in their place. */
const instead = [
  // This repository stands for the clone, as it is built.
  [`git clone ${schema.repository}.git`, "mkdir pulumi-tlsedge"],
  ["npm ci", "true"],
  ["npm run emulator -- --", `exec node ${repository}/emulator/dist/main.js --`],
  ["npm run emulator --", `node ${repository}/emulator/dist/main.js`],
  // The language hosts that can be built from modules lack GeneratePackage, and read no `virtualenv`.
  [
    `pulumi package add ${schema.repository}/plugin`,
    "python3 -m venv venv; . venv/bin/activate; pip install --quiet --requirement requirements.txt",
  ],
  ["go mod tidy", "true"],
  // It asks whether to go on.
  ["pulumi up", "pulumi up --yes --skip-preview"],
] as const;
const here = (commands: string) =>
  instead.reduce((text, [own, other]) => text.replace(own, other), commands);

describe("the commands of docs/languages.md", () => {
  let emulator: ChildProcess | undefined;
  afterEach(async () => {
    if (emulator?.kill()) await once(emulator, "exit");
  });

  it("C88 C89 deploy a site from nothing, in python", async function () {
    for (const need of needs.python) if (await missing(need)) this.skip();
    const walk = "languages.md#From nothing to a site";
    const root = newFolder();
    const shop = path.join(root, "shop");
    const env = { ...(await findOrBuildPulumi()).env, PULUMI_HOME: newFolder() };
    const [service = "", deploy = ""] = (await programsIn(walk, "sh")).map(here);

    // The first terminal.
    emulator = spawn("bash", ["-e", "-c", service], { cwd: root, env });
    const ended = once(emulator, "exit").then(() => assert.fail("the emulator has ended"));
    while (!existsSync(path.join(shop, "service.env")))
      await Promise.race([once(emulator.stdout as Readable, "data"), ended]);

    // The three files, and what `pulumi package add` writes.
    const plugins = `plugins: { providers: [{ name: tlsedge, path: ${plugin} }] }\n`;
    const requirements = "pulumi\n./sdks/tlsedge\n";
    await writeFile(path.join(shop, "Pulumi.yaml"), (await programIn(walk, "yaml")) + plugins);
    await writeFile(path.join(shop, "__main__.py"), await programIn(walk, "python"));
    await writeFile(path.join(shop, "requirements.txt"), requirements);
    // Pulumi calls the package of a repository after its owner, unless the schema names it.
    const file = path.join(newFolder(), "schema.json");
    await writeFile(file, JSON.stringify({ ...schema, namespace: schema.publisher }));
    const sdk = path.join(await writeSdks(file), "python");
    await cp(sdk, path.join(shop, "sdks", "tlsedge"), { recursive: true });

    // The second terminal.
    const commands = `${deploy}\npulumi stack output expires`;
    const { stdout } = await run("bash", ["-e", "-c", commands], { cwd: shop, env }).catch(
      ({ stdout, stderr }) => assert.fail(stdout + stderr),
    );
    assert.ok(Date.parse(stdout.trim().split("\n").at(-1) ?? "") > Date.now(), stdout);
  });
});

describe("the unit tests of docs/guide.md", () => {
  it("C63 pass as they stand, and fail of another program", async () => {
    const [program = "", test = "", check = ""] = await programsIn("guide.md#Unit tests", "ts");
    const folder = newFolder();
    await linkModules(folder);
    const config = JSON.parse(await readFile(tsconfig, "utf8"));
    config.compilerOptions.types.push("mocha");
    await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(config));
    await writeFile(path.join(folder, "index.test.ts"), test);
    await writeFile(path.join(folder, "arguments.test.ts"), check);
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const mocha = [require.resolve("mocha/bin/mocha.js"), "--require", "ts-node/register"];
    const passes = async (text: string, file = "index.test.ts") => {
      await writeFile(path.join(folder, "index.ts"), text);
      return run(process.execPath, [...mocha, file], { cwd: folder, env });
    };
    await passes(program);
    await assert.rejects(passes(program.replace("app.example.com:443", "app.example.com:8443")));
    // Its certificate is none.
    const told = { stdout: /'app: certificatePem: .*\n.*'app: privateKeyPem: / };
    await assert.rejects(passes(program, "arguments.test.ts"), told);
    await passes("", "arguments.test.ts");
  });
});
