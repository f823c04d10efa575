import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { Project } from "../../tools/engine";

/** Plans an inline program twice, from another folder: without and with the `main` of its project. */
const script = `
  const { LocalWorkspace } = require("@pulumi/pulumi/automation");
  const { TLSEdge } = require("pulumi-tlsedge");
  process.chdir(${JSON.stringify(tmpdir())});
  const program = async () => { new TLSEdge("app", { hostports: ["app.example.com:443"] }); };
  const plan = async (settings) => {
    const names = { projectName: "inline", stackName: "inline", program };
    const projectSettings = { name: "inline", runtime: "nodejs", ...settings };
    const stack = await LocalWorkspace.createOrSelectStack(names, { projectSettings });
    const { changeSummary } = await stack.preview();
    console.log(JSON.stringify(changeSummary));
  };
  plan({}).catch(({ message }) => console.log(message)).then(() => plan({ main: __dirname }));`;

describe("an inline program of the Automation API, on the real engine", () => {
  let project: Project;
  after(() => project?.close());

  it("C6: fails where the engine can't find this package, and says which setting names the folder", async () => {
    project = await Project.create();
    await project.file("inline.cjs", script);
    const { code, output } = await project.start(["inline.cjs"], process.execPath).done;
    assert.match(output, /can't be found from .*automation-.*set `main` in projectSettings/);
    assert.doesNotMatch(output, /Cannot find module/);
    assert.match(output, /^\{"create":2\}$/m);
    assert.equal(code, 0, output);
    assert.deepEqual(project.emulator.tlsEdges.list(), []);
  });
});
