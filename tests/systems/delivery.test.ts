import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { version } from "../../package.json";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { missing, programs } from "../../tools/languages";
import { descendants, left, until } from "../../tools/processes";
import { findOrBuildPulumi, run } from "../../tools/pulumi";
import { schemaFile } from "../../tools/schema";
import { packPlugin, pluginArchive, serveFolder, sh } from "../../tools/tarball";

const launcher = "pulumi-resource-tlsedge";
const policies = "pulumi-analyzer-tlsedge";

describe("the schema of the plugin", () => {
  it("C86: Pulumi accepts the schema", async () => {
    const { command, env } = await findOrBuildPulumi();
    const home = { ...env, PULUMI_HOME: newFolder() };
    await run(command, ["schema", "check", schemaFile], { env: home });
  });
});

describe("the delivery of the plugin", () => {
  let archives: string;
  let project: Project;
  let server: Awaited<ReturnType<typeof serveFolder>>;

  before(async () => {
    archives = await packPlugin();
    server = await serveFolder(archives);
  });
  after(() => server.close());

  it("an archive has the same bytes, whatever umask, time and language a person has", async () => {
    const folder = newFolder();
    const make = async (name: string, umask: number, locale: string) => {
      const before = process.umask(umask);
      try {
        const from = path.join(folder, `from ${name}`);
        mkdirSync(from);
        for (const file of ["a", "B"]) {
          writeFileSync(path.join(from, file), file, { mode: 0o777 });
          utimesSync(path.join(from, file), umask, umask);
        }
        const env = { ...process.env, LC_ALL: locale };
        await run("tools/archive.sh", [path.join(folder, name), from], { cwd: repository, env });
      } finally {
        process.umask(before);
      }
      return readFileSync(path.join(folder, name));
    };
    assert.deepEqual(await make("one", 0o022, "C"), await make("other", 0o077, "en_US.UTF-8"));
  });

  it("an archive has the plugin, Node.js, the policies, and the licences of all that it holds", async () => {
    const files = await sh(`tar -tzf ${file()}`, repository);
    const isWindows = process.platform === "win32";
    const node = isWindows ? "node.exe" : "node";
    const licenses = "LICENSES-THIRD-PARTY.txt";
    const bundles = ["commands.js", "components.js", "emulator.js", node, "package.json"];
    const profiles = ["", "baseline.json", "production.json"].map((name) => `profiles/${name}`);
    const ends = isWindows ? ["", ".cmd", ".js"] : ["", ".js"];
    const launched = [policies, launcher].flatMap((name) => ends.map((end) => name + end));
    const expected = ["LICENSE", licenses, ...bundles, ...profiles, ...launched];
    assert.deepEqual(files.trim().split("\n").sort(), expected);
    const text = await sh(`tar -xzOf ${file()} ${licenses}`, repository);
    for (const name of ["@grpc/grpc-js", "@pulumi/pulumi", "axios", "hono"])
      assert.match(text, new RegExp(`^${name} \\d\\S+ \\((MIT|Apache-2.0)\\)$`, "m"));
    assert.match(text, /^Node\.js 22\.\S+$/m);
    assert.match(text, /^Node\.js is licensed for use as follows:$/m);
    assert.doesNotMatch(text, /^typescript /m);
  });

  // A home of its own: a plugin that is installed is not installed again.
  const renew = async () => {
    project = await Project.create();
  };
  const close = () => project.close();

  const file = () => path.join(archives, pluginArchive);
  const install = (...args: string[]) =>
    project.start(["plugin", "install", "resource", "tlsedge", version, ...args]).done;

  describe("from a file", () => {
    before(renew);
    after(close);

    it("C87: the plugin is installed from a file", async () => {
      assert.equal((await install("--file", file())).code, 0);
      // The engine finds it by itself.
      await project.program(
        'new tlsedge.TLSEdge("edge", { hostports: ["a.example:443"] });',
        `const tlsedge = require(${JSON.stringify(require.resolve("../../tools/pluginSdk.cjs"))});`,
      );
      const { requests } = await project.up();
      assert.deepEqual(requests, ["GET /edges/tls?limit=100", "POST /edges/tls"]);
    });

    it("C87: an archive needs no Node.js on PATH", async () => {
      // Unlike an update, a refresh runs no program: it needs no Node.js of its own.
      project.env.PATH = newFolder();
      await project.refresh();
    });

    it("C87: an archive has the emulator, which ends with Pulumi", async () => {
      const settings = path.join(project.folder, "service.env");
      const command = ["plugin", "run", "--kind", "resource", "tlsedge", "--", "emulator"];
      const { pid, done } = project.start([...command, "--write-env", settings]);
      await until(() => existsSync(settings), done);
      const started = descendants(pid);
      assert.match(started[0]?.command ?? "", /emulator/);
      process.kill(pid, "SIGINT");
      await done;
      await until(() => left(started).length === 0, new Promise(() => {}));
    });

    it("C70 C87: an archive has the policies, which stop an update without Node.js on PATH", async function () {
      const isOld = project.cli.version.localeCompare("3.255.0", undefined, { numeric: true }) < 0;
      if (isOld || (await missing("yaml"))) this.skip();
      const { PULUMI_HOME = "" } = project.env;
      const archive = path.join(PULUMI_HOME, "plugins", `resource-tlsedge-v${version}`);
      const pack = ["--policy-pack", path.join(archive, policies)];
      const config = path.join(archive, "profiles", "production.json");
      await programs.yaml(
        project.folder,
        "resources: { edge: { type: tlsedge:TLSEdge, properties: { tlsTermination: { minVersion: '1.0' } } } }",
      );
      const how = ["--yes", "--skip-preview", ...pack, "--policy-pack-config", config];
      const { output, writes } = await project.fails("up", ...how);
      assert.match(output, /tlsedge@v.*mandatory.* edge-access /s);
      assert.deepEqual(writes, []);
    });
  });

  it("C87: the plugin is installed from a server of one's own", async () => {
    await renew();
    try {
      // Else Pulumi's registry is asked before, again and again where there is no network.
      project.env.PULUMI_DISABLE_REGISTRY_RESOLVE = "true";
      assert.equal((await install("--server", `${server.url}/plugins`)).code, 0);
      assert.deepEqual(server.requested, [`/plugins/${pluginArchive}`]);
    } finally {
      await close();
    }
  });
});
