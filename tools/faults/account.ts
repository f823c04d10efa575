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
import { type Protocol, Provider } from "../protocol";
import { Secrets } from "../secrets";

/** How long a provider waits for an answer that does not come. */
const timeoutSeconds = 2;

/**
 * A key, by its namespace of config: the account's own, the same one under another name, the account's second one, or
 * another account's.
 */
export type Key = "tlsedge" | "twin" | "second" | "other";

/** What a later process has besides the usual settings. */
export interface Settings {
  /** Whether it has another base URL of the same service. */
  gateway?: boolean;
  /** Whether the user says that the present settings are those of the same account. */
  sameAccount?: boolean;
}

/** What all accounts share. */
export interface Setup {
  /** The folder from which provider processes resolve the package. */
  folder: string;
  /** A certificate alone and one with its chain. Their keys do not depend on the seed. */
  certificates: MadeCertificate[];
  /** Node.js's compile cache. */
  cache: string;
  protocol: Protocol;
}

/** Prepares runs of the built package, or, for dynamic providers alone, of the one that `folder` resolves. */
export async function prepare(protocol: Protocol, folder?: string): Promise<Setup> {
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
  return { folder: program, certificates, cache, protocol };
}

/**
 * A folder from which a broken copy of the built package is resolved: it sends a create that has
 * failed again. The package itself has no such option.
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
    const broken = `
      const { create } = exports.${kind}s;
      exports.${kind}s.create = (...args) => create(...args).catch(() => create(...args));`;
    await appendFile(path.join(copy, "dist", "client", `${kind}.js`), broken);
  }
  return program;
}

/**
 * An emulator with an account that has two keys, and with another account. Runs use it one after
 * another, each with processes of its own.
 */
export class Account {
  readonly secrets = new Secrets();

  private constructor(
    private readonly setup: Setup,
    readonly emulator: Emulator,
    /** The other account on the same host. */
    readonly other: Pick<Emulator, "apiKey" | "tlsEdges" | "tlsCertificates">,
    private readonly keys: Record<Key, string>,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    for (const [name, apiKey] of Object.entries(keys)) this.secrets.add(`key ${name}`, apiKey);
    for (const [index, { privateKeyPem }] of setup.certificates.entries()) {
      this.secrets.add(`private key ${index + 1}`, privateKeyPem);
    }
  }

  static async open(setup: Setup): Promise<Account> {
    const emulator = await startEmulator();
    const other = emulator.addAccount();
    const { apiKey: own } = emulator;
    const keys = { tlsedge: own, twin: own, second: emulator.addKey(), other: other.apiKey };
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      ...(await environment(newFolder(), emulator)),
      NODE_COMPILE_CACHE: setup.cache,
      NODE_V8_COVERAGE: "",
      // The log is searched for secrets, too.
      NODE_DEBUG: "tlsedge",
    };
    for (const [name, apiKey] of Object.entries(keys)) {
      const settings = {
        BASE_URL: emulator.url,
        CA_FILE: env.TLSEDGE_CA_FILE,
        API_KEY: apiKey,
        REQUESTS_PER_MINUTE: "0",
        TIMEOUT_SECONDS: String(timeoutSeconds),
      };
      for (const [setting, value] of Object.entries(settings)) {
        env[`${name.toUpperCase()}_${setting}`] = value;
      }
    }
    return new Account(setup, emulator, other, keys, env);
  }

  get protocol(): Protocol {
    return this.setup.protocol;
  }

  /** Another user of the account, on a new connection: an idle one may be about to close. */
  otherUser(): Client {
    const { url: baseUrl, apiKey } = this.emulator;
    const caFile = this.env.TLSEDGE_CA_FILE;
    return new Client({ baseUrl, apiKey, caFile, requestsPerMinute: 0 });
  }

  /** A new process; `key` is for resources without one. */
  provider(protocol: Protocol, key: Key, { gateway, sameAccount }: Settings = {}) {
    const { folder } = this.setup;
    const env: NodeJS.ProcessEnv = { ...this.env, TLSEDGE_API_KEY: this.keys[key] };
    for (const name of Object.keys(this.keys)) {
      const prefix = name.toUpperCase();
      if (sameAccount) env[`${prefix}_SAME_ACCOUNT`] = "1";
      // The emulator's certificate fits both.
      if (gateway) env[`${prefix}_BASE_URL`] = this.emulator.url.replace("localhost", "127.0.0.1");
    }
    return Provider.start(folder, env, protocol);
  }

  close(): Promise<void> {
    return this.emulator.close();
  }
}
