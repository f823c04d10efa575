import { isDeepStrictEqual } from "node:util";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { type JavaScriptValue, Struct } from "google-protobuf/google/protobuf/struct_pb";
import { servePlugin } from "../plugin/plugin";
import schema from "../plugin/schema.json";
import { fromWire } from "../plugin/wire";
import type { Properties, ResourceProvider } from "./support";

/** Calls one method of a plugin. */
type Call = <Response>(method: string, request: object) => Promise<Response>;

const struct = ({ __provider: _, ...properties }: Properties = {}) =>
  Struct.fromJavaScript(properties as Record<string, JavaScriptValue>);
const plain = (values: Struct | undefined) => fromWire(values).values;

/** The plugin, served in this process and called over gRPC, as a {@link Stack} drives a provider. */
export async function pluginProvider(type: string) {
  const { port, close } = await servePlugin(schema);
  const client = new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const methods = client as unknown as Record<string, (...args: unknown[]) => void>;
  const call: Call = (method, request) =>
    new Promise((resolve, reject) => {
      methods[method]?.(request, (error: ServiceError | null, response: never) =>
        error ? reject(new Error(error.details)) : resolve(response),
      );
    });
  const token = `tlsedge:index:${type}`;
  const urn = `urn:pulumi:dev::p::${token}::name`;
  const configured = call<void>("configure", new messages.ConfigureRequest().setArgs(struct()));
  const provider: ResourceProvider = {
    // Once for a run, and a stack has one.
    configure: () => configured,
    async check(olds, news) {
      const request = new messages.CheckRequest().setUrn(urn).setType(token);
      const response: messages.CheckResponse = await call(
        "check",
        request.setOlds(struct(olds)).setNews(struct(news)),
      );
      const failures = response.getFailuresList().map((failure) => failure.toObject());
      return { inputs: plain(response.getInputs()), failures };
    },
    async diff(id, state, inputs, olds) {
      const request = new messages.DiffRequest().setUrn(urn).setType(token).setId(id);
      const response: messages.DiffResponse = await call(
        "diff",
        request.setOlds(struct(state)).setNews(struct(inputs)).setOldInputs(struct(olds)),
      );
      const isSame = response.getChanges() === messages.DiffResponse.DiffChanges.DIFF_NONE;
      return { ...(isSame && { changes: false }), replaces: response.getReplacesList() };
    },
    async create(inputs) {
      const request = new messages.CreateRequest().setUrn(urn).setType(token);
      const response: messages.CreateResponse = await call(
        "create",
        request.setProperties(struct(inputs)),
      );
      return { id: response.getId(), outs: plain(response.getProperties()) };
    },
    async planned(inputs) {
      const request = new messages.CreateRequest().setUrn(urn).setType(token).setPreview(true);
      const response: messages.CreateResponse = await call(
        "create",
        request.setProperties(struct(inputs)),
      );
      return plain(response.getProperties());
    },
    async read(id, state, olds = {}) {
      const request = new messages.ReadRequest().setUrn(urn).setType(token).setId(id);
      const response: messages.ReadResponse = await call(
        "read",
        request.setProperties(struct(state)).setInputs(struct(olds)),
      );
      const { __provider: _, ...before } = olds;
      const inputs = plain(response.getInputs());
      const isDrifted = !isDeepStrictEqual(inputs, before);
      const props = plain(response.getProperties());
      return { id: response.getId(), props, ...(isDrifted && { inputs }) };
    },
    async update(id, state, inputs, olds) {
      const request = new messages.UpdateRequest().setUrn(urn).setType(token).setId(id);
      const response: messages.UpdateResponse = await call(
        "update",
        request.setOlds(struct(state)).setNews(struct(inputs)).setOldInputs(struct(olds)),
      );
      return { outs: plain(response.getProperties()) };
    },
    async delete(id, state) {
      const request = new messages.DeleteRequest().setUrn(urn).setType(token).setId(id);
      await call("delete", request.setProperties(struct(state)));
    },
  };
  return {
    provider,
    close() {
      client.close();
      close();
    },
  };
}
