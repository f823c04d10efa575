import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "pulumi-tlsedge/client";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "pulumi-tlsedge-emulator";
import { newFolder } from "./folders.ts";
import { Provider } from "./protocol.ts";
import { Secrets } from "./secrets.ts";

/** A silence takes this long: a process gives up then. */
const timeoutSeconds = 2;

/** Waits for something to happen while work is under way, or until that is over. */
export async function until(hasHappened: () => boolean, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver && !hasHappened()) await setTimeout(2);
}

/** What all stages have in common. */
export interface Ground {
  /** Where the provider's package is found from. */
  folder: string;
  pool: MadeCertificate[];
  /** Where Node.js keeps what it has compiled. */
  cache: string;
}

export async function prepare(folder: string): Promise<Ground> {
  const cache = await newFolder();
  // A provider process that is killed keeps nothing of what it has compiled.
  const modules = [
    "@pulumi/pulumi",
    "@grpc/grpc-js",
    "pulumi-tlsedge/provider",
    "pulumi-tlsedge/client",
  ];
  execFileSync(process.execPath, ["-e", modules.map((name) => `require("${name}")`).join(";")], {
    cwd: folder,
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
  });
  return { folder, pool: await makePool(), cache };
}

/** A certificate alone and one with its chain. Keys are new each time: no seed decides them. */
async function makePool(): Promise<MadeCertificate[]> {
  const issuer = await makeCertificate({ commonName: "Faults CA", isCa: true });
  const leaf = { commonName: "app.example.com", dnsNames: ["app.example.com"] };
  return [await makeCertificate(leaf), await makeCertificate({ ...leaf, issuer })];
}

/**
 * What runs are played on, one at a time: an account, and provider processes of one machine. A
 * process that has gone through a run unharmed goes on to the next: starting one takes longer than
 * most runs.
 */
export class Stage {
  readonly emulator: Emulator;
  readonly secrets: Secrets;
  readonly #caFile: string;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #spare: Promise<Provider>[] = [];

  private constructor(emulator: Emulator, { folder, pool, cache }: Ground, home: string) {
    this.emulator = emulator;
    this.secrets = new Secrets(emulator.apiKey, pool);
    this.#caFile = path.join(home, "ca.pem");
    this.#folder = folder;
    this.#env = {
      ...process.env,
      TLSEDGE_BASE_URL: emulator.url,
      TLSEDGE_API_KEY: emulator.apiKey,
      TLSEDGE_CA_FILE: this.#caFile,
      TLSEDGE_REQUESTS_PER_MINUTE: "0",
      TLSEDGE_TIMEOUT_SECONDS: String(timeoutSeconds),
      PULUMI_HOME: home,
      NODE_COMPILE_CACHE: cache,
      // What is logged is searched for secrets, too.
      DEBUG: "pulumi-tlsedge:*",
    };
  }

  static async open(ground: Ground): Promise<Stage> {
    const emulator = await startEmulator();
    const home = await newFolder();
    await writeFile(path.join(home, "ca.pem"), emulator.ca);
    return new Stage(emulator, ground, home);
  }

  /** Someone else in the same account, on a new connection: an idle one may be about to close. */
  stranger(): Client {
    const { url: baseUrl, apiKey } = this.emulator;
    return new Client({ baseUrl, apiKey, caFile: this.#caFile, requestsPerMinute: 0 });
  }

  /** A process that knows nothing of this run. */
  async process(): Promise<Provider> {
    const taken = this.#spare.shift() ?? this.start();
    if (this.#spare.length === 0) this.#spare.push(this.start());
    return taken;
  }

  /** A process with settings of its own. */
  start(env: NodeJS.ProcessEnv = {}): Promise<Provider> {
    const started = Provider.start(this.#folder, { ...this.#env, ...env });
    // Whoever takes it hears of that.
    started.catch(() => undefined);
    return started;
  }

  /** Takes back a process that has done all it was asked. */
  reuse(provider: Provider): void {
    Object.assign(provider, { printed: "", answered: "" });
    this.#spare.unshift(Promise.resolve(provider));
  }

  async close(): Promise<void> {
    for (const spare of await Promise.allSettled(this.#spare)) {
      if (spare.status === "fulfilled") await spare.value.close();
    }
    await this.emulator.close();
  }
}
