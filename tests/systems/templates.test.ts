// `pulumi new` with each template of a site, and the deployment of what it makes.
import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";
import ours from "../../package.json";
import schema from "../../plugin/schema.json";
import type { Project } from "../../tools/engine";
import { newFolder } from "../../tools/folders";
import { missing, writeSdks } from "../../tools/languages";
import { goEnv } from "../../tools/pulumi";
import { gitUrl, pack, packPlugin, pluginArchive, serveFolder } from "../../tools/tarball";
import { recipes as folder, recipe, runGitLab, runJob, type Workflow } from "./ci";
import { startWith } from "./examples";

/** Runs `pulumi new`, and puts the certificate where its answers say. */
async function create(project: Project, folder: string, ...more: string[]) {
  const answers = ["domain=shop.example.com", "backendId=bkdtg_2shop", "owner=web", ...more];
  const flags = answers.flatMap((answer) => ["--config", answer]);
  const made = await project.pulumi("new", folder, "--yes", "--name", "shop", ...flags);
  const leaf = { commonName: "shop.example.com", dnsNames: ["shop.example.com"] };
  return { ...made, ...(await project.certificate("certificate", leaf)) };
}

/** The site that the answers describe. */
async function isDeployed(project: Project): Promise<void> {
  const [edge] = project.emulator.tlsEdges.list();
  assert.deepEqual(edge?.hostports, ["shop.example.com:443"]);
  const policies = [edge?.ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
  assert.deepEqual(policies, ["ipp_2office", "ipp_2home"]);
  assert.equal(JSON.parse(edge?.metadata ?? "{}").owner, "web");
  assert.equal(await project.output("url"), "https://shop.example.com");
  assert.equal(await project.output("edgeId"), edge?.id);
}

/** Runs a recipe of docs/emulator.md in the folder of a project: its emulator is not the project's. */
async function playRecipe(project: Project, file: string, command: string): Promise<void> {
  await cp(path.join(folder, file), path.join(project.folder, file));
  const own = path.join(project.folder, `Pulumi.${project.stack}.yaml`);
  const { config } = parse(await readFile(own, "utf8"));
  const program = Object.entries(config).filter(([name]) => !name.startsWith("tlsedge:"));
  await project.file("Pulumi.test.yaml", stringify({ config: Object.fromEntries(program) }));
  const before = project.emulator.requests.length;
  const { code, output } = await project.start(["-ec", command], "sh").done;
  assert.equal(code, 0, output);
  assert.equal(project.emulator.requests.length, before);
}

describe("the template site, from an empty folder", () => {
  let project: Project;
  afterEach(() => project?.close());

  it("C25 is deployed with this package installed from its repository", async () => {
    const { url } = ours.repository;
    // The template's settings, and its own compiler, must do.
    const none = ["TLSEDGE_BASE_URL", "TLSEDGE_API_KEY", "PULUMI_NODEJS_TRANSPILE_ONLY"];
    const env = Object.fromEntries(none.map((name) => [name, undefined]));
    const started = await startWith("site", "package.json", url, await gitUrl(), env);
    project = started.project;
    const { emulator } = project;
    const answers = ["access=ipp_2office,", `tlsedge:baseUrl=${emulator.url}`];
    const made = await create(project, started.folder, ...answers);
    assert.equal(made.code, 0, made.output);
    await project.setSecret("tlsedge:apiKey", emulator.apiKey);
    assert.match((await project.fails("preview")).output, /access must be anyone, or ids of IP/);
    await project.succeedsQuietly("config", "set", "access", "ipp_2office, ipp_2home");
    assert.equal((await project.up()).changes.create, 4);
    await isDeployed(project);
    const install = `npm install --save-dev vitest ${await pack("emulator")}`;
    await playRecipe(project, "emulator.test.ts", `${install} && npx vitest run`);
    // The same certificate, from config.
    await project.succeedsQuietly("config", "rm", "certificateFolder");
    await project.setSecret("certificatePem", made.certificatePem);
    await project.setSecret("privateKeyPem", made.privateKeyPem);
    const second = await project.up();
    assert.deepEqual([second.changes, second.requests], [{ same: 4 }, []]);
  });
});

describe("the template site of a release", () => {
  let project: Project;
  let server: Awaited<ReturnType<typeof serveFolder>>;
  before(async () => {
    server = await serveFolder(await packPlugin());
  });
  after(() => server?.close());
  afterEach(() => project?.close());

  /** Generates the SDK of a release whose archives are on that server. */
  async function sdk(language: string): Promise<string> {
    const file = path.join(newFolder(), "schema.json");
    await writeFile(file, JSON.stringify({ ...schema, pluginDownloadURL: server.url }));
    return path.join(await writeSdks(file), language);
  }

  const { version } = ours;
  const module = `${path.dirname(schema.language.go.importBasePath)} v${version}\n`;
  const wheel = `${schema.repository}/releases/download/v${version}/pulumi_tlsedge-${version}-py3-none-any.whl`;
  /** Of each language: the file that names the release, how, and what stands for that here. */
  const releases = {
    yaml: ["sdks/tlsedge.yaml", schema.pluginDownloadURL, async () => server.url],
    python: ["requirements.txt", wheel, async () => `file://${await sdk("python")}`],
    go: [
      "go.mod",
      `require (\n\t${module}`,
      async () => `replace ${module.split(" ")[0]} => ${await sdk("go")}\n\nrequire (\n\t${module}`,
    ],
  } as const;

  async function start(language: keyof typeof releases, access: string): Promise<void> {
    server.requested.length = 0;
    const [file, published, here] = releases[language];
    // Else Pulumi's registry is asked before, again and again where there is no network.
    const env = goEnv({ PULUMI_DISABLE_REGISTRY_RESOLVE: "true" });
    const started = await startWith(`site-${language}`, file, published, await here(), env);
    project = started.project;
    // The host for Python that can be built here installs into the project's own folder.
    project.env.PATH = [path.join(project.folder, "bin"), project.env.PATH].join(path.delimiter);
    const { code, output } = await create(project, started.folder, access);
    // Pulumi's SDK for Go names a plugin of Pulumi's, which a machine without network can't have.
    if (!/pulumi-resource-cloud-sdk/.test(output)) assert.equal(code, 0, output);
  }

  async function isDeployedOnce(): Promise<void> {
    await isDeployed(project);
    assert.deepEqual(server.requested.splice(0), [`/${pluginArchive}`]);
  }

  /** The command that runs the recipe of docs/emulator.md. */
  const recipes: Record<"python" | "go", [file: string, command: string]> = {
    python: [
      "test_emulator.py",
      "python3 -m pip install --quiet pytest && python3 -m pytest -q test_emulator.py",
    ],
    go: ["emulator_test.go", "go mod tidy && go test ./..."],
  };

  for (const language of ["python", "go"] as const) {
    it(`C25 C88 is deployed in ${language}, with the plugin that its SDK names`, async function () {
      if ((await missing(language)) || (await missing("go"))) this.skip();
      await start(language, "access=ipp_2office, ipp_2home");
      assert.equal((await project.up()).changes.create, 4);
      await isDeployedOnce();
      const second = await project.up();
      assert.deepEqual([second.changes, second.requests], [{ same: 4 }, []]);
      await playRecipe(project, ...recipes[language]);
    });
  }

  it("C25 C88 is deployed in YAML by the recipe for CI, which downloads the plugin once", async function () {
    if (await missing("yaml")) this.skip();
    await start("yaml", 'access={"ipPolicyIds": ["ipp_2office", "ipp_2home"]}');
    const workflow: Workflow = await recipe("github-actions-plugin.yml");
    const gitHub = (id: string) => runJob(project, workflow, id, "dev");
    const gitLab = (id: string) => runGitLab(project, "gitlab-ci-plugin.yml", id, "dev");
    /** Neither system's job writes. */
    const ends = async (id: string, passes: boolean, printed: RegExp) => {
      for (const ran of [await gitHub(id), await gitLab(id)]) {
        assert.deepEqual([ran.code === 0, ran.writes], [passes, []], ran.output);
        assert.match(ran.output, printed);
      }
    };
    server.requested.length = 0;
    await ends("preview", true, /shop\.example\.com/);
    const { code, output, writes } = await gitHub("up");
    assert.deepEqual([code, writes], [0, ["POST", "POST"]], output);
    await isDeployedOnce();
    assert.deepEqual((await gitLab("dev")).writes, []);
    await ends("check", true, /4 unchanged/);
    await ends("account", true, /(?:)/);
    const [edge] = project.emulator.tlsEdges.list();
    project.emulator.tlsEdges.patch(edge?.id ?? "", {
      tls_termination: { terminate_at: "edge", min_version: "1.0" },
    });
    await ends("check", false, /minVersion/);
    await ends("account", false, /(?:)/);
    const program = await readFile(path.join(project.folder, "Pulumi.yaml"), "utf8");
    await project.file(
      "Pulumi.yaml",
      program.replace("backendId: $", 'minVersion: "1.1"\n      $&'),
    );
    await ends("preview", false, /mandatory.* edge-tls-version/);
    assert.deepEqual(server.requested, []);
  });
});
