// Deploys the stack `test` of this project on the real engine, against the emulator. Copy this beside Pulumi.yaml, and
// write what the program needs into Pulumi.test.yaml: docs/emulator.md says more.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation/index.js";
import { type Emulator, startEmulator } from "pulumi-tlsedge-emulator";
import { afterAll, beforeAll, expect, test } from "vitest";

let emulator: Emulator;
let stack: Stack;

beforeAll(async () => {
  emulator = await startEmulator();
  const folder = mkdtempSync(path.join(tmpdir(), "stack-"));
  const caFile = path.join(folder, "ca.pem");
  writeFileSync(caFile, emulator.ca);
  const envVars = {
    TLSEDGE_BASE_URL: emulator.url,
    TLSEDGE_API_KEY: emulator.apiKey,
    TLSEDGE_CA_FILE: caFile,
    PULUMI_BACKEND_URL: `file://${folder}`,
    PULUMI_CONFIG_PASSPHRASE: "test",
  };
  const where = { stackName: "test", workDir: "." };
  stack = await LocalWorkspace.createOrSelectStack(where, { envVars });
}, 60_000);

afterAll(() => emulator?.close());

test("deploys the site, and changes nothing the second time", async () => {
  await stack.up();
  const hostports = emulator.tlsEdges.list().flatMap((edge) => edge.hostports);
  expect(hostports).toEqual(["shop.example.com:443"]);
  await stack.up({ expectNoChanges: true });
}, 120_000);

test("fails where the service fails", async () => {
  emulator.faults.add({ method: "GET", times: 100, answer: { status: 401 } });
  await expect(stack.refresh()).rejects.toThrow("401");
}, 120_000);
