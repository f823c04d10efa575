import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";

/** The programs in the descriptions of the plugin's schema. */
export const examples = path.join(repository, "plugin", "examples");

/** Plans the examples of a language, and deploys that of a site. */
export async function runExamples(
  ending: string,
  write: (folder: string, text: string) => Promise<NodeJS.ProcessEnv>,
): Promise<void> {
  const project = await Project.create({}, {}, "plugin");
  try {
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

    // Java and C# have none.
    if (!existsSync(path.join(examples, `lookups.${ending}`))) return;
    await use("lookups");
    // The site is another program's: this one only reads.
    await project.select("lookups");
    await project.up();
    const { edgeId, forwardsTo, edges, certificates, tunnels } = JSON.parse(
      await project.succeedsQuietly("stack", "output", "--json"),
    );
    const ids = [edges, certificates].map(([first]) => first.id);
    assert.deepEqual([edgeId, ...ids], [edge?.id, edge?.id, certificate?.id]);
    assert.deepEqual([forwardsTo, tunnels.length], ["https://web-1.internal:8443", 1]);
  } finally {
    await project.close();
  }
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
