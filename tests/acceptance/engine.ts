import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  type CertificateOptions,
  type Emulator,
  type EmulatorOptions,
  type Fault,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../../emulator/server";
import { descendants, end, type Process, providerOf } from "../../tools/faults/processes";
import { findOrBuildPulumi } from "../../tools/pulumi";

const repository = join(__dirname, "..", "..");
const passphrase = "acceptance";

/** What a command of the CLI did. */
export interface Run {
  code: number;
  /** Everything that a person would have seen. */
  output: string;
  /** Resources by what was done with them: `{ create: 2, same: 1 }`. The stack itself is left out. */
  changes: Record<string, number>;
  /** The steps in the order in which the engine took them: `create:app`. */
  steps: string[];
  /** For each resource with a diff, the properties in it. */
  diffs: Record<string, string[]>;
  /** The requests that the service got, as `GET /edges/tls/…`. */
  requests: string[];
  /** How many times the engine wrote its state. */
  writes: number;
  /** What the engine told of itself, its debug messages left out. */
  events: EngineEvent[];
}

interface EngineEvent {
  resourcePreEvent?: { metadata: StepMetadata };
  resOutputsEvent?: { metadata: StepMetadata };
  summaryEvent?: { resourceChanges: Record<string, number> };
  policyEvent?: { policyName: string; enforcementLevel: string; resourceUrn?: string };
  policyRemediationEvent?: { policyName: string };
}

interface StepMetadata {
  op: string;
  urn: string;
  type: string;
  diffs?: string[] | null;
  detailedDiff?: Record<string, unknown> | null;
}

/** A stack's resource, as `pulumi stack export` shows it. */
export interface ExportedResource {
  urn: string;
  type: string;
  id?: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
}

/**
 * A Pulumi project in a folder of its own, on the real engine, against an emulator of its own.
 * Whatever the engine prints or stores, in every command, is searched for the secrets.
 */
export class Project {
  /** The stack that commands are about. */
  stack = "dev";

  private constructor(
    readonly folder: string,
    readonly emulator: Emulator,
    readonly env: NodeJS.ProcessEnv,
    private readonly command: string,
    private readonly secrets: Map<string, string>,
  ) {}

  /** A project whose program a test writes, with an empty stack `dev`. */
  static async create(options: EmulatorOptions = {}): Promise<Project> {
    const project = await Project.empty(options);
    await project.file(
      "Pulumi.yaml",
      "name: acceptance\nruntime: { name: nodejs, options: { typescript: false } }\n",
    );
    await project.file("package.json", '{ "name": "acceptance", "main": "index.js" }');
    await project.select("dev");
    return project;
  }

  /** A copy of these files and folders of the repository, with no stack yet. */
  static async copyOf(paths: Record<string, string>, options?: EmulatorOptions): Promise<Project> {
    const project = await Project.empty(options ?? {});
    for (const [from, to] of Object.entries(paths)) {
      await cp(join(repository, from), join(project.folder, to), { recursive: true });
    }
    return project;
  }

  private static async empty(options: EmulatorOptions): Promise<Project> {
    const { command, env } = await findOrBuildPulumi();
    const emulator = await startEmulator(options);
    const folder = await mkdtemp(join(tmpdir(), "tlsedge-"));
    const inFolder = (name: string) => join(folder, name);
    await mkdir(inFolder("state"));
    await symlink(join(repository, "node_modules"), inFolder("node_modules"));
    await writeFile(inFolder("ca.pem"), emulator.ca);
    const project = new Project(
      folder,
      emulator,
      {
        ...env,
        PULUMI_HOME: inFolder("home"),
        PULUMI_BACKEND_URL: `file://${inFolder("state")}`,
        PULUMI_CONFIG_PASSPHRASE: passphrase,
        PULUMI_SKIP_UPDATE_CHECK: "true",
        // One file for each write of the state.
        PULUMI_RETAIN_CHECKPOINTS: "true",
        // The linter has checked the types of the examples.
        PULUMI_NODEJS_TRANSPILE_ONLY: "true",
        // Each command starts two Node.js processes that load the same code.
        NODE_COMPILE_CACHE: join(repository, "node_modules", ".cache", "compile"),
        NODE_V8_COVERAGE: "",
        // For --event-log.
        PULUMI_DEBUG_COMMANDS: "true",
        NO_COLOR: "1",
        TLSEDGE_BASE_URL: emulator.url,
        TLSEDGE_API_KEY: emulator.apiKey,
        TLSEDGE_CA_FILE: inFolder("ca.pem"),
      },
      command,
      new Map(),
    );
    project.keepSecret("the API key", emulator.apiKey);
    return project;
  }

