import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { version } from "../../package.json";
import { newFolder, repository } from "../../tools/folders";
import { missing, writeSdks } from "../../tools/languages";
import { packSdks } from "../../tools/packSdks";
import { gitUrl, sh } from "../../tools/tarball";

const run = promisify(execFile);
const tag = `v${version}`;

interface Release {
  jobs: { publish: { steps: { name?: string; run?: string }[] } };
}

/** The wheel is installed by the tests of programs in Python, in `languages.test.ts`. */
describe("the SDKs of a release", () => {
  let sdks: string;
  let packed: string;
  before(async function () {
    if ((await missing("go")) || (await missing("python"))) this.skip();
    sdks = await writeSdks(path.join(repository, "plugin", "schema.json"));
    packed = newFolder();
    await packSdks(sdks, packed);
  });

  it("C89 are packed, with their checksums", async () => {
    const names = (await readdir(packed)).sort();
    assert.deepEqual(names, [
      "SHA256SUMS",
      `pulumi-tlsedge-sdk-${version}.tgz`,
      `pulumi_tlsedge-${version}-py3-none-any.whl`,
    ]);
    assert.match(await sh("sha256sum --check SHA256SUMS", packed), /^(.*: OK\n){2}$/);
  });

  it("C89 install with npm and with pip", async () => {
    const folder = newFolder();
    const [, tarball = "", wheel = ""] = (await readdir(packed)).sort();
    await writeFile(path.join(folder, "package.json"), "{}");
    await sh(`npm install --silent --ignore-scripts ${path.join(packed, tarball)}`, folder);
    await sh("node -e require('pulumi-tlsedge-sdk').TLSSite.name", folder);
    await sh("python3 -m venv venv", folder);
    await sh(`venv/bin/pip install --quiet ${path.join(packed, wheel)}`, folder);
    await run("venv/bin/python", ["-c", "from pulumi_tlsedge import TLSSite"], { cwd: folder });
  });

  it("C89 give Go its module by its tag", async () => {
    const file = path.join(repository, ".github", "workflows", "release.yml");
    const { jobs }: Release = parse(await readFile(file, "utf8"));
    const step = jobs.publish.steps.find(({ name }) => name === "Tag the Go module");
    const url = (await gitUrl()).replace("git+", "");
    const clone = newFolder();
    await sh(`git clone --quiet ${url} .`, clone);
    await cp(path.join(sdks, "go"), path.join(clone, "plugin", "sdks", "go"), { recursive: true });
    const env = { ...process.env, GITHUB_REF_NAME: tag };
    await run("bash", ["-e", "-c", step?.run ?? "exit 1"], { cwd: clone, env });

    const program = newFolder();
    const example = path.join(repository, "plugin", "examples", "tlsSite.go");
    await cp(example, path.join(program, "main.go"));
    // The repository of the URL stands for the real one; its sum is in no public list.
    const go = {
      ...process.env,
      GOPRIVATE: "github.com/example-owner/*",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `url.${url}.insteadOf`,
      GIT_CONFIG_VALUE_0: "https://github.com/example-owner/pulumi-tlsedge",
    };
    // A module that has Pulumi's SDK already, and the sums of what it needs.
    const engine = path.join(repository, "tools", "pulumi-cli", "engine");
    for (const name of ["go.mod", "go.sum"])
      await cp(path.join(engine, name), `${program}/${name}`);
    await sh("go mod edit -module=program", program, go);
    await sh(`go get github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge@${tag}`, program, go);
    await sh("go build .", program, go);
  });
});
