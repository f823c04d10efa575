import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { mock } from "node:test";
import timers from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { Client } from "../client/client";
import type { ClientOptions } from "../client/options";
import { tlsCertificates } from "../client/tlsCertificate";
import {
  type CertificateOptions,
  type MadeCertificate,
  makeAuthority,
  makeCertificate,
  makeServerCertificate,
} from "../emulator/pki";
import { type Emulator, type Fault, type Respond, startEmulator } from "../emulator/server";
import { beginRun, currentRun } from "../provider/dynamic/process";
import { urnOf } from "../provider/dynamic/workarounds";
import type { Kind } from "../provider/kinds/kind";
import type { Call } from "../provider/lifecycle/call";
import { endRun } from "../provider/lifecycle/endRun";
import type { Run } from "../provider/run/run";
import { secret } from "../tools/protocol";
import { PlanFailure, type Properties, Resource, type ResourceProvider } from "../tools/resource";

export { PlanFailure, type Properties };

/** How the engine writes a value that is not known yet; spelt out, not imported: it is a fact. */
export const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** The same for values that an SDK knows not to be strings. */
export const typedUnknowns = {
  boolean: "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  number: "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  array: "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  asset: "030794c1-ac77-496b-92df-f27374a8bd58",
  archive: "e48ece36-62e2-4504-bad9-02848725956a",
  object: "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
};

