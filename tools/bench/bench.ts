import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import path from "node:path";
import { version as pulumiSdk } from "@pulumi/pulumi/version";
import { program } from "commander";
import { build } from "esbuild";
import { makeCertificate } from "../../emulator/server";
import { wholeNumber } from "../command";
import { Project } from "../engine";
import { newFolder, repository } from "../folders";
import { missing, programs } from "../languages";
import { findOrBuildPulumi } from "../pulumi";
import { measureGrowth } from "./growth";
import { measureLimits } from "./limits";

/** How each answer of the service is delayed. */
const latencyMs = 20;
/** How many resources a stack has. */
const n = 100;

const floor = path.join(newFolder(), "floor.js");
/** A program in JavaScript loads the classes of `sdk`; one in YAML starts the plugin in `file`. */
const contestants = {
  dynamic: { sdk: "pulumi-tlsedge", file: "" },
  plugin: { sdk: path.join(repository, "tools", "pluginSdk.cjs"), file: "" },
  floor: { sdk: "", file: floor },
  yaml: { sdk: "", file: path.join(repository, "plugin", "dist", "pulumi-resource-tlsedge.js") },
};
type Name = keyof typeof contestants;

/** The phases in their order: the command of each, and what it prints at the end. */
const phases: [title: string, command: string, result: (n: number) => string][] = [
  ["create", "up --yes --skip-preview", (n) => `+ ${n + 1} created`],
  ["plan, nothing to do", "preview", (n) => `${n + 1} unchanged`],
  ["refresh", "refresh --yes --skip-preview", (n) => `${n + 1} unchanged`],
  ["plan that reads", "preview --refresh", (n) => `${n + 1} unchanged`],
  ["update of all", "up --yes --skip-preview", (n) => `~ ${n} updated`],
  ["destroy", "destroy --yes --skip-preview", (n) => `- ${n + 1} deleted`],
];

/** Who takes turns: programs in JavaScript, and in YAML. */
const contests: [Name, Name][] = [
  ["dynamic", "plugin"],
  ["floor", "yaml"],
];

/** A phase of one contestant. */
interface Measured {
  row: string;
  name: Name;
  /** Processor time of the engine, the program and the provider together; in YAML, of the plugin alone. */
  seconds: number;
  clockSeconds: number;
  requests: number;
}

type Args = Record<string, unknown>;

/** The arguments of `n` certificates. */
async function makeArgs(): Promise<Args[]> {
  const issuer = await makeCertificate({ commonName: "Benchmark CA", isCa: true });
  const all: Args[] = [];
  for (let index = 0; index < n; index++) {
    const domain = `app-${index}.example.com`;
    const made = await makeCertificate({ commonName: domain, dnsNames: [domain], issuer });
    const { certificatePem, privateKeyPem } = made;
    all.push({ certificatePem, privateKeyPem });
  }
  return all;
}

async function open(name: Name): Promise<Project> {
  const env = { NODE_COMPILE_CACHE: undefined, TLSEDGE_REQUESTS_PER_MINUTE: "0" };
  const project = await Project.create({}, env, name === "dynamic" ? "dynamic" : "plugin");
  project.emulator.faults.add({ answer: { afterMs: latencyMs }, times: Number.MAX_SAFE_INTEGER });
  return project;
}

/** Writes a program that declares the certificates. */
async function declare(project: Project, name: Name, all: Args[], description: string) {
  const { sdk, file } = contestants[name];
  if (file) return declareInYaml(project, file, all, description);
  const resources = JSON.stringify(all.map((args) => ({ description, ...args })));
  return project.program(
    `const sdk = require(${JSON.stringify(sdk)});
for (const [index, args] of ${resources}.entries()) new sdk.TLSCertificate("resource-" + index, args);`,
    "",
  );
}

/** Each process of the plugin adds a line to the file: the seconds of processor time that it took. */
const times = "times.txt";

async function declareInYaml({ folder }: Project, file: string, all: Args[], description: string) {
  const note = path.join(folder, "note.cjs");
  await writeFile(
    note,
    `process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  require("fs").appendFileSync(${JSON.stringify(path.join(folder, times))}, (user + system) / 1e6 + "\\n");
});`,
  );
  const launcher = `#!/bin/sh\nexec node --require "${note}" "${file}" "$@"\n`;
  await writeFile(path.join(folder, "pulumi-resource-tlsedge"), launcher, { mode: 0o755 });
  const resources = all.map(({ privateKeyPem, ...args }, index) => {
    const secret = { "fn::secret": privateKeyPem };
    const properties = { description, ...args, privateKeyPem: secret };
    return [`resource-${index}`, { type: "tlsedge:TLSCertificate", properties }];
  });
  const text = `resources: ${JSON.stringify(Object.fromEntries(resources))}`;
  await programs.yaml(folder, text, { plugin: folder });
}

