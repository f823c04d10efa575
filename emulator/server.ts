/**
 * The service on loopback, embedded, for tests: its data, its faults and the requests it has got.
 *
 * @module pulumi-tlsedge-emulator
 */

import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { Refusal, reasons } from "./errors";
import { type Fault, type Faults, makeFaults } from "./faults";
import {
  type Admission,
  answerError,
  delayAnswers,
  gate,
  type RecordedRequest,
  type Respond,
  RollingLimit,
  readBodies,
  record,
  rewrite,
  sendDate,
} from "./middleware";
import { type MadeCertificate, makeAuthority, makeServerCertificate } from "./pki";
import { refuseOtherMethods, refuseParameters, type Served } from "./requests";
import { type Clocks, newId, Store } from "./store";
import { serveTLSCertificates } from "./tlsCertificate";
import { serveTLSEdges } from "./tlsEdge";
import { serveTunnels, type TunnelWire } from "./tunnel";

export { type Reason, reasons } from "./errors";
export type { Fault, Faults, SetFault } from "./faults";
export type { RecordedRequest, Respond } from "./middleware";
export { type CertificateOptions, type MadeCertificate, makeCertificate } from "./pki";
export type { Clocks, Direct } from "./store";
export type { TLSCertificateWire } from "./tlsCertificate";
export type { TLSEdgeWire } from "./tlsEdge";
export type { Tunnels, TunnelWire } from "./tunnel";
export type { Made, Ref, Unset } from "./wire";

const hostname = "127.0.0.1";

/** The options of the emulator. */
export interface EmulatorOptions {
  /** The port on loopback; 0: any free port. Default: the stored port if free, else as with 0. */
  port?: number;
  /**
   * A SQLite file that stores the data, the CA, the API key and the port for the next start. The
   * port is a part of every object's `uri`. The file has the CA's private key, so only its owner
   * can read it. Default: everything in memory.
   */
  dataFile?: string;
  /** The bearer key that clients must send. Default: the stored key, else a random one. */
  apiKey?: string;
  /** Milliseconds by which every answer is delayed. Default 0. */
  latencyMs?: number;
  /** How many requests are admitted in any 60 seconds; others get 429. Default: no limit. */
  requestsPerMinute?: number;
  /** The initial tunnels, also after `reset`, newest first. Default: six examples. */
  tunnels?: Partial<TunnelWire>[];
  /**
   * Rewrites the body of each response, errors included, to test a client. Default: no change.
   */
  respond?: Respond;
  /** The initial faults, also after `reset`. Default: none. */
  faults?: Fault[];
}

/** The resources of the service. A new resource is added only to this list. */
const resources = {
  tlsEdges: serveTLSEdges,
  tlsCertificates: serveTLSCertificates,
  tunnels: serveTunnels,
};

type Directs = {
  [Name in keyof typeof resources]: ReturnType<(typeof resources)[Name]>["direct"];
};

/** An account. `tlsEdges`, `tlsCertificates` and `tunnels` change its data without requests. */
export interface Account extends Directs {
  /** A bearer key of the account. */
  apiKey: string;
  /** Makes another key of the account, which is valid until the emulator is closed. */
  addKey(): string;
}

