import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import {
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceError,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { EngineService } from "@pulumi/pulumi/proto/engine_grpc_pb";
import type { LogRequest } from "@pulumi/pulumi/proto/engine_pb";
import {
  type IResourceProviderClient,
  ResourceProviderClient,
  ResourceProviderService,
} from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { Struct } from "google-protobuf/google/protobuf/struct_pb";
import { repository } from "./folders";
import type { PartialResource, Properties, ResourceProvider } from "./resource";

/** The error of a call, with what the engine stores if the call has created or changed the resource nevertheless. */
export class CallError extends Error implements Partial<PartialResource> {
  id?: string;
  properties?: Properties;
  inputs?: Properties;
  reasons?: string[];

  constructor(message: string, partial?: PartialResource) {
    super(message);
    Object.assign(this, partial);
  }
}

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

type Service = typeof ResourceProviderService;
type Method = keyof IResourceProviderClient;
type Answer<Name extends Method> = ReturnType<Service[Name]["responseDeserialize"]>;
const methods = ResourceProviderService as {
  [Name in Method]: MethodDefinition<object, Answer<Name>>;
};

/** A provider of either protocol, called over gRPC as the engine calls it. */
export class RemoteProvider {
  readonly client: ResourceProviderClient;
  #plansCreates = false;

  constructor(port: number | string) {
    this.client = new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  /** Calls a method, with these fields of its request. */
  call<Name extends Method>(name: Name, fields: Properties = {}): Promise<Answer<Name>> {
    const { path, requestDeserialize, requestSerialize, responseDeserialize } = methods[name];
    const request = fill(requestDeserialize(Buffer.of()), fields);
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Answer<Name>) =>
        error ? reject(callErrorOf(error)) : resolve(answer as Answer<Name>);
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, done);
    });
  }

  /** A run begins. */
  async configure(): Promise<void> {
    const response = await this.call("configure", { args: {} });
    this.#plansCreates = response.getSupportspreview();
  }

  /** The calls about one resource. */
  resource(named: Named): Required<ResourceProvider> {
    const call = <Name extends Method>(name: Name, fields: Properties) =>
      this.call(name, { ...named, ...fields });
    return {
      check: async (olds, news) => {
        const response = await call("check", { olds, news });
        const failures = response.getFailuresList().map((one) => one.toObject());
        return { inputs: valuesOf(response.getInputs()), failures };
      },
      diff: async (id, olds, news, oldInputs) => {
        const response = await call("diff", { id, olds, news, oldInputs });
        const { DIFF_UNKNOWN, DIFF_SOME } = messages.DiffResponse.DiffChanges;
        const said = response.getChanges();
        const changes = said === DIFF_UNKNOWN ? undefined : said === DIFF_SOME;
        return { changes, replaces: response.getReplacesList() };
      },
      planned: async (properties) => {
        if (!this.#plansCreates) return {};
        return valuesOf((await call("create", { properties, preview: true })).getProperties());
      },
      create: async (properties) => {
        const response = await call("create", { properties });
        return { id: response.getId(), outs: valuesOf(response.getProperties()) };
      },
      read: async (id, properties, olds) => {
        const response = await call("read", { id, properties, inputs: olds });
        const inputs = response.hasInputs() ? valuesOf(response.getInputs()) : undefined;
        return { id: response.getId(), props: valuesOf(response.getProperties()), inputs };
      },
      update: async (id, olds, news, oldInputs) => {
        const response = await call("update", { id, olds, news, oldInputs });
        return { outs: valuesOf(response.getProperties()) };
      },
      delete: async (id, properties) => {
        await call("delete", { id, properties });
      },
    };
  }
}

/** A provider's process, of either protocol, started and called as the engine does it. */
export class Provider extends RemoteProvider {
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

  private constructor(child: ChildProcess, engine: EnginePort, port: string) {
    super(port);
    this.#child = child;
    this.#engine = engine;
    this.#closed = once(child, "close");
    this.#cancelled = new Promise((_, reject) => {
      this.#cancel = () => reject(new CallError("the process was killed"));
    });
    this.#cancelled.catch(() => undefined);
  }

  /** Starts and configures a process. `folder` is the program's: packages are resolved from it. */
  static async start(
    folder: string,
    env: NodeJS.ProcessEnv,
    protocol: Protocol = "dynamic",
  ): Promise<Provider> {
    const engine = await EnginePort.open();
    const script = {
      dynamic: require.resolve("@pulumi/pulumi/cmd/dynamic-provider"),
      plugin: path.join(repository, "plugin", "dist", "pulumi-resource-tlsedge.js"),
    }[protocol];
    const engineAddress = `127.0.0.1:${engine.port}`;
    const child = spawn(process.execPath, [script, engineAddress], { cwd: folder, env });
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
    if (protocol === "plugin") await provider.call("handshake", { engineAddress });
    await provider.configure();
    return provider;
  }

  override async call<Name extends Method>(name: Name, fields?: Properties) {
    try {
      const answer = await Promise.race([super.call(name, fields), this.#cancelled]);
      this.answered += `${JSON.stringify(answer.toObject(), visible)}\n`;
      return answer;
    } catch (error) {
      const { message, properties } = error as CallError;
      this.answered += `${JSON.stringify([message, properties])}\n`;
      throw error;
    }
  }

  /** What the engine calls when the user cancels, and at the end of every run. A plugin has it. */
  async cancel(): Promise<void> {
    await this.call("cancel");
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Kills the process; `printed` is complete when this settles. */
  async kill(): Promise<void> {
    this.#cancel();
    this.client.close();
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
    this.client.close();
    await closed;
    await Promise.race([this.#closed, setTimeout(ms, undefined, { ref: false })]);
    await this.kill();
  }
}

/** How Pulumi marks a secret. */
const secretKey = "4dabf18193072939515e22adb298388d";
export const secret = (value: unknown) => ({
  [secretKey]: "1b47061264138c4ac30d75fd1eb44270",
  value,
});

/** An answer's properties, without what the engine encrypts: marked secrets, and a dynamic provider's key in its inputs. */
function visible(_: string, part: unknown): unknown {
  // A property is a pair of its name and its value.
  const [name, value] = Array.isArray(part) ? part : [];
  const fields: [string, unknown][] = value?.structValue?.fieldsMap ?? [];
  const isHidden = name === "privateKeyPem" || fields.some(([key]) => key === secretKey);
  return isHidden ? undefined : part;
}

/** Sets the fields of a request, without undefined values: the engine sends none. */
function fill<Request extends object>(request: Request, fields: Properties): Request {
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const field = typeof value === "object" ? Struct.fromJavaScript(plain(value)) : value;
    const setter = `set${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    (request as Record<string, (value: unknown) => void>)[setter]?.(field);
  }
  return request;
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

/** The properties of an answer, as they came. */
export function valuesOf(struct: { toJavaScript(): object } | undefined): Properties {
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
    ...{ id: failed.getId(), reasons: failed.getReasonsList() },
    ...{ properties: valuesOf(failed.getProperties()), inputs: valuesOf(failed.getInputs()) },
  });
}
