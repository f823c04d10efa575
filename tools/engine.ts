import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as YAML from "yaml";
import {
  type CertificateOptions,
  type Emulator,
  type EmulatorOptions,
  type Fault,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import { linesOf, nameOf, type Printed, type Run, readEvents } from "./engineLog";
import { environment, linkModules, newFolder, repository } from "./folders";
import { descendants, end, type Process, until } from "./processes";
import type { Protocol } from "./protocol";
import { findOrBuildPulumi, type PulumiCli } from "./pulumi";
import { Secrets } from "./secrets";

export type { Protocol };

/** A resource as `pulumi stack export` prints it. */
export interface ExportedResource {
  urn: string;
  type: string;
  id?: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  protect?: boolean;
  /** The URN of the provider, and its id. */
  provider?: string;
}

const unattended = ["--yes", "--skip-preview"];

/**
 * A Pulumi project on the real engine, with an emulator of its own. Everything that its commands
 * print, and the state after each run of the engine, is searched for secrets.
 */
export class Project {
  /** The stack of all commands. */
  stack = "dev";
  /** How the programs of {@link program} reach the resources. */
  protocol: Protocol = "dynamic";
  /** A command that prints or stores one of these, or a part of it, throws. */
  readonly secrets = new Secrets();

  private constructor(
    readonly folder: string,
    readonly cli: PulumiCli,
    readonly emulator: Emulator,
    readonly env: NodeJS.ProcessEnv,
  ) {
    this.secrets.add("the API key", emulator.apiKey);
  }

  /** A project in a new folder, with an empty stack `dev`; the caller writes the program. */
  static async create(
    options?: EmulatorOptions,
    env?: NodeJS.ProcessEnv,
    protocol: Protocol = "dynamic",
  ): Promise<Project> {
    const project = await Project.copyOf({}, options, env);
    await project.use(protocol);
    await project.select("dev");
    return project;
  }

  /** A copy of files and folders of the repository in a new folder, with no stack yet. */
  static async copyOf(
    paths: Record<string, string>,
    options?: EmulatorOptions,
    env?: NodeJS.ProcessEnv,
  ): Promise<Project> {
    const project = await Project.in(newFolder(), options, env);
    await linkModules(project.folder);
    for (const [from, to] of Object.entries(paths)) {
      const target = path.join(project.folder, to);
      await cp(path.join(repository, from), target, { recursive: true });
    }
    return project;
  }

  /**
   * A project in a folder that exists; `env` adds variables, undefined removes one. `home` is for
   * what the commands need beside the project.
   */
  static async in(
    folder: string,
    options: EmulatorOptions = {},
    env: NodeJS.ProcessEnv = {},
    home = folder,
  ): Promise<Project> {
    const cli = await findOrBuildPulumi();
    const emulator = await startEmulator(options);
    return new Project(folder, cli, emulator, {
      ...cli.env,
      ...(await environment(home, emulator)),
      // The linter has checked the types of the examples.
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
      // Each command starts two Node.js processes that load the same code.
      NODE_COMPILE_CACHE: path.join(repository, "node_modules", ".cache", "compile"),
      NODE_V8_COVERAGE: "",
      // For --event-log.
      PULUMI_DEBUG_COMMANDS: "true",
      NO_COLOR: "1",
      ...env,
    });
  }

  /** Changes the protocol of the programs that are written from now on. */
  async use(protocol: Protocol): Promise<void> {
    this.protocol = protocol;
    await this.manifest();
  }

  /** Writes Pulumi.yaml and package.json for a program in plain JavaScript. */
  async manifest(): Promise<void> {
    const runtime = "runtime: { name: nodejs, options: { typescript: false } }";
    const plugin = path.join(repository, "plugin", "dist");
    const plugins = `plugins: { providers: [{ name: tlsedge, path: ${plugin} }] }`;
    const lines = ["name: acceptance", runtime, ...(this.protocol === "plugin" ? [plugins] : [])];
    await this.file("Pulumi.yaml", lines.join("\n"));
    await this.file("package.json", '{ "name": "acceptance", "main": "index.js" }');
  }

  /** Writes the program. `tlsedge` and `pulumi` are in scope; exports are stack outputs. */
  program(text: string, imports = this.#imports): Promise<void> {
    const pulumi = 'const pulumi = require("@pulumi/pulumi");';
    const files = 'const { readFileSync } = require("node:fs");';
    return this.file("index.js", [pulumi, imports, files, text, ""].join("\n"));
  }

  get #imports(): string {
    const sdk = path.join(repository, "tools", "pluginSdk.cjs");
    return `const tlsedge = require(${JSON.stringify(this.protocol === "plugin" ? sdk : "pulumi-tlsedge")});`;
  }

  /** Writes a file of the project. */
  file(name: string, text: string): Promise<void> {
    return writeFile(path.join(this.folder, name), text);
  }

  /** Makes a certificate and writes it and its key as an ACME client does. */
  async certificate(folder: string, options: CertificateOptions): Promise<MadeCertificate> {
    const made = await makeCertificate(options);
    this.secrets.add(`the key of ${folder}`, made.privateKeyPem);
    await mkdir(path.join(this.folder, folder), { recursive: true });
    await this.file(path.join(folder, "fullchain.pem"), made.certificatePem);
    await this.file(path.join(folder, "privkey.pem"), made.privateKeyPem);
    return made;
  }

  /** Changes the stack of all commands; creates it if it does not exist. */
  async select(stack: string): Promise<void> {
    this.stack = stack;
    await this.succeedsQuietly("stack", "select", "--create");
  }

  /** Stops the emulator and removes the folder. */
  async close(): Promise<void> {
    await this.emulator.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  up(...args: string[]): Promise<Run> {
    return this.succeeds("up", ...unattended, ...args);
  }

  preview(...args: string[]): Promise<Run> {
    return this.succeeds("preview", "--diff", ...args);
  }

  refresh(...args: string[]): Promise<Run> {
    return this.succeeds("refresh", ...unattended, ...args);
  }

  destroy(...args: string[]): Promise<Run> {
    return this.succeeds("destroy", ...unattended, ...args);
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

  /** A command that does not run the engine, such as `config set`; gives its output. */
  async succeedsQuietly(...args: string[]): Promise<string> {
    const { code, output } = await this.pulumi(...args);
    assert.equal(code, 0, `pulumi ${args.join(" ")} failed:\n${output}`);
    return output;
  }

  /** Sets a secret of the stack's config; the value goes through stdin. */
  async setSecret(key: string, value: string): Promise<void> {
    const args = ["config", "set", "--secret", "--path", key, "--stack", this.stack];
    const { code, output } = await this.start(args, this.cli.command, value).done;
    assert.equal(code, 0, output);
  }

  /** A command that runs the engine. Its state and its event log are searched for secrets, too. */
  async engine(...args: string[]): Promise<Run> {
    const log = path.join(this.folder, "events.json");
    await rm(log, { force: true });
    const before = this.emulator.requests.length;
    const printed = await this.pulumi(...args, "--event-log", log);
    const lines = linesOf(await readFile(log, "utf8").catch(() => ""));
    this.#search("the event log", lines.join("\n"));
    await this.state();
    const requests = this.emulator.requests
      .slice(before)
      .map(({ method, path }) => `${method} ${path.replace(/[a-z]+_\w{20,}/, ":id")}`);
    const writes = requests.filter((request) => !request.startsWith("GET "));
    return { ...printed, ...readEvents(lines), requests, writes };
  }

  /** Any command of the CLI, on the stack. */
  pulumi(...args: string[]): Promise<Printed> {
    return this.start([...args, "--stack", this.stack, "--non-interactive"]).done;
  }

  /**
   * Runs a command that changes the stack. When the fault has hit as many requests as it may, `act` gets
   * the engine's pid and the processes that the engine has started.
   */
  async onFault(
    fault: Fault,
    args: string[],
    act: (engine: number, started: Process[]) => void | Promise<void>,
  ): Promise<Printed> {
    const { faults } = this.emulator;
    faults.add(fault);
    const all = [...args, ...unattended, "--stack", this.stack, "--non-interactive"];
    const { pid, done } = this.start(all);
    const isMet = () => faults.list().some(({ hits }) => hits >= (fault.times ?? 1));
    await until(isMet, done);
    if (!isMet()) assert.fail(`no request met the fault:\n${(await done).output}`);
    const started = descendants(pid);
    try {
      await act(pid, started);
      return await done;
    } finally {
      this.emulator.faults.clear();
      end(started);
    }
  }

  /** Starts a command in the project's folder; what it printed is searched when it has ended. */
  start(args: string[], command = this.cli.command, input = "") {
    const child = spawn(command, args, { cwd: this.folder, env: this.env });
    child.stdin.end(input);
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    const done = new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      // The processes that a killed one has started may hold its pipes open.
      child.on("exit", (_, signal) => signal && resolve(-1));
      child.on("close", (exit) => resolve(exit ?? -1));
    }).then((code): Printed => {
      this.#search(`the output of ${args.join(" ")}`, output);
      return { code, output };
    });
    // The caller may await it later: until then Node.js must not report an unhandled rejection.
    done.catch(() => undefined);
    return { pid: child.pid as number, done };
  }

  /** The resources and the pending operations in the state; secrets are still encrypted. */
  async state(): Promise<{ resources: ExportedResource[]; pending: unknown[] }> {
    // The file itself, which is quicker than `pulumi stack export`.
    const { PULUMI_BACKEND_URL: backend = "" } = this.env;
    const manifest = await readFile(path.join(this.folder, "Pulumi.yaml"), "utf8");
    const { name } = YAML.parse(manifest) as { name: string };
    const file = path.join(".pulumi", "stacks", name, `${this.stack}.json`);
    const text = await readFile(path.join(fileURLToPath(backend), file), "utf8");
    this.#search("the state", text);
    const { resources = [], pending_operations: pending = [] } =
      JSON.parse(text).checkpoint.latest ?? {};
    return { resources, pending };
  }

  /** The stack's resources of this package, by name. */
  async exported(): Promise<Record<string, ExportedResource>> {
    const { resources } = await this.state();
    const own = resources.filter(({ type }) => type.includes("tlsedge:"));
    return Object.fromEntries(own.map((found) => [nameOf(found.urn), found]));
  }

  /** The URN of a resource that has no parent, through this protocol. */
  urn(type: string, name: string): string {
    const token = this.protocol === "plugin" ? "tlsedge:index:" : "pulumi-nodejs:dynamic/tlsedge:";
    return `urn:pulumi:${this.stack}::acceptance::${token}${type}::${name}`;
  }

  /** An output of the stack. */
  async output(name: string): Promise<unknown> {
    return JSON.parse(await this.succeedsQuietly("stack", "output", "--json"))[name];
  }

  #search(place: string, text: string): void {
    assert.deepEqual(this.secrets.in(text), [], `secrets are in ${place}`);
  }
}
