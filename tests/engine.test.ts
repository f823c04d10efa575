import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import net, { type AddressInfo, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { mock } from "node:test";
import { isEngineAlive } from "../provider/run/engine";
import { EnginePort } from "../tools/protocol";
import { until, useEmulator } from "./support";

/**
 * A provider's process: a server for the engine's calls, a request of another package, one create,
 * and others all the time, each of which prints that it is refused, as whatever reaches the handler of
 * uncaught errors does.
 */
const provider = `
  process.on("uncaughtException", () => console.log("uncaught"));
  require("node:net").createServer().listen(0, "127.0.0.1");
  require("node:http").get(process.env.OTHER_URL, (response) => {
    response.resume().on("end", () => console.log("the other is done"));
  });
  const { tlsEdge } = require("pulumi-tlsedge/provider");
  tlsEdge.configure({ config: { get: () => undefined } });
  const create = (description) => tlsEdge.create({ description });
  create("first").then(({ id }) => console.log("made " + id));
  setInterval(() => create("other " + Date.now()).catch(() => {
    process.stderr.write("refused\\n");
    console.log("refused");
  }), 100).unref();`;

/** A provider's process in which another package has work to do when the engine ends it. */
const twoHandlers = `
  require("pulumi-tlsedge/provider").tlsEdge.configure({ config: { get: () => undefined } });
  process.on("SIGINT", () => {
    require("node:http").get(process.env.OTHER_URL, (response) => {
      response.resume().on("end", () => {
        console.log("the other is done");
        process.exit(0);
      });
    });
  });
  require("node:net").createServer().listen(0, "127.0.0.1");
  console.log("ready");`;

/** A process of the script, what it prints, and its end. It is told the engine and the other package's server. */
function start(script: string, engine?: EnginePort, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, ["-e", script, "provider", `127.0.0.1:${engine?.port}`], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  // Its parent has gone, or reads nothing.
  child.stderr.destroy();
  const lines: string[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(line));
  return { child, lines, ended: once(child, "close") };
}

/** A server of another package. */
async function otherServer(answer: (response: ServerResponse) => void) {
  const other = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  return { other, env: { OTHER_URL: `http://127.0.0.1:${port}` } };
}

describe("the engine", () => {
  it("C84: an engine is alive while it listens, and gone when it does not", async () => {
    const engine = await EnginePort.open();
    const { port } = engine;
    assert.equal(await isEngineAlive(port), true);
    await engine.close();
    assert.equal(await isEngineAlive(port), false);
  });

  for (const [what, event, ...args] of [
    ["another error than a refused connection", "error", { code: "EMFILE" }],
    ["no answer in time", "timeout"],
  ] as const) {
    it(`C84: an engine is not taken for gone by ${what}`, async () => {
      const socket = Object.assign(new EventEmitter(), { destroy() {} });
      const connecting = mock.method(net, "connect", () => socket as Socket);
      const alive = isEngineAlive(1);
      connecting.mock.restore();
      const options = connecting.mock.calls[0]?.arguments[0] as { timeout?: number } | undefined;
      assert.ok(Number(options?.timeout) <= 5000, "it is not waited for without end");
      socket.emit(event, ...args);
      assert.equal(await alive, true);
    });
  }

  it("C19: a provider that the engine ends in order lets another package's handler finish", async function () {
    if (process.platform === "win32") this.skip();
    const engine = await EnginePort.open();
    const { other, env } = await otherServer((response) => response.end());
    const { child, lines, ended } = start(twoHandlers, engine, env);
    try {
      await until(() => lines.length > 0);
      child.kill("SIGINT");
      assert.deepEqual(await ended, [0, null]);
      assert.deepEqual(lines, ["ready", "the other is done"]);
    } finally {
      child.kill("SIGKILL");
      other.close();
      await engine.close();
    }
  });

  describe("that has exited", () => {
    const emulator = useEmulator();

    it("C84: a provider ends after its engine, once it has the answers to its own and others' requests", async () => {
      const engine = await EnginePort.open();
      emulator.faults.add({ method: "POST", answer: "held" });
      const others: ServerResponse[] = [];
      const { other, env } = await otherServer((response) => others.push(response));
      const { child, lines, ended } = start(provider, engine, env);
      try {
        await until(() => emulator.faults.list().some(({ hits }) => hits > 0));
        await engine.close();
        // Longer than it would take to exit if nothing were under way.
        await until(() => lines.length >= 10);
        emulator.faults.clear();
        await until(() => lines.some((line) => line.startsWith("made")));
        const before = lines.length;
        // Longer than it would take to exit if nothing of another package were under way.
        await until(() => lines.length >= before + 10);
        others[0]?.end();
        assert.deepEqual(await ended, [1, null]);
        const first = emulator.tlsEdges.list().find(({ description }) => description === "first");
        const expected = ["refused", `made ${first?.id}`, "the other is done"];
        assert.deepEqual(new Set(lines), new Set(expected));
      } finally {
        other.close();
        child.kill("SIGKILL");
      }
    });

    it("C84: a provider ends after its engine, though the service never answers", async () => {
      const engine = await EnginePort.open();
      emulator.faults.add({ method: "POST", answer: "silence" });
      // Nothing listens at the port of the other package.
      const env = { OTHER_URL: "http://127.0.0.1:1", TLSEDGE_TIMEOUT_SECONDS: "2" };
      const { child, ended } = start(provider, engine, env);
      try {
        await until(() => emulator.faults.list().some(({ hits }) => hits > 0));
        await engine.close();
        assert.deepEqual(await ended, [1, null]);
      } finally {
        child.kill("SIGKILL");
      }
    });
  });
});
