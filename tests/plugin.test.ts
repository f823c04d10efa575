import assert from "node:assert/strict";
import { credentials } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Client } from "../client/client";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import schema from "../plugin/schema.json";
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
