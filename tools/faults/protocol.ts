import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import type { ServiceError } from "@grpc/grpc-js";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb";

// These are CommonJS whose exports Node can't name in an import.
const load = createRequire(path.join(process.cwd(), "package.json"));
const grpc = load("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
const struct = load(
  "google-protobuf/google/protobuf/struct_pb",
) as typeof import("google-protobuf/google/protobuf/struct_pb");
const messages = load(
  "@pulumi/pulumi/proto/provider_pb",
) as typeof import("@pulumi/pulumi/proto/provider_pb");
const { ResourceProviderClient } = load(
  "@pulumi/pulumi/proto/provider_grpc_pb",
) as typeof import("@pulumi/pulumi/proto/provider_grpc_pb");
const { Status } = load("@pulumi/pulumi/proto/status_pb") as {
  Status: {
    deserializeBinary(bytes: Uint8Array): {
      getDetailsList(): { getTypeName(): string; getValue_asU8(): Uint8Array }[];
    };
  };
};

export type Properties = Record<string, unknown>;

/** A resource that exists, but is not as it should be: the engine keeps its id and goes on later. */
export interface Recorded {
  id: string;
  properties: Properties;
  reasons: string[];
}

/** What the provider answers when it fails; with `recorded` it has half succeeded. */
export class Failure extends Error {
  readonly recorded: Recorded | undefined;

  constructor(message: string, recorded?: Recorded) {
    super(message);
    this.recorded = recorded;
  }
}

type Answer<R> = (error: ServiceError | null, response: R) => void;

/** The calls of the protocol that are made here. */
const requests = {
  configure: messages.ConfigureRequest,
  check: messages.CheckRequest,
  diff: messages.DiffRequest,
  create: messages.CreateRequest,
  read: messages.ReadRequest,
  update: messages.UpdateRequest,
  delete: messages.DeleteRequest,
};

interface Responses {
  configure: unknown;
  check: InstanceType<typeof messages.CheckResponse>;
  diff: InstanceType<typeof messages.DiffResponse>;
  create: InstanceType<typeof messages.CreateResponse>;
  read: InstanceType<typeof messages.ReadResponse>;
  update: InstanceType<typeof messages.UpdateResponse>;
  delete: unknown;
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Stands for an engine: a provider looks whether there is one at the address it was given. */
class Engine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
    });
  }

  static async open(): Promise<Engine> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Engine(server);
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Pulumi's own server of dynamic providers, started and spoken to as the engine does it. */
export class Provider {
  /** What the process has printed. */
  printed = "";
  /** What the process has answered, but for secrets that the engine keeps encrypted. */
  answered = "";
  readonly #child: ChildProcess;
  readonly #engine: Engine;
  readonly #closed: Promise<unknown>;
  /** Rejects when nobody waits for answers any more. */
  readonly #cut: Promise<never>;
  #cutOff: () => void = () => undefined;
  readonly #client: InstanceType<typeof ResourceProviderClient>;

