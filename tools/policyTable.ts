import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Emulator, startEmulator } from "pulumi-tlsedge-emulator";
import { type Explained, policies } from "pulumi-tlsedge-policy";
import { certificates, unknowns } from "./policyCases.ts";
import { readProfiles, table } from "./policyPages.ts";
import { findOrBuildPulumi, type PulumiCli } from "./pulumi.ts";

const repository = process.cwd();

/** What is read of the engine's event log. */
interface EngineEvent {
  policyEvent?: { policyName: string; enforcementLevel: string; message: string };
  policyRemediationEvent?: { policyName: string };
}

/** One command of the engine. */
interface Run {
  code: number | null;
  output: string;
  events: EngineEvent[];
  /** How many requests the service got. */
  requests: number;
}

/** A Pulumi project; each program gets a stack of its own. */
class Engine {
  readonly folder: string;
  readonly #cli: PulumiCli;
  readonly #emulator: Emulator;
  #stacks = 0;

  constructor(folder: string, cli: PulumiCli, emulator: Emulator) {
    this.folder = folder;
    this.#cli = cli;
    this.#emulator = emulator;
  }

  file(name: string, text: string): Promise<void> {
    return writeFile(path.join(this.folder, name), text);
  }

  async prepare(): Promise<void> {
    await mkdir(path.join(this.folder, "state"));
    await symlink(
      path.join(repository, "node_modules"),
      path.join(this.folder, "node_modules"),
      "junction",
    );
    await this.file("Pulumi.yaml", "name: table\nruntime: nodejs\n");
    await this.file("package.json", '{ "name": "table", "main": "index.js" }');
    await this.file("ca.pem", this.#emulator.ca);
    for (const [name, pair] of Object.entries(await certificates())) {
      await this.file(`${name}.pem`, pair.certificatePem);
      await this.file(`${name}.key`, pair.privateKeyPem);
    }
  }

  /** Runs a program, on an empty account, under one policy alone. */
  async run(program: string, command: string[], { name }: Explained, level: string): Promise<Run> {
    this.#emulator.reset();
    this.#stacks += 1;
    const stack = `run${this.#stacks}`;
    await this.file("index.js", `${prelude(program)}${program}\n`);
    await this.file("config.json", JSON.stringify({ all: "disabled", [name]: level }));
    await this.#pulumi("stack", "init", stack);
    const { code, output } = await this.#pulumi(
      ...[...command, "--stack", stack, "--event-log", "events.json"],
      ...["--policy-pack", path.join(this.folder, "node_modules", "pulumi-tlsedge-policy")],
      ...["--policy-pack-config", "config.json"],
    );
    const log = await readFile(path.join(this.folder, "events.json"), "utf8");
    await rm(path.join(this.folder, "events.json"));
    const events = log
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as EngineEvent);
    return { code, output, events, requests: this.#emulator.requests.length };
  }

  /** The lowest TLS version of the only edge that the service has. */
  get minVersion(): string | null | undefined {
    return this.#emulator.tlsEdges.list()[0]?.tls_termination?.min_version;
  }

  #pulumi(...args: string[]): Promise<{ code: number | null; output: string }> {
    const inFolder = (name: string) => path.join(this.folder, name);
    const env = {
      ...this.#cli.env,
      PULUMI_HOME: inFolder("home"),
      PULUMI_BACKEND_URL: `file://${inFolder("state")}`,
      PULUMI_CONFIG_PASSPHRASE: "table",
      PULUMI_DEBUG_COMMANDS: "true",
      TLSEDGE_BASE_URL: this.#emulator.url,
      TLSEDGE_API_KEY: this.#emulator.apiKey,
      TLSEDGE_CA_FILE: inFolder("ca.pem"),
    };
    return new Promise((resolve) => {
      const child = execFile(
        this.#cli.command,
        [...args, "--non-interactive"],
        { cwd: this.folder, env, maxBuffer: 1 << 26 },
        (_error, stdout, stderr) => resolve({ code: child.exitCode, output: stdout + stderr }),
      );
    });
  }
}