/** What a program says of an edge that has everything. */
export const fullEdge = {
  description: "what it is for",
  metadata: '{"team":"web"}',
  hostports: ["a.example.com:443", "b.example.com:443"],
  backend: { backendId: "bkdtg_1" },
  ipRestriction: { ipPolicyIds: ["ipp_1", "ipp_2"] },
  mutualTls: { certificateAuthorityIds: ["ca_1", "ca_2"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.3" },
};

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tlsedge-tests-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A file that holds the text, for as long as the tests run. */
export function fileWith(content: string, extension = ".pem"): string {
  files += 1;
  const file = path.join(folder, `${files}${extension}`);
  fs.writeFileSync(file, content);
  return file;
}

/**
 * Sets variables of the environment (undefined removes one), and begins a run, because a run reads them once; gives
 * back what undoes it.
 */
export function setEnv(values: Record<string, string | undefined>): () => void {
  const put = (variables: Record<string, string | undefined>) => {
    for (const [name, value] of Object.entries(variables)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    beginRun();
  };
  const before = Object.keys(values).map((name) => [name, process.env[name]]);
  put(values);
  return () => put(Object.fromEntries(before));
}

/**
 * The settings that reach an emulator, with no limit of requests, as variables. Plans ask nothing:
 * what they ask is the matter of tests of its own.
 */
export function settingsFor(emulator: Emulator, prefix = "TLSEDGE"): Record<string, string> {
  return {
    [`${prefix}_BASE_URL`]: emulator.url,
    [`${prefix}_API_KEY`]: emulator.apiKey,
    [`${prefix}_CA_FILE`]: fileWith(emulator.ca),
    [`${prefix}_REQUESTS_PER_MINUTE`]: "0",
    [`${prefix}_OFFLINE_PLAN`]: "true",
  };
}

/** A port is open to this machine alone: no address of its networks has it. */
export async function assertLoopback(port: number): Promise<void> {
  const all = Object.values(os.networkInterfaces()).flatMap((some) => some ?? []);
  for (const { address } of all.filter(({ internal, family }) => !internal && family === "IPv4"))
    await assert.rejects(once(connect(port, address), "connect"), { code: "ECONNREFUSED" });
}

/** A client of an emulator's account. */
export const clientOf = (emulator: Emulator, options: Partial<ClientOptions> = {}) =>
  new Client({
    ...{ baseUrl: emulator.url, apiKey: emulator.apiKey, caFile: fileWith(emulator.ca) },
    ...options,
  });

/** Uploads a new certificate. */
export async function upload(client: Client, options: CertificateOptions, texts = {}) {
  const { certificatePem, privateKeyPem } = await makeCertificate(options);
  const pems = { certificate_pem: certificatePem, private_key_pem: privateKeyPem };
  const { id } = await tlsCertificates.create(client, { ...pems, ...texts });
  return { id, ...pems };
}

/** A certificate and its key, as a program gives them. */
export async function makePair(options: CertificateOptions) {
  const { certificatePem, privateKeyPem } = await makeCertificate(options);
  return { certificatePem, privateKeyPem };
}

/** Puts those settings into the environment; gives back what undoes it. */
export const setEnvFor = (emulator: Emulator, prefix?: string) =>
  setEnv(settingsFor(emulator, prefix));

/** The service of a suite. */
export interface Service extends Emulator {
  /** Rewrites the body of each answer. */
  respond: Respond;
}

/**
 * A service for the tests of a suite. Each test begins a run, with an empty service and the settings that reach it.
 * What it changes of the environment, and what it mocks, is undone after it.
 *
 * @param env Variables that differ from those of {@link settingsFor}.
 */
export function useEmulator(env: Record<string, string | undefined> = {}): Service {
  const service = {} as Service;
  let environment: NodeJS.ProcessEnv;
  let settings: Record<string, string | undefined>;
  before(async () => {
    const respond: Respond = (...answer) => service.respond(...answer);
    Object.assign(service, await startEmulator({ respond }));
    settings = { ...settingsFor(service), ...env };
  });
  beforeEach(() => {
    environment = { ...process.env };
    setEnv(settings);
    service.reset();
    service.respond = (body) => body;
  });
  afterEach(() => {
    mock.reset();
    const added = Object.keys(process.env).filter((name) => !(name in environment));
    for (const name of added) delete process.env[name];
    Object.assign(process.env, environment);
  });
  after(() => service.close());
  return service;
}

/** What begins a run, in each provider of this process. */
export const runs = new Set<() => unknown>([beginRun]);

/** A later run begins, for which what exists at the service is no longer young (contract C39). */
export async function later(emulator: Emulator): Promise<void> {
  emulator.clocks.date += 600_000;
  await Promise.all([...runs].map((begin) => begin()));
}

/**
 * Holds the date and, with it, the monotonic clock, which `mock.timers` lacks, until
 * `mock.timers.tick` moves them. `mock.reset` ends it.
 */
export function holdClocks(apis: ("setTimeout" | "setInterval")[] = [], now = Date.now()): void {
  const start = Math.ceil(performance.now());
  mock.timers.enable({ apis: ["Date", ...apis], now });
  mock.method(performance, "now", () => start + Date.now() - now);
}

const wait = timers.setTimeout;

/**
 * Pauses of retries and looks take no time: the clocks, which are held, move instead. Pauses that
 * begin together end together. `mock.reset` ends it.
 */
export function skipPauses(): void {
  holdClocks();
  mock.method(timers, "setTimeout", async (ms: number) => {
    const endsAt = performance.now() + ms;
    await new Promise(setImmediate);
    mock.timers.tick(Math.max(0, endsAt - performance.now()));
  });
}

/** Moves the held clocks on, by so many milliseconds a turn, until the work is done. */
export async function ticking<T>(work: Promise<T>, ms: number): Promise<T> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) {
    mock.timers.tick(ms);
    await new Promise(setImmediate);
  }
  return work;
}

/**
 * The time of each request ends when the function that this gives back is called.
 *
 * @param asked Gets how many milliseconds each request has.
 */
export function holdTimeouts(asked: number[] = []): () => void {
  const tries: AbortController[] = [];
  mock.method(AbortSignal, "timeout", (ms: number) => {
    asked.push(ms);
    tries.push(new AbortController());
    return tries.at(-1)?.signal;
  });
  return () => tries.at(-1)?.abort();
}

/**
 * The work sends a request of this method, which has so many milliseconds, and fails when they are over: the clocks are
 * held until then.
 */
export async function assertTimesOut(
  { faults }: Emulator,
  method: Fault["method"],
  ms: number,
  work: () => Promise<unknown>,
): Promise<void> {
  skipPauses();
  const asked: number[] = [];
  const endTry = holdTimeouts(asked);
  faults.add({ method, answer: "silence" });
  const message = messageOf(work());
  await until(() => faults.list().at(-1)?.hits === 1);
  assert.equal(asked.at(-1), ms);
  mock.timers.tick(ms);
  endTry();
  assert.match(await message, /no answer in time/);
  faults.clear();
  mock.reset();
}

/** The requests to the emulator since the last time. */
export function takeRequests({ requests }: Emulator) {
  return requests.splice(0).map(({ method, body }) => ({ method, body }));
}

/** The methods of the requests since the last time. */
export const takeMethods = (emulator: Emulator) =>
  takeRequests(emulator).map(({ method }) => method);

/** What the provider shows from now on, until `mock.reset`: warnings begin with `warning: `. */
export function captureMessages(): () => string[] {
  const shown = mock.method(console, "error", () => {});
  return () => shown.mock.calls.map((call) => String(call.arguments));
}

/** Ends the run of the dynamic providers. */
export const finishRun = () => endRun(currentRun());

/** A call of the engine about a resource without secrets, as the life cycle gets it. */
export const engineCall = (run: Run, kind: Kind, connection = "tlsedge"): Call => ({
  run,
  kind,
  connection,
  protocol: { plansCreate: false, programChecks: true },
  urn: "",
  secrets: new Set(),
});

/** The warnings at the end of a run. */
export async function planWarnings(end = finishRun): Promise<string[]> {
  const messages = captureMessages();
  await end();
  return messages().filter((line) => line.startsWith("warning: "));
}

/** Waits until something is so; gives up in the end, so that a test fails instead of hanging. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    if (isSo()) return;
    await wait(1);
  }
  throw new assert.AssertionError({ message: `never came true: ${isSo}` });
}

/** Sets Pulumi's mocks, as a user's unit test does; gives back what undoes it. */
export function setMocks(
  mocks: pulumi.runtime.Mocks,
  project?: string,
  stack?: string,
  isPlan = false,
) {
  pulumi.runtime.setMocks(mocks, project, stack, isPlan);
  // Other suites run in this process, too: with mocks, their lookups would make no request.
  return () => pulumi.runtime.resetOptions("project", "stack", -1, "", "", false, "");
}

/** What an output holds, once it is known. */
export const known = <T>(output: pulumi.Output<T>) =>
  new Promise<T>((resolve) => void output.apply(resolve));

/** The requests to a scripted server. */
type ScriptRequests = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}[];

