import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { type Explained, policies } from "../policy/index";
import { runTool } from "./command";
import { repository } from "./folders";
import { table, writePart } from "./markdown";

/** The content of a file for `--policy-pack-config`. */
type Profile = Record<string, { enforcementLevel: string; [setting: string]: unknown }>;

/** The profiles, by name. */
export function readProfiles(): Record<string, Profile> {
  const folder = path.join(repository, "policy", "profiles");
  const read = (name: string) =>
    JSON.parse(readFileSync(path.join(folder, `${name}.json`), "utf8"));
  return { baseline: read("baseline"), production: read("production") };
}

type Described = Explained & Pick<(typeof policies)[number], "configSchema">;

/** The part of docs/policies.md that the policies themselves say. */
export function policyPart(): string {
  const profiles = readProfiles();
  const names = Object.keys(profiles);
  const rows = policies.map((policy) => [
    `[\`${policy.name}\`](#${policy.name})`,
    policy.severity,
    ...names.map((name) => profiles[name]?.[policy.name]?.enforcementLevel ?? ""),
    "validateStack" in policy ? "the stack" : "one resource",
    "remediateResource" in policy ? "yes" : "no",
  ]);
  const heads = ["Policy", "Severity", ...names.map((name) => `\`${name}\``), "Judges"];
  const sections = policies.map((policy) => section(policy, profiles));
  return `## The policies

The levels are those of the two profiles. A policy that remediates can correct a violation itself, at
the level \`remediate\`.

${table([...heads, "Remediates"], rows)}

${sections.join("\n\n")}`;
}

function section(policy: Described, profiles: Record<string, Profile>): string {
  return `### ${policy.name}

${policy.description} ${policy.why}

**Fix**: ${policy.remediationSteps}
${settings(policy, profiles)}${example(policy)}`.trimEnd();
}

/** The example of a policy, unless it only names files. */
function example({ example: { violation, fix } }: Described): string {
  if (violation.includes("readFileSync")) return "";
  return `
\`\`\`ts
// A violation:
${violation}
// The same, fixed:
${fix}
\`\`\``;
}

function settings({ name, configSchema }: Described, profiles: Record<string, Profile>): string {
  const properties = Object.entries(configSchema?.properties ?? {});
  return properties
    .map(([setting, { type, enum: values, description }]) => {
      const choices = values?.map((value) => JSON.stringify(value)).join(" or ") ?? type;
      const defaults = Object.entries(profiles).map(
        ([profile, levels]) => `\`${JSON.stringify(levels[name]?.[setting])}\` in \`${profile}\``,
      );
      return `\n**Setting** \`${setting}\` (${choices}): ${description} It is ${defaults.join(", ")}.\n`;
    })
    .join("");
}

/** Where the JSON schema of the config is, for editors. */
export const configSchemaFile = path.join(repository, "policy", "config.schema.json");

/** The JSON schema of a file for `--policy-pack-config`: every policy, level and setting. */
export function configSchema() {
  const levels = ["advisory", "disabled", "mandatory", "remediate"];
  const entry = (description: string, level: object = {}, settings: object = {}) => ({
    description,
    type: ["string", "object"],
    if: { type: "string" },
    // biome-ignore lint/suspicious/noThenProperty: JSON schemas have it.
    then: { enum: levels },
    properties: { enforcementLevel: { enum: levels, ...level }, ...settings },
    additionalProperties: false,
  });
  const entries = policies.map(({ name, description, enforcementLevel, configSchema }) => [
    name,
    entry(description, { default: enforcementLevel }, configSchema?.properties),
  ]);
  const all = entry("The level of all policies; a policy's own level overrides it.");
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The config of pulumi-tlsedge-policy",
    type: "object",
    properties: { all, ...Object.fromEntries(entries) },
    additionalProperties: false,
  };
}

/** The document of the policies. */
export const policiesFile = path.join(repository, "docs", "policies.md");

async function main(): Promise<void> {
  await writePart(policiesFile, "Policies", "policies", policyPart());
  await writeFile(configSchemaFile, `${JSON.stringify(configSchema(), null, 2)}\n`);
}

const usage = `npm run docs:policies

Writes the policies into docs/policies.md, and policy/config.schema.json for editors.`;

// Tests import this file.
if (require.main === module) runTool(usage, main);
