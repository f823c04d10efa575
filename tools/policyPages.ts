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

async function main(): Promise<void> {
  const folder = path.join(repository, "docs", "policies");
  await mkdir(folder, { recursive: true });
  const profiles = readProfiles();
  for (const policy of policies) {
    await writeFile(path.join(folder, `${policy.name}.md`), page(policy, profiles));
  }
}

const usage = "npm run docs:policies\n\nWrites a page for each policy into docs/policies.";

// Tests import this file.
if (require.main === module) runTool(usage, main);
