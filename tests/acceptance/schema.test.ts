import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { newFolder } from "../../tools/folders";
import { findOrBuildPulumi } from "../../tools/pulumi";
import { schemaFile } from "../../tools/schema";

describe("the schema of the plugin, to Pulumi", () => {
  it("C86 is valid", async () => {
    const { command, env } = await findOrBuildPulumi();
    const home = { ...env, PULUMI_HOME: newFolder() };
    await promisify(execFile)(command, ["schema", "check", schemaFile], { env: home });
  });
});
