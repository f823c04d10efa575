import { readFileSync } from "node:fs";
import path from "node:path";
import { runTool, UsageError } from "./command";
import { repository } from "./folders";

const usage = `npm run release:notes -- TAG

Prints the section of CHANGELOG.md about the version of a tag, such as v0.1.0. Fails when a package
or the plugin's schema has another version, or the changelog has no such section.`;

/** The files that have the version of the package. */
const versioned = ["package.json", "emulator/package.json", "plugin/package.json"];
versioned.push("policy/package.json", "plugin/schema.json");

/**
 * The release notes of a tag.
 *
 * @param read Gives the text of a file of the repository.
 */
export function releaseNotes(tag: string, read: (file: string) => string): string {
  const version = tag.replace(/^v/, "");
  for (const file of versioned) {
    const { version: other } = JSON.parse(read(file)) as { version: string };
    if (other !== version) throw new Error(`${file} has the version ${other}, not ${version}`);
  }
  const sections = read("CHANGELOG.md").split(/^## /m);
  const own = sections.find((section) => section.startsWith(`[${version}]`));
  const notes = own?.split("\n").slice(1).join("\n").trim();
  if (!notes) throw new Error(`CHANGELOG.md has no section "## [${version}]" with a text`);
  return notes;
}

async function main(): Promise<void> {
  const [tag] = process.argv.slice(2);
  if (!tag?.startsWith("v")) throw new UsageError("give the tag, such as v0.1.0");
  console.log(releaseNotes(tag, (file) => readFileSync(path.join(repository, file), "utf8")));
}

// Tests import this file.
if (require.main === module) runTool(usage, main);
