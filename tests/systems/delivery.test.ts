import assert from "node:assert/strict";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { version } from "../../package.json";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { findOrBuildPulumi, run } from "../../tools/pulumi";
import { schemaFile } from "../../tools/schema";
import { platform, pluginArchive, serveFolder, sh } from "../../tools/tarball";

const launcher = "pulumi-resource-tlsedge";

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
    archives = newFolder();
    await sh(`tools/pack.sh ${archives} ${platform}`, repository);
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

  it("no archive is made by a tar that fails", async () => {
    const bin = newFolder();
    writeFileSync(path.join(bin, "gtar"), "#!/bin/sh\nexit 2\n", { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const args = [path.join(bin, "archive"), bin];
    await assert.rejects(run("tools/archive.sh", args, { cwd: repository, env }));
  });

  it("an archive has the plugin, Node.js, and the licences of all that it holds", async () => {
    const files = await sh(`tar -tzf ${file()}`, repository);
    const node = process.platform === "win32" ? "node.exe" : "node";
    const programs = [
      "commands.js",
      "components.js",
      node,
      "plugin.js",
      launcher,
      `${launcher}.cmd`,
    ];
    const licenses = "LICENSES-THIRD-PARTY.txt";
    assert.deepEqual(files.trim().split("\n").sort(), ["LICENSE", licenses, ...programs]);
    const text = await sh(`tar -xzOf ${file()} ${licenses}`, repository);
    for (const name of ["@grpc/grpc-js", "@pulumi/pulumi", "axios", "valibot"])
      assert.match(text, new RegExp(`^${name} \\d\\S+ \\((MIT|Apache-2.0)\\)$`, "m"));
    assert.match(text, /^Node\.js 22\.\S+$/m);
    assert.match(text, /^Node\.js is licensed for use as follows:$/m);
    assert.doesNotMatch(text, /^typescript /m);
  });

  /** A home of its own: a plugin that is installed is not installed again. */
  const renew = async () => {
    server.requested.length = 0;
    project = await Project.create();
  };
  const close = () => project.close();

  const file = () => path.join(archives, pluginArchive);
  const install = (...args: string[]) =>
    project.start(["plugin", "install", "resource", "tlsedge", version, ...args]).done;

  const write = (options = "{}") =>
    project.program(
      `new tlsedge.TLSEdge("edge", { hostports: ["a.example:443"] }, ${options});`,
      `const tlsedge = require(${JSON.stringify(require.resolve("../../tools/pluginSdk.cjs"))});`,
    );

  /** The program creates its edge, with the plugin that the engine finds by itself. */
  async function deploys(options?: string): Promise<void> {
    await write(options);
    const { requests } = await project.up();
    assert.deepEqual(requests, ["GET /edges/tls?limit=100", "POST /edges/tls"]);
  }

  describe("from a file", () => {
    before(renew);
    after(close);

    it("C87: the plugin is installed from a file", async () => {
      assert.equal((await install("--file", file())).code, 0);
      await deploys();
    });

    it("C87: an archive needs no Node.js on PATH", async () => {
      // Unlike an update, a refresh runs no program: it needs no Node.js of its own.
      project.env.PATH = newFolder();
      await project.refresh();
    });
  });

  describe("otherwise", () => {
    beforeEach(renew);
    afterEach(close);

    it("C87: the plugin is installed from a server of one's own", async () => {
      // Else Pulumi's registry is asked before, again and again where there is no network.
      project.env.PULUMI_DISABLE_REGISTRY_RESOLVE = "true";
      assert.equal((await install("--server", `${server.url}/plugins`)).code, 0);
      assert.deepEqual(server.requested, [`/plugins/${pluginArchive}`]);
      await deploys();
    });

    it("C87: the engine installs the plugin from the server that a program names", async () => {
      await deploys(`{ version: "${version}", pluginDownloadURL: "${server.url}/below" }`);
      assert.deepEqual(server.requested, [`/below/${pluginArchive}`]);
    });
  });
});
