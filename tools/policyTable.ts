import { deepEqual } from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { type Explained, policies } from "../policy/index";
import { runTool } from "./command";
import { Project } from "./engine";
import type { Run } from "./engineLog";
import { repository } from "./folders";
import { table } from "./markdown";
import { unknowns, writeCertificates } from "./policyCases";
import { readProfiles } from "./policyPages";

const usage = `npm run policies:table

Runs every policy on the real engine, for some minutes, and writes docs/policies/README.md.`;

const pack = path.join(repository, "node_modules", "pulumi-tlsedge-policy");

/** The id of an edge that does not exist yet is not known in a plan. */
const unknown = `const unknown = new TLSEdge("source", {
  metadata: JSON.stringify({ owner: "nobody" }),
  ipRestriction: { ipPolicyIds: ["ipp_1"] },
}, { protect: true }).id;
`;

/** Runs a program on a new stack and an empty account, with one policy alone. */
async function runProgram(
  project: Project,
  text: string,
  command: string[],
  { name }: Explained,
  level = "mandatory",
): Promise<Run> {
  project.emulator.reset();
  await project.select(`run${Date.now()}`);
  const classes = "const { TLSCertificate, TLSEdge } = tlsedge;";
  await project.program(`${classes}\n${text.includes("unknown") ? unknown : ""}${text}`);
  await project.file("config.json", JSON.stringify({ all: "disabled", [name]: level }));
  const options = ["--policy-pack", pack, "--policy-pack-config", "config.json"];
  return project.engine(...command, ...options);
}

const levelsOf = ({ events }: Run) =>
  events.flatMap(({ policyEvent }) => policyEvent?.enforcementLevel ?? []);

/** Fails when a run does not show what the table says. */
function check(isAsExpected: boolean, { name }: Explained, { code, output }: Run): void {
  if (!isAsExpected) throw new Error(`${name}: exit code ${code}\n${output}`);
}

/** The cells of a policy: what the engine did with each program. */
async function outcomes(project: Project, policy: (typeof policies)[number]): Promise<string[]> {
  const { violation, fix } = policy.example;
  const up = ["up", "--yes"];

  const violating = await runProgram(project, violation, up, policy);
  const isStopped = violating.code !== 0 && levelsOf(violating).includes("mandatory");
  check(isStopped, policy, violating);

  const late = await runProgram(project, violation, [...up, "--skip-preview"], policy);
  check(late.code !== 0 && levelsOf(late).includes("mandatory"), policy, late);

  const fixed = await runProgram(project, fix, up, policy);
  check(fixed.code === 0 && levelsOf(fixed).length === 0, policy, fixed);

  const plan = await runProgram(project, unknowns[policy.name] ?? "", ["preview"], policy);
  check(plan.code === 0 && !levelsOf(plan).includes("mandatory"), policy, plan);
  const isUndecided = levelsOf(plan).includes("advisory");
  return [
    stopped(violating),
    stopped(late),
    "deployed",
    isUndecided ? "no violation; to be judged in the update" : "no violation",
    await remediated(project, policy),
  ];
}

function stopped({ writes: { length } }: Run): string {
  if (length === 0) return "stopped before any write";
  return `failed after ${length} ${length === 1 ? "write" : "writes"}`;
}

async function remediated(project: Project, policy: (typeof policies)[number]): Promise<string> {
  if (!("remediateResource" in policy)) return "–";
  const { violation } = policy.example;
  const run = await runProgram(project, violation, ["up", "--yes"], policy, "remediate");
  const isRemediated = run.events.some(({ policyRemediationEvent }) => policyRemediationEvent);
  check(run.code === 0 && isRemediated, policy, run);
  const [edge] = project.emulator.tlsEdges.list();
  return `deployed with \`${edge?.tls_termination?.min_version}\``;
}

/** The cells of a policy, which must be the same through both doors. */
async function sameOutcomes(projects: Project[], policy: (typeof policies)[number]) {
  const [cells, ...others] = await Promise.all(projects.map((one) => outcomes(one, policy)));
  for (const other of others) deepEqual(other, cells, `${policy.name} differs between the doors`);
  return cells as string[];
}

async function main(): Promise<void> {
  const projects = [await Project.create(), await Project.create({}, {}, "plugin")];
  try {
    for (const project of projects) await writeCertificates(project);
    const profiles = Object.values(readProfiles());
    const rows: string[][] = [];
    for (const policy of policies) {
      console.error(policy.name);
      const levels = profiles.map((profile) => profile[policy.name]?.enforcementLevel ?? "");
      const link = `[\`${policy.name}\`](${policy.name}.md)`;
      rows.push([link, policy.severity, ...levels, ...(await sameOutcomes(projects, policy))]);
    }
    const text = readme(rows);
    await writeFile(path.join(repository, "docs", "policies", "README.md"), text);
  } finally {
    for (const project of projects) await project.close();
  }
}

function readme(rows: string[][]): string {
  const head = ["Policy", "Severity", "`baseline`", "`production`"];
  const columns = ["Violation", "`--skip-preview`", "Fixed", "Not known yet", "Remediated"];
  return `# Policies

The table shows each policy of \`pulumi-tlsedge-policy\` alone, at the level \`mandatory\`, on the real
engine, with resources of the Node.js package and of the plugin: with the violation of its page in
\`pulumi up\` and in \`pulumi up --skip-preview\`, with its fix in \`pulumi up\`, with values that are not
known yet in \`pulumi preview\`, and with the violation at the level \`remediate\`.

${table([...head, ...columns], rows)}

## When a violation stops an update

\`pulumi up\` makes a preview first. A mandatory violation in the preview stops the update before any
write. Some violations are found only in the update:

- With \`--skip-preview\`, a policy that judges one resource stops the update before that resource is
  written; others may be written by then. A policy that judges the stack runs at the end: the update
  fails, but all its writes are made. These are \`deployed-tls-version\`, \`hostport-certificate\` and
  \`key-reuse\`.
- A value that is not known in the preview is judged in the update, in the same order.
- The TLS version of an edge that the update creates, adopts or changes, where the program sets none, is
  judged by \`deployed-tls-version\` at the end of the update. Previews judge the edges without changes.

So run \`pulumi preview\` with the policies before each update, and don't pass \`--skip-preview\`.

## What the policies don't see

- **Other code for the same service.** Policies know a resource by its type: \`TLSEdge\` and
  \`TLSCertificate\` of the Node.js package and of the plugin. A program that runs the provider of this
  package under a type of its own, or calls the service itself, is not judged. No policy can know what
  such code does: the review of a program must find it.
- **What was changed at the service**, until \`pulumi refresh\` brings it into the state.
- **Other stacks**, and objects that a program only reads with \`get\` or a lookup.

A certificate that the provider accepts and a policy can't read is a violation.

<!-- Made by \`npm run policies:table\` from the engine's own events. -->
`;
}

runTool(usage, main);
