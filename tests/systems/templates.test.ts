import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import ours from "../../package.json";
import schema from "../../plugin/schema.json";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { missing, writeSdks } from "../../tools/languages";
import { goEnv } from "../../tools/pulumi";
import { gitUrl, packPlugin, pluginArchive, quickNpm, serveFolder, sh } from "../../tools/tarball";

/** A project in an empty folder: the state, and what else commands need, is in another one. */
function emptyProject(env: NodeJS.ProcessEnv = {}): Promise<Project> {
  return Project.in(newFolder(), {}, { ...quickNpm, ...env }, newFolder());
}

/** Runs `pulumi new` with a template whose package npm installs from another URL. */
async function create(project: Project, template: string, url: string, ...flags: string[]) {
  const folder = newFolder();
  await cp(path.join(repository, "templates", template), folder, { recursive: true });
  const manifest = path.join(folder, "package.json");
  const { dependencies, ...rest } = JSON.parse(await readFile(manifest, "utf8"));
  assert.equal(dependencies["pulumi-tlsedge"], ours.repository.url);
  dependencies["pulumi-tlsedge"] = url;
  await writeFile(manifest, JSON.stringify({ ...rest, dependencies }));
  return project.pulumi("new", folder, "--yes", "--name", "shop", ...flags);
}

const typeCheck = ({ folder }: Project) => sh("node_modules/.bin/tsc --noEmit", folder);
const text = ({ folder }: Project, name: string) => readFile(path.join(folder, name), "utf8");
const edges = ({ emulator }: Project) => emulator.tlsEdges.list();

