import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { PulumiCli } from "../pulumi.ts";
import type { Account } from "./account.ts";
import { linkModules } from "./folders.ts";

const stack = "dev";

/** A resource as `pulumi stack export` shows it. */
export interface Exported {
  urn: string;
  type: string;
  id?: string;
  inputs: Record<string, unknown>;
  delete?: boolean;
}

/** What a stack's state holds. */
export interface State {
  resources: Exported[];
  pending: { type: string; resource: Exported }[];
}

/** A command of the engine that is under way. */
export interface Running {
  pid: number;
  /** Everything that a person would have seen, and the exit code; a killed one has none. */
  done: Promise<{ code: number | null; output: string }>;
}

/** A Pulumi project with one stack on the real engine, against an account. */
export class Engine {
  readonly folder: string;
  readonly #cli: PulumiCli;
  readonly #secrets: Map<string, string>;
  /** Several processes of Node's for each command: half of their work is compiling the same. */
  readonly #compiled: string;
  #account: Account | undefined;
  /** What stood somewhere in clear, and where. */
  readonly leaks: string[] = [];

  private constructor(
    folder: string,
    cli: PulumiCli,
    secrets: Map<string, string>,
    compiled = path.join(folder, "compiled"),
  ) {
    this.folder = folder;
    this.#cli = cli;
    this.#secrets = secrets;
    this.#compiled = compiled;
  }

  static async create(cli: PulumiCli): Promise<Engine> {
    const folder = await mkdtemp(path.join(tmpdir(), "tlsedge-crash-"));
    const engine = new Engine(folder, cli, new Map());
    await mkdir(path.join(folder, "state"));
    await linkModules(engine.folder);
    await engine.file(
      "Pulumi.yaml",
      "name: crash\nruntime: { name: nodejs, options: { typescript: false } }\n",
    );
    await engine.file("package.json", '{ "name": "crash", "main": "index.js" }');
    return engine;
  }

  /** Another project that has come as far as this one, which must not go before it. */
  async copy(): Promise<Engine> {
    const folder = await mkdtemp(path.join(tmpdir(), "tlsedge-crash-"));
    const copied = new Engine(folder, this.#cli, this.#secrets, this.#compiled);
    const left = ["node_modules", "compiled"].map((name) => path.join(this.folder, name));
    await cp(this.folder, folder, { recursive: true, filter: (name) => !left.includes(name) });
    await linkModules(copied.folder);
    return copied;
  }

  use(account: Account): void {
    this.#account = account;
    this.keepSecret("the API key", account.place.apiKey);
  }

  file(name: string, text: string): Promise<void> {
    return writeFile(path.join(this.folder, name), text);
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }

  /** From now on this is looked for in all that is printed or stored. */
  keepSecret(name: string, text: string): void {
    // Of a PEM block, a line of its body: how its line breaks are escaped must not matter.
    const part = text.split("\n").find((line) => line.length > 40) ?? text;
    this.#secrets.set(part, name);
    this.#secrets.set(Buffer.from(text).toString("base64").slice(0, 40), `${name} in base64`);
    this.#secrets.set(encodeURIComponent(part), `${name}, URL-encoded`);
  }

  #scan(where: string, text: string): string {
    for (const [part, name] of this.#secrets) {
      if (text.includes(part)) this.leaks.push(`${name} in ${where}`);
    }
    return text;
  }

  /** Starts a command of the CLI. */
  start(...args: string[]): Running {
    return this.run(this.#cli.command, [...args, "--stack", stack, "--non-interactive"]);
  }

  /** Runs a command of the CLI to its end. */
  pulumi(...args: string[]): Promise<{ code: number | null; output: string }> {
    return this.start(...args).done;
  }

  /** Starts any program, in the project's folder and with its settings. */
  run(command: string, args: string[]): Running {
    const place = this.#account?.place;
    const env = {
      ...this.#cli.env,
      PULUMI_HOME: path.join(this.folder, "home"),
      PULUMI_BACKEND_URL: `file://${path.join(this.folder, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: "crash",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      NO_COLOR: "1",
      NODE_COMPILE_CACHE: this.#compiled,
      TLSEDGE_BASE_URL: place?.url,
      TLSEDGE_API_KEY: place?.apiKey,
      TLSEDGE_CA_FILE: place?.caFile,
      TLSEDGE_TIMEOUT_SECONDS: "60",
      TLSEDGE_REQUESTS_PER_MINUTE: "0",
    };
    const child = spawn(command, args, {
      cwd: this.folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return { pid: child.pid as number, done: this.#outcome(child, args[0] as string) };
  }

  async #outcome(child: ChildProcess, name: string) {
    const chunks: Buffer[] = [];
    child.stdout?.on("data", (data) => chunks.push(data));
    child.stderr?.on("data", (data) => chunks.push(data));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      // What a killed one has left behind may hold its pipes open.
      child.on("exit", (exit, signal) => signal && resolve(exit));
      child.on("close", resolve);
    });
    const output = Buffer.concat(chunks).toString();
    return { code, output: this.#scan(`the output of ${name}`, output) };
  }

  /** What the state holds, of the kinds that this package has. */
  async state(): Promise<State> {
    const { output } = await this.pulumi("stack", "export");
    this.#scan("the state", output);
    const { deployment } = JSON.parse(output) as {
      deployment: { resources?: Exported[]; pending_operations?: State["pending"] };
    };
    const ours = (deployment.resources ?? []).filter(({ type }) => type.includes("tlsedge:"));
    return { resources: ours, pending: deployment.pending_operations ?? [] };
  }
}
