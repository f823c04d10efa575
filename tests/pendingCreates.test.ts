import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { type Properties, setEnv, setEnvFor, until } from "./support";

/** Makes what it reads, as the engine has a provider's process make it. */
const program = `
  let inputs = "";
  process.stdin.on("data", (data) => (inputs += data)).on("end", async () => {
    const provider = require("pulumi-tlsedge/provider");
    const { kind, count = 1, ...rest } = JSON.parse(inputs);
    const make = () => provider[kind].create(rest).then(
      ({ id }) => console.log(id),
      ({ message }) => console.log(message),
    );
    await Promise.all(Array.from({ length: count }, make));
    process.exit();
  });`;

describe("a create whose process has died", () => {
  let emulator: Emulator;
  let restore: () => void;
  let home: string;
  let inputs: Record<"tlsEdge" | "tlsCertificate", Properties>;

  before(async () => {
    emulator = await startEmulator();
    home = mkdtempSync(join(tmpdir(), "tlsedge-home-"));
    const environment = [setEnvFor(emulator), setEnv({ PULUMI_HOME: home })];
    restore = () => environment.reverse().forEach((undo) => void undo());
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    inputs = {
      // Without hostports nothing collides.
      tlsEdge: { kind: "tlsEdge", description: "d", backend: { enabled: true, backendId: "b" } },
      tlsCertificate: { kind: "tlsCertificate", description: "d", certificatePem, privateKeyPem },
    };
  });
  beforeEach(() => emulator.reset());
  after(() => {
    restore();
    rmSync(home, { recursive: true, force: true });
    return emulator.close();
  });

  const heard = () => emulator.requests.splice(0).map(({ method }) => method);
  const notes = () => readdirSync(join(home, "tlsedge"));

  /** A process that makes one; its last words are the id, or why there is none. */
  function start(wanted: Properties, ...args: string[]) {
    const child = spawn(process.execPath, ["-e", program, "provider", ...args], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.end(JSON.stringify(wanted));
    return { child, said: words(child) };
  }

  async function words({ stdout }: ChildProcess): Promise<string> {
    let said = "";
    for await (const data of stdout ?? []) said += data;
    return said.trim();
  }

  async function kill(child: ChildProcess): Promise<void> {
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async function struck(): Promise<void> {
    await until(() => emulator.faults.list().some((one) => one.struck > 0));
  }

  for (const kind of ["tlsEdge", "tlsCertificate"] as const) {
    const ids = () =>
      ({ tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates })[kind]
        .list()
        .map(({ id }) => id);

    it(`C33 is named by the next create, once: ${kind}`, async () => {
      emulator.faults.add({ method: "POST", answer: "silence", work: true });
      const { child } = start(inputs[kind]);
      await struck();
      await kill(child);
      const [orphan = ""] = ids();
      assert.deepEqual(heard(), ["POST"]);

      const named = await start(inputs[kind]).said;
      assert.ok(named.includes(orphan), named);
      assert.deepEqual(heard(), ["GET"]);
      assert.deepEqual(ids(), [orphan]);

      const made = await start(inputs[kind]).said;
      assert.deepEqual(heard(), ["POST"]);
      assert.deepEqual(ids(), [made, orphan]);
    });

    it(`C33 is made without a word when nothing came of it: ${kind}`, async () => {
      emulator.faults.add({ method: "POST", answer: "silence", work: false });
      const { child } = start(inputs[kind]);
      await struck();
      await kill(child);
      assert.deepEqual([await start(inputs[kind]).said], ids());
      assert.deepEqual(heard(), ["POST", "GET", "POST"]);
    });
  }

  it("C36 that gave up leaves no word of what its own process has made", async () => {
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" });
    try {
      emulator.faults.add({ method: "POST", answer: "silence", work: false });
      const said = await start({ ...inputs.tlsEdge, count: 3 }).said;
      const ids = () => emulator.tlsEdges.list().map(({ id }) => id);
      assert.equal(ids().length, 2);
      assert.match(said, /no answer in time/);
      heard();
      const made = await start(inputs.tlsEdge).said;
      assert.deepEqual(heard(), ["GET", "POST"]);
      assert.equal(ids()[0], made);
    } finally {
      undo();
    }
  });

  it("C33 is named too when it is the engine that has died", async () => {
    const engine = createServer().listen(0, "127.0.0.1");
    await once(engine, "listening");
    const address = `127.0.0.1:${(engine.address() as AddressInfo).port}`;
    emulator.faults.add({ method: "POST", answer: "held" });
    const { child, said } = start(inputs.tlsCertificate, address);
    try {
      await struck();
      const [orphan = ""] = emulator.tlsCertificates.list().map(({ id }) => id);
      engine.close();
      emulator.faults.clear();
      // It is told what it has made, and nobody asks.
      assert.equal(await said, orphan);
      const named = await start(inputs.tlsCertificate).said;
      assert.ok(named.includes(orphan), named);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("C33 is not asked for again when the engine has died", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const address = `127.0.0.1:${(gone.address() as AddressInfo).port}`;
    gone.close();
    await once(gone, "close");
    emulator.faults.add({ method: "POST", answer: "reset" });
    await start(inputs.tlsEdge, address).said;
    assert.deepEqual(heard(), ["POST", "GET", "GET"]);
    assert.deepEqual(emulator.tlsEdges.list(), []);
    assert.match(await start(inputs.tlsEdge).said, /^edgtls_/);
  });

  it("C36 does not hinder a twin while its process lives", async () => {
    emulator.faults.add({ method: "POST", answer: "held" });
    const { child, said } = start(inputs.tlsCertificate);
    try {
      await struck();
      const twin = await start(inputs.tlsCertificate).said;
      emulator.faults.clear();
      const held = emulator.tlsCertificates.list().map(({ id }) => id);
      assert.deepEqual(held, [twin, await said]);
      assert.deepEqual(heard(), ["POST", "POST"]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("C30 leaves nothing to look for when it is answered, or refused", async () => {
    await start(inputs.tlsEdge).said;
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    assert.match(await start(inputs.tlsEdge).said, /was answered 400/);
    assert.deepEqual(notes(), []);
  });

  it("is made where no file can be kept", async () => {
    const file = join(home, "file");
    writeFileSync(file, "");
    const undo = setEnv({ PULUMI_HOME: file });
    try {
      assert.match(await start(inputs.tlsEdge).said, /^edgtls_/);
    } finally {
      undo();
    }
  });
});