/** The id of an edge that is yet to be made is not known in a plan. */
function prelude(program: string): string {
  const source = `const unknown = new TLSEdge("source", {
  metadata: JSON.stringify({ owner: "nobody" }),
  ipRestriction: { ipPolicyIds: ["ipp_1"] },
}, { protect: true }).id;
`;
  return `const { readFileSync } = require("node:fs");
const { TLSCertificate, TLSEdge } = require("pulumi-tlsedge");
${program.includes("unknown") ? source : ""}`;
}

/** A run that did not go as the table is to say. */
function unexpected(policy: Explained, { code, output }: Run): Error {
  return new Error(`${policy.name}: exit code ${code}\n${output}`);
}

/** What the engine did with each program, in the words of the table. */
async function outcomes(engine: Engine, policy: (typeof policies)[number]): Promise<string[]> {
  const { violation, fix } = policy.example;
  const up = ["up", "--yes"];
  const said = ({ events }: Run) =>
    events.flatMap(({ policyEvent }) => policyEvent ?? []).map((event) => event.enforcementLevel);

  const violating = await engine.run(violation, up, policy, "mandatory");
  if (violating.code === 0 || !said(violating).includes("mandatory")) {
    throw unexpected(policy, violating);
  }
  const fixed = await engine.run(fix, up, policy, "mandatory");
  if (fixed.code !== 0 || said(fixed).length > 0) throw unexpected(policy, fixed);

  const program = unknowns[policy.name] ?? "";
  const unknown = await engine.run(program, ["preview"], policy, "mandatory");
  if (unknown.code !== 0 || said(unknown).includes("mandatory")) throw unexpected(policy, unknown);
  const asked = said(unknown).includes("advisory");
  const { requests } = violating;
  return [
    requests === 0 ? "stopped before any request" : `stopped after ${requests} requests`,
    "deployed",
    asked ? "no violation; to be judged in the update" : "no violation",
    await remediated(engine, policy),
  ];
}

async function remediated(engine: Engine, policy: (typeof policies)[number]): Promise<string> {
  if (!("remediateResource" in policy)) return "–";
  const run = await engine.run(policy.example.violation, ["up", "--yes"], policy, "remediate");
  const done = run.events.some(({ policyRemediationEvent }) => policyRemediationEvent);
  if (run.code !== 0 || !done) throw unexpected(policy, run);
  return `deployed with \`${engine.minVersion}\``;
}

async function main(): Promise<void> {
  const emulator = await startEmulator();
  const folder = await mkdtemp(path.join(tmpdir(), "tlsedge-policies-"));
  try {
    const engine = new Engine(folder, await findOrBuildPulumi(), emulator);
    await engine.prepare();
    const profiles = Object.values(readProfiles());
    const rows: string[][] = [];
    for (const policy of policies) {
      console.error(policy.name);
      const levels = profiles.map((profile) => profile[policy.name]?.enforcementLevel ?? "");
      const link = `[\`${policy.name}\`](${policy.name}.md)`;
      rows.push([link, policy.severity, ...levels, ...(await outcomes(engine, policy))]);
    }
    const head = ["Policy", "Severity", "`baseline`", "`production`"];
    const columns = ["Violation", "Fixed", "Not known yet", "Remediated"];
    const text = readme(table([...head, ...columns], rows));
    await writeFile(path.join(repository, "docs", "policies", "README.md"), text);
  } finally {
    await emulator.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function readme(rows: string): string {
  return `# Policies

What each policy of \`pulumi-tlsedge-policy\` does on the real engine, when it alone is on, at the level
\`mandatory\`: with the violation and the fix of its page's example in \`pulumi up\`, with what it looks
at not known yet in \`pulumi preview\`, and with the violation at the level \`remediate\`.

${rows}

<!-- Made by \`npm run policies:table\` from the engine's own events. -->
`;
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
