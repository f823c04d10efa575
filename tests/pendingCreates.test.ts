import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../client/client";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { type Properties, setEnv, setEnvFor, until } from "./support";

/** Makes all that it reads, as the engine has a provider's process make it; says what came of each. */
const program = `
  let inputs = "";
  process.stdin.on("data", (data) => (inputs += data)).on("end", async () => {
    const provider = require("pulumi-tlsedge/provider");
    const folder = require("node:path").dirname(require.resolve("pulumi-tlsedge/provider"));
    const client = () => require(folder + "/connection").connect("tlsedge").operation();
    const create = (kind, urn, inputs) => urn
      ? require(folder + "/" + kind).lifecycle.create(client(), inputs, urn)
      : provider[kind].create(inputs);
    const make = ({ kind, urn, ...rest }) => create(kind, urn, rest).then(
      ({ id, warning = "" }) => console.log((id + " " + warning).trim()),
      ({ message }) => console.log(message),
    );
    // As the plugin does when the engine cancels the update.
    process.on("SIGTERM", () => require(folder + "/engine").cancel());
    await Promise.all(JSON.parse(inputs).map(make));
    // An engine that lives stores the answers before it ends the process.
    if (await require(folder + "/engine").isEngineAlive()) {
      require(folder + "/pendingCreates").noteAllStored();
    }
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
    const environment = [
      setEnvFor(emulator),
      setEnv({ PULUMI_HOME: home, TLSEDGE_TIMEOUT_SECONDS: "20" }),
    ];
    restore = () => environment.reverse().forEach((undo) => void undo());
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    inputs = {
      // Without hostports nothing collides.
      tlsEdge: { kind: "tlsEdge", description: "d", backend: { enabled: true, backendId: "b" } },
      tlsCertificate: { kind: "tlsCertificate", description: "d", certificatePem, privateKeyPem },
    };
  });
  beforeEach(() => {
    emulator.reset();
    rmSync(folder(), { recursive: true, force: true });
  });
  after(() => {
    restore();
    rmSync(home, { recursive: true, force: true });
    return emulator.close();
  });

  const heard = () => emulator.requests.splice(0).map(({ method }) => method);
  const folder = () => join(home, "tlsedge");
  /** Without the notes of this process: test files that ran in it before may still write theirs. */
  const files = () =>
    existsSync(folder())
      ? readdirSync(folder()).filter((file) => !file.includes(`.${process.pid}.`))
      : [];
  const noted = (file: string) => JSON.parse(readFileSync(join(folder(), file), "utf8"));
  /** The notes of requests of which it isn't known what they made. */
  const pending = () => files().filter((file) => noted(file).since !== undefined);
  const rewrite = (file: string, change: Properties) =>
    replace(file, { ...noted(file), ...change });
  /** Writes the note aside and renames it, as the provider does: a process may read it meanwhile. */
  const replace = (file: string, note: Properties) => {
    const aside = join(folder(), `.${file}`);
    writeFileSync(aside, JSON.stringify(note));
    renameSync(aside, join(folder(), file));
  };
  const certificates = () => emulator.tlsCertificates.list().map(({ id }) => id);

  /** The same account, from another machine. */
  const stranger = () =>
    new Client({
      baseUrl: emulator.url,
      apiKey: emulator.apiKey,
      caFile: process.env.TLSEDGE_CA_FILE,
      requestsPerMinute: 0,
    });

  /** A process that makes these; its last words are their ids, or why there is none. */
  function start(wanted: Properties | Properties[], ...args: string[]) {
    const child = spawn(process.execPath, ["-e", program, "provider", ...args], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.stdin.end(JSON.stringify([wanted].flat()));
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
    await until(() => emulator.faults.list().at(-1)?.struck === 1);
  }

  /** Another process's request: killed, with its work done or not. Gives the note of it. */
  async function cutOff(wanted: Properties, work: boolean): Promise<string> {
    const before = files();
    emulator.faults.add({ method: "POST", answer: "silence", work });
    const { child } = start(wanted);
    await struck();
    await kill(child);
    return pending().find((file) => !before.includes(file)) ?? "";
  }

  for (const kind of ["tlsEdge", "tlsCertificate"] as const) {
    const ids = () =>
      ({ tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates })[kind]
        .list()
        .map(({ id }) => id);

    it(`C33 is named by the next create, once: ${kind}`, async () => {
      await cutOff(inputs[kind], true);
      const [orphan = ""] = ids();
      assert.deepEqual(heard(), ["POST"]);

      const named = await start(inputs[kind]).said;
      assert.ok(named.includes(orphan), named);
      // A resource that was renamed is in the stack already.
      assert.ok(named.indexOf("aliases") < named.indexOf("delete"), named);
      assert.deepEqual(heard(), ["GET"]);
      assert.deepEqual(ids(), [orphan]);

      const made = await start(inputs[kind]).said;
      assert.deepEqual(heard(), ["POST"]);
      assert.deepEqual(ids(), [made, orphan]);
    });

    it(`C33 is made without a word when nothing came of it: ${kind}`, async () => {
      await cutOff(inputs[kind], false);
      assert.deepEqual([await start(inputs[kind]).said], ids());
      assert.deepEqual(heard(), ["POST", "GET", "POST"]);
    });
  }

  describe("of a resource whose URN is known", () => {
    const [one, two] = ["one", "two"].map((name) => `urn:pulumi:s::p::tlsedge:index:X::${name}`);

    for (const kind of ["tlsEdge", "tlsCertificate"] as const) {
      const of = (urn = "") => ({ ...inputs[kind], urn });
      const ids = () =>
        ({ tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates })[kind]
          .list()
          .map(({ id }) => id);

      it(`C84 takes up what it has made, with no question: ${kind}`, async () => {
        await cutOff(of(one), true);
        const [made = ""] = ids();
        heard();
        assert.equal(await start(of(one)).said, made);
        assert.deepEqual(heard(), ["GET"]);
        assert.deepEqual(ids(), [made]);
        // Once: the next create of this URN is another.
        await start(of(one)).said;
        assert.deepEqual(heard(), ["POST"]);
      });

      it(`C84 takes it up later when the user cancels meanwhile: ${kind}`, async () => {
        await cutOff(of(one), true);
        const [made = ""] = ids();
        emulator.faults.clear();
        emulator.faults.add({ method: "GET", answer: "held" });
        const { child, said } = start(of(one));
        await struck();
        child.kill("SIGTERM");
        assert.match(await said, /cancelled/);
        emulator.faults.clear();
        assert.equal(await start(of(one)).said, made);
      });

      it(`C84 is made when nothing came of it: ${kind}`, async () => {
        await cutOff(of(one), false);
        heard();
        assert.deepEqual([await start(of(one)).said], ids());
        assert.deepEqual(heard(), ["GET", "POST"]);
      });

      it(`C84 of two equal ones, each takes its own or makes one: ${kind}`, async () => {
        emulator.faults.add({ method: "POST", skip: 1, answer: "silence", work: true });
        const { child } = start([of(one), of(two)]);
        await struck();
        await kill(child);
        const before = ids();
        assert.equal(before.length, 2);
        heard();
        const said = await start([of(one), of(two)]).said;
        for (const id of before) assert.ok(said.includes(id), said);
        assert.deepEqual(ids(), before);
        assert.ok(!heard().includes("POST"), said);
      });

      it(`C84 can't tell of two, and names both, once: ${kind}`, async () => {
        await cutOff(of(one), true);
        const { certificatePem, privateKeyPem } = inputs.tlsCertificate;
        if (kind === "tlsEdge") {
          const backend = { enabled: true, backend_id: "b" };
          await tlsEdges.create(stranger(), { description: "d", backend });
        } else {
          await tlsCertificates.create(stranger(), {
            description: "d",
            certificate_pem: String(certificatePem),
            private_key_pem: String(privateKeyPem),
          });
        }
        const both = ids();
        const named = await start(of(one)).said;
        for (const id of both) assert.ok(named.includes(id), named);
        assert.deepEqual(ids(), both);
        const [made] = (await start(of(one)).said).split(" ");
        assert.deepEqual(ids(), [made, ...both]);
      });

      it(`C84 does not take another's, and C33 names it: ${kind}`, async () => {
        await cutOff(of(one), true);
        const [others = ""] = ids();
        const said = await start(of(two)).said;
        const [own = ""] = said.split(" ");
        assert.deepEqual(ids(), [own, others]);
        assert.ok(said.includes(`: ${others}.`), said);
        assert.equal(await start(of(one)).said, others);
        assert.deepEqual(ids(), [own, others]);
      });
    }
  });

  it("C33 is looked for from the oldest of several on", async () => {
    const hourAgo = Date.now() - 3600_000;
    const oldest = await cutOff(inputs.tlsCertificate, true);
    await cutOff(inputs.tlsEdge, true);
    const [orphan = ""] = certificates();
    emulator.tlsCertificates.patch(orphan, { created_at: new Date(hourAgo).toISOString() });
    // A process that has died since has sent the same, and nothing came of it.
    const newest = oldest.replace(/\.\d+\./, ".999999999.");
    writeFileSync(join(folder(), newest), JSON.stringify(noted(oldest)));
    rewrite(oldest, { since: hourAgo });
    const named = await start(inputs.tlsCertificate).said;
    assert.ok(named.includes(orphan), named);
    assert.equal(pending().length, 1);
  });

  it("C33 is forgotten after a week", async () => {
    const file = await cutOff(inputs.tlsEdge, true);
    rewrite(file, { at: Date.now() - 8 * 24 * 3600_000 });
    heard();
    assert.match(await start(inputs.tlsEdge).said, /^edgtls_/);
    assert.deepEqual(heard(), ["POST"]);
  });

  it("C33 is asked for again when it can't be told for once", async () => {
    await cutOff(inputs.tlsEdge, true);
    const [{ id: orphan = "" } = {}] = emulator.tlsEdges.list();
    emulator.faults.add({ method: "GET", answer: { status: 401 } });
    await start(inputs.tlsEdge).said;
    assert.deepEqual(heard(), ["POST", "GET"]);
    const named = await start(inputs.tlsEdge).said;
    assert.ok(named.includes(orphan), named);
  });

  it("C33 is told once when a thousand others were made since", async () => {
    await cutOff(inputs.tlsEdge, true);
    const body = { metadata: "another" };
    const other = stranger();
    for (let n = 0; n < 1001; n += 77) {
      await Promise.all(Array.from({ length: 77 }, () => tlsEdges.create(other, body)));
    }
    heard();
    const why = await start(inputs.tlsEdge).said;
    assert.ok(!heard().includes("POST"), why);
    assert.match(await start(inputs.tlsEdge).said, /^edgtls_/);
    assert.deepEqual(heard(), ["POST"]);
  });

  it("C33 was not sent when it was still waiting for the limit", async () => {
    const undo = setEnv({ TLSEDGE_REQUESTS_PER_MINUTE: "1" });
    try {
      const all = ["a", "b", "c"].map((metadata) => ({ ...inputs.tlsEdge, metadata }));
      emulator.faults.add({ method: "POST", answer: "silence" });
      const { child } = start(all);
      await struck();
      await kill(child);
      assert.equal(pending().length, 1);
    } finally {
      undo();
    }
  });

  it("C33 whose look failed is named by the next, and what its process made is not", async () => {
    emulator.faults.add({ method: "POST", skip: 1, answer: "reset", work: true });
    emulator.faults.add({ method: "GET", answer: { status: 401 } });
    const all = [1, 2, 3].map(() => inputs.tlsCertificate);
    const said = await start(all).said;
    const orphans = certificates().filter((id) => !said.includes(id));
    assert.equal(orphans.length, 1);
    const named = await start(inputs.tlsCertificate).said;
    for (const id of certificates()) assert.equal(named.includes(id), orphans.includes(id), named);
  });

  it("C36 that gave up leaves no word of what its own process has made", async () => {
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "3" });
    try {
      emulator.faults.add({ method: "POST", answer: "silence", work: false });
      const said = await start([1, 2, 3].map(() => inputs.tlsEdge)).said;
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

  it("C33 is named too when it was answered just before its process was killed", async () => {
    emulator.faults.add({ method: "POST", skip: 1, answer: "silence", work: true });
    const { child } = start([inputs.tlsEdge, inputs.tlsEdge]);
    await struck();
    await kill(child);
    const named = await start(inputs.tlsEdge).said;
    for (const { id } of emulator.tlsEdges.list()) assert.ok(named.includes(id), named);
    assert.equal(emulator.tlsEdges.list().length, 2);
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

  /** A process that has lost an answer, the work not done, and whose look is held. */
  async function looking(wanted: Properties) {
    emulator.faults.add({ method: "POST", answer: "reset" });
    emulator.faults.add({ method: "GET", answer: "held", work: false });
    const started = start(wanted);
    await struck();
    return started;
  }

  it("C36 does not take what another process made that has ended", async () => {
    const { said } = await looking(inputs.tlsCertificate);
    const other = await start(inputs.tlsCertificate).said;
    emulator.faults.clear();
    const own = await said;
    assert.deepEqual(certificates(), [own, other]);
  });

  it("C36 does not take what another process made long ago, while it was looking", async () => {
    const { said } = await looking(inputs.tlsCertificate);
    const [looks = ""] = pending();
    const other = await start(inputs.tlsCertificate).said;
    const [answered = ""] = files().filter((file) => file !== looks);
    rewrite(looks, { since: Date.now() - 61_000 });
    rewrite(answered, { at: Date.now() - 60_000 });
    // Removes the notes that nobody needs.
    await start(inputs.tlsEdge).said;
    emulator.faults.clear();
    const own = await said;
    assert.deepEqual(certificates(), [own, other]);
  });

  it("C36 does not take what another process made just before", async () => {
    const other = await start(inputs.tlsCertificate).said;
    emulator.faults.add({ method: "POST", answer: "reset" });
    const own = await start(inputs.tlsCertificate).said;
    assert.deepEqual(certificates(), [own, other]);
  });

  describe("while another process makes the same", () => {
    /** The note of this test's own process, which lives, beside that of one that looks. */
    async function beside(wanted: Properties, change: Properties = {}, made = 1) {
      const { said } = await looking(wanted);
      const [note = ""] = pending();
      const own = note.replace(/\.\d+\./, `.${process.pid}.`);
      const write = (change: Properties) =>
        replace(own, { since: Date.now(), made: [], at: Date.now(), ...change });
      write({ state: "sent", ...change });
      for (let n = 0; n < made; n++) {
        await tlsCertificates.create(stranger(), {
          description: "d",
          certificate_pem: String(wanted.certificatePem),
          private_key_pem: String(wanted.privateKeyPem),
        });
      }
      const id = certificates().at(-1) as string;
      emulator.faults.clear();
      await until(() => emulator.requests.some(({ status }) => status === 200));
      return { said, id, write };
    }

    it("C36 waits for its answer, and does not take what it made", async () => {
      const { said, id, write } = await beside(inputs.tlsCertificate);
      write({ since: undefined, state: "over", made: [id] });
      const own = await said;
      assert.deepEqual(certificates(), [own, id]);
    });

    it("C33 takes it when it is not the other's", async () => {
      const { said, id, write } = await beside(inputs.tlsCertificate);
      write({ since: undefined, state: "over" });
      assert.equal(await said, id);
    });

    it("C33 takes one of two when the other has lost its answer too, and later", async () => {
      const { said, id, write } = await beside(inputs.tlsCertificate, {}, 2);
      write({ state: "lost" });
      assert.equal(await said, id);
    });

    for (const state of ["sent", "lost"]) {
      it(`C33 can't tell when the other takes too long: ${state}`, async () => {
        const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "3" });
        try {
          const { said, id } = await beside(inputs.tlsCertificate, { state, since: 1 });
          const why = await said;
          assert.ok(why.includes(id) && why !== id, why);
          assert.deepEqual(certificates(), [id]);
        } finally {
          undo();
        }
      });
    }
  });

  it("C36 by two processes that both lose their answer are two, or an error names them", async () => {
    emulator.faults.add({ method: "POST", answer: "reset", work: true, times: 2 });
    const both = [start(inputs.tlsCertificate), start(inputs.tlsCertificate)];
    const [one = "", two = ""] = await Promise.all(both.map(({ said }) => said));
    assert.notEqual(one, two);
    for (const id of certificates()) assert.ok(`${one} ${two}`.includes(id), `${one}, ${two}`);
  });

  it("C30 leaves nothing to look for when it is answered, or refused", async () => {
    await start(inputs.tlsEdge).said;
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    assert.match(await start(inputs.tlsEdge).said, /failed with status 400/);
    assert.deepEqual(pending(), []);
    await start(inputs.tlsEdge).said;
    assert.deepEqual(heard(), ["POST", "POST", "POST"]);
  });

  it("C30 has no note in the end", async () => {
    await start(inputs.tlsEdge).said;
    const [answered = ""] = files();
    rewrite(answered, { at: Date.now() - 60_000 });
    const other = await cutOff(inputs.tlsCertificate, false);
    assert.deepEqual(files(), [other]);
  });

  for (const answer of ["answered", "found"]) {
    it(`C33 that is ${answer} is noted before the engine hears of it`, async () => {
      const engine = createServer().listen(0, "127.0.0.1");
      await once(engine, "listening");
      try {
        if (answer === "found") {
          emulator.faults.add({ method: "POST", answer: "reset", work: true });
        }
        const address = `127.0.0.1:${(engine.address() as AddressInfo).port}`;
        const made = await start(inputs.tlsEdge, address).said;
        assert.deepEqual(
          emulator.tlsEdges.list().map(({ id }) => id),
          [made],
        );
        engine.close();
        // The process has ended as soon as it had told the id.
        assert.deepEqual(pending(), []);
      } finally {
        engine.close();
      }
    });
  }

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
