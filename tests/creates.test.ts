import assert from "node:assert/strict";
import { mock } from "node:test";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { type Fault, type MadeCertificate, makeCertificate } from "../emulator/server";
import { isUnchanged } from "../provider/kinds/kind";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { create } from "../provider/operations/create";
import { update } from "../provider/operations/resource";
import { Objects } from "../provider/run/objects";
import { Run } from "../provider/run/run";
import {
  type Answer,
  answer,
  atScript,
  clientOf,
  failureOf,
  holdTimeouts,
  messageOf,
  type Properties,
  reset,
  script,
  setEnv,
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
  let warnings: string[];
  beforeEach(() => {
    warnings = [];
    run = new Run(undefined, (severity, text) => {
      if (severity === "warning") warnings.push(text);
    });
    skipPauses();
  });

  /** Creates an edge in this run, in the account of a connection. */
  const make = (edge: Properties = inputs, connection?: string) =>
    create(tlsEdge, run.account(connection).operation(), edge);
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
      assert.deepEqual([warnings.length, warnings[0]?.includes(id)], [1, true]);
      // What was found is as good as what was answered.
      assert.ok(isUnchanged(tlsEdge, state, inputs));
    });
  }
  for (const [what, answer] of losses) {
    it(`C33: after ${what}, a create that made nothing fails, and is not sent again`, async () => {
      faultPost({ work: false, answer });
      assert.match(await messageOf(make()), /may have created.*pulumi preview/);
      assert.deepEqual(ids(), []);
    });
  }

  const slow: typeof losses = [408, 504, 524].map((status) => [`the status ${status}`, { status }]);
  for (const [what, answer] of [...slow, ["no answer in time", "silence"]] as typeof losses) {
    it(`C33: after ${what}, a create finds an object that the service makes after five looks`, async () => {
      const endTime = holdTimeouts();
      faultPost({ answer, work: "cleared" });
      // After the list before the POST, and five looks.
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

  /** The connection `tlsedge-b` has another key of the account. */
  const addConnection = () =>
    void setEnv({ ...settingsFor(emulator, "TLSEDGE_B"), TLSEDGE_B_API_KEY: emulator.addKey() });

  for (const [what, other] of [
    ["one key", "tlsedge"],
    ["two keys", "tlsedge-b"],
  ] as const) {
    it(`C36: with ${what}, of four equal creates that lose three answers, each gets its own object or fails`, async () => {
      addConnection();
      faultPost({ ...afterWork, times: 2 });
      faultPost({ work: false, answer: { status: 502 } });
      const all = ["tlsedge", other, "tlsedge", other].map((name) => make(inputs, name));
      const done = await Promise.allSettled(all);
      const created = done.flatMap((one) => (one.status === "fulfilled" ? one.value.id : []));
      assert.equal(created.length, 3);
      assert.deepEqual(ids().sort(), created.sort());
      assert.equal(takeMethods(emulator).filter((method) => method === "POST").length, 4);
    });
  }

  it("C36: a create is sent only when an equal lost create has found its object", async () => {
    faultPost(afterWork);
    faultPost({ work: true, answer: "held" });
    const [one, other] = [make(), make()];
    const first = await one;
    await faultMet("POST");
    emulator.faults.clear();
    const second = await other;
    assert.deepEqual(ids(), [second.id, first.id]);
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
    addConnection();
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

  it("C33: a lost create fails when the list can't be read, and says so", async () => {
    faultPost(afterWork);
    emulator.faults.add({ method: "GET", skip: 1, answer: { status: 401 }, times: 99 });
    assert.match(await messageOf(make()), /list can't be read/);
    assert.equal(ids().length, 1);
  });

  it("C33: a create does not take what another machine makes half a minute after the list was read", async () => {
    await make({ description: "reads the list" });
    const other = await foreign();
    mock.timers.tick(31_000);
    faultPost({ work: false, answer: "reset" });
    assert.ok(!(await messageOf(make())).includes(other));
  });

  it("C33: a create that is sent more than 90 s after the list was read does not take the object, and names it", async () => {
    emulator.faults.add({ method: "GET", answer: "held" });
    const failed = messageOf(make());
    await faultMet("GET");
    mock.timers.tick(91_000);
    emulator.faults.clear();
    faultPost(afterWork);
    assert.ok((await failed).includes(ids()[0] as string));
  });

  it("C33: a create that the limit of requests holds back so long does not take the object either, and names it", async () => {
    setEnv({ TLSEDGE_REQUESTS_PER_MINUTE: "1" });
    faultPost({ ...afterWork, skip: 1 });
    // The list is read in the first minute, the first POST sent in the second one.
    const both = [make({ description: "first" }), make()] as const;
    const [first, message] = await Promise.all([both[0], messageOf(both[1])]);
    const [lost = ""] = ids();
    assert.notEqual(lost, first.id);
    assert.ok(message.includes(lost), message);
  });

  it("C35: a create whose answer has a wrong field gives its id and what is wrong, and an update completes it", async () => {
    faultPost({ answer: { fields: { description: 7 } } });
    const { id, state, problem } = await make();
    assert.deepEqual([ids(), takeMethods(emulator)], [[id], ["GET", "POST"]]);
    assert.match(problem ?? "", /description/);
    const edge = run.account().operation().object(tlsEdge, id);
    assert.ok(isUnchanged(tlsEdge, await update(edge, state, inputs), inputs));
  });

  it("C30: many lost creates read the list together", async () => {
    faultPost({ ...afterWork, times: 8 });
    // The first look is held until all have lost their answer: the others wait for the next one.
    emulator.faults.add({ method: "GET", skip: 1, times: 99, work: false, answer: "held" });
    const all = Array.from({ length: 8 }, (_, n) => make({ metadata: `${n}` }));
    await until(() => emulator.faults.list()[0]?.hits === 8);
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    const lists = takeMethods(emulator).filter((method) => method === "GET").length;
    emulator.faults.clear();
    const created = await Promise.all(all);
    assert.deepEqual(ids().sort(), created.map(({ id }) => id).sort());
    assert.ok(lists <= 3, `${lists} reads, where one is before the creates and two are looks`);
  });

  it("C33: creates that wait for a list share one read of it, or its failure; one that needs older objects reads again", async () => {
    const [old, young] = [await foreign("a"), await foreign("b")];
    takeMethods(emulator);
    const { pages, ...rest } = tlsEdge.endpoints;
    const one = async function* (client: Client) {
      for await (const page of pages(client)) {
        for (const [index, wire] of page.entries()) {
          yield Object.assign([wire], { isLast: index === page.length - 1 });
        }
      }
    };
    const { client } = run.account();
    const objects = new Objects(client, { endpoints: { ...rest, pages: one } } as never);
    const began = performance.now();
    const lengths = async (...olderIds: (string | undefined)[]) => {
      const lists = olderIds.map((id) => objects.list(began, id ? new Set([id]) : undefined));
      return (await Promise.all(lists)).map(({ items }) => items.length);
    };
    assert.deepEqual(await lengths(young, young), [1, 1]);
    assert.deepEqual(await lengths(young, old, undefined), [1, 2, 2]);
    assert.equal(takeMethods(emulator).length, 2);
    emulator.faults.add({ answer: { status: 400 } });
    mock.timers.tick(1);
    const failing = Array.from({ length: 3 }, () => objects.list(began + 1));
    await Promise.all(failing.map((list) => failureOf(list, ServiceError)));
    assert.equal(takeMethods(emulator).length, 1, "those who wait for a read share its failure");
    assert.equal((await objects.list(began + 1)).items.length, 2);
  });

  describe("of a certificate", () => {
    const upload = ({ certificatePem, privateKeyPem }: MadeCertificate, description?: string) =>
      create(tlsCertificate, run.account().operation(), {
        ...{ certificatePem, privateKeyPem, description },
      });
    const newest = () => emulator.tlsCertificates.list()[0]?.id ?? "";

    it("C33: a lost certificate is found by its leaf, description and metadata, also beside a chain that can't be read", async () => {
      const made = await makeCertificate({ commonName: "a.example" });
      const body = (description: string) => tlsCertificate.toBody({ ...made, description });
      const stranger = clientOf(emulator);
      await tlsCertificates.create(stranger, body("own") as never);
      faultPost({ work: true, answer: { status: 502 } });
      emulator.faults.add({ method: "GET", skip: 1, work: false, answer: "held" });
      const done = upload(made, "own");
      await faultMet("GET");
      const lost = newest();
      for (const description of ["differs", "broken"])
        await tlsCertificates.create(stranger, body(description) as never);
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

    for (const isShorter of [true, false]) {
      it(`C33: a lost certificate is found where the service ${isShorter ? "drops" : "adds"} the root`, async () => {
        const issuer = await makeCertificate({ commonName: "root", isCa: true });
        const leaf = await makeCertificate({ commonName: "b", issuer });
        const whole = leaf.certificatePem + issuer.certificatePem;
        const [answered, certificatePem] = isShorter
          ? [leaf.certificatePem, whole]
          : [whole, leaf.certificatePem];
        faultPost({ answer: { status: 504 }, work: "cleared" });
        const done = upload({ ...leaf, certificatePem });
        await until(() => emulator.requests.some(({ status }) => status === 504));
        emulator.faults.clear();
        await until(() => newest() !== "");
        emulator.tlsCertificates.patch(newest(), { certificate_pem: answered });
        assert.equal((await done).id, newest());
      });
    }
  });

  describe("at a service that answers by a script", () => {
    const hostports = ["late.example.com:443"];
    const edge = (name: string, more: object = {}) => ({
      ...{ id: `edgtls_${name}`, uri: "x", hostports, created_at: new Date().toISOString() },
      ...more,
    });
    const hours = (count: number) => ({
      created_at: new Date(Date.now() + count * 3_600_000).toISOString(),
    });
    const termination = { enabled: true, terminate_at: "edge", min_version: "1.2" };
    /** Edges that differ from what is created, or only in what does not count. */
    const edges: Record<string, object> = {
      ...{ old: edge("old", { hostports: [] }), older: edge("older", { hostports: [] }) },
      elsewhere: edge("elsewhere", { hostports: ["other.example.com:443"] }),
      ahead: edge("ahead", { hostports: [], ...hours(1) }),
      behind: edge("behind", hours(-5)),
      filled: edge("filled", { tls_termination: termination }),
      differs: edge("differs", { backend: { enabled: true, backend: null } }),
    };
    /** A page with these edges, newest first; `…` behind them: another page follows; `!`: a failure. In a look, `|` is between pages. */
    const page = (names: string): Answer => {
      if (names === "!") return answer(403);
      const all = names.match(/\w+/g) ?? [];
      const next = names.endsWith("…") && {
        next_page_uri: `/edges/tls?limit=100&before_id=edgtls_${all.at(-1)}`,
      };
      return answer(200, { tls_edges: all.map((name) => edges[name] ?? edge(name)), ...next });
    };
    /** The pages of a look. */
    const pages = (names: string) => names.split("|").map(page);
    const madeNew = answer(201, edge("new"));
    const makeAt = (answers: Answer[], inputs: Properties = { hostports }) =>
      atScript(answers, async (requests) => {
        const outcome: { id?: string; message?: string } = await make(inputs).catch(
          (error) => error,
        );
        return { id: outcome.id ?? "", message: outcome.message ?? "", requests };
      });

    /** What the list has before the POST, and in each look after it, the last one again and again. */
    const cases: [what: string, before: string, looks: string[], found: string | string[]][] = [
      ["lists it one read late: it is kept", "", ["", "new"], "new"],
      [
        "lists it in the last look: one more shows that it is alone",
        "",
        ["", "", "", "", "a"],
        "a",
      ],
      ["lists two in the last look: both are named", "", ["", "", "", "", "a", "b a"], ["a", "b"]],
      ["lists two that were alone in turn: both are named", "", ["a", "b", "a", "b a"], ["a", "b"]],
      ["has a clock that is hours off: it is kept", "ahead", ["behind ahead"], "behind"],
      ["fills in what the program leaves open: it is kept", "", ["filled"], "filled"],
      ["lists one with another backend: it is named", "", ["differs"], ["differs"]],
      ["ends its list with an empty page: it is named", "", ["a…|"], ["a"]],
      ["lists it between older ones: it is named", "old older…", ["old a older"], ["a"]],
      ["lists none of the older ones now: it is named", "old…", ["a"], ["a"]],
      ["lists another machine's beside it: both are named", "", ["b a"], ["a", "b"]],
      ["lists it behind older ones of the same second: it is kept", "old", ["old a"], "a"],
      [
        "has many objects, so that a look ends at an older one: it is kept",
        "old…",
        ["a old twin…"],
        "a",
      ],
      ["refuses a look once it has listed it: it is named", "", ["", "", "", "a", "!", "a"], ["a"]],
    ];
    for (const [what, before, looks, found] of cases) {
      it(`C33: the object of a lost answer, at a service that ${what}`, async () => {
        const answers = [...looks, ...Array(6).fill(looks.at(-1))].flatMap(pages);
        const { id, message, requests } = await makeAt([page(before), reset, ...answers], {
          hostports: ["Late.example.com:443"],
          ...(found === "filled" && { tlsTermination: { enabled: true } }),
        });
        const isFollowed = requests.some(({ path }) => path.includes("before_id"));
        assert.equal(isFollowed, looks.join().includes("|"), "another page is read");
        assert.equal(id, typeof found === "string" ? `edgtls_${found}` : "", message);
        for (const name of Array.isArray(found) ? found : []) {
          assert.ok(message.includes(`edgtls_${name}`), message);
        }
      });
    }

    it("C33: a look begins again at a service that refuses the page after a deleted id", async () => {
      const looks = Array(3).fill("elsewhere…|new old").flatMap(pages);
      const refused = [page("elsewhere…"), answer(404, { msg: "no such id" })];
      assert.equal((await makeAt([page("old"), reset, ...refused, ...looks])).id, "edgtls_new");
    });

    for (const what of ["was answered", "was kept"]) {
      it(`C33: an object that ${what} earlier in this run counts as old, where the service lists no other old one`, async () => {
        edges.none = edge("none", { hostports: [] });
        const looks = [page("none old"), page("none old")];
        const first = what === "was kept" ? [reset, ...looks] : [answer(201, edges.none)];
        const answers = [page("old…"), ...first, reset, page("new none"), page("new none")];
        await atScript(answers, async () => {
          await make({});
          assert.equal((await make({ hostports })).id, "edgtls_new");
        });
      });
    }

    it("C33: a look reads at most ten pages of a list that never ends", async () => {
      let number = 0;
      const endless: Answer = (...args) => page(`${number++}…`)(...args);
      const { message, requests } = await makeAt([
        page("mark"),
        reset,
        ...Array(100).fill(endless),
      ]);
      assert.match(message, /edgtls_\d/);
      assert.equal(requests.filter(({ method }) => method === "POST").length, 1);
      assert.ok(requests.length <= 2 + 10 * 7, `${requests.length} requests`);
    });

    it("C36: a create that is answered with the id of another resource fails, and tells the id", async () => {
      await atScript([page(""), madeNew, madeNew], async () => {
        await make({ hostports });
        assert.match(await messageOf(make({ hostports: [] })), /edgtls_new/);
      });
    });

    it("C36: a create does not wait for an equal one at another service, which is slow", async () => {
      let release = () => {};
      const held: Answer = (...args) => {
        release = () => madeNew(...args);
      };
      const [slow, quick] = [await script(page(""), held), await script(page(""), madeNew)];
      setEnv({
        ...{ TLSEDGE_BASE_URL: slow.url, TLSEDGE_CA_FILE: slow.caFile },
        ...{
          TLSEDGE_B_BASE_URL: quick.url,
          TLSEDGE_B_CA_FILE: quick.caFile,
          TLSEDGE_B_API_KEY: "k",
        },
      });
      const waiting = make({ hostports });
      await until(() => slow.requests.length === 2);
      // An id of another base URL is another object.
      const second = await make({ hostports }, "tlsedge-b").finally(quick.close);
      release();
      const first = await waiting.finally(slow.close);
      assert.deepEqual([first.id, second.id], ["edgtls_new", "edgtls_new"]);
    });
  });
});
