import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import ours from "../../package.json";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { gitUrl, quickNpm, sh } from "../../tools/tarball";

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
    const [edge] = edges(project);
    assert.deepEqual(edge?.hostports, ["shop.example.com:443"]);
    const policies = [edge?.ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
    assert.deepEqual(policies, ["ipp_2office", "ipp_2home"]);
    assert.equal(JSON.parse(edge?.metadata ?? "{}").owner, "web");
    assert.equal(await project.output("url"), "https://shop.example.com");
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
