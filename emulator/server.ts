/**
 * The service on loopback, embedded, for tests: its data, its faults and the requests it has got.
 *
 * @module pulumi-tlsedge-emulator
 */

import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { answerError, Refusal, reasons } from "./errors";
import { Faults, serveFaults } from "./faults";
import {
  gate,
  type RecordedRequest,
  type Respond,
  readBodies,
  record,
  rewrite,
  sendDate,
} from "./middleware";
import { type MadeCertificate, makeAuthority, makeServerCertificate } from "./pki";
import { type Env, refuseOtherMethods, refuseParameters, serve } from "./requests";
import { type Clocks, Collection, DataFile, Service, type Stored } from "./store";
import { type TLSCertificateWire, tlsCertificates } from "./tlsCertificate";
import { type TLSEdgeWire, tlsEdges } from "./tlsEdge";
import { exampleTunnels, Tunnels, type TunnelWire, tunnels } from "./tunnel";
import { newId } from "./wire";

export { type Reason, reasons } from "./errors";
export type { Fault, Faults, SetFault } from "./faults";
export type { RecordedRequest, Respond } from "./middleware";
export { type CertificateOptions, type MadeCertificate, makeCertificate } from "./pki";
export type { Clocks, Collection } from "./store";
export type { TLSCertificateWire } from "./tlsCertificate";
export type { TLSEdgeWire } from "./tlsEdge";
export type { Tunnels, TunnelWire } from "./tunnel";
export type { Made, Ref, Unset } from "./wire";

const hostname = "127.0.0.1";
const kinds = [tlsEdges, tlsCertificates, tunnels];

/** The options of the emulator. */
export interface EmulatorOptions {
  /** The port on loopback; 0: any free port. Default: the stored port if free, else as with 0. */
  port?: number;
  /**
   * A file that stores the data, the CA, the API key and the port for the next start. The port is
   * a part of every object's `uri`. The file has the CA's private key, so only its owner can read
   * it. Default: everything in memory.
   */
  dataFile?: string;
  /** The bearer key that clients must send. Default: the stored key, else a random one. */
  apiKey?: string;
  /** The initial tunnels, also after `reset`, newest first. Default: two examples. */
  tunnels?: Partial<TunnelWire>[];
  /** Rewrites the body of each response, errors included, to test a client. Default: no change. */
  respond?: Respond;
}

/** An account, and its objects, to read and change without a request. */
export interface Account {
  /** A bearer key of the account. */
  apiKey: string;
  /** Makes another key of the account, which is valid until the emulator is closed. */
  addKey(): string;
  tlsEdges: Collection<TLSEdgeWire>;
  tlsCertificates: Collection<TLSCertificateWire>;
  tunnels: Tunnels;
}

/** A running emulator with one account, to which `addAccount` adds others. */
export interface Emulator extends Account {
  /** The base URL, such as `https://localhost:50443`; its certificate also fits 127.0.0.1. */
  url: string;
  /** The CA to trust, PEM. */
  ca: string;
  /** Makes another account at the same URL: it has no objects, and no file keeps them. */
  addAccount(): Account;
  /** The newest 100 000 requests since the last `reset`, refused ones too, in order of arrival. */
  requests: RecordedRequest[];
  /** The faults that requests meet, to test a client. */
  faults: Faults;
  /** Set them to test a client against clocks that differ from its own. */
  clocks: Clocks;
  /** Restores the initial tunnels, sets the clocks right, and removes faults, `requests` and other data. */
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
  const data = options.dataFile === undefined ? undefined : new DataFile(options.dataFile);
  const ca = data?.settings?.ca ?? (await makeAuthority());
  const apiKey = options.apiKey ?? data?.settings?.apiKey ?? newId("tlse");
  const service = new Service();
  const accounts: Accounts = new Map();
  const own = openAccount(service, accounts, apiKey, data?.keep);
  const requests: RecordedRequest[] = [];
  const faults = new Faults(service.ids);

