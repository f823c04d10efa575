import { once } from "node:events";
import path from "node:path";
import { Worker } from "node:worker_threads";
import * as grpc from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import type { ConstructRequest, ConstructResponse } from "@pulumi/pulumi/proto/provider_pb";
import { engineAddress } from "../provider/run/engine";
import { channelOptions } from "./rpc";

/**
 * Answers the engine's calls for components. A thread answers them with Pulumi's SDK, which a program
 * without components does not load. It keeps the process alive until `stop`.
 */
export function components() {
  let worker: Worker | undefined;
  let started: Promise<ResourceProviderClient> | undefined;
  return {
    async construct(request: ConstructRequest): Promise<ConstructResponse> {
      worker ??= new Worker(path.join(__dirname, "components.js"), {
        argv: [engineAddress()],
        stdout: true,
      });
      started ??= connectTo(worker);
      const server = await started;
      return new Promise((resolve, reject) =>
        server.construct(request, (error, response) =>
          error ? reject(new Error(error.details)) : resolve(response),
        ),
      );
    },
    stop: () => worker?.terminate(),
  };
}

async function connectTo(worker: Worker): Promise<ResourceProviderClient> {
  // The first line is the port.
  const [port] = await once(worker.stdout, "data");
  const address = `127.0.0.1:${String(port).trim()}`;
  return new ResourceProviderClient(address, grpc.credentials.createInsecure(), channelOptions);
}
