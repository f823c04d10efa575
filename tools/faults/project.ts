import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Emulator } from "pulumi-tlsedge-emulator";
import { findOrBuildPulumi, type PulumiCli } from "../pulumi.ts";
import { linkModules, newFolder } from "./folders.ts";
import type { Properties } from "./protocol.ts";
import type { Kind } from "./resource.ts";

/** A resource of a program. */
export interface Declared {
  kind: Kind;
  args: Properties;
  /** The id of what is there already. */
  adopted?: string;
}

/** Reads what is to be there from a file, so that no key stands in the program. */
const program = `const { readFileSync } = require("node:fs");
const { TLSCertificate, TLSEdge } = require("pulumi-tlsedge");
const classes = { tlsEdge: TLSEdge, tlsCertificate: TLSCertificate };
JSON.parse(readFileSync("program.json", "utf8")).forEach(({ kind, args, adopted }, index) => {
  new classes[kind]("r" + index, args, { import: adopted });
});
`;

/** A Pulumi project on the real engine: one stack at a time. */
export class Project {
  /** Everything that the command line has printed since this was emptied. */
  printed = "";
  readonly #folder: string;
  readonly #cli: PulumiCli;
  readonly #emulator: Emulator;
  #stack = "";

  private constructor(folder: string, cli: PulumiCli, emulator: Emulator) {
    this.#folder = folder;
    this.#cli = cli;
    this.#emulator = emulator;
  }

  static async open(emulator: Emulator): Promise<Project> {
    const project = new Project(await newFolder(), await findOrBuildPulumi(), emulator);
    await linkModules(project.#folder);
    await mkdir(project.#in("state"));
    await project.#file("Pulumi.yaml", "name: faults\nruntime: nodejs\n");
    await project.#file("package.json", '{ "name": "faults", "main": "index.js" }');
    await project.#file("index.js", program);
    await writeFile(project.caFile, emulator.ca);
    return project;
  }

  /** The file that holds the emulator's authority. */
  get caFile(): string {
    return this.#in("ca.pem");
  }

  get version(): string {
    return this.#cli.version;
  }

  /** Makes a stack, which commands are about from now on. */
  async newStack(name: string): Promise<void> {
    this.#stack = name;
    await this.#file("program.json", "[]");
    const { code, output } = await this.#pulumi("stack", "init", name);
    if (code !== 0) throw new Error(output);
  }

  /** `up`, `refresh` or `destroy`, of a program that has these resources. */
  async run(command: string, declared: Declared[]): Promise<{ code: number; output: string }> {
    await this.#file("program.json", JSON.stringify(declared));
    return this.#pulumi(command, "--yes", "--skip-preview", "--stack", this.#stack);
  }

  /** The stored state as it stands in its file; secrets in it are encrypted. */
  stored(): Promise<string> {
    const file = `${this.#stack}.json`;
    return readFile(this.#in("state", ".pulumi", "stacks", "faults", file), "utf8");
  }

  /** The ids of the resources of this package that the state holds. */
  async ids(): Promise<string[]> {
    const { checkpoint } = JSON.parse(await this.stored()) as {
      checkpoint: { latest?: { resources?: { type: string; id?: string }[] } };
    };
    return (checkpoint.latest?.resources ?? []).flatMap(({ type, id }) =>
      type.startsWith("pulumi-nodejs:dynamic/tlsedge:") && id ? id : [],
    );
  }

  #in(...names: string[]): string {
    return path.join(this.#folder, ...names);
  }

  #file(name: string, text: string): Promise<void> {
    return writeFile(this.#in(name), text);
  }

  async #pulumi(...args: string[]): Promise<{ code: number; output: string }> {
    const env = {
      ...this.#cli.env,
      PULUMI_HOME: this.#in("home"),
      PULUMI_BACKEND_URL: `file://${this.#in("state")}`,
      PULUMI_CONFIG_PASSPHRASE: "faults",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      NO_COLOR: "1",
      TLSEDGE_BASE_URL: this.#emulator.url,
      TLSEDGE_API_KEY: this.#emulator.apiKey,
      TLSEDGE_CA_FILE: this.caFile,
      TLSEDGE_REQUESTS_PER_MINUTE: "0",
      TLSEDGE_TIMEOUT_SECONDS: "5",
    };
    const options = { cwd: this.#folder, env };
    const child = spawn(this.#cli.command, [...args, "--non-interactive"], options);
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    const code = await new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (exit) => resolve(exit ?? 1));
    });
    this.printed += output;
    return { code, output };
  }
}
