import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { version } from "../../package.json";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { quickNpm } from "../../tools/tarball";

/** The programs in the descriptions of the plugin's schema. */
export const examples = path.join(repository, "plugin", "examples");
/** The files to copy that the documents name. */
export const recipes = path.join(repository, "docs", "recipes");

/** Of each language: a second site, with the certificate of the site that its example has. */
const secondSites: Record<string, string> = {
  ts: `
new tlsedge.TLSSite("two", {
  hostports: ["two.example.com:443"],
  certificate: site.certificate,
  backendId: "bkdtg_1",
  access: { public: true },
});`,
  py: `
tlsedge.TLSSite("two",
    hostports=["two.example.com:443"],
    certificate=site.certificate,
    backend_id="bkdtg_1",
    access={"public": True})`,
  go: `
		if _, err = tlsedge.NewTLSSite(ctx, "two", &tlsedge.TLSSiteArgs{
			Hostports:   pulumi.StringArray{pulumi.String("two.example.com:443")},
			Certificate: site.Certificate,
			BackendId:   pulumi.String("bkdtg_1"),
			Access:      &tlsedge.TLSSiteAccessArgs{Public: pulumi.BoolRef(true)},
		}); err != nil {
			return err
		}`,
  java: `
            new TLSSite("two", TLSSiteArgs.builder()
                .hostports("two.example.com:443")
                .certificate(site.certificate())
                .backendId("bkdtg_1")
                .access(TLSSiteAccessArgs.builder().public_(true).build())
                .build());`,
  yaml: `
  two:
    type: tlsedge:TLSSite
    properties:
      hostports: ["two.example.com:443"]
      certificate: \${app.certificate}
      backendId: bkdtg_1
      access: { public: true }`,
};

/**
 * Deploys the examples of a language with the plugin of an archive: an edge, a certificate, and a site
 * that lives as in TypeScript. A refresh and an import run no program: they are the same in each language.
 */
export async function runExamples(
  ending: string,
  archive: string,
  write: (folder: string, text: string) => Promise<NodeJS.ProcessEnv>,
): Promise<void> {
  const project = await Project.create();
  try {
    const installed = ["plugin", "install", "resource", "tlsedge", version, "--file", archive];
    const { code, output } = await project.start(installed).done;
    assert.equal(code, 0, output);
    const made = await project.certificate("certs", { commonName: "app.example.com" });
    await project.file("app.pem", made.certificatePem);
    await project.setSecret("acceptance:appKey", made.privateKeyPem);
    const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
    await project.certificate("app", leaf);
    await project.succeedsQuietly("config", "set", "acceptance:backendId", "bkdtg_1");
    const use = async (name: string, change = (text: string) => text) => {
      const text = await readFile(path.join(examples, `${name}.${ending}`), "utf8");
      Object.assign(project.env, await write(project.folder, change(text)));
    };
    const deploys = async (...writes: string[]) =>
      assert.deepEqual((await project.up()).writes.toSorted(), writes);

    await use("tlsEdge");
    await deploys("POST /edges/tls");
    await use("tlsCertificate");
    await deploys("DELETE /edges/tls/:id", "POST /tls_certificates");

    await use("tlsSite", (text) =>
      text
        .replace(/(owner.*)web/i, "$1shop")
        .replace(/.*(edgeId|outputs:)/, (output) => `${secondSites[ending]}\n${output}`),
    );
    await project.preview();
    const edge = "POST /edges/tls";
    await deploys("DELETE /tls_certificates/:id", edge, edge, "POST /tls_certificates");
    const { resources } = await project.state();
    const sites = resources.filter(({ type }) => type === "tlsedge:index:TLSSite");
    const [one, two] = sites.map(({ outputs }) => outputs.certificate);
    assert.deepEqual([sites.length, one], [2, two]);
    assert.deepEqual((await project.up("--expect-no-changes")).requests, []);
    await use("tlsSite");
    await deploys("DELETE /edges/tls/:id", "PATCH /edges/tls/:id", "PATCH /tls_certificates/:id");

    const [held] = project.emulator.tlsEdges.list();
    const [certificate] = project.emulator.tlsCertificates.list();
    assert.deepEqual(held?.hostports, ["app.example.com:443"]);
    const expires = Date.parse((await project.output("expires")) as string);
    assert.equal(expires, Date.parse(certificate?.not_after ?? ""));

    // Java has none.
    if (existsSync(path.join(examples, `lookups.${ending}`))) {
      await use("lookups");
      // The site is another program's: this one only reads.
      await project.select("lookups");
      await project.up();
      const outputs = await project.succeedsQuietly("stack", "output", "--json");
      const { edgeId, forwardsTo, edges, certificates, tunnels } = JSON.parse(outputs);
      const ids = [edges, certificates].map(([first]) => first.id);
      assert.deepEqual([edgeId, ...ids], [held?.id, held?.id, certificate?.id]);
      assert.deepEqual([forwardsTo, tunnels.length], ["https://web-1.internal:8443", 1]);
    }
  } finally {
    await project.close();
  }
}

/** An empty project, and a copy of a template in which something stands for what is published. */
export async function startWith(
  template: string,
  file: string,
  published: string,
  here: string,
  env: NodeJS.ProcessEnv = {},
) {
  const folder = newFolder();
  await cp(path.join(repository, "templates", template), folder, { recursive: true });
  const text = await readFile(path.join(folder, file), "utf8");
  assert.ok(text.includes(published), text);
  await writeFile(path.join(folder, file), text.replace(published, here));
  // The state, and what else commands need, is in another folder.
  const project = await Project.in(newFolder(), {}, { ...quickNpm, ...env }, newFolder());
  return { project, folder };
}

/**
 * The programs in a language that a page of the documentation shows, in their order.
 *
 * @param page The file of the page in `docs/`; `guide.md#Lookups` is one section of it.
 */
export async function programsIn(page: string, language: string): Promise<string[]> {
  const [file = "", title] = page.split("#");
  const whole = await readFile(path.join(repository, "docs", file), "utf8");
  const sections = whole.split(/^## /m);
  const text = title ? (sections.find((part) => part.startsWith(`${title}\n`)) ?? "") : whole;
  const blocks = text.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return [...blocks].filter(([, name]) => name === language).map(([, , program = ""]) => program);
}
