import assert from "node:assert/strict";
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
    await project.certificate("app", { commonName: "app.example.com" });
    await project.succeedsQuietly("config", "set", "acceptance:backendId", "bkdtg_1");
    for (const name of ["tlsEdge", "tlsCertificate", "tlsSite"]) {
      const text = await readFile(path.join(examples, `${name}.${ending}`), "utf8");
      Object.assign(project.env, await write(project.folder, text));
      await project.succeeds(
        ...(name === "tlsSite" ? ["up", "--yes", "--skip-preview"] : ["preview"]),
      );
    }
    const [edge] = project.emulator.tlsEdges.list();
    const [certificate] = project.emulator.tlsCertificates.list();
    assert.deepEqual(edge?.hostports, ["app.example.com:443"]);
    const expires = Date.parse((await project.output("expires")) as string);
    assert.equal(expires, Date.parse(certificate?.not_after ?? ""));
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
