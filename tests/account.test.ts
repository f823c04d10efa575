import assert from "node:assert/strict";
import { type Account, makeCertificate } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import { findAll, findOne } from "../provider/kinds/lookup";
import { lookup } from "../provider/kinds/tlsEdge";
import { connect } from "../provider/run/connection";
import {
  answer,
  atScript,
  deployed,
  later,
  messageOf,
  type Properties,
  Stack,
  setEnv,
  takeMethods,
  takeRequests,
  until,
  useEmulator,
} from "./support";

/** The state's tag of the account: what it keeps from being dropped, deleted or created elsewhere. */
describe("the account that the state was made with", () => {
  const emulator = useEmulator();
  let certificate: { certificatePem: string; privateKeyPem: string };
  before(async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    certificate = { certificatePem, privateKeyPem };
  });

  const methods = () => takeMethods(emulator);
  const asking = () => void setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
  /** Another key of the same account, from now on. */
  const rotate = () => void setEnv({ TLSEDGE_API_KEY: emulator.addKey() });
  /** The key of another account, from now on. */
  const useOther = (): Account => {
    const other = emulator.addAccount();
    setEnv({ TLSEDGE_API_KEY: other.apiKey });
    return other;
  };
  const create = (description: string) => deployed(tlsEdge, { description });
  /** Edges of the state, with their places as descriptions. */
  async function edges(count: number) {
    const all: Stack[] = [];
    while (all.length < count) all.push(await create(`${all.length}`));
    return all as [Stack, Stack, Stack, Stack, ...Stack[]];
  }
  const remove = (...all: Stack[]) => {
    void later(emulator);
    for (const { id } of all) emulator.tlsEdges.delete(id);
  };
  const refresh = (...all: Stack[]) => Promise.all(all.map((stack) => stack.refresh()));
  const change = (stack: Stack) => stack.up({ description: "changed" });

  it("C7: with a key of another account nothing is dropped, deleted or created, and one error explains it", async () => {
    const all = await edges(10);
    const states = all.map(({ state }) => state);
    const other = useOther();
    const texts = await Promise.all(all.map((stack) => messageOf(stack.refresh())));
    const [explained = "", ...more] = texts.filter((text) => text.includes("SAME_ACCOUNT"));
    assert.deepEqual(more, []);
    const ways = ["TLSEDGE_BASE_URL", "TLSEDGE_API_KEY", "TLSEDGE_SAME_ACCOUNT=1"];
    for (const part of ["deleted", "another account", emulator.url, ...ways]) {
      assert.ok(explained.includes(part), explained);
    }
    for (const [place, text] of texts.entries()) {
      assert.ok(text.includes(all[place]?.id ?? "?"), text);
      assert.ok(text === explained || text.length < 170, text);
    }
    assert.match(await messageOf(change(all[0])), /not found: see the first/);
    await messageOf(all[1].leave());
    assert.match(await messageOf(create("new")), /no write is sent/);
    assert.deepEqual(
      all.map(({ state }) => state),
      states,
    );
    assert.equal(emulator.tlsEdges.list().length, 10);
    assert.deepEqual(other.tlsEdges.list(), []);
  });

  it("C7 C50: no key is sent to another account: by a renewed chain, or a new one beside an edge", async () => {
    for (const isOffline of [false, true]) {
      setEnv({ TLSEDGE_OFFLINE_PLAN: isOffline ? "true" : undefined });
      setEnv({ TLSEDGE_API_KEY: emulator.apiKey });
      beginRun();
      const edge = await create("a");
      const old = await deployed(tlsCertificate, certificate);
      const renewed = (await makeCertificate({ commonName: "a.example" })) as object as Properties;
      const { keyType: _, ...args } = renewed;
      const other = useOther();
      beginRun();
      const plan = () => new Stack(tlsCertificate).preview(args);
      assert.equal((await edge.preview({ description: "a" })).verdict, "same");
      if (!isOffline) {
        assert.match(await messageOf(plan()), /no write is sent/);
        assert.match(await messageOf(old.preview(args)), /was not found/);
        beginRun();
        await plan();
        const late = edge.preview({ description: "a" });
        assert.match(await messageOf(late), /or the present/, "looked at after the certificate");
      }
      methods();
      const { create: send } = tlsCertificate;
      assert.match(await messageOf(send(args) as Promise<unknown>), /no write is sent/);
      assert.ok(!methods().includes("POST"));
      assert.deepEqual(other.tlsCertificates.list(), []);
    }
  });

  it("C7: a replacement in another account keeps the old object from its delete", async () => {
    const own = emulator.addKey();
    setEnv({ TLSEDGE_API_KEY: own });
    const old = await deployed(tlsCertificate, certificate);
    beginRun();
    // A taint shows a provider no state: so nothing stops this create.
    useOther();
    const replacement = await deployed(tlsCertificate, certificate);
    setEnv({ TLSEDGE_API_KEY: own });
    beginRun();
    methods();
    assert.equal((await replacement.preview(certificate)).verdict, "same");
    assert.deepEqual(methods(), []);
    const message = await messageOf(old.leave());
    assert.match(message, new RegExp(`no write is sent.*${replacement.id}`));
    assert.ok(!methods().includes("DELETE"));
    setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
    await old.leave();
  });

  it("C7 C25: with a new key, a plan without a change makes no request before a write", async () => {
    asking();
    const [gone, there] = await edges(2);
    remove(gone);
    rotate();
    methods();
    for (const [place, stack] of [gone, there].entries()) {
      assert.equal((await stack.preview({ description: `${place}` })).verdict, "same");
    }
    assert.deepEqual(methods(), []);
    // The first object is the witness that is asked for: with a change, the second one shows the account.
    await change(there);
    await create("new");
    assert.equal(methods().filter((method) => method === "POST").length, 1);
    // With a key of another account, nothing is written, and from then on nothing is unchanged.
    beginRun();
    useOther();
    assert.equal((await gone.preview({ description: "0" })).verdict, "same");
    assert.match(await messageOf(create("new")), /no write is sent/);
    assert.match(await messageOf(gone.preview({ description: "0" })), /was not found/);
  });

  it("C7 C30: with a new key, a plan that changes many objects reads them from pages", async () => {
    asking();
    const all = await edges(20);
    beginRun();
    rotate();
    takeRequests(emulator);
    await Promise.all(all.map((stack) => stack.preview({ description: `new ${stack.id}` })));
    assert.ok(methods().length <= 5);
  });

  it("C7: an error says why the account of a key is not known when the service can't be asked", async () => {
    const [edge] = await edges(1);
    rotate();
    await edge.preview({ description: "0" });
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    // Two creates wait for one answer.
    const texts = await Promise.all(
      ["x", "y"].map((description) => messageOf(create(description))),
    );
    for (const text of texts) assert.match(text, /failed with status 403/);
    await create("new");
  });

  it("C31: a refresh while the service is down names the cause once, and drops nothing", async () => {
    setEnv({ TLSEDGE_MAX_RETRIES: "0" });
    const all = await edges(4);
    for (const [n, answer] of (["reset", { status: 503 }, "reset"] as const).entries()) {
      emulator.faults.add({ method: "GET", answer, times: 100 });
      // After a success, the object that named the same cause before need not be read again.
      const texts = await Promise.all(all.slice(n).map((stack) => messageOf(stack.refresh())));
      const [cause, ...others] = texts.filter((text) => !/see the error of the TLS/.test(text));
      assert.match(String(cause), /^GET \/edges\/tls/);
      assert.deepEqual(others, []);
      emulator.faults.clear();
      await refresh(...all);
    }
  });

  it("C7: creates, imports, lookups and lists in the other account are no proof that it is the same one", async () => {
    const [stack] = await edges(1);
    const other = useOther();
    const [there, loose] = await edges(2);
    await there.refresh();
    await change(there);
    await findOne(lookup)(() => connect("tlsedge"), { id: there.id });
    await findAll(lookup)(() => connect("tlsedge"), {});
    const adopted = await deployed(tlsEdge, { __import: loose.id, description: "1" });
    await adopted.get(there.id);
    await messageOf(stack.refresh());
    assert.equal(other.tlsEdges.list().length, 2);
  });

  it("C7: with a new key or base URL, an object that is found proves the account: others are gone", async () => {
    const gateway = { TLSEDGE_BASE_URL: emulator.url.replace("localhost", "127.0.0.1") };
    for (const renew of [rotate, () => setEnv(gateway)]) {
      const [a, b, c, d] = await edges(4);
      remove(a, b, d);
      const { accountTag } = c.state;
      renew();
      assert.deepEqual(await refresh(a, b, c), ["gone", "gone", "same"]);
      assert.notEqual(c.state.accountTag, accountTag);
      // Its witness was read before, and stays one.
      await d.leave();
      assert.equal(await change(c), "update");
    }
  });

  it("C7: a missing object is judged after the reads in flight, which may prove the account", async () => {
    const [planned, gone, there] = await edges(3);
    remove(planned, gone);
    rotate();
    // It would be asked for, and is gone, too.
    await planned.preview({ description: "changed" });
    methods();
    emulator.faults.add({ method: "GET", path: `/edges/tls/${there.id}`, answer: "held" });
    const [reading, judging] = [there.refresh(), gone.refresh()];
    // Once a page, a read and the list are answered, only the held read is missing.
    await until(() => emulator.requests.filter(({ status }) => status).length >= 3);
    await findAll(lookup)(() => connect("tlsedge"), {});
    emulator.faults.clear();
    assert.deepEqual([await reading, await judging], ["same", "gone"]);
  });

  it("C7: an update and a delete prove the account, too", async () => {
    for (const work of [change, (stack: Stack) => stack.leave()]) {
      const [gone, there] = await edges(2);
      remove(gone);
      rotate();
      await work(there);
      assert.equal(await gone.refresh(), "gone");
    }
  });

  it("C7: for a missing object the run reads one other object of the plan, once", async () => {
    const all = await edges(4);
    void later(emulator);
    rotate();
    for (const stack of all) await stack.preview({ description: "changed" });
    for (const { id } of [all[0], all[3]]) emulator.tlsEdges.delete(id);
    methods();
    assert.match(await messageOf(change(all[0])), /gone from the service/);
    // The object itself, the list, and the witness.
    assert.deepEqual(methods(), ["PATCH", "GET", "GET", "GET"]);
    await all[3].leave();
    assert.deepEqual(methods(), ["DELETE", "GET"]);
  });

  it("C7: the run reads no second one where that is not found either", async () => {
    const all = await edges(3);
    useOther();
    for (const stack of all) await stack.preview({ description: "changed" });
    methods();
    await messageOf(all[0].leave());
    assert.deepEqual(methods(), ["DELETE", "GET", "GET"]);
    await messageOf(all[1].leave());
    assert.deepEqual(methods(), ["DELETE", "GET"]);
  });

  it("C7 C32: with the same key, an object that is not found is gone, with no more requests", async () => {
    const [a, b, c] = await edges(3);
    remove(a, b, c);
    methods();
    assert.equal(await a.refresh(), "gone");
    assert.deepEqual(methods(), ["GET", "GET"]);
    await b.leave();
    assert.deepEqual(methods(), ["DELETE", "GET"]);
    // An object of somebody else that can't be used is in a list that can be read.
    const answer = { fields: { tls_edges: [{ id: 7 }] } };
    emulator.faults.add({ method: "GET", path: "/edges/tls", answer });
    assert.equal(await c.refresh(), "gone");
  });

  it("C7: TLSEDGE_SAME_ACCOUNT=1 lets a refresh drop the only object after a change of the key", async () => {
    const [stack] = await edges(1);
    remove(stack);
    rotate();
    assert.match(await messageOf(stack.refresh()), /TLSEDGE_SAME_ACCOUNT=1/);
    for (const no of ["0", "false"]) {
      setEnv({ TLSEDGE_SAME_ACCOUNT: no });
      await messageOf(stack.refresh());
    }
    beginRun();
    await stack.preview(stack.inputs);
    assert.match(await messageOf(create("new")), /no write is sent/);
    setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
    beginRun();
    await stack.preview(stack.inputs);
    await create("new");
    assert.equal(await stack.refresh(), "gone");
  });

  it("C4 C7 C25: another tag of the account is no change by itself; a refresh or an update stores the present one", async () => {
    const [edge] = await edges(1);
    const chain = await deployed(tlsCertificate, certificate);
    const { accountTag } = edge.state;
    assert.match(String(accountTag), /^[0-9a-f]{16}$/);
    assert.equal(chain.state.accountTag, accountTag);
    for (const offline of ["true", undefined]) {
      setEnv({ TLSEDGE_OFFLINE_PLAN: offline });
      rotate();
      methods();
      assert.equal(await edge.up({ description: "0" }), "same");
      assert.deepEqual(methods(), []);
    }
    await chain.up({ ...certificate, description: "changed" });
    assert.notEqual(chain.state.accountTag, accountTag);
    emulator.tlsCertificates.patch(chain.id, { description: "drifted" });
    assert.equal(await edge.refresh(), "same");
    assert.equal(await chain.refresh(), "drifted");
    assert.equal(chain.state.accountTag, edge.state.accountTag);
    assert.equal("accountTag" in chain.inputs, false);
  });

  it("C7 C31: a 404 with an unusable list beside it does not mean gone", async () => {
    const [stack] = await edges(1);
    for (const body of [{}, "<html>", ""]) {
      const answers = [answer(404, { msg: "no" }), answer(200, body)];
      await atScript([...answers, ...answers], async () => {
        assert.match(await messageOf(stack.refresh()), /can't be read either, so/);
        assert.match(await messageOf(stack.leave()), /can't be read either, so/);
      });
    }
  });
});