/** A running emulator with one account, to which `addAccount` adds others. */
export interface Emulator extends Account {
  /** The base URL, such as `https://localhost:50443`; its certificate also fits 127.0.0.1. */
  url: string;
  /** The CA to trust, PEM. */
  ca: string;
  /** Makes another account at the same URL: it has no objects. */
  addAccount(): Account;
  /** All requests since the start or the last `reset`, refused ones too, in order of arrival. */
  requests: RecordedRequest[];
  /** The faults that requests meet, to test a client. */
  faults: Faults;
  /** Set them to test a client against clocks that differ from its own. */
  clocks: Clocks;
  /**
   * Restores the initial tunnels and faults, and sets the clocks right; removes other data,
   * `requests` and the rate count.
   */
  reset(): void;
  /** Stops serving and cuts open connections. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Starts the service on loopback, over HTTPS with a CA of its own. Rejects when the port is taken
 * or the data file can't be used.
 *
 * @example
 * const emulator = await startEmulator();
 * process.env.TLSEDGE_BASE_URL = emulator.url;
 * process.env.TLSEDGE_API_KEY = emulator.apiKey;
 * // … and emulator.ca in the file that TLSEDGE_CA_FILE names
 * await emulator.close();
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const store = new Store(options.dataFile);
  try {
    return await startOn(store, options);
  } catch (error) {
    store.close();
    throw error;
  }
}

async function startOn(store: Store, options: EmulatorOptions): Promise<Emulator> {
  const isNew = store.setting("ca") === undefined;
  const ca = store.setting<MadeCertificate>("ca") ?? (await makeAuthority());
  const apiKey = options.apiKey ?? store.setting<string>("apiKey") ?? newId("tlse");
  const served = Object.entries(resources).map(([name, serve]) => ({
    name,
    ...serve(store, options),
  }));
  const requests: RecordedRequest[] = [];
  const accounts = new Map<string, Admission>();
  const open = (prefix: string, apiKey: string): Account => {
    const admission: Admission = {
      limit: new RollingLimit(options.requestsPerMinute),
      serve: (next) => store.account.run(prefix, next),
    };
    const addKey = (key = newId("tlse")) => {
      accounts.set(key, admission);
      return key;
    };
    const directs = served.map(({ name, direct }) => [name, inAccount(store, prefix, direct)]);
    return {
      ...(Object.fromEntries(directs) as Directs),
      apiKey: addKey(apiKey),
      addKey: () => addKey(),
    };
  };
  const app = new Hono();
  app.use(sendDate(store.clocks));
  app.use(record(requests));
  if (options.latencyMs) app.use(delayAnswers(options.latencyMs));
  if (options.respond) app.use(rewrite(options.respond));
  app.use(gate(accounts));
  app.use(readBodies());
  const faults = makeFaults(options.faults, () => store.ids());
  app.use(faults.strike as MiddlewareHandler);
  app.route("/", faults.routes);
  serveRoot(app, store, served);
  const identity = await makeServerCertificate(ca);
  const server = await (options.port === undefined
    ? listen(app, identity, store.setting<number>("port") ?? 0).catch(() =>
        listen(app, identity, 0),
      )
    : listen(app, identity, options.port));
  const { port } = server.address() as AddressInfo;
  const url = `https://localhost:${port}`;

  store.baseUrl = url;
  store.save("port", port);
  store.save("ca", ca);
  store.save("apiKey", apiKey);
  const seed = () => served.forEach((resource) => void resource.seed?.());
  if (isNew) seed();
  let closing: Promise<void> | undefined;
  return {
    ...open("", apiKey),
    url,
    ca: ca.certificatePem,
    addAccount: () => open(`${newId("acct")} `, newId("tlse")),
    requests,
    faults: faults.handle,
    clocks: store.clocks,
    reset() {
      faults.handle.clear();
      faults.handle.add(...(options.faults ?? []));
      Object.assign(store.clocks, { date: 0, createdAt: 0 });
      store.clear();
      seed();
      requests.length = 0;
      for (const { limit } of accounts.values()) limit.reset();
    },
    close() {
      closing ??= stop(server).then(() => store.close());
      return closing;
    },
  };
}

/** The same functions, which work on the data of this account. */
function inAccount<D extends object>(store: Store, prefix: string, direct: D): D {
  const functions = Object.entries(direct).map(([name, work]) => [
    name,
    (...args: unknown[]) => store.account.run(prefix, () => work(...args)),
  ]);
  return Object.fromEntries(functions) as D;
}

function serveRoot(app: Hono, store: Store, served: Served<unknown>[]): void {
  app.get("/", (c) => {
    refuseParameters(c);
    const uris = served.map(({ documents }) => [documents.name, documents.uri]);
    return c.json({ ...Object.fromEntries(uris), uri: store.baseUrl });
  });
  refuseOtherMethods(app, "/", "GET");
  for (const { routes } of served) app.route("/", routes);
  app.notFound((c) => {
    throw new Refusal(reasons.unknownPath, `There is no ${c.req.path} here.`);
  });
  app.onError(answerError);
}

async function listen(app: Hono, identity: MadeCertificate, port: number): Promise<Server> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    createServer,
    serverOptions: { key: identity.privateKeyPem, cert: identity.certificatePem },
  }) as Server;
  server.listen(port, hostname);
  await once(server, "listening");
  return server;
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
