import assert from "node:assert/strict";
import { Client } from "../client/client";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { repository } from "../tools/folders";
import { Provider } from "../tools/protocol";

import { settingsFor } from "./support";

/** What the class in `sdk/` stores. */
const providerText = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';

describe("the orderly end of a provider's process", () => {
  let emulator: Emulator;
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    emulator = await startEmulator();
    env = { ...process.env, ...settingsFor(emulator) };
  });
  afterEach(() => emulator.close());

  for (const door of ["dynamic", "plugin"] as const) {
    const start = () => Provider.start(repository, env, door);
    const type = {
      dynamic: "pulumi-nodejs:dynamic/tlsedge:TLSEdge",
      plugin: "tlsedge:index:TLSEdge",
    };
    const resource = { urn: `urn:pulumi:dev::test::${type[door]}::e`, type: type[door] };
    const inputs = {
      description: "d",
      ...(door === "dynamic" && { __provider: providerText }),
    };

    // Engines before 3.250 end a plugin by a signal alone.
    for (const end of door === "plugin" ? (["end", "cancel"] as const) : (["end"] as const)) {
      it(`C19 tells once what the plan has found: ${door}, ${end}`, async () => {
        const { url: baseUrl, apiKey } = emulator;
        const client = new Client({ baseUrl, apiKey, caFile: env.TLSEDGE_CA_FILE });
        const { id } = await tlsEdges.create(client, { description: "d" });
        delete env.TLSEDGE_OFFLINE_PLAN;
        const provider = await start();
        await provider.check(resource, {}, inputs);
        if (door === "plugin") await provider.create(resource, inputs, true);
        await provider[end]();
        if (end === "cancel") await provider.end();
        const { host } = new URL(baseUrl);
        for (const text of [`${id} (`, `the service is ${host}`]) {
          assert.equal(provider.printed.split(text).length, 2, provider.printed);
        }
      });
    }
  }
});
