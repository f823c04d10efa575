import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { newFolder } from "../tools/folders";
import { Provider } from "../tools/protocol";
import { clientOf, fileWith, settingsFor } from "./support";

describe("the plugin's read", () => {
  let emulator: Emulator;
  let provider: Provider;
  const folder = newFolder();
  const later = path.join(folder, "an-hour-later");
  const minutes = path.join(folder, "minutes-later");
  const resource = {
    urn: "urn:pulumi:dev::test::tlsedge:index:TLSEdge::e",
    type: "tlsedge:index:TLSEdge",
  };
  let ids: string[];
  const edges: Record<string, string> = {};

  before(async () => {
    emulator = await startEmulator();
    const settings = settingsFor(emulator);
    const clock = fileWith(`
      const { existsSync } = require("node:fs");
      const now = performance.now.bind(performance);
      const minutes = () =>
        (existsSync(${JSON.stringify(minutes)}) ? 9 : 0) + (existsSync(${JSON.stringify(later)}) ? 60 : 0);
      performance.now = () => now() + minutes() * 60_000;`);
    const env = { ...process.env, ...settings, NODE_OPTIONS: `--require=${clock}` };
    provider = await Provider.start(folder, env, "plugin");
    const client = clientOf(emulator);
    const made = await Promise.all([1, 2, 3, 4, 5].map(() => tlsEdges.create(client, {})));
    ids = made.map(({ id }) => id);
    for (const engine of ["3.250", "3.274"]) {
      const { id } = await tlsEdges.create(client, { hostports: [`${engine}.example:443`] });
      edges[engine] = id;
    }
    emulator.requests.splice(0);
  });
  after(async () => {
    await provider?.end();
    await emulator?.close();
  });

  const requestsOf = async (id = "", known?: object) => {
    const { state } = await provider.read(resource, id, known && { ...known }, known && {});
    assert.ok(state.uri);
    return emulator.requests.splice(0).map(({ path }) => (path.includes("?") ? "page" : "one"));
  };

  it("C81 answers the imports and reads of some minutes from the same pages", async () => {
    const [first, second, third, fourth, fifth] = ids;
    assert.deepEqual(await requestsOf(first), ["one"]);
    assert.deepEqual(await requestsOf(second), ["page"]);
    fs.writeFileSync(minutes, "");
    assert.deepEqual(await requestsOf(third), []);
    assert.deepEqual(await requestsOf(fourth, { uri: `${emulator.url}/edges/tls/x` }), []);
    fs.writeFileSync(later, "");
    assert.deepEqual(await requestsOf(fifth), ["one"]);
  });

  // Pulumi 3.250 sends an import no properties, 3.274 empty ones.
  for (const [engine, known] of [
    ["3.250", undefined],
    ["3.274", {}],
  ] as const) {
    it(`C81 takes an edge by its hostport, as ${engine} imports it`, async () => {
      const { id, inputs } = await provider.read(resource, `${engine}.example:443`, known, known);
      assert.equal(id, edges[engine]);
      assert.deepEqual(inputs?.hostports, [`${engine}.example:443`]);
    });
  }
});
