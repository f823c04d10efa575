// What tools/release.sh makes, how release.yml publishes it, and a program in each language that uses it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { version } from "../../package.json";
import schema from "../../plugin/schema.json";
import { linkModules, newFolder, repository } from "../../tools/folders";
import {
  commonJs,
  installPythonSdk,
  isWeekly,
  missing,
  programs,
  writeSdk,
  writeSdks,
} from "../../tools/languages";
import { findOrBuildPulumi, pathFolders } from "../../tools/pulumi";
import { gitUrl, platform, pluginArchive, serveFolder, sh } from "../../tools/tarball";
import { examples, programsIn, recipes, runExamples } from "./examples";

const run = promisify(execFile);
const tag = `v${version}`;
const tarballs = ["", "-emulator", "-policy", "-sdk"].map(
  (name) => `pulumi-tlsedge${name}-${version}.tgz`,
);
const wheel = `pulumi_tlsedge-${version}-py3-none-any.whl`;

type Values = Record<string, string>;
interface Job {
  permissions?: Values;
  steps: { uses?: string; with?: Values; run?: string; env?: Values }[];
}
const workflow = path.join(repository, ".github", "workflows", "release.yml");
const { permissions, jobs }: { permissions: Values; jobs: Record<"pack" | "publish", Job> } = parse(
  readFileSync(workflow, "utf8"),
);

