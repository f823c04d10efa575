import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Adoption } from "../../cli/adopt";
import type { Client } from "../../client/client";
import { tlsEdges } from "../../client/tlsEdge";
import { makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";
import { generateSdks, missing, printProgram, programs } from "../../tools/languages";
import { schemaFile } from "../../tools/schema";
import { clientOf, upload } from "../support";

const plugin = path.join(repository, "plugin", "dist");
const unattended = ["--yes", "--skip-preview"];

/** Objects with all that an edge and a certificate may have; the names of some are equal. */
async function seed(client: Client) {
  // Pulumi's own generators print some texts wrongly, such as those with `$${`.
  const texts = {
    description: 'it\'s "${quoted}" `quoted`, Ünïcödé 🔐',
    metadata: JSON.stringify({ owner: "it's", path: "C:\\new" }),
  };
  await Promise.all([
    tlsEdges.create(client, {}),
    tlsEdges.create(client, {
      ...texts,
      hostports: ["www.example.com:443", "Example.com:443", "*.example.com:8443"],
      backend: { backend_id: "bkdtg_1" },
      ip_restriction: { enabled: false, ip_policy_ids: ["ipp_2", "ipp_1"] },
      mutual_tls: { certificate_authority_ids: ["ca_1"] },
      tls_termination: { terminate_at: "edge", min_version: "1.3" },
    }),
    tlsEdges.create(client, { tls_termination: { terminate_at: "upstream" } }),
    tlsEdges.create(client, { tls_termination: { enabled: false } }),
    tlsEdges.create(client, { mutual_tls: { enabled: false, certificate_authority_ids: [] } }),
  ]);
  const issuer = await makeCertificate({ commonName: "root", isCa: true });
  await Promise.all([
    upload(client, { commonName: "example.com", issuer }, { description: "two\nlines" }),
    upload(client, { commonName: "b.example", keyType: "ed25519" }),
  ]);
}

describe("the code that the engine's import writes of what adopt found", () => {
  let sdks: string;
  let project: Project;
  let held: string;
  const objects = ({ tlsEdges, tlsCertificates } = project.emulator) =>
    JSON.stringify([tlsEdges.list(), tlsCertificates.list()]);

  before(async function () {
    if (await missing("go")) this.skip();
    sdks = await generateSdks(schemaFile);
    project = await Project.create({}, {}, "plugin");
    await project.program("");
    await seed(clientOf(project.emulator));
    held = objects();
    const bin = path.join(repository, "dist", "cli", "main.js");
    const { output } = await project.start(["adopt", "--plugin", "--format", "json"], bin).done;
    const { edges, certificates, skipped }: Adoption = JSON.parse(output);
    assert.deepEqual([edges.length, certificates.length, skipped], [5, 2, []]);
  });
  after(() => project?.close());

  for (const language of ["nodejs", "python", "go", "yaml"] as const) {
    it(`C89 gives no diff in ${language}`, async function () {
      if (await missing(language)) this.skip();
      await project.select(language);
      const { env, folder } = project;
      const write = async (text: string) =>
        Object.assign(env, await programs[language](folder, text, { sdks, plugin }));
      if (language === "yaml") {
        await write("resources: {}");
        await imports("--out=printed");
        await write(await readFile(path.join(folder, "printed"), "utf8"));
      } else {
        await imports();
        const exported = await project.succeedsQuietly("stack", "export");
        const imported = path.join(folder, "import.json");
        await write(await printProgram(schemaFile, language, exported, imported));
      }
      const { steps, requests } = await project.preview();
      assert.equal(steps.length, 7);
      assert.deepEqual([steps.filter((step) => !step.startsWith("same:")), requests], [[], []]);
      assert.equal(objects(), held);
    });
  }

  // In Java, it has the name of the variable in place of the resource's own, and imports the types of inputs
  // from a package of Pulumi's (docs/languages.md).
  it("C89 gives no diff in java, for a resource whose name is that of its variable", async function () {
    if (await missing("java")) this.skip();
    await project.select("java");
    const { env, folder } = project;
    const write = async (text: string) =>
      Object.assign(env, await programs.java(folder, text, { sdks, plugin }));
    await write(`public class App {
  public static void main(String[] args) { com.pulumi.Pulumi.run(context -> {}); }
}`);
    const [, edge] = project.emulator.tlsEdges.list();
    const what = ["tlsedge:index:TLSEdge", "app", edge?.id ?? ""];
    await project.succeeds("import", ...what, "--out", "printed", ...unattended);
    const printed = await readFile(path.join(folder, "printed"), "utf8");
    const corrected = printed.replaceAll("com.pulumi.tlsedge", "io.github.exampleowner.tlsedge");
    await write(corrected.replace("package generated_program;", ""));
    const { steps, requests } = await project.preview();
    assert.deepEqual([steps, requests], [["same:app"], []]);
    assert.equal(objects(), held);
  });

  /** The language host that is built for these tests can print programs in YAML alone. */
  async function imports(how = "--generate-code=false"): Promise<void> {
    const all = ["import", "--file", "import.json", how, ...unattended];
    assert.equal((await project.succeeds(...all)).changes.import, 7);
    const { resources } = await project.state();
    assert.equal(resources.filter(({ protect }) => protect).length, 7);
  }
});
