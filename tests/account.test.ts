import assert from "node:assert/strict";
import type { Account } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import { lookups } from "../provider/lifecycle/lookup";
import { Run } from "../provider/run/run";
import {
  deployed,
  later,
  makePair,
  messageOf,
  Stack,
  setEnv,
  takeMethods,
  useEmulator,
} from "./support";

/** The state's tag of the account: what it keeps from being dropped, deleted or created elsewhere. */
describe("the account that the state was made with", () => {
  const emulator = useEmulator();
  let certificate: Awaited<ReturnType<typeof makePair>>;
  before(async () => {
    certificate = await makePair({ commonName: "a.example" });
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
  const change = (stack: Stack) => stack.up({ description: "changed" });

  it("C7: with a key of another account nothing is dropped, deleted or created, and one error explains it", async () => {
    const all = await edges(10);
    const states = all.map(({ state }) => state);
    const other = useOther();
    methods();
    const works = [() => change(all[0]), () => all[1].leave(), () => create("new")];
    const done = [...all.map((stack) => stack.refresh()), ...works.map((work) => work())];
    const texts = await Promise.all(done.map(messageOf));
    const [explained = "", ...more] = texts.filter((text) => text.includes("SAME_ACCOUNT"));
    assert.deepEqual(more, []);
    for (const part of [all[0].id, emulator.url, "TLSEDGE_SAME_ACCOUNT=1"])
      assert.ok(explained.includes(part), explained);
    const short = `nothing is written: see the first error about the TLS edge ${all[0].id}`;
    for (const text of texts) assert.ok([explained, short].includes(text), text);
    assert.deepEqual(
      methods().filter((method) => method !== "GET"),
      [],
    );
    assert.deepEqual(
      all.map(({ state }) => state),
      states,
    );
    assert.deepEqual(other.tlsEdges.list(), []);
  });

  for (const offline of [undefined, "true"]) {
    it(`C7 C50: no private key is sent to another account, offlinePlan ${offline}`, async () => {
      setEnv({ TLSEDGE_OFFLINE_PLAN: offline });
      const edge = await create("a");
      const { inputs } = await new Stack(tlsCertificate).check(certificate);
      const other = useOther();
      const plan = () => new Stack(tlsCertificate).preview(certificate);
      const same = () => edge.preview({ description: "a" });
      for (const [first, second] of [
        [same, plan],
        [plan, same],
      ] as const) {
        beginRun();
        await first();
        if (offline) await second();
        else assert.match(await messageOf(second()), /or the present ones belong to another/);
        const sent = tlsCertificate.create(inputs) as Promise<unknown>;
        assert.match(await messageOf(sent), /SAME_ACCOUNT|nothing is written/);
      }
      assert.deepEqual(other.tlsCertificates.list(), []);
    });
  }

  it("C7: each key of the state is asked for: an object of the wrong one stops the delete of another", async () => {
    const own = emulator.addKey();
    setEnv({ TLSEDGE_API_KEY: own });
    const old = await deployed(tlsCertificate, certificate);
    // A taint shows a provider no state: so nothing stops this create.
    useOther();
    const replacement = await deployed(tlsCertificate, certificate);
    setEnv({ TLSEDGE_API_KEY: emulator.addKey() });
    for (const one of [old, replacement])
      assert.equal((await one.preview(certificate)).verdict, "same");
    assert.match(await messageOf(old.leave()), new RegExp(`${replacement.id} was not found`));
    setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
    await old.leave();
  });

  it("C7 C25: with a new key, a plan without a change makes no request, and changes read one object before them", async () => {
    asking();
    const all = await edges(20);
    rotate();
    methods();
    for (const [n, stack] of all.entries())
      assert.equal((await stack.preview({ description: `${n}` })).verdict, "same");
    assert.deepEqual(methods(), []);
    await Promise.all(all.map((stack) => stack.preview({ description: `new ${stack.id}` })));
    assert.deepEqual(methods(), ["GET", "GET"], "the list, and the first object");
    await change(all[1]);
    await create("new");
    assert.deepEqual(methods(), ["PATCH", "POST"]);
  });

  it("C7: where the service can't be asked, the writes fail with its error, and the next one asks again", async () => {
    const [edge] = await edges(1);
    rotate();
    await edge.preview({ description: "0" });
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    // Two creates wait for one answer.
    const texts = await Promise.all(["x", "y"].map((text) => messageOf(create(text))));
    assert.match(String(texts[0]), /failed with status 403/);
    assert.match(String(texts[1]), /nothing is written: see the first error/);
    await create("new");
  });

  it("C31: a refresh while the service is down names each cause once, and drops nothing", async () => {
    setEnv({ TLSEDGE_MAX_RETRIES: "0" });
    const all = await edges(4);
    for (const answer of ["reset", { status: 503 }] as const) {
      emulator.faults.clear();
      emulator.faults.add({ method: "GET", answer, times: 100 });
      const texts = await Promise.all(all.map((stack) => messageOf(stack.refresh())));
      assert.equal(texts.filter((text) => !/see the first error/.test(text)).length, 1);
    }
  });

  it("C7: creates, imports, lookups and lists in the other account are no proof that it is the same one", async () => {
    const [stack] = await edges(1);
    const other = useOther();
    const [there, loose] = await edges(2);
    await there.refresh();
    await change(there);
    await lookups.getTLSEdge?.(() => new Run().account(), { id: there.id });
    await lookups.getTLSEdges?.(() => new Run().account(), {});
    beginRun();
    const adopted = await deployed(tlsEdge, { __import: loose.id, description: "1" });
    await adopted.get(there.id);
    await messageOf(stack.refresh());
    assert.equal(other.tlsEdges.list().length, 2);
  });

  it("C7: with a new key or base URL, an object that a read finds proves the account: others are gone", async () => {
    const gateway = { TLSEDGE_BASE_URL: emulator.url.replace("localhost", "127.0.0.1") };
    for (const renew of [rotate, () => setEnv(gateway)]) {
      const [a, b, there] = await edges(3);
      remove(a, b);
      const { accountTag } = there.state;
      renew();
      // The first one is asked for.
      assert.match(await messageOf(a.refresh()), /SAME_ACCOUNT/);
      assert.equal(await there.refresh(), "same");
      assert.notEqual(there.state.accountTag, accountTag);
      assert.equal(await a.refresh(), "gone");
      await b.leave();
    }
  });

  it("C7 C32: with the same key, an object that is not found is gone, with no more requests", async () => {
    const [a, b] = await edges(2);
    remove(a, b);
    methods();
    assert.equal(await a.refresh(), "gone");
    assert.deepEqual(methods(), ["GET", "GET"]);
    await b.leave();
    assert.deepEqual(methods(), ["DELETE", "GET"]);
  });

  it("C7: TLSEDGE_SAME_ACCOUNT=1 lets a refresh drop the only object after a change of the key", async () => {
    const [stack] = await edges(1);
    remove(stack);
    rotate();
    assert.match(await messageOf(stack.refresh()), /TLSEDGE_SAME_ACCOUNT=1/);
    setEnv({ TLSEDGE_SAME_ACCOUNT: "0" });
    assert.match(await messageOf(stack.refresh()), /SAME_ACCOUNT/);
    setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
    await stack.preview(stack.inputs);
    await create("new");
    assert.equal(await stack.refresh(), "gone");
  });

  it("C4 C7 C25: another tag of the account is no change by itself; a refresh or an update stores the present one", async () => {
    const [edge] = await edges(1);
    const chain = await deployed(tlsCertificate, certificate);
    const { accountTag } = edge.state;
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
});
