import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import * as grpc from "@grpc/grpc-js";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import { ResourceProviderService } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb";
import schema from "../../plugin/schema.json";

// The floor: a plugin in Node.js that checks nothing. It sends the one request that a change needs, and answers with
// what it got.

const { TLSEDGE_BASE_URL, TLSEDGE_API_KEY, TLSEDGE_CA_FILE = "" } = process.env;
const agent = new Agent({ keepAlive: true, maxSockets: 16, ca: readFileSync(TLSEDGE_CA_FILE) });
const headers = { Authorization: `Bearer ${TLSEDGE_API_KEY}`, "Service-Version": "2" };

function send(method: string, id = "", body?: object): Promise<{ id: string }> {
  const url = `${TLSEDGE_BASE_URL}/tls_certificates${id}`;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, (answer) => {
      text(answer).then((json) => resolve(json && JSON.parse(json)), reject);
    });
    if (body) sent.setHeader("Content-Type", "application/json");
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}

const bodyOf = (inputs?: Struct) => {
  const { description, certificatePem, privateKeyPem } = (inputs?.toJavaScript() ?? {}) as {
    [name: string]: { value?: string };
  };
  // The engine wraps a secret.
  const private_key_pem = privateKeyPem?.value;
  return { description, certificate_pem: certificatePem, private_key_pem };
};
let list: Promise<unknown> | undefined;

// biome-ignore lint/suspicious/noExplicitAny: each call has a request of its own type
const calls: Record<string, (got: any) => unknown> = {
  getPluginInfo: () => new PluginInfo().setVersion(schema.version),
  getSchema: () => new messages.GetSchemaResponse().setSchema(JSON.stringify(schema)),
  configure: () => new messages.ConfigureResponse().setAcceptsecrets(true).setSupportspreview(true),
  check: (got) => new messages.CheckResponse().setInputs(got.getNews()),
  // The engine compares the inputs.
  diff: () => new messages.DiffResponse(),
  create: async (got) => {
    const { id } = await send("POST", "", bodyOf(got.getProperties()));
    return new messages.CreateResponse().setId(id).setProperties(got.getProperties());
  },
  read: async (got) => {
    list ??= send("GET", "?limit=100");
    await list;
    const answer = new messages.ReadResponse().setId(got.getId()).setInputs(got.getInputs());
    return answer.setProperties(got.getProperties());
  },
  update: async (got) => {
    await send("PATCH", `/${got.getId()}`, { description: bodyOf(got.getNews()).description });
    return new messages.UpdateResponse().setProperties(got.getNews());
  },
  delete: async (got) => {
    await send("DELETE", `/${got.getId()}`);
    return new Empty();
  },
};

type Call = grpc.handleUnaryCall<unknown, unknown>;
const handlers = Object.entries(calls).map(([name, answer]): [string, Call] => [
  name,
  ({ request }, callback) => {
    const answered = Promise.resolve(request).then(answer);
    answered.then((response) => callback(null, response), callback);
  },
]);
const server = new grpc.Server({ "grpc.max_receive_message_length": 400 * 1024 * 1024 });
server.addService(ResourceProviderService, Object.fromEntries(handlers));
const credentials = grpc.ServerCredentials.createInsecure();
server.bindAsync("127.0.0.1:0", credentials, (_, port) => console.log(port));
process.once("SIGINT", () => process.exit(0));
