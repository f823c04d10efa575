import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Explained, policies } from "../policy/index";
import { runTool } from "./command";
import { repository } from "./folders";
import { table } from "./markdown";

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

/** The page of a policy, in Markdown. */
export function page(policy: Described, profiles: Record<string, Profile>): string {
  return `# ${policy.displayName}

\`${policy.name}\`: ${policy.description}

${table(
  ["Severity", ...Object.keys(profiles).map((name) => `Level in \`${name}\``)],
  [[policy.severity, ...Object.values(profiles).map((profile) => levelIn(profile, policy))]],
)}

## Why it matters

${policy.why}

## How to fix it

${policy.remediationSteps}

${settings(policy, profiles)}## Example

A violation:

\`\`\`ts
${policy.example.violation}
\`\`\`

The same, fixed:

\`\`\`ts
${policy.example.fix}
\`\`\`

<!-- Made by \`npm run docs:policies\` from the policy itself. -->
`;
}

function levelIn(profile: Profile, { name }: Described): string {
  return profile[name]?.enforcementLevel ?? "";
}

function settings({ name, configSchema }: Described, profiles: Record<string, Profile>): string {
  const properties = Object.entries(configSchema?.properties ?? {});
  if (properties.length === 0) return "";
  const rows = properties.map(([setting, { type, enum: values, description }]) => [
    `\`${setting}\``,
    values ? values.map((value) => `\`${JSON.stringify(value)}\``).join(" or ") : String(type),
    ...Object.values(profiles).map((profile) => `\`${JSON.stringify(profile[name]?.[setting])}\``),
    description ?? "",
  ]);
  const titles = Object.keys(profiles).map((profile) => `In \`${profile}\``);
  return `## Settings\n\n${table(["Setting", "Type", ...titles, ""], rows)}\n\n`;
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

async function main(): Promise<void> {
  const folder = path.join(repository, "docs", "policies");
  await mkdir(folder, { recursive: true });
  const profiles = readProfiles();
  for (const policy of policies) {
    await writeFile(path.join(folder, `${policy.name}.md`), page(policy, profiles));
  }
  await writeFile(configSchemaFile, `${JSON.stringify(configSchema(), null, 2)}\n`);
}

const usage = `npm run docs:policies

Writes a page for each policy into docs/policies, and policy/config.schema.json for editors.`;

// Tests import this file.
if (require.main === module) runTool(usage, main);
