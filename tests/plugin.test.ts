import assert from "node:assert/strict";
import { credentials } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { type JavaScriptValue, Struct } from "google-protobuf/google/protobuf/struct_pb";
import { Client } from "../client/client";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import schema from "../plugin/schema.json";
import { unknownValue } from "../provider/lifecycle";
import { servePlugin } from "../provider/plugin";
import { setEnvFor } from "./support";

describe("the plugin, called over gRPC", () => {
  let emulator: Emulator;
  let restore: () => void;
  let close: () => void;
  let plugin: ResourceProviderClient;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    const served = await servePlugin(schema);
    close = served.close;
    plugin = new ResourceProviderClient(`127.0.0.1:${served.port}`, credentials.createInsecure());
    const { url: baseUrl, apiKey } = emulator;
    const client = new Client({ baseUrl, apiKey, caFile: process.env.TLSEDGE_CA_FILE });
    for (const description of ["one", "two", "three"])
      await tlsEdges.create(client, { description });
  });
  after(() => {
    plugin.close();
    close();
    restore();
    return emulator.close();
  });

  const list = async (token: string, limit = 0) => {
    const request = new messages.ListRequest().setToken(token).setLimit(limit);
    const names: unknown[] = [];
    for await (const response of plugin.list(request)) {
      const result = (response as messages.ListResponse).getResult();
      names.push([result?.getId(), result?.getName()]);
    }
    return names;
  };

  it("lists the objects of a kind, newest first, as many as are asked for", async () => {
    const all = emulator.tlsEdges.list().map(({ id, description }) => [id, description]);
    assert.deepEqual(await list("tlsedge:index:TLSEdge"), all);
    assert.deepEqual(await list("tlsedge:index:TLSEdge", 2), all.slice(0, 2));
    assert.deepEqual(await list("tlsedge:index:TLSCertificate"), []);
  });

  it("says why it can't list", async () => {
    await assert.rejects(list("tlsedge:index:Nothing"), /there is no resource/);
    emulator.faults.add({ method: "GET", answer: { status: 401 } });
    await assert.rejects(list("tlsedge:index:TLSEdge"), /401/);
  });

  const struct = (values: object) =>
    Struct.fromJavaScript(values as Record<string, JavaScriptValue>);
  const checkConfig = (project: string, settings: object) =>
    new Promise<string[]>((resolve, reject) => {
      const urn = `urn:pulumi:dev::${project}::pulumi:providers:tlsedge::default`;
      const request = new messages.CheckRequest().setUrn(urn).setNews(struct(settings));
      plugin.checkConfig(request, (error, response) =>
        error
          ? reject(error)
          : resolve(response.getFailuresList().map((failure) => failure.getReason())),
      );
    });

  it("C1 takes the program's own settings in the namespace of a project with its name", async () => {
    assert.deepEqual(await checkConfig("tlsedge", { size: "3" }), []);
    assert.match((await checkConfig("other", { size: "3" })).join(), /unknown/);
  });

  it("C85 C15 refuses a connection, which was in the old inputs, too", async () => {
    const inputs = { description: "d", connection: "tlsedge-staging" };
    const request = new messages.CheckRequest()
      .setUrn("urn:pulumi:dev::p::tlsedge:index:TLSEdge::e")
      .setType("tlsedge:index:TLSEdge")
      .setOlds(struct({ ...inputs, __provider: "text" }))
      .setNews(struct(inputs));
    const failures = await new Promise<string[]>((resolve, reject) =>
      plugin.check(request, (error, response) =>
        error
          ? reject(error)
          : resolve(response.getFailuresList().map((failure) => failure.getReason())),
      ),
    );
    assert.match(failures.join(), /connection: no such property/);
  });

  it("C85 refuses what is in another account, when it moves to a default provider", async () => {
    const state = { uri: `${emulator.url}/x`, connection: "tlsedge-staging", __provider: "text" };
    const request = new messages.DiffRequest()
      .setId("edgtls_1")
      .setUrn("urn:pulumi:dev::p::tlsedge:index:TLSEdge::e")
      .setType("tlsedge:index:TLSEdge")
      .setOlds(struct(state))
      .setNews(struct({}))
      .setOldInputs(struct({}));
    const diff = new Promise((resolve, reject) =>
      plugin.diff(request, (error, response) => (error ? reject(error) : resolve(response))),
    );
    await assert.rejects(diff, /explicit provider/);
  });

  it("C83 C35 knows no address in the plan that completes an incomplete create", async () => {
    const inputs = { description: "d" };
    const planned = async (uri: string) => {
      const request = new messages.UpdateRequest()
        .setId("edgtls_1")
        .setUrn("urn:pulumi:dev::p::tlsedge:index:TLSEdge::e")
        .setType("tlsedge:index:TLSEdge")
        .setPreview(true)
        .setOlds(struct({ ...inputs, uri, createdAt: uri && "2026-01-01T00:00:00Z" }))
        .setOldInputs(struct(inputs))
        .setNews(struct({ description: "e" }));
      const response = new Promise<messages.UpdateResponse>((resolve, reject) =>
        plugin.update(request, (error, answer) => (error ? reject(error) : resolve(answer))),
      );
      return (await response).getProperties()?.toJavaScript() ?? {};
    };
    const { uri, createdAt } = await planned("");
    assert.deepEqual([uri, createdAt], [unknownValue, unknownValue]);
    assert.equal((await planned("https://x")).uri, "https://x");
  });

  it("says which version it is, and gives the schema", async () => {
    const request = new messages.GetSchemaRequest();
    const given = await new Promise<string>((resolve, reject) =>
      plugin.getSchema(request, (error, response) =>
        error ? reject(error) : resolve(response.getSchema()),
      ),
    );
    assert.deepEqual(JSON.parse(given), schema);
  });
});
