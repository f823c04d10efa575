import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "pulumi-tlsedge-emulator";
import { findOrBuildPulumi, type PulumiCli } from "../pulumi.ts";
import { linkModules, newFolder } from "./folders.ts";
import { Secrets } from "./secrets.ts";

/** A resource as `pulumi stack export` shows it. */
export interface Exported {
  urn: string;
  type: string;
  id?: string;
}

/** A command of the engine that is under way. */
export interface Running {
  pid: number;
  /** Everything that a person would have seen, and the exit code; a killed one has none. */
  done: Promise<{ code: number | null; output: string }>;
}

/** Reads what is to be there from a file, so that no key stands in the program. */
const program = `const { readFileSync } = require("node:fs");
const { TLSCertificate, TLSEdge } = require("pulumi-tlsedge");
const read = (name) => readFileSync(name, "utf8");
const { description, chain, restricted, adopted = {} } = JSON.parse(read("wanted.json"));
const certificate = new TLSCertificate("tlsCertificate", {
  description,
  certificatePem: read(chain + ".pem"),
  privateKeyPem: read(chain + ".key"),
}, { import: adopted.tlsCertificate });
// One after the other, so that the requests come in the same order each time.
new TLSEdge("tlsEdge", {
  description,
  hostports: ["app.example:443"],
  ipRestriction: restricted ? { ipPolicyIds: ["ipp_1"] } : undefined,
  onModuleRemoval: "replace",
}, { dependsOn: certificate, import: adopted.tlsEdge });
`;

/** A Pulumi project on the real engine, one stack at a time, and an account of its own. */
export class Project {
  emulator: Emulator;
  readonly chains: Record<string, MadeCertificate>;
  readonly secrets: Secrets;
  /** Everything that was printed or stored since the stack was made. */
  heard = "";
  readonly #folder: string;
  readonly #cli: PulumiCli;
  #stack = "";

  private constructor(
    folder: string,
    cli: PulumiCli,
    emulator: Emulator,
    chains: Record<string, MadeCertificate>,
  ) {
    this.#folder = folder;
    this.#cli = cli;
    this.emulator = emulator;
    this.chains = chains;
    this.secrets = new Secrets(emulator.apiKey, Object.values(chains));
  }

  static async open(): Promise<Project> {
    const [folder, cli] = [await newFolder(), await findOrBuildPulumi()];
    const emulator = await startEmulator({ dataFile: path.join(folder, "account.sqlite") });
    const chains = {
      first: await makeCertificate({ commonName: "first.example" }),
      second: await makeCertificate({ commonName: "second.example" }),
    };
    const project = new Project(folder, cli, emulator, chains);
    await mkdir(path.join(folder, "state"));
    await linkModules(folder);
    await project.file("ca.pem", emulator.ca);
    for (const [name, { certificatePem, privateKeyPem }] of Object.entries(chains)) {
      await project.file(`${name}.pem`, certificatePem);
      await project.file(`${name}.key`, privateKeyPem);
    }
    const runtime = "runtime: { name: nodejs, options: { typescript: false } }";
    await project.file("Pulumi.yaml", `name: crash\n${runtime}\n`);
    await project.file("package.json", '{ "name": "crash", "main": "index.js" }');
    await project.file("index.js", program);
    return project;
  }

  /** The file that holds the emulator's authority. */
  get caFile(): string {
    return path.join(this.#folder, "ca.pem");
  }

  get version(): string {
    return this.#cli.version;
  }

  file(name: string, text: string): Promise<void> {
    return writeFile(path.join(this.#folder, name), text);
  }

  /** Makes a stack, which commands are about from now on, in an account that is empty. */
  async newStack(name: string): Promise<void> {
    this.emulator.reset();
    this.#stack = name;
    this.heard = "";
    const { code, output } = await this.pulumi("stack", "init");
    if (code !== 0) throw new Error(output);
  }

  /** Cuts all connections, and serves again with the data that is there, where it was before. */
  async restart(): Promise<void> {
    await this.emulator.close();
    const port = Number(new URL(this.emulator.url).port);
    const dataFile = path.join(this.#folder, "account.sqlite");
    this.emulator = await startEmulator({ port, dataFile });
  }

  /** Starts a command of the CLI. */
  start(...args: string[]): Running {
    const env = {
      ...this.#cli.env,
      PULUMI_HOME: path.join(this.#folder, "home"),
      PULUMI_BACKEND_URL: `file://${path.join(this.#folder, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: "crash",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      NO_COLOR: "1",
      NODE_COMPILE_CACHE: path.join(this.#folder, "compiled"),
      TLSEDGE_BASE_URL: this.emulator.url,
      TLSEDGE_API_KEY: this.emulator.apiKey,
      TLSEDGE_CA_FILE: this.caFile,
      TLSEDGE_TIMEOUT_SECONDS: "60",
      TLSEDGE_REQUESTS_PER_MINUTE: "0",
    };
    const all = [...args, "--stack", this.#stack, "--non-interactive"];
    const child = spawn(this.#cli.command, all, { cwd: this.#folder, env });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    const done = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      // What a killed one has left behind may hold its pipes open.
      child.on("exit", (exit, signal) => signal && resolve(exit));
      child.on("close", resolve);
    }).then((code) => {
      this.heard += output;
      return { code, output };
    });
    return { pid: child.pid as number, done };
  }

  /** Runs a command of the CLI to its end. */
  pulumi(...args: string[]): Promise<{ code: number | null; output: string }> {
    return this.start(...args).done;
  }

  /** What the state holds, of the kinds that this package has. */
  async state(): Promise<{ resources: Exported[]; pending: unknown[] }> {
    const { output } = await this.pulumi("stack", "export");
    const { deployment } = JSON.parse(output) as {
      deployment: { resources?: Exported[]; pending_operations?: unknown[] };
    };
    const ours = (deployment.resources ?? []).filter(({ type }) => type.includes("tlsedge:"));
    return { resources: ours, pending: deployment.pending_operations ?? [] };
  }
}
