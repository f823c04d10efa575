import assert from "node:assert/strict";
import { loadavg } from "node:os";
import path from "node:path";
import { version as pulumiSdk } from "@pulumi/pulumi/version";
import { program } from "commander";
import { makeCertificate } from "../../emulator/server";
import { wholeNumber } from "../command";
import { Project } from "../engine";
import { findOrBuildPulumi } from "../pulumi";

/** How each answer of the service is delayed. */
const latencyMs = 20;

const contestants = {
  dynamic: { title: "Node.js package", sdk: "pulumi-tlsedge" },
  plugin: { title: "Plugin", sdk: path.join(__dirname, "..", "pluginSdk.cjs") },
};
type Name = keyof typeof contestants;
const names = Object.keys(contestants) as Name[];

/** The phases in their order: the command of each, and what it prints at the end. */
const phases: [title: string, command: string, result: (n: number) => string][] = [
  ["create", "up --yes --skip-preview", (n) => `+ ${n + 1} created`],
  ["plan, nothing to do", "preview", (n) => `${n + 1} unchanged`],
  ["refresh", "refresh --yes --skip-preview", (n) => `${n + 1} unchanged`],
  ["plan that reads", "preview --refresh", (n) => `${n + 1} unchanged`],
  ["update of all", "up --yes --skip-preview", (n) => `~ ${n} updated`],
  ["destroy", "destroy --yes --skip-preview", (n) => `- ${n + 1} deleted`],
];

type Kind = "TLSCertificate" | "TLSEdge";
const kinds: [Kind, string][] = [
  ["TLSCertificate", "certificates"],
  ["TLSEdge", "edges"],
];

/** A phase of one contestant. */
interface Measured {
  row: string;
  name: Name;
  /** Processor time of the engine, the program and the provider together. */
  seconds: number;
  requests: number;
}

type Args = Record<string, unknown>;

/** The arguments of `n` resources of each kind. */
async function argsOf(n: number): Promise<Record<Kind, Args[]>> {
  const issuer = await makeCertificate({ commonName: "Benchmark CA", isCa: true });
  const all: Record<Kind, Args[]> = { TLSCertificate: [], TLSEdge: [] };
  for (let index = 0; index < n; index++) {
    const domain = `app-${index}.example.com`;
    const made = await makeCertificate({ commonName: domain, dnsNames: [domain], issuer });
    const { certificatePem, privateKeyPem } = made;
    all.TLSCertificate.push({ certificatePem, privateKeyPem });
    all.TLSEdge.push({
      hostports: [`${domain}:443`],
      backend: { backendId: "bkdtg_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr" },
      ipRestriction: { ipPolicyIds: ["ipp_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
      mutualTls: { certificateAuthorityIds: ["ca_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
      tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
    });
  }
  return all;
}

async function open(name: Name): Promise<Project> {
  const env = { NODE_COMPILE_CACHE: undefined, TLSEDGE_REQUESTS_PER_MINUTE: "0" };
  const project = await Project.create({}, env, name);
  project.emulator.faults.add({ answer: { afterMs: latencyMs }, times: Number.MAX_SAFE_INTEGER });
  return project;
}

/** Writes a program that declares the resources. */
function declare(project: Project, name: Name, kind: Kind, all: Args[], description: string) {
  const resources = JSON.stringify(all.map((args) => ({ description, ...args })));
  return project.program(
    `const sdk = require(${JSON.stringify(contestants[name].sdk)});
for (const [index, args] of ${resources}.entries()) new sdk.${kind}("resource-" + index, args);`,
    "",
  );
}

async function measure(project: Project, command: string, result: string) {
  const before = project.emulator.requests.length;
  const { cli, stack } = project;
  const timed = ["-c", '"$@"; times', "sh", cli.command, ...command.split(" ")];
  const { output } = await project.start([...timed, "--stack", stack, "--non-interactive"], "sh")
    .done;
  const last = output.trimEnd().split("\n").slice(-40);
  assert.ok(
    output.includes(result),
    `${command} did not end with "${result}":\n${last.join("\n")}`,
  );
  // The shell's `times` prints the user and system time of its children last.
  const times = [...(last.at(-1) ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
  const seconds = times.reduce(
    (sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest),
    0,
  );
  return { seconds, requests: project.emulator.requests.length - before };
}

/** Measures a stack of one kind through all phases; `run` decides who comes first. */
async function measureAll([kind, plural]: [Kind, string], args: Args[], run: number) {
  const all: Measured[] = [];
  const projects = new Map<Name, Project>();
  try {
    for (const name of names) projects.set(name, await open(name));
    for (const [index, [title, command, result]] of phases.entries()) {
      // They take turns, so that noise affects all alike.
      const first = (run + index) % names.length;
      for (const name of [...names.slice(first), ...names.slice(0, first)]) {
        const project = projects.get(name) as Project;
        const text = title === "update of all" ? "A later text" : "The first text";
        await declare(project, name, kind, args, text);
        const measured = await measure(project, command, result(args.length));
        const row = `${args.length} ${plural}: ${title}`;
        all.push({ row, name, ...measured });
        console.error(`run ${run + 1}, ${row}, ${name}: ${measured.seconds.toFixed(2)} s`);
      }
    }
    return all;
  } finally {
    for (const project of projects.values()) await project.close();
  }
}

async function main(): Promise<void> {
  const { n, runs } = program
    .name("npm run bench --")
    .description(`Measures stacks of both protocols on the real engine.
They take turns phase by phase. Prints the table of docs/performance.md.`)
    .option("--n <n>", "how many resources a stack has", wholeNumber, 100)
    .option("--runs <n>", "how often each stack is measured", wholeNumber, 3)
    .parse()
    .opts<{ n: number; runs: number }>();
  const [load = 0] = loadavg();
  const { version } = await findOrBuildPulumi();
  const args = await argsOf(n);
  const all: Measured[] = [];
  for (let run = 0; run < runs; run++) {
    for (const kind of kinds) all.push(...(await measureAll(kind, args[kind[0]], run)));
  }
  console.log(report(all, version, load, runs));
}

function report(all: Measured[], cli: string, load: number, runs: number): string {
  const rows = [...new Set(all.map(({ row }) => row))].map((row) => [
    row,
    ...names.map((name) => {
      const own = all.filter((one) => one.row === row && one.name === name);
      const seconds = own.map((one) => one.seconds).sort((a, b) => a - b);
      const middle = seconds.length / 2;
      const [low = 0, high = 0] = [seconds[Math.ceil(middle) - 1], seconds[Math.floor(middle)]];
      const median = (low + high) / 2;
      return `${seconds[0]?.toFixed(2)} (${median.toFixed(2)}), ${own[0]?.requests}`;
    }),
  ]);
  const heads = [
    "Least (median) seconds of processor time, requests",
    ...names.map((name) => contestants[name].title),
  ];
  return `Measured with Node.js ${process.versions.node}, Pulumi CLI ${cli} and \`@pulumi/pulumi\` ${pulumiSdk};
the service delayed each answer by ${latencyMs} ms. The load of the machine was ${load.toFixed(1)} before. Runs: ${runs}.

${[heads, heads.map(() => "--:"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")}`;
}

main();
