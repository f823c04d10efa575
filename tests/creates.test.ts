import assert from "node:assert/strict";
import { mock } from "node:test";
import { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { type Fault, type MadeCertificate, makeCertificate } from "../emulator/server";
import { isUnchanged } from "../provider/kinds/kind";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { create } from "../provider/lifecycle/create";
import { update } from "../provider/lifecycle/update";
import { Run } from "../provider/run/run";
import {
  type Answer,
  answer,
  atScript,
  clientOf,
  engineCall,
  failureOf,
  holdTimeouts,
  messageOf,
  type Properties,
  reset,
  setEnv,
  setEnvFor,
  settingsFor,
  skipPauses,
  takeMethods,
  until,
  useEmulator,
} from "./support";

/**
 * A create makes one object, also when its answer is lost, wrong or late. It takes an object that it finds only when
 * the object can be no other's; else it fails, and its error names the object.
 */
describe("a create", () => {
  const emulator = useEmulator();
  const inputs = { description: "d", backend: { enabled: true, backendId: "bkdtg_1" } };
  let run: Run;
  let shown: Record<"warning" | "status" | "info", string[]>;
  beforeEach(() => {
    shown = { warning: [], status: [], info: [] };
    run = new Run(undefined, (severity, text = "over") => void shown[severity].push(text));
    skipPauses();
  });

  /** Creates an edge in this run, in the account of a connection. */
  const make = (edge: Properties = inputs, connection?: string) =>
    create(engineCall(run, tlsEdge, connection), edge);
  /** The next POST meets this fault. `work: "cleared"`: the service does the work when the faults are cleared. */
  const faultPost = (fault: Omit<Fault, "method">) =>
    emulator.faults.add({ method: "POST", ...fault });
  const ids = () => emulator.tlsEdges.list().map(({ id }) => id);
  /** The service does the work, and its answer is lost. */
  const afterWork = { work: true, answer: "reset" } as const;
  /** Waits until a request meets the last fault of its method. */
  const faultMet = (of: "GET" | "POST") =>
    until(() => emulator.faults.list().findLast(({ method }) => method === of)?.hits === 1);

  /** What another machine creates in the same account. */
  async function foreign(description = "d"): Promise<string> {
    const stranger = clientOf(emulator, { requestsPerMinute: 0 });
    return (await tlsEdges.create(stranger, tlsEdge.toBody({ ...inputs, description }))).id;
  }

  it("C30: many creates in one run are one POST each, and one list before them", async () => {
    await Promise.all(Array.from({ length: 16 }, (_, n) => make({ metadata: `${n}` })));
    await make();
    const methods = takeMethods(emulator).sort();
    assert.deepEqual(methods, ["GET", ...Array(17).fill("POST")]);
  });

  it("C35: what can fail beside the service is done before the POST", async () => {
    mock.getter(Client.prototype, "accountTag", () => {
      throw new Error("no PBKDF2");
    });
    assert.match(await messageOf(make()), /no PBKDF2/);
    assert.deepEqual(ids(), []);
  });

  it("C30: a refused create fails, and is not taken for a lost one by the next create", async () => {
    faultPost({ answer: { status: 400 } });
    await failureOf(make(), ServiceError);
    faultPost(afterWork);
    const { id } = await make();
    assert.deepEqual(ids(), [id]);
  });

  const losses: [what: string, answer: Fault["answer"]][] = [
    ["a connection that is cut", "reset"],
    ["502 from a proxy", { status: 502, body: "<html>gateway</html>" }],
    ["503 with Retry-After", { status: 503, headers: { "Retry-After": "0" } }],
  ];
  const unusable: typeof losses = [
    ["half of the answer", "truncated"],
    ["an answer without a usable id", { fields: { id: 7 } }],
  ];
  for (const [what, answer] of [...losses, ...unusable]) {
    it(`C33: after ${what}, a create finds the object that it made, warns, and makes no other`, async () => {
      const others = [await foreign("differs"), await foreign()];
      faultPost({ work: true, answer });
      const { id, state } = await make();
      assert.deepEqual(ids(), [id, ...others.reverse()]);
      assert.deepEqual([shown.warning.length, shown.warning[0]?.includes(id)], [1, true]);
      // What was found is as good as what was answered.
      assert.ok(isUnchanged(tlsEdge, state, inputs));
    });
  }
  for (const [what, answer] of losses) {
    it(`C33: after ${what}, a create that made nothing fails, and is not sent again`, async () => {
      faultPost({ work: false, answer });
      assert.match(await messageOf(make()), /may have created.*pulumi preview/);
      assert.deepEqual(ids(), []);
      assert.deepEqual(takeMethods(emulator), ["GET", "POST", "GET", "GET", "GET"]);
    });
  }

  const slow: typeof losses = [408, 504, 524].map((status) => [`the status ${status}`, { status }]);
  for (const [what, answer] of [...slow, ["no answer in time", "silence"]] as typeof losses) {
    it(`C33: after ${what}, a create finds an object that the service makes after five looks`, async () => {
      const endTime = holdTimeouts();
      faultPost({ answer, work: "cleared" });
      // After the page before the POST, and five looks.
      emulator.faults.add({ method: "GET", skip: 6, work: false, answer: "held" });
      const created = make();
      await faultMet("POST");
      if (answer === "silence") endTime();
      await faultMet("GET");
      emulator.faults.clear();
      const { id } = await created;
      assert.deepEqual(ids(), [id]);
    });
  }

  for (const [what, work, count] of [
    ["two objects", true, 2],
    ["one object", false, 1],
  ] as const) {
    it(`C36: of two equal creates that lose both answers and make ${what}, none keeps one, and each names all`, async () => {
      // Another connection of the same account.
      setEnvFor(emulator, "TLSEDGE_B");
      faultPost(afterWork);
      faultPost({ work, answer: "reset" });
      emulator.faults.add({ method: "GET", skip: 1, times: 9, work: false, answer: "held" });
      const failed = Promise.all([make(), make(inputs, "tlsedge-b")].map(messageOf));
      await until(() => shown.status.filter((text) => text.startsWith("waits 1 s")).length === 2);
      emulator.faults.clear();
      for (const text of await failed) for (const id of ids()) assert.ok(text.includes(id), text);
      assert.equal(ids().length, count);
      assert.equal(takeMethods(emulator).filter((method) => method === "POST").length, 2);
    });
  }

  it("C36: a create that loses its answer does not take what an equal create makes whose answer is slow", async () => {
    faultPost({ work: false, answer: "reset" });
    faultPost({ answer: "held" });
    const [lost, slow] = [make(), make()];
    assert.match(await messageOf(Promise.race([lost, slow])), /may have created/);
    emulator.faults.clear();
    const { id } = await slow;
    assert.deepEqual(ids(), [id]);
  });

  it("C36: of two equal creates the one that loses its answer keeps the other object", async () => {
    faultPost(afterWork);
    emulator.faults.add({ method: "GET", skip: 1, work: false, answer: "held" });
    const both = [make(), make()];
    await Promise.race(both);
    emulator.faults.clear();
    const all = await Promise.all(both);
    // The first loss is settled.
    faultPost(afterWork);
    all.push(await make());
    assert.deepEqual(ids().sort(), all.map(({ id }) => id).sort());
  });

  it("C36: where an earlier lost create may have made the object, an equal create fails and names it", async () => {
    faultPost({ answer: { status: 502 }, work: "cleared" });
    await messageOf(make());
    faultPost(afterWork);
    const message = await messageOf(make());
    assert.equal(ids().length, 1);
    assert.ok(message.includes(ids()[0] as string), message);
    // Of other content it can't be.
    faultPost(afterWork);
    await make({ description: "other" });
    emulator.faults.clear();
    await until(() => ids().length === 3);
  });

  it("C36: a create with another key of the account does not take what the first key has created", async () => {
    setEnv({ ...settingsFor(emulator, "TLSEDGE_B"), TLSEDGE_B_API_KEY: emulator.addKey() });
    // Its list is older than what the first key creates.
    await make({ metadata: "any" }, "tlsedge-b");
    await make();
    faultPost({ work: false, answer: "reset" });
    await messageOf(make(inputs, "tlsedge-b"));
    assert.equal(ids().length, 2);
  });

  it("C33: a create is sent where the list can't be read before it; if its answer is lost, the error names the object", async () => {
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    const { id } = await make();
    emulator.faults.add({ method: "GET", answer: { status: 200, body: "<html>" } });
    faultPost(afterWork);
    const message = await messageOf(make());
    assert.ok(message.includes(ids()[0] as string) && !message.includes(id), message);
    // What could not be read is not remembered.
    faultPost(afterWork);
    const third = await make({ description: "third" });
    assert.equal(third.id, ids()[0]);
  });

  it("C33: a create does not take what another machine makes half a minute after the list was read", async () => {
    await make({ description: "reads the list" });
    const other = await foreign();
    mock.timers.tick(31_000);
    faultPost({ work: false, answer: "reset" });
    assert.ok(!(await messageOf(make())).includes(other));
  });

  it("C35: a create whose answer has a wrong field gives its id and what is wrong, and an update completes it", async () => {
    faultPost({ answer: { fields: { description: 7 } } });
    const { id, state, problem } = await make();
    assert.deepEqual([ids(), takeMethods(emulator)], [[id], ["GET", "POST"]]);
    assert.match(problem ?? "", /description/);
    const completed = await update(engineCall(run, tlsEdge), id, state, inputs);
    assert.ok(isUnchanged(tlsEdge, completed, inputs));
  });

  it("C34: the row of a create that looks for its object says so, until a look is over", async () => {
    faultPost(afterWork);
    await make();
    const waits = "(answer lost) to look for what this create has made";
    assert.deepEqual(shown.status, [`waits 1 s ${waits}`, "over", `waits 4 s ${waits}`, "over"]);
  });

  describe("of a certificate", () => {
    const upload = ({ certificatePem, privateKeyPem }: MadeCertificate, description?: string) =>
      create(engineCall(run, tlsCertificate), { certificatePem, privateKeyPem, description });
    const newest = () => emulator.tlsCertificates.list()[0]?.id ?? "";

    it("C33: a lost certificate is found by its leaf, description and metadata, without its root, beside a chain that can't be read", async () => {
      const body = (description: string, made: MadeCertificate) =>
        tlsCertificate.toBody({ ...made, description });
      const stranger = clientOf(emulator);
      const issuer = await makeCertificate({ commonName: "root", isCa: true });
      const made = await makeCertificate({ commonName: "a.example", issuer });
      await tlsCertificates.create(stranger, body("own", made) as never);
      faultPost({ work: true, answer: { status: 502 } });
      emulator.faults.add({ method: "GET", skip: 1, work: false, answer: "held" });
      const whole = made.certificatePem + issuer.certificatePem;
      const done = upload({ ...made, certificatePem: whole }, "own");
      await faultMet("GET");
      const lost = newest();
      emulator.tlsCertificates.patch(lost, { certificate_pem: made.certificatePem });
      for (const description of ["differs", "broken"])
        await tlsCertificates.create(stranger, body(description, made) as never);
      emulator.tlsCertificates.patch(newest(), { certificate_pem: "not PEM" });
      emulator.faults.clear();
      assert.equal((await done).id, lost);
    });

    it("C35: a certificate whose answer can't be used is recorded with its id and its chain", async () => {
      faultPost({ answer: { fields: { certificate_pem: "not PEM" } } });
      const made = await makeCertificate({ commonName: "a.example" });
      const { id, state, problem } = await upload(made);
      assert.deepEqual([newest(), state.certificatePem], [id, made.certificatePem]);
      assert.match(problem ?? "", /holds no PEM certificate/);
    });
  });

  describe("at a service that answers by a script", () => {
    const hostports = ["late.example.com:443"];
    const edge = (name: string, more: object = {}) => ({
      ...{ id: `edgtls_${name}`, uri: "x", hostports, created_at: new Date().toISOString() },
      ...more,
    });
    const termination = { enabled: true, terminate_at: "edge", min_version: "1.2" };
    /** Edges that differ from what is created, or only in what does not count. */
    const edges: Record<string, object> = {
      ...{ old: edge("old", { hostports: [] }), older: edge("older", { hostports: [] }) },
      ahead: edge("ahead", { hostports: [], created_at: "2999-01-01T00:00:00Z" }),
      behind: edge("behind", { created_at: "2000-01-01T00:00:00Z" }),
      filled: edge("filled", { tls_termination: termination }),
      differs: edge("differs", { backend: { enabled: true, backend: null } }),
    };
    /** A page with these edges, newest first; `…` behind them: another page follows; `!`: a failure. */
    const page = (names: string): Answer => {
      if (names === "!") return answer(403);
      const all = names.match(/\w+/g) ?? [];
      const next = names.endsWith("…") && {
        next_page_uri: `/edges/tls?limit=100&before_id=edgtls_${all.at(-1)}`,
      };
      return answer(200, { tls_edges: all.map((name) => edges[name] ?? edge(name)), ...next });
    };
    const madeNew = answer(201, edge("new"));
    const makeAt = (answers: Answer[], inputs: Properties = { hostports }) =>
      atScript(answers, async (requests) => {
        const { id = "", message = "" } = await make(inputs).catch((error) => error);
        return { id, message, requests };
      });

    const none = ["shows no new"];
    /** What the newest page has before the POST, and in each look; and which object is kept, or which are named. */
    const cases: [what: string, before: string, looks: string[], found: string | string[]][] = [
      ["lists it at once: it is kept", "old", ["new old", "new old"], "new"],
      ["lists it late: it is kept", "", ["", "new", "new"], "new"],
      ["has a wrong clock: it is kept", "ahead", Array(2).fill("behind ahead"), "behind"],
      ["fills in what the program leaves open: it is kept", "", ["filled", "filled"], "filled"],
      ["has many objects: it is kept", "old…", Array(2).fill("a old twin…"), "a"],
      ["lists it in the last look alone: it is named", "", ["", "", "a"], ["a"]],
      ["lists two in the last look: both are named", "", ["", "a", "b a"], ["a", "b"]],
      ["lists two in turn: the last is named", "", ["a", "b", "a"], ["a"]],
      ["lists another machine's beside it: both are named", "", Array(3).fill("b a"), ["a", "b"]],
      ["refuses a look between: it is named", "", ["a", "!", "a"], ["a"]],
      ["refuses the last look: that is said", "", ["", "a", "!"], ["list can't be read"]],
      ["lists another content: none is named", "", Array(3).fill("differs"), none],
      [
        "lists it between older ones: none is named",
        "old older",
        Array(3).fill("old a older"),
        none,
      ],
      ["lists none of the older ones now: none is named", "old…", Array(3).fill("a"), none],
    ];
    for (const [what, before, looks, found] of cases) {
      it(`C33: the object of a lost answer, at a service that ${what}`, async () => {
        const answers = [page(before), reset, ...looks.map(page)];
        const { id, message, requests } = await makeAt(answers, {
          hostports: ["Late.example.com:443"],
          ...(found === "filled" && { tlsTermination: { enabled: true } }),
        });
        assert.equal(requests.length, answers.length);
        assert.equal(id, typeof found === "string" ? `edgtls_${found}` : "", message);
        for (const text of [found].flat()) assert.ok((id + message).includes(text), message);
      });
    }

    it("C36: a create that is answered with the id of another resource fails, and tells the id", async () => {
      await atScript([page(""), madeNew, madeNew], async () => {
        await make({ hostports });
        assert.match(await messageOf(make({ hostports: [] })), /edgtls_new/);
      });
    });
  });
});
