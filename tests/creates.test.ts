import assert from "node:assert/strict";
import { mock } from "node:test";
import type { dynamic } from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import {
  type Emulator,
  type Fault,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { Objects } from "../provider/objects";
import { beginRun } from "../provider/process";
import type { Run } from "../provider/run";
import { tlsCertificate as certificateKind } from "../provider/tlsCertificate";
import { tlsEdge as edgeKind } from "../provider/tlsEdge";
import {
  type Answer,
  answer,
  atScript,
  clientOf,
  failureOf,
  holdTimeouts,
  PlanFailure,
  type Properties,
  reset,
  type Script,
  Stack,
  script,
  setEnv,
  setEnvFor,
  settingsFor,
  skipPauses,
  until,
} from "./support";

const lists = { tlsEdge: "/edges/tls", tlsCertificate: "/tls_certificates" };
type Kind = keyof typeof lists;

describe("a create", () => {
  let emulator: Emulator;
  let restore: () => void;
  let certificate: MadeCertificate;
  let inputs: Record<Kind, Properties>;
  /** The same account, from another machine. */
  let stranger: Client;
  let told: ReturnType<typeof mock.method<Console, "error">>;
  let run: Run;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    stranger = clientOf(emulator, { requestsPerMinute: 0 });
    certificate = await makeCertificate({ commonName: "a.example" });
    const { certificatePem, privateKeyPem } = certificate;
    inputs = {
      tlsEdge: { description: "d", backend: { backendId: "bkdtg_1" }, tlsTermination: {} },
      tlsCertificate: { description: "d", certificatePem, privateKeyPem },
    };
  });
  beforeEach(() => {
    emulator.reset();
    run = beginRun();
    told = mock.method(console, "error", () => {});
    skipPauses();
  });
  afterEach(() => mock.reset());
  after(() => {
    restore();
    return emulator.close();
  });

  const warnings = () =>
    told.mock.calls.map((call) => String(call.arguments)).filter((text) => /^warning/.test(text));
  const heard = () => emulator.requests.map(({ method }) => method);
  const posts = () => heard().filter((method) => method === "POST").length;
  const stackOf = (kind: Kind) => new Stack({ tlsEdge, tlsCertificate }[kind]);
  const direct = (kind: Kind) =>
    ({ tlsEdge: emulator.tlsEdges, tlsCertificate: emulator.tlsCertificates })[kind];
  const ids = (kind: Kind) =>
    direct(kind)
      .list()
      .map(({ id }) => id);
  const lose = (kind: Kind, fault: Omit<Fault, "path" | "method">) =>
    emulator.faults.add({ method: "POST", path: lists[kind], ...fault });
  const until504 = () => until(() => posts() === 1 && emulator.requests.at(-1)?.status !== 0);
  /** Waits until a request meets the last fault of its method. */
  const struck = (of = "GET") =>
    until(() => emulator.faults.list().findLast(({ method }) => method === of)?.struck === 1);
  /** Holds an answer to a GET after some others; the service does it when the faults are cleared. */
  const holdGet = (skip: number) =>
    emulator.faults.add({ method: "GET", skip, work: false, answer: "held" });
  /** A POST that the service has heard has no more time. */
  async function withTimeout<T>(work: () => Promise<T>): Promise<T> {
    const end = holdTimeouts();
    const done = work();
    await struck("POST");
    end();
    return done;
  }

  /** What another machine makes. */
  async function make(kind: Kind, description = "d"): Promise<string> {
    const { certificatePem, privateKeyPem } = certificate;
    const on = { enabled: true };
    const { id } =
      kind === "tlsCertificate"
        ? await tlsCertificates.create(stranger, {
            description,
            certificate_pem: certificatePem,
            private_key_pem: privateKeyPem,
          })
        : await tlsEdges.create(stranger, {
            description,
            backend: { ...on, backend_id: "bkdtg_1" },
            tls_termination: on,
          });
    emulator.requests.length = 0;
    return id;
  }

  const lost: [string, Fault["answer"]][] = [
    ["a connection that is cut", "reset"],
    ["half of the answer", "truncated"],
    ["silence", "silence"],
    ...[408, 500, 502, 503, 504, 524].map((status): [string, Fault["answer"]] => [
      `${status} from a proxy`,
      { status, body: "<html>gateway</html>" },
    ]),
    ["503 with Retry-After", { status: 503, headers: { "Retry-After": "0" } }],
    ["an answer without a usable id", { fields: { id: 7 } }],
  ];
  for (const kind of ["tlsEdge", "tlsCertificate"] as const) {
    describe(`of a ${kind}`, () => {
      // What is lost does not depend on the kind.
      for (const [what, answer] of kind === "tlsEdge" ? lost : lost.slice(0, 2)) {
        it(`C33 with ${what} after the work takes the object, with a warning`, async () => {
          lose(kind, { work: true, answer });
          const stack = stackOf(kind);
          const up = () => stack.up(inputs[kind]);
          assert.equal(await (answer === "silence" ? withTimeout(up) : up()), "create");
          assert.deepEqual(ids(kind), [stack.id]);
          assert.equal(posts(), 1);
          assert.equal(warnings().length, 1);
          assert.ok(warnings()[0]?.includes(stack.id));
          // What was found is as good as what was answered.
          assert.equal(await stack.refresh(), "same");
          assert.equal(await stack.up(inputs[kind]), "same");
        });

        if (!["reset", "silence"].includes(String(answer)) && !/50[24]/.test(what)) continue;
        it(`C33 with ${what} before the work is never sent again, and fails`, async () => {
          lose(kind, { work: false, answer });
          const up = () => failureOf(stackOf(kind).up(inputs[kind]), Error);
          const { message } = await (answer === "silence" ? withTimeout(up) : up());
          assert.match(message, /may have created/);
          assert.match(message, /pulumi up/);
          assert.equal(posts(), 1);
          assert.deepEqual(ids(kind), []);
        });
      }

      it("C33 that an origin finishes after its gateway's 504 is taken, not made twice", async () => {
        lose(kind, { answer: { status: 504 }, work: { afterMs: 100 } });
        const stack = stackOf(kind);
        await stack.up(inputs[kind]);
        assert.deepEqual(ids(kind), [stack.id]);
      });

      for (const hours of [-5, 5]) {
        it(`C33 is found by a service whose clock is off by ${hours} hours`, async () => {
          const at = (time: number) => ({ created_at: new Date(time).toISOString() });
          const old = await make(kind);
          emulator.clocks.date = hours * 3600_000;
          direct(kind).patch(old, at(Date.now() + 3600_000));
          lose(kind, { answer: { status: 504 }, work: "cleared" });
          const stack = stackOf(kind);
          const created = stack.up(inputs[kind]);
          await until504();
          emulator.faults.clear();
          await until(() => ids(kind).length === 2);
          const [made = ""] = ids(kind);
          direct(kind).patch(made, at(Date.now() + hours * 3600_000));
          await created;
          assert.deepEqual(ids(kind), [stack.id, old]);
        });
      }

      it("C36 of equal ones, of which some are lost, gives each its own or fails", async () => {
        lose(kind, { work: true, answer: "reset" });
        lose(kind, { skip: 1, work: false, answer: { status: 502 } });
        const all = [1, 2, 3, 4].map(() => stackOf(kind));
        const done = await Promise.allSettled(all.map((stack) => stack.up(inputs[kind])));
        const failed = done.filter(({ status }) => status === "rejected").length;
        assert.equal(failed, 1);
        const own = all.map(({ id }) => id).filter(Boolean);
        assert.equal(new Set(own).size, 3);
        assert.deepEqual(ids(kind).sort(), own.sort());
        assert.equal(posts(), 4);
      });

      it("C36 of equal ones with two keys at once, of which some are lost, gives each its own", async () => {
        const key = emulator.addKey();
        const undo = setEnv({ ...settingsFor(emulator, "TLSEDGE_B"), TLSEDGE_B_API_KEY: key });
        lose(kind, { work: true, answer: { status: 503 } });
        lose(kind, { skip: 1, work: false, answer: { status: 502 } });
        const all = [1, 2, 3, 4].map(() => stackOf(kind));
        const args = (n: number) => ({
          ...inputs[kind],
          ...(n % 2 && { connection: "tlsedge-b" }),
        });
        await Promise.allSettled(all.map((stack, n) => stack.up(args(n)))).finally(undo);
        const own = all.map(({ id }) => id).filter(Boolean);
        assert.equal(new Set(own).size, own.length);
        assert.deepEqual(ids(kind).sort(), own.sort());
        assert.equal(posts(), 4);
      });

      it("C36 after an equal one that was answered is taken when it is lost", async () => {
        const [answered, stack] = [stackOf(kind), stackOf(kind)];
        await answered.up(inputs[kind]);
        lose(kind, { work: true, answer: "reset" });
        await stack.up(inputs[kind]);
        assert.deepEqual(ids(kind), [stack.id, answered.id]);
      });

      it("C36: waits for the lost create of an equal resource", async () => {
        lose(kind, { work: true, answer: "reset" });
        lose(kind, { work: true, answer: "held" });
        const [lost, other] = [stackOf(kind), stackOf(kind)];
        const [first, second] = [lost.up(inputs[kind]), other.up(inputs[kind])];
        await first;
        await struck("POST");
        emulator.faults.clear();
        await second;
        assert.deepEqual(ids(kind), [other.id, lost.id]);
      });

      it("C36 that may be that of an earlier lost one is named, not taken", async () => {
        lose(kind, { answer: { status: 502 }, work: "cleared" });
        await failureOf(stackOf(kind).up(inputs[kind]), Error);
        lose(kind, { work: true, answer: "reset" });
        const { message } = await failureOf(stackOf(kind).up(inputs[kind]), Error);
        assert.equal(ids(kind).length, 1);
        assert.ok(message.includes(ids(kind)[0] as string), message);
        emulator.faults.clear();
        await until(() => ids(kind).length === 2);
      });

      it("C33 does not take what was there before, nor what differs", async () => {
        const others = [await make(kind), await make(kind, "another")];
        lose(kind, { work: true, answer: "reset" });
        const stack = stackOf(kind);
        await stack.up(inputs[kind]);
        assert.ok(!others.includes(stack.id));
        assert.equal(ids(kind).length, 3);
      });

      it("C33 that can't be told from another machine's fails, and names both", async () => {
        await make(kind, "before");
        lose(kind, { work: true, answer: { status: 502 } });
        holdGet(1);
        const created = failureOf(stackOf(kind).up(inputs[kind]), Error);
        await struck();
        await make(kind);
        emulator.faults.clear();
        const { message } = await created;
        const [one = "", two = ""] = ids(kind);
        assert.ok(message.includes(one) && message.includes(two), message);
        assert.equal(ids(kind).length, 3);
      });

      it("C33 without a mark goes on, and names what a lost one may have made", async () => {
        emulator.faults.add({ method: "GET", answer: { status: 403 } });
        const stack = stackOf(kind);
        await stack.up(inputs[kind]);
        emulator.faults.add({ method: "GET", answer: { status: 200, body: "<html>" } });
        lose(kind, { work: true, answer: "reset" });
        const { message } = await failureOf(stackOf(kind).up(inputs[kind]), Error);
        const [made = ""] = ids(kind);
        assert.ok(message.includes(made) && !message.includes(stack.id), message);
        // What could not be read is not remembered.
        lose(kind, { work: true, answer: "reset" });
        const third = stackOf(kind);
        await third.up({ ...inputs[kind], description: "third" });
        assert.equal(third.id, ids(kind)[0]);
      });

      it("C33 that can't be looked for fails, and says so", async () => {
        lose(kind, { work: true, answer: "reset" });
        const list = { method: "GET", path: lists[kind], skip: 1 } as const;
        emulator.faults.add({ ...list, answer: { status: 401 }, times: 99 });
        const { message } = await failureOf(stackOf(kind).up(inputs[kind]), Error);
        assert.match(message, /list can't be read/);
        assert.equal(posts(), 1);
      });

      it("C33 is not what a resource is known to have", async () => {
        lose(kind, { work: false, answer: "reset" });
        holdGet(1);
        const created = failureOf(stackOf(kind).up(inputs[kind]), Error);
        await struck();
        run
          .account()
          .known(
            { tlsEdge: edgeKind, tlsCertificate: certificateKind }[kind],
            await make(kind),
          ).isOwn = true;
        emulator.faults.clear();
        assert.match((await created).message, /no new object with this content/);
      });

      it("C35 with an answer that has a wrong field is recorded with its id", async () => {
        lose(kind, { answer: { fields: { description: 7 } } });
        const stack = stackOf(kind);
        const error = await failureOf(stack.up(inputs[kind]), Error);
        const { id, properties, reasons } = error as unknown as Record<string, unknown>;
        assert.deepEqual(ids(kind), [id]);
        assert.deepEqual(reasons, [error.message]);
        for (const part of [String(id), "description"]) assert.ok(error.message.includes(part));
        assert.deepEqual(heard(), ["GET", "POST"]);
        // The engine keeps this, and updates what is incomplete, whatever the diff.
        const state = properties as Record<string, unknown>;
        assert.equal(state.__provider, "exports.handler = () => 0");
        const { inputs: news } = await stack.check(inputs[kind]);
        const { update } = { tlsEdge, tlsCertificate }[kind] as Required<dynamic.ResourceProvider>;
        const { outs } = await update(String(id), state, news);
        Object.assign(stack, { id, inputs: news, state: outs });
        assert.deepEqual(ids(kind), [id]);
        assert.equal(await stack.refresh(), "same");
        assert.equal(await stack.up(inputs[kind]), "same");
      });

      it("C30 of many is one POST each, and one list", async () => {
        const all = Array.from({ length: 16 }, () => stackOf(kind));
        await Promise.all(all.map((stack, n) => stack.up({ ...inputs[kind], metadata: `${n}` })));
        await stackOf(kind).up(inputs[kind]);
        assert.equal(posts(), 17);
        assert.equal(heard().filter((method) => method === "GET").length, 1);
      });

      it("C30 of many that are lost look together", async () => {
        lose(kind, { work: true, answer: "reset", times: 8 });
        // The first look is held until all have lost their answer: the others wait for the next one.
        emulator.faults.add({ method: "GET", skip: 1, times: 99, work: false, answer: "held" });
        const all = Array.from({ length: 8 }, () => stackOf(kind));
        const done = all.map((stack, n) => stack.up({ ...inputs[kind], metadata: `${n}` }));
        await until(() => emulator.faults.list()[0]?.struck === 8);
        for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
        const looks = heard().filter((method) => method === "GET").length - 1;
        emulator.faults.clear();
        await Promise.all(done);
        assert.deepEqual(ids(kind).sort(), all.map(({ id }) => id).sort());
        assert.ok(looks <= 2, `${looks} looks`);
      });

      it("C30 that is refused is an error, and leaves nothing to look for", async () => {
        lose(kind, { answer: { status: 400 } });
        await failureOf(stackOf(kind).up(inputs[kind]), ServiceError);
        lose(kind, { work: true, answer: "reset" });
        const stack = stackOf(kind);
        await stack.up(inputs[kind]);
        assert.deepEqual(ids(kind), [stack.id]);
      });
    });
  }

  it("C36 with another key of the account does not take what was answered", async () => {
    const key = emulator.addKey();
    const asOther = async <T>(work: () => Promise<T>): Promise<T> => {
      const undo = setEnv({ TLSEDGE_API_KEY: key });
      return work().finally(undo);
    };
    // Its mark is older than what the first key creates.
    await asOther(() => stackOf("tlsEdge").up({ metadata: "any" }));
    await stackOf("tlsEdge").up(inputs.tlsEdge);
    lose("tlsEdge", { work: false, answer: "reset" });
    await asOther(() => failureOf(stackOf("tlsEdge").up(inputs.tlsEdge), Error));
    assert.equal(ids("tlsEdge").length, 2);
  });

  it("C33: a list that others have read is read again when it does not go back far enough", async () => {
    const [old, young] = [await make("tlsEdge", "a"), await make("tlsEdge", "b")];
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
    emulator.requests.length = 0;
    assert.deepEqual(await lengths(young, young), [1, 1]);
    assert.deepEqual(await lengths(young, old, undefined), [1, 2, 2]);
    assert.equal(heard().length, 2);
    emulator.faults.add({ answer: { status: 400 } });
    mock.timers.tick(1);
    const failing = Array.from({ length: 3 }, () => objects.list(began + 1));
    await Promise.all(failing.map((list) => failureOf(list, ServiceError)));
    assert.equal(heard().length, 3, "those who wait for a read share its failure");
    assert.equal((await objects.list(began + 1)).items.length, 2);
  });

  describe("in a run after one that was cut off", () => {
    /** An update that is cut off in its POST: nobody has the object. */
    async function cutOff(kind: Kind = "tlsEdge"): Promise<string> {
      const id = await make(kind);
      run = beginRun();
      return id;
    }
    const taking = <T>(work: () => Promise<T>) => {
      const undo = setEnv({ TLSEDGE_TAKE_EQUAL: "1" });
      return work().finally(undo);
    };

    for (const kind of ["tlsEdge", "tlsCertificate"] as const)
      it(`C84 an equal ${kind} that no resource has is taken with takeEqual alone`, async () => {
        const orphan = await cutOff(kind);
        const stack = stackOf(kind);
        await taking(() => stack.up(inputs[kind]));
        assert.deepEqual([stack.id, posts()], [orphan, 0]);
        assert.ok(warnings().some((text) => text.includes(orphan)));
        assert.equal(await stack.refresh(), "same");
        const other = stackOf(kind);
        await other.up(inputs[kind]);
        assert.deepEqual(ids(kind), [other.id, orphan]);
      });

    it("C84: what was taken is not adopted by another resource", async () => {
      const orphan = await cutOff();
      await taking(() => stackOf("tlsEdge").up(inputs.tlsEdge));
      const adopting = stackOf("tlsEdge").up({ ...inputs.tlsEdge, __import: orphan });
      await failureOf(adopting, PlanFailure);
    });

    it("C84 takeEqual creates where two are equal, one differs, or a resource has it", async () => {
      const [one, two] = [await make("tlsEdge"), await cutOff()];
      const differs = await make("tlsEdge", "differs");
      const owner = Object.assign(stackOf("tlsEdge"), { id: differs, state: { uri: "x" } });
      await owner.refresh();
      await taking(async () => {
        const made = stackOf("tlsEdge");
        await made.up(inputs.tlsEdge);
        await stackOf("tlsEdge").up({ ...inputs.tlsEdge, metadata: "more" });
        await stackOf("tlsEdge").up({ ...inputs.tlsEdge, description: "differs" });
        assert.ok(![one, two].includes(made.id));
      });
      assert.equal(posts(), 3);
    });

    it("C84 equal resources take one object at most", async () => {
      const orphan = await cutOff();
      const all = [stackOf("tlsEdge"), stackOf("tlsEdge")];
      await taking(() => Promise.all(all.map((stack) => stack.up(inputs.tlsEdge))));
      assert.deepEqual(all.map(({ id }) => id).sort(), ids("tlsEdge").sort());
      assert.ok(ids("tlsEdge").includes(orphan));
      assert.equal(posts(), 1);
    });

    it("C84 C36 what was taken is not deleted in this update, and has no second owner", async () => {
      const orphan = await cutOff();
      const old = Object.assign(stackOf("tlsEdge"), { id: orphan, state: { uri: "x" } });
      await taking(async () => {
        await stackOf("tlsEdge").up(inputs.tlsEdge);
        const { message } = await failureOf(old.diff(inputs.tlsEdge as Properties), Error);
        assert.match(message, /another resource of this update has taken/);
        await old.destroy();
      });
      assert.deepEqual(ids("tlsEdge"), [orphan]);
      assert.ok(warnings().some((text) => text.includes(`${orphan} stays on the service`)));
    });
  });

  for (const what of ["408", "504", "524", "no answer in time"]) {
    it(`C33 with ${what} is looked for as long as the deadline allows`, async () => {
      const isSilent = !Number(what);
      lose("tlsEdge", { answer: isSilent ? "silence" : { status: Number(what) }, work: "cleared" });
      const stack = stackOf("tlsEdge");
      const up = () => stack.up(inputs.tlsEdge);
      // After the mark and five looks.
      holdGet(6);
      const created = isSilent ? withTimeout(up) : up();
      await struck();
      emulator.faults.clear();
      await created;
      assert.deepEqual(ids("tlsEdge"), [stack.id]);
      assert.equal(posts(), 1);
    });
  }

  it("C33 what another machine makes half a minute after the mark is not taken", async () => {
    await stackOf("tlsEdge").up({ description: "marked" });
    const other = await make("tlsEdge");
    mock.timers.tick(31_000);
    lose("tlsEdge", { work: false, answer: "reset" });
    const { message } = await failureOf(stackOf("tlsEdge").up(inputs.tlsEdge), Error);
    assert.ok(!message.includes(other), message);
  });

  it("C33 is named, not taken, when the mark was too old at the POST", async () => {
    emulator.faults.add({ method: "GET", answer: "held" });
    const created = failureOf(stackOf("tlsEdge").up(inputs.tlsEdge), Error);
    await until(() => emulator.faults.list()[0]?.struck === 1);
    mock.timers.tick(91_000);
    emulator.faults.clear();
    lose("tlsEdge", { work: true, answer: "reset" });
    const { message } = await created;
    assert.ok(message.includes(ids("tlsEdge")[0] as string), message);
  });

  it("C33 the page of the plan's question is no mark when it is old", async () => {
    await run.account().objects(edgeKind).newestPage();
    const other = await make("tlsEdge");
    mock.timers.tick(31_000);
    lose("tlsEdge", { work: false, answer: "reset" });
    const stack = stackOf("tlsEdge");
    await failureOf(stack.up(inputs.tlsEdge), Error);
    assert.deepEqual([stack.id, ids("tlsEdge")], ["", [other]]);
  });

  for (const what of ["drops", "adds"])
    it(`C33 a certificate is found of whose chain the service ${what} the root`, async () => {
      const issuer = await makeCertificate({ commonName: "root", isCa: true });
      const leaf = await makeCertificate({ commonName: "b", issuer });
      const chains = [leaf.certificatePem, leaf.certificatePem + issuer.certificatePem];
      const [answered, certificatePem] = what === "drops" ? chains : chains.reverse();
      lose("tlsCertificate", { answer: { status: 504 }, work: "cleared" });
      const stack = stackOf("tlsCertificate");
      const created = stack.up({ certificatePem, privateKeyPem: leaf.privateKeyPem });
      await until504();
      emulator.faults.clear();
      await until(() => ids("tlsCertificate").length === 1);
      const [made = ""] = ids("tlsCertificate");
      emulator.tlsCertificates.patch(made, { certificate_pem: answered as string });
      await created;
      assert.equal(stack.id, made);
    });

  it("C33 is found behind a certificate that can't be parsed", async () => {
    lose("tlsCertificate", { work: true, answer: { status: 502 } });
    holdGet(1);
    const stack = stackOf("tlsCertificate");
    const created = stack.up(inputs.tlsCertificate);
    await struck();
    const broken = await make("tlsCertificate", "broken");
    emulator.tlsCertificates.patch(broken, { certificate_pem: "not PEM" });
    emulator.faults.clear();
    await created;
    assert.ok(stack.id && stack.id !== broken);
  });

  describe("at a service that", () => {
    const hostports = ["late.example.com:443"];
    const edge = (id: string, more: object = {}) => ({
      ...{ id, uri: "x", hostports, ...more },
      created_at: new Date().toISOString(),
    });
    const list = (...tls_edges: object[]) => answer(200, { tls_edges });
    /** A page of the list that says that another one follows: what comes after this edge. */
    const page = (before: string, ...tls_edges: object[]) =>
      answer(200, { tls_edges, next_page_uri: `/edges/tls?limit=100&before_id=${before}` });

    const upWith = (args: Properties, ...answers: Answer[]) =>
      atScript(answers, async (requests) => {
        const stack = stackOf("tlsEdge");
        const message = await stack.up(args).then(
          () => "",
          (error: Error) => error.message,
        );
        return { id: stack.id, message, requests };
      });

    it("C33 lists it in the last look only: one more look shows whether it is alone", async () => {
      const [late, one, two] = ["late", "one", "two"].map((name) => edge(`edgtls_${name}`));
      const looks = Array(4).fill(list());
      const looksAlone = [...looks, list(late as object), list(late as object)];
      const alone = await upWith({ hostports }, list(), reset, ...looksAlone);
      assert.deepEqual([alone.id, alone.message], [late?.id, ""]);
      const looksOfTwo = [...looks, list(one as object), list(two as object, one as object)];
      const { id, message } = await upWith({ hostports }, list(), reset, ...looksOfTwo);
      assert.equal(id, "");
      assert.match(message, /edgtls_two, edgtls_one/);
    });

    for (const [what, isLost] of [
      ["was answered", false],
      ["was taken", true],
    ] as const) {
      it(`C33 has lost what was marked: what ${what} before is a mark, too`, async () => {
        const [old, other] = [edge("edgtls_old"), edge("edgtls_other", { hostports: [] })];
        const made = edge("edgtls_made");
        const first = isLost ? [reset, ...Array(3).fill(list(other, old))] : [answer(201, other)];
        const looks = Array(3).fill(list(made, other));
        await atScript([page(old.id, old), ...first, reset, ...looks], async () => {
          await stackOf("tlsEdge").up({});
          const stack = stackOf("tlsEdge");
          await stack.up({ hostports });
          assert.equal(stack.id, made.id);
        });
      });
    }

    it("C33 has many objects: a look ends at a marked one", async () => {
      const [made, old] = [edge("edgtls_made"), edge("edgtls_old", { hostports: [] })];
      const looks = Array(3).fill(page(old.id, made, old, edge("edgtls_older")));
      const { id, requests } = await upWith({ hostports }, page(old.id, old), reset, ...looks);
      assert.equal(id, made.id);
      assert.ok(requests.every(({ path }) => !path.includes("before_id")));
    });

    it("C36 is slow does not hold up an equal create at another", async () => {
      const made = answer(201, edge("edgtls_same"));
      let release = () => {};
      const slow = await script(list(), (response, request) => {
        release = () => made(response, request);
      });
      const at = ({ url, caFile }: Script) =>
        setEnv({ TLSEDGE_BASE_URL: url, TLSEDGE_CA_FILE: caFile });
      const undo = at(slow);
      try {
        const [first, second] = [stackOf("tlsEdge"), stackOf("tlsEdge")];
        const waiting = first.up({ hostports });
        await until(() => slow.requests.length === 2);
        const other = await script(list(), made);
        const undoOther = at(other);
        // An id of another base URL may be another object.
        await second.up({ hostports }).finally(() => {
          undoOther();
          return other.close();
        });
        release();
        await waiting;
        assert.deepEqual([first.id, second.id], ["edgtls_same", "edgtls_same"]);
      } finally {
        undo();
        await slow.close();
      }
    });

    it("C33 fills in what the program leaves open: the object is taken", async () => {
      const made = edge("edgtls_filled", {
        tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.2" },
      });
      const args = { hostports: ["Late.example.com:443"], tlsTermination: {} };
      const { id } = await upWith(args, list(), reset, list(made), list(made), list(made));
      assert.equal(id, made.id);
    });

    const [made, other] = [edge("edgtls_made"), edge("edgtls_other")];
    const [old, older] = ["old", "older"].map((name) => edge(`edgtls_${name}`, { hostports: [] }));
    const marked = [old, older] as object[];
    const differs = edge("edgtls_made", { backend: { enabled: true, backend: null } });
    const often = (...looks: Answer[]): Answer[] => Array(6).fill(looks).flat();
    /** What the list has before the POST, and in the looks after it; which are named: else `made` is taken. */
    const looked: [what: string, mark: Answer, looks: Answer[], named: string[]][] = [
      [
        "lists others for a while: two that were alone in turn are named, none is taken",
        list(),
        [list(made), list(other), list(made), ...often(list(other, made))],
        [made.id, other.id],
      ],
      [
        "ends with an empty page: what is not marked is named, not taken",
        list(),
        often(page("edgtls_gone", made), list()),
        [made.id],
      ],
      ["lists late by one read: the object is taken", list(), [list(), ...often(list(made))], []],
      [
        "shows one that differs in a module: it is named, not taken",
        list(),
        often(list(differs)),
        [made.id],
      ],
      [
        "lists it between marked ones: it is named, not taken",
        page("edgtls_older", ...marked),
        often(list(old as object, made, older as object)),
        [made.id],
      ],
      [
        "lists no marked one any more: the object is named, not taken",
        page("edgtls_old", old as object),
        often(list(made)),
        [made.id],
      ],
      [
        "lists it behind older ones of the same second: the object is taken",
        list(old as object),
        often(list(old as object, made)),
        [],
      ],
    ];
    for (const [what, mark, looks, named] of looked) {
      it(`C33 ${what}`, async () => {
        const { id, message } = await upWith({ hostports }, mark, reset, ...looks);
        assert.equal(id, named.length > 0 ? "" : made.id, message);
        for (const one of named) assert.ok(message.includes(one), message);
      });
    }

    it("C33 refuses a page after a deleted id: the look begins again", async () => {
      const [made, old] = [edge("edgtls_behind"), edge("edgtls_old", { hostports: [] })];
      const other = edge("edgtls_other", { hostports: ["other.example.com:443"] });
      const whole = [page(other.id, other), list(made, old)];
      const { id } = await upWith(
        { hostports },
        list(old),
        reset,
        ...[page(other.id, other), answer(404, { msg: "no such id" })],
        ...[...whole, ...whole, ...whole],
      );
      assert.equal(id, made.id);
    });

    it("C36 answers with an id that another resource has: the create fails and names it", async () => {
      const made = answer(201, edge("edgtls_same"));
      await atScript([list(), made, made], async () => {
        await stackOf("tlsEdge").up({ hostports });
        const { message } = await failureOf(stackOf("tlsEdge").up({ hostports: [] }), Error);
        assert.ok(message.includes("edgtls_same"), message);
      });
    });

    it("C33 never ends: a look reads ten pages", async () => {
      let number = 0;
      const endless: Answer = (response, request) => {
        number += 1;
        page(`${number}`, edge(`edgtls_${number}`))(response, request);
      };
      const all = Array.from({ length: 100 }, () => endless);
      const { message, requests } = await upWith({ hostports }, list(edge("m")), reset, ...all);
      assert.match(message, /edgtls_\d/);
      assert.equal(requests.filter(({ method }) => method === "POST").length, 1);
      assert.ok(requests.length <= 2 + 10 * 7, `${requests.length} requests`);
    });
  });
});
