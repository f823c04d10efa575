import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { type Emulator, startEmulator } from "../emulator/server";
import { isEngineAlive } from "../provider/engine";
import { EnginePort } from "../tools/protocol";
import { setEnv, setEnvFor, until } from "./support";

/** Listens, says where, and stops before it accepts anything. */
const stopped = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, server.address().port + "\\n");
    process.kill(process.pid, "SIGSTOP");
  });`;

/**
 * A provider's process: one create, and others all the time, each of which tells that it is
 * refused; whatever reaches the handler of uncaught errors is told, too.
 */
const provider = `
  process.on("uncaughtException", () => console.log("uncaught"));
  const { tlsEdge } = require("pulumi-tlsedge/provider");
  tlsEdge.configure({ config: { get: () => undefined } });
  const create = (description) => tlsEdge.create({ description });
  create("first").then(({ id }) => console.log("made " + id));
  setInterval(() => create("other " + Date.now()).catch(() => {
    process.stderr.write("refused\\n");
    console.log("refused");
  }), 100);`;

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface(child.stdout as NodeJS.ReadableStream), "line");
  return line;
}

describe("the engine", () => {
  it("is alive while it listens, and gone when it does not", async () => {
    const engine = await EnginePort.open();
    const { port } = engine;
    assert.equal(await isEngineAlive(port), true);
    await engine.close();
    assert.equal(await isEngineAlive(port), false);
  });

  it("is alive, and not waited for without end, when it does not answer", async function () {
    if (process.platform !== "linux") this.skip();
    const child = spawn(process.execPath, ["-e", stopped], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const waiting: Socket[] = [];
    try {
      const port = Number(await firstLine(child));
      // As soon as its queue is full, one gets no answer.
      for (let isFull = false; !isFull; ) {
        const socket = connect(port, "127.0.0.1");
        waiting.push(socket);
        const connected = once(socket, "connect").then(() => false);
        isFull = await Promise.race([connected, setTimeout(500, true)]);
      }
      assert.equal(await isEngineAlive(port), true);
    } finally {
      for (const socket of waiting) socket.on("error", () => {}).destroy();
      child.kill("SIGKILL");
    }
  });

  describe("that has exited", () => {
    let emulator: Emulator;
    let restore: () => void;

    before(async () => {
      emulator = await startEmulator();
      const home = mkdtempSync(join(tmpdir(), "tlsedge-home-"));
      const environment = [setEnvFor(emulator), setEnv({ PULUMI_HOME: home })];
      restore = () => {
        for (const undo of environment.reverse()) undo();
        rmSync(home, { recursive: true, force: true });
      };
    });
    after(() => {
      restore();
      return emulator.close();
    });

    it("gets its provider to hear the answer under way, to send no more, and to exit", async () => {
      const engine = await EnginePort.open();
      emulator.faults.add({ method: "POST", answer: "held" });
      const args = ["-e", provider, "provider", `127.0.0.1:${engine.port}`];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
      child.stderr.destroy();
      const ended = once(child, "close");
      const lines: string[] = [];
      createInterface(child.stdout).on("line", (line) => lines.push(line));
      try {
        await until(() => emulator.faults.list().some(({ struck }) => struck > 0));
        await engine.close();
        // Longer than it would take to exit if nothing were under way.
        await until(() => lines.length >= 10);
        emulator.faults.clear();
        assert.deepEqual(await ended, [1, null]);
        const first = emulator.tlsEdges.list().find(({ description }) => description === "first");
        assert.deepEqual(new Set(lines), new Set(["refused", `made ${first?.id}`]));
      } finally {
        child.kill("SIGKILL");
      }
    });
  });
});
