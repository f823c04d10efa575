import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import {
  credentials,
  Server,
  ServerCredentials,
  type ServiceError,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { EngineService } from "@pulumi/pulumi/proto/engine_grpc_pb";
import type { LogRequest } from "@pulumi/pulumi/proto/engine_pb";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { Struct } from "google-protobuf/google/protobuf/struct_pb";
import { repository } from "./folders";

/** Inputs or outputs of a resource, in plain form. */
export type Properties = Record<string, unknown>;

/** An incomplete resource: the engine stores it, and updates it in the next up. */
export interface PartialResource {
  id: string;
  properties: Properties;
  reasons: string[];
}

/** The error of a call. With `partial`, the failed call has created or changed the resource. */
export class CallError extends Error {
  constructor(
    message: string,
    readonly partial?: PartialResource,
  ) {
    super(message);
  }
}

type Done<Response> = (error: ServiceError | null, response: Response) => void;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A simulated engine: providers check whether its port is open, and the plugin logs through it. */
export class EnginePort {
  port = 0;
  /** Called with each message that the plugin logs, and the URN of its resource. */
  onLog: (message: string, urn: string) => void = () => undefined;
  readonly #server = new Server();

  private constructor() {
    this.#server.addService(EngineService, {
      log: ({ request }: { request: LogRequest }, done: sendUnaryData<Empty>) => {
        this.onLog(request.getMessage(), request.getUrn());
        done(null, new Empty());
      },
    });
  }

  static async open(): Promise<EnginePort> {
    const engine = new EnginePort();
    const bind = promisify(engine.#server.bindAsync.bind(engine.#server));
    engine.port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());
    return engine;
  }

  /** Refuses connections from now on, and cuts those that are open. */
  async close(): Promise<void> {
    this.#server.forceShutdown();
  }
}

/** The way to the resources: dynamic providers, or the packaged plugin. */
export type Protocol = "dynamic" | "plugin";

/** The URN and the type of a resource. A dynamic provider does not read them. */
export interface Named {
  urn: string;
  type: string;
}

/** A provider's process, of either protocol, started and called as the engine does it. */
export class Provider {
  /** What the process has printed, or logged through the engine. */
  printed = "";
  /** What the process has answered, without secrets that the engine encrypts. */
  answered = "";
  readonly #child: ChildProcess;
  readonly #engine: EnginePort;
  readonly #closed: Promise<unknown>;
  /** Rejects when the process or the engine is killed: no call in flight gets an answer then. */
  readonly #cancelled: Promise<never>;
  #cancel: () => void = () => undefined;
  readonly #client: ResourceProviderClient;

