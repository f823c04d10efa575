import assert from "node:assert/strict";
import { mock } from "node:test";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { type Fault, type MadeCertificate, makeCertificate } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import { tlsEdge as edgeKind } from "../provider/kinds/tlsEdge";
import { Objects } from "../provider/run/objects";
import type { PartialResource } from "../tools/resource";
import {
  type Answer,
  answer,
  atScript,
  captureMessages,
  clientOf,
  failureOf,
  holdTimeouts,
  messageOf,
  type Properties,
  reset,
  type Script,
  Stack,
  script,
  setEnv,
  settingsFor,
  skipPauses,
  until,
  useEmulator,
} from "./support";

/** A create makes one object, also when its answer is lost, wrong or late, and never takes another's. */
describe("a create", () => {
  const emulator = useEmulator();
  const args = { description: "d", backend: { backendId: "bkdtg_1" }, tlsTermination: {} };
  let certificate: MadeCertificate;
  /** The same account, from another machine. */
  let stranger: Client;
  let messages: () => string[];

  before(async () => {
    stranger = clientOf(emulator, { requestsPerMinute: 0 });
    certificate = await makeCertificate({ commonName: "a.example" });
  });
  beforeEach(() => {
    messages = captureMessages();
    skipPauses();
  });

  const warnings = () => messages().filter((text) => text.startsWith("warning: "));
  const methods = () => emulator.requests.map(({ method }) => method);
  const posts = () => methods().filter((method) => method === "POST").length;
  const newEdge = () => new Stack(tlsEdge);
  const ids = () => emulator.tlsEdges.list().map(({ id }) => id);
  const lose = (fault: Omit<Fault, "method">) => emulator.faults.add({ method: "POST", ...fault });
  /** Waits until a request meets the last fault of its method. */
  const faultMet = (of = "GET") =>
    until(() => emulator.faults.list().findLast(({ method }) => method === of)?.hits === 1);
  /** A POST that the service has got has no more time. */
  async function withTimeout<T>(work: () => Promise<T>): Promise<T> {
    const end = holdTimeouts();
    const done = work();
    await faultMet("POST");
    end();
    return done;
  }

  /** What another machine creates. */
  async function foreign(description = "d"): Promise<string> {
    const on = { enabled: true };
    const backend = { ...on, backend_id: "bkdtg_1" };
    const { id } = await tlsEdges.create(stranger, { description, backend, tls_termination: on });
    emulator.requests.length = 0;
    return id;
  }

  const losses: [string, Fault["answer"]][] = [
    ["a connection that is cut", "reset"],
    ["half of the answer", "truncated"],
    ["silence", "silence"],
    ["502 from a proxy", { status: 502, body: "<html>gateway</html>" }],
    ["503 with Retry-After", { status: 503, headers: { "Retry-After": "0" } }],
    ["an answer without a usable id", { fields: { id: 7 } }],
  ];
  for (const [what, answer] of losses) {
    const up = (stack: Stack) =>
      answer === "silence" ? withTimeout(() => stack.up(args)) : stack.up(args);

    it(`C33: after ${what}, a create finds the object that it made, warns, and makes no other`, async () => {
      const others = [await foreign("differs"), await foreign()];
      lose({ work: true, answer });
      const stack = newEdge();
      await up(stack);
      assert.deepEqual(ids(), [stack.id, ...others.reverse()]);
      assert.equal(posts(), 1);
      assert.equal(warnings().length, 1);
      assert.ok(warnings()[0]?.includes(stack.id));
      // What was found is as good as what was answered.
      assert.equal(await stack.refresh(), "same");
      assert.equal(await stack.up(args), "same");
    });

    if (/answer/.test(what)) continue;
    it(`C33: after ${what}, a create that made nothing fails, and is not sent again`, async () => {
      lose({ work: false, answer });
      const message = await messageOf(up(newEdge()));
      assert.match(message, /may have created.*pulumi preview/);
      assert.equal(posts(), 1);
      assert.deepEqual(ids(), []);
    });
  }

  /** Holds the answer to a GET after some others until the faults are cleared: then the service does it. */
  const holdGet = (skip: number) =>
    emulator.faults.add({ method: "GET", skip, work: false, answer: "held" });

  for (const what of ["408", "504", "524", "no answer in time"]) {
    it(`C33: after ${what}, a create looks for its object until its deadline`, async () => {
      const isSilent = !Number(what);
      lose({ answer: isSilent ? "silence" : { status: Number(what) }, work: "cleared" });
      const stack = newEdge();
      const up = () => stack.up(args);
      // After the list before the POST, and five looks.
      holdGet(6);
      const created = isSilent ? withTimeout(up) : up();
      await faultMet();
      emulator.faults.clear();
      await created;
      assert.deepEqual(ids(), [stack.id]);
      assert.equal(posts(), 1);
    });
  }

  /** The service does the work, and its answer is lost. */
  const afterWork = { work: true, answer: "reset" } as const;

  it("C36: of equal creates with lost answers, each gets its own object or fails, also with two keys", async () => {
    const key = emulator.addKey();
    setEnv({ ...settingsFor(emulator, "TLSEDGE_B"), TLSEDGE_B_API_KEY: key });
    for (const connections of [["tlsedge"], ["tlsedge", "tlsedge-b"]]) {
      emulator.reset();
      beginRun();
      lose({ ...afterWork, times: 2 });
      lose({ work: false, answer: { status: 502 } });
      const all = [0, 1, 2, 3].map(newEdge);
      const connection = (n: number) => connections[n % connections.length];
      const done = await Promise.allSettled(
        all.map((stack, n) => stack.up({ ...args, connection: connection(n) })),
      );
      const created = all.map(({ id }) => id).filter(Boolean);
      assert.equal(done.filter(({ status }) => status === "rejected").length, 1);
      assert.deepEqual(ids().sort(), created.sort());
      assert.equal(posts(), 4);
    }
  });

  it("C36: a create waits for the lost create of an equal resource", async () => {
    lose(afterWork);
    lose({ work: true, answer: "held" });
    const [first, second] = [newEdge(), newEdge()];
    const [one, other] = [first.up(args), second.up(args)];
    await one;
    await faultMet("POST");
    emulator.faults.clear();
    await other;
    assert.deepEqual(ids(), [second.id, first.id]);
  });

  it("C36: a create does not take an object that an earlier lost create may have made: its error names it", async () => {
    lose({ answer: { status: 502 }, work: "cleared" });
    await messageOf(newEdge().up(args));
    lose(afterWork);
    const message = await messageOf(newEdge().up(args));
    assert.equal(ids().length, 1);
    assert.ok(message.includes(ids()[0] as string), message);
    // Of other content it can't be.
    lose(afterWork);
    await newEdge().up({ ...args, description: "other" });
    emulator.faults.clear();
    await until(() => ids().length === 3);
  });

  it("C36: a create with another key of the account does not take what the first key has created", async () => {
    const key = emulator.addKey();
    const asOther = async <T>(work: () => Promise<T>): Promise<T> => {
      const undo = setEnv({ TLSEDGE_API_KEY: key });
      return work().finally(undo);
    };
    // Its list is older than what the first key creates.
    await asOther(() => newEdge().up({ metadata: "any" }));
    await newEdge().up(args);
    lose({ work: false, answer: "reset" });
    await asOther(() => messageOf(newEdge().up(args)));
    assert.equal(ids().length, 2);
  });

  it("C33: a create goes on where the list can't be read before it; if its answer is lost, the error names what it may have made", async () => {
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    const stack = newEdge();
    await stack.up(args);
    emulator.faults.add({ method: "GET", answer: { status: 200, body: "<html>" } });
    lose(afterWork);
    const message = await messageOf(newEdge().up(args));
    assert.ok(message.includes(ids()[0] as string) && !message.includes(stack.id), message);
    // What could not be read is not remembered.
    lose(afterWork);
    const third = newEdge();
    await third.up({ ...args, description: "third" });
    assert.equal(third.id, ids()[0]);
  });

  it("C33: a lost create fails when the list can't be read, and says so", async () => {
    lose(afterWork);
    emulator.faults.add({ method: "GET", skip: 1, answer: { status: 401 }, times: 99 });
    assert.match(await messageOf(newEdge().up(args)), /list can't be read/);
    assert.equal(posts(), 1);
  });

  it("C33: a create does not take what another machine makes half a minute after the list was read", async () => {
    await newEdge().up({ description: "marked" });
    const other = await foreign();
    mock.timers.tick(31_000);
    lose({ work: false, answer: "reset" });
    assert.ok(!(await messageOf(newEdge().up(args))).includes(other));
  });

  it("C33: when the list was read too long before the POST, the error names the object, and the create does not take it", async () => {
    emulator.faults.add({ method: "GET", answer: "held" });
    const failed = messageOf(newEdge().up(args));
    await faultMet();
    mock.timers.tick(91_000);
    emulator.faults.clear();
    lose(afterWork);
    assert.ok((await failed).includes(ids()[0] as string));
  });

  it("C33: when the request limit holds the POST back too long, the error names the object, and the create does not take it", async () => {
    setEnv({ TLSEDGE_REQUESTS_PER_MINUTE: "1" });
    lose({ ...afterWork, skip: 1 });
    // The list is read in the first minute, the first POST sent in the second one.
    const [first, second] = [newEdge(), newEdge()];
    const failed = Promise.all([first.up({ description: "first" }), messageOf(second.up(args))]);
    const [, message] = await failed;
    const [lost = ""] = ids();
    assert.notEqual(lost, first.id);
    assert.ok(message.includes(lost), message);
  });

  it("C35: a create whose answer has a wrong field is recorded with its id, and completed by an update", async () => {
    lose({ answer: { fields: { description: 7 } } });
    const stack = newEdge();
    const error = await failureOf(stack.up(args), Error);
    const { id, state } = stack;
    assert.deepEqual(ids(), [id]);
    assert.deepEqual((error as Error & PartialResource).reasons, [error.message]);
    for (const part of [id, "description"]) assert.ok(error.message.includes(part));
    assert.deepEqual(methods(), ["GET", "POST"]);
    assert.equal(state.__provider, "exports.handler = () => 0");
    assert.equal(await stack.up(args), "update");
    assert.equal(await stack.refresh(), "same");
    assert.equal(await stack.up(args), "same");
  });

  it("C30: many creates are one POST each, and one list", async () => {
    const all = Array.from({ length: 16 }, newEdge);
    await Promise.all(all.map((stack, n) => stack.up({ ...args, metadata: `${n}` })));
    await newEdge().up(args);
    assert.equal(posts(), 17);
    assert.equal(methods().filter((method) => method === "GET").length, 1);
  });

  it("C30: many lost creates read the list together", async () => {
    lose({ ...afterWork, times: 8 });
    // The first look is held until all have lost their answer: the others wait for the next one.
    emulator.faults.add({ method: "GET", skip: 1, times: 99, work: false, answer: "held" });
    const all = Array.from({ length: 8 }, newEdge);
    const done = all.map((stack, n) => stack.up({ ...args, metadata: `${n}` }));
    await until(() => emulator.faults.list()[0]?.hits === 8);
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    const looks = methods().filter((method) => method === "GET").length - 1;
    emulator.faults.clear();
    await Promise.all(done);
    assert.deepEqual(ids().sort(), all.map(({ id }) => id).sort());
    assert.ok(looks <= 2, `${looks} looks`);
  });

  it("C30: a refused create is an error, and leaves nothing to look for", async () => {
    lose({ answer: { status: 400 } });
    await failureOf(newEdge().up(args), ServiceError);
    lose(afterWork);
    const stack = newEdge();
    await stack.up(args);
    assert.deepEqual(ids(), [stack.id]);
  });

  it("C33: a list that others have read is read again when it does not go back far enough", async () => {
    const [old, young] = [await foreign("a"), await foreign("b")];
    const { pages, ...rest } = edgeKind.endpoints;
    const one = async function* (client: Client) {
      for await (const page of pages(client)) {
        for (const [index, wire] of page.entries()) {
          yield Object.assign([wire], { isLast: index === page.length - 1 });
        }
      }
    };
    const objects = new Objects(stranger, { endpoints: { ...rest, pages: one } } as never);
    const lengths = async (...until: (string | undefined)[]) => {
      const lists = until.map((id) => objects.list(began, id ? new Set([id]) : undefined));
      return (await Promise.all(lists)).map(({ items }) => items.length);
    };
    const began = performance.now();
    assert.deepEqual(await lengths(young, young), [1, 1]);
    assert.deepEqual(await lengths(young, old, undefined), [1, 2, 2]);
    assert.equal(methods().length, 2);
    emulator.faults.add({ answer: { status: 400 } });
    mock.timers.tick(1);
    const failing = Array.from({ length: 3 }, () => objects.list(began + 1));
    await Promise.all(failing.map((list) => failureOf(list, ServiceError)));
    assert.equal(methods().length, 3, "those who wait for a read share its failure");
    assert.equal((await objects.list(began + 1)).items.length, 2);
  });

  const certificateIds = () => emulator.tlsCertificates.list().map(({ id }) => id);
  const up = ({ certificatePem, privateKeyPem }: MadeCertificate, more = {}) => {
    const stack = new Stack(tlsCertificate);
    return { stack, done: stack.up({ certificatePem, privateKeyPem, ...more }) };
  };

  it("C33: a lost certificate is found by its leaf and texts, beside one that can't be parsed", async () => {
    const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } = certificate;
    const upload = (description: string) =>
      tlsCertificates.create(stranger, { certificate_pem, private_key_pem, description });
    await upload("own");
    lose({ work: true, answer: { status: 502 } });
    holdGet(1);
    const { stack, done } = up(certificate, { description: "own" });
    await faultMet();
    const [lost] = certificateIds();
    await upload("differs");
    const broken = await upload("broken");
    emulator.tlsCertificates.patch(broken.id, { certificate_pem: "not PEM" });
    emulator.faults.clear();
    await done;
    assert.equal(stack.id, lost);
  });

  it("C35: a certificate whose answer can't be used is recorded with its id and its chain", async () => {
    lose({ answer: { fields: { certificate_pem: "not PEM" } } });
    const error = await failureOf(up(certificate).done, Error);
    const { id, properties } = error as unknown as { id: string; properties: Properties };
    assert.deepEqual(certificateIds(), [id]);
    assert.equal(properties.certificatePem, certificate.certificatePem);
  });

  for (const isShorter of [true, false]) {
    it(`C33: a lost certificate is found where the service ${isShorter ? "drops" : "adds"} the root`, async () => {
      const issuer = await makeCertificate({ commonName: "root", isCa: true });
      const leaf = await makeCertificate({ commonName: "b", issuer });
      const whole = leaf.certificatePem + issuer.certificatePem;
      const [answered, certificatePem] = isShorter
        ? [leaf.certificatePem, whole]
        : [whole, leaf.certificatePem];
      lose({ answer: { status: 504 }, work: "cleared" });
      const { stack, done } = up({ ...leaf, certificatePem });
      await faultMet("POST");
      await until(() => emulator.requests.some(({ status }) => status === 504));
      emulator.faults.clear();
      await until(() => certificateIds().length === 1);
      const [lost = ""] = certificateIds();
      emulator.tlsCertificates.patch(lost, { certificate_pem: answered });
      await done;
      assert.equal(stack.id, lost);
    });
  }

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
  /** A page with these edges, newest first; `…` behind them: another page follows; `!`: a failure. */
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
  const list = page("");
  const created = () => answer(201, edge("new"));

  const upWith = (args: Properties, ...answers: Answer[]) =>
    atScript(answers, async (requests) => {
      const stack = newEdge();
      const message = await stack.up(args).then(
        () => "",
        (error: Error) => error.message,
      );
      return { id: stack.id, message, requests };
    });

  /** What the list has before the POST, and in each look after it, the last one again and again. */
  const looked: [what: string, before: string, looks: string[], found: string | string[]][] = [
    ["lists it one read late: it is kept", "", ["", "new"], "new"],
    ["lists it in the last look: one more shows that it is alone", "", ["", "", "", "", "a"], "a"],
    ["lists two in the last look: both are named", "", ["", "", "", "", "a", "b a"], ["a", "b"]],
    ["lists two that were alone in turn: both are named", "", ["a", "b", "a", "b a"], ["a", "b"]],
    ["has a clock that is hours off: it is kept", "ahead", ["behind ahead"], "behind"],
    ["fills in what the program leaves open: it is kept", "", ["filled"], "filled"],
    ["lists one that differs in a module: it is named", "", ["differs"], ["differs"]],
    ["ends its list with an empty page: it is named", "", ["a…|"], ["a"]],
    ["lists it between older ones: it is named", "old older…", ["old a older"], ["a"]],
    ["lists no older one any more: it is named", "old…", ["a"], ["a"]],
    ["lists another machine's beside it: both are named", "", ["b a"], ["a", "b"]],
    ["lists it behind older ones of the same second: it is kept", "old", ["old a"], "a"],
    ["has many objects: a look ends at an older one", "old…", ["a old twin…"], "a"],
    ["refuses a look once it has listed it: it is named", "", ["", "", "", "a", "!", "a"], ["a"]],
  ];
  for (const [what, before, looks, found] of looked) {
    it(`C33: the object of a lost answer, at a service that ${what}`, async () => {
      const answers = [...looks, ...Array(6).fill(looks.at(-1))].flatMap(pages);
      const args = {
        hostports: ["Late.example.com:443"],
        ...(found === "filled" && { tlsTermination: {} }),
      };
      const { id, message, requests } = await upWith(args, page(before), reset, ...answers);
      const isFollowed = requests.some(({ path }) => path.includes("before_id"));
      assert.equal(isFollowed, looks.join().includes("|"), "another page is read");
      assert.equal(id, typeof found === "string" ? `edgtls_${found}` : "", message);
      for (const name of Array.isArray(found) ? found : []) {
        assert.ok(message.includes(`edgtls_${name}`), message);
      }
    });
  }

  it("C33: a look begins again at a service that refuses the page after a deleted id", async () => {
    const looks = ["elsewhere…|new old", "elsewhere…|new old", "elsewhere…|new old"];
    const refused = [page("elsewhere…"), answer(404, { msg: "no such id" })];
    const answers = [page("old"), reset, ...refused, ...looks.flatMap(pages)];
    assert.equal((await upWith({ hostports }, ...answers)).id, "edgtls_new");
  });

  for (const [what, isLost] of [
    ["was answered", false],
    ["was kept", true],
  ] as const) {
    it(`C33: an object that ${what} earlier in the run shows which one is new, where the service lists none of before`, async () => {
      edges.none = edge("none", { hostports: [] });
      const looks = [page("none old"), page("none old"), page("none old")];
      const first = isLost ? [reset, ...looks] : [answer(201, edges.none)];
      const later = [page("new none"), page("new none"), page("new none")];
      await atScript([page("old…"), ...first, reset, ...later], async () => {
        await newEdge().up({});
        const stack = newEdge();
        await stack.up({ hostports });
        assert.equal(stack.id, "edgtls_new");
      });
    });
  }

  it("C33: a look reads at most ten pages of a list that never ends", async () => {
    let number = 0;
    const endless: Answer = (response, request) => {
      page(`${number++}…`)(response, request);
    };
    const all = Array.from({ length: 100 }, () => endless);
    const { message, requests } = await upWith({ hostports }, page("mark"), reset, ...all);
    assert.match(message, /edgtls_\d/);
    assert.equal(requests.filter(({ method }) => method === "POST").length, 1);
    assert.ok(requests.length <= 2 + 10 * 7, `${requests.length} requests`);
  });

  it("C36: a create that is answered with the id of another resource fails, and names it", async () => {
    await atScript([list, created(), created()], async () => {
      await newEdge().up({ hostports });
      assert.match(await messageOf(newEdge().up({ hostports: [] })), /edgtls_new/);
    });
  });

  it("C36: a create does not wait for an equal one at another service, which is slow", async () => {
    let release = () => {};
    const slow = await script(list, (response, request) => {
      release = () => created()(response, request);
    });
    const at = ({ url, caFile }: Script) =>
      setEnv({ TLSEDGE_BASE_URL: url, TLSEDGE_CA_FILE: caFile });
    at(slow);
    const [first, second] = [newEdge(), newEdge()];
    const waiting = first.up({ hostports });
    await until(() => slow.requests.length === 2);
    const quick = await script(list, created());
    at(quick);
    // An id of another base URL may be another object.
    await second.up({ hostports }).finally(quick.close);
    release();
    await waiting.finally(slow.close);
    assert.deepEqual([first.id, second.id], ["edgtls_new", "edgtls_new"]);
  });
});
