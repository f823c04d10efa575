import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import type { PulumiCli } from "../pulumi.ts";
import { peakMemory } from "./memory.ts";
import type { Contestant, Kind, Phase, StateSize } from "./results.ts";
import type { Service } from "./service.ts";
import type { Declared } from "./stacks.ts";

const repository = process.cwd();
const programs = path.join(repository, "tools", "bench", "programs");
/** As long as `pulumi-tlsedge`: the provider's text stands in every resource's state. */
const floorPackage = "tlsedge-floors";
/** A command that takes longer hangs. */
const longestMs = 3_600_000;

/** A resource of this package in an exported state. */
export interface Exported {
  urn: string;
  type: string;
  id: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
}

/** What a phase is expected to say in the end, and the command for it. */
const commands: Record<Phase, { args: string[]; done(n: number): string }> = {
  create: { args: ["up", "--yes", "--skip-preview"], done: (n) => `+ ${n + 1} created` },
  preview: { args: ["preview"], done: (n) => `${n + 1} unchanged` },
  refresh: { args: ["refresh", "--yes", "--skip-preview"], done: (n) => `${n + 1} unchanged` },
  update: { args: ["up", "--yes", "--skip-preview"], done: (n) => `~ ${n} updated` },
  replace: { args: ["up", "--yes", "--skip-preview"], done: () => "+-1 replaced" },
  destroy: { args: ["destroy", "--yes", "--skip-preview"], done: (n) => `- ${n + 1} deleted` },
};

/** A Pulumi project of one contestant, with a stack that is empty at first. */
export class Project {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #command: string;

  constructor(folder: string, cli: PulumiCli, service: Service, limit: number | undefined) {
    this.folder = folder;
    this.#command = cli.command;
    this.env = {
      ...cli.env,
      PULUMI_HOME: path.join(path.dirname(folder), "home"),
      PULUMI_BACKEND_URL: `file://${path.join(folder, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: "benchmark",
      NO_COLOR: "1",
      NODE_OPTIONS: `--require=${path.join(programs, "noCompiler.cjs")}`,
      TLSEDGE_BASE_URL: service.url,
      TLSEDGE_API_KEY: service.apiKey,
      TLSEDGE_CA_FILE: path.join(folder, "ca.pem"),
      TLSEDGE_REQUESTS_PER_MINUTE: String(limit ?? 0),
    };
  }

  /** Writes the project anew, its stack empty. */
  async prepare(contestant: Contestant, ca: string, recordings: object): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    const modules = path.join(this.folder, "node_modules");
    const floor = path.join(modules, floorPackage);
    await mkdir(path.join(this.folder, "state"), { recursive: true });
    await mkdir(floor, { recursive: true });
    for (const name of ["@pulumi", "axios", "pulumi-tlsedge"]) {
      await symlink(path.join(repository, "node_modules", name), path.join(modules, name));
    }
    await copyFile(path.join(programs, "floorProvider.cjs"), path.join(floor, "provider.js"));
    await writeFile(path.join(floor, "recordings.json"), JSON.stringify(recordings));
    await copyFile(path.join(programs, `${contestant}.cjs`), path.join(this.folder, "index.js"));
    const dependencies = { "@pulumi/pulumi": "*", axios: "*" };
    const manifest = { name: "bench", main: "index.js", dependencies };
    await this.#file("package.json", JSON.stringify(manifest));
    await this.#file(
      "Pulumi.yaml",
      "name: bench\nruntime: { name: nodejs, options: { typescript: false } }\n",
    );
    await this.#file("ca.pem", ca);
    // The conventional provider knows no setting for an authority.
    if (contestant === "conventional") this.env.NODE_EXTRA_CA_CERTS = this.env.TLSEDGE_CA_FILE;
    await this.#pulumi(["stack", "init", "dev"]);
  }

  /** What the program declares from now on. */
  async declare(kind: Kind, resources: Declared[]): Promise<void> {
    await this.#file("resources.json", JSON.stringify({ kind, resources }));
  }

  /** Runs a phase and sees that the engine did what the phase is about. */
  async run(phase: Phase, n: number): Promise<{ seconds: number; peakMiB: number | undefined }> {
    const { args, done } = commands[phase];
    const memory = peakMemory(this.folder);
    const started = performance.now();
    const output = await this.#pulumi([...args, "--stack", "dev"]).finally(memory.stop);
    const seconds = (performance.now() - started) / 1000;
    assert.ok(output.includes(done(n)), `${phase} did not end with "${done(n)}":\n${last(output)}`);
    return { seconds, peakMiB: memory.peakMiB() };
  }

  /** The resources of the stack, without the engine's own. */
  async exported(): Promise<Exported[]> {
    const output = await this.#pulumi(["stack", "export", "--stack", "dev"]);
    const { deployment } = JSON.parse(output) as { deployment: { resources?: Exported[] } };
    return (deployment.resources ?? []).filter(({ type }) => type.includes(":dynamic"));
  }

  #file(name: string, text: string): Promise<void> {
    return writeFile(path.join(this.folder, name), text);
  }

  async #pulumi(args: string[]): Promise<string> {
    const child = spawn(this.#command, [...args, "--non-interactive"], {
      cwd: this.folder,
      env: this.env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: longestMs,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data) => (stdout += data));
    child.stderr.on("data", (data) => (stderr += data));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    assert.equal(code, 0, `pulumi ${args.join(" ")} failed:\n${last(stdout + stderr)}`);
    return stdout;
  }
}

/** The end of what was printed: the engine says there what failed. */
function last(output: string): string {
  return output.split("\n").slice(-40).join("\n");
}

/** As `pulumi stack export` prints it: each line of a resource stands twelve columns in. */
export function sizeOf(resources: Exported[]): StateSize {
  const indent = (value: unknown, columns: number) =>
    JSON.stringify(value, null, 4).replaceAll("\n", `\n${" ".repeat(columns)}`);
  const mean = (text: (resource: Exported) => string) =>
    resources.reduce((sum, resource) => sum + Buffer.byteLength(text(resource)), 0) /
    resources.length;
  return {
    // With its own indentation, comma and line end.
    whole: mean((resource) => `${" ".repeat(12)}${indent(resource, 12)},\n`),
    inputs: mean(({ inputs }) => indent(inputs, 16)),
    outputs: mean(({ outputs }) => indent(outputs, 16)),
  };
}

/** The length of all that is stored of a resource, but for the clock's and the program's lines. */
export function weightOf(resource: Exported): number {
  const fixed = JSON.stringify(resource, (key, value) =>
    ["created", "modified"].includes(key) ? undefined : value,
  );
  return Buffer.byteLength(fixed.replaceAll(/#\d+,\d+"/g, '"'));
}

/** A file of the project, read back. */
export function readIn(project: Project, name: string): Promise<string> {
  return readFile(path.join(project.folder, name), "utf8");
}
