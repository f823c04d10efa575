import { isDeepStrictEqual } from "node:util";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb";
import { servePlugin } from "../plugin/plugin";
import schema from "../plugin/schema.json";
import { fromWire } from "../plugin/wire";
import { fill, type Named } from "../tools/protocol";
import { type Properties, type ResourceProvider, runs } from "./support";

/** The URN and the type of a resource of the plugin. */
export const resourceOf = (type: string, name = "name"): Named => ({
  urn: `urn:pulumi:dev::p::tlsedge:index:${type}::${name}`,
  type: `tlsedge:index:${type}`,
});

/** Calls a method of the plugin. */
type Call = <Response>(
  method: string,
  request: object,
  fields?: Record<string, unknown>,
) => Promise<Response>;

/** The plugin, served in this process and called over gRPC. */
export async function startPlugin() {
  const { port, endRun, close } = await servePlugin(schema);
  const client = new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const methods = client as unknown as Record<string, (...args: unknown[]) => void>;
  const call: Call = (method, request, fields = {}) =>
    new Promise((resolve, reject) => {
      methods[method]?.(fill(request, fields), (error: ServiceError | null, response: never) =>
        error
          ? reject(Object.assign(new Error(error.details), { metadata: error.metadata }))
          : resolve(response),
      );
    });
  /** A run begins. */
  const configure = () => call<void>("configure", new messages.ConfigureRequest(), { args: {} });
  runs.add(configure);
  return {
    ...{ client, endRun, call, configure },
    /** The plugin as a {@link Stack} drives a provider. */
    provider: (type: string) => providerOf(type, call),
    close() {
      runs.delete(configure);
      client.close();
      close();
    },
  };
}

/** How the engine marks a secret. */
export const secret = (value: unknown) => ({
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  value,
});

/** What the engine sends: the properties that `__secrets` names are marked. */
function bare({ __provider: _, __secrets = [], ...properties }: Properties): Properties {
  const names = (__secrets as string[]).filter((name) => name in properties);
  return {
    ...properties,
    ...Object.fromEntries(names.map((name) => [name, secret(properties[name])])),
  };
}

/** What the plugin sends; `__secrets` names what it marks, but for the private key. */
function plain(struct: Struct | undefined): Properties {
  const { values, secrets } = fromWire(struct);
  const names = [...secrets].filter((name) => name !== "privateKeyPem");
  return { ...values, ...(names.length > 0 && { __secrets: names }) };
}

/** A provider whose plans know what a create will store. */
interface PluginProvider extends ResourceProvider {
  planned(inputs: Properties): Promise<Properties>;
}

function providerOf(type: string, call: Call): PluginProvider {
  const resource = resourceOf(type);
  const create = (inputs: Properties, isPlan: boolean) =>
    call<messages.CreateResponse>("create", new messages.CreateRequest().setPreview(isPlan), {
      ...resource,
      properties: bare(inputs),
    });
  const change = (id: string, state: Properties, inputs: Properties, olds: Properties) => ({
    ...{ ...resource, id, olds: bare(state), news: bare(inputs), oldInputs: bare(olds) },
  });
  return {
    // The engine configures a plugin once in a run.
    configure: async () => {},
    async check(olds, news) {
      const fields = { ...resource, olds: bare(olds), news: bare(news) };
      const request = new messages.CheckRequest();
      const response = await call<messages.CheckResponse>("check", request, fields);
      const failures = response.getFailuresList().map((failure) => failure.toObject());
      return { inputs: plain(response.getInputs()), failures };
    },
    async diff(id, state, inputs, olds) {
      const fields = change(id, state, inputs, olds);
      const request = new messages.DiffRequest();
      const response = await call<messages.DiffResponse>("diff", request, fields);
      const isSame = response.getChanges() === messages.DiffResponse.DiffChanges.DIFF_NONE;
      return { ...(isSame && { changes: false }), replaces: response.getReplacesList() };
    },
    async create(inputs) {
      const response = await create(inputs, false);
      return { id: response.getId(), outs: plain(response.getProperties()) };
    },
    planned: async (inputs) => plain((await create(inputs, true)).getProperties()),
    async read(id, state, olds = {}) {
      const fields = { ...resource, id, properties: bare(state), inputs: bare(olds) };
      const request = new messages.ReadRequest();
      const response = await call<messages.ReadResponse>("read", request, fields);
      const inputs = plain(response.getInputs());
      const { __provider: _, ...before } = olds;
      const isDrifted = !isDeepStrictEqual(inputs, before);
      const props = plain(response.getProperties());
      return { id: response.getId(), props, ...(isDrifted && { inputs }) };
    },
    async update(id, state, inputs, olds) {
      const fields = change(id, state, inputs, olds);
      const request = new messages.UpdateRequest();
      const response = await call<messages.UpdateResponse>("update", request, fields);
      return { outs: plain(response.getProperties()) };
    },
    async delete(id, state) {
      const fields = { ...resource, id, properties: bare(state) };
      await call("delete", new messages.DeleteRequest(), fields);
    },
  };
}