  private constructor(child: ChildProcess, engine: EnginePort, port: string) {
    this.#child = child;
    this.#engine = engine;
    this.#closed = once(child, "close");
    this.#cancelled = new Promise((_, reject) => {
      this.#cancel = () => reject(new CallError("the process was killed"));
    });
    this.#cancelled.catch(() => undefined);
    this.#client = new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  /** Starts and configures a process. `folder` is the program's: packages are resolved from it. */
  static async start(
    folder: string,
    env: NodeJS.ProcessEnv,
    protocol: Protocol = "dynamic",
    given?: EnginePort,
  ): Promise<Provider> {
    const engine = given ?? (await EnginePort.open());
    const script = {
      dynamic: require.resolve("@pulumi/pulumi/cmd/dynamic-provider"),
      plugin: path.join(repository, "plugin", "dist", "pulumi-resource-tlsedge.js"),
    }[protocol];
    const args = [script, `127.0.0.1:${engine.port}`];
    const child = spawn(process.execPath, args, { cwd: folder, env });
    running.add(child);
    child.once("close", () => running.delete(child));
    let early = "";
    child.stderr.on("data", (data) => (early += data));
    const ended = once(child, "close").then(() => Promise.reject(new Error(early)));
    // The process prints its port first.
    const [port] = await Promise.race([once(child.stdout, "data"), ended]);
    ended.catch(() => undefined);
    const provider = new Provider(child, engine, String(port).trim());
    provider.printed = early;
    engine.onLog = (message) => {
      provider.printed += `${message}\n`;
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        provider.printed += data;
      });
    }
    if (protocol === "plugin") {
      const engineAddress = `127.0.0.1:${engine.port}`;
      const request = fill(new messages.ProviderHandshakeRequest(), { engineAddress });
      await provider.#call("handshake", request);
    }
    await provider.#call("configure", fill(new messages.ConfigureRequest(), { args: {} }));
    return provider;
  }

  async check(resource: Named, olds: Properties, news: Properties) {
    const request = fill(new messages.CheckRequest(), { ...resource, olds, news });
    const response = await this.#call<messages.CheckResponse>("check", request);
    const inputs = fromStruct(response.getInputs());
    const failures = response.getFailuresList().map((one) => one.getReason());
    this.#note(inputs, failures);
    return { inputs, failures };
  }

  /** `same`, or the properties that need a replace; if neither, the engine compares the inputs. */
  async diff(
    resource: Named,
    id: string,
    olds: Properties,
    news: Properties,
    oldInputs: Properties,
  ) {
    const request = fill(new messages.DiffRequest(), { ...resource, id, olds, news, oldInputs });
    const response = await this.#call<messages.DiffResponse>("diff", request);
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const changes = response.getChanges();
    const replaces = response.getReplacesList();
    return { same: changes === DIFF_NONE, changed: changes === DIFF_SOME, replaces };
  }

  async create(resource: Named, properties: Properties, preview = false) {
    const request = fill(new messages.CreateRequest(), { ...resource, properties });
    request.setPreview(preview);
    const response = await this.#call<messages.CreateResponse>("create", request);
    return { id: response.getId(), state: this.#note(fromStruct(response.getProperties())) };
  }

  /** Without properties and inputs: an import. */
  async read(resource: Named, id: string, properties?: Properties, inputs?: Properties) {
    const request = fill(new messages.ReadRequest(), { ...resource, id, properties, inputs });
    const response = await this.#call<messages.ReadResponse>("read", request);
    return this.#note({
      id: response.getId(),
      state: fromStruct(response.getProperties()),
      inputs: response.hasInputs() ? fromStruct(response.getInputs()) : undefined,
    });
  }

  async update(
    resource: Named,
    id: string,
    olds: Properties,
    news: Properties,
    oldInputs: Properties,
  ) {
    const request = fill(new messages.UpdateRequest(), { ...resource, id, olds, news, oldInputs });
    const response = await this.#call<messages.UpdateResponse>("update", request);
    return this.#note(fromStruct(response.getProperties()));
  }

  async delete(resource: Named, id: string, properties: Properties): Promise<void> {
    await this.#call("delete", fill(new messages.DeleteRequest(), { ...resource, id, properties }));
  }

  /** What the engine calls when the user cancels, and at the end of every run. A plugin has it. */
  async cancel(): Promise<void> {
    await this.#call("cancel", new Empty());
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Kills the process; `printed` is complete when this settles. */
  async kill(): Promise<void> {
    this.#cancel();
    this.#client.close();
    if (!this.hasEnded) this.#child.kill("SIGKILL");
    await this.#closed;
    await this.#engine.close();
  }

  /** Ends the process as the engine does after a command. */
  async end(): Promise<void> {
    if (!this.hasEnded) this.#child.kill("SIGINT");
    await this.#closed;
    await this.kill();
  }

  /** Closes the engine's port, as if the engine was killed; kills the process after `ms`. */
  async loseEngine(ms: number): Promise<void> {
    const closed = this.#engine.close();
    this.#cancel();
    this.#client.close();
    await closed;
    await Promise.race([this.#closed, setTimeout(ms, undefined, { ref: false })]);
    await this.kill();
  }

  #call<Response>(method: string, request: object): Promise<Response> {
    const client = this.#client as unknown as Record<
      string,
      (request: object, done: Done<Response>) => void
    >;
    const answer = new Promise<Response>((resolve, reject) => {
      client[method]?.(request, (error, response) =>
        error ? reject(callErrorOf(error)) : resolve(response),
      );
    });
    return Promise.race([answer, this.#cancelled]).catch((error: CallError) => {
      this.#note(error.message, error.partial);
      throw error;
    });
  }

  /** Keeps what was answered; returns the first part of it. */
  #note<T>(first: T, ...more: unknown[]): T {
    // The engine encrypts what is marked as a secret, and a dynamic provider's key: inputs hold it.
    const visible = (name: string, value: unknown) =>
      name === "privateKeyPem" || (value as Properties | null)?.[secretKey] ? undefined : value;
    this.answered += `${JSON.stringify([first, ...more], visible)}\n`;
    return first;
  }
}

/** The key that Pulumi marks a secret with. */
const secretKey = "4dabf18193072939515e22adb298388d";

/** Sets the fields of a request, without undefined values: the engine sends none. */
export function fill<Request extends object>(
  request: Request,
  fields: Record<string, unknown>,
): Request {
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const field = typeof value === "object" ? Struct.fromJavaScript(plain(value)) : value;
    const setter = `set${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    (request as Record<string, (value: unknown) => void>)[setter]?.(field);
  }
  return request;
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

function fromStruct(struct: Struct | undefined): Properties {
  return (struct?.toJavaScript() ?? {}) as Properties;
}

/** Reads a partial success from the trailer of an error (Pulumi's ErrorResourceInitFailed). */
function callErrorOf(error: ServiceError): CallError {
  const [trailer] = error.metadata.get("grpc-status-details-bin");
  if (!trailer) return new CallError(error.details);
  const [detail] = Status.deserializeBinary(Buffer.from(trailer)).getDetailsList();
  if (detail?.getTypeName() !== "pulumirpc.ErrorResourceInitFailed") {
    throw new Error(`an error has details that the engine does not know: ${error.details}`);
  }
  const failed = messages.ErrorResourceInitFailed.deserializeBinary(detail.getValue_asU8());
  return new CallError(error.details, {
    id: failed.getId(),
    properties: fromStruct(failed.getProperties()),
    reasons: failed.getReasonsList(),
  });
}
