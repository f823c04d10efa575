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
import { examples, programsIn, recipes } from "./examples";

const run = promisify(execFile);
const plugin = path.join(repository, "plugin", "dist");
const tsconfig = path.join(repository, "templates", "site", "tsconfig.json");

/** A language, as the documents name it, and what its programs need here. */
const needs = { ts: [], python: ["python", "go"], go: ["go"], yaml: ["yaml"] } as const;
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
    if (language === "yaml") return void (await programs.yaml(project.folder, text, { plugin }));
    const sdks = await generateSdks(path.join(repository, "plugin", "schema.json"));
    Object.assign(project.env, await programs[language](project.folder, text, { sdks, plugin }));
  }

  for (const language of ["ts", "python", "yaml"] as const) {
    it(`docs/guide.md: the two classes deploy in ${language}`, async function () {
      await start(this, language);
      const made = await project.certificate("certs", { commonName: "app.example.com" });
      await project.setSecret("acceptance:appChain", made.certificatePem);
      await project.setSecret("acceptance:appKey", made.privateKeyPem);
      await write(language, await programIn("guide.md#The two classes", language));
      assert.deepEqual((await project.up()).writes.toSorted(), [
        "POST /edges/tls",
        "POST /tls_certificates",
      ]);
    });

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
    const guide = await readFile(path.join(repository, "docs", "guide.md"), "utf8");
    const [alias] = /(?<=TypeScript \| `)\{ aliases: .*?\] \}/.exec(guide) ?? [];
    await write("ts", program.replace('"app"', '"shop"').replace(/^\}\);/m, `}, ${alias});`));
    assert.deepEqual((await project.up()).changes, { same: 2, update: 2 });
  });

  for (const language of ["ts", "python", "go"] as const) {
    it(`C37 docs/guide.md: a site takes over an edge and a certificate in ${language}: nothing is replaced`, async function () {
      await start(this, language);
      const folder = language === "ts" ? "certificate" : "app";
      await project.certificate(folder, { commonName: "app.example.com" });
      await project.program(`
        const read = (file) => readFileSync("${folder}/" + file, "utf8");
        const texts = { certificatePem: read("fullchain.pem"), privateKeyPem: read("privkey.pem") };
        new tlsedge.TLSCertificate("cert", texts);
        new tlsedge.TLSEdge("edge", { hostports: ["app.example.com:443"] });`);
      await project.up();
      await project.succeedsQuietly("config", "set", "acceptance:backendId", "bkdtg_1");
      const name = { ts: "takeOver.ts", python: "take_over.py", go: "takeOver.go" }[language];
      await cp(path.join(recipes, name), path.join(project.folder, name));
      await write(language, await withTransform(language));
      assert.deepEqual((await project.up()).changes, { same: 1, update: 2, create: 1 });
    });
  }
});

/** The example of a site, with the recipe's transform. */
async function withTransform(language: "ts" | "python" | "go"): Promise<string> {
  const example = (ending: string) => readFile(path.join(examples, `tlsSite.${ending}`), "utf8");
  if (language === "ts") {
    const program = await programIn("../README.md", "ts");
    return `import { move } from "./takeOver";\n${program.replace(/^\}\);/m, "}, { transforms: [move] });")}`;
  }
  if (language === "python")
    return `from take_over import move\n${await example("py")}`.replace(
      'owner="web")',
      'owner="web", opts=pulumi.ResourceOptions(transforms=[move]))',
    );
  const option = "pulumi.Transforms([]pulumi.ResourceTransform{move})";
  return (await example("go")).replace("\t\t})\n", `\t\t}, ${option})\n`);
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
    await cp(path.join(examples, "tlsSite.py"), path.join(shop, "__main__.py"));
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
    const program = await programIn("guide.md#Unit tests", "ts");
    const folder = newFolder();
    await linkModules(folder);
    const config = JSON.parse(await readFile(tsconfig, "utf8"));
    config.compilerOptions.types.push("mocha");
    await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(config));
    await cp(path.join(recipes, "unit.test.ts"), path.join(folder, "unit.test.ts"));
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const mocha = [require.resolve("mocha/bin/mocha.js"), "--require", "ts-node/register"];
    const passes = async (text: string) => {
      await writeFile(path.join(folder, "index.ts"), text);
      return run(process.execPath, [...mocha, "unit.test.ts"], { cwd: folder, env });
    };
    await passes(program);
    await assert.rejects(passes(program.replace("app.example.com:443", "app.example.com:8443")));
    const wrong = program.replace("hostports:", 'backend: { backendId: "" }, hostports:');
    await assert.rejects(passes(wrong), { stdout: /'app: backend\.backendId/ });
  });
});
