import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { Adoption } from "../../cli/adopt";
import { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";

const bin = path.join(repository, "dist", "cli", "main.js");

/** The language host that is built for these tests can't print programs. */
const withoutCode = ["--generate-code=false", "--yes", "--skip-preview"];

/** A project with no program, and a client of its account. */
export async function emptyProject() {
  const project = await Project.create({}, {}, "plugin");
  await project.program("");
  return { project, client: project.newClient() };
}

/** Writes the file of an account. */
export async function adopt({ folder, env }: Project): Promise<Adoption> {
  const args = [bin, "adopt", "--plugin", "--format", "json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  return JSON.parse(stdout) as Adoption;
}

/** Imports what {@link adopt} found. */
export const importAll = (project: Project, flags = withoutCode) =>
  project.succeeds("import", "--file", "import.json", ...flags);

/** All objects of the account. */
export const heldBy = ({ emulator }: Project) =>
  JSON.stringify([emulator.tlsEdges.list(), emulator.tlsCertificates.list()]);