async function measure(project: Project, name: Name, command: string, result: string) {
  const before = project.emulator.requests.length;
  const { cli, stack } = project;
  const own = path.join(project.folder, times);
  await rm(own, { force: true });
  const startedAt = performance.now();
  const timed = ["-c", '"$@"; times', "sh", cli.command, ...command.split(" ")];
  const { output } = await project.start([...timed, "--stack", stack, "--non-interactive"], "sh")
    .done;
  const clockSeconds = (performance.now() - startedAt) / 1000;
  const last = output.trimEnd().split("\n").slice(-40);
  assert.ok(
    output.includes(result),
    `${command} did not end with "${result}":\n${last.join("\n")}`,
  );
  // The shell's `times` prints the user and system time of its children last.
  const all = [...(last.at(-1) ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
  const each = contestants[name].file
    ? (await readFile(own, "utf8")).trim().split("\n")
    : all.map(([, minutes, rest]) => Number(minutes) * 60 + Number(rest));
  const seconds = each.reduce((sum: number, one) => sum + Number(one), 0);
  return { seconds, clockSeconds, requests: project.emulator.requests.length - before };
}

/** Measures stacks through all phases; `run` decides who comes first. */
async function measureAll(names: [Name, Name], args: Args[], run: number) {
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
        await declare(project, name, args, text);
        const measured = await measure(project, name, command, result(args.length));
        all.push({ row: title, name, ...measured });
        console.error(`${title}, ${name}: ${measured.seconds.toFixed(2)} s`);
      }
    }
    return all;
  } finally {
    for (const project of projects.values()) await project.close();
  }
}

async function main(): Promise<void> {
  const { limits, growth, runs } = program
    .name("npm run bench --")
    .description(`Measures what must cost in proportion, and stacks of both protocols on the real engine, in turns.
Prints ratios and tables; docs/performance.md has what users need of them. Exits with 1 above a limit.`)
    .option("--limits", "measures no stacks")
    .option("--growth", "measures only features with n and 4 n of what they work with")
    .option("--runs <n>", "how often each is measured", wholeNumber, 3)
    .parse()
    .opts<{ limits?: boolean; growth?: boolean; runs: number }>();
  const areWithin = [await measureGrowth(runs)];
  if (!growth) areWithin.push(await measureLimits(runs));
  if (!growth && !limits) await measureStacks(runs);
  process.exitCode = areWithin.every(Boolean) ? 0 : 1;
}

async function measureStacks(runs: number): Promise<void> {
  const [load = 0] = loadavg();
  const { version } = await findOrBuildPulumi();
  console.log(`Node.js ${process.versions.node}, Pulumi CLI ${version}, \`@pulumi/pulumi\` ${pulumiSdk}, ${latencyMs} ms an answer.
The load of the machine was ${load.toFixed(1)} before. The least of ${runs} runs.\n`);
  const args = await makeArgs();
  const options = { bundle: true, platform: "node", target: "node10", minify: true } as const;
  await build({ ...options, entryPoints: [path.join(__dirname, "floor.ts")], outfile: floor });
  const possible = (await missing("yaml")) ? contests.slice(0, 1) : contests;
  for (const names of possible) {
    const all: Measured[] = [];
    for (let run = 0; run < runs; run++) all.push(...(await measureAll(names, args, run)));
    console.log(`${report(names, all)}\n`);
  }
}

function report(names: [Name, Name], all: Measured[]): string {
  const least = (row: string, name: Name, which: "seconds" | "clockSeconds" | "requests") =>
    Math.min(...all.filter((one) => one.row === row && one.name === name).map((one) => one[which]));
  const heads = [
    `${n} certificates: processor seconds, requests`,
    ...names,
    "Ratio",
    "By the clock",
  ];
  const rows = phases.map(([row]) => [
    row,
    ...names.map(
      (name) => `${least(row, name, "seconds").toFixed(2)}, ${least(row, name, "requests")}`,
    ),
    ...(["seconds", "clockSeconds"] as const).map((which) =>
      (least(row, names[1], which) / least(row, names[0], which)).toFixed(2),
    ),
  ]);
  return [heads, heads.map(() => "--:"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

main();