describe("the packages of a release", () => {
  let logo: Awaited<ReturnType<typeof serveFolder>>;
  let sdks: string;
  let released: string;
  let said: string;
  let packed: string;
  let plugin: string;
  const sources: ("dotnet" | "java")[] = [];
  before(async function () {
    if ((await missing("go")) || (await missing("python"))) this.skip();
    for (const language of ["dotnet", "java"] as const)
      if (!(await missing(language))) sources.push(language);
    // The SDK for C# has the logo that the schema names: here one of this machine.
    logo = await serveFolder(path.join(repository, "plugin"));
    const file = path.join(newFolder(), "schema.json");
    await writeFile(file, JSON.stringify({ ...schema, logoUrl: `${logo.url}/logo.png` }));
    sdks = await writeSdks(file);
    for (const language of sources) await writeSdk(file, sdks, language);
    await release();
    packed = path.join(released, "archives");
    plugin = path.join(packed, pluginArchive);
  });
  after(() => logo?.close());

  /** In a clone with an owner, and whose changelog has the section of the version. */
  async function release(): Promise<void> {
    const clone = path.join(newFolder(), "clone");
    await sh(`git clone --quiet ${(await gitUrl()).replace("git+", "")} ${clone}`, repository);
    for (const built of ["", "emulator", "plugin", "policy"].map((each) => path.join(each, "dist")))
      await cp(path.join(repository, built), path.join(clone, built), { recursive: true });
    await linkModules(clone);
    const changelog = path.join(clone, "CHANGELOG.md");
    const text = await readFile(changelog, "utf8");
    await writeFile(changelog, text.replace("## [Unreleased]", `## [${version}]`));
    released = newFolder();
    const command = `tools/release.sh ${released} ${sdks}${isWeekly ? "" : ` ${platform}`}`;
    await assert.rejects(sh(command, clone), /the owner is example-owner/);
    const own = JSON.stringify({ ...schema, publisher: "acme" });
    await writeFile(path.join(clone, "plugin", "schema.json"), own);
    said = await sh(command, clone);
  }

  it("C89 are packed, with their checksums", async () => {
    const archives = [...sources, "go"].map((each) => `pulumi-tlsedge-${each}-${tag}.tar.gz`);
    const names = [...archives, ...tarballs, wheel];
    const found = (await readdir(packed)).sort();
    const others = found.filter((name) => !name.startsWith("pulumi-resource-"));
    assert.deepEqual(others, ["SHA256SUMS", ...names].sort());
    assert.ok(found.includes(pluginArchive));
    const checked = await sh("sha256sum --check SHA256SUMS", packed);
    assert.equal(checked.match(/: OK\n/g)?.length, found.length - 1);
    // Of languages whose host is missing there is none.
    const missing = ["java", "dotnet"].filter((each) => !archives.join().includes(each));
    const warning = missing.length > 0 ? `No SDK was made for: ${missing.join(" ")}` : "";
    assert.equal(/^No SDK was made for.*$/m.exec(said)?.[0] ?? "", warning);
    // Registries show the README of a package.
    const [, , , tarball = ""] = tarballs;
    assert.match(await sh(`tar -xzOf ${tarball} package/README.md`, packed), /^# TLS edges/);
    const folder = newFolder();
    await sh(`python3 -m zipfile -e ${wheel} ${folder}`, packed);
    const metadata = path.join(folder, `pulumi_tlsedge-${version}.dist-info`, "METADATA");
    const described = await readFile(metadata, "utf8");
    assert.match(described, /^# TLS edges/m);
    assert.match(described, /^Classifier: Typing :: Typed$/m);
  });

  it("C89 have the plugin for each platform that Pulumi knows (TLSEDGE_TEST_WEEKLY=1)", async function () {
    if (!isWeekly) this.skip();
    const plugins = ["darwin", "linux", "windows"].flatMap((system) =>
      ["amd64", "arm64"].map((cpu) => `pulumi-resource-tlsedge-${tag}-${system}-${cpu}.tar.gz`),
    );
    const found = (await readdir(packed)).filter((name) => name.startsWith("pulumi-resource-"));
    assert.deepEqual(found.sort(), plugins);
  });

  /** Unpacks the sources of a language; gives the folder. */
  async function unpacked(language: "dotnet" | "go" | "java"): Promise<string> {
    const folder = path.join(newFolder(), language);
    await mkdir(folder);
    const archive = path.join(packed, `pulumi-tlsedge-${language}-${tag}.tar.gz`);
    await sh(`tar -xzf ${archive}`, folder);
    return folder;
  }

  it("C89 compile an example in Go, with the module of the archive in place of the published one", async () => {
    const sdks = path.dirname(await unpacked("go"));
    const text = await readFile(path.join(examples, "tlsSite.go"), "utf8");
    await programs.go(newFolder(), text, { sdks });
  });

  it("C88 C89 run the examples in Java, compiled with the sources", async function () {
    if (!sources.includes("java")) return this.skip();
    const java = path.dirname(await unpacked("java"));
    await runExamples("java", plugin, (at, text) => programs.java(at, text, { sdks: java }));
  });

  it("C89 have the sources for C#, with each resource", async function () {
    if (!sources.includes("dotnet")) return this.skip();
    const folder = await unpacked("dotnet");
    const project = await readFile(path.join(folder, "ExampleOwner.TlsEdge.csproj"), "utf8");
    assert.ok(project.includes(`<Version>${version}</Version>`));
    const files = await readdir(folder);
    for (const token of Object.keys(schema.resources))
      assert.ok(files.includes(`${token.split(":").at(-1)}.cs`), token);
  });

  describe("published by release.yml", () => {
    let origin: string;
    let forge: string;
    beforeEach(async () => {
      origin = (await gitUrl()).replace("git+", "");
      await sh(`git tag ${tag}`, origin.replace("file://", ""));
      forge = newFolder();
    });

    it("C89 come from a job that can't write; the one that can installs nothing", () => {
      const { steps, ...publishing } = jobs.publish;
      assert.deepEqual(
        [permissions, ...Object.values(jobs).map((job) => job.permissions)],
        [{ contents: "read" }, undefined, undefined, publishing.permissions],
      );
      const actions = steps.flatMap(({ uses }) => uses?.match(/^[^@]+/)?.[0] ?? []);
      const allowed = ["checkout", "setup-node", "download-artifact", "attest-build-provenance"];
      assert.deepEqual(actions, [
        ...allowed.map((name) => `actions/${name}`),
        "pypa/gh-action-pypi-publish",
      ]);
      const script = steps.map(({ run = "" }) => run).join("\n");
      const commands = script.match(/\b(npm|npx|pip|pulumi) [a-z-]+/g);
      assert.deepEqual(commands, ["npm view", "npm publish"]);
      assert.match(script, /git -c credential\.helper='!gh auth git-credential' push/);
    });

    it("C89 stay unpublished when GitHub does not list its releases", async () => {
      await assert.rejects(publish("release list"), /gh release list/);
      await assert.rejects(written());
    });

    it("C89 are public only at the end, and once, though the job fails and is run again", async () => {
      await assert.rejects(publish("pulumi-tlsedge-policy"));
      const log = [
        "draft",
        `npm pulumi-tlsedge@${version}`,
        `npm pulumi-tlsedge-emulator@${version}`,
      ];
      assert.deepEqual(await written(), log);
      assert.match(await sh(`git ls-remote ${origin} sdk/go/${tag}`, forge), /refs\/tags/);

      await publish();
      const rest = ["policy", "sdk"].map((name) => `npm pulumi-tlsedge-${name}@${version}`);
      log.push("delete", "draft", ...rest, `pypi ${wheel}`, "public");
      assert.deepEqual(await written(), log);

      // What is public stays as it is.
      await publish();
      assert.deepEqual(await written(), [...log, "public"]);
    });

    const written = async () =>
      (await readFile(path.join(forge, "log"), "utf8")).trim().split("\n");

    const settings = (job: keyof typeof jobs, action: string) =>
      jobs[job].steps.find(({ uses }) => uses?.startsWith(`actions/${action}@`))?.with ?? {};

    /** Copies into a clone what the job that packs hands over. */
    async function handOver(clone: string): Promise<void> {
      const notes = path.join(released, "notes.md");
      const made = { archives: packed, "notes.md": notes, "sdks/go": path.join(sdks, "go") };
      const { path: uploaded = "" } = settings("pack", "upload-artifact");
      const { path: downloaded = "" } = settings("publish", "download-artifact");
      for (const [name, from] of Object.entries(made))
        if (uploaded.split("\n").includes(`release/${name}`))
          await cp(from, path.join(clone, downloaded, name), { recursive: true });
    }

    /** Runs the job in a new clone. A command of gh, or npm's publishing of a package, is refused. */
    async function publish(refused = ""): Promise<void> {
      const clone = path.join(newFolder(), "clone");
      await sh(`git clone --quiet --depth 1 --branch ${tag} ${origin} ${clone}`, forge);
      await handOver(clone);
      const bin = path.join(newFolder(), "bin");
      await mkdir(bin);
      for (const [name, script] of Object.entries({ gh, npm }))
        await writeFile(path.join(bin, name), script, { mode: 0o755 });

      for (const { uses, with: inputs = {}, run: script, env = {} } of jobs.publish.steps) {
        if (uses?.startsWith("pypa/")) await publishToPyPI(clone, inputs);
        if (!script) continue;
        const values = Object.entries(env).map(([name, value]) => [
          name,
          value.replace("${{ github.token }}", "forge-token"),
        ]);
        await run("bash", ["-e", "-c", script], {
          cwd: clone,
          env: {
            PATH: `${bin}:${process.env.PATH}`,
            GITHUB_REF_NAME: tag,
            GIT_TERMINAL_PROMPT: "0",
            FORGE: forge,
            REFUSED: refused,
            ...Object.fromEntries(values),
          },
        });
      }
    }

    /** Stands for the action: PyPI refuses a file that it has, unless the action may skip it. */
    async function publishToPyPI(clone: string, inputs: Record<string, unknown>): Promise<void> {
      for (const file of await readdir(path.join(clone, String(inputs["packages-dir"])))) {
        const line = `pypi ${file}`;
        if ((await written()).includes(line)) assert.equal(inputs["skip-existing"], true);
        else await appendFile(path.join(forge, "log"), `${line}\n`);
      }
    }

    it("C88 C89 run the examples in Go, with the module of that tag", async () => {
      await publish();
      const folder = newFolder();
      const engine = path.join(repository, "tools", "pulumi-cli", "engine");
      // A module that has Pulumi's SDK already, and the sums of what it needs.
      for (const name of ["go.mod", "go.sum"])
        await cp(path.join(engine, name), path.join(folder, name));
      const known = await sh("go env GOMODCACHE GOPROXY", folder);
      const [modules = "", proxy = ""] = known.split("\n");
      // The repository of the URL stands for the real one; its sum is in no public list. A cache of its
      // own: the usual one may have another module of the same version.
      const env = {
        ...process.env,
        GOMODCACHE: path.join(folder, "modules"),
        GOFLAGS: "-modcacherw",
        GOPROXY: `file://${modules}/cache/download,${proxy}`,
        GOPRIVATE: "github.com/example-owner/*",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: `url.${origin}.insteadOf`,
        GIT_CONFIG_VALUE_0: "https://github.com/example-owner/pulumi-tlsedge",
      };
      const name = "github.com/example-owner/pulumi-tlsedge/sdk/go";
      await sh("go mod edit -module=program", folder, env);
      await sh(`go get ${name}/tlsedge@${tag}`, folder, env);
      const found = (await sh(`go list -m -f {{.Dir}} ${name}`, folder, env)).trim();
      assert.ok(found.endsWith(`@${tag}`), found);
      await symlink(found, path.join(folder, "go"));
      await runExamples("go", plugin, (at, text) => programs.go(at, text, { sdks: folder }));
    });
  });

  /** A folder for PATH with the CLI and its language hosts: no Node.js. */
  async function withoutNode(): Promise<string> {
    const bin = newFolder();
    const { command } = await findOrBuildPulumi();
    const folder = path.dirname(await realpath(command));
    const pulumi = (await readdir(folder)).filter((name) => /^pulumi(-language-|$)/.test(name));
    for (const name of pulumi) await symlink(path.join(folder, name), path.join(bin, name));
    return bin;
  }

  it("C86 C87 C88 run the examples in YAML, with no Node.js on PATH", async function () {
    if (await missing("yaml")) this.skip();
    const PATH = await withoutNode();
    await runExamples("yaml", plugin, async (folder, text) => {
      // A project of the tests has another name.
      const program = text.replace(/^name: .*\nruntime: yaml\n/, "");
      await programs.yaml(folder, program);
      return { PATH };
    });
  });

  describe("in Python, with the wheel that pip installs", () => {
    let installed: string;
    before(async () => {
      installed = newFolder();
      await installPythonSdk(path.join(packed, wheel), installed);
    });

    it("C87 C88 C89 run the examples, with no Node.js on PATH", () =>
      runExamples("py", plugin, async (project, text) => {
        const env = await programs.python(project, text, { sdks: installed });
        const [python = ""] = pathFolders(env);
        return { ...env, PATH: [python, await withoutNode()].join(path.delimiter) };
      }));

    it("C63 pass a unit test as docs/guide.md shows it", async () => {
      const [program = ""] = await programsIn("guide.md#Unit tests", "python");
      const folder = newFolder();
      await cp(path.join(recipes, "test_unit.py"), path.join(folder, "test_unit.py"));
      const passes = async (text: string) => {
        const own = await programs.python(folder, text, { sdks: installed });
        await rename(path.join(folder, "__main__.py"), path.join(folder, "stack.py"));
        return sh("python3 -m unittest", folder, { ...process.env, ...own });
      };
      assert.match(await passes(program), /Ran 1 test.*OK/s);
      await assert.rejects(passes(program.replace("app.example.com:443", "app.example.com:8443")));
    });
  });

  describe("in Node.js, with the package that npm installs", () => {
    let folder: string;
    before(async () => {
      folder = newFolder();
      const [, , , tarball = ""] = tarballs;
      await writeFile(path.join(folder, "package.json"), "{}");
      await sh(`npm install --silent --ignore-scripts ${path.join(packed, tarball)}`, folder);
    });

    it("C88 C89 run the examples", () =>
      runExamples("ts", plugin, async (project, text) => {
        await programs.nodejs(project, commonJs(text));
        const modules = path.join(project, "node_modules");
        await rm(modules, { recursive: true, force: true });
        await symlink(path.join(folder, "node_modules"), modules);
        return {};
      }));

    it("C86 compile the examples in TypeScript", async () => {
      const files = (await readdir(examples)).filter((name) => name.endsWith(".ts"));
      for (const file of files) await cp(path.join(examples, file), path.join(folder, file));
      const strict =
        "--noEmit --strict --skipLibCheck --module node16 --target es2022 --types node";
      await sh(`${repository}/node_modules/.bin/tsc ${strict} ${files.join(" ")}`, folder);
    });
  });
});

/** Stands for GitHub's command: a release is a draft, public, or not there. */
const gh = `#!/bin/sh -e
test "$GH_TOKEN"
test "$REFUSED" != "$1 $2"
for last; do :; done
case "$1 $2" in
  "release list") ! test -e "$FORGE/isDraft" || cat "$FORGE/isDraft" ;;
  "release create") test -s "$last"; echo true >"$FORGE/isDraft"; echo draft >>"$FORGE/log" ;;
  "release delete") rm "$FORGE/isDraft"; echo delete >>"$FORGE/log" ;;
  "release edit") echo false >"$FORGE/isDraft"; echo public >>"$FORGE/log" ;;
esac
`;

/** Stands for the registry, which refuses a version that it has. */
const npm = `#!/bin/sh -e
touch "$FORGE/log"
if [ "$1" = view ]; then grep -x "npm $2" "$FORGE/log"; exit; fi
for tarball; do :; done
package=$(tar -xzOf "$tarball" package/package.json | node -p 'const { name, version } = JSON.parse(fs.readFileSync(0)); name + "@" + version')
test "$package" != "$REFUSED@${version}"
! grep -qx "npm $package" "$FORGE/log"
echo "npm $package" >>"$FORGE/log"
`;