/** The site that the answers of these tests describe, in each language. */
async function isDeployed(project: Project): Promise<void> {
  const [edge] = edges(project);
  assert.deepEqual(edge?.hostports, ["shop.example.com:443"]);
  const policies = [edge?.ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
  assert.deepEqual(policies, ["ipp_2office", "ipp_2home"]);
  assert.equal(JSON.parse(edge?.metadata ?? "{}").owner, "web");
  assert.equal(await project.output("url"), "https://shop.example.com");
  assert.equal(await project.output("edgeId"), edge?.id);
}

describe("the template site, from an empty folder", () => {
  let project: Project;
  afterEach(() => project?.close());

  it("C25 is deployed with this package installed from its repository", async () => {
    project = await emptyProject({
      // The template's settings, and its own compiler, must do.
      TLSEDGE_BASE_URL: undefined,
      TLSEDGE_API_KEY: undefined,
      PULUMI_NODEJS_TRANSPILE_ONLY: undefined,
    });
    const answers = [
      `tlsedge:baseUrl=${project.emulator.url}`,
      "domain=shop.example.com",
      "backendId=bkdtg_2shop",
      "access=ipp_2office, ipp_2home",
      "owner=web",
    ].flatMap((answer) => ["--config", answer]);
    const { code, output } = await create(project, "site", await gitUrl(), ...answers);
    assert.equal(code, 0, output);
    await typeCheck(project);
    await project.setSecret("tlsedge:apiKey", project.emulator.apiKey);
    for (const access of ["public", "ipp_2office,"]) {
      await project.succeedsQuietly("config", "set", "access", access);
      assert.match((await project.fails("preview")).output, /access must be anyone, or ids of IP/);
    }
    await project.succeedsQuietly("config", "set", "access", "ipp_2office, ipp_2home");
    const leaf = { commonName: "shop.example.com", dnsNames: ["shop.example.com"] };
    const made = await project.certificate("certificate", leaf);
    assert.equal((await project.up()).changes.create, 4);
    await isDeployed(project);
    // The same certificate, from config.
    await project.succeedsQuietly("config", "rm", "certificateFolder");
    await project.setSecret("certificatePem", made.certificatePem);
    await project.setSecret("privateKeyPem", made.privateKeyPem);
    const second = await project.up();
    assert.deepEqual([second.changes, second.requests], [{ same: 4 }, []]);
  });

  it("is complete but for its modules if npm does not find this package", async () => {
    project = await emptyProject();
    const nowhere = `git+file://${newFolder()}`;
    const answer = "domain=shop.example.com";
    const { code, output } = await create(project, "site", nowhere, "--config", answer);
    assert.notEqual(code, 0);
    assert.match(output, /installing dependencies failed/);
    assert.match(await text(project, "Pulumi.dev.yaml"), /shop:domain: shop\.example\.com/);
    assert.equal(JSON.parse(await text(project, "package.json")).name, "shop");
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

  const module = path.dirname(schema.language.go.importBasePath);
  const files = `${schema.repository}/releases/download/v${ours.version}`;
  /** Of each language: the file that names the release, how, and what stands for that here. */
  const releases = {
    yaml: {
      file: "sdks/tlsedge.yaml",
      named: `version: ${ours.version}\ndownloadUrl: ${schema.pluginDownloadURL}\n`,
      here: () => `version: ${ours.version}\ndownloadUrl: ${server.url}\n`,
    },
    python: {
      file: "requirements.txt",
      named: `${files}/pulumi_tlsedge-${ours.version}-py3-none-any.whl\n`,
      here: async () => `file://${await sdk("python")}\n`,
    },
    go: {
      file: "go.mod",
      named: `require (\n\t${module} v${ours.version}\n`,
      here: async () =>
        `replace ${module} => ${await sdk("go")}\n\nrequire (\n\t${module} v${ours.version}\n`,
    },
  };

  async function start(language: keyof typeof releases, access: string): Promise<void> {
    project = await emptyProject();
    const { env, folder } = project;
    // The host for Python that can be built here installs into the project's own folder.
    const PATH = [path.join(folder, "bin"), env.PATH].join(path.delimiter);
    // Else Pulumi's registry is asked before, again and again where there is no network.
    Object.assign(env, goEnv(env), { PATH, PULUMI_DISABLE_REGISTRY_RESOLVE: "true" });
    const template = newFolder();
    await cp(path.join(repository, "templates", `site-${language}`), template, { recursive: true });
    const { file, named, here } = releases[language];
    const text = await readFile(path.join(template, file), "utf8");
    assert.ok(text.includes(named), text);
    await writeFile(path.join(template, file), text.replace(named, await here()));
    const answers = ["domain=shop.example.com", "backendId=bkdtg_2shop", access, "owner=web"];
    const flags = answers.flatMap((answer) => ["--config", answer]);
    const args = ["new", template, "--yes", "--name", "shop", ...flags];
    const { code, output } = await project.pulumi(...args);
    // Pulumi's SDK for Go names a plugin of Pulumi's, which a machine without network can't have.
    if (!/pulumi-resource-cloud-sdk/.test(output)) assert.equal(code, 0, output);
    const leaf = { commonName: "shop.example.com", dnsNames: ["shop.example.com"] };
    await project.certificate("certificate", leaf);
  }

  async function isDeployedOnce(): Promise<void> {
    await isDeployed(project);
    assert.deepEqual(server.requested.splice(0), [`/${pluginArchive}`]);
  }

  for (const language of ["python", "go"] as const) {
    it(`C25 C88 is deployed in ${language}, with the plugin that its SDK names`, async function () {
      if ((await missing(language)) || (await missing("go"))) this.skip();
      await start(language, "access=ipp_2office, ipp_2home");
      assert.equal((await project.up()).changes.create, 4);
      await isDeployedOnce();
      const second = await project.up();
      assert.deepEqual([second.changes, second.requests], [{ same: 4 }, []]);
    });
  }

  it("C25 C88 is deployed in YAML by the recipe for CI, which downloads the plugin once", async function () {
    if (await missing("yaml")) this.skip();
    await start("yaml", "ipPolicyIds=ipp_2office,ipp_2home");
    const recipe = path.join(repository, "docs", "recipes", "github-actions-plugin.yml");
    const { jobs } = parse(await readFile(recipe, "utf8"));
    const run = async (id: "preview" | "up") => {
      const before = project.emulator.requests.length;
      const scripts = jobs[id].steps.flatMap(({ run }: { run?: string }) => run ?? []).join("\n");
      const args = [`STACK=${project.stack}`, "bash", "-e", "-c", scripts];
      const { code, output } = await project.start(args, "env").done;
      assert.equal(code, 0, output);
      return project.emulator.requests.slice(before).map(({ method }) => method);
    };
    assert.ok(!(await run("preview")).includes("POST"));
    assert.equal((await run("up")).filter((method) => method === "POST").length, 2);
    await isDeployedOnce();
    assert.deepEqual([await run("up"), server.requested], [[], []]);
  });
});
