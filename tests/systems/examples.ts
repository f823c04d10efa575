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

/**
 * Plans the examples of a language with the plugin of an archive, deploys that of a site, looks it up
 * and deletes it.
 */
export async function runExamples(
  ending: string,
  archive: string,
  write: (folder: string, text: string) => Promise<NodeJS.ProcessEnv>,
): Promise<void> {
  const project = await Project.create();
  const run = async (...args: string[]) => {
    const { code, output } = await project.start(args).done;
    assert.equal(code, 0, output);
  };
  try {
    await run("plugin", "install", "resource", "tlsedge", version, "--file", archive);
    const made = await project.certificate("certs", { commonName: "app.example.com" });
    await project.file("app.pem", made.certificatePem);
    await project.setSecret("acceptance:appKey", made.privateKeyPem);
    const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
    await project.certificate("app", leaf);
    await project.succeedsQuietly("config", "set", "acceptance:backendId", "bkdtg_1");
    const use = async (name: string) => {
      const text = await readFile(path.join(examples, `${name}.${ending}`), "utf8");
      Object.assign(project.env, await write(project.folder, text));
    };
    for (const name of ["tlsEdge", "tlsCertificate"]) {
      await use(name);
      await project.succeeds("preview");
    }
    await use("tlsSite");
    await project.up();
    const [edge] = project.emulator.tlsEdges.list();
    const [certificate] = project.emulator.tlsCertificates.list();
    assert.deepEqual(edge?.hostports, ["app.example.com:443"]);
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
      assert.deepEqual([edgeId, ...ids], [edge?.id, edge?.id, certificate?.id]);
      assert.deepEqual([forwardsTo, tunnels.length], ["https://web-1.internal:8443", 1]);
    }

    await project.select("dev");
    await project.destroy();
    assert.deepEqual(project.emulator.tlsEdges.list(), []);
    assert.deepEqual(project.emulator.tlsCertificates.list(), []);
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
