import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, type Fault, makeCertificate, startEmulator } from "../emulator/server";
import { clientOf, type Properties, setEnv, setEnvFor, until } from "./support";

/** Creates all that it reads, as the engine has a provider's process do; tells the result of each. */
const program = `
  // Its pauses take no time, but for those of the request limit: its clock moves instead.
  const now = performance.now.bind(performance);
  let skipped = 0;
  if (process.argv[2] !== "slow") {
    performance.now = () => now() + skipped;
    require("node:timers/promises").setTimeout = async (ms) => {
      const endsAt = performance.now() + ms;
      await new Promise(setImmediate);
      skipped += Math.max(0, endsAt - performance.now());
    };
  }
  let inputs = "";
  process.stdin.on("data", (data) => (inputs += data)).on("end", async () => {
    const folder = require("node:path").dirname(require.resolve("pulumi-tlsedge/provider"));
    const load = (name) => require(folder + "/" + name);
    const client = load("connection").connect("tlsedge");
    const create = async ({ kind, urn, state, ...inputs }) => {
      // As in a diff of a resource that is in state.
      if (state) load("creates/createOnce").noteManaged(state);
      if (!kind) return;
      const { id, warning = "" } = await load("resource").create(
        load(kind)[kind], client.operation(), inputs, urn);
      console.log(id + " " + warning);
    };
    await Promise.all(JSON.parse(inputs).map((one) => create(one).catch(({ message }) => console.log(message))));
    // An engine that lives stores the answers before it ends the process.
    if (process.argv[2] !== "disorder") await load("creates/createOnce").endCreates();
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
      tlsEdge: { kind: "tlsEdge", description: "d", backend: { enabled: true, backendId: "b" } },
      tlsCertificate: { kind: "tlsCertificate", description: "d", certificatePem, privateKeyPem },
    };
  });
  beforeEach(() => {
    emulator.reset();
    rmSync(join(home, "tlsedge"), { recursive: true, force: true });
  });
  after(() => {
    restore();
    rmSync(home, { recursive: true, force: true });
    return emulator.close();
  });

  const heard = () => emulator.requests.splice(0).map(({ method }) => method);
  const records = () => {
    try {
      return readdirSync(join(home, "tlsedge", "creates"));
    } catch {
      return [];
    }
  };
  const edges = () => emulator.tlsEdges.list().map(({ id }) => id);

  /** A process that creates these. It tells their ids, or why there is none, and its warnings. */
  function start(wanted: Properties | Properties[], ...args: string[]) {
    const child = spawn(process.execPath, ["-e", program, "provider", ...args]);
    child.stdin.end(JSON.stringify([wanted].flat()));
    const [said, warned] = [text(child.stdout), text(child.stderr)];
    const all = Promise.all([said, warned]).then((parts) => parts.join("\n"));
    return { child, said: said.then((words) => words.trim()), all };
  }

  const up = (wanted: Properties | Properties[]) => start(wanted).said;
  const upWithWarnings = (wanted: Properties) => start(wanted).all;
  const struck = () => until(() => emulator.faults.list().at(-1)?.struck === 1);

  /** A process that is killed while it waits for an answer, with the work done or not. */
  async function cutOff(
    wanted: Properties | Properties[],
    work: Fault["work"],
    ...args: string[]
  ): Promise<void> {
    emulator.faults.add({ method: "POST", answer: "silence", work });
    const { child } = start(wanted, ...args);
    await struck();
    child.kill("SIGKILL");
    await once(child, "exit");
    heard();
  }

  const resource = (name: string) => ({ urn: `urn:pulumi:s::p::tlsedge:index:X::${name}` });

  for (const kind of ["tlsEdge", "tlsCertificate"] as const) {
    const ids = () =>
      ({ tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates })[kind]
        .list()
        .map(({ id }) => id);
    const of = (name: string) => ({ ...inputs[kind], ...resource(name) });

    it(`C84 is named by the next create, once: ${kind}`, async () => {
      await cutOff(inputs[kind], true);
      const [orphan = ""] = ids();
      const named = await up(inputs[kind]);
      assert.ok(named.includes(orphan), named);
      // A resource that was renamed is in the stack already.
      assert.ok(named.indexOf("aliases") < named.indexOf("delete"), named);
      assert.deepEqual(ids(), [orphan]);
      const [made = ""] = (await up(inputs[kind])).split(" ");
      assert.deepEqual(ids(), [made, orphan]);
      assert.deepEqual(records(), []);
    });

    it(`C84 with other texts since is named by its resource: ${kind}`, async () => {
      await cutOff(of("one"), true);
      const [orphan = ""] = ids();
      const named = await up({ ...of("one"), description: "edited" });
      assert.ok(named.includes(orphan) && !named.startsWith(orphan), named);
      assert.deepEqual(ids(), [orphan]);
    });

    // The rest does not depend on the kind.
    if (kind !== "tlsEdge") continue;

    it(`C84 that has made nothing is created without a word: ${kind}`, async () => {
      await cutOff(inputs[kind], false);
      assert.deepEqual([await up(inputs[kind])], ids());
    });

    it(`C84 that the service does only after the next create is named then: ${kind}`, async () => {
      await cutOff(inputs[kind], "cleared");
      const made = await up(inputs[kind]);
      emulator.faults.clear();
      await until(() => ids().length === 2);
      const [orphan = ""] = ids().filter((id) => id !== made);
      const named = await up(inputs[kind]);
      assert.ok(named.includes(orphan) && !named.includes(made), named);
      assert.match(await up(inputs[kind]), /^\w+$/);
      assert.deepEqual(records(), []);
    });

    it(`C84 of a known resource is named, once, and not taken: ${kind}`, async () => {
      await cutOff(of("one"), true);
      const [orphan = ""] = ids();
      const named = await up(of("two"));
      assert.ok(named.includes(orphan) && !named.startsWith(orphan), named);
      assert.deepEqual(ids(), [orphan]);
      const [made] = (await up(of("one"))).split(" ");
      assert.deepEqual(ids(), [made, orphan]);
    });

    it(`C84 of two processes is named, and both resources go on: ${kind}`, async () => {
      emulator.faults.add({ method: "POST", answer: "silence", work: true, times: 2 });
      const both = ["one", "two"].map((name) => start(of(name)).child);
      await until(() => emulator.faults.list()[0]?.struck === 2);
      for (const child of both) child.kill("SIGKILL");
      await Promise.all(both.map((child) => once(child, "exit")));
      const orphans = ids();
      const said = await up([of("one"), of("two")]);
      for (const orphan of orphans) assert.ok(said.includes(orphan), said);
      for (let turn = 0; turn < 2; turn++) await up([of("one"), of("two")]);
      assert.match(await up([of("one"), of("two")]), /^\w+ ?\n\w+$/);
    });

    it(`C84 whose twin another machine made is named with it: ${kind}`, async () => {
      await cutOff(of("one"), true);
      const backend = { enabled: true, backend_id: "b" };
      await tlsEdges.create(clientOf(emulator), { description: "d", backend });
      const named = await up(of("one"));
      for (const id of ids()) assert.ok(named.includes(id) && !named.startsWith(id), named);
      assert.equal(ids().length, 2);
    });

    it(`C84 that was answered is named in a warning, and never taken: ${kind}`, async () => {
      const [made = ""] = (await start(of("one"), "disorder").said).split(" ");
      const other = await upWithWarnings({ ...of("two"), description: "other" });
      assert.ok(!other.includes("interrupted"), other);
      heard();
      const warned = await upWithWarnings(of("one"));
      assert.match(warned, new RegExp(`warning: an interrupted update has created ${made}`));
      assert.deepEqual(heard(), ["GET", "POST"]);
      assert.equal(ids().length, 3);
      assert.ok(!(await upWithWarnings(of("one"))).includes("interrupted"));
    });

    it(`C84 that was answered and is in a state is not named: ${kind}`, async () => {
      const [made = ""] = (await start(of("one"), "disorder").said).split(" ");
      await up({ state: made });
      assert.ok(!(await upWithWarnings(of("one"))).includes("interrupted"));
      assert.deepEqual(records(), []);
    });
  }

  it("C84 that differs in a module since is named, not taken, and no second is made", async () => {
    const of = (backendId: string) => ({
      ...inputs.tlsEdge,
      ...resource("one"),
      backend: { enabled: true, backendId },
    });
    await cutOff(of("b"), true);
    const [orphan = ""] = edges();
    const named = await up(of("c"));
    assert.ok(named.includes(orphan) && !named.startsWith(orphan), named);
    assert.deepEqual(edges(), [orphan]);
  });

  it("C84 dies again before it is named: the next create names it", async () => {
    const of = { ...inputs.tlsEdge, ...resource("one") };
    await cutOff(of, true);
    const [made = ""] = edges();
    emulator.faults.add({ method: "GET", answer: "silence" });
    const { child } = start(of);
    await struck();
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.ok((await up(of)).includes(made));
    assert.deepEqual(edges(), [made]);
  });

  it("C84 is looked for again when the list can't be read for once", async () => {
    await cutOff(inputs.tlsEdge, true);
    const [orphan = ""] = edges();
    emulator.faults.add({ method: "GET", answer: { status: 401 }, times: 99 });
    assert.match(await up(inputs.tlsEdge), /list can't be read/);
    emulator.faults.clear();
    assert.ok((await up(inputs.tlsEdge)).includes(orphan));
    assert.deepEqual(edges(), [orphan]);
  });

  it("C84 in one account is not settled by the list of another", async () => {
    await cutOff(inputs.tlsEdge, true);
    const [orphan = ""] = edges();
    const other = emulator.addAccount();
    const undo = setEnv({ TLSEDGE_API_KEY: other.apiKey });
    try {
      assert.deepEqual(
        [(await up(inputs.tlsEdge)).trim()],
        other.tlsEdges.list().map(({ id }) => id),
      );
    } finally {
      undo();
    }
    assert.ok((await up(inputs.tlsEdge)).includes(orphan));
  });

  it("C84 made with another key of the account is found behind a marked one", async () => {
    await up({ ...inputs.tlsEdge, description: "marked" });
    await cutOff({ ...inputs.tlsEdge, ...resource("one") }, true);
    const [made = ""] = edges();
    const undo = setEnv({ TLSEDGE_API_KEY: emulator.addKey() });
    try {
      assert.ok((await up({ ...inputs.tlsEdge, ...resource("one") })).includes(made));
    } finally {
      undo();
    }
  });

  it("C36 of a live process does not hinder a twin, and neither takes the other's", async () => {
    // One that it was answered with, too: its engine lives, and may not have stored it yet.
    emulator.faults.add({ method: "POST", answer: "held", skip: 1 });
    const { child, said } = start([inputs.tlsEdge, inputs.tlsEdge] as Properties[]);
    try {
      await struck();
      const twin = (await upWithWarnings(inputs.tlsEdge)).trim();
      emulator.faults.clear();
      const [one = "", two = ""] = (await said).split(/\s+/);
      assert.deepEqual(edges().sort(), [one, two, twin].sort());
      assert.deepEqual(heard(), ["GET", "POST", "POST", "GET", "POST"]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("C36 of two processes that both lose their answer are named, and none is taken", async () => {
    emulator.faults.add({ method: "POST", answer: "reset", work: true, times: 2 });
    const both = [start(inputs.tlsEdge), start(inputs.tlsEdge)];
    const said = (await Promise.all(both.map(({ said }) => said))).join("\n");
    assert.equal(edges().length, 2);
    for (const id of edges()) assert.ok(said.includes(id), said);
    const taken = said.split("\n").flatMap((line) => /^edgtls_\w+/.exec(line)?.[0] ?? []);
    assert.equal(new Set(taken).size, taken.length);
  });

  it("C33 was not sent when it was still waiting for the limit", async () => {
    const undo = setEnv({ TLSEDGE_REQUESTS_PER_MINUTE: "2" });
    try {
      const all = ["a", "b", "c"].map((metadata) => ({ ...inputs.tlsEdge, metadata }));
      await cutOff(all, false, "slow");
      assert.equal(records().length, 1);
    } finally {
      undo();
    }
  });

  it("C33 when the engine has died: the answered create is named by the next", async () => {
    const engine = createServer().listen(0, "127.0.0.1");
    await once(engine, "listening");
    const address = `127.0.0.1:${(engine.address() as AddressInfo).port}`;
    emulator.faults.add({ method: "POST", answer: "held" });
    const { child, said } = start(inputs.tlsCertificate, "disorder", address);
    try {
      await struck();
      engine.close();
      emulator.faults.clear();
      const [made = ""] = (await said).split(" ");
      assert.ok((await upWithWarnings(inputs.tlsCertificate)).includes(`created ${made}`));
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("C84 is named while its process waits for an answer that no engine will store", async () => {
    const engine = createServer().listen(0, "127.0.0.1");
    await once(engine, "listening");
    const address = `127.0.0.1:${(engine.address() as AddressInfo).port}`;
    emulator.faults.add({ method: "POST", answer: "held" });
    const { child } = start(inputs.tlsEdge, "disorder", address);
    try {
      await struck();
      engine.close();
      const named = await up(inputs.tlsEdge);
      assert.ok(named.includes(edges()[0] as string), named);
      assert.equal(edges().length, 1);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("C33 where no file can be kept goes on with one warning; a lost one fails", async () => {
    const file = join(home, "file");
    writeFileSync(file, "");
    const undo = setEnv({ PULUMI_HOME: file });
    try {
      const said = await upWithWarnings(inputs.tlsEdge);
      assert.match(said, /^edgtls_/);
      assert.equal(said.split("can't be kept").length, 2);
      emulator.faults.add({ method: "POST", answer: "reset", work: true });
      assert.match(await up(inputs.tlsEdge), /may be one of these/);
      assert.equal(edges().length, 2);
    } finally {
      undo();
    }
  });
});