  private constructor(child: ChildProcess, engine: Engine, port: string) {
    this.#child = child;
    this.#engine = engine;
    this.#closed = once(child, "close");
    this.#cut = new Promise((_, reject) => {
      this.#cutOff = () => reject(new Failure("the process was killed"));
    });
    this.#cut.catch(() => undefined);
    this.#client = new ResourceProviderClient(
      `127.0.0.1:${port}`,
      grpc.credentials.createInsecure(),
    );
  }

  /** `folder` is where the program would stand: the package is resolved from there. */
  static async start(folder: string, env: NodeJS.ProcessEnv): Promise<Provider> {
    const script = load.resolve("@pulumi/pulumi/cmd/dynamic-provider/index.js");
    const engine = await Engine.open();
    const child = spawn(process.execPath, [script, engine.address], { cwd: folder, env });
    running.add(child);
    child.once("close", () => running.delete(child));
    let early = "";
    child.stderr.on("data", (data) => (early += data));
    const ended = once(child, "close").then(() => Promise.reject(new Error(early)));
    const [port] = await Promise.race([once(child.stdout, "data"), ended]);
    ended.catch(() => undefined);
    const provider = new Provider(child, engine, String(port).trim());
    provider.printed = early;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        provider.printed += data;
      });
    }
    await provider.#call("configure", { args: {} });
    return provider;
  }

  async check(olds: Properties, news: Properties) {
    const response = await this.#call("check", { olds, news });
    const inputs = fromStruct(response.getInputs());
    const failures = response.getFailuresList().map((one) => one.getReason());
    // The key is an input, which the engine keeps encrypted: here alone it comes back.
    this.#note({ ...inputs, privateKeyPem: undefined }, failures);
    return { inputs, failures };
  }

  /** `same`, the properties that replace, or neither: then the engine compares the inputs. */
  async diff(id: string, olds: Properties, news: Properties) {
    const response = await this.#call("diff", { id, olds, news });
    const none = messages.DiffResponse.DiffChanges.DIFF_NONE;
    return { same: response.getChanges() === none, replaces: response.getReplacesList() };
  }

  async create(properties: Properties): Promise<{ id: string; state: Properties }> {
    const response = await this.#call("create", { properties });
    return { id: response.getId(), state: this.#note(fromStruct(response.getProperties())) };
  }

  async read(id: string, properties: Properties, inputs: Properties) {
    const response = await this.#call("read", { id, properties, inputs });
    return this.#note({
      id: response.getId(),
      state: fromStruct(response.getProperties()),
      inputs: response.hasInputs() ? fromStruct(response.getInputs()) : undefined,
    });
  }

  async update(id: string, olds: Properties, news: Properties): Promise<Properties> {
    const response = await this.#call("update", { id, olds, news });
    return this.#note(fromStruct(response.getProperties()));
  }

  async delete(id: string, properties: Properties): Promise<void> {
    await this.#call("delete", { id, properties });
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Kills the process; what it has printed is all there when this settles. */
  async close(): Promise<void> {
    this.#cutOff();
    this.#client.close();
    if (!this.hasEnded) this.#child.kill("SIGKILL");
    await this.#closed;
    this.#engine.close();
  }

  /** Ends the process in order, as the engine does when it has stored what was answered. */
  async end(): Promise<void> {
    if (!this.hasEnded) this.#child.kill("SIGINT");
    await this.#closed;
    await this.close();
  }

  /** Takes the engine away, as if that were killed, and leaves the process `ms` to end by itself. */
  async orphan(ms: number): Promise<void> {
    this.#engine.close();
    this.#cutOff();
    this.#client.close();
    await Promise.race([this.#closed, setTimeout(ms, undefined, { ref: false })]);
    await this.close();
  }

  async #call<M extends keyof Responses>(
    method: M,
    fields: Record<string, string | Properties>,
  ): Promise<Responses[M]> {
    const request = new requests[method]() as unknown as Record<string, (value: unknown) => void>;
    for (const [name, value] of Object.entries(fields)) {
      const setter = `set${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      request[setter]?.(typeof value === "string" ? value : toStruct(value));
    }
    const client = this.#client as unknown as {
      [N in M]: (request: object, answer: Answer<Responses[N]>) => void;
    };
    const answer = new Promise<Responses[M]>((resolve, reject) => {
      client[method](request, (error, response) =>
        error ? reject(failureOf(error)) : resolve(response),
      );
    });
    return Promise.race([answer, this.#cut]).catch((error: Failure) => {
      this.#note(error.message, error.recorded);
      throw error;
    });
  }

  /** Keeps what was answered; gives back the first of it. */
  #note<T>(first: T, ...more: unknown[]): T {
    this.answered += `${JSON.stringify([first, ...more])}\n`;
    return first;
  }
}

function toStruct(properties: Properties): Struct {
  // What is undefined is not sent.
  const sent = JSON.parse(JSON.stringify(properties)) as Properties;
  return struct.Struct.fromJavaScript(sent as Parameters<typeof Struct.fromJavaScript>[0]);
}

function fromStruct(given: Struct | undefined): Properties {
  return (given?.toJavaScript() ?? {}) as Properties;
}

/** What half succeeded stands in a trailer of the answer (Pulumi's ErrorResourceInitFailed). */
function failureOf(error: ServiceError): Failure {
  const [trailer] = error.metadata.get("grpc-status-details-bin");
  if (!trailer) return new Failure(error.details);
  const [detail] = Status.deserializeBinary(Buffer.from(trailer)).getDetailsList();
  if (detail?.getTypeName() !== "pulumirpc.ErrorResourceInitFailed") {
    throw new Error(`an answer has details that the engine does not know: ${error.details}`);
  }
  const failed = messages.ErrorResourceInitFailed.deserializeBinary(detail.getValue_asU8());
  return new Failure(error.details, {
    id: failed.getId(),
    properties: fromStruct(failed.getProperties()),
    reasons: failed.getReasonsList(),
  });
}
