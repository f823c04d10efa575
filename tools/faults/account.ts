import { execFileSync } from "node:child_process";
import { appendFile, cp, mkdir } from "node:fs/promises";
import path from "node:path";
import { Client } from "../../client/client";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../../emulator/server";
import { environment, linkModules, newFolder, repository } from "../folders";
import { type Door, Provider } from "../protocol";
import { Secrets } from "../secrets";

/** How long a provider waits for an answer that does not come. */
const timeoutSeconds = 2;

/** What all accounts share. */
export interface Setup {
  /** The folder from which provider processes resolve the package. */
  folder: string;
  /** A certificate alone and one with its chain. Their keys do not depend on the seed. */
  certificates: MadeCertificate[];
  /** Node.js's compile cache. */
  cache: string;
  door: Door;
}

/** Prepares runs of the built package, or of the package that `folder` resolves. */
export async function prepare(door: Door, folder?: string): Promise<Setup> {
  const cache = newFolder();
  const program = folder ?? newFolder();
  if (!folder) await linkModules(program);
  // Killed processes write no compile cache, so it is filled first.
  const modules = [
    "@pulumi/pulumi",
    "@grpc/grpc-js",
    "pulumi-tlsedge/provider",
    "pulumi-tlsedge/client",
  ];
  execFileSync(process.execPath, ["-e", modules.map((name) => `require("${name}")`).join(";")], {
    cwd: program,
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
  });
  const issuer = await makeCertificate({ commonName: "Faults CA", isCa: true });
  const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
  const certificates = [await makeCertificate(leaf), await makeCertificate({ ...leaf, issuer })];
  return { folder: program, certificates, cache, door };
}

/**
 * A folder from which a broken copy of the built package is resolved: its lists are empty, so it
 * finds no lost object and creates it again. The package itself has no such option.
 */
export async function brokenCopy(): Promise<string> {
  const folder = newFolder();
  // One level above the program, for the dependencies of the copy.
  await linkModules(folder);
  const program = path.join(folder, "program");
  const copy = path.join(program, "node_modules", "pulumi-tlsedge");
  await mkdir(copy, { recursive: true });
  for (const name of ["dist", "package.json"]) {
    await cp(path.join(repository, name), path.join(copy, name), { recursive: true });
  }
  for (const kind of ["tlsEdge", "tlsCertificate"]) {
    const empty = `\nexports.${kind}s.list = async function* () {};\n`;
    await appendFile(path.join(copy, "dist", "client", `${kind}.js`), empty);
  }
  return program;
}

/**
 * An account on an emulator, and the provider processes of one machine. Runs use it one after
 * another. The next run uses a process again if it has not failed, because a start takes longer
 * than most runs.
 */
export class Account {
  readonly secrets = new Secrets();
  #spare: Promise<Provider>[] = [];

  private constructor(
    readonly emulator: Emulator,
    private readonly folder: string,
    private readonly env: NodeJS.ProcessEnv,
    readonly door: Door,
    certificates: MadeCertificate[],
  ) {
    this.secrets.add("the API key", emulator.apiKey);
    for (const [index, { privateKeyPem }] of certificates.entries()) {
      this.secrets.add(`private key ${index + 1}`, privateKeyPem);
    }
  }

  static async open({ folder, certificates, cache, door }: Setup): Promise<Account> {
    const emulator = await startEmulator();
    const env = {
      ...process.env,
      ...(await environment(newFolder(), emulator)),
      TLSEDGE_REQUESTS_PER_MINUTE: "0",
      TLSEDGE_TIMEOUT_SECONDS: String(timeoutSeconds),
      NODE_COMPILE_CACHE: cache,
      NODE_V8_COVERAGE: "",
      // The log is searched for secrets, too.
      DEBUG: "pulumi-tlsedge:*",
    };
    return new Account(emulator, folder, env, door, certificates);
  }

  /** Another user of the account, on a new connection: an idle one may be about to close. */
  otherUser(): Client {
    const { url: baseUrl, apiKey } = this.emulator;
    const caFile = this.env.TLSEDGE_CA_FILE;
    return new Client({ baseUrl, apiKey, caFile, requestsPerMinute: 0 });
  }

  /** A process that the present run has not used. */
  async provider(): Promise<Provider> {
    const taken = this.#spare.shift() ?? this.start();
    if (this.#spare.length === 0) this.#spare.push(this.start());
    return taken;
  }

  /** A new process, with settings of its own. */
  start(env: NodeJS.ProcessEnv = {}): Promise<Provider> {
    const started = Provider.start(this.folder, { ...this.env, ...env }, this.door);
    // The run that takes this process later gets the error.
    started.catch(() => undefined);
    return started;
  }

  /** Keeps a process for the next run. */
  reuse(provider: Provider): void {
    Object.assign(provider, { printed: "", answered: "" });
    this.#spare.unshift(Promise.resolve(provider));
  }

  async close(): Promise<void> {
    for (const spare of await Promise.allSettled(this.#spare)) {
      if (spare.status === "fulfilled") await spare.value.kill();
    }
    await this.emulator.close();
  }
}
