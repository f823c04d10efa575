import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { Client } from "../client/client";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { newFolder, repository } from "../tools/folders";
import { Provider } from "../tools/protocol";

import { settingsFor } from "./support";

/** What the class in `sdk/` stores. */
const providerText = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';

describe("the orderly end of a provider's process", () => {
  let emulator: Emulator;
  let home: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    emulator = await startEmulator();
    home = newFolder();
    env = { ...process.env, ...settingsFor(emulator), PULUMI_HOME: home };
  });
  afterEach(() => emulator.close());

  const records = () => {
    const folder = path.join(home, "tlsedge", "creates");
    return existsSync(folder) ? readdirSync(folder) : [];
  };

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
      it(`C84 ends the records of what was created: ${door}, ${end}`, async () => {
        const provider = await start();
        await provider.create(resource, inputs);
        assert.equal(records().length, 2);
        await provider[end]();
        assert.deepEqual(records(), []);
        // What is known of the id stays: no later create takes the object.
        assert.equal(readdirSync(path.join(home, "tlsedge", "claims")).length, 1);
        await provider.kill();
      });

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
