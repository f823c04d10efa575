import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Project } from "../../tools/engine";
import { newFolder } from "../../tools/folders";
import { missing, programs } from "../../tools/languages";
import { gitUrl, quickNpm, sh } from "../../tools/tarball";
import { examples } from "./examples";

/** The hosts for Python, Go and Node.js that can be built here generate no SDK. */
describe("pulumi package add", () => {
  let project: Project;
  after(() => project?.close());

  it("C88 C89 runs the plugin from source, for a program in YAML that deploys a site", async function () {
    if (await missing("yaml")) this.skip();
    const clone = path.join(newFolder(), "clone");
    await sh(`git clone --quiet ${(await gitUrl()).replace("git+", "")} ${clone}`, newFolder());

    project = await Project.create({}, quickNpm, "plugin");
    await project.certificate("app", { commonName: "app.example.com" });
    await project.succeedsQuietly("config", "set", "acceptance:backendId", "bkdtg_1");
    const text = await readFile(path.join(examples, "tlsSite.yaml"), "utf8");
    await programs.yaml(project.folder, text.replace(/^name: .*\nruntime: yaml\n/, ""));
    // The command knows no stack.
    const { code, output } = await project.start(["package", "add", `${clone}/plugin`]).done;
    assert.equal(code, 0, output);
    const added = await readFile(path.join(project.folder, "Pulumi.yaml"), "utf8");
    assert.ok(added.includes(`packages:\n  tlsedge: ${clone}/plugin\n`), added);

    await project.up();
    const [edge] = project.emulator.tlsEdges.list();
    assert.deepEqual(edge?.hostports, ["app.example.com:443"]);
  });
});