  const app = new Hono<Env>();
  app.use(sendDate(service.clocks), record(requests));
  if (options.respond) app.use(rewrite(options.respond));
  app.use(gate(accounts), readBodies, faults.apply);
  serveFaults(app, faults);
  serveRoot(app, service);
  serve(app, tlsEdges);
  serve(app, tlsCertificates);
  serve(app, tunnels);

  const identity = await makeServerCertificate(ca);
  const server = await listen(app, identity, options.port, data?.settings?.url);
  const { port } = server.address() as AddressInfo;
  const url = `https://localhost:${port}`;
  service.url = url;
  const { tunnels: seeds = exampleTunnels() } = options;
  const reset = () => {
    faults.clear();
    Object.assign(service.clocks, { date: 0, createdAt: 0 });
    for (const objects of accounts.values()) {
      for (const one of Object.values(objects)) one.clear();
    }
    data?.begin({ url, apiKey, ca });
    for (const tunnel of seeds.toReversed()) own.tunnels.online(tunnel);
    requests.length = 0;
  };
  try {
    const changes = data?.changes(url);
    if (changes) data?.begin({ url, apiKey, ca }, changes);
    else reset();
    for (const [list, id, object] of changes ?? []) accounts.get(apiKey)?.[list]?.load(id, object);
  } catch (error) {
    await stop(server);
    throw error;
  }
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= stop(server);
    return closing;
  };
  const addAccount = () => openAccount(service, accounts, newId("tlse"));
  const { clocks } = service;
  const { certificatePem } = ca;
  return { ...own, url, ca: certificatePem, addAccount, requests, faults, clocks, reset, close };
}

/** The objects of each account by the name of their list, by its keys. */
type Accounts = Map<string, Record<string, Collection<Stored>>>;

function openAccount(
  service: Service,
  accounts: Accounts,
  key: string,
  keep?: DataFile["keep"],
): Account {
  const objects = {
    tlsEdges: new Collection<TLSEdgeWire>(service, tlsEdges, keep),
    tlsCertificates: new Collection<TLSCertificateWire>(service, tlsCertificates, keep),
    tunnels: new Tunnels(service, tunnels, keep),
  };
  const byName = Object.fromEntries(Object.values(objects).map((one) => [one.name, one]));
  const addKey = (apiKey = newId("tlse")) => {
    accounts.set(apiKey, byName as Record<string, Collection<Stored>>);
    return apiKey;
  };
  return { ...objects, apiKey: addKey(key), addKey: () => addKey() };
}

/** Serves the root resource (api.md §4.5), and refuses unknown paths. */
function serveRoot(routes: Hono<Env>, service: Service): void {
  routes.use("/", refuseParameters());
  routes.get("/", (c) => {
    const uris = kinds.map(({ name, path }) => [name, `${service.url}${path}`]);
    return c.json({ ...Object.fromEntries(uris), uri: service.url });
  });
  refuseOtherMethods(routes, "/", "GET");
  routes.notFound((c) => {
    throw new Refusal(reasons.unknownPath, `There is no ${c.req.path} here.`);
  });
  routes.onError(answerError);
}

/** Serves on the port, else on the one that the URL has, else on any free one. */
async function listen(
  app: Hono<Env>,
  identity: MadeCertificate,
  port: number | undefined,
  url = "https://localhost:0",
): Promise<Server> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    createServer,
    serverOptions: { key: identity.privateKeyPem, cert: identity.certificatePem },
  }) as Server;
  // Node.js closes an idle connection after 5 s: on a busy machine, just when a request is on its way.
  server.keepAliveTimeout = 0;
  try {
    server.listen(port ?? Number(new URL(url).port), hostname);
    await once(server, "listening");
  } catch (error) {
    if (port !== undefined) throw error;
    server.listen(0, hostname);
    await once(server, "listening");
  }
  return server;
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
