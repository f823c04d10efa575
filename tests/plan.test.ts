import assert from "node:assert/strict";
import { mock } from "node:test";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, startEmulator } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { beginRun, finishRun } from "../provider/process";
import {
  answer,
  atScript,
  clientOf,
  failureOf,
  later,
  PlanFailure,
  type Properties,
  Stack,
  setEnv,
  setEnvFor,
  takeRequests,
  unknown,
  upload,
  planWarnings as warnings,
} from "./support";

describe("what a plan asks", () => {
  let emulator: Emulator;
  let restore: () => void;

  beforeEach(async () => {
    beginRun();
    emulator = await startEmulator();
    const undo = [setEnvFor(emulator), setEnv({ TLSEDGE_OFFLINE_PLAN: undefined })];
    restore = () => undo.reverse().forEach((one) => void one());
  });
  afterEach(() => {
    restore();
    return emulator.close();
  });

  /** What other stacks have. */
  const stranger = () => clientOf(emulator);
  const others = async (...all: object[]): Promise<string[]> => {
    const ids: string[] = [];
    for (const one of all) ids.push((await tlsEdges.create(stranger(), one)).id);
    emulator.requests.length = 0;
    return ids;
  };
  const preview = (args: Properties) => new Stack(tlsEdge).preview(args);
  const plan = () => new Stack(tlsEdge).preview({ description: "a" });

  /** A stack with an edge; the next call begins another run. */
  async function deployed(): Promise<Stack> {
    const stack = new Stack(tlsEdge);
    await stack.up({ description: "a" });
    beginRun();
    emulator.requests.splice(0);
    return stack;
  }

  it("C19 is answered once for all that wait", async () => {
    await Promise.all([plan(), plan(), plan()]);
    assert.equal(emulator.requests.length, 1);
  });

  it("C19 is asked before an update; C25 not when a policy undoes the change", async () => {
    const stack = await deployed();
    // The check has the program's inputs, the diff has those that a policy has put right.
    await stack.check({ description: "b" });
    assert.equal((await stack.diff(stack.inputs)).verdict, "same");
    assert.deepEqual(emulator.requests, []);
    await stack.preview({ description: "a" });
    assert.deepEqual(emulator.requests, [], "nothing changes");
    await stack.preview({ description: "b" });
    assert.equal(emulator.requests.length, 1);
  });

  it("C25 is not asked when the service has rewritten what was sent; C19 it is before a change", async () => {
    const args = {
      description: " a ",
      metadata: '{ "b": 1, "a": 2 }',
      tlsTermination: { minVersion: "1.3" },
    };
    const stack = new Stack(tlsEdge);
    const fields = { description: "a", metadata: '{"a":2,"b":1}' };
    emulator.faults.add({ method: "POST", answer: { fields } });
    await stack.up(args);
    // The engine gives no order of properties.
    const inputs = JSON.parse(JSON.stringify(stack.inputs));
    stack.inputs = Object.fromEntries(Object.entries(inputs).reverse());
    stack.inputs.tlsTermination = { minVersion: "1.3", enabled: true };
    beginRun();
    takeRequests(emulator);
    emulator.tlsEdges.patch(stack.id, fields);
    assert.equal(await stack.up(args), "same");
    assert.deepEqual(takeRequests(emulator), []);
    assert.equal(await stack.refresh(), "same");
    takeRequests(emulator);
    assert.equal((await stack.preview({ ...args, description: "b" })).verdict, "update");
    assert.deepEqual(takeRequests(emulator), [{ method: "GET", body: undefined }]);
  });

  it("C19 is not asked for the diff of a refresh", async () => {
    const stack = await deployed();
    await stack.diff({ ...stack.inputs, description: "b" });
    assert.deepEqual(emulator.requests, []);
  });

  it("C19 is not asked for a mistake, nor for the plan of an adoption", async () => {
    await failureOf(new Stack(tlsEdge).preview({ descripton: "a" }), PlanFailure);
    assert.deepEqual(emulator.requests, []);
  });

  const strangers: [string, ReturnType<typeof answer>, RegExp][] = [
    ["a refused key", answer(401, { msg: "no" }), /API key/],
    ["a path that is not there", answer(404, "<html>"), /base URL/],
    ["a page of a proxy", answer(200, "<html>"), /proxy/],
    ["a service that is not this API", answer(200, { items: [] }), /tls_edges.*missing.*base URL/],
  ];
  for (const [what, wrong, text] of strangers) {
    it(`C19 ${what} fails it`, async () => {
      const failure = await atScript([wrong], () => failureOf(plan(), PlanFailure));
      assert.match(failure.message, text);
    });
  }

  it("C19 an address where nothing answers fails it", async () => {
    const undo = setEnv({ TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_MAX_RETRIES: "0" });
    try {
      assert.match((await failureOf(plan(), PlanFailure)).message, /base URL/);
    } finally {
      undo();
    }
  });

  it("C19 an object of somebody else that can't be used is no reason to fail", async () => {
    const unusable = { tls_edges: [{ id: "edgtls_x", hostports: [7] }] };
    await atScript([answer(200, unusable)], async () => {
      assert.equal((await plan()).verdict, "create");
    });
  });

  it("C19 is told once when it fails", async () => {
    const undo = setEnv({ TLSEDGE_API_KEY: "wrong" });
    try {
      const all = await Promise.all([1, 2, 3].map(() => failureOf(plan(), PlanFailure)));
      const told = all.filter(({ message }) => message.includes("API key"));
      assert.equal(told.length, 1);
      assert.equal(emulator.requests.length, 1);
    } finally {
      undo();
    }
  });

  it("C5 C19 judges each account by its own list", async () => {
    const staging = await startEmulator();
    const undo = [setEnvFor(staging, "TLSEDGE_STAGING")];
    undo.push(setEnv({ TLSEDGE_STAGING_OFFLINE_PLAN: undefined }));
    const told = mock.method(console, "error", () => {});
    try {
      await tlsEdges.create(stranger(), { description: "twin", hostports: ["taken:443"] });
      const args = { description: "twin", hostports: ["taken:443"] };
      await plan();
      await new Stack(tlsEdge).preview({ ...args, connection: "tlsedge-staging" });
      await finishRun();
      assert.deepEqual(
        told.mock.calls.map((call) => `${call.arguments}`).filter((text) => /warning/.test(text)),
        [],
      );
    } finally {
      told.mock.restore();
      undo.reverse().forEach((one) => void one());
      await staging.close();
    }
  });

  it("says once which service it uses, where no state shows it", async () => {
    const said = async () => {
      const told = mock.method(console, "error", () => {});
      await finishRun();
      told.mock.restore();
      const lines = told.mock.calls.map((call) => String(call.arguments));
      return lines.filter((line) => line.includes(`the service is ${new URL(emulator.url).host}`));
    };
    await plan();
    await plan();
    assert.equal((await said()).length, 1);
    assert.deepEqual(await said(), []);
    const stack = await deployed();
    await stack.preview({ description: "b" });
    await plan();
    assert.deepEqual(await said(), []);
  });

  it("C23 warns of a change once, and not in the diff of a refresh", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up({ backend: { backendId: "b" } });
    beginRun();
    const told = mock.method(console, "error", () => {});
    await stack.diff({ onModuleRemoval: "disable" });
    assert.equal(told.mock.callCount(), 0);
    for (const _ of [1, 2]) await stack.preview({});
    told.mock.restore();
    const [[line] = [], ...more] = told.mock.calls.map((call) => call.arguments);
    assert.match(
      String(line),
      new RegExp(`^warning: the TLS edge ${stack.id}: without its backend`),
    );
    assert.deepEqual(more, []);
  });

  it("C19 is not asked with offlinePlan", async () => {
    const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: "true" });
    await plan();
    undo();
    assert.deepEqual(emulator.requests, []);
  });

  it("C19 names the holder of a hostport by id and time, as far as it is known", async () => {
    const hostports = ["Taken:443"];
    const [holder = ""] = await others(
      { description: "hidden", hostports },
      { hostports: ["x:1"] },
    );
    await preview({ hostports: ["taken:443", unknown] });
    await preview({ hostports: unknown });
    const { created_at } = emulator.tlsEdges.get(holder) ?? {};
    const [warning = "", ...more] = await warnings();
    const time = new Date(String(created_at)).toISOString();
    assert.ok(
      warning.includes(`taken:443 is served by ${holder} (created ${time}), which`),
      warning,
    );
    assert.ok(!warning.includes("hidden"), warning);
    assert.deepEqual(more, []);
    assert.deepEqual(await warnings(), [], "told twice");
  });

  it("C10 C19 names no secret hostport", async () => {
    await others({ description: "other", hostports: ["taken:443"] });
    await preview({ hostports: ["taken:443"], __secrets: ["hostports"] });
    const [warning = ""] = await warnings();
    assert.match(warning, /\[secret\] is served by/);
    assert.ok(!warning.includes("taken"), warning);
  });

  it("C19 names an equal edge that serves the hostports once", async () => {
    const args = { hostports: ["taken:443"], description: "equal" };
    const [equal = ""] = await others(args);
    await preview(args);
    const [warning = "", ...more] = await warnings();
    assert.ok(warning.includes(equal) && warning.includes("aliases"), warning);
    assert.deepEqual(more, []);
  });

  it("C19 names what is equal to a new resource, by meaning, and five of them", async () => {
    const twin = { description: "twin", hostports: [] };
    const termination = { enabled: true, terminate_at: "edge" } as const;
    const twins = await others(...Array.from({ length: 6 }, () => twin));
    const unlike = await others(
      { ...twin, tls_termination: termination },
      { description: "other" },
    );
    await preview({ description: "twin" });
    const [warning = "", ...more] = await warnings();
    const [oldest = "", ...named] = twins;
    assert.ok(
      named.every((id) => warning.includes(id)),
      warning,
    );
    assert.ok(![oldest, ...unlike].some((id) => warning.includes(id)), warning);
    assert.match(warning, /and 1 more/);
    assert.deepEqual(more, []);
  });

  it("C19 names nothing that a resource of the run has, is not new, or is not known", async () => {
    await others({ description: "b" }, { description: "known" });
    const stack = new Stack(tlsEdge);
    await stack.up({ description: "a", hostports: ["moving:443"] });
    beginRun();
    await stack.preview({ description: "b", hostports: [] });
    await preview({ hostports: ["moving:443"] });
    await preview({ description: "known", hostports: unknown });
    await preview({ description: "a", hostports: ["moving:443"] });
    assert.deepEqual(await warnings(), []);
  });

  it("C19 tells an edge from a certificate", async () => {
    const made = await upload(stranger(), { commonName: "a.example" });
    const { certificate_pem: certificatePem, private_key_pem: privateKeyPem } = made;
    await preview({ hostports: ["a:443"] });
    await new Stack(tlsCertificate).preview({ certificatePem, privateKeyPem });
    const [warning = "", ...more] = await warnings();
    assert.match(warning, /TLS certificate/);
    assert.ok(warning.includes(made.id), warning);
    assert.deepEqual(more, []);
  });

  it("C19 C84 an update warns, too, and not of what it has created or taken", async () => {
    const [orphan = ""] = await others({ description: "equal" });
    await new Stack(tlsEdge).up({ description: "equal" });
    const [warning = "", ...more] = await warnings();
    assert.ok(warning.includes(orphan) && warning.includes("TLSEDGE_TAKE_EQUAL=1"), warning);
    assert.deepEqual(more, []);
  });

  it("C19 names an edge of the state that is gone, where a page shows the whole list", async () => {
    const [gone, kept] = [new Stack(tlsEdge), new Stack(tlsEdge)];
    await gone.up({ description: "gone" });
    await kept.up({ description: "kept" });
    emulator.tlsEdges.delete(gone.id);
    const young = new Stack(tlsEdge);
    await later(emulator);
    emulator.clocks.createdAt = emulator.clocks.date;
    await young.up({ description: "young" });
    beginRun();
    emulator.tlsEdges.delete(young.id);
    for (const stack of [gone, kept, young]) await stack.preview(stack.inputs);
    await plan();
    const [warning = "", ...more] = await warnings();
    assert.ok(warning.includes(gone.id) && warning.includes("pulumi refresh"), warning);
    for (const { id } of [kept, young]) assert.ok(!warning.includes(id), warning);
    assert.deepEqual(more, []);
  });

  it("C19: does not call an edge gone that a later page may have", async () => {
    const old = new Stack(tlsEdge);
    await old.up({ description: "old" });
    await others(...Array.from({ length: 100 }, () => ({})));
    await later(emulator);
    beginRun();
    await old.preview({ description: "new" });
    assert.deepEqual(await warnings(), []);
  });

  it("C19: a refused key is one request, for all resources of a run", async () => {
    emulator.faults.add({ answer: { status: 401 }, times: 9 });
    for (let n = 0; n < 3; n++) await failureOf(plan(), PlanFailure);
    assert.equal(emulator.requests.length, 1);
  });

  it("C23: warns of what an edge loses, also when its arguments are now those of another", async () => {
    const [plain, guarded] = [new Stack(tlsEdge), new Stack(tlsEdge)];
    const ipRestriction = { ipPolicyIds: ["ipp_1"] };
    await plain.up({ description: "d" });
    await guarded.up({ description: "d", ipRestriction });
    beginRun();
    await plain.preview({ description: "d" });
    const shown = await warnings(() => guarded.preview({ description: "d" }).then(() => {}));
    assert.ok(
      shown.some((text) => text.includes("ipRestriction")),
      shown.join(),
    );
  });
});
