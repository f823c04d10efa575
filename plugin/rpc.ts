import { AsyncLocalStorage } from "node:async_hooks";
import * as grpc from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb";
import { ResourceProviderService } from "@pulumi/pulumi/proto/provider_grpc_pb";
import type { ErrorResourceInitFailed } from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { Any } from "google-protobuf/google/protobuf/any_pb";
import { plainMessage } from "../client/plain";
import type { Show } from "../provider/run/log";
import { withPythonNames } from "./pythonNames";

/** The URN of the operation in progress: messages about it name its resource. */
const urnOf = new AsyncLocalStorage<string>();
/** Messages on their way to the engine, which shows none that comes after its last operation. */
const unshown = new Set<Promise<void>>();

/** The methods that answer the engine's calls, by the names of the calls. */
// biome-ignore lint/suspicious/noExplicitAny: each call has a request of its own type
type Methods = Partial<Record<string, (request: any) => unknown>>;

/** For clients and servers on this machine. */
export const channelOptions = {
  // The engine sends and expects messages of up to 400 MiB.
  "grpc.max_receive_message_length": 400 * 1024 * 1024,
  // Otherwise gRPC calls even 127.0.0.1 through a proxy that the environment names.
  "grpc.enable_http_proxy": 0,
};

/**
 * Serves the engine's calls on a port of 127.0.0.1 that the system chooses.
 *
 * @param plugin Has a method for each call that it answers.
 * @returns The port, and how to stop.
 */
export async function serve(plugin: object): Promise<{ port: number; close(): void }> {
  const server = new grpc.Server(channelOptions);
  const methods = plugin as Methods;
  const calls = Object.keys(ResourceProviderService).flatMap((name) => {
    const method = methods[name]?.bind(plugin);
    return method ? [[name, handlerOf(method)]] : [];
  });
  server.addService(ResourceProviderService, Object.fromEntries(calls));
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { port, close: () => server.forceShutdown() };
}

/** A request about one resource. Not every request has a URN. */
type AnyRequest = { getUrn?(): string };

/** Makes a handler of a function: an exception becomes the answer's error. */
function handlerOf(
  handle: (request: AnyRequest) => unknown,
): grpc.handleUnaryCall<AnyRequest, unknown> {
  return ({ request }, callback) => {
    const urn = request.getUrn?.() ?? "";
    const work = urnOf.run(urn, async () => handle(request));
    const answer = work.finally(allShown);
    answer.then(
      (response) => callback(null, response),
      (error: Error) => callback(grpcError(error)),
    );
  };
}

/** Settles when the engine has all messages. */
export const allShown = (): Promise<unknown> => Promise.all(unshown);

/** A create that made an object which is not complete: the engine stores what is known of it. */
export class IncompleteError extends Error {
  constructor(
    message: string,
    readonly details: ErrorResourceInitFailed,
  ) {
    super(message);
  }
}

function grpcError(error: Error): grpc.ServiceError {
  const message = withPythonNames(plainMessage(error.message));
  const metadata = new grpc.Metadata();
  const code = grpc.status.UNKNOWN;
  if (error instanceof IncompleteError) {
    const any = new Any();
    any.pack(error.details.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
    const status = new Status().setCode(code).setMessage(message).setDetailsList([any]);
    metadata.set("grpc-status-details-bin", Buffer.from(status.serializeBinary()));
  }
  return Object.assign(new Error(message), { code, details: message, metadata });
}

/** Shows messages through the engine, which shows nothing of a plugin's stderr. */
export function throughEngine(address: string): Show {
  const engine = new EngineClient(address, grpc.credentials.createInsecure(), channelOptions);
  let last = Promise.resolve();
  return (severity, text, about) => {
    const level = severity === "warning" ? LogSeverity.WARNING : LogSeverity.INFO;
    const ofCall = urnOf.getStore() ?? "";
    const urn = about === "resource" ? ofCall : about === "run" ? "" : about;
    const request = new LogRequest()
      .setSeverity(level)
      .setMessage(withPythonNames(text ?? ""))
      .setUrn(urn);
    request.setEphemeral(severity === "status");
    // An engine that has ended gives an error, and nobody reads the message.
    const log = () => new Promise<void>((resolve) => engine.log(request, () => resolve()));
    // The engine may show two that are under way in another order: the end of a wait after the next wait.
    const isShown = last.then(log, log);
    last = isShown;
    unshown.add(isShown);
    void isShown.then(() => unshown.delete(isShown));
  };
}