  /** Commands are about this stack from now on; it is made if need be. */
  async select(stack: string): Promise<void> {
    this.stack = stack;
    await this.succeedsQuietly("stack", "select", "--create");
  }

  /** Writes a certificate and its key as an ACME client does; the key is kept secret. */
  async certificate(folder: string, options: CertificateOptions): Promise<MadeCertificate> {
    const made = await makeCertificate(options);
    this.keepSecret(`the key of ${folder}`, made.privateKeyPem);
    await mkdir(join(this.folder, folder), { recursive: true });
    await this.file(join(folder, "fullchain.pem"), made.certificatePem);
    await this.file(join(folder, "privkey.pem"), made.privateKeyPem);
    return made;
  }

  async close(): Promise<void> {
    await this.emulator.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Writes the program. `tlsedge` and `pulumi` are in scope; exports are stack outputs. */
  async program(
    text: string,
    imports = 'const tlsedge = require("pulumi-tlsedge");',
  ): Promise<void> {
    await this.file(
      "index.js",
      `const pulumi = require("@pulumi/pulumi");\n${imports}\n` +
        `const { readFileSync } = require("node:fs");\n${text}\n`,
    );
  }

  async file(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name));
  }

  /** From now on no command may show or store this text: plain, in base64 or URL-encoded. */
  keepSecret(name: string, text: string): void {
    // Of a PEM block, a line of its body: how its line breaks are escaped must not matter.
    const part = text.split("\n").find((line) => line.length > 40) ?? text;
    this.secrets.set(part, name);
    this.secrets.set(Buffer.from(text).toString("base64").slice(0, 60), `${name} in base64`);
    this.secrets.set(encodeURIComponent(part), `${name}, URL-encoded`);
  }

  up(...args: string[]): Promise<Run> {
    return this.succeeds("up", "--yes", "--skip-preview", ...args);
  }

  preview(...args: string[]): Promise<Run> {
    return this.succeeds("preview", "--diff", ...args);
  }

  refresh(...args: string[]): Promise<Run> {
    return this.succeeds("refresh", "--yes", "--skip-preview", ...args);
  }

  destroy(...args: string[]): Promise<Run> {
    return this.succeeds("destroy", "--yes", "--skip-preview", ...args);
  }

  async succeeds(...args: string[]): Promise<Run> {
    const run = await this.engine(...args);
    assert.equal(run.code, 0, `pulumi ${args.join(" ")} failed:\n${run.output}`);
    return run;
  }

  async fails(...args: string[]): Promise<Run> {
    const run = await this.engine(...args);
    assert.notEqual(run.code, 0, `pulumi ${args.join(" ")} should have failed:\n${run.output}`);
    return run;
  }

  /** A command that does not run the engine, such as `config set`. */
  async succeedsQuietly(...args: string[]): Promise<void> {
    const { code, output } = await this.pulumi(...args, "--stack", this.stack);
    assert.equal(code, 0, `pulumi ${args[0]} ${args[1]} failed:\n${output}`);
  }

  /** A command that runs the engine, with what it did read from the engine's own event log. */
  async engine(...args: string[]): Promise<Run> {
    const log = join(this.folder, "events.json");
    await rm(log, { force: true });
    const before = this.emulator.requests.length;
    const written = (await this.checkpoints()).length;
    const { code, output } = await this.pulumi(...args, "--stack", this.stack, "--event-log", log);
    const text = await readFile(log, "utf8").catch(() => "");
    const lines = text.split("\n").filter(Boolean);
    // Pulumi's own debug messages quote its RPCs, secrets too; no other way to read events has them.
    const shown = lines.filter((line) => !line.includes('"severity":"debug"'));
    this.scan("the event log", shown.join("\n"));
    await this.exported();
    const events = shown.map((line) => JSON.parse(line) as EngineEvent);
    const metadata = events.flatMap(({ resourcePreEvent }) => resourcePreEvent?.metadata ?? []);
    const ours = metadata.filter(({ type }) => type.includes("tlsedge:"));
    const name = (urn: string) => urn.split("::").at(-1) as string;
    const changes = {
      ...events.find((event) => event.summaryEvent)?.summaryEvent?.resourceChanges,
    };
    return {
      code,
      output,
      changes,
      steps: ours.map(({ op, urn }) => `${op}:${name(urn)}`),
      diffs: Object.fromEntries(ours.map(({ urn, diffs }) => [name(urn), diffs ?? []])),
      requests: this.emulator.requests
        .slice(before)
        .map(({ method, path }) => `${method} ${path.replace(/(?:edgtls|cert)_\w+/, ":id")}`),
      writes: (await this.checkpoints()).length - written,
      events,
    };
  }

  private async checkpoints(): Promise<string[]> {
    const names = await readdir(join(this.folder, "state"), { recursive: true });
    return names.filter((name) => /stacks.*\.json\.\d+/.test(name));
  }

  /** Any command of the CLI. */
  async pulumi(...args: string[]): Promise<{ code: number; output: string }> {
    return this.run(this.command, [...args, "--non-interactive"]);
  }

  /** A script of the project. */
  async node(script: string, ...args: string[]): Promise<{ code: number; output: string }> {
    return this.run(process.execPath, [script, ...args]);
  }

  /** Sets a secret of the config, told as a person would tell a long one: through a pipe. */
  async setSecret(path: string, value: string): Promise<void> {
    const args = ["config", "set", "--secret", "--path", path, "--stack", this.stack];
    const { code, output } = await this.run(this.command, args, value);
    assert.equal(code, 0, output);
  }

  /** Runs a command, and kills its engine or that one's provider when a request meets the fault. */
  killed(victim: "engine" | "provider", fault: Fault, ...args: string[]): Promise<string> {
    return this.struck(fault, args, (engine, started) => {
      process.kill(victim === "engine" ? engine : providerOf(started), "SIGKILL");
    });
  }

  /**
   * Runs a command, and calls `then` with its pid and the processes it has started when the fault
   * has struck as often as it may.
   */
  async struck(
    fault: Fault,
    args: string[],
    then: (pid: number, started: Process[]) => void | Promise<void>,
  ): Promise<string> {
    this.emulator.faults.add(fault);
    const all = [...args, "--yes", "--skip-preview", "--non-interactive", "--stack", this.stack];
    const child = spawn(this.command, all, { cwd: this.folder, env: this.env });
    const pid = child.pid as number;
    const done = this.outcome(child, all);
    const { times = 1 } = fault;
    while (!this.emulator.faults.list().some(({ struck }) => struck >= times)) {
      assert.equal(child.exitCode, null, "the request never came");
      await setTimeout(10);
    }
    const started = descendants(pid);
    try {
      await then(pid, started);
      return (await done).output;
    } finally {
      this.emulator.faults.clear();
      end(started);
    }
  }

  private async run(
    command: string,
    args: string[],
    input = "",
  ): Promise<{ code: number; output: string }> {
    const child = spawn(command, args, { cwd: this.folder, env: this.env });
    child.stdin.end(input);
    return this.outcome(child, args);
  }

  private async outcome(child: ChildProcessWithoutNullStreams, args: string[]) {
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    const code = await new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      // What a killed one has left behind may hold its pipes open.
      child.on("exit", (_, signal) => signal && resolve(-1));
      child.on("close", (exit) => resolve(exit ?? -1));
    });
    this.scan(`the output of ${args.join(" ")}`, output);
    return { code, output };
  }

  /** The stack's resources of this package, by name; their secrets still encrypted. */
  async exported(): Promise<Record<string, ExportedResource>> {
    const { output } = await this.pulumi("stack", "export", "--stack", this.stack);
    const { deployment } = JSON.parse(output) as { deployment: { resources?: ExportedResource[] } };
    const ours = (deployment.resources ?? []).filter(({ type }) => type.includes("tlsedge:"));
    return Object.fromEntries(ours.map((found) => [found.urn.split("::").at(-1), found]));
  }

  async output(name: string): Promise<unknown> {
    const { output } = await this.pulumi("stack", "output", "--json", "--stack", this.stack);
    return (JSON.parse(output) as Record<string, unknown>)[name];
  }

  private scan(where: string, text: string): void {
    for (const [part, name] of this.secrets) {
      assert.ok(!text.includes(part), `${name} stands in ${where}`);
    }
  }
}