/** How a scripted server deals with one request. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Answers with JSON, or with the text as it is. */
export function answer(status: number, body: object | string = "", headers = {}): Answer {
  return (response) => {
    const isText = typeof body === "string";
    const type = isText ? "text/html" : "application/json";
    response.writeHead(status, { "Content-Type": type, ...headers });
    response.end(isText ? body : JSON.stringify(body));
  };
}

/** Cuts the connection with no answer. */
export const reset: Answer = (response) => void response.socket?.destroy();

/** Says nothing, for ever. */
export const silence: Answer = () => {};

let authority: Promise<MadeCertificate> | undefined;

/** A server over HTTPS that does what the emulator can't: one answer for each request, in order. */
export async function script(...answers: Answer[]) {
  authority ??= makeAuthority();
  const ca = (await authority).certificatePem;
  const { certificatePem, privateKeyPem } = await makeServerCertificate(await authority);
  const requests: ScriptRequests = [];
  const server = createServer({ cert: certificatePem, key: privateKeyPem });
  // Else a busy process may close a connection just when the client sends the next request on it.
  server.keepAliveTimeout = 0;
  server.on("request", async (request, response) => {
    const { method = "", url: path = "", headers } = request;
    const place = requests.push({ method, path, headers, body: "" }) - 1;
    requests[place] = { method, path, headers, body: await text(request) };
    const next = answers[place] ?? answer(500, { msg: "the script has ended" });
    next(response, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { url, caFile: fileWith(ca), requests, close };
}

/** Does work with settings that reach a scripted server of its own, and those of `env`. */
export async function atScript<T>(
  answers: Answer[],
  work: (requests: ScriptRequests) => Promise<T> | T,
  env: Record<string, string | undefined> = {},
): Promise<T> {
  const { url, caFile, requests, close } = await script(...answers);
  const undo = setEnv({ TLSEDGE_BASE_URL: url, TLSEDGE_CA_FILE: caFile, ...env });
  try {
    return await work(requests);
  } finally {
    undo();
    await close();
  }
}

/** An error that is expected, of the class that is expected. */
export async function failureOf<E extends Error>(
  work: Promise<unknown>,
  kind: new (...args: never[]) => E,
): Promise<E> {
  const outcome: unknown = await work.then(() => undefined).catch((error) => error);
  assert.ok(outcome instanceof kind, `expected a ${kind.name}, got ${outcome}`);
  return outcome;
}

/** The message of an error that is expected. */
export const messageOf = async (work: Promise<unknown>): Promise<string> =>
  (await failureOf(work, Error)).message;

/** What crosses to the provider, as the wire leaves it: without what is undefined. */
const wired = (value: unknown) => JSON.parse(JSON.stringify(value));

/** The provider's text, as the engine keeps it in inputs and state. */
const __provider = "exports.handler = () => 0";

/** A dynamic provider in this process, called as Pulumi does it (its dynamic-provider/index.js). */
function inProcess(
  provider: object,
  config: Record<string, string>,
  urn: () => string,
): ResourceProvider {
  const methods = provider as Record<string, (...args: unknown[]) => Promise<object | undefined>>;
  const call = async (name: string, ...args: unknown[]) => {
    const get = (key: string) => config[key];
    const require = (key: string) => config[key] ?? "";
    await methods.configure?.({ config: { get, require } });
    const answer = (await urnOf.run(urn(), async () => methods[name]?.(...wired(args)))) ?? {};
    // What crosses back: Pulumi's wire refuses what is undefined.
    assert.deepEqual(wired(answer), answer, "the provider answers with an undefined value");
    const answered = wired(answer);
    // C37: anything more would take the verdict out of the engine's hands.
    assert.notEqual(answered.changes, true);
    for (const part of ["inputs", "outs", "props"])
      if (answered[part]) Object.assign(answered[part], { __provider });
    return answered;
  };
  return {
    check: (olds, news) => call("check", olds, { __secrets: [], ...news, __provider }),
    diff: (id, state, news) => call("diff", id, state, news),
    create: (news) => call("create", news),
    read: (id, state) => call("read", id, state),
    update: (id, state, news) => call("update", id, state, news),
    delete: (id, state) => call("delete", id, state),
  };
}

/** A plugin's provider, to which the engine marks the properties that `__secrets` names. */
function marking(provider: ResourceProvider): ResourceProvider {
  const marked = ({ __secrets = [], ...args }: Properties): Properties => ({
    ...args,
    ...Object.fromEntries((__secrets as string[]).map((name) => [name, secret(args[name])])),
  });
  return { ...provider, check: (olds, news) => provider.check(olds, marked(news)) };
}

/** One resource of a provider in this process: a dynamic one, or a {@link ResourceProvider}. */
export class Stack extends Resource {
  static #count = 0;
  /**
   * The name in the program of a dynamic provider's resource; empty: the calls have no URN, as the first one of a
   * process. A plugin's provider has a name of its own.
   */
  name = `resource-${++Stack.#count}`;
  protected readonly provider: ResourceProvider;

  constructor(provider: object, config: Record<string, string> = {}) {
    super();
    const urn = () => this.name && `urn:pulumi:dev::p::pulumi-nodejs:dynamic:R::${this.name}`;
    this.provider =
      "configure" in provider
        ? inProcess(provider, config, urn)
        : marking(provider as ResourceProvider);
  }

  /** `TLSEdge.get`: a read that knows no more than the id and what the program passes. */
  get(id: string, props: Properties = {}) {
    return this.provider.read(id, { ...props, __provider });
  }

  /** `pulumi destroy`: a run of its own. */
  async destroy(): Promise<void> {
    beginRun();
    await this.leave();
  }
}

/** A resource that was deployed with these arguments. */
export async function deployed(provider: object, args: Properties): Promise<Stack> {
  const stack = new Stack(provider);
  await stack.up(args);
  return stack;
}
